/*
 * How a compiled policy lies in memory. Private to conf/: image.c reads it,
 * build.c writes it, everybody else asks conf/policy.h.
 *
 * One buffer: a header, then tables at offsets that are multiples of 8. All
 * integers are little-endian. References are offsets and indices, never
 * pointers. Strings end with a NUL, and the last byte of their pool is one.
 *
 * Finding a host costs one keyed hash a label, whatever the number of names:
 * entries are sorted by bucket, buckets[b] .. buckets[b + 1] are those of
 * bucket b, and no bucket holds more than IMAGE_BUCKET_MAX (build.c takes
 * another key until that is so).
 *
 * Mapping checks the header and the extent of each table, not what is in
 * them: a ceiling of a million names is mapped by every gate, and a pass over
 * it would cost each of them more than its whole life of verdicts. Instead
 * each access checks what it follows, and whatever does not fit makes the
 * verdict a denial. The loops are bounded by the constants below, so a hostile
 * image cannot hold up the dialler either.
 */
#ifndef TAPWARD_CONF_IMAGE_H
#define TAPWARD_CONF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "conf/policy.h"
#include "conf/siphash.h"

#define IMAGE_MAGIC 0x0a4c4f5057504154ULL /* "TAPWPOL\n" */
#define IMAGE_VERSION 3
#define IMAGE_HEADER_BYTES 192

#define IMAGE_BUCKET_MAX 32    /* entries of one bucket */
#define IMAGE_LIST_MAX 512     /* rules that name one host pattern */
#define IMAGE_PORTS_MAX 64     /* of one rule */
#define IMAGE_PATTERNS_MAX 256 /* methods, paths or queries of one rule */
#define IMAGE_STRING_SIZE 256  /* longest string, NUL included */
#define IMAGE_TCP_MAX 4096
#define IMAGE_NONE UINT32_MAX

/* What the header says of the whole file. */
enum {
	IMAGE_CEILING = 1 << 0,
	IMAGE_LEARNS = 1 << 1, /* policy_learns() */
};

/* Tables, in the order of their places in the header. */
enum image_table {
	IMAGE_STRINGS,     /* bytes */
	IMAGE_FILES,       /* u32 string: display names; 0 is the text's */
	IMAGE_RULES,       /* struct image_rule, IMAGE_RULE_BYTES each */
	IMAGE_LISTS,       /* u32 rule */
	IMAGE_PATTERNS,    /* u32 string: methods, paths, queries, references */
	IMAGE_PORTS,       /* u16: ports of rules */
	IMAGE_ALL_PORTS,   /* u16: of allow and ask rules, ascending */
	IMAGE_ENTRIES,     /* struct image_entry, IMAGE_ENTRY_BYTES each */
	IMAGE_BUCKETS,     /* u32 first entry; one more than buckets */
	IMAGE_TCP,         /* u32 host, u32 address, u32 port; by host */
	IMAGE_CREDENTIALS, /* u32 string */
	IMAGE_GIT,         /* struct image_git, IMAGE_GIT_BYTES each */
	IMAGE_BUDGETS,     /* struct image_budget, IMAGE_BUDGET_BYTES each */
	IMAGE_REDIRECTS, /* struct image_redirect, IMAGE_REDIRECT_BYTES each */
	IMAGE_TABLES
};

extern const uint32_t image_item_bytes[IMAGE_TABLES];

#define IMAGE_RULE_BYTES 64
#define IMAGE_ENTRY_BYTES 16
#define IMAGE_GIT_BYTES 24
#define IMAGE_BUDGET_BYTES 48
#define IMAGE_REDIRECT_BYTES 16
#define IMAGE_REDIRECTS_MAX 256 /* of one file: each is looked at */
#define IMAGE_REDIRECT_S_MAX 3600

/* Which names a pattern stands for. */
enum pattern_kind {
	PATTERN_EXACT,     /* x */
	PATTERN_ONE_LABEL, /* *.x: one label below x, not x */
	PATTERN_ANY_DEPTH, /* **.x: any depth below x, not x */
	PATTERN_KINDS
};

