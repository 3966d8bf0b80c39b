/*
 * Synthetic addresses, see synth.h. Slot i has the address dynamic_base + i;
 * slots are in two lists: the chain of their hash, and the order in which
 * they were last asked for. Slots and memory come into use one by one.
 */
#include "proxy/synth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "conf/siphash.h"

/* Where conf/ puts the reserved addresses. */
#define POLICY_BASE 0xc6120000u /* 198.18.0.0 */
#define BUCKETS 1024

struct slot {
	TAILQ_ENTRY(slot) by_age;
	LIST_ENTRY(slot) by_name;
	char *name;
	uint32_t address;
};

LIST_HEAD(slot_chain, slot);

struct synth {
	uint32_t base;
	uint32_t half; /* addresses in either half */
	uint32_t max;
	uint32_t used;
	struct slot *slots;
	struct siphash_key key;
	TAILQ_HEAD(, slot) ages; /* not asked for longest first */
	struct slot_chain chains[BUCKETS];
};

struct synth *
synth_new(uint32_t base, uint8_t prefix, uint32_t max)
{
	struct synth *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->base = base;
	s->half = (uint32_t)1 << (31 - prefix);
	s->max = max < s->half ? max : s->half;
	s->slots = calloc(s->max, sizeof(s->slots[0]));
	if (s->slots == NULL ||
	    getrandom(&s->key, sizeof(s->key), 0) != sizeof(s->key)) {
		synth_free(s);
		return NULL;
	}
	TAILQ_INIT(&s->ages);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&s->chains[i]);
	return s;
}

void
synth_free(struct synth *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->used; i++)
		free(s->slots[i].name);
	free(s->slots);
	free(s);
}

static struct slot_chain *
chain_of(struct synth *s, const char *name)
{
	return &s->chains[siphash(&s->key, span_of(name)) % BUCKETS];
}

/* A slot that is in neither list; NULL never: max is at least 1. */
static struct slot *
slot_obtain(struct synth *s)
{
	struct slot *slot;

	if (s->used < s->max) {
		slot = &s->slots[s->used];
		slot->address = s->base + s->half + s->used;
		s->used++;
		return slot;
	}
	slot = TAILQ_FIRST(&s->ages);
	TAILQ_REMOVE(&s->ages, slot, by_age);
	LIST_REMOVE(slot, by_name);
	free(slot->name);
	slot->name = NULL;
	return slot;
}

uint32_t
synth_take(struct synth *s, const char *name)
{
	struct slot_chain *chain = chain_of(s, name);
	struct slot *slot;
	char *copy;

	LIST_FOREACH(slot, chain, by_name)
	{
		if (strcmp(slot->name, name) != 0)
			continue;
		TAILQ_REMOVE(&s->ages, slot, by_age);
		TAILQ_INSERT_TAIL(&s->ages, slot, by_age);
		return slot->address;
	}
	copy = strdup(name);
	if (copy == NULL)
		return 0;
	slot = slot_obtain(s);
	slot->name = copy;
	LIST_INSERT_HEAD(chain, slot, by_name);
	TAILQ_INSERT_TAIL(&s->ages, slot, by_age);
	return slot->address;
}

const char *
synth_find(const struct synth *s, uint32_t address)
{
	uint32_t first = s->base + s->half;

	if (address < first || address - first >= s->used)
		return NULL;
	return s->slots[address - first].name;
}

uint32_t
synth_from_policy(const struct synth *s, uint32_t address)
{
	if (address < POLICY_BASE || address - POLICY_BASE >= s->half)
		return 0;
	return s->base + (address - POLICY_BASE);
}

uint32_t
synth_to_policy(const struct synth *s, uint32_t address)
{
	if (address < s->base || address - s->base >= s->half)
		return 0;
	return POLICY_BASE + (address - s->base);
}
