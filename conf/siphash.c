/*
 * Sums wrap and rotations drop bits on purpose; both are spelled so that the
 * integer sanitizer, which looks for the accidental ones, stays on.
 */
#include "conf/siphash.h"

#include <endian.h>
#include <string.h>

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t
add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	(void)__builtin_add_overflow(a, b, &sum);
	return sum;
}

static uint64_t
rotate(uint64_t x, unsigned int bits)
{
	return (x & (UINT64_MAX >> bits)) << bits | x >> (64 - bits);
}

static void
sip_round(struct sip *s)
{
	s->v0 = add(s->v0, s->v1);
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 = add(s->v2, s->v3);
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = add(s->v0, s->v3);
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = add(s->v2, s->v1);
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static void
sip_word(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

uint64_t
siphash(const struct siphash_key *key, struct span in)
{
	struct sip s = { key->k0 ^ 0x736f6d6570736575ULL,
		key->k1 ^ 0x646f72616e646f6dULL,
		key->k0 ^ 0x6c7967656e657261ULL,
		key->k1 ^ 0x7465646279746573ULL };
	size_t whole = in.len & ~(size_t)7;
	uint64_t m;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&m, in.ptr + i, 8);
		sip_word(&s, le64toh(m));
	}
	m = 0;
	if (in.len > whole)
		memcpy(&m, in.ptr + whole, in.len - whole);
	sip_word(&s, le64toh(m) | (uint64_t)(in.len & 0xff) << 56);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
