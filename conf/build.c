/*
 * Writes the tables of conf/image.h. What goes into one is gathered first, so
 * that the image is allocated once and filled from front to back.
 */
#include "conf/build.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/build_index.h"

/* Addresses 198.18.0.1 .. 198.18.255.254 for hosts of scheme tcp. */
#define TCP_ADDRESS_BASE 0xc6120000u
#define TCP_ADDRESSES 65534u
#define PORTS 65536

struct tcp_row {
	const char *host;
	uint32_t name;
	uint32_t address;
	uint16_t port;
};

struct build {
	const struct model *m;
	struct build_index index;
	struct vec tcp;         /* struct tcp_row */
	struct vec credentials; /* uint32_t string */
	struct vec all_ports;   /* uint16_t */
	uint32_t git_rules;
	uint8_t *image;
	size_t len;
	struct image_run tables[IMAGE_TABLES]; /* at: offset in bytes */
};

static void
store32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof(v));
}

static void
store64(uint8_t *at, uint64_t v)
{
	v = htole64(v);
	memcpy(at, &v, sizeof(v));
}

static void
store_run(uint8_t *at, const struct image_run *run, uint32_t base)
{
	store32(at, run->count > 0 ? run->at + base : 0);
	store32(at + 4, run->count);
}

/* --- what the model says in total --------------------------------------- */

static int
gather_ports(struct build *b)
{
	uint8_t *seen = calloc(PORTS, 1);
	int rc = 0;

	if (seen == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < b->m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(b->m, i);

		for (uint32_t k = 0; k < r->ports.count; k++) {
			uint16_t *port = vec_at(&b->m->ports, r->ports.at + k);

			if (r->action != ACTION_DENY)
				seen[*port] = 1;
		}
	}
	for (uint32_t port = 1; rc == 0 && port < PORTS; port++) {
		uint16_t p = (uint16_t)port;

		if (seen[port])
			rc = vec_push(&b->all_ports, &p);
	}
	free(seen);
	return rc;
}

static int
gather_credentials(struct build *b)
{
	for (size_t i = 0; i < b->m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(b->m, i);
		const char *name = model_string(b->m, r->credential);
		bool is_known = name[0] == '\0';

		for (size_t k = 0; !is_known && k < b->credentials.count; k++) {
			uint32_t *other = vec_at(&b->credentials, k);

			is_known =
			    strcmp(model_string(b->m, *other), name) == 0;
		}
		if (!is_known && vec_push(&b->credentials, &r->credential) != 0)
			return -ENOMEM;
	}
	return 0;
}

static void
count_git_rules(struct build *b)
{
	for (size_t i = 0; i < b->m->rules.count; i++)
		b->git_rules += model_rule_at(b->m, i)->is_git ? 1 : 0;
}

static int
by_host_and_port(const void *a, const void *b)
{
	const struct tcp_row *x = a, *y = b;
	int c = strcmp(x->host, y->host);

	return c != 0 ? c : (int)x->port - (int)y->port;
}

static int
gather_tcp_rows(struct build *b, struct err *err)
{
	for (size_t i = 0; i < b->m->hosts.count; i++) {
		const struct model_host *h = vec_at(&b->m->hosts, i);
		const struct model_rule *r = model_rule_at(b->m, h->rule);
		struct tcp_row row = { .host = model_string(b->m, h->name),
			.name = h->name };

		if (r->action == ACTION_DENY || r->scheme != SCHEME_TCP)
			continue;
		for (uint32_t k = 0; k < r->ports.count; k++) {
			uint16_t *port = vec_at(&b->m->ports, r->ports.at + k);

			row.port = *port;
			if (vec_push(&b->tcp, &row) != 0)
				return -ENOMEM;
		}
		if (b->tcp.count > IMAGE_TCP_MAX)
			return err_at(err, NULL, 0,
			    "more than %d hosts and ports of scheme tcp",
			    IMAGE_TCP_MAX);
	}
	return 0;
}

static bool
address_is_taken(const struct build *b, size_t rows, uint32_t address)
{
	for (size_t i = 0; i < rows; i++) {
		const struct tcp_row *row = vec_at(&b->tcp, i);

		if (row->address == address)
			return true;
	}
	return false;
}

/*
 * An address follows from the name alone (but where two fall together), so
 * that a policy which is sent again moves no host under a guest that still
 * holds the old answer.
 */
static uint32_t
address_for(const struct build *b, size_t rows, const char *host)
{
	static const struct siphash_key key = { 0, 0 };
	uint32_t n = (uint32_t)(siphash(&key, span_of(host)) % TCP_ADDRESSES);

	while (address_is_taken(b, rows, TCP_ADDRESS_BASE + 1 + n))
		n = (n + 1) % TCP_ADDRESSES;
	return TCP_ADDRESS_BASE + 1 + n;
}

