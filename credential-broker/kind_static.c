/*
 * `kind = static`: the value is what a file holds, read once when the
 * configuration is taken over. file:, credential: (systemd) and env: all come
 * as a descriptor that the supervisor opened.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/secret.h"
#include "credential-broker/credential.h"
#include "credential-broker/kind.h"

/* A file, with a line end or two after the longest value. */
#define FILE_MAX_BYTES (KIND_VALUE_MAX_BYTES + 16)

/* A pipe or a device could hold the broker up, and with it everybody. */
static int
check_file(const struct credential *c, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_os(err, -errno, "%s", c->definition.source);
	if (!S_ISREG(st.st_mode))
		return err_at(err, NULL, 0, "%s is not a file",
		    c->definition.source);
	/* As ssh does with keys. A sealed memfd has no owner to speak of. */
	if (!fd_is_sealed(fd) && (st.st_mode & 077) != 0)
		return err_at(err, NULL, 0,
		    "%s can be read by others than its owner: chmod 600 it",
		    c->definition.source);
	if (st.st_size > FILE_MAX_BYTES)
		return err_at(err, NULL, 0, "%s holds more than 16 KiB",
		    c->definition.source);
	return 0;
}

/* Editors and echo end a file with a line end, which no header can hold. */
static struct span
without_line_ends(struct span s)
{
	while (
	    s.len > 0 && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static int
static_load(struct credential *c, int source_fd, struct err *err)
{
	AUTO_SECRET struct secret whole = SECRET_NONE;
	struct span value;
	const char *fault;
	int rc = check_file(c, source_fd, err);

	if (rc != 0)
		return rc;
	/* It may have been read, or written, up to its end before. */
	if (lseek(source_fd, 0, SEEK_SET) == -1)
		return err_os(err, -errno, "%s", c->definition.source);
	rc = secret_read(&whole, source_fd);
	if (rc != 0)
		return err_os(err, rc, "%s", c->definition.source);
	value = without_line_ends(secret_span(&whole));
	fault = kind_value_fault(value);
	if (fault != NULL)
		return err_at(err, NULL, 0, "%s %s", c->definition.source,
		    fault);
	rc = secret_set(&c->value, value.ptr, value.len);
	if (rc != 0)
		return err_os(err, rc, "%s", c->definition.source);
	return 0;
}

static int
static_mint(struct credential *c, struct minted *ret)
{
	if (c->value.len == 0)
		return -ENODATA;
	*ret = (struct minted){ .value = &c->value,
		.not_after_boot_ms = UINT64_MAX };
	return 0;
}

static void
static_done(struct credential *c)
{
	secret_done(&c->value);
}

const struct kind kind_static = {
	.name = "static",
	.needs_source = true,
	.load = static_load,
	.mint = static_mint,
	.done = static_done,
};
