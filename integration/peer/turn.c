/*
 * One exchange at one end: its bodies, when it is over, and its report.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prime, so that no piece of a body lies like the piece before it. */
#define PATTERN_BYTES 1048573u

static const uint8_t *
pattern(void)
{
	static uint8_t bytes[PATTERN_BYTES + PEER_PIECE];
	uint64_t x = 88172645463325252u;

	if (bytes[0] != 0 || bytes[1] != 0)
		return bytes;
	for (size_t i = 0; i < PATTERN_BYTES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t)(x >> 24);
	}
	memcpy(bytes + PATTERN_BYTES, bytes, PEER_PIECE);
	return bytes;
}

struct turn *
turn_new(const struct shape *s, bool is_origin)
{
	struct turn *t = calloc(1, sizeof(*t));

	if (t == NULL)
		abort();
	t->shape = *s;
	t->is_origin = is_origin;
	t->go_fd = -1;
	t->begun_ms = peer_now_ms();
	t->delays = calloc(s->events + 1, sizeof(*t->delays));
	if (t->delays == NULL)
		abort();
	flow_init(&t->in, &s->read);
	flow_init(&t->out, &s->write);
	pace_start(&t->in.pace);
	pace_start(&t->out.pace);
	if (s->go[0] != '\0')
		t->go_fd = open(s->go, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return t;
}

void
turn_free(struct turn *t)
{
	if (t == NULL)
		return;
	flow_done(&t->in);
	flow_done(&t->out);
	if (t->go_fd != -1)
		(void)close(t->go_fd);
	free(t->delays);
	free(t);
}

static size_t
append(char *to, size_t len, size_t size, const char *from, size_t from_len)
{
	/* Room for a NUL is left. */
	if (len + from_len + 1 > size)
		from_len = size - len - 1;
	memcpy(to + len, from, from_len);
	return len + from_len;
}

void
turn_add_field(struct turn *t, bool is_trailer, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	char *to = is_trailer ? t->trailers : t->head;
	size_t size = is_trailer ? sizeof(t->trailers) : sizeof(t->head);
	size_t len = is_trailer ? t->trailers_len : t->head_len;
	size_t at = len;

	len = append(to, len, size, name, name_len);
	for (size_t i = at; i < len; i++)
		if (to[i] >= 'A' && to[i] <= 'Z')
			to[i] = (char)(to[i] - 'A' + 'a');
	len = append(to, len, size, ": ", 2);
	len = append(to, len, size, value, value_len);
	len = append(to, len, size, "\n", 1);
	if (is_trailer)
		t->trailers_len = len;
	else
		t->head_len = len;
}

const char *
turn_field(const struct turn *t, const char *name)
{
	static char value[1024];
	size_t len = strlen(name);

	for (const char *at = t->head; at != NULL && *at != '\0';
	     at = strchr(at, '\n'), at += at != NULL) {
		size_t n = strcspn(at, "\n");

		if (strncmp(at, name, len) != 0 || at[len] != ':' ||
		    n - len - 2 >= sizeof(value))
			continue;
		memcpy(value, at + len + 2, n - len - 2);
		value[n - len - 2] = '\0';
		return value;
	}
	return NULL;
}

/* --- events: "NS\n" each, the time at which it was sent --- */

static void
take_event(struct turn *t)
{
	uint64_t sent = strtoull(t->line, NULL, 10);

	t->line_len = 0;
	if (t->delay_count < t->shape.events)
		t->delays[t->delay_count++] = peer_now_ns() - sent;
	/* It is here: the origin may send the next. */
	if (t->go_fd != -1 && write(t->go_fd, "g", 1) != 1)
		abort();
}

static void
take_events(struct turn *t, const uint8_t *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (ptr[i] == '\n' && t->line_len > 0) {
			t->line[t->line_len] = '\0';
			take_event(t);
		} else if (t->line_len < sizeof(t->line) - 1) {
			t->line[t->line_len++] = (char)ptr[i];
		}
	}
}

static bool
make_event(struct turn *t)
{
	char byte;

	if (t->events_sent == t->shape.events)
		return false;
	if (t->events_sent > 0 && read(t->go_fd, &byte, 1) != 1)
		return false;
	t->events_sent++;
	t->event_at = 0;
	t->event_len = (size_t)snprintf(t->event, sizeof(t->event),
	    "%" PRIu64 "\n", peer_now_ns());
	return true;
}

static size_t
take_event_bytes(struct turn *t, uint8_t *to, size_t size)
{
	size_t len;

	if (t->event_at == t->event_len && !make_event(t))
		return 0;
	len = t->event_len - t->event_at;
	if (len > size)
		len = size;
	memcpy(to, t->event + t->event_at, len);
	t->event_at += len;
	return len;
}

/* --- bodies --- */

void
turn_got(struct turn *t, const uint8_t *ptr, size_t len)
{
	flow_add(&t->in, ptr, len);
	if (!t->is_origin && t->shape.events > 0)
		take_events(t, ptr, len);
}

