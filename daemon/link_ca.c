/* CAs and roots, see link_ca.h. */
#include "daemon/link_ca.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_ca.h"
#include "daemon/files.h"
#include "daemon/jobs.h"
#include "daemon/link_broker.h"
#include "daemon/link_dialler.h"
#include "daemon/supervisor.h"

/* Longer than any sandbox: a CA that ends under a guest breaks it. */
#define CA_LIFETIME_S (3650u * 24 * 3600)

static struct service *
ca_of(struct supervisor *sv)
{
	return &sv->services[SERVICE_CA];
}

static void
key_path(const struct supervisor *sv, const char *id,
    char buf[SUPERVISOR_PATH_SIZE])
{
	supervisor_state_path(sv, buf, "ca/%s", id);
}

static void
cert_path(const struct supervisor *sv, const char *id,
    char buf[SUPERVISOR_PATH_SIZE])
{
	supervisor_state_path(sv, buf, "ca/%s.pem", id);
}

int
link_ca_make(struct sandbox *s, ask_done *done, void *arg)
{
	struct message_ca_make m = { .lifetime_s = CA_LIFETIME_S };
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)snprintf(m.common_name, sizeof(m.common_name),
	    "tapward sandbox CA %s", s->state.ca_id);
	message_ca_make_encode(&w, &m);
	return service_ask(ca_of(s->sv), MSG_CA_MAKE, &w, NULL, 0,
	    (struct asker){ done, arg });
}

/* The two descriptors of MSG_CA_MADE into the files of id. */
int
link_ca_keep(struct sandbox *s, const struct answer *a)
{
	const struct files_owner secret = { 0, 0, 0600 };
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	if (a->fd_count != 2 || !fd_is_sealed(a->fds[0]) ||
	    !fd_is_sealed(a->fds[1]))
		return -EBADMSG;
	key_path(s->sv, s->state.ca_id, path);
	rc = files_copy_atomic(path, a->fds[0], &secret);
	if (rc != 0)
		return rc;
	cert_path(s->sv, s->state.ca_id, path);
	return files_copy_atomic(path, a->fds[1], &secret);
}

