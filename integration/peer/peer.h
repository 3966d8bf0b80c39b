/*
 * A guest and an origin that do what they are told, in HTTP/1.1 or HTTP/2 over
 * TLS: the two ends of what integration/test_matrix.py drives through a gate.
 * They read HTTP with code of their own (HTTP/1.1) and libnghttp2, share
 * nothing with tapward, and are quick enough for bodies of a GiB.
 *
 * Each end of an exchange is a struct turn. What it shall do is its struct
 * shape, given as "key=value" words: of the guest's command line, and to the
 * origin in the request's query. What it saw is printed as one line of JSON.
 */
#ifndef TAPWARD_PEER_H
#define TAPWARD_PEER_H

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are read, or wait to be written, at once. */
#define PEER_PIECE 65536
#define PEER_HEAD_MAX 16384
#define PEER_INTERIMS_MAX 64

/* --- body.c: bodies, and how fast they go --- */

/* Nothing for hold_ms; then bytes in each ms (0: as fast as it goes). */
struct pace {
	uint64_t hold_ms, bytes, ms;
	uint64_t next_ms; /* when more may go; set by pace_start() */
	uint64_t left;    /* until then */
};

struct flow {
	struct pace pace;
	uint64_t bytes;
	EVP_MD_CTX *digest;
	bool is_whole;
};

uint64_t peer_now_ms(void);
uint64_t peer_now_ns(void);
void pace_start(struct pace *p);
/* How many bytes may go now; 0: not before p->next_ms. */
size_t pace_room(const struct pace *p);
/* So many of them went. */
void pace_spend(struct pace *p, size_t len);
void flow_init(struct flow *f, const struct pace *pace);
void flow_done(struct flow *f);
/* Counts bytes of the body. */
void flow_add(struct flow *f, const uint8_t *ptr, size_t len);
/* Hexadecimal; the flow can go on. */
void flow_digest(const struct flow *f, char ret[65]);

/* --- shape.c --- */

enum frame {
	FRAME_NONE,
	FRAME_LENGTH,
	FRAME_STREAM, /* chunked, or DATA without a length */
	FRAME_CLOSE,  /* HTTP/1.1: to the end of the connection */
};

enum cut {
	CUT_NEVER,
	CUT_RESET,  /* RST, or RST_STREAM(CANCEL) */
	CUT_REFUSE, /* the same, but RST_STREAM(REFUSED_STREAM) */
	CUT_CLOSE,  /* an origin ends the connection in order, a guest goes */
};

struct shape {
	char id[32];
	char method[16];
	char path[768]; /* with its query */
	unsigned int status;
	enum frame frame; /* of the body that it sends */
	uint64_t size;
	char trailer[64]; /* its name; its value is "done" */
	unsigned int interim, interims;
	bool is_early;       /* answers before the request's body ... */
	bool is_late;        /* ... and ends its answer behind it */
	bool takes_trailers; /* says so */
	bool expects;        /* 100-continue, and waits for it */
	bool is_half;        /* ends its direction with the request */
	bool surplus;        /* HTTP/1.1: another answer behind the first */
	enum cut cut;
	int64_t cut_sent; /* after so many body bytes; -1: before the head */
	int64_t cut_got;  /* the same of what it reads; -1: not by that */
	/* It is only cut if this file is there, and takes it away. */
	char once[128];
	char field[128]; /* one more of the answer's head: "name:value" */
	struct pace read, write;
	unsigned int events;   /* the body is so many events ... */
	char go[128];          /* ... each of which waits for a byte of this */
	unsigned int delay_ms; /* before the head */
	/* the guest alone: so many exchanges at once, or one after another */
	unsigned int streams, stalled;
	unsigned int seconds; /* it gives up after these */
};

void shape_init(struct shape *s);
/* "key=value"; false: there is no such key. */
bool shape_set(struct shape *s, const char *word);
/* All words of a path's query. */
bool shape_query(struct shape *s, const char *path);
/* The name of field, into name; its value. NULL: there is none. */
const char *shape_field(const struct shape *s, char name[128]);

