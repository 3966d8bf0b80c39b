/*
 * Files by which programs of the guest find the resolver, their own name and
 * the sandbox's CA. They are written above the image, never into it.
 */
#include "vmm/agent/boot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Where a distribution's own tool takes added CAs from, and the agent's is. */
#define CA_ADDED "/usr/local/share/ca-certificates/tapward.crt"

/* Bundles that programs read, by distribution; some are links to others. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
	"/etc/ssl/cert.pem",                  /* Alpine, OpenBSD's libressl */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", /* SUSE */
	"/var/lib/ca-certificates/ca-bundle.pem",
};

#define BUNDLES (sizeof(bundles) / sizeof(bundles[0]))

/* Each directory above path that is not there. */
static void
make_above(const char *path)
{
	char dir[256];
	char *p = dir;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while ((p = strchr(p + 1, '/')) != NULL) {
		*p = '\0';
		(void)mkdir(dir, 0755);
		*p = '/';
	}
}

/* A new file, also where a link or a read-only one was. */
static int
write_new(const char *path, const void *text, size_t len, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	int rc;

	make_above(path);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	rc = fd == -1 ? -errno : fd_write_all(fd, text, len);
	if (rc == 0 && fchmod(fd, 0644) == -1)
		rc = -errno;
	return rc == 0 ? 0 : err_os(err, rc, "%s", path);
}

static int
write_resolver(const struct agent_config *c, struct err *err)
{
	const struct in_addr in = { htonl(c->dns) };
	char ip[INET_ADDRSTRLEN], text[64];
	int n;

	if (c->dns == 0 || inet_ntop(AF_INET, &in, ip, sizeof(ip)) == NULL)
		return 0;
	n = snprintf(text, sizeof(text), "nameserver %s\n", ip);
	return write_new("/etc/resolv.conf", text, (size_t)n, err);
}

static int
write_name(const struct agent_config *c, struct err *err)
{
	const char *name = c->hostname[0] == '\0' ? "localhost" : c->hostname;
	char text[64 + 2 * AGENT_NAME_SIZE];
	int n, rc;

	if (sethostname(name, strlen(name)) == -1)
		return err_os(err, -errno, "host name");
	n = snprintf(text, sizeof(text), "%s\n", name);
	rc = write_new("/etc/hostname", text, (size_t)n, err);
	if (rc != 0)
		return rc;
	n = snprintf(text, sizeof(text), "127.0.0.1 localhost%s%s\n",
	    c->hostname[0] == '\0' ? "" : " ", c->hostname);
	return write_new("/etc/hosts", text, (size_t)n, err);
}

/* A line end first: a bundle need not have one. */
static int
append_ca(int fd, const struct boot *b)
{
	int rc = fd_write_all(fd, "\n", 1);

	return rc == 0 ? fd_write_all(fd, b->ca, b->ca_len) : rc;
}

/* Every bundle that is there, each once; the first if there is none. */
static int
extend_bundles(const struct boot *b, struct err *err)
{
	ino_t seen[BUNDLES] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < BUNDLES; i++) {
		AUTO_CLOSE int fd =
		    open(bundles[i], O_WRONLY | O_APPEND | O_CLOEXEC);
		bool again = false;
		struct stat st;
		int rc;

		if (fd == -1 || fstat(fd, &st) == -1)
			continue;
		for (size_t k = 0; k < count; k++)
			again = again || seen[k] == st.st_ino;
		rc = again ? 0 : append_ca(fd, b);
		if (rc != 0)
			return err_os(err, rc, "%s", bundles[i]);
		seen[count++] = st.st_ino;
	}
	return count > 0 ? 0 : write_new(bundles[0], b->ca, b->ca_len, err);
}

int
boot_files(struct boot *b, struct err *err)
{
	int rc = write_resolver(&b->config, err);

	if (rc == 0)
		rc = write_name(&b->config, err);
	if (rc == 0 && b->ca != NULL)
		rc = write_new(CA_ADDED, b->ca, b->ca_len, err);
	if (rc == 0 && b->ca != NULL)
		rc = extend_bundles(b, err);
	return rc;
}
