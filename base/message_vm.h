/*
 * Supervisor and tapward-vm. What a virtual machine is made of goes along at
 * its start, as descriptors and one sealed text (struct message_vm_spec); over
 * the channel go sessions, its state, and its end.
 */
#ifndef TAPWARD_BASE_MESSAGE_VM_H
#define TAPWARD_BASE_MESSAGE_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/child.h"
#include "base/names.h"

/* Descriptors of tapward-vm behind those of every child (base/child.h). */
enum vm_fd {
	VM_FD_SPEC = CHILD_FD_SUPERVISOR + CHILD_FD_COUNT, /* sealed */
	VM_FD_TAP,
	VM_FD_KERNEL,  /* an ELF image with a PVH note, or a bzImage */
	VM_FD_MODULES, /* cpio of kernel modules */
	VM_FD_ROOT,    /* squashfs */
	VM_FD_AGENT,   /* tapward-agent, which becomes /init */
	VM_FD_CA,      /* the sandbox's CA, PEM */
	VM_FD_HOLD,    /* its other end is closed: end; or /dev/null */
	VM_FD_END
};
#define VM_FD_COUNT ((unsigned int)(VM_FD_END - VM_FD_SPEC))

enum vm_driver {
	VM_DRIVER_QEMU,
	VM_DRIVER_FIRECRACKER,
	VM_DRIVER_CLOUD_HYPERVISOR,
	VM_DRIVER_COUNT
};
/* "qemu", ...; NULL for a number that is none. */
const char *vm_driver_name(uint8_t driver);
/* False: there is none of this name. */
bool vm_driver_find(const char *name, uint8_t *ret);

/* Bounds of what may be asked for; [limits] of the host are within. */
#define VM_CPUS_MAX 64
#define VM_MEMORY_MIN_MIB 128
#define VM_MEMORY_MAX_MIB (1u << 20)
#define VM_DISK_MAX_MIB (16u << 20)

/* A commit of git, in SHA-256 as well. */
#define VM_COMMIT_SIZE 65

struct message_vm_spec {
	uint8_t driver;
	bool needs_kvm;  /* no KVM: an error instead of emulation */
	bool avoids_kvm; /* this host's does not work */
	bool has_hold;   /* its sandbox ends with it */
	uint32_t cpus;
	uint32_t memory_mib;
	uint32_t max_duration_s; /* 0: none */
	uint32_t console_bytes;  /* of the console, kept for `show` */
	uint32_t disk_mib;       /* 0: what is written is in memory */
	uint64_t io_bytes;       /* a second, read and written */
	uint32_t io_operations;  /* likewise */
	uint32_t processes;      /* of the monitor, threads counted */
	char name[SANDBOX_NAME_SIZE];
	/* What its owner says it is made of; for records. Either may be "". */
	char image[DIGEST_TEXT_SIZE];
	char commit[VM_COMMIT_SIZE];
	char tap[16]; /* its name in the sandbox, for who opens it by that */
	/* as the guest sets them; host byte order */
	uint32_t guest_ip, gateway_ip;
	uint8_t prefix_len;
	uint8_t guest_mac[6];
};

void message_vm_spec_encode(struct wr *w, const struct message_vm_spec *m);
/* 0 or -EBADMSG. */
int message_vm_spec_decode(struct rd *r, struct message_vm_spec *ret);

enum vm_state {
	VM_STATE_STARTING, /* its monitor is being started */
	VM_STATE_BOOTING,  /* the monitor runs, the agent is silent */
	VM_STATE_READY,    /* commands can be run */
	VM_STATE_ENDED,    /* text says why */
	VM_STATE_COUNT
};
/* "starting", ... */
const char *vm_state_name(uint8_t state);

#define VM_TEXT_SIZE 512
/* What of the console travels: its last bytes, made printable. */
#define VM_CONSOLE_SIZE 2048

/*
 * MSG_VM_STATE: it is in another state, or another supervisor is there, which
 * is told what it was made of.
 */
struct message_vm_state {
	struct message_vm_spec spec;
	uint8_t state;
	bool has_kvm; /* else it is emulated */
	char text[VM_TEXT_SIZE];
	char console[VM_CONSOLE_SIZE]; /* with VM_STATE_ENDED; lines by '\n' */
};

void message_vm_state_encode(struct wr *w, const struct message_vm_state *m);
int message_vm_state_decode(struct rd *r, struct message_vm_state *ret);

enum vm_record_kind {
	VM_RECORD_EXEC,
	VM_RECORD_PUT,
	VM_RECORD_GET,
	VM_RECORD_KINDS
};
/* Bytes of a command that are kept. */
#define VM_RECORD_COMMAND_MAX 512

/* MSG_VM_RECORD: a command or a copy is over. */
struct message_vm_record {
	uint8_t kind; /* enum vm_record_kind */
	char how[64]; /* "exit code 7", "signal 9", "timeout" */
	uint32_t ms;
	uint64_t up, down;   /* bytes to the guest and from it */
	struct span command; /* argv, a NUL after each; or the path */
};

void message_vm_record_encode(struct wr *w, const struct message_vm_record *m);
/* command borrows from the message. */
int message_vm_record_decode(struct rd *r, struct message_vm_record *ret);

/* MSG_VM_SESSION has no body: a stream socket that speaks vmm/frame.h. */
/* MSG_VM_STOP has none either: ends the guest in order, then for good. */

#endif
