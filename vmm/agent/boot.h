/*
 * What PID 1 does before it serves: kernel modules, the image as the root, the
 * network, and the files by which programs find resolver, name and CA.
 */
#ifndef TAPWARD_VMM_AGENT_BOOT_H
#define TAPWARD_VMM_AGENT_BOOT_H

#include "base/err.h"
#include "vmm/agent/config.h"
#include "vmm/agent/env.h"

struct boot {
	struct agent_config config;
	struct env env; /* of AGENT_ENV_FILE */
	char *ca;       /* text of AGENT_CA_FILE; NULL: none */
	size_t ca_len;
};

/*
 * All of it, in order. 0, or -errno with err set to what could not be done;
 * the guest is then of no use.
 */
int boot_run(struct boot *b, struct err *err);

/* The steps that have files of their own. Each 0, or -errno with err set. */
int boot_modules(struct boot *b, struct err *err);
/* The image, with something to write above it, on /root. */
int boot_root(struct boot *b, struct err *err);
/* From now on / is what was /root. */
int boot_switch(struct boot *b, struct err *err);
int boot_network(struct boot *b, struct err *err);
int boot_files(struct boot *b, struct err *err);

struct boot_mount {
	const char *source, *target, *type;
	unsigned long flags;
	const char *options;
};

/* Makes the target, and mounts. 0, or -errno with err set. */
int boot_mount(const struct boot_mount *m, struct err *err);

#endif
