/*
 * What the supervisor tells the broker, see broker.h.
 */
#include "credential-broker/broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/message.h"
#include "base/message_ask.h"
#include "base/message_dialler.h"
#include "base/message_done.h"
#include "credential-broker/fetch.h"
#include "credential-broker/given.h"
#include "credential-broker/helper.h"
#include "credential-broker/journal.h"
#include "credential-broker/lease.h"
#include "credential-broker/revoker.h"
#include "credential-broker/sandbox.h"

#define AREA "broker"

static void
on_resolvers(void *arg)
{
	const struct broker *b = arg;

	fetcher_tell_resolvers(b->fetcher, b->supervisor);
}

int
broker_new(struct event_base *base, struct broker **ret)
{
	struct broker *b = calloc(1, sizeof(*b));
	int rc;

	if (b == NULL)
		return -ENOMEM;
	b->base = base;
	b->set = credential_set_new();
	rc = b->set == NULL ? -ENOMEM
			    : secret_alloc(&b->packet, LEASE_PACKET_BYTES);
	if (rc == 0)
		rc = fetcher_new(base, &b->fetcher);
	if (rc == 0) {
		fetcher_watch_resolvers(b->fetcher, on_resolvers, b);
		rc = revoker_new(b, &b->revoker);
	}
	b->journal = journal_new();
	if (b->journal == NULL)
		rc = -ENOMEM;
	if (rc != 0) {
		broker_free(b);
		return rc;
	}
	*ret = b;
	return 0;
}

static void
forget_next(struct broker *b)
{
	credential_set_free(b->next);
	b->next = NULL;
	b->next_sent = 0;
	b->next_is_faulty = false;
	b->next_lacks_value = false;
}

static void
end_sandboxes(struct broker *b)
{
	struct sandbox *s, *next;

	for (s = LIST_FIRST(&b->sandboxes); s != NULL; s = next) {
		next = LIST_NEXT(s, link);
		sandbox_free(s);
	}
}

void
broker_free(struct broker *b)
{
	if (b == NULL)
		return;
	end_sandboxes(b);
	forget_next(b);
	revoker_free(b->revoker);
	while (!LIST_EMPTY(&b->helpers))
		helper_cancel(LIST_FIRST(&b->helpers));
	credential_set_free(b->set);
	fetcher_free(b->fetcher);
	journal_free(b->journal);
	given_free(b->given);
	secret_done(&b->packet);
	free(b);
}

bool
broker_is_configured(const struct broker *b)
{
	return b->lease_max_s != 0;
}

void
broker_meet(struct broker *b, struct chan *supervisor)
{
	forget_next(b);
	b->supervisor = supervisor;
	helper_fail_all(b);
}

/* Answers an order; fault NULL: there is nothing to say of it. */
static int
answer(struct chan *c, uint32_t id, bool is_done, const char *fault)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_done m = { .ok = is_done };

	if (fault != NULL) {
		char text[LOG_QUOTE_MAX];

		log_warn(AREA, "%s=%s", is_done ? "fault" : "refused",
		    log_quote(text, sizeof(text), span_of(fault)));
		(void)strncpy(m.text, fault, sizeof(m.text) - 1);
	}
	message_done_encode(&w, &m);
	/* A channel that is gone tells so itself. */
	(void)chan_send(c, MSG_BROKER_DONE, id, &w, NULL, 0);
	return 0;
}

/* fault NULL: it was carried out. */
static int
done(struct chan *c, uint32_t id, const char *fault)
{
	return answer(c, id, fault == NULL, fault);
}

static int
done_os(struct chan *c, uint32_t id, int rc, const char *step)
{
	struct err err;

	if (rc == 0)
		return done(c, id, NULL);
	(void)err_os(&err, rc, "broker: %s", step);
	return done(c, id, err.text);
}

/* While a set is in force it stays, rather than one that lacks a value. */
static void
next_fault(struct broker *b, int rc, const struct err *err)
{
	const bool is_bearable = rc == -ENOKEY && !broker_is_configured(b);

	if (!b->next_is_faulty && (!is_bearable || !b->next_lacks_value))
		b->next_fault = *err;
	if (is_bearable)
		b->next_lacks_value = true;
	else
		b->next_is_faulty = true;
}

