/*
 * Between fetch.c, which makes questions, fetch_answer.c, and fetch_loop.c,
 * which drives libcurl on the event loop and keeps the circuits.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_FETCH_PRIVATE_H
#define TAPWARD_CREDENTIAL_BROKER_FETCH_PRIVATE_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "credential-broker/fetch.h"
#include "proxy/dialler_resolve.h"
#include "proxy/roots.h"

/* Issuers known at once: as many as there can be credentials, and some. */
#define CIRCUITS_MAX 512
#define FETCH_HOST_SIZE (HOST_NAME_SIZE + 2) /* [v6] */

/* One host:port: after failures it rests, whoever asks. */
struct circuit {
	char host[FETCH_HOST_SIZE];
	uint16_t port;
	unsigned int failures; /* in a row */
	uint64_t rests_until_boot_ms;
};

struct fetcher {
	struct event_base *base;
	CURLM *multi;
	struct event *timer;
	struct dialler_resolver *resolver;
	struct message_dialler_config *config;
	struct roots *roots; /* NULL: none yet */
	/* PEM of each set of them, written when first asked for. */
	struct {
		char *text;
		size_t len;
	} pem[ROOTS_SETS_MAX];
	struct secret proxy_password; /* with a NUL; empty: there is none */
	unsigned int circuit_count;
	struct circuit circuits[CIRCUITS_MAX];
	LIST_HEAD(fetches, fetch) fetches;
};

struct fetch {
	LIST_ENTRY(fetch) link;
	struct fetcher *fetcher;
	fetch_done *done;
	void *arg;
	struct circuit *circuit; /* NULL: there is no room for one */
	char host[FETCH_HOST_SIZE];
	uint16_t port;
	/* What is connected to: the same, or the proxy. */
	char way_host[FETCH_HOST_SIZE];
	uint16_t way_port;
	CURL *easy;
	bool is_running; /* in multi */
	struct dialler_lookup *lookup;
	struct curl_slist *headers;
	struct curl_slist *resolve;
	struct event *deadline;
	bool is_late;
	struct secret request; /* the body that goes out */
	struct secret answer;  /* room for FETCH_BODY_MAX_BYTES */
	size_t answer_len;
	bool is_too_large;
	size_t head_len;
	const char *want_type; /* a literal of the kind's */
	struct fetch_answer result;
};

/* fetch_loop.c */
int fetch_loop_new(struct fetcher *f);
void fetch_loop_free(struct fetcher *f);
/* 0 or -ENOMEM. */
int fetch_loop_add(struct fetch *t);
void fetch_loop_remove(struct fetch *t);
/* The one of host:port, a new one if need be; NULL when all are taken. */
struct circuit *fetch_circuit(struct fetcher *f, const char *host,
    uint16_t port);
bool fetch_circuit_rests(const struct circuit *c);
void fetch_circuit_note(struct circuit *c, enum mint_fault fault);

struct fetch_target {
	char host[FETCH_HOST_SIZE];
	uint16_t port;
	bool is_https;
};

/* fetch_answer.c */
/* NULL, or what is wrong with it; http or https. */
const char *fetch_read_target(const char *url, struct fetch_target *ret);
/* libcurl's callbacks. */
size_t fetch_on_body(char *ptr, size_t size, size_t count, void *arg);
size_t fetch_on_header(char *ptr, size_t size, size_t count, void *arg);
bool fetch_has_wanted_type(const struct fetch *t);
enum mint_fault fetch_fault_of_code(const struct fetch *t, CURLcode code);
enum mint_fault fetch_fault_of_status(const struct fetch *t, long status);

/* fetch_roots.c */
/* Tells t->easy by which roots its host is verified. */
CURLcode fetch_roots_set(struct fetch *t);
void fetch_roots_free(struct fetcher *f);

/* fetch_proxy.c */
/*
 * Takes the password of f->config's proxy over; fd may be -1. 0 or -errno:
 * what would go by the proxy then fails.
 */
int fetch_proxy_load(struct fetcher *f, int fd);
/*
 * Finds t's way, and tells t->easy if it is the proxy (a tunnel, whatever the
 * scheme). Addresses as such and localhost have none but the direct one.
 */
CURLcode fetch_proxy_set(struct fetch *t);
/* An address, in brackets or not. */
bool fetch_is_literal(const char *host, struct address *ret);

/* fetch.c: all that are on their way are told that there is no answer. */
void fetch_end_all(struct fetcher *f);
/* libcurl is through with it. */
void fetch_finished(struct fetch *t, CURLcode code);

#endif
