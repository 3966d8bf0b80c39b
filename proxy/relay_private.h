/*
 * What relay.c and relay_way.c share. For nobody else.
 */
#ifndef TAPWARD_PROXY_RELAY_PRIVATE_H
#define TAPWARD_PROXY_RELAY_PRIVATE_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "proxy/dial.h"
#include "proxy/pipes.h"
#include "proxy/relay.h"

struct way {
	enum meter_way meter;
	struct pipe_pair pipe; /* lent while in_pipe > 0 */
	size_t in_pipe;
	uint64_t moved; /* bytes that the far end took */
	bool can_read;
	bool can_write;
	bool is_closing; /* the end of the stream is in sight */
	bool is_ended;   /* and was read */
	bool is_shut;    /* and passed on */
	bool is_bulk;
};

struct relay {
	TAILQ_ENTRY(relay) link; /* in relays->by_age, once it has begun */
	struct conn *conn;
	struct dial *dial;
	int origin_fd;
	struct event origin_event;
	struct event *guest_writable;  /* once writing had to wait */
	struct event *origin_writable; /* as well */
	struct way up;
	struct way down;
	uint64_t active_ms;
	bool is_begun;
	bool is_broken;
	bool wants_turn; /* in relays->by_age, and not done in its turn */
	bool by_ceiling;
	bool is_spent; /* a budget takes no more, and there is more */
	struct meter_bit spent;
	enum reason spent_reason;
	struct meter meter;
	const char *how;
	char address[ADDRESS_TEXT_SIZE];
};

TAILQ_HEAD(relay_line, relay);

struct relays {
	struct gate *gate;
	struct pipes *pipes;
	struct relay_line by_age; /* longest without a byte first */
	struct event *idle_timer;
	struct event *turn_timer; /* for those that want another turn */
};

/* Moves what can be moved. False: an end is gone, or r->is_spent. */
bool way_pump(struct relay *r, struct way *w, int from, int to);
/* All of it has passed. */
bool way_is_over(const struct way *w);
/* Passes an end of stream on. False: the far end is gone. */
bool way_finish(struct way *w, int to);

#endif
