/*
 * A ruleset as sorted lines of text: what we would send and what the kernel
 * has give the same lines exactly when they mean the same.
 */
#ifndef TAPWARD_NETFILTER_RULESET_TEXT_H
#define TAPWARD_NETFILTER_RULESET_TEXT_H

#include "netfilter/ruleset_build.h"

struct text_lines {
	char **line; /* owned */
	size_t count, size;
	/* Rules carry their place in their chain: order decides. */
	char chain[96];
	unsigned int rule_index;
};

void text_done(struct text_lines *t);

/* Each adds the lines of one object. 0 or -errno. */
int text_add_table(struct text_lines *t, struct nftnl_table *o);
int text_add_counter(struct text_lines *t, struct nftnl_obj *o);
int text_add_set(struct text_lines *t, struct nftnl_set *o);
int text_add_elements(struct text_lines *t, struct nftnl_set *o);
int text_add_chain(struct text_lines *t, struct nftnl_chain *o);
/* Rules of one chain in a row, in order. */
int text_add_rule(struct text_lines *t, struct nftnl_rule *o);
/* Something that no ruleset of ours has. */
int text_add_strange(struct text_lines *t, const char *what);

/*
 * Sorts both. 0 if they are equal; else -EBADMSG, with the first line that
 * only one of them has in err.
 */
int text_compare(struct text_lines *want, struct text_lines *have,
    struct err *err);

#endif
