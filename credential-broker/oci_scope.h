/*
 * What a request to an OCI registry needs a token for: the resource scope of
 * Docker's token authentication, by method and path (OCI distribution-spec
 * 1.1, "Endpoints"; distribution/spec/auth/scope).
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_OCI_SCOPE_H
#define TAPWARD_CREDENTIAL_BROKER_OCI_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* The most that is asked for, each with what comes before it. */
enum oci_access { OCI_PULL, OCI_PUSH, OCI_DELETE, OCI_ACCESS_COUNT };

/* False: no such word. */
bool oci_access_parse(const char *word, enum oci_access *ret);

/*
 * "repository:NAME:pull", ":pull,push" or ":delete"; "" for /v2/ itself, for
 * which there is a token without a scope. False: it is no endpoint of one
 * repository, it needs more than `most`, or it does not fit into size bytes.
 * The path is canonical (wire/path.h).
 */
bool oci_scope(const char *method, struct span path, enum oci_access most,
    char *ret, size_t size);

#endif
