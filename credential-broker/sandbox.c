/*
 * A sandbox's channels, policy and leases, see sandbox.h.
 */
#include "credential-broker/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/grant.h"
#include "credential-broker/lease.h"
#include "credential-broker/prove.h"
#include "credential-broker/token.h"
#include "wire/host.h"

#define AREA "broker"

static_assert(GRANTS_MAX >= BROKER_CREDENTIALS_MAX &&
	GRANT_HOSTS_MAX >= BROKER_HOSTS_MAX,
    "whatever can be defined can be told");
static_assert(LEASE_PACKET_BYTES >= GRANT_BODY_MAX_BYTES,
    "the packet holds a grant");

void
sandbox_free(struct sandbox *s)
{
	if (s == NULL)
		return;
	lease_revoke(s, NULL);
	token_end(s, NULL);
	LIST_REMOVE(s, link);
	if (s->gate != NULL)
		chan_free(s->gate);
	if (s->recorder != NULL)
		chan_free(s->recorder);
	policy_unref(s->policy);
	policy_unref(s->ceiling);
	asked_done(&s->asked);
	free(s);
}

static void
on_gate_closed(struct chan *c, void *arg)
{
	struct sandbox *s = arg;

	chan_free(c);
	s->gate = NULL;
	token_forget_waits(s);
	lease_revoke(s, NULL);
	log_info(AREA, "sandbox=%s gate=gone", s->attached.sandbox);
}

static void
on_recorder_closed(struct chan *c, void *arg)
{
	struct sandbox *s = arg;

	chan_free(c);
	s->recorder = NULL;
	log_warn(AREA, "sandbox=%s recorder=gone", s->attached.sandbox);
}

/* An honest gate asks for what wire/host.h wrote. */
static int
on_lease_request(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct sandbox *s = arg;
	struct message_lease_request m;
	char host[HOST_SIZE];
	int rc = message_lease_request_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	/* Before anything is answered: left-over bytes are a break too. */
	if (!rd_done(&msg->body) || msg->id == 0)
		return -EPROTO;
	if (!host_is_written(host_parse(span_of(m.host), host)) ||
	    strcmp(host, m.host) != 0) {
		log_warn(AREA, "sandbox=%s gate=ended: not a canonical name",
		    s->attached.sandbox);
		return -EPROTO;
	}
	lease_request(s, msg->id, &m);
	return 0;
}

static int
on_audit_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct sandbox *s = arg;

	(void)c;
	return message_audit_state_decode(&msg->body, &s->recorder_can_write);
}

static void
send_grant(struct sandbox *s, const struct credential *c)
{
	const struct message_broker_credential *d = &c->definition;
	struct message_grant m = { .port = d->port,
		.host_count = d->host_count,
		.name_count = d->strip_count };
	struct secret *packet = &s->broker->packet;
	struct wr w = wr_init(packet->ptr, packet->len);

	memcpy(m.hosts, d->hosts, sizeof(d->hosts));
	memcpy(m.names, d->strip, sizeof(d->strip));
	memcpy(m.placeholder, d->placeholder, sizeof(m.placeholder));
	if (d->apply == LEASE_APPLY_HEADER)
		memcpy(m.names[m.name_count++], d->field, sizeof(d->field));
	if (d->apply == LEASE_APPLY_QUERY)
		memcpy(m.parameter, d->field, sizeof(d->field));
	/* Before it is loaded nobody knows what its service would say. */
	if (c->is_loaded && c->kind->metadata != NULL &&
	    grant_opens_metadata(d))
		c->kind->metadata(c, &m.metadata);
	message_grant_encode(&w, &m);
	(void)chan_send(s->gate, MSG_GRANT, 0, &w, NULL, 0);
}

/*
 * Whatever the policy names: its writer may not let a key of his own in by
 * leaving ours out. Before the credentials came nothing is known to be granted
 * and nothing not to be: the gate waits.
 */
static void
tell_grants(struct sandbox *s)
{
	const struct credential_set *set = s->broker->set;
	struct message_grants_whole m = { .count = 0 };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->gate == NULL || !broker_is_configured(s->broker))
		return;
	for (unsigned int i = 0; i < set->count; i++) {
		const struct credential *c = set->credentials[i];

		if (!grant_covers(&c->definition, &s->attached))
			continue;
		send_grant(s, c);
		m.count++;
	}
	message_grants_whole_encode(&w, &m);
	/* A gate that does not read loses its channel, and its leases. */
	(void)chan_send(s->gate, MSG_GRANTS_WHOLE, 0, &w, NULL, 0);
}