static size_t
take_pattern(struct turn *t, uint8_t *to, size_t size)
{
	uint64_t left = t->shape.size - t->out.bytes;
	size_t len = size < PEER_PIECE ? size : PEER_PIECE;

	if (t->shape.cut != CUT_NEVER && t->shape.cut_sent >= 0 &&
	    (uint64_t)t->shape.cut_sent < t->shape.size)
		left = (uint64_t)t->shape.cut_sent - t->out.bytes;
	if (t->shape.is_late && !t->in.is_whole && left > 0)
		left--;
	if (len > left)
		len = (size_t)left;
	if (len > pace_room(&t->out.pace))
		len = pace_room(&t->out.pace);
	if (len > 0)
		pace_spend(&t->out.pace, len);
	memcpy(to, pattern() + t->out.bytes % PATTERN_BYTES, len);
	return len;
}

size_t
turn_take(struct turn *t, uint8_t *to, size_t size)
{
	bool has_events = t->is_origin && t->shape.events > 0;
	size_t len = has_events ? take_event_bytes(t, to, size)
				: take_pattern(t, to, size);

	flow_add(&t->out, to, len);
	if (has_events)
		t->out.is_whole = t->events_sent == t->shape.events &&
		    t->event_at == t->event_len;
	else
		t->out.is_whole = t->out.bytes == t->shape.size;
	return len;
}

bool
turn_may_answer(const struct turn *t)
{
	return t->has_head && !t->is_head_sent &&
	    (t->shape.is_early || t->in.is_whole) &&
	    peer_now_ms() >= t->begun_ms + t->shape.delay_ms;
}

/* --- the end --- */

bool
turn_is_cut(const struct turn *t)
{
	const struct shape *s = &t->shape;

	if (s->cut == CUT_NEVER || !(t->has_head || t->is_head_sent))
		return false;
	if (s->cut_got >= 0 && t->has_head &&
	    t->in.bytes >= (uint64_t)s->cut_got)
		return true;
	if (s->cut_sent == -1)
		return t->is_origin || t->is_head_sent;
	return t->is_head_sent && t->out.bytes >= (uint64_t)s->cut_sent;
}

bool
turn_is_over(const struct turn *t)
{
	return t->end != TURN_OPEN;
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
turn_next_ms(const struct turn *t)
{
	uint64_t now = peer_now_ms(), next = UINT64_MAX;

	if (turn_is_over(t))
		return next;
	if (t->in.pace.next_ms > now)
		next = sooner(next, t->in.pace.next_ms);
	if (t->out.pace.next_ms > now)
		next = sooner(next, t->out.pace.next_ms);
	if (t->is_origin && !t->is_head_sent && t->shape.delay_ms > 0)
		next = sooner(next, t->begun_ms + t->shape.delay_ms);
	return next;
}

/* --- the report --- */

static void
say_text(const char *text, size_t len)
{
	(void)putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			(void)printf("\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			(void)printf("\\u%04x", c);
		else
			(void)putchar(c);
	}
	(void)putchar('"');
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
say_events(struct turn *t)
{
	unsigned int n = t->delay_count;

	qsort(t->delays, n, sizeof(t->delays[0]), by_size);
	(void)printf(",\"events\":%u,\"median_ns\":%" PRIu64
		     ",\"longest_ns\":%" PRIu64,
	    n, n == 0 ? 0 : t->delays[n / 2], n == 0 ? 0 : t->delays[n - 1]);
}

void
turn_say(struct turn *t, const struct link *l)
{
	static const char *const ends[] = { "open", "whole", "cut", "reset",
		"late", "ours" };
	char in[65], out[65];

	if (t->is_said)
		return;
	t->is_said = true;
	flow_digest(&t->in, in);
	flow_digest(&t->out, out);
	(void)printf("{\"id\":\"%s\",\"version\":\"%s\",\"pid\":%d,"
		     "\"resumed\":%s,\"end\":\"%s\","
		     "\"error\":%u,\"status\":%u,\"got\":%" PRIu64
		     ",\"got_digest\":\"%s\",\"got_whole\":%s,\"sent\":%" PRIu64
		     ",\"sent_digest\":\"%s\",\"sent_whole\":%s,\"ms\":%" PRIu64
		     ",\"interims\":[",
	    t->shape.id, l->version->name, (int)getpid(),
	    SSL_session_reused(l->ssl) == 1 ? "true" : "false", ends[t->end],
	    t->error, t->status, t->in.bytes, in,
	    t->in.is_whole ? "true" : "false", t->out.bytes, out,
	    t->out.is_whole ? "true" : "false", peer_now_ms() - t->begun_ms);
	for (unsigned int i = 0; i < t->interim_count; i++)
		(void)printf("%s%u", i == 0 ? "" : ",", t->interims[i]);
	(void)printf("],\"head\":");
	say_text(t->head, t->head_len);
	(void)printf(",\"trailers\":");
	say_text(t->trailers, t->trailers_len);
	if (t->delay_count > 0)
		say_events(t);
	(void)printf("}\n");
	(void)fflush(stdout);
}