static int
gather_tcp(struct build *b, struct err *err)
{
	int rc = gather_tcp_rows(b, err);
	struct tcp_row *rows = b->tcp.ptr;
	size_t kept = 0;

	if (rc != 0 || b->tcp.count == 0)
		return rc;
	qsort(rows, b->tcp.count, sizeof(*rows), by_host_and_port);
	for (size_t i = 0; i < b->tcp.count; i++) {
		bool same_host =
		    kept > 0 && strcmp(rows[kept - 1].host, rows[i].host) == 0;

		if (same_host && rows[kept - 1].port == rows[i].port)
			continue;
		rows[i].address = same_host
		    ? rows[kept - 1].address
		    : address_for(b, kept, rows[i].host);
		rows[kept++] = rows[i];
	}
	b->tcp.count = kept;
	return 0;
}

/* --- the image ----------------------------------------------------------- */

/* Where each table goes. -EINVAL when the whole is too large. */
static int
lay_out(struct build *b, struct err *err)
{
	const struct model *m = b->m;
	const size_t counts[IMAGE_TABLES] = {
		[IMAGE_STRINGS] = m->strings.count,
		[IMAGE_FILES] = m->files.count,
		[IMAGE_RULES] = m->rules.count,
		[IMAGE_LISTS] = b->index.lists.count,
		[IMAGE_PATTERNS] = m->methods.count + m->paths.count +
		    m->queries.count + m->refs.count,
		[IMAGE_PORTS] = m->ports.count,
		[IMAGE_ALL_PORTS] = b->all_ports.count,
		[IMAGE_ENTRIES] = b->index.entries.count,
		[IMAGE_BUCKETS] = b->index.buckets.count,
		[IMAGE_TCP] = b->tcp.count,
		[IMAGE_CREDENTIALS] = b->credentials.count,
		[IMAGE_GIT] = b->git_rules,
		[IMAGE_BUDGETS] = m->budgets.count,
		[IMAGE_REDIRECTS] = m->redirects.count,
	};
	uint64_t at = IMAGE_HEADER_BYTES;

	for (int t = 0; t < IMAGE_TABLES; t++) {
		b->tables[t] =
		    (struct image_run){ (uint32_t)at, (uint32_t)counts[t] };
		at += ((uint64_t)counts[t] * image_item_bytes[t] + 7) / 8 * 8;
		if (at > POLICY_IMAGE_MAX_BYTES)
			return err_at(err, NULL, 0,
			    "more names and rules than an image of %u MiB "
			    "holds",
			    POLICY_IMAGE_MAX_BYTES >> 20);
	}
	b->len = (size_t)at;
	return 0;
}

static uint8_t *
table(const struct build *b, enum image_table t)
{
	return b->image + b->tables[t].at;
}

static void
write_u32s(const struct build *b, enum image_table t, const struct vec *v,
    size_t from)
{
	for (size_t i = 0; i < v->count; i++) {
		const uint32_t *value = vec_at(v, i);

		store32(table(b, t) + (from + i) * 4, *value);
	}
}

static void
write_u16s(const struct build *b, enum image_table t, const struct vec *v)
{
	for (size_t i = 0; i < v->count; i++) {
		const uint16_t *value = vec_at(v, i);

		table(b, t)[i * 2] = (uint8_t)(*value & 0xff);
		table(b, t)[i * 2 + 1] = (uint8_t)(*value >> 8);
	}
}

/* Its number, from 1. */
static uint32_t
write_git(const struct build *b, const struct model_rule *r, uint32_t number)
{
	const struct model *m = b->m;
	uint32_t refs =
	    (uint32_t)(m->methods.count + m->paths.count + m->queries.count);
	uint8_t *at =
	    table(b, IMAGE_GIT) + (size_t)(number - 1) * IMAGE_GIT_BYTES;

	store32(at, r->git.flags);
	store_run(at + 8, &r->git.refs, refs);
	store64(at + 16, r->git.max_push);
	return number;
}

static void
write_rules(const struct build *b)
{
	uint32_t git_rules = 0;
	uint32_t paths = (uint32_t)b->m->methods.count;
	uint32_t queries = paths + (uint32_t)b->m->paths.count;

	for (size_t i = 0; i < b->m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(b->m, i);
		uint8_t *at = table(b, IMAGE_RULES) + i * IMAGE_RULE_BYTES;

		at[0] = (uint8_t)r->action;
		at[1] = (uint8_t)r->scheme;
		at[2] = (uint8_t)r->tls;
		at[3] = (uint8_t)r->widen;
		store32(at + 4, r->line);
		store32(at + 8, r->name);
		store32(at + 12, r->file);
		store32(at + 16, r->say);
		store32(at + 20, r->credential);
		store_run(at + 24, &r->ports, 0);
		store_run(at + 32, &r->methods, 0);
		store_run(at + 40, &r->paths, paths);
		store_run(at + 48, &r->queries, queries);
		if (r->is_git)
			store32(at + 56, write_git(b, r, ++git_rules));
		store32(at + 60, r->budget);
	}
}

static void
write_redirects(const struct build *b)
{
	for (size_t i = 0; i < b->m->redirects.count; i++) {
		const struct image_redirect *r = vec_at(&b->m->redirects, i);
		uint8_t *at =
		    table(b, IMAGE_REDIRECTS) + i * IMAGE_REDIRECT_BYTES;

		store32(at, r->rule);
		store32(at + 4, r->name);
		store32(at + 8, r->kind);
		store32(at + 12, r->seconds);
	}
}