static int
on_lease_rejected(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_lease_rejected m;
	int rc = message_lease_rejected_decode(&msg->body, &m);

	(void)c;
	if (rc == 0)
		lease_reject(arg, m.lease_id);
	return rc;
}

static int
on_sign(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_sign m;
	int rc = message_sign_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (!rd_done(&msg->body) || msg->id == 0)
		return -EPROTO;
	prove(arg, msg->id, &m);
	return 0;
}

static const struct chan_rule gate_rules[] = {
	{ MSG_SIGN, SIGN_BODY_MAX_BYTES, 0, 0, on_sign },
	{ MSG_LEASE_REJECTED, MESSAGE_SMALL_BYTES, 0, 0, on_lease_rejected },
	{ MSG_LEASE_REQUEST, LEASE_REQUEST_BODY_MAX_BYTES, 0, 0,
	    on_lease_request },
};

static const struct chan_rule recorder_rules[] = {
	{ MSG_AUDIT_STATE, MESSAGE_SMALL_BYTES, 0, 0, on_audit_state },
};

static int
open_channels(struct sandbox *s, int *fds)
{
	struct event_base *base = s->broker->base;

	s->gate = chan_new(base, steal_fd(&fds[BROKER_ATTACH_GATE]), gate_rules,
	    sizeof(gate_rules) / sizeof(gate_rules[0]), on_gate_closed, s);
	s->recorder = chan_new(base, steal_fd(&fds[BROKER_ATTACH_RECORDER]),
	    recorder_rules, sizeof(recorder_rules) / sizeof(recorder_rules[0]),
	    on_recorder_closed, s);
	/* It says so at once if its sink cannot. */
	s->recorder_can_write = true;
	if (s->gate == NULL || s->recorder == NULL)
		return -ENOMEM;
	/* Or it would have us keep a value for each time it asks. */
	chan_answer_first(s->gate);
	return 0;
}

int
sandbox_new(struct broker *b, const struct message_broker_attach *m, int *fds)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->broker = b;
	s->generation = m->generation;
	s->attached = *m;
	asked_init(&s->asked);
	LIST_INSERT_HEAD(&b->sandboxes, s, link);
	rc = sandbox_set_policy(s, fds[BROKER_ATTACH_POLICY],
	    m->has_ceiling ? fds[BROKER_ATTACH_CEILING] : -1);
	if (rc == 0)
		rc = open_channels(s, fds);
	if (rc != 0)
		sandbox_free(s);
	else
		tell_grants(s);
	return rc;
}

int
sandbox_set_policy(struct sandbox *s, int policy_fd, int ceiling_fd)
{
	struct policy *policy = NULL, *ceiling = NULL;
	int rc = policy_map(policy_fd, &policy);

	if (rc == 0 && ceiling_fd != -1)
		rc = policy_map(ceiling_fd, &ceiling);
	if (rc != 0) {
		policy_unref(policy);
		return rc;
	}
	policy_unref(s->policy);
	policy_unref(s->ceiling);
	s->policy = policy;
	s->ceiling = ceiling;
	lease_revoke(s, NULL);
	return 0;
}

void
sandbox_set_changed(struct sandbox *s, const struct credential_set *before)
{
	for (unsigned int i = 0; i < before->count; i++) {
		const struct credential *was = before->credentials[i];
		const struct credential *is =
		    credential_set_find(s->broker->set, was->definition.name);

		/* What was not granted was never lent. */
		if (is == was)
			continue;
		if (grant_covers(&was->definition, &s->attached))
			lease_revoke(s, was->definition.name);
		token_end(s, was);
	}
	tell_grants(s);
}

bool
sandbox_can_audit(const struct sandbox *s)
{
	return s->recorder != NULL && chan_is_open(s->recorder) &&
	    s->recorder_can_write;
}

void
sandbox_audit(struct sandbox *s, const struct audit_record *r)
{
	uint8_t buf[AUDIT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->recorder == NULL)
		return;
	message_audit_encode(&w, r);
	/* A full channel ends, and nothing is granted without one. */
	(void)chan_send(s->recorder, MSG_AUDIT, 0, &w, NULL, 0);
}
