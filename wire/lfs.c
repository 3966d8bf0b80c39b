/*
 * See lfs.h. What is known of a document is a table: a row for each name in
 * its place.
 */
#include "wire/lfs.h"

#include "base/ascii.h"

enum place {
	PLACE_OTHER, /* of no meaning here, and all below it */
	PLACE_TOP,
	PLACE_REF,
	PLACE_OBJECTS,
	PLACE_OBJECT,
	PLACE_ACTIONS,
	PLACE_ACTION,
	PLACE_HEADER,
};

enum {
	IN_BATCH = 1 << LFS_BATCH,
	IN_ANSWER = 1 << LFS_ANSWER,
	IN_LOCK = 1 << LFS_LOCK,
	IN_OBJECTS = IN_BATCH | IN_ANSWER,
	IN_REQUESTS = IN_BATCH | IN_LOCK,
};

typedef enum lfs_status take_fn(struct lfs *l);

/* A name with a value of one type. */
struct name_row {
	unsigned int in;
	enum place at;
	const char *name;
	enum json_token type;
	enum place place; /* of an object or array: where one is then */
	enum lfs_action_kind action;
	take_fn *take; /* of anything else */
};

/* --- texts of an object --- */

static enum lfs_status
keep(struct lfs *l, struct lfs_text *ret)
{
	struct lfs_object *o = &l->object;
	struct span s = json_scan_text(&l->json);

	if (s.len > sizeof(o->text) - o->text_len)
		return LFS_LARGE;
	*ret = (struct lfs_text){ true, o->text_len, s.len };
	memcpy(o->text + o->text_len, s.ptr, s.len);
	o->text_len += s.len;
	return LFS_MORE;
}

struct span
lfs_text(const struct lfs *l, const struct lfs_text *t)
{
	return (struct span){ l->object.text + t->at, t->len };
}

/* --- values --- */

static enum lfs_status
take_operation(struct lfs *l)
{
	struct span s = json_scan_text(&l->json);

	if (span_is(s, "download"))
		l->operation = LFS_DOWNLOAD;
	else if (span_is(s, "upload"))
		l->operation = LFS_UPLOAD;
	else
		return LFS_OPERATION;
	return LFS_MORE;
}

static enum lfs_status
take_hash(struct lfs *l)
{
	return span_is(json_scan_text(&l->json), "sha256") ? LFS_MORE
							   : LFS_HASH;
}

static enum lfs_status
take_transfer(struct lfs *l)
{
	return span_is(json_scan_text(&l->json), "basic") ? LFS_MORE
							  : LFS_TRANSFER;
}

static enum lfs_status
take_ref(struct lfs *l)
{
	struct span s = json_scan_text(&l->json);

	if (s.len >= sizeof(l->ref) || span_printable(s) != s.len)
		return LFS_REF;
	memcpy(l->ref, s.ptr, s.len);
	l->ref[s.len] = '\0';
	return LFS_MORE;
}

static enum lfs_status
take_path(struct lfs *l)
{
	l->has_path = true;
	return LFS_MORE;
}

static enum lfs_status
take_force(struct lfs *l)
{
	l->force = true;
	return LFS_MORE;
}

static enum lfs_status
take_oid(struct lfs *l)
{
	struct span s = json_scan_text(&l->json);

	if (s.len != LFS_OID_LEN)
		return LFS_OID;
	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is_digit(s.ptr[i]) &&
		    (s.ptr[i] < 'a' || s.ptr[i] > 'f'))
			return LFS_OID;
	}
	l->object.has_oid = true;
	return LFS_MORE;
}

static enum lfs_status
take_size(struct lfs *l)
{
	l->object.has_size = json_scan_number(&l->json, &l->object.size);
	return l->object.has_size ? LFS_MORE : LFS_SIZE;
}

static struct lfs_action *
action(struct lfs *l)
{
	return &l->object.actions[l->action];
}

static enum lfs_status
take_href(struct lfs *l)
{
	return keep(l, &action(l)->href);
}

/* git-lfs takes 0 for none; what is no such number has ended already. */
static enum lfs_status
take_expires_in(struct lfs *l)
{
	struct lfs_action *a = action(l);

	a->expires =
	    !json_scan_number(&l->json, &a->expires_in) || a->expires_in > 0;
	return LFS_MORE;
}

static enum lfs_status
take_expires_at(struct lfs *l)
{
	return keep(l, &action(l)->expires_at);
}

static enum lfs_status
take_authorization(struct lfs *l)
{
	return keep(l, &action(l)->authorization);
}

#define VALUE(in, at, name, type, take)                                        \
	{                                                                      \
		in, at, name, type, PLACE_OTHER, LFS_ACTIONS, take             \
	}
