/*
 * Every property that changes what a ruleset does is in its line. A property
 * that libnftnl does not know cannot be compared; its library and kernel
 * print the rest of an expression the same way in both directions.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/expr.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "netfilter/ruleset_text.h"

#define LINE_MAX_BYTES 4096

void
text_done(struct text_lines *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->line[i]);
	free(t->line);
	*t = (struct text_lines){ 0 };
}

static int
add_line(struct text_lines *t, const struct wr *w)
{
	char *copy;

	if (!wr_ok(w))
		return -ENOBUFS;
	if (t->count == t->size) {
		size_t size = t->size == 0 ? 256 : 2 * t->size;
		char **line = realloc(t->line, size * sizeof(*line));

		if (line == NULL)
			return -ENOMEM;
		t->line = line;
		t->size = size;
	}
	copy = malloc(w->len + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, w->buf, w->len);
	copy[w->len] = '\0';
	t->line[t->count++] = copy;
	return 0;
}

/* A name from the kernel; libnftnl gives NULL for one that is not there. */
static const char *
or_dash(const char *s)
{
	return s == NULL ? "-" : s;
}

int
text_add_strange(struct text_lines *t, const char *what)
{
	char buf[128];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_fmt(&w, "strange %s", what);
	return add_line(t, &w);
}

int
text_add_table(struct text_lines *t, struct nftnl_table *o)
{
	char buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_fmt(&w, "table %u %s flags %u",
	    nftnl_table_get_u32(o, NFTNL_TABLE_FAMILY),
	    or_dash(nftnl_table_get_str(o, NFTNL_TABLE_NAME)),
	    nftnl_table_get_u32(o, NFTNL_TABLE_FLAGS));
	return add_line(t, &w);
}

int
text_add_counter(struct text_lines *t, struct nftnl_obj *o)
{
	char buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_fmt(&w, "object %u %s type %u %s",
	    nftnl_obj_get_u32(o, NFTNL_OBJ_FAMILY),
	    or_dash(nftnl_obj_get_str(o, NFTNL_OBJ_TABLE)),
	    nftnl_obj_get_u32(o, NFTNL_OBJ_TYPE),
	    or_dash(nftnl_obj_get_str(o, NFTNL_OBJ_NAME)));
	return add_line(t, &w);
}

int
text_add_set(struct text_lines *t, struct nftnl_set *o)
{
	char buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_fmt(&w, "set %u %s %s flags %u key %u size %u",
	    nftnl_set_get_u32(o, NFTNL_SET_FAMILY),
	    or_dash(nftnl_set_get_str(o, NFTNL_SET_TABLE)),
	    or_dash(nftnl_set_get_str(o, NFTNL_SET_NAME)),
	    nftnl_set_get_u32(o, NFTNL_SET_FLAGS),
	    nftnl_set_get_u32(o, NFTNL_SET_KEY_LEN),
	    nftnl_set_get_u32(o, NFTNL_SET_DESC_SIZE));
	return add_line(t, &w);
}

struct element_sink {
	struct text_lines *lines;
	struct nftnl_set *set;
	int rc;
};

static int
on_element(struct nftnl_set_elem *e, void *arg)
{
	struct element_sink *s = arg;
	char buf[512];
	struct wr w = wr_init(buf, sizeof(buf));
	uint32_t len = 0;
	const uint8_t *key = nftnl_set_elem_get(e, NFTNL_SET_ELEM_KEY, &len);
	uint32_t flags = 0;

	/* Unlike its siblings, it does not give 0 for what is not set. */
	if (nftnl_set_elem_is_set(e, NFTNL_SET_ELEM_FLAGS))
		flags = nftnl_set_elem_get_u32(e, NFTNL_SET_ELEM_FLAGS);
	wr_fmt(&w, "element %u %s flags %u ",
	    nftnl_set_get_u32(s->set, NFTNL_SET_FAMILY),
	    or_dash(nftnl_set_get_str(s->set, NFTNL_SET_NAME)), flags);
	for (uint32_t i = 0; key != NULL && i < len; i++)
		wr_fmt(&w, "%02x", key[i]);
	s->rc = add_line(s->lines, &w);
	return s->rc;
}

int
text_add_elements(struct text_lines *t, struct nftnl_set *o)
{
	struct element_sink s = { t, o, 0 };

	(void)nftnl_set_elem_foreach(o, on_element, &s);
	return s.rc;
}

