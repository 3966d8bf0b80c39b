/*
 * What is kept of a complete sandbox, so that a later supervisor takes it up:
 * run-dir/sandboxes/NAME/state. A text of "key value" lines, closed by "end":
 * a file without it was not finished and does not count. Pure.
 */
#ifndef TAPWARD_DAEMON_STATE_H
#define TAPWARD_DAEMON_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_api.h"

#define STATE_TEXT_MAX 4096
#define BOOT_ID_SIZE 37

struct state {
	char name[SANDBOX_NAME_SIZE];
	uint64_t generation;
	char boot_id[BOOT_ID_SIZE];
	uint64_t netns_inode;
	uint32_t gate_pid; /* 0: it had none at that time */
	uint64_t gate_start_ticks;
	uint32_t gate_uid;
	uint8_t device; /* enum api_device */
	uint32_t owner_uid;
	uint32_t owner_gid;
	uint32_t tap_owner_uid;
	char ca_id[SANDBOX_NAME_SIZE];
	char policy_digest[DIGEST_TEXT_SIZE];
	char display_name[API_DISPLAY_NAME_SIZE];
	uint64_t created_wall_ms;
	uint64_t ttl_end_wall_ms; /* 0: none; is only shown */
	uint64_t ttl_end_boot_ms; /* what counts, of the same boot */
	uint8_t is_tied;          /* 1: it goes with its virtual machine */
};

void state_write(struct wr *w, const struct state *s);
/* 0, or -EBADMSG: not whole, or not what state_write() writes. */
int state_parse(struct span text, struct state *ret);

#endif
