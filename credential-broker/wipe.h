/*
 * The heap of the libraries that see secrets (libcurl, jansson, OpenSSL):
 * whatever they free is wiped first. What the broker itself keeps is a struct
 * secret, in locked memory.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_WIPE_H
#define TAPWARD_CREDENTIAL_BROKER_WIPE_H

#include <stddef.h>

void *wipe_malloc(size_t size);
void *wipe_calloc(size_t count, size_t size);
void *wipe_realloc(void *ptr, size_t size);
char *wipe_strdup(const char *s);
void wipe_free(void *ptr);

/*
 * Makes the three use it, and libcurl ready. First thing in the program,
 * before any of them has allocated anything. 0 or -errno.
 */
int wipe_install(void);

#endif
