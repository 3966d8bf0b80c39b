/*
 * Chains of the host's own firewall, whoever made them, that drop what leaves
 * this host unless a rule of theirs lets it: they can stop the dialler.
 */
#ifndef TAPWARD_NETFILTER_OUTPUT_DROPS_H
#define TAPWARD_NETFILTER_OUTPUT_DROPS_H

#include <stdint.h>

/* Strings are the kernel's, of root's choosing; they live for the call. */
typedef void output_drops_fn(const char *family, const char *table,
    const char *chain, void *arg);

/* Looks in the namespace that the caller is in. 0 or -errno. */
int output_drops_each(output_drops_fn *fn, void *arg);

#endif
