/*
 * The state file. Each field is one row of a table, written and read in its
 * order; whatever is missing, doubled or strange makes the file unfinished,
 * and its sandbox is then removed instead of taken up.
 */
#include "daemon/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

#define STATE_MAGIC "tapward-state 2"

enum kind {
	KIND_U8,
	KIND_U32,
	KIND_U64,
	KIND_TEXT, /* printable */
};

struct field {
	const char *key;
	enum kind kind;
	size_t offset;
	size_t size;
};

#define FIELD(key, kind, member)                                               \
	{                                                                      \
		key, kind, offsetof(struct state, member),                     \
		    sizeof(((struct state *)NULL)->member)                     \
	}

static const struct field fields[] = {
	FIELD("name", KIND_TEXT, name),
	FIELD("generation", KIND_U64, generation),
	FIELD("boot", KIND_TEXT, boot_id),
	FIELD("netns", KIND_U64, netns_inode),
	FIELD("gate-pid", KIND_U32, gate_pid),
	FIELD("gate-start", KIND_U64, gate_start_ticks),
	FIELD("gate-uid", KIND_U32, gate_uid),
	FIELD("device", KIND_U8, device),
	FIELD("owner-uid", KIND_U32, owner_uid),
	FIELD("owner-gid", KIND_U32, owner_gid),
	FIELD("tap-owner", KIND_U32, tap_owner_uid),
	FIELD("ca", KIND_TEXT, ca_id),
	FIELD("policy", KIND_TEXT, policy_digest),
	FIELD("display", KIND_TEXT, display_name),
	FIELD("created", KIND_U64, created_wall_ms),
	FIELD("ttl-end", KIND_U64, ttl_end_wall_ms),
	FIELD("ttl-end-boot", KIND_U64, ttl_end_boot_ms),
	FIELD("tied", KIND_U8, is_tied),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static uint64_t
number_get(const struct field *f, const uint8_t *at)
{
	uint64_t v64;
	uint32_t v32;

	if (f->kind == KIND_U8)
		return *at;
	if (f->kind == KIND_U32) {
		memcpy(&v32, at, sizeof(v32));
		return v32;
	}
	memcpy(&v64, at, sizeof(v64));
	return v64;
}

void
state_write(struct wr *w, const struct state *s)
{
	const uint8_t *base = (const uint8_t *)s;

	wr_text(w, STATE_MAGIC "\n");
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *f = &fields[i];
		const uint8_t *at = base + f->offset;

		if (f->kind == KIND_TEXT)
			wr_fmt(w, "%s %s\n", f->key, (const char *)at);
		else
			wr_fmt(w, "%s %" PRIu64 "\n", f->key,
			    number_get(f, at));
	}
	wr_text(w, "end\n");
}

/* Up to the next newline, which is taken too; fails without one. */
static struct span
take_line(struct rd *r)
{
	const uint8_t *start = r->at;
	const uint8_t *newline =
	    rd_left(r) == 0 ? NULL : memchr(start, '\n', rd_left(r));
	struct span line;

	if (newline == NULL) {
		rd_fail(r);
		return (struct span){ NULL, 0 };
	}
	line = rd_take(r, (size_t)(newline - start));
	rd_skip(r, 1);
	return line;
}

static bool
text_set(const struct field *f, uint8_t *at, struct span v)
{
	if (v.len >= f->size)
		return false;
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] < 0x20 || v.ptr[i] > 0x7e)
			return false;
	if (v.len != 0)
		memcpy(at, v.ptr, v.len);
	at[v.len] = '\0';
	return true;
}

static bool
number_set(const struct field *f, uint8_t *at, struct span v)
{
	const uint64_t max = f->kind == KIND_U8 ? UINT8_MAX
	    : f->kind == KIND_U32               ? UINT32_MAX
						: UINT64_MAX;
	uint64_t n = 0;
	uint32_t n32;

	if (v.len == 0 || (v.len > 1 && v.ptr[0] == '0'))
		return false;
	for (size_t i = 0; i < v.len; i++) {
		uint64_t digit = v.ptr[i] & 15u;

		if (!ascii_is_digit(v.ptr[i]) || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	n32 = (uint32_t)(n & UINT32_MAX);
	if (f->kind == KIND_U8)
		*at = (uint8_t)(n & UINT8_MAX);
	else if (f->kind == KIND_U32)
		memcpy(at, &n32, sizeof(n32));
	else
		memcpy(at, &n, sizeof(n));
	return true;
}

static bool
field_parse(const struct field *f, struct span line, struct state *s)
{
	struct rd r = rd_span(line);
	struct span key = rd_take(&r, strlen(f->key));
	uint8_t *at = (uint8_t *)s + f->offset;

	if (!span_is(key, f->key) || rd_u8(&r) != ' ' || !rd_ok(&r))
		return false;
	line = rd_take(&r, rd_left(&r));
	return f->kind == KIND_TEXT ? text_set(f, at, line)
				    : number_set(f, at, line);
}

/* What a parsed file must hold beyond its form. */
static bool
is_sound(const struct state *s)
{
	return sandbox_name_is_valid(s->name) &&
	    sandbox_name_is_valid(s->ca_id) && s->device < API_DEVICE_COUNT &&
	    s->gate_pid <= INT32_MAX && s->is_tied <= 1;
}

int
state_parse(struct span text, struct state *ret)
{
	struct state s = { 0 };
	struct rd r = rd_span(text);

	if (!span_is(take_line(&r), STATE_MAGIC))
		return -EBADMSG;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (!field_parse(&fields[i], take_line(&r), &s))
			return -EBADMSG;
	if (!span_is(take_line(&r), "end") || !rd_done(&r) || !is_sound(&s))
		return -EBADMSG;
	*ret = s;
	return 0;
}
