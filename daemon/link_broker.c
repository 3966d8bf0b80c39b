/* What the broker is told. No byte of a secret is read here. */
#include "daemon/link_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message.h"
#include "base/message_broker.h"
#include "conf/grant.h"
#include "daemon/helper.h"
#include "daemon/jobs.h"
#include "daemon/link_dialler.h"
#include "daemon/supervisor.h"

static struct service *
broker_of(struct supervisor *sv)
{
	return &sv->services[SERVICE_BROKER];
}

static void
add_group(struct message_broker_attach *m, gid_t gid)
{
	const struct group *gr = getgrgid(gid);
	size_t len = gr == NULL ? 0 : strlen(gr->gr_name);

	if (len == 0 || len >= BROKER_PRINCIPAL_SIZE ||
	    m->group_count >= BROKER_GROUPS_MAX)
		return;
	memcpy(m->groups[m->group_count++], gr->gr_name, len + 1);
}

void
link_broker_fill_owner(struct message_broker_attach *m, uid_t uid)
{
	gid_t gids[BROKER_GROUPS_MAX];
	int count = BROKER_GROUPS_MAX;
	const struct passwd *pw = getpwuid(uid);

	m->owner_uid = uid;
	if (pw == NULL || strlen(pw->pw_name) >= BROKER_PRINCIPAL_SIZE)
		return;
	memcpy(m->owner_user, pw->pw_name, strlen(pw->pw_name) + 1);
	if (getgrouplist(m->owner_user, pw->pw_gid, gids, &count) == -1)
		count = BROKER_GROUPS_MAX;
	for (int i = 0; i < count; i++)
		add_group(m, gids[i]);
}

bool
link_broker_grants_metadata(const struct sandbox *s)
{
	const struct hostconf *h = s->sv->config->host;
	struct message_broker_attach m = { .generation = 0 };

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	link_broker_fill_owner(&m, s->state.owner_uid);
	for (size_t i = 0; i < h->credential_count; i++)
		if (grant_opens_metadata(h->credentials[i].def) &&
		    grant_covers(h->credentials[i].def, &m))
			return true;
	return false;
}

