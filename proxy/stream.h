/*
 * One non-blocking stream of bytes, plain or TLS, seen the same way: read,
 * write, close our direction, close. Driven by plain libevent events: the
 * owner is told that something may go on (stream_ready) and tries again;
 * nothing is read or written behind its back.
 *
 * System calls are what a request costs most, so the read event stays
 * registered and a read is not tried a second time only to hear EAGAIN
 * (stream_has_more()).
 */
#ifndef TAPWARD_PROXY_STREAM_H
#define TAPWARD_PROXY_STREAM_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "proxy/buf.h"

struct stream;

/* Reading or writing, or a handshake, may go on. */
typedef void stream_ready(struct stream *s, void *arg);

enum stream_result {
	STREAM_OK,
	STREAM_AGAIN,  /* wait for stream_ready */
	STREAM_END,    /* the peer closed its direction, in order */
	STREAM_CUT,    /* TLS: closed without close_notify */
	STREAM_FAILED, /* reset, a TLS alert or a protocol error */
};

struct stream {
	int fd;
	SSL *ssl; /* NULL: plain */
	stream_ready *on_ready;
	void *arg;
	struct event read_event;  /* persistent while reading is on */
	struct event write_event; /* one shot, while a write waits */
	bool is_reading;          /* read_event is registered */
	bool has_more;
	bool is_failed; /* no SSL_shutdown() after that */
	bool is_shut;   /* our direction is closed */

	/* TLS, of stream_bio.c */
	struct buf unsent; /* records that the socket did not take yet */
	bool is_held;   /* it waits for what is written next, not the socket */
	bool is_at_end; /* the last read said so */
	enum stream_result ended; /* that comes after what was read; or OK */
};

/*
 * fd is non-blocking and stays the owner's to close. ssl is taken: freed by
 * stream_done(). Reading is on.
 */
void stream_init(struct stream *s, struct event_base *base, int fd, SSL *ssl,
    stream_ready *on_ready, void *arg);
/* Takes the events off the descriptor; does not close it. */
void stream_done(struct stream *s);
/* Takes over what from has, which is then done. */
void stream_move(struct stream *to, struct stream *from, stream_ready *on_ready,
    void *arg);
/* From here on another owner is told. */
void stream_set_owner(struct stream *s, stream_ready *on_ready, void *arg);

/* One step of the handshake: OK when it is done. */
enum stream_result stream_handshake(struct stream *s);
/* At most size bytes; ret_len is written for STREAM_OK, and not 0 then. */
enum stream_result stream_read(struct stream *s, void *buf, size_t size,
    size_t *ret_len);
/*
 * A further stream_read() may give bytes without a wait: the last one filled
 * its buffer, or the TLS library holds some, which no event will tell.
 */
bool stream_has_more(const struct stream *s);
/* Nothing has come, not even an end: known without reading anything. */
bool stream_is_silent(const struct stream *s);
/*
 * As stream_read(). After AGAIN the same bytes, or more, must be offered. Of
 * what was taken some may wait for the socket: stream_has_unsent().
 */
enum stream_result stream_write(struct stream *s, struct span data,
    size_t *ret_len);
/*
 * Not all that was taken has gone: stream_ready comes when it has, or when it
 * never will. To be waited for before stream_shutdown().
 */
bool stream_has_unsent(const struct stream *s);
/*
 * Closes our direction: close_notify, then FIN. The peer may still send.
 */
void stream_shutdown(struct stream *s);
/* Of one whose descriptor is closed next, which sends the FIN: close_notify. */
void stream_say_end(struct stream *s);

/*
 * Reading off: no stream_ready for bytes that come in (back-pressure, or
 * nobody wants them now). On again: call stream_read() once before a wait.
 */
void stream_set_reading(struct stream *s, bool on);

/*
 * A stream of many reads and writes: it keeps the buffers of TLS between them,
 * larger ones, until stream_rest(). Each read takes more, and none is made, and
 * wiped, for every message.
 */
void stream_keep_buffers(struct stream *s);
/* It is idle, and gives back what it kept. */
void stream_rest(struct stream *s);

/*
 * Plain streams only: reads up to and not past the first empty line (CRLF
 * CRLF), given what was read of the same head before, so that what follows
 * stays in the socket. Results as stream_read().
 */
enum stream_result stream_read_head(struct stream *s, struct span so_far,
    void *buf, size_t size, size_t *ret_len);

#endif
