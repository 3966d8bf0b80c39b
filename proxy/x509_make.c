/*
 * Pieces of certificates, see x509_make.h.
 *
 * EC_KEY is deprecated, but X509_set_pubkey() with a key of a provider
 * encodes and decodes it anew for every certificate: 150 us instead of 24.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "proxy/x509_make.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#define SERIAL_BYTES 16

EVP_PKEY *
x509_make_key(void)
{
	EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	EVP_PKEY *key = EVP_PKEY_new();

	if (ec != NULL && key != NULL && EC_KEY_generate_key(ec) == 1 &&
	    EVP_PKEY_assign_EC_KEY(key, ec) == 1)
		return key;
	EC_KEY_free(ec);
	EVP_PKEY_free(key);
	return NULL;
}

bool
x509_make_serial(X509 *x)
{
	uint8_t bytes[SERIAL_BYTES];
	BIGNUM *bn;
	bool ok;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	/* Not negative, and never a leading zero that would be left out. */
	bytes[0] = (bytes[0] & 0x7f) | 0x40;
	bn = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = bn != NULL &&
	    BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x)) != NULL;
	BN_free(bn);
	return ok;
}

bool
x509_make_validity(X509 *x, int64_t not_before_s, int64_t not_after_s)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), not_before_s) != NULL &&
	    ASN1_TIME_set(X509_getm_notAfter(x), not_after_s) != NULL;
}

bool
x509_make_name(X509_NAME *name, const char *common_name)
{
	return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
		   (const unsigned char *)common_name, -1, -1, 0) == 1;
}

static bool
add(X509 *x, int nid, void *value, bool is_critical)
{
	return value != NULL &&
	    X509_add1_ext_i2d(x, nid, value, is_critical ? 1 : 0,
		X509V3_ADD_DEFAULT) == 1;
}

bool
x509_add_basic_constraints(X509 *x, bool is_ca, int pathlen)
{
	BASIC_CONSTRAINTS *bc = BASIC_CONSTRAINTS_new();
	bool ok = bc != NULL;

	if (ok)
		bc->ca = is_ca ? 0xff : 0;
	if (ok && pathlen >= 0) {
		bc->pathlen = ASN1_INTEGER_new();
		ok = bc->pathlen != NULL &&
		    ASN1_INTEGER_set(bc->pathlen, pathlen) == 1;
	}
	ok = ok && add(x, NID_basic_constraints, bc, true);
	BASIC_CONSTRAINTS_free(bc);
	return ok;
}

bool
x509_add_key_usage(X509 *x, uint32_t bits)
{
	ASN1_BIT_STRING *s = ASN1_BIT_STRING_new();
	bool ok = s != NULL;

	/* KU_ constants: bit 0 of the string is 0x80 of the first byte. */
	for (int i = 0; ok && i < 8; i++)
		if (bits & (0x80u >> i))
			ok = ASN1_BIT_STRING_set_bit(s, i, 1) == 1;
	ok = ok && add(x, NID_key_usage, s, true);
	ASN1_BIT_STRING_free(s);
	return ok;
}

bool
x509_add_server_auth(X509 *x)
{
	EXTENDED_KEY_USAGE *eku = EXTENDED_KEY_USAGE_new();
	bool ok = eku != NULL &&
	    sk_ASN1_OBJECT_push(eku, OBJ_nid2obj(NID_server_auth)) > 0 &&
	    add(x, NID_ext_key_usage, eku, false);

	EXTENDED_KEY_USAGE_free(eku);
	return ok;
}

bool
x509_add_subject_key_id(X509 *x)
{
	uint8_t md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
	bool ok = id != NULL &&
	    X509_pubkey_digest(x, EVP_sha1(), md, &len) == 1 &&
	    ASN1_OCTET_STRING_set(id, md, (int)len) == 1 &&
	    add(x, NID_subject_key_identifier, id, false);

	ASN1_OCTET_STRING_free(id);
	return ok;
}

bool
x509_add_authority_key_id(X509 *x, const X509 *issuer)
{
	AUTHORITY_KEYID *aki = AUTHORITY_KEYID_new();
	bool ok = aki != NULL;

	if (ok) {
		aki->keyid = X509_get_ext_d2i(issuer,
		    NID_subject_key_identifier, NULL, NULL);
		ok = aki->keyid != NULL &&
		    add(x, NID_authority_key_identifier, aki, false);
	}
	AUTHORITY_KEYID_free(aki);
	return ok;
}

bool
x509_add_dns_name(X509 *x, const char *host)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	ASN1_IA5STRING *text = ASN1_IA5STRING_new();
	bool ok = names != NULL && name != NULL && text != NULL &&
	    ASN1_STRING_set(text, host, (int)strlen(host)) == 1;

	if (!ok || sk_GENERAL_NAME_push(names, name) <= 0) {
		ASN1_IA5STRING_free(text);
		GENERAL_NAME_free(name);
		GENERAL_NAMES_free(names);
		return false;
	}
	GENERAL_NAME_set0_value(name, GEN_DNS, text);
	ok = add(x, NID_subject_alt_name, names, false);
	GENERAL_NAMES_free(names);
	return ok;
}
