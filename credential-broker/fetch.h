/*
 * One strict HTTPS question to an issuer: TLS 1.2 or later against the host's
 * roots, names by the host's resolvers, no redirect followed, no proxy but
 * the host's, no cookie, no file or variable read, an answer of a bounded size
 * and of the type that was asked for, all within a time. What is sent and what
 * comes is in memory that is wiped.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_FETCH_H
#define TAPWARD_CREDENTIAL_BROKER_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_dialler.h"
#include "credential-broker/kind.h"

struct chan;
struct event_base;
struct fetcher;
struct fetch;

#define FETCH_HEADERS_MAX 12
#define FETCH_BODY_MAX_BYTES 65536
#define FETCH_TIMEOUT_MS 6000
/* Flights to one host:port at once; more wait for one of them. */
#define FETCH_HOST_MAX 4

/* All is borrowed until fetch_start() returns. */
struct fetch_request {
	const char *method; /* "GET", "POST", "PUT", "DELETE" */
	const char *url;
	bool may_be_clear; /* http:// is fine: `cleartext = yes` */
	/* "Name: value"; NULL after the last; secrets are fine here */
	const char *headers[FETCH_HEADERS_MAX];
	struct span body; /* ptr NULL: none */
	const char *body_type;
	/* that an answer with a body must have; NULL: any */
	const char *want_type;
};

/* What came, borrowed until done returns. */
struct fetch_answer {
	/*
	 * MINT_OK: any status from 200 to 299. Of the rest the body is there
	 * too if it was of want_type, since some say in it why.
	 */
	enum mint_fault fault;
	long status; /* 0: there was no answer */
	struct span body;
	uint32_t retry_after_s; /* 0 without */
	uint64_t date_s;        /* the issuer's clock; 0 if it told none */
};

typedef void fetch_done(const struct fetch_answer *a, void *arg);

/* Before the process is sealed. 0 or -errno. */
int fetcher_new(struct event_base *base, struct fetcher **ret);
/* changed is called when a resolver comes to be in another state. */
void fetcher_watch_resolvers(struct fetcher *f, void (*changed)(void *arg),
    void *arg);
/* Tells to how resolvers are, as MSG_RESOLVERS; NULL: nobody is there. */
void fetcher_tell_resolvers(const struct fetcher *f, struct chan *to);
/* Flights are forgotten, not told. NULL is fine. */
void fetcher_free(struct fetcher *f);
/*
 * Takes config (heap) and reads what came with it, which is
 * borrowed; whoever waits for an answer is told that there is none. Before the
 * first time every question fails. 0 or -errno.
 */
int fetcher_configure(struct fetcher *f, struct message_dialler_config *config,
    const struct message_dialler_fds *fds);
/*
 * The index of roots (proxy/roots.h), borrowed. Whoever waits is told as above,
 * and no connection that others vouched for is used again. Before the first
 * time every question by TLS fails. 0 or -errno: those before stay.
 */
int fetcher_set_roots(struct fetcher *f, int fd);

/*
 * NULL, and *ret_fault, when it cannot begin; else done is called later, from
 * the loop, once.
 */
struct fetch *fetch_start(struct fetcher *f, const struct fetch_request *req,
    fetch_done *done, void *arg, enum mint_fault *ret_fault);
void fetch_cancel(struct fetch *t); /* NULL is fine */

/*
 * NULL, or what is wrong with a URL of the configuration: not https (nor http
 * where that may be), a user, a fragment, no host.
 */
const char *fetch_url_fault(const char *url, bool may_be_clear);

#endif