#define BELOW(in, at, name, type, place)                                       \
	{                                                                      \
		in, at, name, type, place, LFS_ACTIONS, NULL                   \
	}
#define ACTION(name, kind)                                                     \
	{                                                                      \
		IN_ANSWER, PLACE_ACTIONS, name, JSON_OBJECT, PLACE_ACTION,     \
		    kind, NULL                                                 \
	}

static const struct name_row rows[] = {
	VALUE(IN_BATCH, PLACE_TOP, "operation", JSON_TEXT, take_operation),
	VALUE(IN_OBJECTS, PLACE_TOP, "hash_algo", JSON_TEXT, take_hash),
	VALUE(IN_ANSWER, PLACE_TOP, "transfer", JSON_TEXT, take_transfer),
	BELOW(IN_REQUESTS, PLACE_TOP, "ref", JSON_OBJECT, PLACE_REF),
	BELOW(IN_OBJECTS, PLACE_TOP, "objects", JSON_ARRAY, PLACE_OBJECTS),
	VALUE(IN_LOCK, PLACE_TOP, "path", JSON_TEXT, take_path),
	VALUE(IN_LOCK, PLACE_TOP, "force", JSON_TRUE, take_force),
	VALUE(IN_REQUESTS, PLACE_REF, "name", JSON_TEXT, take_ref),
	VALUE(IN_OBJECTS, PLACE_OBJECT, "oid", JSON_TEXT, take_oid),
	VALUE(IN_OBJECTS, PLACE_OBJECT, "size", JSON_NUMBER, take_size),
	BELOW(IN_ANSWER, PLACE_OBJECT, "actions", JSON_OBJECT, PLACE_ACTIONS),
	ACTION("download", LFS_ACTION_DOWNLOAD),
	ACTION("upload", LFS_ACTION_UPLOAD),
	ACTION("verify", LFS_ACTION_VERIFY),
	VALUE(IN_ANSWER, PLACE_ACTION, "href", JSON_TEXT, take_href),
	BELOW(IN_ANSWER, PLACE_ACTION, "header", JSON_OBJECT, PLACE_HEADER),
	VALUE(IN_ANSWER, PLACE_ACTION, "expires_in", JSON_NUMBER,
	    take_expires_in),
	VALUE(IN_ANSWER, PLACE_ACTION, "expires_at", JSON_TEXT,
	    take_expires_at),
	VALUE(IN_ANSWER, PLACE_HEADER, "authorization", JSON_TEXT,
	    take_authorization),
};

/* --- the walk --- */

static enum place
place_now(const struct lfs *l)
{
	return l->depth == 0 ? PLACE_OTHER
			     : (enum place)l->places[l->depth - 1];
}

static enum lfs_status
take_name(struct lfs *l)
{
	struct span name = json_scan_text(&l->json);
	enum place at = place_now(l);

	l->row = NULL;
	if (at == PLACE_OTHER)
		return LFS_MORE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct name_row *r = &rows[i];

		if (r->at != at || (r->in & 1u << l->document) == 0 ||
		    !span_is_case(name, r->name))
			continue;
		/* Fields of HTTP are named in any case, others are not. */
		if (at != PLACE_HEADER && !span_is(name, r->name))
			return LFS_KIND;
		l->row = r;
		return LFS_MORE;
	}
	return LFS_MORE;
}

/* Where an object or an array leads that begins here. */
static enum lfs_status
open_place(struct lfs *l, enum json_token t)
{
	const struct name_row *row = l->row;
	enum place at = place_now(l), next = PLACE_OTHER;

	if (l->depth == 0) {
		if (t != JSON_OBJECT)
			return LFS_KIND;
		next = PLACE_TOP;
	} else if (at == PLACE_OBJECTS) {
		if (t != JSON_OBJECT)
			return LFS_KIND;
		if (++l->objects > l->objects_max)
			return LFS_MANY;
		next = PLACE_OBJECT;
		l->object.has_oid = l->object.has_size = false;
		l->object.text_len = 0;
		memset(l->object.actions, 0, sizeof(l->object.actions));
	} else if (row != NULL) {
		if (row->type != t)
			return LFS_KIND;
		next = row->place;
		l->has_objects = l->has_objects || next == PLACE_OBJECTS;
		if (next == PLACE_ACTION)
			l->action = row->action;
	}
	l->row = NULL;
	l->places[l->depth++] = (uint8_t)next;
	return LFS_MORE;
}

static bool
has_href(const struct lfs_object *o)
{
	for (size_t i = 0; i < LFS_ACTIONS; i++) {
		if (o->actions[i].href.is_there)
			return true;
	}
	return false;
}