/* A run within a table. */
struct image_run {
	uint32_t at;
	uint32_t count;
};

struct policy {
	unsigned int refs;
	const uint8_t *ptr;
	size_t len;
	bool is_mapped; /* munmap() at the end */
	bool is_ceiling;
	bool learns;
	uint32_t line;   /* of [policy] */
	uint32_t budget; /* of the file as a whole; IMAGE_NONE for none */
	uint32_t kinds;  /* 1 << pattern_kind of those that occur */
	struct siphash_key seed;
	const char *file;
	const char *digest;
	struct image_run tables[IMAGE_TABLES]; /* at: offset in bytes */
};

/* What a [git] rule has beside its repositories, which are its paths. */
enum {
	IMAGE_GIT_PUSH = 1 << 0,
	IMAGE_GIT_DELETE = 1 << 1,
	IMAGE_GIT_FORCE = 1 << 2,
	IMAGE_GIT_LFS = 1 << 3,
	IMAGE_GIT_OPTIONS = 1 << 4,
};

struct image_git {
	uint32_t flags;
	struct image_run refs;
	uint64_t max_push; /* 0: none */
};

/* One rule, decoded. Strings borrow from the image. */
struct image_rule {
	const char *name;
	const char *file;
	const char *say;
	const char *credential; /* "" for none */
	uint32_t line;
	enum action action;
	enum scheme scheme;
	enum tls_mode tls;
	uint32_t widen;
	struct image_run ports;   /* none: every port (deny rules only) */
	struct image_run methods; /* none: every method */
	struct image_run paths;
	struct image_run queries;
	bool is_git;
	struct image_git git;
	uint32_t budget; /* of IMAGE_BUDGETS; IMAGE_NONE for none */
};

/* One budget, decoded. */
struct image_budget {
	uint32_t rule; /* IMAGE_NONE: the file as a whole */
	struct budget budget;
};

/* "Answers to what rule allows may point there, for so long." */
struct image_redirect {
	uint32_t rule;
	uint32_t name; /* string: canonical, without the stars */
	enum pattern_kind kind;
	uint32_t seconds;
};

/* The string at off; NULL when it does not end within IMAGE_STRING_SIZE. */
const char *image_string(const struct policy *p, uint32_t off);
/* Item i of a table of u32 or u16; IMAGE_NONE when there is none. */
uint32_t image_u32(const struct policy *p, enum image_table t, uint32_t i);
uint32_t image_u16(const struct policy *p, enum image_table t, uint32_t i);
/* Item i of IMAGE_TCP; false when there is none or it is not sound. */
bool image_tcp(const struct policy *p, uint32_t i, struct policy_tcp *ret);
/* False when there is no such budget, or it is not sound. */
bool image_budget(const struct policy *p, uint32_t i, struct image_budget *ret);
/* False when there is no such redirect, or it is not sound. */
bool image_redirect(const struct policy *p, uint32_t i,
    struct image_redirect *ret);
/* False when there is no such rule, or it is not sound. */
bool image_rule(const struct policy *p, uint32_t id, struct image_rule *ret);
/*
 * The rules that name the pattern: a run of IMAGE_LISTS, or of one rule id in
 * ret->at with *ret_is_inline. False when no rule does.
 */
bool image_find(const struct policy *p, enum pattern_kind kind,
    struct span name, struct image_run *ret, bool *ret_is_inline);
/* As image_find(), for entry i: also what it stands for. */
bool image_entry(const struct policy *p, uint32_t i,
    enum pattern_kind *ret_kind, const char **ret_name, struct image_run *ret,
    bool *ret_is_inline);
/* The hash of a pattern, and the bucket it falls into. */
uint64_t image_hash(const struct siphash_key *seed, enum pattern_kind kind,
    struct span name);
uint32_t image_bucket(uint64_t hash, uint32_t buckets);
/* Over the header but its own place: counts that were changed show. */
uint32_t image_header_sum(const uint8_t *ptr);

#endif