int
link_ca_open_key(const struct sandbox *s, int *ret_fd)
{
	char path[SUPERVISOR_PATH_SIZE];
	int fd;

	key_path(s->sv, s->state.ca_id, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int
link_ca_give_certificate(const struct sandbox *s)
{
	const struct files_owner owner = { s->state.owner_uid,
		s->state.owner_gid, 0400 };
	AUTO_CLOSE int fd = -1;
	char path[SUPERVISOR_PATH_SIZE];

	cert_path(s->sv, s->state.ca_id, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	sandbox_path(s, "ca.pem", path, sizeof(path));
	return files_copy_atomic(path, fd, &owner);
}

void
link_ca_remove(struct supervisor *sv, const char *id)
{
	char path[SUPERVISOR_PATH_SIZE];

	key_path(sv, id, path);
	if (unlink(path) == -1 && errno != ENOENT)
		log_err("ca", "%s: %s", path, strerror(errno));
	cert_path(sv, id, path);
	(void)unlink(path);
}

static bool
is_in_use(const struct supervisor *sv, const char *file)
{
	const struct sandbox *s;
	char cert[SANDBOX_NAME_SIZE + 8];

	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		(void)snprintf(cert, sizeof(cert), "%s.pem", s->state.ca_id);
		if (strcmp(file, s->state.ca_id) == 0 ||
		    strcmp(file, cert) == 0)
			return true;
	}
	return false;
}

static void
sweep_one(const char *name, void *arg)
{
	struct supervisor *sv = arg;
	char path[SUPERVISOR_PATH_SIZE];

	if (is_in_use(sv, name))
		return;
	supervisor_state_path(sv, path, "ca/%s", name);
	log_info("ca", "removed=%s", name);
	(void)unlink(path);
}

void
link_ca_sweep(struct supervisor *sv)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_state_path(sv, path, "ca");
	(void)files_each(path, sweep_one, sv);
}

struct roots_ask {
	struct supervisor *sv;
	ask_done *done;
	void *arg;
};

static void
tell_all(struct supervisor *sv)
{
	struct sandbox *s;

	link_broker_roots(sv);
	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (sandbox_has_gate(s))
		(void)gate_send(s->gate, MSG_GATE_ROOTS, NULL, &sv->roots_fd,
		    1);
}

static void
on_roots(void *arg, int rc, const struct answer *a)
{
	struct roots_ask *ask = arg;
	struct supervisor *sv = ask->sv;

	if (rc == 0 && (a->fd_count != 1 || !fd_is_sealed(a->fds[0])))
		rc = -EBADMSG;
	if (rc == 0) {
		fd_close(&sv->roots_fd);
		sv->roots_fd = steal_fd(&a->fds[0]);
		sv->roots_count = a->count;
		log_info("roots", "file=%s count=%u private=%zu",
		    sv->config->host->ca_file, a->count,
		    sv->config->host->ca_count);
		tell_all(sv);
		link_dialler_roots(sv);
	}
	ask->done(ask->arg, rc, a);
	free(ask);
}

/* 0 or -errno. */
static int
send_set(struct supervisor *sv, const struct message_ca_set *set, uint8_t *buf)
{
	AUTO_CLOSE int fd =
	    open(set->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct wr w = wr_init(buf, MESSAGE_LARGE_BYTES);

	message_ca_set_encode(&w, set);
	/* Without a descriptor, too: the answer then says which is missing. */
	return service_tell(ca_of(sv), MSG_ROOTS_SET, &w, &fd,
	    fd == -1 ? 0 : 1);
}

/* All that goes before the question. 0 or -errno. */
static int
send_sets(struct supervisor *sv)
{
	const struct hostconf *h = sv->config->host;
	AUTO_FREE uint8_t *buf = malloc(MESSAGE_LARGE_BYTES);
	int rc = buf == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < h->ca_count; i++)
		rc = send_set(sv, &h->cas[i].set, buf);
	return rc;
}

int
link_ca_roots(struct supervisor *sv, ask_done *done, void *arg)
{
	const struct message_ca_roots m = {
		.set_count = (uint32_t)sv->config->host->ca_count,
	};
	uint8_t body[16];
	struct wr w = wr_init(body, sizeof(body));
	AUTO_CLOSE int fd =
	    open(sv->config->host->ca_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct roots_ask *ask;
	int rc;

	if (fd == -1)
		return -errno;
	ask = malloc(sizeof(*ask));
	if (ask == NULL)
		return -ENOMEM;
	*ask = (struct roots_ask){ sv, done, arg };
	message_ca_roots_encode(&w, &m);
	rc = send_sets(sv);
	if (rc == 0)
		rc = service_ask(ca_of(sv), MSG_ROOTS_MAKE, &w, &fd, 1,
		    (struct asker){ on_roots, ask });
	if (rc != 0)
		free(ask);
	return rc;
}

static int
on_result(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	struct message_ca_result m;
	struct answer a = { .digest = "" };
	int rc = message_ca_result_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	a.text = m.text;
	a.count = m.count;
	a.fds = msg->fds;
	a.fd_count = msg->fd_count;
	return asks_answer(&s->asks, msg->id, m.ok ? 0 : -EINVAL, &a) ? 0
								      : -EPROTO;
}

static const struct chan_rule rules[] = {
	PROC_HELLO_RULE,
	{ MSG_CA_MADE, MESSAGE_SMALL_BYTES, 0, 2, on_result },
	{ MSG_ROOTS_MADE, MESSAGE_SMALL_BYTES, 0, 1, on_result },
};

static void
on_up(struct service *s)
{
	startup_progress(s->sv);
}

static void
on_down(struct service *s)
{
	(void)s;
}

const struct service_spec link_ca_spec = {
	.role = "ca",
	.program = "tapward-ca",
	.uid = UID_CA,
	.keeps_secrets = true,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.on_up = on_up,
	.on_down = on_down,
};
