/*
 * A gate without its process: one event loop in which the test plays guest,
 * origin, dialler, broker and recorder. Everything is on loopback; synthetic
 * addresses are from 127.0.0.0/8, so that a test can dial what it was told.
 */
#ifndef TAPWARD_TESTS_GATE_FIXTURE_H
#define TAPWARD_TESTS_GATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/message_audit.h"
#include "base/message_dial.h"
#include "base/message_lease.h"
#include "proxy/gate.h"

#define FIXTURE_RECORDS_MAX 2048
#define FIXTURE_DIALS_MAX 512

/* A record as the recorder got it. */
struct fixture_record {
	struct audit_record r;
	struct audit_text text;
	char host[AUDIT_HOST_MAX + 2];
	char detail[AUDIT_DETAIL_MAX + 2];
};

enum fixture_dialler {
	FIXTURE_DIAL_CONNECT, /* to the origin's listener */
	FIXTURE_DIAL_HOLD,    /* never answers */
	FIXTURE_DIAL_REFUSE,  /* with refusal */
};

struct fixture {
	struct event_base *base;
	struct gate gate;
	int counts; /* of its budgets */

	struct chan *recorder;
	struct fixture_record records[FIXTURE_RECORDS_MAX];
	size_t record_count;

	struct chan *dialler;
	enum fixture_dialler dialling;
	enum reason refusal;
	struct message_dial dials[FIXTURE_DIALS_MAX];
	size_t dial_count;
	size_t cancel_count;

	struct chan *broker;
	struct message_lease_request lease_request; /* the last */
	char lease_path[256];
	uint32_t lease_id;
	uint64_t renew_boot_ms; /* of the leases that are given */
	size_t lease_count;

	int listening; /* the gate's, on every loopback address */
	uint16_t port;
	struct listener *listener;
	int origin; /* listens */
	uint16_t origin_port;

	/* What inspect.c would have been told. */
	struct conn *inspected;
	unsigned int inspect_count;
	unsigned int inspect_changes;
	unsigned int inspect_frees;
	unsigned int pool_revokes;
	char pool_revoked[CREDENTIAL_NAME_SIZE]; /* "": all */
};

/*
 * policy and ceiling are texts (ceiling NULL: none); each "PORT" in them
 * becomes the port of the gate's listener.
 */
struct fixture *fixture_new(const char *policy, const char *ceiling);
/* Of a sandbox that learns, on a host that permits it. */
struct fixture *fixture_new_learning(const char *policy, const char *ceiling);
void fixture_free(struct fixture *f);
/* Replaces the policy as the supervisor's message does. */
void fixture_reload(struct fixture *f, const char *policy);

/* After f->recorder was freed and set to NULL. */
void fixture_new_recorder(struct fixture *f);
void fixture_new_broker(struct fixture *f);

/* Runs the loop until condition holds; fails the test after ten seconds. */
typedef bool fixture_condition(struct fixture *f, void *arg);
void fixture_until(struct fixture *f, fixture_condition *c, void *arg);
/* Runs what is ready now. */
void fixture_turn(struct fixture *f);
/* Until n records came. Returns the last. */
const struct fixture_record *fixture_wait_record(struct fixture *f, size_t n);
/* Until the gate has no connection. */
void fixture_wait_closed(struct fixture *f);

/* A blocking connection of the guest to address (host order) and port. */
int fixture_guest(uint32_t address, uint16_t port);
/* To the gate's listener on 127.0.0.1. */
int fixture_guest_here(struct fixture *f);
/* The next connection at the origin. */
int fixture_accept(struct fixture *f);
/*
 * Reads exactly len bytes from fd while the loop runs; a shorter stream is
 * what was returned. -errno for a reset.
 */
ssize_t fixture_read(struct fixture *f, int fd, void *buf, size_t len);
void fixture_write(int fd, const void *buf, size_t len);

#endif