static enum lfs_status
end_object(struct lfs *l)
{
	const struct lfs_object *o = &l->object;
	bool needs_size = l->document == LFS_BATCH || has_href(o);

	if (!o->has_oid || (needs_size && !o->has_size))
		return LFS_MISSING;
	if (o->has_size && __builtin_add_overflow(l->bytes, o->size, &l->bytes))
		l->is_large = true;
	return LFS_OBJECT;
}

static enum lfs_status
end_top(const struct lfs *l)
{
	switch (l->document) {
	case LFS_BATCH:
		return l->operation != LFS_NO_OPERATION && l->has_objects
		    ? LFS_MORE
		    : LFS_MISSING;
	case LFS_ANSWER:
		return l->has_objects ? LFS_MORE : LFS_MISSING;
	case LFS_LOCK:
	case LFS_DOCUMENTS:
		break;
	}
	return LFS_MORE;
}

static enum lfs_status
close_place(struct lfs *l)
{
	enum place was = place_now(l);

	l->depth--;
	l->row = NULL;
	if (was == PLACE_OBJECT)
		return end_object(l);
	return was == PLACE_TOP ? end_top(l) : LFS_MORE;
}

static enum lfs_status
take_value(struct lfs *l, enum json_token t)
{
	const struct name_row *row = l->row;

	l->row = NULL;
	if (place_now(l) == PLACE_OBJECTS)
		return LFS_KIND;
	if (row == NULL || t == JSON_NULL)
		return LFS_MORE;
	if (row->type == JSON_TRUE && t == JSON_FALSE)
		return LFS_MORE;
	return row->type == t ? row->take(l) : LFS_KIND;
}

static enum lfs_status
take_token(struct lfs *l, enum json_token t)
{
	switch (t) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		return open_place(l, t);
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		return close_place(l);
	case JSON_NAME:
		return take_name(l);
	case JSON_TEXT:
	case JSON_NUMBER:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		return take_value(l, t);
	case JSON_TWICE:
		return LFS_TWICE;
	case JSON_LARGE:
		return LFS_LARGE;
	case JSON_MORE:
	case JSON_BROKEN:
	case JSON_TOKENS:
		break;
	}
	return LFS_BROKEN;
}

enum lfs_status
lfs_read(struct lfs *l, struct span *in)
{
	if (l->fault != LFS_MORE)
		return l->fault;
	for (;;) {
		enum json_token t = json_scan_next(&l->json, in);
		enum lfs_status s;

		if (t == JSON_MORE)
			return json_scan_is_whole(&l->json) ? LFS_READ
							    : LFS_MORE;
		s = take_token(l, t);
		if (s == LFS_OBJECT)
			return s;
		if (s != LFS_MORE) {
			l->fault = s;
			return s;
		}
	}
}

enum lfs_status
lfs_end(struct lfs *l)
{
	if (l->fault == LFS_MORE && !json_scan_is_whole(&l->json))
		l->fault = LFS_SHORT;
	return l->fault == LFS_MORE ? LFS_READ : l->fault;
}

const char *
lfs_action_method(enum lfs_action_kind k)
{
	static const char *const methods[LFS_ACTIONS] = {
		[LFS_ACTION_DOWNLOAD] = "GET",
		[LFS_ACTION_UPLOAD] = "PUT",
		[LFS_ACTION_VERIFY] = "POST",
	};

	return methods[k];
}

const char *
lfs_status_text(enum lfs_status s)
{
	static const char *const texts[LFS_STATUSES] = {
		[LFS_MORE] = "it goes on",
		[LFS_OBJECT] = "an object",
		[LFS_READ] = "it was read",
		[LFS_BROKEN] = "LFS: it is not JSON",
		[LFS_TWICE] = "LFS: a name comes twice",
		[LFS_LARGE] = "LFS: a part of it is too large to be read",
		[LFS_KIND] = "LFS: a value of another kind than it must be",
		[LFS_OPERATION] = "LFS: neither download nor upload",
		[LFS_HASH] = "LFS: another hash than sha256",
		[LFS_OID] = "LFS: an oid that is no SHA-256",
		[LFS_SIZE] = "LFS: a size that is no number of bytes",
		[LFS_TRANSFER] = "LFS: another transfer than basic",
		[LFS_REF] =
		    "LFS: a reference that is not printable, or too long",
		[LFS_MANY] = "LFS: more objects than lfs-objects",
		[LFS_MISSING] = "LFS: something is missing in it",
		[LFS_SHORT] = "LFS: it ended early",
	};

	return texts[s];
}
