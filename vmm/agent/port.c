/*
 * See port.h.
 */
#include "vmm/agent/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/agent/wait.h"

#define PORTS "/sys/class/virtio-ports"

int
port_init(struct port *p, const struct agent_config *config, struct err *err)
{
	const struct sockaddr_vm any = { .svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = config->vsock_port };
	AUTO_CLOSE int fd = -1;

	*p = (struct port){ .config = config, .listen_fd = -1 };
	if (config->port[0] != '\0')
		return 0;
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)) == -1 ||
	    listen(fd, 1) == -1)
		return err_os(err, -errno, "vsock port %u", config->vsock_port);
	p->listen_fd = steal_fd(&fd);
	return 0;
}

/*
 * The host only: a process of the guest can reach the port through the
 * loopback of vsock, and would be root.
 */
static int
accept_host(const struct port *p, int *ret_fd, struct err *err)
{
	for (;;) {
		struct sockaddr_vm peer = { .svm_cid = 0 };
		socklen_t len = sizeof(peer);
		AUTO_CLOSE int fd = accept4(p->listen_fd,
		    (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);

		if (fd == -1 && errno != EINTR && errno != ECONNABORTED)
			return err_os(err, -errno, "vsock");
		if (fd == -1 || peer.svm_cid != VMADDR_CID_HOST)
			continue;
		*ret_fd = steal_fd(&fd);
		return 0;
	}
}

/* Whether the port that sysfs calls `entry` has the name that is wanted. */
static bool
has_name(const char *entry, const char *want)
{
	char path[512];

	(void)snprintf(path, sizeof(path), PORTS "/%s/name", entry);
	return wait_file_is(path, want);
}

struct search {
	const char *name;
	int fd;
};

/* The numbers of ports follow from those of devices: the name does not. */
static bool
find_device(void *arg)
{
	struct search *s = arg;
	DIR *dir = opendir(PORTS);
	const struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char path[512];

		if (d->d_name[0] == '.' || !has_name(d->d_name, s->name))
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", d->d_name);
		s->fd = open(path, O_RDWR | O_CLOEXEC);
		break;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return s->fd != -1;
}

int
port_open(const struct port *p, int *ret_fd, struct err *err)
{
	struct search s = { .name = p->config->port, .fd = -1 };

	if (p->listen_fd != -1)
		return accept_host(p, ret_fd, err);
	if (!wait_for(find_device, &s)) {
		(void)err_at(err, NULL, 0, "no virtio-serial port \"%s\"",
		    s.name);
		return -ENODEV;
	}
	*ret_fd = s.fd;
	return 0;
}
