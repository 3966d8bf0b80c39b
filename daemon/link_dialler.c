/* What the dialler is told. */
#include "daemon/link_dialler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message.h"
#include "daemon/host_watch.h"
#include "daemon/jobs.h"
#include "daemon/link_broker.h"
#include "daemon/supervisor.h"

static struct service *
dialler_of(struct supervisor *sv)
{
	return &sv->services[SERVICE_DIALLER];
}

static void
encode_sandbox(struct wr *w, const struct sandbox *s)
{
	struct message_dialler_sandbox m = {
		.generation = s->state.generation,
		.has_ceiling = s->sv->ceiling.image_fd != -1,
	};

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	message_dialler_sandbox_encode(w, &m);
}

int
link_dialler_attach(const struct sandbox *s, int gate_fd, int recorder_fd,
    ask_done *done, void *arg)
{
	const int fds[] = {
		[DIALLER_ATTACH_GATE] = gate_fd,
		[DIALLER_ATTACH_RECORDER] = recorder_fd,
		[DIALLER_ATTACH_POLICY] = s->policy.image_fd,
		[DIALLER_ATTACH_CEILING] = s->sv->ceiling.image_fd,
	};
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	encode_sandbox(&w, s);
	return service_ask(dialler_of(s->sv), MSG_DIALLER_ATTACH, &w, fds,
	    s->sv->ceiling.image_fd != -1 ? 4 : 3, (struct asker){ done, arg });
}

int
link_dialler_policy(const struct sandbox *s, const struct policy_set *policy,
    ask_done *done, void *arg)
{
	const int fds[] = { policy->image_fd, s->sv->ceiling.image_fd };
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	encode_sandbox(&w, s);
	return service_ask(dialler_of(s->sv), MSG_DIALLER_POLICY, &w, fds,
	    s->sv->ceiling.image_fd != -1 ? 2 : 1, (struct asker){ done, arg });
}

void
link_dialler_detach(const struct sandbox *s)
{
	struct message_dialler_detach m = {
		.generation = s->state.generation,
	};
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	message_dialler_detach_encode(&w, &m);
	(void)service_tell(dialler_of(s->sv), MSG_DIALLER_DETACH, &w, NULL, 0);
}

static void
on_configured(void *arg, int rc, const struct answer *a)
{
	(void)arg;
	if (rc != 0)
		log_event(LOG_EVENT_RESOLVER,
		    &(const struct log_about){ .reason = "resolve-failed" },
		    "dialler", "configuration refused: %s", a->text);
}

void
link_dialler_resolvers(const struct supervisor *sv,
    struct message_dialler_config *ret)
{
	*ret = *sv->config->dialler;
	if (ret->resolver_count == 0)
		ret->resolver_count =
		    host_watch_resolvers(ret->resolvers, DIALLER_RESOLVERS_MAX);
}

/* Those by TLS; resolv.conf knows no others than those in the clear. */
static bool
needs_roots(const struct message_dialler_config *m)
{
	return m->resolver_count > 0 && m->resolvers[0].tls_name[0] != '\0';
}

static int
open_password(const char *source, int *ret_fd)
{
	const int rc = config_open_source(source, ret_fd);

	if (rc != 0)
		log_err("dialler",
		    "proxy-password = %s: %s; nothing goes by the proxy until "
		    "it is there and tapwardd reloaded",
		    source, strerror(-rc));
	return rc;
}

unsigned int
link_dialler_message(const struct supervisor *sv,
    struct message_dialler_config *ret, int ret_fds[DIALLER_CONFIG_FDS_MAX])
{
	const char *source = sv->config->host->proxy_password;
	unsigned int count = 0;
	int roots = -1;

	link_dialler_resolvers(sv, ret);
	ret->proxy.has_password =
	    source[0] != '\0' && open_password(source, &ret_fds[count]) == 0;
	count += ret->proxy.has_password ? 1 : 0;
	if (needs_roots(ret) && sv->roots_fd != -1)
		roots = fcntl(sv->roots_fd, F_DUPFD_CLOEXEC, 0);
	ret->has_roots = roots != -1;
	if (ret->has_roots)
		ret_fds[count++] = roots;
	return count;
}

