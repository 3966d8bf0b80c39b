/*
 * What the h2_origin*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_H2_ORIGIN_PRIVATE_H
#define TAPWARD_PROXY_H2_ORIGIN_PRIVATE_H

#include "proxy/h2_link.h"
#include "proxy/h2_origin.h"
#include "proxy/origin_private.h"

struct h2_origin {
	struct grave grave; /* first: a grave is its h2_origin */
	struct gate *gate;
	TAILQ_ENTRY(h2_origin) link;
	struct origin_key key;
	uint64_t generation; /* gate_origin_generation() it is of */
	char address[ADDRESS_TEXT_SIZE];

	int fd;
	struct tls_origin tls;
	struct stream stream;
	struct h2_link h2;
	struct event timer; /* of being idle */
	struct event kick;
	uint64_t moved_ms; /* bytes came */

	/*
	 * When the last lease ends that was sent on it, CLOCK_BOOTTIME: its
	 * tables may hold what an origin repeated.
	 */
	uint64_t lease_ends_boot_ms;
	struct injection *credential; /* that was sent last; or NULL */

	struct origin_streams streams;
	size_t stream_count;
	size_t window_left; /* that streams may have more than usual */
	bool is_running;    /* its session may be on the stack */
	bool is_readable;   /* a read may give something */
	bool is_draining;   /* takes no new stream */
	bool is_dead;
	bool has_room; /* some exchange waits for room, which there is */
};

/* --- h2_origin_session.c --- */
int h2_origin_session(struct h2_origin *c); /* 0 or -ENOMEM */
/* Gives the exchange what it takes; goes on to the end. */
void h2_origin_answer_run(struct origin *o);

/* --- h2_origin_stream.c --- */
h2_read_body h2_origin_read; /* of a request */

/* --- h2_origin.c --- */
/* Runs it when the callback that is running has returned. */
void h2_origin_kick(struct h2_origin *c);
/* o sends what a lease gave: nothing of it is kept beyond its end. */
void h2_origin_note_lease(struct origin *o, struct injection *credential);
/* Takes o off its connection without a word to anybody. */
void h2_origin_detach(struct origin *o);

#endif
