/* Starting, see startup.h. */
#include "daemon/startup.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/log.h"
#include "base/log_event.h"
#include "daemon/ceiling.h"
#include "daemon/host_watch.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/notify.h"
#include "daemon/rotate.h"
#include "daemon/supervisor.h"
#include "daemon/watchdog.h"

const struct service_spec *const service_specs[SERVICE_COUNT] = {
	[SERVICE_RECORDER] = &link_recorder_spec,
	[SERVICE_BROKER] = &link_broker_spec,
	[SERVICE_DIALLER] = &link_dialler_spec,
	[SERVICE_CA] = &link_ca_spec,
	[SERVICE_API] = &link_api_spec,
};

#define STEP_SERVICES "services"
#define STEP_SANDBOXES "sandboxes"
#define STEP_API "api"

static int
listeners(void *arg, struct err *err)
{
	return link_api_listen(arg, err);
}

/*
 * All but the api, which is told last, and units that are not there: without
 * the broker requests that need a credential are refused, and others are not.
 */
static bool
are_services_up(const struct supervisor *sv)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		if (i != SERVICE_API && !service_is_up(&sv->services[i]) &&
		    !service_is_away(&sv->services[i]))
			return false;
	return true;
}

static int
services(void *arg, struct err *err)
{
	struct supervisor *sv = arg;

	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		struct service *s = &sv->services[i];
		int rc = i == SERVICE_API ? 0 : service_start(s);

		if (rc != 0)
			return err_os(err, rc,
			    "starting %s; is tapward "
			    "installed as a whole?",
			    s->spec->program);
	}
	return STEP_WAIT;
}

static void
on_roots(void *arg, int rc, const struct answer *a)
{
	struct supervisor *sv = arg;

	steps_resume(&sv->startup, rc, rc == -EINVAL ? a->text : NULL);
}

static int
roots(void *arg, struct err *err)
{
	struct supervisor *sv = arg;
	int rc = link_ca_roots(sv, on_roots, sv);

	return rc == 0 ? STEP_WAIT
		       : err_os(err, rc, "[upstream] ca-file %s",
			     sv->config->host->ca_file);
}

static void
on_ceiling(void *arg, int rc, const char *text)
{
	struct supervisor *sv = arg;

	steps_resume(&sv->startup, rc, text);
}

static int
ceiling(void *arg, struct err *err)
{
	struct supervisor *sv = arg;

	(void)err;
	ceiling_load(sv, on_ceiling, sv);
	return STEP_WAIT;
}

static int
sandboxes(void *arg, struct err *err)
{
	struct supervisor *sv = arg;

	(void)err;
	adopt_all(sv);
	return sv->adopting > 0 ? STEP_WAIT : 0;
}

static int
host(void *arg, struct err *err)
{
	struct supervisor *sv = arg;
	int rc = host_watch_start(sv);

	if (rc != 0)
		return err_os(err, rc, "watching the host's addresses");
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		sv->services[i].is_same = true;
		service_note_same(&sv->services[i]);
	}
	return 0;
}

static int
api(void *arg, struct err *err)
{
	struct supervisor *sv = arg;
	int rc = service_start(&sv->services[SERVICE_API]);

	return rc == 0 ? STEP_WAIT : err_os(err, rc, "starting tapward-api");
}

static const struct step startup_steps[] = {
	{ "listeners", listeners, NULL },
	{ STEP_SERVICES, services, NULL },
	{ "CA certificates for origins", roots, NULL },
	{ "ceiling", ceiling, NULL },
	{ STEP_SANDBOXES, sandboxes, NULL },
	{ "host", host, NULL },
	{ STEP_API, api, NULL },
};

static const struct steps_plan startup_plan = {
	.table = startup_steps,
	.count = sizeof(startup_steps) / sizeof(startup_steps[0]),
	.timeout_ms = STARTUP_MS,
};

void
startup_progress(struct supervisor *sv)
{
	if (steps_waits_at(&sv->startup, STEP_SERVICES) && are_services_up(sv))
		steps_resume(&sv->startup, 0, NULL);
	if (steps_waits_at(&sv->startup, STEP_SANDBOXES) && sv->adopting == 0)
		steps_resume(&sv->startup, 0, NULL);
	if (steps_waits_at(&sv->startup, STEP_API) &&
	    service_is_up(&sv->services[SERVICE_API]))
		steps_resume(&sv->startup, 0, NULL);
}

static void
on_started(void *arg, int rc, const struct err *err)
{
	struct supervisor *sv = arg;

	if (rc != 0) {
		log_event(LOG_EVENT_START_FAILED, NULL, "start", "%s",
		    err->text);
		sv->exit_status = 1;
		/* What an earlier one made is not lost with us. */
		sv->is_leaving = true;
		(void)event_base_loopbreak(sv->base);
		return;
	}
	sv->is_serving = true;
	link_recorder_event(sv, NULL, "started", REASON_NONE);
	log_event(LOG_EVENT_STARTED, NULL, "start",
	    "serving socket=%s/control.sock sandboxes=%u",
	    sv->config->host->run_dir, sv->sandbox_count);
	pool_fill(&sv->pool);
	if (rotate_start(sv) != 0)
		log_err("rotate", "no memory: the log is not moved aside");
	notify_ready();
	watchdog_start(sv);
}

int
startup_begin(struct supervisor *sv)
{
	return steps_start(&sv->startup, &startup_plan, sv->base, on_started,
	    sv);
}