/* As where the supervisor finds no file: the set is taken, and it is told. */
static void
note_missing(struct broker *b, const struct message_broker_credential *d,
    unsigned int fd_count)
{
	struct err err;

	if (given_check(b->given, d, fd_count, &err) == 0)
		return;
	if (!b->next_is_faulty && !b->next_lacks_value)
		b->next_fault = err;
	b->next_lacks_value = true;
}

static int
add_credential(struct broker *b, struct message_broker_credential *definition,
    const struct chan_msg *msg, struct err *err)
{
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	unsigned int count;
	struct credential *c;
	int loaded, rc;

	if (b->next == NULL)
		b->next = credential_set_new();
	if (b->next == NULL)
		return err_os(err, -ENOMEM, "credentials");
	count =
	    given_complete(b->given, definition, msg->fds, msg->fd_count, fds);
	loaded = credential_new(definition, fds, count, &c, err);
	if (loaded != 0 && loaded != -ENOKEY)
		return loaded;
	c->broker = b;
	rc = credential_set_add(b->next, c);
	if (rc != 0)
		return err_at(err, NULL, 0, "credential %s: %s",
		    definition->name,
		    rc == -EEXIST ? "is defined twice" : "is one too many");
	if (loaded == 0)
		note_missing(b, definition, count);
	return loaded;
}

static int
on_credential(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_broker_credential *m = calloc(1, sizeof(*m));
	struct err err;
	int rc;

	(void)c;
	if (m == NULL)
		return -ENOMEM;
	b->next_sent++;
	rc = message_broker_credential_decode(&msg->body, m);
	if (rc == 0) {
		int added = add_credential(b, m, msg, &err);

		if (added != 0)
			next_fault(b, added, &err);
	}
	free(m);
	return rc;
}

/*
 * What is as it was goes on with all that its kind has learned: flights and
 * values of it are of use still.
 */
static void
keep_unchanged(struct credential_set *fresh, struct credential_set *before)
{
	for (unsigned int i = 0; i < fresh->count; i++) {
		struct credential **is = &fresh->credentials[i];
		struct credential *was =
		    credential_set_find(before, (*is)->definition.name);

		if (was == NULL || !credential_equals(was, *is))
			continue;
		credential_unref(*is);
		*is = credential_ref(was);
	}
}

/* Takes the whole new set over; leases of what changed end. */
static void
take_over(struct broker *b, struct credential_set *fresh)
{
	struct credential_set *before = b->set;
	struct sandbox *s;

	keep_unchanged(fresh, before);
	b->set = fresh;
	LIST_FOREACH(s, &b->sandboxes, link)
	sandbox_set_changed(s, before);
	credential_set_free(before);
}

static int
on_configured(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_broker_configured m;
	struct credential_set *fresh = b->next;
	struct err fault = b->next_fault;
	const bool lacks_value = b->next_lacks_value;
	int rc = message_broker_configured_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (b->next_is_faulty || m.credential_count != b->next_sent) {
		rc = done(c, msg->id,
		    b->next_is_faulty ? b->next_fault.text
				      : "not all credentials came");
		forget_next(b);
		return rc;
	}
	if (fresh == NULL)
		fresh = credential_set_new();
	if (fresh == NULL)
		return done_os(c, msg->id, -ENOMEM, "credentials");
	b->next = NULL;
	forget_next(b);
	b->lease_max_s = m.lease_max_s;
	take_over(b, fresh);
	revoker_sweep(b);
	log_info(AREA, "configured credentials=%u", fresh->count);
	return answer(c, msg->id, true, lacks_value ? fault.text : NULL);
}

static struct sandbox *
find_sandbox(struct broker *b, const char *name)
{
	struct sandbox *s;

	LIST_FOREACH(s, &b->sandboxes, link)
	if (strcmp(s->attached.sandbox, name) == 0)
		return s;
	return NULL;
}

static int
on_attach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_broker_attach m;
	struct sandbox *before;
	int rc = message_broker_attach_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (msg->fd_count !=
	    (m.has_ceiling ? BROKER_ATTACH_CEILING : BROKER_ATTACH_POLICY) + 1)
		return -EPROTO;
	/* What came with it is closed: its gate waits for the next broker. */
	if (b->is_leaving)
		return done(c, msg->id, NULL);
	before = find_sandbox(b, m.sandbox);
	rc = sandbox_new(b, &m, msg->fds);
	if (rc == 0)
		sandbox_free(before);
	return done_os(c, msg->id, rc, "attach");
}