static void
write_budgets(const struct build *b)
{
	for (size_t i = 0; i < b->m->budgets.count; i++) {
		const struct image_budget *v = vec_at(&b->m->budgets, i);
		uint8_t *at = table(b, IMAGE_BUDGETS) + i * IMAGE_BUDGET_BYTES;

		store32(at, v->rule);
		store32(at + 4, v->budget.max_connections);
		store64(at + 8, v->budget.until_s);
		store64(at + 16, v->budget.max_requests);
		store64(at + 24, v->budget.max_upload);
		store64(at + 32, v->budget.max_download);
		store32(at + 40, v->budget.rate);
		store32(at + 44, v->budget.rate_s);
	}
}

static void
write_entries(const struct build *b)
{
	for (size_t i = 0; i < b->index.entries.count; i++) {
		const struct build_entry *e = vec_at(&b->index.entries, i);
		uint8_t *at = table(b, IMAGE_ENTRIES) + i * IMAGE_ENTRY_BYTES;

		store32(at, (uint32_t)(e->hash & UINT32_MAX));
		store32(at + 4, e->name);
		store32(at + 8, e->list);
		at[12] = (uint8_t)(e->count & 0xff);
		at[13] = (uint8_t)(e->count >> 8 & 0xff);
		at[14] = (uint8_t)e->kind;
	}
}

static void
write_tcp(const struct build *b)
{
	for (size_t i = 0; i < b->tcp.count; i++) {
		const struct tcp_row *row = vec_at(&b->tcp, i);
		uint8_t *at = table(b, IMAGE_TCP) + i * 12;

		store32(at, row->name);
		store32(at + 4, row->address);
		store32(at + 8, row->port);
	}
}

static void
write_header(const struct build *b)
{
	uint8_t *h = b->image;

	store64(h, IMAGE_MAGIC);
	store32(h + 8, IMAGE_VERSION);
	store32(h + 12, (uint32_t)b->len);
	store32(h + 20,
	    (b->m->is_ceiling ? IMAGE_CEILING : 0) |
		(b->m->learns ? IMAGE_LEARNS : 0));
	store32(h + 24, b->m->line);
	store32(h + 28, b->index.kinds);
	store64(h + 32, b->index.seed.k0);
	store64(h + 40, b->index.seed.k1);
	store32(h + 48, b->m->digest);
	store32(h + 52, b->m->budget);
	for (size_t t = 0; t < IMAGE_TABLES; t++) {
		store32(h + 64 + t * 8, b->tables[t].at);
		store32(h + 68 + t * 8, b->tables[t].count);
	}
	store32(h + 16, image_header_sum(h));
}

static int
write_image(struct build *b)
{
	const struct model *m = b->m;

	b->image = calloc(1, b->len);
	if (b->image == NULL)
		return -ENOMEM;
	memcpy(table(b, IMAGE_STRINGS), m->strings.ptr, m->strings.count);
	write_u32s(b, IMAGE_FILES, &m->files, 0);
	write_rules(b);
	write_u32s(b, IMAGE_LISTS, &b->index.lists, 0);
	write_u32s(b, IMAGE_PATTERNS, &m->methods, 0);
	write_u32s(b, IMAGE_PATTERNS, &m->paths, m->methods.count);
	write_u32s(b, IMAGE_PATTERNS, &m->queries,
	    m->methods.count + m->paths.count);
	write_u32s(b, IMAGE_PATTERNS, &m->refs,
	    m->methods.count + m->paths.count + m->queries.count);
	write_u16s(b, IMAGE_PORTS, &m->ports);
	write_u16s(b, IMAGE_ALL_PORTS, &b->all_ports);
	write_entries(b);
	write_u32s(b, IMAGE_BUCKETS, &b->index.buckets, 0);
	write_tcp(b);
	write_u32s(b, IMAGE_CREDENTIALS, &b->credentials, 0);
	write_budgets(b);
	write_redirects(b);
	write_header(b);
	return 0;
}

static int
build(struct build *b, struct err *err)
{
	int rc = build_index(b->m, &b->index, err);

	count_git_rules(b);
	if (rc == 0)
		rc = gather_ports(b);
	if (rc == 0)
		rc = gather_credentials(b);
	if (rc == 0)
		rc = gather_tcp(b, err);
	if (rc == 0)
		rc = lay_out(b, err);
	return rc == 0 ? write_image(b) : rc;
}

int
build_image(const struct model *m, uint8_t **ret_image, size_t *ret_len,
    struct err *err)
{
	struct build b = { .m = m,
		.tcp = VEC_OF(struct tcp_row),
		.credentials = VEC_OF(uint32_t),
		.all_ports = VEC_OF(uint16_t) };
	int rc = build(&b, err);

	build_index_done(&b.index);
	vec_done(&b.tcp);
	vec_done(&b.credentials);
	vec_done(&b.all_ports);
	if (rc != 0)
		return rc;
	*ret_image = b.image;
	*ret_len = b.len;
	return 0;
}
