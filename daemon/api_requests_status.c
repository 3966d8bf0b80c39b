/*
 * How the daemon is. The recorder is asked for its own numbers, the dialler how
 * its resolvers are, for half a second at most: whoever asks how we are wants
 * to know when one of them is stuck.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "conf/resolver_text.h"
#include "daemon/api_requests_private.h"
#include "daemon/last_errors.h"
#include "daemon/link_api.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

#define PATIENCE_US 500000

struct status_job {
	struct supervisor *sv;
	struct sandbox_request to;
	uint32_t peer_uid;
	struct event *timeout;
	unsigned int open; /* that have not answered yet */
	bool has_recorder;
	bool has_dialler;
};

static void
fill_children(const struct supervisor *sv, struct message_api_status *ret)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		const struct service *s = &sv->services[i];
		struct message_api_child *c = &ret->children[i];
		size_t len = strnlen(s->spec->role, sizeof(c->role) - 1);

		memcpy(c->role, s->spec->role, len);
		c->pid = service_is_up(s) ? (int32_t)proc_pid(s->proc) : 0;
		c->restarts = s->restarts;
	}
	ret->child_count = SERVICE_COUNT;
}

/* Which file of the host can be read by anybody is not for anybody. */
static void
fill_fault(const struct supervisor *sv, uint32_t peer_uid,
    struct message_api_status *ret)
{
	static const char hidden[] =
	    "a credential of this host is of no use; root is told which";
	const char *fault = sv->credential_fault;

	if (*fault != '\0' && peer_uid != 0)
		fault = hidden;
	(void)snprintf(ret->credential_fault, sizeof(ret->credential_fault),
	    "%s", fault);
}

static void
fill_ceiling(const struct supervisor *sv, struct message_api_status *ret)
{
	ret->has_ceiling = sv->ceiling.image_fd != -1;
	if (!ret->has_ceiling)
		return;
	memcpy(ret->ceiling_file, sv->config->host->ceiling_file,
	    strlen(sv->config->host->ceiling_file));
	memcpy(ret->ceiling_digest, sv->ceiling.digest,
	    sizeof(ret->ceiling_digest));
}

/* One more under this policy. */
static void
count_policy(const char *digest, struct message_api_status *ret)
{
	for (uint32_t i = 0; i < ret->policy_count; i++)
		if (strcmp(ret->policies[i].digest, digest) == 0) {
			ret->policies[i].sandboxes++;
			return;
		}
	if (ret->policy_count == API_POLICIES_MAX) {
		ret->other_policies++;
		return;
	}
	memcpy(ret->policies[ret->policy_count].digest, digest,
	    DIGEST_TEXT_SIZE);
	ret->policies[ret->policy_count++].sandboxes = 1;
}

static void
fill_sandboxes(const struct supervisor *sv, struct message_api_status *ret)
{
	const struct sandbox *s;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		ret->states[sandbox_state(s)]++;
		if (s->vm != NULL)
			ret->machines++;
		if (s->learns)
			ret->learning++;
		count_policy(s->state.policy_digest, ret);
	}
}

/* By their names: what was said may be of those that were before. */
static void
fill_resolvers(const struct supervisor *sv, struct message_api_status *ret)
{
	AUTO_FREE struct message_dialler_config *m = malloc(sizeof(*m));

	static_assert(API_RESOLVERS_MAX == DIALLER_RESOLVERS_MAX &&
		sizeof(ret->resolvers[0]) == RESOLVER_NAME_SIZE,
	    "a row for each");
	if (m == NULL)
		return;
	link_dialler_resolvers(sv, m);
	ret->resolver_count = m->resolver_count;
	for (unsigned int i = 0; i < m->resolver_count; i++) {
		const char *name =
		    resolver_text(&m->resolvers[i], ret->resolvers[i]);

		ret->resolver_states[i] = *resolver_watch_find(sv->resolvers,
		    RESOLVER_OF_DIALLER, name);
		ret->broker_states[i] = *resolver_watch_find(sv->resolvers,
		    RESOLVER_OF_BROKER, name);
	}
}

static void
fill_recorder(const struct supervisor *sv, struct message_api_status *ret)
{
	const struct message_recorder_status *said = &sv->recorder_status;

	ret->has_recorder = true;
	ret->audit_seq = said->seq;
	ret->audit_lost = said->lost;
	memcpy(ret->audit_head, said->head, sizeof(ret->audit_head));
}

void
request_status_fill(const struct supervisor *sv, uint32_t peer_uid,
    bool has_recorder, struct message_api_status *ret)
{
	*ret = (struct message_api_status){
		.version = TAPWARD_VERSION,
		.pid = (int32_t)getpid(),
		.started_wall_ms = sv->started_wall_ms,
		.sandboxes = sv->sandbox_count,
		.pool_ready = pool_ready_count(&sv->pool),
		.pool_size = sv->config->host->pool,
		.audit_can_write = sv->audit_can_write,
		.roots = sv->roots_count,
		.credentials = (uint32_t)sv->config->host->credential_count,
	};

	fill_ceiling(sv, ret);
	fill_fault(sv, peer_uid, ret);
	fill_children(sv, ret);
	fill_sandboxes(sv, ret);
	fill_resolvers(sv, ret);
	if (has_recorder)
		fill_recorder(sv, ret);
	/* They name sandboxes, files and credentials of others. */
	if (peer_uid == 0)
		ret->error_count = last_errors_copy(ret->errors);
}

static void
answer(const struct status_job *j)
{
	struct message_api_status status;
	const struct message_api_answer a = {
		.result = API_OK,
		.payload = API_PAYLOAD_STATUS,
		.text = "",
		.status = &status,
	};

	request_status_fill(j->sv, j->peer_uid, j->has_recorder, &status);
	link_api_answer(j->sv, &j->to, &a, -1);
}

static void
job_free(struct status_job *j)
{
	if (j->timeout != NULL)
		event_free(j->timeout);
	free(j);
}

/* Takes j when both have said something, or never will. */
static void
part_done(struct status_job *j)
{
	if (--j->open > 0)
		return;
	if (!j->has_dialler)
		resolver_watch_forget(j->sv->resolvers, RESOLVER_OF_DIALLER);
	answer(j);
	job_free(j);
}

static void
on_recorder(void *arg, int rc, const struct answer *a)
{
	struct status_job *j = arg;

	(void)a;
	j->has_recorder = rc == 0;
	part_done(j);
}

static void
on_dialler(void *arg, int rc, const struct answer *a)
{
	struct status_job *j = arg;

	(void)a;
	j->has_dialler = rc == 0;
	part_done(j);
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct status_job *j = arg;

	(void)fd;
	(void)what;
	asks_cancel(&j->sv->services[SERVICE_RECORDER].asks, j);
	asks_cancel(&j->sv->services[SERVICE_DIALLER].asks, j);
	j->open = 1;
	part_done(j);
}

void
request_status(struct request *r)
{
	const struct timeval patience = { .tv_usec = PATIENCE_US };
	struct status_job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		request_refuse(r, API_FAILED, "out of memory");
		return;
	}
	*j = (struct status_job){ .sv = r->sv,
		.to = r->to,
		.peer_uid = r->m->peer_uid,
		.open = 1 };
	j->timeout = evtimer_new(r->sv->base, on_timeout, j);
	if (j->timeout != NULL && event_add(j->timeout, &patience) == 0) {
		if (link_recorder_status(r->sv, on_recorder, j) == 0)
			j->open++;
		if (link_dialler_status(r->sv, on_dialler, j) == 0)
			j->open++;
	}
	part_done(j);
}
