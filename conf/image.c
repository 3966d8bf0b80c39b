/*
 * Mapping an image and reading it. Every offset and count that is followed
 * here comes from bytes that may be hostile: the only arithmetic on them is in
 * item() and image_string(), which compare before they add.
 */
#include "conf/image.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"

const uint32_t image_item_bytes[IMAGE_TABLES] = {
	[IMAGE_STRINGS] = 1,
	[IMAGE_FILES] = 4,
	[IMAGE_RULES] = IMAGE_RULE_BYTES,
	[IMAGE_LISTS] = 4,
	[IMAGE_PATTERNS] = 4,
	[IMAGE_PORTS] = 2,
	[IMAGE_ALL_PORTS] = 2,
	[IMAGE_ENTRIES] = IMAGE_ENTRY_BYTES,
	[IMAGE_BUCKETS] = 4,
	[IMAGE_TCP] = 12,
	[IMAGE_CREDENTIALS] = 4,
	[IMAGE_GIT] = IMAGE_GIT_BYTES,
	[IMAGE_BUDGETS] = IMAGE_BUDGET_BYTES,
	[IMAGE_REDIRECTS] = IMAGE_REDIRECT_BYTES,
};

static uint32_t
load32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

static uint64_t
load64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

/* Item i of table t, NULL when it has none. */
static const uint8_t *
item(const struct policy *p, enum image_table t, uint32_t i)
{
	if (i >= p->tables[t].count)
		return NULL;
	return p->ptr + p->tables[t].at + (size_t)i * image_item_bytes[t];
}

const char *
image_string(const struct policy *p, uint32_t off)
{
	const uint8_t *s = item(p, IMAGE_STRINGS, off);
	size_t left;

	if (s == NULL)
		return NULL;
	left = p->tables[IMAGE_STRINGS].count - off;
	if (left > IMAGE_STRING_SIZE)
		left = IMAGE_STRING_SIZE;
	if (memchr(s, '\0', left) == NULL)
		return NULL;
	return (const char *)s;
}

uint32_t
image_u32(const struct policy *p, enum image_table t, uint32_t i)
{
	const uint8_t *at = item(p, t, i);

	return at != NULL ? load32(at) : IMAGE_NONE;
}

uint32_t
image_u16(const struct policy *p, enum image_table t, uint32_t i)
{
	const uint8_t *at = item(p, t, i);

	return at != NULL ? (uint32_t)(at[0] | at[1] << 8) : IMAGE_NONE;
}

bool
image_tcp(const struct policy *p, uint32_t i, struct policy_tcp *ret)
{
	const uint8_t *at = item(p, IMAGE_TCP, i);
	const char *host = at != NULL ? image_string(p, load32(at)) : NULL;

	if (host == NULL || load32(at + 8) > UINT16_MAX)
		return false;
	ret->host = host;
	ret->address = load32(at + 4);
	ret->port = (uint16_t)load32(at + 8);
	return true;
}

/* A place in IMAGE_BUDGETS, one more than it is; 0 for none. */
static bool
load_budget(const struct policy *p, const uint8_t *at, uint32_t *ret)
{
	uint32_t n = load32(at);

	*ret = n == 0 ? IMAGE_NONE : n - 1;
	return n <= p->tables[IMAGE_BUDGETS].count;
}

bool
image_budget(const struct policy *p, uint32_t i, struct image_budget *ret)
{
	const uint8_t *at = item(p, IMAGE_BUDGETS, i);

	if (at == NULL)
		return false;
	ret->rule = load32(at);
	ret->budget = (struct budget){ .max_connections = load32(at + 4),
		.until_s = load64(at + 8),
		.max_requests = load64(at + 16),
		.max_upload = load64(at + 24),
		.max_download = load64(at + 32),
		.rate = load32(at + 40),
		.rate_s = load32(at + 44) };
	/* A rate is divided by, so it has a span, and one that cannot wrap. */
	return ret->budget.rate_s <= BUDGET_RATE_S_MAX &&
	    (ret->budget.rate == 0) == (ret->budget.rate_s == 0);
}

bool
image_redirect(const struct policy *p, uint32_t i, struct image_redirect *ret)
{
	const uint8_t *at = item(p, IMAGE_REDIRECTS, i);

	if (at == NULL || load32(at + 8) >= PATTERN_KINDS ||
	    load32(at + 12) == 0 || load32(at + 12) > IMAGE_REDIRECT_S_MAX)
		return false;
	ret->rule = load32(at);
	ret->name = load32(at + 4);
	ret->kind = (enum pattern_kind)load32(at + 8);
	ret->seconds = load32(at + 12);
	return true;
}

static bool
run_is_within(const struct policy *p, enum image_table t,
    const struct image_run *run, uint32_t max)
{
	uint32_t count = p->tables[t].count;

	return run->count <= max && run->at <= count &&
	    run->count <= count - run->at;
}

static struct image_run
load_run(const uint8_t *at)
{
	return (struct image_run){ load32(at), load32(at + 4) };
}

