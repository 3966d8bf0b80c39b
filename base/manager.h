/*
 * Telling a service manager (sd_notify(3)), without its library.
 */
#ifndef TAPWARD_BASE_MANAGER_H
#define TAPWARD_BASE_MANAGER_H

/*
 * Sends it to $NOTIFY_SOCKET; does nothing where there is none. What cannot be
 * said is logged.
 */
void manager_tell(const char *message);

#endif