int
link_broker_attach(const struct sandbox *s, int gate_fd, int recorder_fd,
    ask_done *done, void *arg)
{
	const int fds[] = {
		[BROKER_ATTACH_GATE] = gate_fd,
		[BROKER_ATTACH_RECORDER] = recorder_fd,
		[BROKER_ATTACH_POLICY] = s->policy.image_fd,
		[BROKER_ATTACH_CEILING] = s->sv->ceiling.image_fd,
	};
	struct message_broker_attach m = {
		.generation = s->state.generation,
		.has_ceiling = s->sv->ceiling.image_fd != -1,
	};
	uint8_t buf[2 * MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	link_broker_fill_owner(&m, s->state.owner_uid);
	message_broker_attach_encode(&w, &m);
	return service_ask(broker_of(s->sv), MSG_BROKER_ATTACH, &w, fds,
	    m.has_ceiling ? 4 : 3, (struct asker){ done, arg });
}

int
link_broker_policy(const struct sandbox *s, const struct policy_set *policy,
    ask_done *done, void *arg)
{
	const int fds[] = { policy->image_fd, s->sv->ceiling.image_fd };
	struct message_broker_policy m = {
		.generation = s->state.generation,
		.has_ceiling = s->sv->ceiling.image_fd != -1,
	};
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	message_broker_policy_encode(&w, &m);
	return service_ask(broker_of(s->sv), MSG_BROKER_POLICY, &w, fds,
	    m.has_ceiling ? 2 : 1, (struct asker){ done, arg });
}

void
link_broker_detach(const struct sandbox *s)
{
	struct message_broker_detach m = { .generation = s->state.generation };
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	message_broker_detach_encode(&w, &m);
	(void)service_tell(broker_of(s->sv), MSG_BROKER_DETACH, &w, NULL, 0);
}

/* All are in the log; the first is what status shows. */
__attribute__((format(printf, 2, 3))) static void
note_fault(struct supervisor *sv, const char *fmt, ...)
{
	char text[API_FAULT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_event(LOG_EVENT_CREDENTIAL_FAULT,
	    &(const struct log_about){ .reason = "credential-unavailable" },
	    "broker", "%s", text);
	if (sv->credential_fault[0] == '\0')
		memcpy(sv->credential_fault, text, sizeof(text));
}

static void
on_configured(void *arg, int rc, const struct answer *a)
{
	struct supervisor *sv = arg;

	if (rc != 0)
		note_fault(sv, "credentials refused, the ones before stay: %s",
		    a->text);
	else if (a->text[0] != '\0')
		note_fault(sv,
		    "%s; requests that need it are refused until then and a "
		    "reload of tapwardd",
		    a->text);
	reloading_part_done(sv, RELOADING_CREDENTIALS, sv->credential_fault);
	startup_progress(sv);
}

static void
note_closed(struct supervisor *sv, const char *name, const char *source, int rc)
{
	note_fault(sv,
	    "credential %s: %s: %s; it must be a file, or be set; requests "
	    "that need it are refused",
	    name, source, strerror(-rc));
}

/*
 * What systemd gave the broker's own unit is the broker's to open, and to miss;
 * what it gave ours is handed on, as everything else.
 */
static bool
is_broker_s(struct supervisor *sv, const char *source)
{
	return broker_of(sv)->unit != NULL &&
	    strncmp(source, "credential:", strlen("credential:")) == 0;
}

static int
open_source(struct supervisor *sv, const char *name, const char *source,
    int *ret_fd)
{
	int rc = config_open_source(source, ret_fd);

	if (rc != 0 && !(rc == -ENOENT && is_broker_s(sv, source)))
		note_closed(sv, name, source, rc);
	return rc;
}

/* Opens what def names; which of its settings are open is noted in it. */
static unsigned int
open_sources(struct supervisor *sv, struct message_broker_credential *def,
    int fds[BROKER_CREDENTIAL_FDS_MAX])
{
	unsigned int count = 0;
	int rc;

	if (def->source[0] != '\0') {
		rc = open_source(sv, def->name, def->source, &fds[0]);
		count += rc == 0 ? 1 : 0;
	}
	for (unsigned int i = 0; i < def->setting_count; i++) {
		struct message_broker_setting *s = &def->settings[i];

		if (!s->is_source)
			continue;
		rc = open_source(sv, def->name, s->text, &fds[count]);
		s->is_open = rc == 0;
		count += rc == 0 ? 1 : 0;
	}
	return count;
}

/* 0, or -errno if it did not reach the broker. */
static int
send_credential(struct supervisor *sv, struct message_broker_credential *def,
    uint8_t *buf)
{
	struct wr w = wr_init(buf, MESSAGE_LARGE_BYTES);
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	const unsigned int count = open_sources(sv, def, fds);
	int rc;

	message_broker_credential_encode(&w, def);
	/* Without a source, too: what guests may not bring stays known. */
	rc = service_tell(broker_of(sv), MSG_BROKER_CREDENTIAL, &w, fds, count);
	for (unsigned int i = 0; i < count; i++)
		fd_close(&fds[i]);
	return rc;
}

void
link_broker_upstream(struct supervisor *sv)
{
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	AUTO_FREE struct message_dialler_config *m = malloc(sizeof(*m));
	struct wr w = wr_init(buf, buf == NULL ? 0 : MESSAGE_LARGE_BYTES);
	int rc = -ENOMEM;

	if (m != NULL && buf != NULL) {
		int fds[DIALLER_CONFIG_FDS_MAX];
		const unsigned int count = link_dialler_message(sv, m, fds);

		message_dialler_config_encode(&w, m);
		rc = service_tell(broker_of(sv), MSG_BROKER_UPSTREAM, &w, fds,
		    count);
		for (unsigned int i = 0; i < count; i++)
			fd_close(&fds[i]);
	}
	if (rc != 0 && rc != -EAGAIN)
		log_err("broker", "upstream: %s", strerror(-rc));
}

void
link_broker_roots(struct supervisor *sv)
{
	int rc;

	if (sv->roots_fd == -1)
		return;
	rc = service_tell(broker_of(sv), MSG_BROKER_ROOTS, NULL, &sv->roots_fd,
	    1);
	if (rc != 0 && rc != -EAGAIN)
		log_err("broker", "roots: %s", strerror(-rc));
}

void
link_broker_configure(struct supervisor *sv)
{
	const struct hostconf *h = sv->config->host;
	struct message_broker_configured m = {
		.lease_max_s = hostconf_lease_max_s(h),
	};
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	struct wr w = wr_init(buf, buf == NULL ? 0 : MESSAGE_LARGE_BYTES);
	int rc = buf == NULL ? -ENOMEM : 0;

	sv->credential_fault[0] = '\0';
	for (size_t i = 0; rc == 0 && i < h->credential_count; i++) {
		rc = send_credential(sv, h->credentials[i].def, buf);
		if (rc == 0)
			m.credential_count++;
	}
	if (rc == 0) {
		message_broker_configured_encode(&w, &m);
		rc = service_ask(broker_of(sv), MSG_BROKER_CONFIGURED, &w, NULL,
		    0, (struct asker){ on_configured, sv });
	}
	if (rc == 0)
		return;
	log_err("broker", "credentials: %s", strerror(-rc));
	reloading_part_done(sv, RELOADING_CREDENTIALS,
	    "the broker is being restarted, and gets its credentials then");
}

/*
 * Where it writes down what it must not forget: 0600 and root's, so that it is
 * reached by these descriptors only.
 */
static void
send_journal(struct supervisor *sv)
{
	int fds[2] = { -1, -1 };
	struct wr w = wr_init(NULL, 0);
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		char path[SUPERVISOR_PATH_SIZE];

		(void)snprintf(path, sizeof(path), "%s/broker-journal-%d",
		    sv->config->host->state_dir, i);
		fds[i] =
		    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		rc = fds[i] == -1 ? -errno : 0;
	}
	if (rc == 0)
		rc =
		    service_tell(broker_of(sv), MSG_BROKER_JOURNAL, &w, fds, 2);
	if (rc != 0)
		log_err("broker", "journal: %s", strerror(-rc));
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static int
on_resolvers(struct chan *c, struct chan_msg *msg, void *arg)
{
	(void)c;
	return link_dialler_heard(proc_arg(arg), RESOLVER_OF_BROKER, msg);
}

static const struct chan_rule rules[] = {
	PROC_HELLO_RULE,
	{ MSG_BROKER_DONE, MESSAGE_SMALL_BYTES, 0, 0, service_on_done },
	{ MSG_BROKER_RUN, MESSAGE_SMALL_BYTES, HELPER_FDS, HELPER_FDS,
	    helper_on_run },
	{ MSG_RESOLVERS, MESSAGE_SMALL_BYTES, 0, 0, on_resolvers },
};

static void
on_up(struct service *s)
{
	send_journal(s->sv);
	link_broker_upstream(s->sv);
	link_broker_roots(s->sv);
	link_broker_configure(s->sv);
	jobs_on_service_up(s, WIRES_BROKER);
}

static void
on_down(struct service *s)
{
	helper_end_all();
	resolver_watch_forget(s->sv->resolvers, RESOLVER_OF_BROKER);
	jobs_on_service_down(s);
}

const struct service_spec link_broker_spec = {
	.role = "broker",
	.program = "tapward-broker",
	.uid = UID_BROKER,
	.outlives_us = true,
	.keeps_secrets = true,
	.unit_variable = "TAPWARD_BROKER",
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.on_up = on_up,
	.on_down = on_down,
};