static void
put_devices(struct wr *w, struct nftnl_chain *o)
{
	const char *const *all = nftnl_chain_get_array(o, NFTNL_CHAIN_DEVICES);
	const char *one = nftnl_chain_get_str(o, NFTNL_CHAIN_DEV);

	/* The kernel lists what was set as one. */
	if (all == NULL && one != NULL)
		wr_fmt(w, " device %s", one);
	for (size_t i = 0; all != NULL && all[i] != NULL; i++)
		wr_fmt(w, " device %s", all[i]);
}

int
text_add_chain(struct text_lines *t, struct nftnl_chain *o)
{
	char buf[1024];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_fmt(&w, "chain %u %s %s flags %u",
	    nftnl_chain_get_u32(o, NFTNL_CHAIN_FAMILY),
	    or_dash(nftnl_chain_get_str(o, NFTNL_CHAIN_TABLE)),
	    or_dash(nftnl_chain_get_str(o, NFTNL_CHAIN_NAME)),
	    /* That it is a base chain shows in its hook. */
	    nftnl_chain_get_u32(o, NFTNL_CHAIN_FLAGS) & ~1U);
	if (nftnl_chain_is_set(o, NFTNL_CHAIN_HOOKNUM)) {
		wr_fmt(&w, " type %s hook %u priority %" PRId32 " policy %u",
		    or_dash(nftnl_chain_get_str(o, NFTNL_CHAIN_TYPE)),
		    nftnl_chain_get_u32(o, NFTNL_CHAIN_HOOKNUM),
		    nftnl_chain_get_s32(o, NFTNL_CHAIN_PRIO),
		    nftnl_chain_get_u32(o, NFTNL_CHAIN_POLICY));
		put_devices(&w, o);
	}
	return add_line(t, &w);
}

static int
on_expr(struct nftnl_expr *e, void *arg)
{
	struct wr *w = arg;
	char buf[512];
	int len;

	len = nftnl_expr_snprintf(buf, sizeof(buf), e, NFTNL_OUTPUT_DEFAULT, 0);
	if (len < 0 || (size_t)len >= sizeof(buf))
		return -1;
	wr_fmt(w, " [%s %s]", or_dash(nftnl_expr_get_str(e, NFTNL_EXPR_NAME)),
	    buf);
	return 0;
}

/* Counts a chain's rules from its first. */
static int
enter_chain(struct text_lines *t, struct nftnl_rule *o)
{
	char chain[sizeof(t->chain)];
	struct wr w = wr_init(chain, sizeof(chain));

	wr_fmt(&w, "%u %s %s", nftnl_rule_get_u32(o, NFTNL_RULE_FAMILY),
	    or_dash(nftnl_rule_get_str(o, NFTNL_RULE_TABLE)),
	    or_dash(nftnl_rule_get_str(o, NFTNL_RULE_CHAIN)));
	wr_u8(&w, 0);
	if (!wr_ok(&w))
		return -ENOBUFS;
	if (strcmp(chain, t->chain) != 0) {
		memcpy(t->chain, chain, w.len);
		t->rule_index = 0;
	}
	return 0;
}

int
text_add_rule(struct text_lines *t, struct nftnl_rule *o)
{
	AUTO_FREE char *buf = malloc(LINE_MAX_BYTES);
	int rc = buf == NULL ? -ENOMEM : enter_chain(t, o);

	if (rc == 0) {
		struct wr w = wr_init(buf, LINE_MAX_BYTES);

		wr_fmt(&w, "rule %s %03u", t->chain, t->rule_index++);
		rc = nftnl_expr_foreach(o, on_expr, &w) < 0 ? -ENOBUFS
							    : add_line(t, &w);
	}
	return rc;
}

static int
compare_lines(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Rules are long: the start says which, then from where they part. */
static void
report_difference(const char *want, const char *have, struct err *err)
{
	size_t same = 0;

	while (want[same] != '\0' && want[same] == have[same])
		same++;
	(void)err_at(err, NULL, 0,
	    "the ruleset differs from ours at \"%.40s\": want \"%.150s\", "
	    "have \"%.150s\"",
	    want, want + same, have + same);
}

int
text_compare(struct text_lines *want, struct text_lines *have, struct err *err)
{
	size_t i = 0;

	if (want->count > 0)
		qsort(want->line, want->count, sizeof(char *), compare_lines);
	if (have->count > 0)
		qsort(have->line, have->count, sizeof(char *), compare_lines);
	while (i < want->count && i < have->count &&
	    strcmp(want->line[i], have->line[i]) == 0)
		i++;
	if (i == want->count && i == have->count)
		return 0;
	report_difference(i < want->count ? want->line[i] : "nothing more",
	    i < have->count ? have->line[i] : "nothing more", err);
	return -EBADMSG;
}
