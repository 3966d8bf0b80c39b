/*
 * A sandbox's channels and policy, see dialler_sandbox.h. A gate that breaks
 * the protocol loses its channel, and with it the way out; other sandboxes do
 * not notice. One that does not read its answers is not read: what it holds of
 * our descriptors is bounded by the dials that may be open at once.
 */
#include "proxy/dialler_sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_dial.h"
#include "proxy/dialler_dial.h"
#include "wire/host.h"

#define AREA "dialler"

static void
end_dials(struct dialler_sandbox *s)
{
	struct dialler_dial *dial;

	while ((dial = LIST_FIRST(&s->dials)) != NULL)
		dialler_dial_cancel(dial);
}

void
dialler_sandbox_free(struct dialler_sandbox *s)
{
	if (s == NULL)
		return;
	end_dials(s);
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
	struct dialler_sandbox *s = arg;

	chan_free(c);
	s->gate = NULL;
	end_dials(s);
	log_info(AREA, "sandbox=%s gate=gone", s->name);
}

static void
on_recorder_closed(struct chan *c, void *arg)
{
	struct dialler_sandbox *s = arg;

	chan_free(c);
	s->recorder = NULL;
	log_warn(AREA, "sandbox=%s recorder=gone", s->name);
}

/*
 * An honest gate asks for what wire/host.h wrote, so a name that reads
 * otherwise here was not judged there: an address, another spelling.
 */
static int
on_dial(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler_sandbox *s = arg;
	struct message_dial m;
	char host[HOST_SIZE];
	int rc = message_dial_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (!rd_done(&msg->body) || msg->id == 0 ||
	    dialler_dial_find(s, msg->id) != NULL)
		return -EPROTO;
	if (!host_is_written(host_parse(span_of(m.host), host)) ||
	    strcmp(host, m.host) != 0) {
		log_warn(AREA, "sandbox=%s gate=ended: not a canonical name",
		    s->name);
		return -EPROTO;
	}
	return dialler_dial_start(s, msg->id, &m);
}

static int
on_cancel(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler_sandbox *s = arg;

	(void)c;
	/* It may have been answered while this was on its way. */
	dialler_dial_cancel(dialler_dial_find(s, msg->id));
	return 0;
}

static int
on_audit_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler_sandbox *s = arg;

	(void)c;
	return message_audit_state_decode(&msg->body, &s->recorder_can_write);
}

static const struct chan_rule gate_rules[] = {
	{ MSG_DIAL, MESSAGE_SMALL_BYTES, 0, 0, on_dial },
	{ MSG_DIAL_CANCEL, 0, 0, 0, on_cancel },
};

static const struct chan_rule recorder_rules[] = {
	{ MSG_AUDIT_STATE, MESSAGE_SMALL_BYTES, 0, 0, on_audit_state },
};

static int
open_channels(struct dialler_sandbox *s, int *fds)
{
	struct event_base *base = s->dialler->base;

	s->gate =
	    chan_new(base, steal_fd(&fds[DIALLER_ATTACH_GATE]), gate_rules,
		sizeof(gate_rules) / sizeof(gate_rules[0]), on_gate_closed, s);
	s->recorder = chan_new(base, steal_fd(&fds[DIALLER_ATTACH_RECORDER]),
	    recorder_rules, sizeof(recorder_rules) / sizeof(recorder_rules[0]),
	    on_recorder_closed, s);
	/* It says so at once if its sink cannot. */
	s->recorder_can_write = true;
	if (s->gate == NULL || s->recorder == NULL)
		return -ENOMEM;
	chan_answer_first(s->gate);
	return 0;
}

int
dialler_sandbox_new(struct dialler *d, const struct message_dialler_sandbox *m,
    int *fds)
{
	struct dialler_sandbox *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->dialler = d;
	memcpy(s->name, m->sandbox, sizeof(s->name));
	s->generation = m->generation;
	asked_init(&s->asked);
	LIST_INSERT_HEAD(&d->sandboxes, s, link);
	rc = dialler_sandbox_set_policy(s, fds[DIALLER_ATTACH_POLICY],
	    m->has_ceiling ? fds[DIALLER_ATTACH_CEILING] : -1);
	if (rc == 0)
		rc = open_channels(s, fds);
	if (rc != 0)
		dialler_sandbox_free(s);
	return rc;
}

static void
rejudge_dials(struct dialler_sandbox *s)
{
	struct dialler_dial *dial, *next;

	for (dial = LIST_FIRST(&s->dials); dial != NULL; dial = next) {
		next = LIST_NEXT(dial, link);
		dialler_dial_rejudge(dial);
	}
}

int
dialler_sandbox_set_policy(struct dialler_sandbox *s, int policy_fd,
    int ceiling_fd)
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
	rejudge_dials(s);
	return 0;
}

struct policy_pair
dialler_sandbox_pair(const struct dialler_sandbox *s)
{
	return (
	    struct policy_pair){ .policy = s->policy, .ceiling = s->ceiling };
}

bool
dialler_sandbox_can_audit(const struct dialler_sandbox *s)
{
	return s->recorder != NULL && chan_is_open(s->recorder) &&
	    s->recorder_can_write;
}

void
dialler_sandbox_audit(struct dialler_sandbox *s, const struct audit_record *r)
{
	uint8_t buf[AUDIT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->recorder == NULL)
		return;
	message_audit_encode(&w, r);
	/* A full channel ends, and nothing is dialled without one. */
	(void)chan_send(s->recorder, MSG_AUDIT, 0, &w, NULL, 0);
}
