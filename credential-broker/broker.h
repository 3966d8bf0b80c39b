/*
 * The broker: the one process of ours that holds the roots of secrets. Gates
 * ask it for the credential of one request and are not trusted: grant, host,
 * port, method, path and the sandbox's own policy are checked here again.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_BROKER_H
#define TAPWARD_CREDENTIAL_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/err.h"
#include "base/secret.h"
#include "credential-broker/credential.h"

struct event_base;
struct fetcher;
struct given;
struct journal;
struct revoker;
struct sandbox;

struct broker {
	struct event_base *base;
	struct credential_set *set; /* in force; empty until configured */
	uint32_t lease_max_s;       /* 0 until configured */
	/*
	 * The set that is being sent. Its first fault is kept, the rest of it
	 * is taken all the same and dropped at the end. One that only lacks a
	 * value is better than none: to have no set refuses every request.
	 */
	struct credential_set *next;
	uint32_t next_sent;
	bool next_is_faulty;
	bool next_lacks_value;
	struct err next_fault;   /* of either */
	struct secret packet;    /* where what a gate gets is written */
	struct fetcher *fetcher; /* the way to issuers */
	struct revoker *revoker;
	bool is_leaving;         /* nothing is minted any more */
	struct journal *journal; /* never NULL; may have no files yet */
	struct given *given;     /* NULL: not a unit of its own; owned */
	LIST_HEAD(sandboxes, sandbox) sandboxes;
	struct chan *supervisor; /* borrowed; NULL while there is none */
	LIST_HEAD(helpers, helper) helpers; /* helper.h */
};

/* Before the process is sealed. 0 or -errno. */
int broker_new(struct event_base *base, struct broker **ret);
void broker_free(struct broker *b); /* NULL is fine */
/* A whole set is in force, if only an empty one. */
bool broker_is_configured(const struct broker *b);
/*
 * A supervisor is there (again), or gone (NULL): what another one was sending
 * is dropped, and helpers that it was to run have failed.
 */
void broker_meet(struct broker *b, struct chan *supervisor);

/*
 * The end has come: values of all sandboxes are given back, and their gates
 * are left to wait for the next broker. True once none is on its way any more.
 */
void broker_leave(struct broker *b);
bool broker_has_left(const struct broker *b);

/* What the supervisor may send; the handlers' argument is the broker. */
#define BROKER_RULE_COUNT 10
extern const struct chan_rule broker_rules[BROKER_RULE_COUNT];

#endif
