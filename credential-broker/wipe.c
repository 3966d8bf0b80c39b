/*
 * A heap that wipes, see wipe.h.
 */
#include "credential-broker/wipe.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <jansson.h>
#include <openssl/crypto.h>

#include "base/secret.h"

void *
wipe_malloc(size_t size)
{
	return malloc(size);
}

void *
wipe_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

void
wipe_free(void *ptr)
{
	if (ptr == NULL)
		return;
	secret_wipe(ptr, malloc_usable_size(ptr));
	free(ptr);
}

/* realloc() would leave the bytes where they were when it moves them. */
void *
wipe_realloc(void *ptr, size_t size)
{
	size_t had;
	void *fresh;

	if (ptr == NULL)
		return malloc(size);
	if (size == 0) {
		wipe_free(ptr);
		return NULL;
	}
	had = malloc_usable_size(ptr);
	if (size <= had && size >= had / 2)
		return ptr;
	fresh = malloc(size);
	if (fresh == NULL)
		return NULL;
	memcpy(fresh, ptr, had < size ? had : size);
	wipe_free(ptr);
	return fresh;
}

char *
wipe_strdup(const char *s)
{
	return strdup(s);
}

static void *
crypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return wipe_malloc(size);
}

static void *
crypto_realloc(void *ptr, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return wipe_realloc(ptr, size);
}

static void
crypto_free(void *ptr, const char *file, int line)
{
	(void)file;
	(void)line;
	wipe_free(ptr);
}

int
wipe_install(void)
{
	if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc,
		crypto_free) != 1)
		return -EBUSY;
	json_set_alloc_funcs(wipe_malloc, wipe_free);
	/* It reads /dev/urandom for this, which a sealed process cannot. */
	json_object_seed(0);
	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, wipe_malloc, wipe_free,
		wipe_realloc, wipe_strdup, wipe_calloc) != CURLE_OK)
		return -ENOMEM;
	return 0;
}
