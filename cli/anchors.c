/* Heads, see anchors.h. */
#include "cli/anchors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

#define SEQ_KEY "seq="
#define HEAD_KEY " head="
#define FIRST_ROOM 64

void
anchors_done(struct anchors *a)
{
	free(a->all);
	*a = (struct anchors){ 0 };
}

static bool
take_seq(struct rd *r, uint64_t *ret)
{
	uint64_t v = 0;
	size_t digits = 0;

	while (rd_peek(r) != -1 && ascii_is_digit((uint8_t)rd_peek(r))) {
		/* 19 digits fit. */
		if (++digits > 19)
			return false;
		v = v * 10 + (uint64_t)(rd_u8(r) - '0');
	}
	*ret = v;
	return digits > 0;
}

/* Behind the last "seq=" of the line: a journal puts its own words before. */
static bool
parse(struct span line, struct anchor *ret)
{
	const size_t key = strlen(SEQ_KEY);
	struct span head;
	struct rd r;

	for (size_t i = line.len < key ? 0 : line.len - key; i > 0; i--) {
		if (memcmp(line.ptr + i, SEQ_KEY, key) != 0)
			continue;
		r = rd_init(line.ptr + i + key, line.len - i - key);
		if (!take_seq(&r, &ret->seq) ||
		    !span_is(rd_take(&r, strlen(HEAD_KEY)), HEAD_KEY))
			return false;
		head = rd_take(&r, DIGEST_HEX_SIZE - 1);
		for (size_t k = 0; k < head.len; k++)
			if (ascii_hex(head.ptr[k]) == -1)
				return false;
		if (!rd_ok(&r))
			return false;
		memcpy(ret->head, head.ptr, head.len);
		ret->head[head.len] = '\0';
		return true;
	}
	return false;
}

bool
anchors_take_line(struct anchors *a, struct span line)
{
	struct anchor one;

	if (!parse(line, &one))
		return true;
	if (a->count == a->room) {
		size_t room = a->room == 0 ? FIRST_ROOM : a->room * 2;
		struct anchor *all = reallocarray(a->all, room, sizeof(*all));

		if (all == NULL)
			return false;
		a->all = all;
		a->room = room;
	}
	a->all[a->count++] = one;
	return true;
}

int
anchors_load(struct anchors *a, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	errno = 0;
	while (rc == 0 && (len = getline(&line, &size, f)) > 0) {
		struct span s = { (const uint8_t *)line, (size_t)len };

		if (!anchors_take_line(a, span_without_line_ends(s)))
			rc = -ENOMEM;
	}
	if (rc == 0 && ferror(f) != 0)
		rc = errno == 0 ? -EIO : -errno;
	free(line);
	return rc;
}

static int
by_seq(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

void
anchors_sort(struct anchors *a)
{
	if (a->count > 1)
		qsort(a->all, a->count, sizeof(*a->all), by_seq);
}

bool
anchors_hold(struct anchors *a, uint64_t seq, const char head[DIGEST_HEX_SIZE])
{
	/* What was before the log's first line is no longer kept. */
	while (a->at < a->count && a->all[a->at].seq < seq)
		a->at++;
	for (; a->at < a->count && a->all[a->at].seq == seq; a->at++) {
		if (strcmp(a->all[a->at].head, head) != 0)
			return false;
		a->held++;
	}
	return true;
}

size_t
anchors_left(const struct anchors *a)
{
	return a->count - a->at;
}
