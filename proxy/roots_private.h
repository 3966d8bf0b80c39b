/*
 * The image of roots. All numbers big-endian:
 *
 *	"TWROOTS2"
 *	u64 u64   key of the hash of patterns
 *	u32       sets
 *	u32       slots: 0, or a power of two
 *	for each set, the public one first:
 *		u32 count  certificates
 *		u32 flags  ROOTS_WITH_PUBLIC
 *	for each certificate, set after set, within one ascending by hash:
 *		u32 hash   X509_NAME_hash_ex() of the subject
 *		u32 offset of the DER, from the start of the image
 *		u32 length
 *	for each slot:
 *		u32 offset of the pattern's name; 0: the slot is empty
 *		u32 length << 8 | enum roots_pattern
 *		u32 set
 *	the names, the DERs
 *
 * A pattern is in the slot that the hash of its kind and name says or one of
 * the next ROOTS_PROBE_MAX - 1: the builder takes another key until that is so.
 */
#ifndef TAPWARD_PROXY_ROOTS_PRIVATE_H
#define TAPWARD_PROXY_ROOTS_PRIVATE_H

#include "conf/siphash.h"
#include "proxy/roots.h"

#define ROOTS_MAGIC "TWROOTS2"
#define ROOTS_MAGIC_BYTES 8
#define ROOTS_HEADER_BYTES 32
#define ROOTS_SET_BYTES 8
#define ROOTS_ENTRY_BYTES 12
#define ROOTS_SLOT_BYTES 12
#define ROOTS_WITH_PUBLIC 1u
/* Debian's bundle holds 140; a company adds a few. In all sets. */
#define ROOTS_MAX 4096
#define ROOTS_SLOTS_MAX 8192 /* four for each pattern that there can be */
#define ROOTS_PROBE_MAX 16

enum roots_pattern {
	ROOTS_EXACT,     /* x */
	ROOTS_ONE_LABEL, /* *.x */
	ROOTS_ANY_DEPTH, /* **.x */
	ROOTS_PATTERNS
};

/* Where the search for a pattern begins, modulo the number of slots. */
static inline uint32_t
roots_hash(const struct siphash_key *key, enum roots_pattern kind,
    struct span name)
{
	/* What a name is looked for as is part of what is looked for. */
	const struct siphash_key of_kind = { key->k0 ^ (uint64_t)kind,
		key->k1 };

	return (uint32_t)siphash(&of_kind, name);
}

struct roots_set {
	uint32_t first; /* entry */
	uint32_t count;
	uint32_t flags;
};

struct roots {
	struct span image;
	bool is_mapped;
	uint32_t refs;
	struct siphash_key key;
	uint32_t set_count;
	struct roots_set sets[ROOTS_SETS_MAX];
	size_t entries_at, slots_at, end_of_slots; /* in the image */
	uint32_t slot_count;
	X509_LOOKUP_METHOD *method; /* roots_store.c */
};

struct roots_entry {
	uint32_t hash;
	struct span der;
};

/* i counts over all sets. */
struct roots_entry roots_entry_at(const struct roots *r, uint32_t i);
/* roots_store.c, when the last reference goes. */
void roots_free_method(struct roots *r);

#endif
