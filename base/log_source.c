/* See log_source.h. */
#include "base/log_source.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>

#include "base/fd.h"

#define PACKED_BYTES 16384
/* gzip alone, RFC 1952, with any window. */
#define GZIP_WINDOW (16 + MAX_WBITS)

struct log_unpack {
	z_stream z;
	bool is_between; /* members of the file, or at its end */
	uint8_t in[PACKED_BYTES];
};

static bool
is_packed(int fd)
{
	uint8_t magic[2];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    magic[0] == 0x1f && magic[1] == 0x8b;
}

int
log_source_init(struct log_source *s, int fd)
{
	*s = (struct log_source){ .fd = fd };
	s->is_stream = lseek(fd, 0, SEEK_CUR) == -1;
	if (s->is_stream || !is_packed(fd))
		return 0;
	s->unpack = calloc(1, sizeof(*s->unpack));
	if (s->unpack == NULL)
		return -ENOMEM;
	if (inflateInit2(&s->unpack->z, GZIP_WINDOW) == Z_OK)
		return 0;
	free(s->unpack);
	s->unpack = NULL;
	return -ENOMEM;
}

void
log_source_done(struct log_source *s)
{
	if (s->unpack != NULL)
		(void)inflateEnd(&s->unpack->z);
	free(s->unpack);
	s->unpack = NULL;
	fd_close(&s->fd);
}

static ssize_t
read_raw(struct log_source *s, void *buf, size_t size)
{
	ssize_t n;

	do
		n = s->is_stream ? read(s->fd, buf, size)
				 : pread(s->fd, buf, size, s->offset);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return -errno;
	s->offset += n;
	return n;
}

/* More of the file; 0 at its end, where a member must have ended. */
static ssize_t
refill(struct log_source *s)
{
	struct log_unpack *u = s->unpack;
	const ssize_t n = read_raw(s, u->in, sizeof(u->in));

	if (n == 0)
		return u->is_between ? 0 : -EBADMSG;
	if (n > 0) {
		u->z.next_in = u->in;
		u->z.avail_in = (uInt)n;
	}
	return n;
}

/* 0 or -EBADMSG. A file of several members is one text (RFC 1952 2.2). */
static int
unpack_some(struct log_unpack *u)
{
	int rc;

	if (u->is_between && inflateReset(&u->z) != Z_OK)
		return -EBADMSG;
	u->is_between = false;
	rc = inflate(&u->z, Z_NO_FLUSH);
	u->is_between = rc == Z_STREAM_END;
	return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? 0
								     : -EBADMSG;
}

ssize_t
log_source_read(struct log_source *s, void *buf, size_t size)
{
	struct log_unpack *u = s->unpack;

	if (u == NULL)
		return read_raw(s, buf, size);
	u->z.next_out = buf;
	u->z.avail_out = size > UINT32_MAX ? UINT32_MAX : (uInt)size;
	size = u->z.avail_out;
	while (u->z.avail_out == size) {
		ssize_t n = u->z.avail_in > 0 ? 1 : refill(s);

		if (n <= 0)
			return n;
		if (unpack_some(u) != 0)
			return -EBADMSG;
	}
	return (ssize_t)(size - u->z.avail_out);
}
