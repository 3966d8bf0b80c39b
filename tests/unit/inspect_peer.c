/*
 * One end of a connection that a test plays, see inspect_fixture.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "base/fd.h"
#include "inspect_fixture.h"

void
peer_init(struct peer *p, int fd, SSL *ssl)
{
	*p = (struct peer){ .fd = fd, .ssl = ssl, .is_shaken = ssl == NULL };
	assert_int_equal(fd_set_nonblock(fd, true), 0);
	if (ssl != NULL)
		assert_int_equal(SSL_set_fd(ssl, fd), 1);
}

void
peer_done(struct peer *p)
{
	SSL_free(p->ssl);
	p->ssl = NULL;
	fd_close(&p->fd);
	free(p->in);
	free(p->out);
	p->in = p->out = NULL;
	p->in_len = p->in_size = p->out_len = p->out_at = 0;
}

void
peer_send(struct peer *p, const void *ptr, size_t len)
{
	p->out = realloc(p->out, p->out_len + len + 1);
	assert_non_null(p->out);
	memcpy(p->out + p->out_len, ptr, len);
	p->out_len += len;
}

void
peer_say(struct peer *p, const char *text)
{
	peer_send(p, text, strlen(text));
}

void
peer_end(struct peer *p)
{
	assert_int_equal(p->out_at, p->out_len);
	if (p->ssl != NULL)
		(void)SSL_shutdown(p->ssl);
	(void)shutdown(p->fd, SHUT_WR);
}

void
peer_drop(struct peer *p)
{
	if (p->ssl != NULL)
		SSL_set_quiet_shutdown(p->ssl, 1);
	(void)shutdown(p->fd, SHUT_RDWR);
	fd_close(&p->fd);
	p->is_ended = true;
}

bool
peer_has_bytes(const struct peer *p, const void *ptr, size_t len)
{
	return p->in_len > 0 && memmem(p->in, p->in_len, ptr, len) != NULL;
}

bool
peer_has(const struct peer *p, const char *text)
{
	return peer_has_bytes(p, text, strlen(text));
}

void
peer_clear(struct peer *p)
{
	p->in_len = 0;
}

static void
peer_result(struct peer *p, int rc)
{
	int e = SSL_get_error(p->ssl, rc);

	if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
		return;
	if (e == SSL_ERROR_ZERO_RETURN) {
		p->is_ended = true;
		return;
	}
	p->is_failed = true;
	p->is_ended = true;
}

static bool
peer_shake(struct peer *p)
{
	int rc;

	if (p->is_shaken || p->is_ended)
		return false;
	ERR_clear_error();
	rc = SSL_do_handshake(p->ssl);
	p->is_shaken = rc == 1;
	if (rc != 1)
		peer_result(p, rc);
	return p->is_shaken || p->is_ended;
}

static bool
peer_read(struct peer *p)
{
	static uint8_t buf[65536];
	ssize_t n;

	if (p->is_slow || p->is_ended || !p->is_shaken)
		return false;
	if (p->ssl != NULL) {
		int rc;

		ERR_clear_error();
		rc = SSL_read(p->ssl, buf, sizeof(buf));
		if (rc <= 0)
			peer_result(p, rc);
		n = rc;
	} else {
		n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n == 0)
			p->is_ended = true;
		if (n == -1 && errno != EAGAIN)
			p->is_failed = p->is_ended = true;
	}
	if (n <= 0)
		return p->is_ended;
	if (p->in_len + (size_t)n > p->in_size) {
		p->in_size = (p->in_len + (size_t)n) * 2;
		p->in = realloc(p->in, p->in_size);
		assert_non_null(p->in);
	}
	memcpy(p->in + p->in_len, buf, (size_t)n);
	p->in_len += (size_t)n;
	return true;
}

static bool
peer_write(struct peer *p)
{
	size_t len = p->out_len - p->out_at;
	ssize_t n;

	if (len == 0 || !p->is_shaken || p->fd == -1)
		return false;
	if (p->burst != 0 && len > p->burst)
		len = p->burst;
	if (p->ssl != NULL) {
		ERR_clear_error();
		n = SSL_write(p->ssl, p->out + p->out_at, (int)len);
	} else {
		n = send(p->fd, p->out + p->out_at, len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (n <= 0)
		return false;
	p->out_at += (size_t)n;
	return true;
}

bool
peer_turn(struct peer *p)
{
	bool moved;

	if (p->fd == -1)
		return false;
	moved = peer_shake(p);
	if (p->on_turn != NULL && p->is_shaken)
		p->on_turn(p, p->on_turn_arg);
	moved = peer_write(p) || moved;
	return peer_read(p) || moved;
}
