/*
 * A root of its own for a program that needs files of the system: a virtual
 * machine monitor. Programs that need none get an empty one (base/confine.h).
 *
 * What is in it: /usr, read-only, with the links that Debian makes into it;
 * /dev with null, urandom and, where the host has it, kvm; /run, small and in
 * memory; and /disk, if one is wanted. Only the last two can be written.
 */
#ifndef TAPWARD_BASE_JAIL_H
#define TAPWARD_BASE_JAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jail {
	const char *folder; /* empty; where it is put together */
	uid_t uid;          /* whose /run and /dev/kvm are; its gid too */
	uint64_t run_bytes; /* most that /run can hold */
	bool has_proc;      /* /proc, of its own processes alone */
	bool has_tun;       /* /dev/net/tun, to attach to a tap that is its */
	/*
	 * Where a file is made, without a name at once, which is seen as /disk
	 * and gone with the last who sees it; 0 bytes: none is.
	 */
	const char *disk_folder;
	uint64_t disk_bytes;
};

/*
 * Makes the calling process, alone in a mount namespace of its own, see the
 * jail as its root and nothing else. System calls only, so it may be called
 * between fork() and exec. 0, or the -errno of the step that failed: the
 * process must then end.
 */
int jail_enter(const struct jail *j);

#endif
