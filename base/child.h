/*
 * What every long-lived child of the supervisor does before its own work:
 * the descriptors it is started with, confinement, the event loop, and the
 * socket by which a later supervisor finds it again.
 *
 * Started as: PROGRAM UID GID, with descriptor 3 the channel to the
 * supervisor, 4 the empty root directory, 5 the listening socket under
 * run-dir/peer/ (or none).
 *
 * Or by a service manager, as PROGRAM --unit: confined by it, and with nothing
 * but a folder of its own, $RUNTIME_DIRECTORY. There it listens for the
 * supervisor, who comes as a later one comes to a child.
 */
#ifndef TAPWARD_BASE_CHILD_H
#define TAPWARD_BASE_CHILD_H

#include "base/channel.h"
#include "base/confine.h"
#include "base/message_gate.h"

struct event_base;

enum child_fd {
	CHILD_FD_SUPERVISOR = 3,
	CHILD_FD_ROOT = 4,
	CHILD_FD_PEER = 5,
	CHILD_FD_COUNT = 3
};

struct child {
	struct event_base *base;
	struct chan *supervisor; /* NULL while there is none */
	/* private */
	bool is_unit;
	int peer_fd;
	const struct child_spec *spec;
	void *arg;
	struct chan_rule *rules; /* of spec, with our handler before theirs */
	struct event *peer_event;
};

struct child_spec {
	const struct confine_profile *profile;
	const struct chan_rule *rules; /* what the supervisor may send */
	size_t rule_count;
	/* Fills in what MSG_HELLO says of this child's state. */
	void (*hello)(struct message_hello *ret, void *arg);
	/*
	 * The supervisor is there (again). After MSG_HELLO was sent; a gate
	 * sends its sockets back here when it was adopted.
	 */
	void (*on_supervisor)(struct child *c, bool adopted, void *arg);
	/* It is gone. NULL: the child ends (compile, api). */
	void (*on_supervisor_gone)(struct child *c, void *arg);
};

/*
 * First thing in main(): reads the arguments, enters confinement, makes the
 * event loop. Dies on any failure. Call child_serve() when libraries are
 * loaded; it seals the process and runs the loop until child_stop(). A child
 * with a peer socket names accept4 in its profile.
 */
void child_init(struct child *c, int argc, char **argv);
/* The same for one that its starter has put into a jail (base/jail.h). */
void child_init_jailed(struct child *c, int argc, char **argv);
/* Started by a service manager? */
bool child_is_unit(int argc, char **argv);
/*
 * The same for such a one. The supervisor reaches it once child_serve() is
 * called, which tells the manager so.
 */
void child_init_unit(struct child *c, char **argv);
/* arg is what handlers and callbacks of spec get. Returns an exit status. */
int child_serve(struct child *c, const struct child_spec *spec, void *arg);
void child_stop(struct child *c);

#endif
