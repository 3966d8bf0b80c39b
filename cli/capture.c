/* See capture.h. */
#include "cli/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/guest.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the character at the start of s, 0 if there is none: RFC 3629. */
static size_t
utf8_length(struct span s)
{
	const uint8_t *p = s.ptr;
	uint8_t least = 0x80, most = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		least = 0xa0; /* shorter forms */
	else if (p[0] == 0xed)
		most = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		least = 0x90;
	else if (p[0] == 0xf4)
		most = 0x8f; /* above U+10FFFF */
	if (s.len < len || p[1] < least || p[1] > most)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

json_t *
capture_text(struct span bytes)
{
	const size_t most = 3 * bytes.len + 1;
	AUTO_FREE uint8_t *buf = malloc(most);
	struct wr w = wr_init(buf, buf == NULL ? 0 : most);

	if (buf == NULL)
		return NULL;
	while (bytes.len > 0) {
		size_t len = utf8_length(bytes);

		if (len == 0)
			wr_text(&w, replacement);
		else
			wr_bytes(&w, bytes.ptr, len);
		if (len == 0)
			len = 1;
		bytes.ptr += len;
		bytes.len -= len;
	}
	return json_stringn((const char *)buf, w.len);
}

static json_t *
text_of(int fd)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (lseek(fd, 0, SEEK_SET) == -1 ||
	    fd_read_all(fd, CAPTURE_OUTPUT_MAX + (1 << 20), &text, &len) != 0)
		return json_string("");
	return capture_text((struct span){ (const uint8_t *)text, len });
}

static int
make_files(struct span input, int fds[3])
{
	int rc;

	for (int i = 0; i < 3; i++) {
		fds[i] = memfd_create("tapward-capture", MFD_CLOEXEC);
		if (fds[i] == -1)
			return -errno;
	}
	rc = fd_write_all(fds[0], input.ptr, input.len);
	if (rc == 0 && lseek(fds[0], 0, SEEK_SET) == -1)
		rc = -errno;
	return rc;
}

int
capture_run(struct session *s, const struct session_command *c,
    struct span input, struct session_end *ret_end, json_t **ret,
    struct err *err)
{
	struct session_command own = *c;
	const uint64_t began_ms = clock_mono_ms();
	struct session_end end = { .end = FRAME_END_FAILED };
	int fds[3] = { -1, -1, -1 };
	int rc = make_files(input, fds);

	if (rc != 0)
		(void)err_os(err, rc, "output");
	if (own.output_max == 0 || own.output_max > CAPTURE_OUTPUT_MAX)
		own.output_max = CAPTURE_OUTPUT_MAX;
	own.in_fd = fds[0];
	own.out_fd = fds[1];
	own.err_fd = fds[2];
	if (rc == 0)
		rc = session_run(s, &own, &end, err);
	if (rc == 0) {
		const char *why = command_reason(&end);

		*ret = json_pack("{s:i, s:o, s:I, s:o, s:o}", "exit_code",
		    session_status(&end), "reason",
		    why == NULL ? json_null() : json_string(why), "duration_ms",
		    (json_int_t)(clock_mono_ms() - began_ms), "stdout",
		    text_of(fds[1]), "stderr", text_of(fds[2]));
		*ret_end = end;
	}
	for (int i = 0; i < 3; i++)
		fd_close(&fds[i]);
	return rc;
}
