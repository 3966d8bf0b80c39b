/* Ending a sandbox. */
#include <errno.h>

#include "base/log.h"
#include "daemon/jobs.h"
#include "daemon/supervisor.h"

void
remove_sandbox(struct sandbox *s, const char *why)
{
	/* A job holds what a removal would free under it: it goes first. */
	if (s->job.is_running) {
		s->is_remove_wanted = true;
		steps_resume(&s->job, -ECANCELED, "the sandbox is removed");
		return;
	}
	reload_waiting_refuse(s, "the sandbox is removed");
	sandbox_say(s, why);
	sandbox_free(s);
}
