/*
 * The time of the host, see sntp.h. What is malformed or too much is dropped:
 * a clock asks again.
 */
#include "proxy/sntp.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "proxy/bucket.h"
#include "wire/sntp.h"

/* A guest needs one; four in a burst at boot is what chrony sends. */
#define PER_SECOND 16
/* Packets in one turn of the loop. */
#define PER_TURN 8

struct sntp {
	struct event *event;
	struct bucket bucket;
};

/* False when the socket is empty. */
static bool
answer_one(struct sntp *s, int fd)
{
	/* One byte more than is valid, so that a longer packet shows. */
	uint8_t in[SNTP_PACKET_BYTES + 1], out[SNTP_PACKET_BYTES];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, in, sizeof(in), MSG_DONTWAIT,
	    (struct sockaddr *)&from, &from_len);
	uint64_t now_ms = clock_wall_ms();
	struct sntp_query q;

	if (n == -1)
		return false;
	if (!bucket_take(&s->bucket, clock_mono_ms()))
		return true;
	if (sntp_query_parse((struct span){ in, (size_t)n }, &q) != SNTP_OK)
		return true;
	sntp_answer_write(&q, now_ms, now_ms, out);
	/* Lost like any packet if the socket is full. */
	(void)sendto(fd, out, sizeof(out), MSG_DONTWAIT,
	    (struct sockaddr *)&from, from_len);
	return true;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct sntp *s = arg;

	(void)what;
	for (int i = 0; i < PER_TURN; i++)
		if (!answer_one(s, fd))
			return;
}

struct sntp *
sntp_start(struct gate *g, int fd)
{
	struct sntp *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->bucket = bucket_init(PER_SECOND, clock_mono_ms());
	s->event = event_new(g->base, fd, EV_READ | EV_PERSIST, on_readable, s);
	if (s->event == NULL || event_add(s->event, NULL) == -1) {
		sntp_stop(s);
		return NULL;
	}
	return s;
}

void
sntp_stop(struct sntp *s)
{
	if (s == NULL)
		return;
	if (s->event != NULL)
		event_free(s->event);
	free(s);
}
