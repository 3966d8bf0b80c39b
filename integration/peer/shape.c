/*
 * What an end of an exchange shall do, as words.
 */
#include "peer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind {
	KIND_TEXT,
	KIND_BOOL,
	KIND_UINT,
	KIND_U64,
	KIND_I64,
	KIND_FRAME,
	KIND_CUT,
};

#define KEY(name, kind, member)                                                \
	{                                                                      \
		name, kind, offsetof(struct shape, member),                    \
		    sizeof(((struct shape *)0)->member)                        \
	}

static const struct {
	const char *name;
	enum kind kind;
	size_t at, size;
} keys[] = {
	KEY("id", KIND_TEXT, id),
	KEY("method", KIND_TEXT, method),
	KEY("path", KIND_TEXT, path),
	KEY("status", KIND_UINT, status),
	KEY("frame", KIND_FRAME, frame),
	KEY("size", KIND_U64, size),
	KEY("trailer", KIND_TEXT, trailer),
	KEY("interim", KIND_UINT, interim),
	KEY("interims", KIND_UINT, interims),
	KEY("early", KIND_BOOL, is_early),
	KEY("late", KIND_BOOL, is_late),
	KEY("te", KIND_BOOL, takes_trailers),
	KEY("expect", KIND_BOOL, expects),
	KEY("half", KIND_BOOL, is_half),
	KEY("surplus", KIND_BOOL, surplus),
	KEY("cut", KIND_CUT, cut),
	KEY("cut_sent", KIND_I64, cut_sent),
	KEY("cut_got", KIND_I64, cut_got),
	KEY("once", KIND_TEXT, once),
	KEY("field", KIND_TEXT, field),
	KEY("read_hold", KIND_U64, read.hold_ms),
	KEY("read_bytes", KIND_U64, read.bytes),
	KEY("read_ms", KIND_U64, read.ms),
	KEY("write_hold", KIND_U64, write.hold_ms),
	KEY("write_bytes", KIND_U64, write.bytes),
	KEY("write_ms", KIND_U64, write.ms),
	KEY("events", KIND_UINT, events),
	KEY("go", KIND_TEXT, go),
	KEY("delay", KIND_UINT, delay_ms),
	KEY("streams", KIND_UINT, streams),
	KEY("stalled", KIND_UINT, stalled),
	KEY("seconds", KIND_UINT, seconds),
};

void
shape_init(struct shape *s)
{
	*s = (struct shape){ .status = 200,
		.cut_sent = INT64_MAX,
		.cut_got = -1,
		.streams = 1,
		.seconds = 60 };
	memcpy(s->method, "GET", 4);
	memcpy(s->path, "/", 2);
}

/* The place of value among count names. */
static bool
set_name(unsigned int *ret, const char *const *names, unsigned int count,
    const char *value)
{
	for (unsigned int i = 0; i < count; i++)
		if (names[i] != NULL && strcmp(value, names[i]) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool
set_frame(enum frame *ret, const char *value)
{
	static const char *const names[] = { "none", "length", "stream",
		"close" };
	unsigned int i = 0;

	if (!set_name(&i, names, 4, value))
		return false;
	*ret = (enum frame)i;
	return true;
}

static bool
set_cut(enum cut *ret, const char *value)
{
	static const char *const names[] = { NULL, "reset", "refuse", "close" };
	unsigned int i = 0;

	if (!set_name(&i, names, 4, value))
		return false;
	*ret = (enum cut)i;
	return true;
}

static bool
set_value(struct shape *s, size_t i, const char *value)
{
	void *to = (char *)s + keys[i].at;

	switch (keys[i].kind) {
	case KIND_TEXT:
		if (strlen(value) >= keys[i].size)
			return false;
		memcpy(to, value, strlen(value) + 1);
		return true;
	case KIND_BOOL:
		*(bool *)to = strcmp(value, "1") == 0;
		return true;
	case KIND_UINT:
		*(unsigned int *)to = (unsigned int)strtoul(value, NULL, 10);
		return true;
	case KIND_U64:
		*(uint64_t *)to = strtoull(value, NULL, 10);
		return true;
	case KIND_I64:
		*(int64_t *)to = strtoll(value, NULL, 10);
		return true;
	case KIND_FRAME:
		return set_frame(to, value);
	case KIND_CUT:
		return set_cut(to, value);
	}
	return false;
}

bool
shape_set(struct shape *s, const char *word)
{
	const char *value = strchr(word, '=');

	for (size_t i = 0; value != NULL && i < sizeof(keys) / sizeof(keys[0]);
	     i++)
		if (strncmp(word, keys[i].name, (size_t)(value - word)) == 0 &&
		    keys[i].name[value - word] == '\0')
			return set_value(s, i, value + 1);
	return false;
}

bool
shape_query(struct shape *s, const char *path)
{
	char copy[sizeof(s->path)];
	char *at = copy, *word;

	if (strlen(path) >= sizeof(copy))
		return false;
	memcpy(copy, path, strlen(path) + 1);
	at = strchr(copy, '?');
	if (at == NULL)
		return true;
	at++;
	while ((word = strsep(&at, "&")) != NULL)
		if (*word != '\0' && !shape_set(s, word))
			return false;
	if (s->once[0] != '\0' && unlink(s->once) == -1)
		s->cut = CUT_NEVER;
	return true;
}

const char *
shape_field(const struct shape *s, char name[128])
{
	const char *colon = strchr(s->field, ':');

	if (colon == NULL)
		return NULL;
	memcpy(name, s->field, (size_t)(colon - s->field));
	name[colon - s->field] = '\0';
	return colon + 1;
}
