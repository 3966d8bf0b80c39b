/*
 * A key chosen anew for each image (getrandom) keeps names from being crafted
 * to fall together; should some fall together by chance, another is tried.
 */
#include "conf/build_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Chance needs one; more means that something is wrong. */
#define SEEDS_TRIED_MAX 16

struct keyed {
	uint64_t hash;
	uint32_t host; /* of model.hosts: keeps rules in their order */
};

static int
by_hash(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->host < y->host ? -1 : x->host > y->host;
}

static const struct model_host *
host_at(const struct model *m, const struct keyed *k)
{
	return vec_at(&m->hosts, k->host);
}

static void
hash_hosts(const struct model *m, const struct siphash_key *seed,
    struct keyed *keys)
{
	for (size_t i = 0; i < m->hosts.count; i++) {
		const struct model_host *h = vec_at(&m->hosts, i);

		keys[i].hash = image_hash(seed, h->kind,
		    span_of(model_string(m, h->name)));
		keys[i].host = (uint32_t)i;
	}
}

/*
 * By the upper half of the hash into as many bins as there are keys (starts
 * holds n + 1 zeroes), then within each bin, which holds about one: a million
 * names sort in a quarter of the time of qsort() alone.
 */
static void
sort_keys(const struct keyed *keys, size_t n, uint32_t *starts,
    struct keyed *ret_sorted)
{
	for (size_t i = 0; i < n; i++)
		starts[image_bucket(keys[i].hash, (uint32_t)n) + 1]++;
	for (size_t b = 1; b <= n; b++)
		starts[b] += starts[b - 1];
	for (size_t i = 0; i < n; i++) {
		uint32_t b = image_bucket(keys[i].hash, (uint32_t)n);

		ret_sorted[starts[b]++] = keys[i];
	}
	/* now starts[b] is the end of bin b */
	for (size_t b = 0; b < n; b++) {
		uint32_t from = b > 0 ? starts[b - 1] : 0;

		if (starts[b] - from > 1)
			qsort(ret_sorted + from, starts[b] - from,
			    sizeof(*keys), by_hash);
	}
}

/* Every host of the model, by hash; NULL when memory is short. */
static struct keyed *
sort_hosts(const struct model *m, const struct siphash_key *seed)
{
	size_t n = m->hosts.count;
	struct keyed *keys = calloc(n + 1, sizeof(*keys));
	struct keyed *sorted = calloc(n + 1, sizeof(*sorted));
	uint32_t *starts = calloc(n + 1, sizeof(*starts));

	if (keys != NULL && sorted != NULL && starts != NULL) {
		hash_hosts(m, seed, keys);
		sort_keys(keys, n, starts, sorted);
	} else {
		free(sorted);
		sorted = NULL;
	}
	free(keys);
	free(starts);
	return sorted;
}

/* Adds the rules of n hosts that are one pattern, each once. */
static int
add_list(const struct model *m, struct build_index *x, const struct keyed *keys,
    size_t n, struct build_entry *e)
{
	uint32_t last = host_at(m, &keys[0])->rule;

	e->list = last;
	e->count = 1;
	for (size_t i = 1; i < n; i++) {
		uint32_t rule = host_at(m, &keys[i])->rule;

		if (rule == last)
			continue;
		if (e->count == 1) {
			e->list = (uint32_t)x->lists.count;
			if (vec_push(&x->lists, &last) != 0)
				return -ENOMEM;
		}
		if (vec_push(&x->lists, &rule) != 0)
			return -ENOMEM;
		e->count++;
		last = rule;
	}
	return 0;
}

/* One entry from n hosts of one hash. -EAGAIN: they are not one pattern. */
static int
add_entry(const struct model *m, struct build_index *x,
    const struct keyed *keys, size_t n, struct err *err)
{
	const struct model_host *first = host_at(m, &keys[0]);
	struct build_entry e = { .hash = keys[0].hash,
		.name = first->name,
		.kind = first->kind };
	const char *name = model_string(m, first->name);
	int rc;

	for (size_t i = 1; i < n; i++) {
		const struct model_host *h = host_at(m, &keys[i]);

		if (h->kind != first->kind ||
		    strcmp(model_string(m, h->name), name) != 0)
			return -EAGAIN;
	}
	rc = add_list(m, x, keys, n, &e);
	if (rc != 0)
		return rc;
	if (e.count > IMAGE_LIST_MAX)
		return err_at(err, NULL, 0,
		    "%u rules name the host %s, at most %d may: join some",
		    e.count, name, IMAGE_LIST_MAX);
	x->kinds |= 1u << e.kind;
	return vec_push(&x->entries, &e);
}

static int
add_entries(const struct model *m, struct build_index *x,
    const struct keyed *keys, struct err *err)
{
	size_t n = m->hosts.count, end;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i = end) {
		end = i + 1;
		while (end < n && keys[end].hash == keys[i].hash)
			end++;
		rc = add_entry(m, x, keys + i, end - i, err);
	}
	return rc;
}

/* -EAGAIN when a bucket is too full for the reader's bound. */
static int
add_buckets(struct build_index *x)
{
	size_t n = x->entries.count > 0 ? x->entries.count : 1, entry = 0;
	uint32_t *at = vec_add(&x->buckets, n + 1);

	if (at == NULL)
		return -ENOMEM;
	for (size_t b = 0; b < n; b++) {
		at[b] = (uint32_t)entry;
		while (entry < x->entries.count) {
			const struct build_entry *e =
			    vec_at(&x->entries, entry);

			if (image_bucket(e->hash, (uint32_t)n) != b)
				break;
			entry++;
		}
		if (entry - at[b] > IMAGE_BUCKET_MAX)
			return -EAGAIN;
	}
	at[n] = (uint32_t)entry;
	return 0;
}

static int
try_seed(const struct model *m, struct build_index *x, struct err *err)
{
	struct keyed *keys;
	int rc;

	if (getrandom(&x->seed, sizeof(x->seed), 0) != sizeof(x->seed))
		return -EIO;
	x->kinds = 0;
	x->entries.count = x->lists.count = x->buckets.count = 0;
	keys = sort_hosts(m, &x->seed);
	if (keys == NULL)
		return -ENOMEM;
	rc = add_entries(m, x, keys, err);
	if (rc == 0)
		rc = add_buckets(x);
	free(keys);
	return rc;
}

int
build_index(const struct model *m, struct build_index *ret, struct err *err)
{
	int rc = -EAGAIN;

	*ret = (struct build_index){ .entries = VEC_OF(struct build_entry),
		.lists = VEC_OF(uint32_t),
		.buckets = VEC_OF(uint32_t) };
	for (int i = 0; rc == -EAGAIN && i < SEEDS_TRIED_MAX; i++)
		rc = try_seed(m, ret, err);
	return rc;
}

void
build_index_done(struct build_index *x)
{
	vec_done(&x->entries);
	vec_done(&x->lists);
	vec_done(&x->buckets);
}