/* --- turn.c: one exchange at one end --- */

enum turn_end {
	TURN_OPEN,
	TURN_WHOLE,
	TURN_CUT,   /* the connection ended before */
	TURN_RESET, /* it, or the stream, was reset */
	TURN_LATE,
	TURN_OURS, /* we cut it, as told */
};

struct turn {
	struct shape shape;
	bool is_origin;
	/* what came in */
	char head[PEER_HEAD_MAX]; /* start line or pseudo-fields, fields; \n */
	size_t head_len;
	char trailers[2048];
	size_t trailers_len;
	unsigned int status;
	unsigned int interims[PEER_INTERIMS_MAX];
	unsigned int interim_count;
	bool has_head;
	struct flow in;
	/* what goes out */
	struct flow out;
	uint64_t begun_ms; /* when it may answer, or began */
	bool is_head_sent;
	bool is_said; /* its line is printed */
	int go_fd;
	unsigned int events_sent;
	uint64_t event_at; /* bytes of one that are gone */
	char event[64];
	size_t event_len;
	/* events that came in, in ns on their way */
	uint64_t *delays;
	unsigned int delay_count;
	char line[128];
	size_t line_len;
	enum turn_end end;
	uint32_t error; /* of HTTP/2 */
	uint64_t whole_ms;
};

struct turn *turn_new(const struct shape *s, bool is_origin);
void turn_free(struct turn *t);
/* A line of a head or of trailers, without its end. */
void turn_add_field(struct turn *t, bool is_trailer, const char *name,
    size_t name_len, const char *value, size_t value_len);
/* What a field of the head says, NULL without one. Lower-case name. */
const char *turn_field(const struct turn *t, const char *name);
/* Body bytes that came in. */
void turn_got(struct turn *t, const uint8_t *ptr, size_t len);
/* The next bytes of the body that goes out; 0: none now. */
size_t turn_take(struct turn *t, uint8_t *to, size_t size);
/* May its head be sent now? */
bool turn_may_answer(const struct turn *t);
/* Has it come to where it is cut? */
bool turn_is_cut(const struct turn *t);
bool turn_is_over(const struct turn *t);
/* When something may go on by itself; UINT64_MAX: never. */
uint64_t turn_next_ms(const struct turn *t);
/* Prints its line. */
struct link;
void turn_say(struct turn *t, const struct link *l);

/* --- link.c: a connection --- */

struct version {
	const char *name, *alpn;
	void *(*start)(struct link *l, const struct shape *s);
	void (*stop)(void *state);
	/* Bytes that came; false: it is over. */
	bool (*input)(void *state, const uint8_t *ptr, size_t len);
	/* Puts more into l->out, if there is anything; false: it is over. */
	bool (*output)(void *state);
	/* The other end has ended its direction; false: it is over. */
	bool (*ended)(void *state, bool is_reset);
	/* How many bytes may be read now. */
	size_t (*room)(void *state);
	uint64_t (*next_ms)(void *state);
	int (*wait_fd)(void *state); /* that may go on by it, or -1 */
};

extern const struct version version_h1, version_h2;

struct link {
	int fd;
	SSL *ssl;
	const struct version *version;
	bool is_origin;
	bool is_ended; /* no more comes */
	bool ends;     /* our direction ends once out is written */
	bool is_shut;
	bool resets; /* closes with a reset */
	bool goes;   /* closes at once */
	uint8_t out[4 * PEER_PIECE];
	size_t out_at, out_len;
	uint64_t deadline_ms;
};

/* How many bytes can be put out now. */
size_t link_room(const struct link *l);
void link_put(struct link *l, const void *ptr, size_t len);
/* Shakes hands, and speaks until it is over; then closes fd. */
void link_run(int fd, SSL *ssl, const struct version *v, const struct shape *s);

#endif
