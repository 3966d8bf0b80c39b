/*
 * The inspected path without its process: one event loop in which the test
 * plays guest, origins, dialler, broker and recorder over socket pairs.
 */
#ifndef TAPWARD_TESTS_INSPECT_FIXTURE_H
#define TAPWARD_TESTS_INSPECT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "base/message_audit.h"
#include "base/message_lease.h"
#include "proxy/conn.h"
#include "proxy/gate.h"
#include "proxy/grants.h"
#include "tests/unit/fix_cert.h"

#define FIX_ORIGINS_MAX 64
#define FIX_RECORDS_MAX 1024

/* One end that the test plays. */
struct peer {
	int fd;
	SSL *ssl;
	bool is_shaken; /* TLS is done, or there is none */
	bool is_failed; /* TLS alert or reset */
	bool is_ended;  /* the other side closed */
	uint8_t *in;
	size_t in_len, in_size;
	uint8_t *out;
	size_t out_len, out_at;
	bool is_slow; /* not read from */
	size_t burst; /* bytes written at once; 0: all */
	/* Reads and writes for it each turn (h2_peer.h); NULL: the test does */
	void (*on_turn)(struct peer *p, void *arg);
	void *on_turn_arg;
};

struct fix_record {
	struct audit_record r;
	char rule[64], host[256], method[40], path[1100], detail[260];
	char credential[64], address[ADDRESS_TEXT_SIZE];
};

/* How the certificate of an origin is. */
struct fix {
	struct gate gate;
	int counts; /* of its budgets */
	struct policy *policy;
	uint8_t *image;
	struct ca_made ca, roots;

	/* the one guest connection */
	struct conn conn;
	struct peer guest;
	bool has_record_size_limit; /* the next one's ClientHello */
	bool is_closed;
	enum reason closed_why;
	char closed_detail[128];
	bool has_restarted; /* conn_restart_as_tls() was called */
	char restarted_host[HOST_NAME_SIZE]; /* with this name */

	struct peer origins[FIX_ORIGINS_MAX];
	size_t origin_count;
	enum reason dial_refusal;
	size_t dial_count;        /* refused ones too */
	bool is_redirect_dialled; /* the last */
	enum fix_cert cert;
	bool origin_is_h2;    /* what an origin chooses if it is offered */
	const char *greeting; /* what one says at once; plain HTTP only */
	SSL_CTX *origin_tls;
	SSL_CTX *guest_tls;

	/* the broker */
	enum reason lease_refusal;
	bool is_lease_late; /* answers from the loop */
	bool lease_serves_websocket;
	bool asked_for_websocket; /* the last lease that was asked for */
	enum lease_apply apply;
	const char *lease_field, *lease_user, *placeholder, *strip;
	const char *strip_response;
	bool keeps_set_cookie;
	const char *secret;
	uint64_t lease_id;
	unsigned int rejected_count; /* leases that the broker heard of */
	uint64_t lease_ms;           /* how long each holds, 0: for ever */
	uint64_t renew_boot_ms;      /* as in struct message_lease */
	const char *next_secret;     /* of leases after one was rejected */
	size_t lease_count;
	/* APPLY_CERTIFICATE: the chain, and who signs; NULL: nobody does */
	struct span chain;
	EVP_PKEY *sign_key;
	bool is_sign_held; /* no answer yet */
	size_t sign_count;
	uint16_t signed_scheme;        /* of the last */
	struct grants *grants;         /* empty, and known, at first */
	const char *grant_placeholder; /* of what is granted next; "" */
	const char *grant_parameter;   /* the same */
	bool is_untold;     /* they come when somebody waits for them ... */
	enum reason untold; /* ... or this does */

	bool is_audit_full, is_audit_behind;
	struct fix_record records[FIX_RECORDS_MAX];
	size_t record_count;
};

struct fix *fix_new(const char *policy_text);
void fix_free(struct fix *f);
/* Another policy comes into force. */
void fix_set_policy(struct fix *f, const char *policy_text);

/* What the guest offers from here on: "\x02h2", a list as ALPN has it. */
void fix_offer(struct fix *f, const char *alpn);
/*
 * The broker tells that this is granted and nothing else. names: field names
 * with blanks between. NULL host: nothing at all.
 */
void fix_grant(struct fix *f, const char *host, uint16_t port,
    const char *names);

/* Opens the guest's connection; TLS fronts shake hands with sni. */
void fix_open_http(struct fix *f);
void fix_open_explicit(struct fix *f);
void fix_open_tls(struct fix *f, const char *sni);
/* The handshake asks for sni, but seen is what was judged before. */
void fix_open_tls_as(struct fix *f, const char *sni, const char *seen);
/* The guest sends what it likes behind a hello that named seen. */
void fix_open_tls_raw(struct fix *f, const char *seen);
/* Ends it, if it is open, so that another can be opened. */
void fix_close(struct fix *f);

/* For the files of the fixture: the one that is in use. */
struct fix *fix_current(void);
void peer_init(struct peer *p, int fd, SSL *ssl);
void peer_done(struct peer *p);
/* Does what can be done now; whether that was anything. */
bool peer_turn(struct peer *p);

/* Queues bytes. */
void peer_send(struct peer *p, const void *ptr, size_t len);
void peer_say(struct peer *p, const char *text);
/* Closes our direction once everything queued is written. */
void peer_end(struct peer *p);
void peer_drop(struct peer *p);
/* Is text in what came in? */
bool peer_has(const struct peer *p, const char *text);
bool peer_has_bytes(const struct peer *p, const void *ptr, size_t len);
/* Forgets what came in. */
void peer_clear(struct peer *p);

/* Everybody does what can be done now. */
void fix_turn(struct fix *f);
/* Turns until cond holds; fails the test after a deadline. */
#define fix_until(f, cond)                                                     \
	do {                                                                   \
		uint64_t deadline_ = fix_deadline();                           \
		while (!(cond)) {                                              \
			fix_turn(f);                                           \
			if (fix_is_late(deadline_))                            \
				fail_msg("waited in vain for %s; guest: %s",   \
				    #cond, fix_guest_text(f));                 \
		}                                                              \
	} while (0)
uint64_t fix_deadline(void);
bool fix_is_late(uint64_t deadline);
const char *fix_guest_text(struct fix *f);
/* Turns until nothing moves any more. */
void fix_settle(struct fix *f);
/*
 * How often the event loop wakes within 30 ms while no peer does anything:
 * once or twice, or it spins on a descriptor that nobody reads.
 */
unsigned int fix_wakes(struct fix *f);

/* The k-th origin that was dialled, as soon as it was. */
struct peer *fix_origin(struct fix *f, size_t k);
/* The guest asks; the origin that is dialled for it has the whole head. */
struct peer *fix_ask(struct fix *f, const char *request);
/* Ends all origins and forgets them; the next to be dialled is the first. */
void fix_forget_origins(struct fix *f);
/* The last record; fails without one. */
const struct fix_record *fix_last(const struct fix *f);

#endif
