/*
 * The cache of names, see dialler_cache.h. Guests choose the names, so the
 * hash has a key that they do not know.
 */
#include "proxy/dialler_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/names.h"
#include "conf/siphash.h"

#define BUCKETS 1024

struct entry {
	LIST_ENTRY(entry) bucket;
	TAILQ_ENTRY(entry) age;
	uint64_t until_boot_ms;
	char host[HOST_NAME_SIZE];
	unsigned int count;
	struct address addresses[];
};

LIST_HEAD(bucket, entry);

struct dialler_cache {
	struct siphash_key key;
	size_t names_max;
	size_t count;
	TAILQ_HEAD(ages, entry) ages; /* longest not asked for first */
	struct bucket buckets[BUCKETS];
};

struct dialler_cache *
dialler_cache_new(size_t names_max)
{
	struct dialler_cache *c = calloc(1, sizeof(*c));

	assert(names_max > 0);
	if (c == NULL)
		return NULL;
	if (getrandom(&c->key, sizeof(c->key), 0) != sizeof(c->key)) {
		free(c);
		return NULL;
	}
	c->names_max = names_max;
	TAILQ_INIT(&c->ages);
	return c;
}

void
dialler_cache_free(struct dialler_cache *c)
{
	if (c == NULL)
		return;
	dialler_cache_flush(c);
	free(c);
}

static struct bucket *
bucket_of(struct dialler_cache *c, const char *host)
{
	return &c->buckets[siphash(&c->key, span_of(host)) % BUCKETS];
}

static void
entry_drop(struct dialler_cache *c, struct entry *e)
{
	LIST_REMOVE(e, bucket);
	TAILQ_REMOVE(&c->ages, e, age);
	free(e);
	c->count--;
}

/* The entry of host, NULL without one. */
static struct entry *
entry_find(struct dialler_cache *c, const char *host)
{
	struct entry *e;

	LIST_FOREACH(e, bucket_of(c, host), bucket)
	if (strcmp(e->host, host) == 0)
		return e;
	return NULL;
}

bool
dialler_cache_find(struct dialler_cache *c, const char *host,
    struct dialler_cached *ret)
{
	struct entry *e = entry_find(c, host);

	if (e == NULL)
		return false;
	if (clock_boot_ms() >= e->until_boot_ms) {
		entry_drop(c, e);
		return false;
	}
	TAILQ_REMOVE(&c->ages, e, age);
	TAILQ_INSERT_TAIL(&c->ages, e, age);
	*ret = (struct dialler_cached){ .addresses = e->addresses,
		.count = e->count };
	return true;
}

static void
make_room(struct dialler_cache *c, size_t names_max)
{
	struct entry *e, *next;

	for (e = TAILQ_FIRST(&c->ages); e != NULL && c->count > names_max;
	     e = next) {
		next = TAILQ_NEXT(e, age);
		entry_drop(c, e);
	}
}

void
dialler_cache_put(struct dialler_cache *c, const char *host,
    const struct address *addresses, unsigned int count, uint32_t ttl_s)
{
	const size_t size = count * sizeof(addresses[0]);
	struct entry *e = entry_find(c, host);

	if (e != NULL)
		entry_drop(c, e);
	e = calloc(1, sizeof(*e) + size);
	if (e == NULL)
		return;
	assert(strlen(host) < sizeof(e->host));
	memcpy(e->host, host, strlen(host) + 1);
	e->until_boot_ms = clock_boot_ms() + (uint64_t)ttl_s * 1000;
	e->count = count;
	if (count > 0)
		memcpy(e->addresses, addresses, size);
	make_room(c, c->names_max - 1);
	LIST_INSERT_HEAD(bucket_of(c, host), e, bucket);
	TAILQ_INSERT_TAIL(&c->ages, e, age);
	c->count++;
}

void
dialler_cache_flush(struct dialler_cache *c)
{
	make_room(c, 0);
}

void
dialler_cache_resize(struct dialler_cache *c, size_t names_max)
{
	assert(names_max > 0);
	c->names_max = names_max;
	make_room(c, names_max);
}

size_t
dialler_cache_count(const struct dialler_cache *c)
{
	return c->count;
}
