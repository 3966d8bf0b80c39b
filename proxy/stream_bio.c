/*
 * TLS on a descriptor, see stream_bio.h.
 *
 * There is one buffer for all streams, since nothing stays in it between two
 * calls of the library: a stream that does not wait for its socket has none.
 */
#include "proxy/stream_bio.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A record of TLS and what is around its bytes (RFC 8446 5.2). */
#define RECORD_BYTES (16384 + 256 + 5)
#define GATHER_BYTES ((size_t)4 * RECORD_BYTES)
/*
 * That may wait in a stream. More than a call gathers comes from a peer only
 * that has us answer it (KeyUpdate) and does not read.
 */
#define UNSENT_MAX_BYTES (2 * GATHER_BYTES)

static struct {
	const struct stream *of; /* NULL: no call is running */
	size_t len;
	uint8_t bytes[GATHER_BYTES];
} gathered;

/* What was gathered goes behind what waits already. */
static bool
put_aside(struct stream *s, size_t sent)
{
	struct span rest = { gathered.bytes + sent, gathered.len - sent };

	gathered.len = 0;
	return buf_append(&s->unsent, rest) == 0;
}

static int
bio_write(BIO *b, const char *data, size_t len, size_t *ret_len)
{
	struct stream *s = BIO_get_data(b);

	assert(gathered.of == s);
	BIO_clear_retry_flags(b);
	if (len > UNSENT_MAX_BYTES - s->unsent.len - gathered.len) {
		BIO_set_retry_write(b);
		return -1;
	}
	if (len > sizeof(gathered.bytes) - gathered.len) {
		if (!put_aside(s, 0) ||
		    buf_append(&s->unsent,
			(struct span){ (const uint8_t *)data, len }) != 0)
			return -1;
	} else {
		memcpy(gathered.bytes + gathered.len, data, len);
		gathered.len += len;
	}
	*ret_len = len;
	return 1;
}

static int
bio_read(BIO *b, char *data, size_t size, size_t *ret_len)
{
	struct stream *s = BIO_get_data(b);
	ssize_t n;

	BIO_clear_retry_flags(b);
	/*
	 * What a handshake has to say is what the peer waits for: there is
	 * nothing to read. If there is, its event comes once this has gone.
	 */
	if (SSL_in_init(s->ssl) && gathered.len > 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	n = read(s->fd, data, size);
	if (n > 0) {
		*ret_len = (size_t)n;
		return 1;
	}
	s->is_at_end = n == 0;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	return -1;
}

static long
bio_ctrl(BIO *b, int what, long num, void *ptr)
{
	const struct stream *s = BIO_get_data(b);

	(void)num;
	(void)ptr;
	switch (what) {
	case BIO_CTRL_EOF:
		return s->is_at_end;
	case BIO_CTRL_FLUSH: /* stream_bio_send() does */
		return 1;
	default:
		return 0;
	}
}

/* Made once; NULL when memory is short. */
static const BIO_METHOD *
method(void)
{
	static BIO_METHOD *m;
	BIO_METHOD *made;

	if (m != NULL)
		return m;
	made =
	    BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
	if (made == NULL || BIO_meth_set_write_ex(made, bio_write) != 1 ||
	    BIO_meth_set_read_ex(made, bio_read) != 1 ||
	    BIO_meth_set_ctrl(made, bio_ctrl) != 1) {
		BIO_meth_free(made);
		return NULL;
	}
	m = made;
	return m;
}

bool
stream_bio_attach(struct stream *s)
{
	const BIO_METHOD *m = method();
	BIO *b = m == NULL ? NULL : BIO_new(m);

	if (b == NULL)
		return false;
	BIO_set_data(b, s);
	BIO_set_init(b, 1);
	SSL_set_bio(s->ssl, b, b);
	return true;
}

void
stream_bio_move(struct stream *to, struct stream *from)
{
	BIO_set_data(SSL_get_rbio(to->ssl), to);
	to->unsent = from->unsent;
	to->is_held = from->is_held;
	from->unsent = (struct buf){ .ptr = NULL };
}

void
stream_bio_begin(struct stream *s)
{
	assert(gathered.of == NULL);
	gathered.of = s;
	gathered.len = 0;
}

bool
stream_bio_has_room(void)
{
	return sizeof(gathered.bytes) - gathered.len >= RECORD_BYTES;
}

static enum stream_result
lost(struct stream *s)
{
	gathered.len = 0;
	buf_done(&s->unsent);
	return STREAM_FAILED;
}

/* n bytes of the two went: first of what waited, then of what is new. */
static enum stream_result
sent(struct stream *s, size_t n)
{
	size_t old = n < s->unsent.len ? n : s->unsent.len;

	buf_consume(&s->unsent, old);
	if (gathered.len > n - old && !put_aside(s, n - old))
		return lost(s);
	gathered.len = 0;
	if (s->unsent.len > 0)
		return STREAM_AGAIN;
	buf_done(&s->unsent);
	return STREAM_OK;
}

static enum stream_result
send_all(struct stream *s)
{
	struct span old = buf_span(&s->unsent);
	struct iovec iov[2] = {
		{ (void *)(uintptr_t)old.ptr, old.len },
		{ gathered.bytes, gathered.len },
	};
	ssize_t n;

	s->is_held = false;
	/* Most have nothing that waited. */
	if (old.len == 0)
		n = write(s->fd, gathered.bytes, gathered.len);
	else
		n = writev(s->fd, iov, 2);
	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return lost(s);
	return sent(s, n == -1 ? 0 : (size_t)n);
}

enum stream_result
stream_bio_end(struct stream *s)
{
	assert(gathered.of == s);
	gathered.of = NULL;
	if (gathered.len > 0)
		return send_all(s);
	return s->unsent.len == 0 || s->is_held ? STREAM_OK : STREAM_AGAIN;
}

enum stream_result
stream_bio_hold(struct stream *s)
{
	assert(gathered.of == s);
	gathered.of = NULL;
	if (gathered.len == 0)
		return STREAM_OK;
	if (!put_aside(s, 0))
		return lost(s);
	s->is_held = true;
	return STREAM_OK;
}

enum stream_result
stream_bio_retry(struct stream *s)
{
	assert(gathered.of == NULL);
	gathered.len = 0;
	return s->unsent.len == 0 ? STREAM_OK : send_all(s);
}
