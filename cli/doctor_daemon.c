/*
 * doctor: the daemon that runs, by what it says of itself.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/call.h"
#include "cli/doctor.h"
#include "cli/output.h"

/* More starts than this of one of its processes are no accident. */
#define RESTARTS_MAX 3

static const char journal[] = "journalctl -u tapward -p warning -n 20";

/* Another user than the socket's group lets in. */
static void
cannot_use(struct doctor *d)
{
	const struct group *gr =
	    d->host == NULL ? NULL : getgrnam(d->host->group);
	char mend[DOCTOR_TEXT_SIZE];

	(void)snprintf(mend, sizeof(mend),
	    "usermod -aG %s USER, and log in again",
	    gr == NULL ? "tapward" : gr->gr_name);
	doctor_say(d, DOCTOR_FAIL, mend, "%s: you may not use it",
	    d->cli->socket);
}

void
doctor_socket(struct doctor *d)
{
	const struct group *gr;
	struct stat st;

	if (lstat(d->cli->socket, &st) == -1)
		return; /* row service says so */
	if (access(d->cli->socket, R_OK | W_OK) != 0) {
		cannot_use(d);
		return;
	}
	if (!doctor_is_safe(d, "socket", d->cli->socket, 0007))
		return;
	gr = d->host == NULL ? NULL : getgrnam(d->host->group);
	if (gr != NULL && gr->gr_gid != st.st_gid) {
		char mend[DOCTOR_TEXT_SIZE];

		(void)snprintf(mend, sizeof(mend), "chgrp %s %s", gr->gr_name,
		    d->cli->socket);
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s is of gid %u, not of group %s", d->cli->socket,
		    (unsigned int)st.st_gid, gr->gr_name);
		return;
	}
	doctor_say(d, DOCTOR_OK, "", "%s", d->cli->socket);
}

void
doctor_service(struct doctor *d)
{
	struct reply reply;

	if (call_quietly(d->cli, "GET", "/v1/status", &reply) != 0 ||
	    !json_is_object(reply.json)) {
		doctor_say(d, DOCTOR_FAIL,
		    "systemctl start tapward; journalctl -u tapward -n 20",
		    "tapwardd does not answer at %s", d->cli->socket);
		return;
	}
	d->status = json_incref(reply.json);
	reply_done(&reply);
	doctor_say(d, DOCTOR_OK, "", "answers, since %s",
	    output_member(d->status, "started"));
}

void
doctor_version(struct doctor *d)
{
	const char *runs = output_member(d->status, "version");

	if (d->status == NULL)
		return;
	if (strcmp(runs, TAPWARD_VERSION) == 0)
		doctor_say(d, DOCTOR_OK, "", "%s, that of tapward", runs);
	else
		doctor_say(d, DOCTOR_FAIL,
		    "systemctl restart tapward (sandboxes go on)",
		    "tapwardd %.40s runs, this is tapward %s", runs,
		    TAPWARD_VERSION);
}

static long long
number(const json_t *json, const char *key)
{
	return (long long)json_integer_value(json_object_get(json, key));
}

void
doctor_processes(struct doctor *d)
{
	const json_t *all = json_object_get(d->status, "processes");
	bool is_well = true;
	const json_t *p;
	size_t i;

	if (d->status == NULL)
		return;
	json_array_foreach(all, i, p)
	{
		if (number(p, "pid") != 0 &&
		    number(p, "restarts") <= RESTARTS_MAX)
			continue;
		is_well = false;
		doctor_say(d, number(p, "pid") == 0 ? DOCTOR_FAIL : DOCTOR_WARN,
		    journal, "tapward-%.16s %s, started anew %lld times",
		    output_member(p, "role"),
		    number(p, "pid") == 0 ? "is down" : "runs",
		    number(p, "restarts"));
	}
	if (is_well)
		doctor_say(d, DOCTOR_OK, "", "%zu run", json_array_size(all));
}

/* What it says is wrong. */
void
doctor_health(struct doctor *d)
{
	bool is_well = true;

	if (d->status == NULL)
		return;
	if (!json_is_true(json_object_get(d->status, "audit_can_write"))) {
		doctor_say(d, DOCTOR_FAIL,
		    "make room for the audit log (see row disk space); it "
		    "goes on by itself",
		    "the audit log cannot be written: new requests are "
		    "refused");
		is_well = false;
	}
	if (json_is_string(json_object_get(d->status, "credential_fault"))) {
		doctor_say(d, DOCTOR_FAIL,
		    "mend what it names, then tapward reload --host",
		    "credential: %.500s",
		    output_member(d->status, "credential_fault"));
		is_well = false;
	}
	if (number(d->status, "pool_size") > 0 &&
	    number(d->status, "pool_ready") == 0) {
		doctor_say(d, DOCTOR_WARN, journal,
		    "no sandbox is prepared: create is slow, or they cannot "
		    "be made");
		is_well = false;
	}
	if (is_well)
		doctor_say(d, DOCTOR_OK, "", "nothing is amiss");
}
