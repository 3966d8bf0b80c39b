/*
 * Whether sandboxes are served, for a service manager that wants to know
 * (WatchdogSec=). A sandbox whose guest is ours, tapward-watchdog, is kept for
 * it: each round a request goes the way of a guest's, through device, ruleset
 * and gate, and must be refused by the policy with a 403; dialler, broker and
 * recorder must answer.
 * WATCHDOG=1 is sent when all have. What has not answered half-way to the next
 * round is ended, so that another takes its place; if that does not help, the
 * manager ends us, and the next supervisor takes the sandboxes up.
 *
 * The bytes that come back are of a gate that has never had another guest, and
 * only compared.
 */
#ifndef TAPWARD_DAEMON_WATCHDOG_H
#define TAPWARD_DAEMON_WATCHDOG_H

#define WATCHDOG_SANDBOX "tapward-watchdog"

struct supervisor;
struct watchdog;

/* Does nothing where nobody wants to know. */
void watchdog_start(struct supervisor *sv);
/* Its sandbox is left to the others' fate. */
void watchdog_stop(struct supervisor *sv);

#endif