/* The [git] row of number, which counts from 1. */
static bool
image_git(const struct policy *p, uint32_t number, struct image_git *ret)
{
	const uint8_t *at = item(p, IMAGE_GIT, number - 1);

	if (at == NULL)
		return false;
	ret->flags = load32(at);
	ret->refs = load_run(at + 8);
	ret->max_push = load64(at + 16);
	return run_is_within(p, IMAGE_PATTERNS, &ret->refs, IMAGE_PATTERNS_MAX);
}

bool
image_rule(const struct policy *p, uint32_t id, struct image_rule *ret)
{
	const uint8_t *at = item(p, IMAGE_RULES, id);
	struct image_rule r;

	if (at == NULL || at[0] > ACTION_ALLOW || at[1] > SCHEME_TCP ||
	    at[2] > TLS_MODE_PASSTHROUGH)
		return false;
	r.action = (enum action)at[0];
	r.scheme = (enum scheme)at[1];
	r.tls = (enum tls_mode)at[2];
	r.widen = at[3];
	r.line = load32(at + 4);
	r.name = image_string(p, load32(at + 8));
	r.file = image_string(p, image_u32(p, IMAGE_FILES, load32(at + 12)));
	r.say = image_string(p, load32(at + 16));
	r.credential = image_string(p, load32(at + 20));
	r.ports = load_run(at + 24);
	r.methods = load_run(at + 32);
	r.paths = load_run(at + 40);
	r.queries = load_run(at + 48);
	if (!load_budget(p, at + 60, &r.budget))
		return false;
	if (r.name == NULL || r.file == NULL || r.say == NULL ||
	    r.credential == NULL || strlen(r.name) >= RULE_NAME_SIZE ||
	    strlen(r.credential) >= RULE_NAME_SIZE)
		return false;
	if (!run_is_within(p, IMAGE_PORTS, &r.ports, IMAGE_PORTS_MAX) ||
	    !run_is_within(p, IMAGE_PATTERNS, &r.methods, IMAGE_PATTERNS_MAX) ||
	    !run_is_within(p, IMAGE_PATTERNS, &r.paths, IMAGE_PATTERNS_MAX) ||
	    !run_is_within(p, IMAGE_PATTERNS, &r.queries, IMAGE_PATTERNS_MAX))
		return false;
	r.is_git = load32(at + 56) != 0;
	r.git = (struct image_git){ .flags = 0 };
	if (r.is_git &&
	    (r.action == ACTION_DENY || !image_git(p, load32(at + 56), &r.git)))
		return false;
	*ret = r;
	return true;
}

uint64_t
image_hash(const struct siphash_key *seed, enum pattern_kind kind,
    struct span name)
{
	struct siphash_key key = { seed->k0 ^ (uint64_t)kind, seed->k1 };

	return siphash(&key, name);
}

uint32_t
image_bucket(uint64_t hash, uint32_t buckets)
{
	return (uint32_t)((hash >> 32) * buckets >> 32);
}

bool
image_entry(const struct policy *p, uint32_t i, enum pattern_kind *ret_kind,
    const char **ret_name, struct image_run *ret, bool *ret_is_inline)
{
	const uint8_t *at = item(p, IMAGE_ENTRIES, i);
	struct image_run run;
	const char *name;

	if (at == NULL || at[14] >= PATTERN_KINDS)
		return false;
	name = image_string(p, load32(at + 4));
	run = (struct image_run){ load32(at + 8),
		(uint32_t)(at[12] | at[13] << 8) };
	if (name == NULL || run.count == 0)
		return false;
	if (run.count > 1 &&
	    !run_is_within(p, IMAGE_LISTS, &run, IMAGE_LIST_MAX))
		return false;
	*ret_kind = (enum pattern_kind)at[14];
	*ret_name = name;
	*ret = run;
	*ret_is_inline = run.count == 1;
	return true;
}

bool
image_find(const struct policy *p, enum pattern_kind kind, struct span name,
    struct image_run *ret, bool *ret_is_inline)
{
	uint32_t buckets = p->tables[IMAGE_BUCKETS].count - 1;
	uint64_t hash;
	uint32_t bucket, at, end;
	enum pattern_kind k;
	const char *n;

	if ((p->kinds & 1u << kind) == 0)
		return false;
	hash = image_hash(&p->seed, kind, name);
	bucket = image_bucket(hash, buckets);
	at = image_u32(p, IMAGE_BUCKETS, bucket);
	end = image_u32(p, IMAGE_BUCKETS, bucket + 1);
	for (int n_seen = 0; at < end && n_seen < IMAGE_BUCKET_MAX; n_seen++) {
		const uint8_t *e = item(p, IMAGE_ENTRIES, at);

		if (e == NULL)
			return false;
		if (load32(e) == (uint32_t)(hash & UINT32_MAX) &&
		    image_entry(p, at, &k, &n, ret, ret_is_inline) &&
		    k == kind && span_is(name, n))
			return true;
		at++;
	}
	return false;
}

