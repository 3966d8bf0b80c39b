/*
 * Synthetic addresses: each name that a guest asks for gets one of its own
 * for a while. The upper half of the range is given out here; the lower half
 * belongs to `scheme = tcp` hosts, whose addresses the policy fixes.
 *
 * An address tells what a guest was answered, never whom it reaches: for TLS
 * and HTTP the name in the connection decides.
 */
#ifndef TAPWARD_PROXY_SYNTH_H
#define TAPWARD_PROXY_SYNTH_H

#include <stdint.h>

struct synth;

/*
 * base/prefix: the range, host byte order, at most /30. max: names that have
 * an address at once; the one not asked for longest loses its address. NULL
 * when memory is short.
 */
struct synth *synth_new(uint32_t base, uint8_t prefix, uint32_t max);
void synth_free(struct synth *s);

/* The address of name, a new one if it has none. 0 when memory is short. */
uint32_t synth_take(struct synth *s, const char *name);
/* The name that has address now; NULL without one. Borrowed. */
const char *synth_find(const struct synth *s, uint32_t address);

/*
 * Addresses of `scheme = tcp` hosts are compiled for 198.18.0.0 (struct
 * policy_tcp); these move them into the range of this sandbox and back. 0 for
 * one that is outside of it.
 */
uint32_t synth_from_policy(const struct synth *s, uint32_t address);
uint32_t synth_to_policy(const struct synth *s, uint32_t address);

#endif
