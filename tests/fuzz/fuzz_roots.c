/*
 * Any bytes as the index of roots: what maps is read in bounds, and a host has
 * a set that is there, by a pattern that fits it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/x509_vfy.h>

#include "proxy/roots_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = { "corp.example", "a.corp.example",
		"b.a.corp.example", "one.example", "example", "", ".", ".." };
	struct roots *r;

	if (roots_map_bytes((struct span){ data, size }, &r) != 0)
		return 0;
	must(r->set_count >= 1 && r->set_count <= ROOTS_SETS_MAX &&
	    r->end_of_slots <= size);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const unsigned int set = roots_set_for(r, hosts[i]);

		must(set < r->set_count);
		must(set == ROOTS_PUBLIC || r->slot_count > 0);
	}
	for (unsigned int set = 0; set < r->set_count; set++) {
		X509_STORE *store = X509_STORE_new();
		X509_NAME *name = X509_NAME_new();
		X509_STORE_CTX *c = X509_STORE_CTX_new();
		X509_OBJECT *found = NULL;
		char *pem;
		size_t len;

		must(store != NULL && roots_use(r, set, store) == 0 &&
		    X509_STORE_CTX_init(c, store, NULL, NULL) == 1);
		found =
		    X509_STORE_CTX_get_obj_by_subject(c, X509_LU_X509, name);
		X509_OBJECT_free(found);
		X509_STORE_CTX_free(c);
		X509_NAME_free(name);
		X509_STORE_free(store);
		if (roots_write_pem(r, set, &pem, &len) == 0)
			free(pem);
	}
	roots_unref(r);
	return 0;
}