void
link_dialler_configure(struct supervisor *sv)
{
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	AUTO_FREE struct message_dialler_config *m = malloc(sizeof(*m));
	struct wr w = wr_init(buf, buf == NULL ? 0 : MESSAGE_LARGE_BYTES);
	int rc = -ENOMEM;

	if (m != NULL && buf != NULL) {
		int fds[DIALLER_CONFIG_FDS_MAX];
		const unsigned int count = link_dialler_message(sv, m, fds);

		message_dialler_config_encode(&w, m);
		rc = service_ask(dialler_of(sv), MSG_DIALLER_CONFIG, &w, fds,
		    count, (struct asker){ on_configured, sv });
		for (unsigned int i = 0; i < count; i++)
			fd_close(&fds[i]);
	}
	if (rc != 0 && rc != -EAGAIN)
		log_err("dialler", "configuration: %s", strerror(-rc));
}

void
link_dialler_roots(struct supervisor *sv)
{
	if (!needs_roots(sv->config->dialler))
		return;
	link_dialler_configure(sv);
	link_broker_upstream(sv);
}

int
link_dialler_status(struct supervisor *sv, ask_done *done, void *arg)
{
	return service_ask(dialler_of(sv), MSG_DIALLER_STATUS, NULL, NULL, 0,
	    (struct asker){ done, arg });
}

int
link_dialler_heard(const struct service *s, enum resolver_role role,
    struct chan_msg *msg)
{
	struct message_dialler_status m;
	const int rc = message_dialler_status_decode(&msg->body, &m);

	if (rc == 0)
		resolver_watch_heard(s->sv->resolvers, role, &m);
	return rc;
}

static int
on_resolvers(struct chan *c, struct chan_msg *msg, void *arg)
{
	(void)c;
	return link_dialler_heard(proc_arg(arg), RESOLVER_OF_DIALLER, msg);
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct answer a = { .text = "", .digest = "" };
	struct service *s = proc_arg(arg);
	const int rc = link_dialler_heard(s, RESOLVER_OF_DIALLER, msg);

	(void)c;
	if (rc != 0)
		return rc;
	return asks_answer(&s->asks, msg->id, 0, &a) ? 0 : -EPROTO;
}

void
link_dialler_addresses(struct supervisor *sv)
{
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	AUTO_FREE struct message_dialler_addresses *m = calloc(1, sizeof(*m));
	struct wr w = wr_init(buf, buf == NULL ? 0 : MESSAGE_LARGE_BYTES);
	int rc = -ENOMEM;

	if (m != NULL && buf != NULL)
		rc = host_watch_addresses(m);
	if (rc == 0) {
		message_dialler_addresses_encode(&w, m);
		rc = service_ask(dialler_of(sv), MSG_DIALLER_ADDRESSES, &w,
		    NULL, 0, (struct asker){ on_configured, sv });
	}
	/* Without them a guest could reach the host: nothing is dialled. */
	if (rc != 0 && rc != -EAGAIN)
		log_err("dialler", "the host's addresses: %s", strerror(-rc));
}

static const struct chan_rule rules[] = {
	PROC_HELLO_RULE,
	{ MSG_DIALLER_DONE, MESSAGE_SMALL_BYTES, 0, 0, service_on_done },
	{ MSG_DIALLER_STATUS_ANSWER, MESSAGE_SMALL_BYTES, 0, 0, on_status },
	{ MSG_RESOLVERS, MESSAGE_SMALL_BYTES, 0, 0, on_resolvers },
};

static void
on_up(struct service *s)
{
	link_dialler_addresses(s->sv);
	link_dialler_configure(s->sv);
	jobs_on_service_up(s, WIRES_DIALLER);
}

static void
on_down(struct service *s)
{
	resolver_watch_forget(s->sv->resolvers, RESOLVER_OF_DIALLER);
	jobs_on_service_down(s);
}

const struct service_spec link_dialler_spec = {
	.role = "dialler",
	.program = "tapward-dialler",
	.uid = UID_DIALLER,
	.outlives_us = true,
	.keeps_secrets = true,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.on_up = on_up,
	.on_down = on_down,
};
