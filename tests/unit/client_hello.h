/*
 * What a guest says first, as far as a gate reads it: the least that is a
 * ClientHello of TLS 1.3.
 */
#ifndef TAPWARD_TESTS_CLIENT_HELLO_H
#define TAPWARD_TESTS_CLIENT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For name (NULL: without SNI) into buf; its length. */
size_t client_hello(const char *name, bool has_ech, uint8_t buf[512]);

#endif
