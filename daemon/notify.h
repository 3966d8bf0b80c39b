/*
 * What a service manager is told (sd_notify(3)) and gives us
 * (sd_listen_fds(3), sd_watchdog_enabled(3)), without its library.
 */
#ifndef TAPWARD_DAEMON_NOTIFY_H
#define TAPWARD_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * READY=1 to $NOTIFY_SOCKET, and to the process that waits since
 * notify_detach(). Does nothing where there is neither.
 */
void notify_ready(void);
/* STOPPING=1: what follows may take a while. */
void notify_stopping(void);
/* WATCHDOG=1: we are as we should be. */
void notify_watchdog(void);
/* How often that is wanted, in microseconds; 0: it is not. */
uint64_t notify_watchdog_us(void);
/*
 * A listening socket of that name (FileDescriptorName=) which the manager
 * opened, ours from now on. False if it gave none.
 */
bool notify_take_socket(const char *name, int *ret_fd);
/*
 * Goes into the background: the caller's process waits and ends with 0 when
 * notify_ready() is called, with 1 when we end before. 0 or -errno, in the
 * process that goes on.
 */
int notify_detach(void);

#endif
