/*
 * Telling a service manager that we are ready (sd_notify(3)), without its
 * library.
 */
#ifndef TAPWARD_DAEMON_NOTIFY_H
#define TAPWARD_DAEMON_NOTIFY_H

/*
 * READY=1 to $NOTIFY_SOCKET, and to the process that waits since
 * notify_detach(). Does nothing where there is neither.
 */
void notify_ready(void);
/*
 * Goes into the background: the caller's process waits and ends with 0 when
 * notify_ready() is called, with 1 when we end before. 0 or -errno, in the
 * process that goes on.
 */
int notify_detach(void);

#endif
