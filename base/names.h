/*
 * Sizes of the names that cross our channels, NUL included.
 */
#ifndef TAPWARD_BASE_NAMES_H
#define TAPWARD_BASE_NAMES_H

#include <stdbool.h>

/* A sandbox: [a-z0-9][a-z0-9-]{0,39}. */
#define SANDBOX_NAME_SIZE 41
/* A host name: RFC 1035 2.3.4, without its final dot. */
#define HOST_NAME_SIZE 254
/* A credential or a rule. */
#define CREDENTIAL_NAME_SIZE 64
/* A method we take: RFC 9110 9.1 names, and WebDAV's longest. */
#define METHOD_NAME_SIZE 32
/* Printed address with a port: "[ffff:...:ffff]:65535". */
#define ADDRESS_TEXT_SIZE 56
/* Hex SHA-256. */
#define DIGEST_TEXT_SIZE 65

bool sandbox_name_is_valid(const char *name);

#endif
