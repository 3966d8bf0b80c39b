/* Numbers of the supervisor, see metrics.h. */
#include "daemon/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/fd.h"
#include "conf/resolver_text.h"
#include "daemon/link_dialler.h"
#include "daemon/supervisor.h"

static void
write_head(struct wr *w, const char *name, const char *type, const char *help)
{
	wr_fmt(w, "# HELP tapward_%s %s\n# TYPE tapward_%s %s\n", name, help,
	    name, type);
}

static void
write_one(struct wr *w, const char *name, const char *help, uint64_t value)
{
	write_head(w, name, "gauge", help);
	wr_fmt(w, "tapward_%s %" PRIu64 "\n", name, value);
}

static void
write_sandboxes(struct wr *w, const struct supervisor *sv)
{
	unsigned int states[API_STATE_COUNT] = { 0 };
	unsigned int machines = 0, learning = 0;
	const struct sandbox *s;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		states[sandbox_state(s)]++;
		if (s->vm != NULL)
			machines++;
		if (s->learns)
			learning++;
	}
	write_head(w, "sandboxes", "gauge", "Sandboxes by state.");
	for (unsigned int i = 0; i < API_STATE_COUNT; i++)
		wr_fmt(w, "tapward_sandboxes{state=\"%s\"} %u\n",
		    api_state_name((uint8_t)i), states[i]);
	write_one(w, "machines", "Virtual machines that run.", machines);
	write_one(w, "learning", "Sandboxes that learn.", learning);
}

static void
write_processes(struct wr *w, const struct supervisor *sv)
{
	write_head(w, "process_up", "gauge",
	    "1 while this one of our processes runs.");
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		wr_fmt(w, "tapward_process_up{role=\"%s\"} %d\n",
		    sv->services[i].spec->role,
		    service_is_up(&sv->services[i]) ? 1 : 0);
	write_head(w, "process_restarts_total", "counter",
	    "Times that it was started anew.");
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		wr_fmt(w,
		    "tapward_process_restarts_total{role=\"%s\"} %" PRIu32 "\n",
		    sv->services[i].spec->role, sv->services[i].restarts);
}

static void
count_resolvers(const struct supervisor *sv,
    unsigned int ret[RESOLVER_ROLES][RESOLVER_STATE_COUNT])
{
	AUTO_FREE struct message_dialler_config *m = malloc(sizeof(*m));

	if (m == NULL)
		return;
	link_dialler_resolvers(sv, m);
	for (unsigned int i = 0; i < m->resolver_count; i++) {
		char name[RESOLVER_NAME_SIZE];

		(void)resolver_text(&m->resolvers[i], name);
		for (int role = 0; role < RESOLVER_ROLES; role++)
			ret[role][resolver_watch_find(sv->resolvers,
			    (enum resolver_role)role, name)
				      ->state]++;
	}
}

static void
write_resolvers(struct wr *w, const struct supervisor *sv)
{
	unsigned int counts[RESOLVER_ROLES][RESOLVER_STATE_COUNT] = { 0 };

	count_resolvers(sv, counts);
	write_head(w, "resolvers", "gauge",
	    "Resolvers by state, as each role has found them.");
	for (int role = 0; role < RESOLVER_ROLES; role++)
		for (int i = 0; i < RESOLVER_STATE_COUNT; i++)
			wr_fmt(w,
			    "tapward_resolvers{role=\"%s\",state=\"%s\"} %u\n",
			    resolver_role_name((enum resolver_role)role),
			    resolver_state_name((uint8_t)i), counts[role][i]);
}

void
metrics_write(struct wr *w, const struct supervisor *sv)
{
	write_head(w, "build_info", "gauge", "1, with the version.");
	wr_fmt(w, "tapward_build_info{version=\"%s\"} 1\n", TAPWARD_VERSION);
	write_one(w, "start_time_seconds",
	    "When the supervisor started, since 1970.",
	    sv->started_wall_ms / 1000);
	write_sandboxes(w, sv);
	write_one(w, "pool_ready", "Sandboxes that are prepared.",
	    pool_ready_count(&sv->pool));
	write_one(w, "pool_size", "Sandboxes that are to be prepared.",
	    sv->config->host->pool);
	write_processes(w, sv);
	write_resolvers(w, sv);
	write_one(w, "credential_fault", "1 while a credential is of no use.",
	    sv->credential_fault[0] != '\0' ? 1 : 0);
	write_one(w, "ceiling", "1 with a ceiling, 0 with `policy = none`.",
	    sv->ceiling.image_fd != -1 ? 1 : 0);
}
