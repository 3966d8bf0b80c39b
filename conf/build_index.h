/*
 * The part of an image by which a host is found: entries sorted by bucket,
 * and the lists of rules behind them. Private to build.c.
 */
#ifndef TAPWARD_CONF_BUILD_INDEX_H
#define TAPWARD_CONF_BUILD_INDEX_H

#include "base/err.h"
#include "conf/model.h"

struct build_entry {
	uint64_t hash;
	uint32_t name;  /* string */
	uint32_t list;  /* first of lists, or the one rule */
	uint32_t count; /* rules */
	enum pattern_kind kind;
};

struct build_index {
	struct siphash_key seed;
	uint32_t kinds;
	struct vec entries; /* struct build_entry */
	struct vec lists;   /* uint32_t rule */
	struct vec buckets; /* uint32_t entry; one more than buckets */
};

/* Results as build_image(); build_index_done() either way. */
int build_index(const struct model *m, struct build_index *ret,
    struct err *err);
void build_index_done(struct build_index *x);

#endif
