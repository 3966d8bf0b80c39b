/*
 * A virtual machine as the supervisor sees it: tapward-vm, which runs the
 * monitor, its uid, its control group. One sandbox has at most one.
 *
 * Nothing starts before the sandbox's gate serves its policy. A machine goes on
 * without a supervisor, as gates do, and the next one takes it up.
 */
#ifndef TAPWARD_DAEMON_VM_H
#define TAPWARD_DAEMON_VM_H

#include "base/message_api.h"
#include "base/message_vm.h"

struct sandbox;
struct sandbox_request;
struct vm;

/* Files that the caller opened; taken. */
struct vm_files {
	int kernel, modules, root;
};

/*
 * Starts it; the request is answered when its monitor runs, or when it could
 * not be started. What is asked for was checked against the limits.
 */
void vm_start(struct sandbox *s, const struct message_vm_spec *spec,
    const struct sandbox_request *to, struct vm_files *files);
/*
 * Takes up the one that an earlier supervisor left. 0, -ENOENT or
 * -ECONNREFUSED when there is none, or -errno.
 */
int vm_adopt(struct sandbox *s);
/* Asks the guest to power off; it is ended if it has not after a while. */
int vm_stop(struct vm *vm);
/* Ends it at once and frees it: nothing of it is left. NULL is fine. */
void vm_free(struct vm *vm);
/* Frees it and lets it run. NULL is fine. */
void vm_leave(struct vm *vm);

/* A stream to its agent (vmm/frame.h); ours to close. 0 or -errno. */
int vm_open_session(struct vm *vm, int *ret_fd);
/* It runs, and can be talked to. */
bool vm_is_up(const struct vm *vm);
void vm_describe(const struct vm *vm, struct message_api_vm *ret);

#endif
