/*
 * What the supervisor tells the dialler, see dialler.h. Each order but DETACH
 * is answered; one that cannot be carried out leaves what was before.
 */
#include "proxy/dialler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/message.h"
#include "base/message_ask.h"
#include "base/message_done.h"
#include "proxy/dialler_proxy.h"
#include "proxy/dialler_sandbox.h"

#define AREA "dialler"

static void
on_resolvers(void *arg)
{
	const struct dialler *d = arg;

	dialler_resolver_tell(d->resolver, d->supervisor);
}

int
dialler_new(struct event_base *base, struct dialler **ret)
{
	struct dialler *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return -ENOMEM;
	d->base = base;
	rc = dialler_resolver_new(base, &d->resolver);
	if (rc != 0) {
		free(d);
		return rc;
	}
	dialler_resolver_watch(d->resolver, on_resolvers, d);
	*ret = d;
	return 0;
}

void
dialler_meet(struct dialler *d, struct chan *supervisor)
{
	d->supervisor = supervisor;
}

void
dialler_free(struct dialler *d)
{
	struct dialler_sandbox *s, *next;

	if (d == NULL)
		return;
	for (s = LIST_FIRST(&d->sandboxes); s != NULL; s = next) {
		next = LIST_NEXT(s, link);
		dialler_sandbox_free(s);
	}
	dialler_resolver_free(d->resolver);
	secret_done(&d->proxy_login);
	free(d->config);
	free(d->addresses);
	free(d);
}

/* Answers an order: rc 0, or the -errno of what went wrong at step. */
static int
done(struct chan *c, uint32_t id, int rc, const char *step)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_done m = { .ok = rc == 0 };

	if (rc != 0) {
		(void)snprintf(m.text, sizeof(m.text), "dialler: %s: %s", step,
		    strerrordesc_np(-rc));
		log_warn(AREA, "step=%s error=%s", step, strerrorname_np(-rc));
	}
	message_done_encode(&w, &m);
	/* A channel that is gone tells so itself. */
	(void)chan_send(c, MSG_DIALLER_DONE, id, &w, NULL, 0);
	return 0;
}

/* Without its login nothing goes by the proxy, and nothing round it. */
static int
take_login(struct dialler *d, int fd)
{
	const int rc =
	    dialler_proxy_login(&d->config->proxy, fd, &d->proxy_login);

	d->is_proxy_usable = rc == 0;
	return rc;
}

static int
on_config(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_dialler_config *config = calloc(1, sizeof(*config));
	struct message_dialler_fds fds;
	int rc;

	if (config == NULL)
		return done(c, msg->id, -ENOMEM, "configuration");
	rc = message_dialler_config_decode(&msg->body, config);
	if (rc == 0 &&
	    !message_dialler_config_fds(config, msg->fds, msg->fd_count, &fds))
		rc = -EPROTO;
	if (rc != 0) {
		free(config);
		return rc;
	}
	/* The resolver lets go of the old one here. */
	rc = dialler_resolver_configure(d->resolver, config, fds.roots);
	free(d->config);
	d->config = config;
	d->config_serial++;
	log_info(AREA, "configured resolvers=%u exceptions=%u proxy=%s",
	    config->resolver_count, config->exception_count,
	    config->proxy.host[0] != '\0' ? "yes" : "no");
	dialler_resolver_tell(d->resolver, d->supervisor);
	if (rc != 0)
		return done(c, msg->id, rc, "resolvers");
	dialler_resolver_probe(d->resolver);
	return done(c, msg->id, take_login(d, fds.password), "proxy-password");
}

static int
on_addresses(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_dialler_addresses *m = calloc(1, sizeof(*m));
	int rc;

	if (m == NULL)
		return done(c, msg->id, -ENOMEM, "addresses");
	rc = message_dialler_addresses_decode(&msg->body, m);
	if (rc != 0) {
		free(m);
		return rc;
	}
	free(d->addresses);
	d->addresses = m;
	d->has_ipv6 = dialler_host_has_ipv6(m);
	return done(c, msg->id, 0, "addresses");
}

static struct dialler_sandbox *
find_sandbox(struct dialler *d, const char *name)
{
	struct dialler_sandbox *s;

	LIST_FOREACH(s, &d->sandboxes, link)
	if (strcmp(s->name, name) == 0)
		return s;
	return NULL;
}

static int
on_attach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_dialler_sandbox m;
	struct dialler_sandbox *before;
	int rc = message_dialler_sandbox_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (msg->fd_count !=
	    (m.has_ceiling ? DIALLER_ATTACH_CEILING : DIALLER_ATTACH_POLICY) +
		1)
		return -EPROTO;
	before = find_sandbox(d, m.sandbox);
	rc = dialler_sandbox_new(d, &m, msg->fds);
	if (rc == 0)
		dialler_sandbox_free(before);
	return done(c, msg->id, rc, "attach");
}

static int
on_policy(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_dialler_sandbox m;
	struct dialler_sandbox *s;
	int rc = message_dialler_sandbox_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (msg->fd_count != (m.has_ceiling ? 2 : 1))
		return -EPROTO;
	s = find_sandbox(d, m.sandbox);
	if (s == NULL || s->generation != m.generation)
		return done(c, msg->id, -ENOENT, "policy");
	rc = dialler_sandbox_set_policy(s, msg->fds[0],
	    m.has_ceiling ? msg->fds[1] : -1);
	return done(c, msg->id, rc, "policy");
}

static int
on_asked(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_ask_allowed m;
	struct dialler_sandbox *s;
	int rc = message_ask_allowed_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	s = find_sandbox(d, m.sandbox);
	rc = s == NULL || s->generation != m.generation
	    ? -ENOENT
	    : asked_add(&s->asked, &m);
	return done(c, msg->id, rc, "asked");
}

static int
on_detach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct dialler *d = arg;
	struct message_dialler_detach m;
	struct dialler_sandbox *s;
	int rc = message_dialler_detach_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	s = find_sandbox(d, m.sandbox);
	if (s != NULL && s->generation == m.generation)
		dialler_sandbox_free(s);
	return 0;
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct dialler *d = arg;
	struct message_dialler_status m;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	dialler_resolver_status(d->resolver, &m);
	message_dialler_status_encode(&w, &m);
	/* A channel that is gone tells so itself. */
	(void)chan_send(c, MSG_DIALLER_STATUS_ANSWER, msg->id, &w, NULL, 0);
	return 0;
}

const struct chan_rule dialler_rules[DIALLER_RULE_COUNT] = {
	{ MSG_DIALLER_CONFIG, MESSAGE_LARGE_BYTES, 0, DIALLER_CONFIG_FDS_MAX,
	    on_config },
	{ MSG_DIALLER_ADDRESSES, MESSAGE_LARGE_BYTES, 0, 0, on_addresses },
	{ MSG_DIALLER_ATTACH, MESSAGE_SMALL_BYTES, 3, 4, on_attach },
	{ MSG_DIALLER_POLICY, MESSAGE_SMALL_BYTES, 1, 2, on_policy },
	{ MSG_DIALLER_DETACH, MESSAGE_SMALL_BYTES, 0, 0, on_detach },
	{ MSG_ASK_ALLOWED, MESSAGE_SMALL_BYTES, 0, 0, on_asked },
	{ MSG_DIALLER_STATUS, 0, 0, 0, on_status },
};
