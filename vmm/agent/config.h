/*
 * What the host tells a guest in its initramfs, and where the agent finds it:
 *
 *   /init                 the agent, PID 1
 *   /modules/order        names of kernel modules, one a line, in the order
 *                         in which they are loaded; /modules/NAME each
 *   /tapward/config       key=value lines, below
 *   /tapward/ca.pem       the sandbox's CA; may be absent
 *   /tapward/env          NAME=VALUE lines, no quotes: the environment of
 *                         every command; may be absent
 *
 * Keys, each at most once; `root`, and one of `port` and `vsock`, are wanted:
 *   address=A.B.C.D/LEN   of the one network device; with gateway=A.B.C.D
 *   mac=XX:XX:...         which device that is; without it the first
 *   dns=A.B.C.D           for /etc/resolv.conf
 *   hostname=NAME
 *   root=SERIAL|/dev/NAME the squashfs disk, by the serial number of its device
 *   disk=SERIAL|/dev/NAME an ext4 disk to write to; without it memory is
 *   port=NAME             the virtio-serial port to serve
 *   vsock=PORT            or the vsock port to listen on
 *   time=SECONDS          since 1970, as the host has it
 *   workdir=PATH          of commands that do not say; without it the home
 *   user=USER             of commands that do not say; without it root
 *   off=poweroff|reboot   how this machine is ended; poweroff without it
 */
#ifndef TAPWARD_VMM_AGENT_CONFIG_H
#define TAPWARD_VMM_AGENT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define AGENT_CONFIG_FILE "/tapward/config"
#define AGENT_CA_FILE "/tapward/ca.pem"
#define AGENT_ENV_FILE "/tapward/env"
#define AGENT_MODULES_DIR "/modules"
#define AGENT_MODULES_FILE "/modules/order"

/* HOST_NAME_MAX of Linux; serial numbers have 20 bytes, device names 31. */
#define AGENT_NAME_SIZE 65
#define AGENT_PATH_SIZE 4096

struct agent_config {
	uint32_t address, gateway, dns; /* host byte order; 0: none */
	uint8_t prefix_len;
	uint8_t mac[6];
	bool has_mac;
	char hostname[AGENT_NAME_SIZE];
	char root[AGENT_NAME_SIZE];
	char disk[AGENT_NAME_SIZE]; /* empty: none */
	char port[AGENT_NAME_SIZE]; /* empty: vsock_port */
	uint32_t vsock_port;        /* 0: port */
	uint64_t time_s;            /* 0: not said */
	char workdir[AGENT_PATH_SIZE];
	char user[AGENT_NAME_SIZE];
	bool reboots; /* off=reboot */
};

/*
 * Parses the text of AGENT_CONFIG_FILE. 0, or -EINVAL with err set to the line
 * and what is wrong; an unknown key is wrong, since both ends are of one
 * release.
 */
int agent_config_parse(struct span text, struct agent_config *ret,
    struct err *err);

#endif
