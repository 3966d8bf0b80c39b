/*
 * By which roots an issuer is known: those of its name, of the same index that
 * gates ask (proxy/roots.h). libcurl uses a connection again only for a
 * question with the same roots, so what others vouched for is left behind.
 */
#include <errno.h>
#include <stdlib.h>

#include "credential-broker/fetch_private.h"
#include "wire/host.h"

void
fetch_roots_free(struct fetcher *f)
{
	for (unsigned int i = 0; i < ROOTS_SETS_MAX; i++) {
		free(f->pem[i].text);
		f->pem[i].text = NULL;
	}
	roots_unref(f->roots);
	f->roots = NULL;
}

int
fetcher_set_roots(struct fetcher *f, int fd)
{
	struct roots *fresh;
	const int rc = roots_map(fd, &fresh);

	if (rc != 0)
		return rc;
	/* Those on their way borrow the text. */
	fetch_end_all(f);
	fetch_roots_free(f);
	f->roots = fresh;
	return 0;
}

CURLcode
fetch_roots_set(struct fetch *t)
{
	struct fetcher *f = t->fetcher;
	struct curl_blob blob = { .flags = CURL_BLOB_NOCOPY };
	unsigned int set = ROOTS_PUBLIC;
	char name[HOST_SIZE];

	if (f->roots == NULL)
		return CURLE_SSL_CACERT_BADFILE;
	if (host_parse(span_of(t->host), name) == HOST_NAME)
		set = roots_set_for(f->roots, name);
	if (f->pem[set].text == NULL &&
	    roots_write_pem(f->roots, set, &f->pem[set].text,
		&f->pem[set].len) != 0)
		return CURLE_OUT_OF_MEMORY;
	blob.data = f->pem[set].text;
	blob.len = f->pem[set].len;
	return curl_easy_setopt(t->easy, CURLOPT_CAINFO_BLOB, &blob);
}
