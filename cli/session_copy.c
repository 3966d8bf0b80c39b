/* Copies: see session.h. */
#include "cli/session_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct putting {
	struct archive_writer *writer;
	const int *copy_fd;
};

static int
fill(void *arg, uint8_t *buf, size_t size, size_t *ret_len, struct err *err)
{
	const struct putting *p = arg;
	size_t len = 0;
	int rc = archive_writer_fill(p->writer, buf, size, &len, err);

	if (rc == 0 && p->copy_fd != NULL) {
		rc = fd_write_all(*p->copy_fd, buf, len);
		if (rc != 0)
			return err_os(err, rc, "what is copied");
	}
	if (rc == 0)
		*ret_len = len;
	return rc;
}

static int
take_nothing(void *arg, uint8_t channel, struct span data, struct err *err)
{
	(void)arg;
	(void)channel;
	(void)data;
	(void)err;
	return -EBADMSG; /* a guest has nothing to say to a PUT */
}

static int
take(void *arg, uint8_t channel, struct span data, struct err *err)
{
	(void)channel;
	return archive_reader_feed(arg, data, err);
}

static int
ask(struct session *s, uint8_t type, const struct frame_copy *m,
    struct err *err)
{
	struct wr w = session_room(s);

	s->is_over = false;
	s->stream_id++;
	frame_copy_encode(&w, type, s->stream_id, m);
	return session_send(s, &w, err);
}

static struct span
text_or_nothing(const char *text)
{
	return span_of(text == NULL ? "" : text);
}

int
session_put(struct session *s, const struct session_put *p,
    struct session_end *ret, struct archive_totals *ret_totals, struct err *err)
{
	const struct frame_copy m = {
		.flags = p->merge ? FRAME_COPY_MERGE : 0,
		.path = span_of(p->path),
		.user = text_or_nothing(p->user),
	};
	struct putting putting = { .copy_fd = p->copy_fd };
	const struct session_flow flow = { .in_fd = -1,
		.fill = fill,
		.take = take_nothing,
		.arg = &putting };
	struct archive_writer *w;
	int rc = archive_writer_new(p->from_fd, p->filter, p->filter_arg, &w);

	if (rc != 0)
		return err_os(err, rc, "what is to be copied");
	putting.writer = w;
	rc = ask(s, FRAME_PUT, &m, err);
	if (rc == 0)
		rc = session_flow(s, &flow, err);
	if (rc == 0) {
		*ret = s->end;
		if (ret_totals != NULL)
			*ret_totals = *archive_writer_totals(w);
	}
	archive_writer_free(w);
	return rc;
}

int
session_get(struct session *s, const struct session_get *g,
    struct session_end *ret, struct archive_totals *ret_totals, struct err *err)
{
	const struct frame_copy m = {
		.path = span_of(g->path),
		.user = text_or_nothing(g->user),
	};
	struct archive_reader *r;
	struct session_flow flow = { .in_fd = -1, .take = take };
	int rc = archive_reader_new(g->dir_fd, g->name, &g->limits,
	    g->on_skipped, NULL, &r);

	if (rc != 0)
		return err_os(err, rc, "%s", g->name);
	flow.arg = r;
	rc = ask(s, FRAME_GET, &m, err);
	if (rc == 0)
		rc = session_flow(s, &flow, err);
	/* An archive that is cut short matters only if it was to be whole. */
	if (rc == 0 && s->end.end == FRAME_END_CODE)
		rc = archive_reader_end(r, err);
	if (rc == 0) {
		*ret = s->end;
		if (ret_totals != NULL)
			*ret_totals = *archive_reader_totals(r);
	}
	archive_reader_free(r);
	return rc;
}

struct getting {
	int fd;
	uint64_t left;
};

static int
take_archive(void *arg, uint8_t channel, struct span data, struct err *err)
{
	struct getting *g = arg;
	int rc;

	(void)channel;
	if (data.len > g->left)
		return err_os(err, -EFBIG, "what came back");
	g->left -= data.len;
	rc = fd_write_all(g->fd, data.ptr, data.len);
	return rc == 0 ? 0 : err_os(err, rc, "what came back");
}

int
session_get_archive(struct session *s, const char *path, int fd, uint64_t max,
    struct session_end *ret, struct err *err)
{
	const struct frame_copy m = { .path = span_of(path),
		.user = span_of("") };
	struct getting g = { .fd = fd, .left = max };
	const struct session_flow flow = { .in_fd = -1,
		.take = take_archive,
		.arg = &g };
	int rc = ask(s, FRAME_GET, &m, err);

	if (rc == 0)
		rc = session_flow(s, &flow, err);
	if (rc == 0)
		*ret = s->end;
	return rc;
}