uint32_t
image_header_sum(const uint8_t *ptr)
{
	static const struct siphash_key key = { 0x7461707761726421ULL, 1 };
	uint8_t header[IMAGE_HEADER_BYTES];

	memcpy(header, ptr, sizeof(header));
	memset(header + 16, 0, 4);
	return (
	    uint32_t)(siphash(&key, (struct span){ header, sizeof(header) }) &
	    UINT32_MAX);
}

/* Every table lies within the image, whole. */
static bool
load_tables(struct policy *p)
{
	for (uint32_t t = 0; t < IMAGE_TABLES; t++) {
		struct image_run run = load_run(p->ptr + 64 + (size_t)t * 8);
		uint64_t bytes = (uint64_t)run.count * image_item_bytes[t];

		if (run.at < IMAGE_HEADER_BYTES || run.at % 8 != 0 ||
		    run.at > p->len || bytes > p->len - run.at)
			return false;
		p->tables[t] = run;
	}
	return p->tables[IMAGE_BUCKETS].count >= 2 &&
	    p->tables[IMAGE_STRINGS].count >= 1 &&
	    p->tables[IMAGE_BUDGETS].count <= BUDGETS_MAX &&
	    p->tables[IMAGE_REDIRECTS].count <= IMAGE_REDIRECTS_MAX &&
	    p->tables[IMAGE_TCP].count <= IMAGE_TCP_MAX;
}

static int
load_header(struct policy *p)
{
	const uint8_t *h = p->ptr;
	uint32_t flags;

	if (p->len < IMAGE_HEADER_BYTES || p->len > POLICY_IMAGE_MAX_BYTES ||
	    load64(h) != IMAGE_MAGIC)
		return -EBADMSG;
	if (load32(h + 8) != IMAGE_VERSION)
		return -EPROTO;
	if (load32(h + 12) != p->len || load32(h + 16) != image_header_sum(h))
		return -EBADMSG;
	flags = load32(h + 20);
	if ((flags & ~(uint32_t)(IMAGE_CEILING | IMAGE_LEARNS)) != 0)
		return -EBADMSG;
	p->is_ceiling = (flags & IMAGE_CEILING) != 0;
	p->learns = (flags & IMAGE_LEARNS) != 0;
	p->line = load32(h + 24);
	p->kinds = load32(h + 28);
	p->seed = (struct siphash_key){ load64(h + 32), load64(h + 40) };
	if (!load_tables(p))
		return -EBADMSG;
	p->file = image_string(p, image_u32(p, IMAGE_FILES, 0));
	p->digest = image_string(p, load32(h + 48));
	if (p->file == NULL || p->digest == NULL ||
	    !load_budget(p, h + 52, &p->budget))
		return -EBADMSG;
	return 0;
}

int
policy_map_bytes(const void *ptr, size_t len, struct policy **ret_policy)
{
	struct policy *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return -ENOMEM;
	p->refs = 1;
	p->ptr = ptr;
	p->len = len;
	rc = load_header(p);
	if (rc != 0) {
		free(p);
		return rc;
	}
	*ret_policy = p;
	return 0;
}

int
policy_copy_unlearned(const struct policy *p, uint8_t **ret_image,
    size_t *ret_len)
{
	uint8_t *h = malloc(p->len);
	uint32_t v;

	if (h == NULL)
		return -ENOMEM;
	memcpy(h, p->ptr, p->len);
	v = htole32(load32(h + 20) & ~(uint32_t)IMAGE_LEARNS);
	memcpy(h + 20, &v, sizeof(v));
	v = htole32(image_header_sum(h));
	memcpy(h + 16, &v, sizeof(v));
	*ret_image = h;
	*ret_len = p->len;
	return 0;
}

int
policy_map(int fd, struct policy **ret_policy)
{
	struct stat st;
	void *ptr;
	int rc;

	if (!fd_is_sealed(fd))
		return -EBADMSG;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size < IMAGE_HEADER_BYTES ||
	    st.st_size > (off_t)POLICY_IMAGE_MAX_BYTES)
		return -EBADMSG;
	ptr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		return -errno;
	rc = policy_map_bytes(ptr, (size_t)st.st_size, ret_policy);
	if (rc != 0)
		(void)munmap(ptr, (size_t)st.st_size);
	else
		(*ret_policy)->is_mapped = true;
	return rc;
}

struct policy *
policy_ref(struct policy *p)
{
	p->refs++;
	return p;
}

/* munmap() takes a plain pointer to what we only ever read. */
static void
unmap(const struct policy *p)
{
	void *ptr;

	memcpy(&ptr, &p->ptr, sizeof(ptr));
	(void)munmap(ptr, p->len);
}

void
policy_unref(struct policy *p)
{
	if (p == NULL || --p->refs > 0)
		return;
	if (p->is_mapped)
		unmap(p);
	free(p);
}