static int
on_policy(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_broker_policy m;
	struct sandbox *s;
	int rc = message_broker_policy_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (msg->fd_count != (m.has_ceiling ? 2 : 1))
		return -EPROTO;
	s = find_sandbox(b, m.sandbox);
	if (s == NULL || s->generation != m.generation)
		return done_os(c, msg->id, -ENOENT, "policy");
	rc = sandbox_set_policy(s, msg->fds[0],
	    m.has_ceiling ? msg->fds[1] : -1);
	return done_os(c, msg->id, rc, "policy");
}

static int
on_asked(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_ask_allowed m;
	struct sandbox *s;
	int rc = message_ask_allowed_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	s = find_sandbox(b, m.sandbox);
	rc = s == NULL || s->generation != m.generation
	    ? -ENOENT
	    : asked_add(&s->asked, &m);
	return done_os(c, msg->id, rc, "asked");
}

static int
on_detach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_broker_detach m;
	struct sandbox *s;
	int rc = message_broker_detach_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	s = find_sandbox(b, m.sandbox);
	if (s != NULL && s->generation == m.generation)
		sandbox_free(s);
	return 0;
}

static int
on_upstream(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_dialler_config *m = calloc(1, sizeof(*m));
	struct message_dialler_fds fds;
	int rc =
	    m == NULL ? -ENOMEM : message_dialler_config_decode(&msg->body, m);

	(void)c;
	if (rc == 0 &&
	    !message_dialler_config_fds(m, msg->fds, msg->fd_count, &fds))
		rc = -EPROTO;
	if (rc != 0) {
		free(m);
		return rc;
	}
	rc = fetcher_configure(b->fetcher, m, &fds);
	/* Without it no value is minted, which whoever asks is told. */
	if (rc != 0)
		log_err(AREA, "upstream: %s", strerror(-rc));
	on_resolvers(b);
	return 0;
}

static int
on_roots(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct broker *b = arg;
	const int rc = fetcher_set_roots(b->fetcher, msg->fds[0]);

	(void)c;
	if (rc != 0)
		log_err(AREA, "roots refused, those before stay: %s",
		    strerror(-rc));
	return 0;
}

static int
on_journal(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	const int rc = journal_open(b->journal, msg->fds);

	(void)c;
	/* What must be given back is not minted then, which others are told. */
	if (rc != 0)
		log_err(AREA, "journal: %s", strerror(-rc));
	return 0;
}

void
broker_leave(struct broker *b)
{
	b->is_leaving = true;
	end_sandboxes(b);
}

bool
broker_has_left(const struct broker *b)
{
	return revoker_count(b->revoker) == 0;
}

const struct chan_rule broker_rules[BROKER_RULE_COUNT] = {
	{ MSG_BROKER_RAN, MESSAGE_SMALL_BYTES, 0, 0, helper_on_ran },
	{ MSG_BROKER_JOURNAL, MESSAGE_SMALL_BYTES, JOURNAL_FILES, JOURNAL_FILES,
	    on_journal },
	{ MSG_BROKER_UPSTREAM, MESSAGE_LARGE_BYTES, 0, DIALLER_CONFIG_FDS_MAX,
	    on_upstream },
	{ MSG_BROKER_ROOTS, MESSAGE_SMALL_BYTES, 1, 1, on_roots },
	{ MSG_BROKER_CREDENTIAL, MESSAGE_LARGE_BYTES, 0,
	    BROKER_CREDENTIAL_FDS_MAX, on_credential },
	{ MSG_BROKER_CONFIGURED, MESSAGE_SMALL_BYTES, 0, 0, on_configured },
	{ MSG_BROKER_ATTACH, MESSAGE_LARGE_BYTES, 3, 4, on_attach },
	{ MSG_BROKER_POLICY, MESSAGE_SMALL_BYTES, 1, 2, on_policy },
	{ MSG_BROKER_DETACH, MESSAGE_SMALL_BYTES, 0, 0, on_detach },
	{ MSG_ASK_ALLOWED, MESSAGE_SMALL_BYTES, 0, 0, on_asked },
};
