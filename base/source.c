/*
 * Sources of secrets, see source.h.
 */
#include "base/source.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* A file, with a line end or two after the longest value. */
#define FILE_MAX_BYTES (SOURCE_MAX_BYTES + 16)

/* A pipe or a device could hold the broker up, and with it everybody. */
static int
check_file(const char *text, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_os(err, -errno, "%s", text);
	if (!S_ISREG(st.st_mode))
		return err_at(err, NULL, 0, "%s is not a file", text);
	/* As ssh does with keys. A sealed memfd has no owner to speak of. */
	if (!fd_is_sealed(fd) && (st.st_mode & 077) != 0)
		return err_at(err, NULL, 0,
		    "%s can be read by others than its owner: chmod 600 it",
		    text);
	if (st.st_size > FILE_MAX_BYTES)
		return err_at(err, NULL, 0, "%s holds more than 16 KiB", text);
	return 0;
}

int
source_load(int fd, const char *text, struct secret *ret, struct err *err)
{
	AUTO_SECRET struct secret whole = SECRET_NONE;
	struct span value;
	int rc = check_file(text, fd, err);

	if (rc != 0)
		return rc;
	/* It may have been read, or written, up to its end before. */
	if (lseek(fd, 0, SEEK_SET) == -1)
		return err_os(err, -errno, "%s", text);
	rc = secret_read(&whole, fd);
	if (rc != 0)
		return err_os(err, rc, "%s", text);
	/* Editors and echo end a file with one, which no header can hold. */
	value = span_without_line_ends(secret_span(&whole));
	if (value.len == 0)
		return err_at(err, NULL, 0, "%s holds nothing", text);
	rc = secret_set(ret, value.ptr, value.len);
	if (rc != 0)
		return err_os(err, rc, "%s", text);
	return 0;
}
