/*
 * See archive.h.
 */
#include "vmm/archive.h"

#include <assert.h>
#include <string.h>

static const char *const fault_texts[] = {
	[ARCHIVE_OK] = "no fault",
	[ARCHIVE_BAD_MAGIC] = "it does not start as an archive",
	[ARCHIVE_BAD_TYPE] = "a record of no known type",
	[ARCHIVE_BAD_NAME] = "a name that no file may have",
	[ARCHIVE_BAD_MODE] = "a mode with more than permissions",
	[ARCHIVE_BAD_TIME] = "a time that cannot be",
	[ARCHIVE_BAD_SIZE] = "a size that cannot be",
	[ARCHIVE_BAD_TARGET] = "a link to what no link may name",
	[ARCHIVE_BAD_ORDER] = "a record where it may not stand",
	[ARCHIVE_BAD_DEPTH] = "more directories within each other than allowed",
	[ARCHIVE_BAD_END] = "bytes after its end",
	[ARCHIVE_CUT] = "it stops before its end",
};

const char *
archive_fault_text(enum archive_fault fault)
{
	return fault_texts[fault];
}

void
archive_magic_encode(struct wr *w)
{
	wr_u32(w, ARCHIVE_MAGIC);
}

void
archive_entry_encode(struct wr *w, const struct archive_entry *e)
{
	wr_u8(w, (uint8_t)e->type);
	if (e->type == ARCHIVE_UP || e->type == ARCHIVE_END)
		return;
	if (e->type != ARCHIVE_LINK)
		wr_u16(w, e->mode);
	wr_u64(w, (uint64_t)e->mtime_s);
	wr_u32(w, e->mtime_ns);
	wr_span16(w, e->name);
	if (e->type == ARCHIVE_FILE)
		wr_u64(w, e->size);
	if (e->type == ARCHIVE_LINK)
		wr_span16(w, e->target);
}

static bool
has_byte(struct span s, uint8_t byte)
{
	return s.len > 0 && memchr(s.ptr, byte, s.len) != NULL;
}

/* One component; empty is the root's, and judged by order(). */
static bool
is_name(struct span s)
{
	return !has_byte(s, '/') && !has_byte(s, '\0') && !span_is(s, ".") &&
	    !span_is(s, "..");
}

/* A string of at most max bytes; longer ones are a fault, not a wait. */
static struct span
take_string(struct rd *r, size_t max, enum archive_fault fault,
    enum archive_fault *ret_fault)
{
	const size_t len = rd_u16(r);

	if (len > max) {
		*ret_fault = fault;
		rd_fail(r);
	}
	return rd_take(r, len);
}

static enum archive_fault
entry_check(const struct archive_entry *e)
{
	if (e->mode > 0777)
		return ARCHIVE_BAD_MODE;
	if (e->mtime_ns >= 1000000000)
		return ARCHIVE_BAD_TIME;
	if (e->size > INT64_MAX)
		return ARCHIVE_BAD_SIZE;
	if (!is_name(e->name))
		return ARCHIVE_BAD_NAME;
	if (e->type == ARCHIVE_LINK &&
	    (e->target.len == 0 || has_byte(e->target, '\0')))
		return ARCHIVE_BAD_TARGET;
	return ARCHIVE_OK;
}

/* A whole record at the front of in; *ret_used is 0 when more must come. */
static enum archive_fault
entry_decode(struct span in, struct archive_entry *ret, size_t *ret_used)
{
	struct rd r = rd_span(in);
	struct archive_entry e = { .type = ARCHIVE_END };
	enum archive_fault fault = ARCHIVE_OK;
	const uint8_t type = rd_u8(&r);

	*ret_used = 0;
	if (!rd_ok(&r))
		return ARCHIVE_OK;
	if (type < ARCHIVE_DIR || type > ARCHIVE_END)
		return ARCHIVE_BAD_TYPE;
	e.type = (enum archive_type)type;
	if (e.type == ARCHIVE_DIR || e.type == ARCHIVE_FILE)
		e.mode = rd_u16(&r);
	if (e.type != ARCHIVE_UP && e.type != ARCHIVE_END) {
		e.mtime_s = (int64_t)rd_u64(&r);
		e.mtime_ns = rd_u32(&r);
		e.name =
		    take_string(&r, ARCHIVE_NAME_MAX, ARCHIVE_BAD_NAME, &fault);
	}
	if (e.type == ARCHIVE_FILE)
		e.size = rd_u64(&r);
	if (e.type == ARCHIVE_LINK)
		e.target = take_string(&r, ARCHIVE_TARGET_MAX,
		    ARCHIVE_BAD_TARGET, &fault);
	if (!rd_ok(&r))
		return fault;
	*ret = e;
	*ret_used = in.len - rd_left(&r);
	return entry_check(&e);
}

