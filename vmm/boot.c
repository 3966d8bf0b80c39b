/* See boot.h. */
#include "vmm/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "vmm/cpio.h"

#define FOLDER_MODE (S_IFDIR | 0755)
#define TEXT_MAX 1024

/* A file of the host that goes into the guest's boot. */
struct source {
	int fd;
	const char *what;
	uint64_t max;
};

static const struct source kernel = { VM_FD_KERNEL, "the kernel",
	BOOT_KERNEL_MAX_BYTES };
static const struct source modules = { VM_FD_MODULES, "the kernel's modules",
	BOOT_MODULES_MAX_BYTES };
static const struct source agent = { VM_FD_AGENT, "tapward-agent",
	BOOT_AGENT_MAX_BYTES };
static const struct source ca = { VM_FD_CA, "the CA", BOOT_CA_MAX_BYTES };

static int
size_of(const struct source *s, uint32_t *ret, struct err *err)
{
	struct stat st;

	if (fstat(s->fd, &st) == -1)
		return err_os(err, -errno, "%s", s->what);
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > s->max) {
		(void)err_at(err, NULL, 0,
		    "%s: not a file of 1 to %" PRIu64 " bytes", s->what,
		    s->max);
		return -EINVAL;
	}
	*ret = (uint32_t)st.st_size;
	return 0;
}

/* All of it, from its start wherever the caller's offset is. */
static int
copy(const struct source *s, uint32_t size, int to, struct err *err)
{
	off_t at = 0;

	while (at < (off_t)size) {
		ssize_t n = sendfile(to, s->fd, &at, size - (size_t)at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return err_os(err, -errno, "%s", s->what);
		if (n == 0) {
			(void)err_at(err, NULL, 0, "%s was cut short", s->what);
			return -EINVAL;
		}
	}
	return 0;
}

static int
put(int to, const struct wr *w, struct err *err)
{
	int rc = wr_ok(w) ? fd_write_all(to, w->buf, w->len) : -EMSGSIZE;

	return rc == 0 ? 0 : err_os(err, rc, BOOT_INITRD);
}

static int
put_file(int to, const char *path, uint32_t mode, const struct source *s,
    struct err *err)
{
	uint8_t buf[CPIO_HEAD_BYTES(64)];
	struct wr w = wr_init(buf, sizeof(buf));
	uint32_t size = 0;
	int rc = size_of(s, &size, err);

	if (rc != 0)
		return rc;
	cpio_head(&w, path, S_IFREG | mode, size);
	rc = put(to, &w, err);
	if (rc == 0)
		rc = copy(s, size, to, err);
	if (rc != 0)
		return rc;
	w = wr_init(buf, sizeof(buf));
	cpio_pad(&w, size);
	return put(to, &w, err);
}

static void
write_address(struct wr *w, const char *key, uint32_t ip)
{
	wr_fmt(w, "%s=%u.%u.%u.%u", key, ip >> 24, ip >> 16 & 255,
	    ip >> 8 & 255, ip & 255);
}

/* What the agent reads: vmm/agent/config.h has the keys. */
static void
write_config(struct wr *w, const struct message_vm_spec *spec,
    const struct boot_guest *guest)
{
	const uint8_t *mac = spec->guest_mac;

	write_address(w, "address", spec->guest_ip);
	wr_fmt(w, "/%u\n", spec->prefix_len);
	write_address(w, "gateway", spec->gateway_ip);
	wr_text(w, "\n");
	write_address(w, "dns", spec->gateway_ip);
	wr_fmt(w, "\nmac=%02x:%02x:%02x:%02x:%02x:%02x\n", mac[0], mac[1],
	    mac[2], mac[3], mac[4], mac[5]);
	wr_fmt(w, "hostname=%s\nroot=%s\n", spec->name, guest->root);
	if (spec->disk_mib > 0)
		wr_fmt(w, "disk=%s\n", guest->disk);
	if (guest->port == BOOT_PORT_SERIAL)
		wr_text(w, "port=" BOOT_PORT_NAME "\n");
	else
		wr_fmt(w, "vsock=%d\n", BOOT_VSOCK_PORT);
	if (guest->reboots)
		wr_text(w, "off=reboot\n");
	wr_fmt(w, "time=%" PRIu64 "\n", clock_wall_ms() / 1000);
}

static int
put_config(int to, const struct message_vm_spec *spec,
    const struct boot_guest *guest, struct err *err)
{
	uint8_t text[TEXT_MAX], buf[TEXT_MAX + 2 * CPIO_HEAD_BYTES(64)];
	struct wr t = wr_init(text, sizeof(text));
	struct wr w = wr_init(buf, sizeof(buf));

	write_config(&t, spec, guest);
	cpio_head(&w, "tapward", FOLDER_MODE, 0);
	cpio_head(&w, "tapward/config", S_IFREG | 0444, (uint32_t)t.len);
	wr_bytes(&w, t.buf, t.len);
	cpio_pad(&w, (uint32_t)t.len);
	return wr_ok(&t) ? put(to, &w, err) : -EMSGSIZE;
}

/* The image's archive, up to where ours may begin: a multiple of four. */
static int
put_modules(int to, struct err *err)
{
	uint8_t buf[CPIO_PAD_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	uint32_t size = 0;
	int rc = size_of(&modules, &size, err);

	if (rc == 0)
		rc = copy(&modules, size, to, err);
	if (rc != 0)
		return rc;
	cpio_pad(&w, size);
	return put(to, &w, err);
}

static int
put_end(int to, struct err *err)
{
	uint8_t buf[CPIO_HEAD_BYTES(16)];
	struct wr w = wr_init(buf, sizeof(buf));

	cpio_end(&w);
	return put(to, &w, err);
}

static int
create(const char *path, int *ret, struct err *err)
{
	*ret = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	return *ret == -1 ? err_os(err, -errno, "%s", path) : 0;
}

static int
make_kernel(struct err *err)
{
	AUTO_CLOSE int fd = -1;
	uint32_t size = 0;
	int rc = size_of(&kernel, &size, err);

	if (rc == 0)
		rc = create(BOOT_KERNEL, &fd, err);
	return rc == 0 ? copy(&kernel, size, fd, err) : rc;
}

int
boot_make(const struct message_vm_spec *spec, const struct boot_guest *guest,
    struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int rc = make_kernel(err);

	if (rc == 0)
		rc = create(BOOT_INITRD, &fd, err);
	if (rc == 0)
		rc = put_modules(fd, err);
	if (rc == 0)
		rc = put_file(fd, "init", 0755, &agent, err);
	if (rc == 0)
		rc = put_config(fd, spec, guest, err);
	if (rc == 0)
		rc = put_file(fd, "tapward/ca.pem", 0444, &ca, err);
	return rc == 0 ? put_end(fd, err) : rc;
}

void
boot_remove(void)
{
	(void)unlink(BOOT_KERNEL);
	(void)unlink(BOOT_INITRD);
}
