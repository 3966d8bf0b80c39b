/* Certificates, see certificate.h. */
#include "base/certificate.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <time.h>

static int
take(const X509 *x, struct certificate_look *ret)
{
	struct tm tm = { 0 };
	int64_t end;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) != 1)
		return -EINVAL;
	end = (int64_t)timegm(&tm);
	if (ret->count == 0 || end < ret->first_end_s)
		ret->first_end_s = end;
	ret->count++;
	return 0;
}

int
certificate_look(struct span pem, struct certificate_look *ret)
{
	struct certificate_look look = { .count = 0 };
	unsigned long e;
	X509 *x;
	BIO *bio;
	int rc = 0;

	if (pem.len == 0 || pem.len > INT_MAX)
		return -ENOENT;
	bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	if (bio == NULL)
		return -ENOMEM;
	while (rc == 0 &&
	    (x = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL)) != NULL) {
		rc = take(x, &look);
		X509_free(x);
	}
	e = ERR_peek_last_error();
	ERR_clear_error();
	BIO_free(bio);
	if (rc == 0 &&
	    !(ERR_GET_LIB(e) == ERR_LIB_PEM &&
		ERR_GET_REASON(e) == PEM_R_NO_START_LINE))
		rc = -EINVAL;
	if (rc == 0 && look.count == 0)
		rc = -ENOENT;
	if (rc == 0)
		*ret = look;
	return rc;
}