/* Whether e may stand here; notes that it did. */
static enum archive_fault
order(struct archive_parser *p, const struct archive_entry *e)
{
	if (e->type == ARCHIVE_END) {
		if (!p->has_root || p->depth > 0)
			return ARCHIVE_BAD_ORDER;
		p->is_done = true;
		return ARCHIVE_OK;
	}
	if (e->type == ARCHIVE_UP) {
		if (p->depth == 0)
			return ARCHIVE_BAD_ORDER;
		p->depth--;
		return ARCHIVE_OK;
	}
	/* the root has no name, and everything else is inside a directory */
	if (p->has_root ? p->depth == 0 : e->type == ARCHIVE_LINK)
		return ARCHIVE_BAD_ORDER;
	if ((e->name.len == 0) != !p->has_root)
		return ARCHIVE_BAD_NAME;
	p->has_root = true;
	if (e->type == ARCHIVE_DIR && ++p->depth > ARCHIVE_DEPTH_MAX)
		return ARCHIVE_BAD_DEPTH;
	p->data_left = e->size;
	return ARCHIVE_OK;
}

static enum archive_event
bad(struct archive_parser *p, enum archive_fault fault)
{
	p->fault = fault;
	return ARCHIVE_BAD;
}

/*
 * The bytes that the next record is read from: those of in, or those held with
 * as many of in after them as there is room for. *ret_held: how many of them
 * were taken from in before.
 */
static struct span
record_bytes(struct archive_parser *p, struct span in, size_t *ret_held)
{
	const size_t room = sizeof(p->record) - p->held;
	const size_t more = in.len < room ? in.len : room;

	*ret_held = p->held;
	if (p->held == 0)
		return in;
	if (more > 0)
		memcpy(p->record + p->held, in.ptr, more);
	return (struct span){ p->record, p->held + more };
}

/* What is there of a record waits for the rest; it always fits. */
static enum archive_event
hold(struct archive_parser *p, struct span *in)
{
	assert(in->len <= sizeof(p->record) - p->held);
	if (in->len > 0)
		memcpy(p->record + p->held, in->ptr, in->len);
	p->held += in->len;
	*in = (struct span){ NULL, 0 };
	return ARCHIVE_MORE;
}

static void
consume(struct span *in, size_t len)
{
	if (len == 0) /* ptr may be NULL */
		return;
	in->ptr += len;
	in->len -= len;
}

/* The magic, like a record that has no type. False: it is not all there. */
static bool
take_magic(struct archive_parser *p, struct span *in)
{
	size_t held;
	struct rd r = rd_span(record_bytes(p, *in, &held));
	const uint32_t magic = rd_u32(&r);

	if (!rd_ok(&r)) {
		(void)hold(p, in);
		return false;
	}
	consume(in, 4 - held);
	p->held = 0;
	p->has_magic = true;
	if (magic != ARCHIVE_MAGIC)
		p->fault = ARCHIVE_BAD_MAGIC;
	return true;
}

static enum archive_event
take_record(struct archive_parser *p, struct span *in,
    struct archive_entry *ret)
{
	struct archive_entry e;
	enum archive_fault fault;
	size_t used, held;

	fault = entry_decode(record_bytes(p, *in, &held), &e, &used);
	if (fault != ARCHIVE_OK)
		return bad(p, fault);
	if (used == 0)
		return hold(p, in);
	consume(in, used - held);
	p->held = 0;
	fault = order(p, &e);
	if (fault != ARCHIVE_OK)
		return bad(p, fault);
	if (p->is_done)
		return ARCHIVE_DONE;
	*ret = e;
	return ARCHIVE_ENTRY;
}

enum archive_event
archive_parse(struct archive_parser *p, struct span *in,
    struct archive_entry *ret, struct span *ret_data)
{
	if (p->fault == ARCHIVE_OK && p->is_done && in->len > 0)
		p->fault = ARCHIVE_BAD_END;
	if (p->fault != ARCHIVE_OK)
		return ARCHIVE_BAD;
	if (in->len == 0)
		return ARCHIVE_MORE;
	if (!p->has_magic && !take_magic(p, in))
		return ARCHIVE_MORE;
	if (p->fault != ARCHIVE_OK)
		return ARCHIVE_BAD;
	if (p->data_left > 0) {
		const size_t len =
		    in->len < p->data_left ? in->len : (size_t)p->data_left;

		if (len == 0)
			return ARCHIVE_MORE;
		*ret_data = (struct span){ in->ptr, len };
		consume(in, len);
		p->data_left -= len;
		return ARCHIVE_DATA;
	}
	return take_record(p, in, ret);
}

enum archive_fault
archive_end(const struct archive_parser *p)
{
	if (p->fault != ARCHIVE_OK)
		return p->fault;
	return p->is_done ? ARCHIVE_OK : ARCHIVE_CUT;
}

/* The next component of *path, which is taken off it; empty: none is left. */
static struct span
take_component(struct span *path)
{
	struct span c;

	while (path->len > 0 && path->ptr[0] == '/')
		consume(path, 1);
	c = (struct span){ path->ptr, 0 };
	while (c.len < path->len && path->ptr[c.len] != '/')
		c.len++;
	consume(path, c.len);
	return c;
}

bool
archive_target_leaves(struct span target, unsigned int depth)
{
	unsigned int up = 0;
	bool is_down = false;

	if (target.len > 0 && target.ptr[0] == '/')
		return true;
	for (;;) {
		const struct span c = take_component(&target);

		if (c.len == 0)
			return false;
		if (span_is(c, "."))
			continue;
		if (!span_is(c, "..")) {
			is_down = true;
			continue;
		}
		if (is_down || up == depth)
			return true;
		up++;
	}
}
