/*
 * The way to tapward-recorder.
 */
#ifndef TAPWARD_DAEMON_LINK_RECORDER_H
#define TAPWARD_DAEMON_LINK_RECORDER_H

#include "base/message_recent.h"
#include "base/message_recorder.h"
#include "base/message_vm.h"
#include "daemon/service.h"

struct sandbox;

extern const struct service_spec link_recorder_spec;

/* Opens the audit log (again, after a rotation) and hands it over. */
int link_recorder_open_log(struct supervisor *sv);
/*
 * Opens `[audit] anchor` and hands it over, or tells that there is none. What
 * is wrong with it is logged.
 */
void link_recorder_anchor(struct supervisor *sv);
/* A sender's channel of the sandbox; borrowed. 0, -EAGAIN or -errno. */
int link_recorder_attach(const struct sandbox *s, int fd);
/* Its packet log. */
int link_recorder_nflog(const struct sandbox *s);
/* Asks for the packet log that an earlier supervisor handed over. */
int link_recorder_nflog_back(const struct sandbox *s, ask_done *done,
    void *arg);
/* The digest of its policy changed. */
void link_recorder_policy(const struct sandbox *s, const char *digest);
void link_recorder_detach(const struct sandbox *s);
/* What its ruleset has counted. As link_recorder_attach(). */
int link_recorder_counters(const struct sandbox *s, enum recorder_counters kind,
    const uint64_t packets[REASON_PACKET_COUNT]);
/* A life-cycle record; s NULL: about the daemon. */
void link_recorder_event(struct supervisor *sv, const struct sandbox *s,
    const char *what, enum reason reason);
/* sink is borrowed. */
/* A command or a copy in its virtual machine. */
void link_recorder_run(const struct sandbox *s,
    const struct message_vm_spec *spec, const struct message_vm_record *r);
/* A record of ours about it, as it is. */
void link_recorder_record(const struct sandbox *s,
    const struct audit_record *r);
int link_recorder_read(struct supervisor *sv,
    const struct message_recorder_read *wanted, int sink);
int link_recorder_metrics(struct supervisor *sv, int sink);
/*
 * Asks how the log is; when done hears 0, sv->recorder_status says it. 0,
 * -EAGAIN while it is down, or -errno.
 */
int link_recorder_status(struct supervisor *sv, ask_done *done, void *arg);
/* The same for what it remembers; then it is in sv->recent. */
int link_recorder_recent(struct supervisor *sv,
    const struct message_recent_wanted *wanted, ask_done *done, void *arg);

#endif
