/*
 * tapward-ca: makes each sandbox's CA and the index of roots, so that the
 * supervisor links no TLS library and reads no key. It keeps nothing but what
 * belongs to an index that is being sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_ca.h"
#include "proxy/ca_make.h"
#include "proxy/roots.h"

/* Debian's bundle is 220 KiB. */
#define BUNDLE_MAX_BYTES (16u << 20)
/* A company has one CA, or a few. */
#define SET_MAX_BYTES (1u << 20)

static int
answer(struct chan *c, uint16_t type, uint32_t id,
    const struct message_ca_result *m, const int *fds, unsigned int fd_count)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	message_ca_result_encode(&w, m);
	return chan_send(c, type, id, &w, fds, fd_count);
}

static int
refuse(struct chan *c, uint16_t type, uint32_t id, const char *what, int rc)
{
	struct message_ca_result m = { .ok = false };

	(void)snprintf(m.text, sizeof(m.text), "%s: %s", what, strerror(-rc));
	return answer(c, type, id, &m, NULL, 0);
}

/* The two descriptors of MSG_CA_MADE. 0 or -errno. */
static int
make_memfds(const struct ca_made *made, int ret_fds[2])
{
	struct span both = secret_span(&made->both);
	AUTO_CLOSE int key_fd = -1;
	int rc = fd_memfd_sealed("tapward-ca", both.ptr, both.len, &key_fd);

	if (rc == 0)
		rc = fd_memfd_sealed("tapward-ca-cert", made->cert,
		    made->cert_len, &ret_fds[1]);
	if (rc == 0)
		ret_fds[0] = steal_fd(&key_fd);
	return rc;
}

static int
on_ca_make(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_ca_result ok = { .ok = true };
	struct message_ca_make m;
	struct ca_made made;
	int fds[2];
	int rc = message_ca_make_decode(&msg->body, &m);

	(void)arg;
	if (rc != 0)
		return rc;
	rc = ca_make(m.common_name, m.lifetime_s, &made);
	if (rc == 0)
		rc = make_memfds(&made, fds);
	secret_done(&made.both);
	if (rc != 0)
		return refuse(c, MSG_CA_MADE, msg->id, "making a CA", rc);
	rc = answer(c, MSG_CA_MADE, msg->id, &ok, fds, 2);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return rc;
}

/* Reads the bundle, whose descriptor may be shared: by offset. */
static int
read_bundle(int fd, size_t max, uint8_t **ret, size_t *ret_len)
{
	AUTO_FREE uint8_t *buf = malloc(max);
	size_t len = 0;

	if (buf == NULL)
		return -ENOMEM;
	while (len < max) {
		ssize_t n = pread(fd, buf + len, max - len, (off_t)len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		if (n == 0) {
			*ret = buf;
			buf = NULL;
			*ret_len = len;
			return 0;
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

/* Private sets that have come, until they are made into an index. */
struct pending {
	uint32_t count;
	struct message_ca_set sets[CA_SETS_MAX];
	uint8_t *texts[CA_SETS_MAX];
	size_t lens[CA_SETS_MAX];
};

static struct pending pending;

static void
forget_pending(struct pending *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		free(p->texts[i]);
		p->texts[i] = NULL;
		p->lens[i] = 0;
	}
	p->count = 0;
}

static int
on_roots_set(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct pending *p = &pending;
	int rc;

	(void)c;
	(void)arg;
	if (p->count == CA_SETS_MAX)
		return -EPROTO;
	rc = message_ca_set_decode(&msg->body, &p->sets[p->count]);
	if (rc != 0)
		return rc;
	/* What cannot be read is told with the index. */
	rc = msg->fd_count == 0 ? -ENOENT
				: read_bundle(msg->fds[0], SET_MAX_BYTES,
				      &p->texts[p->count], &p->lens[p->count]);
	if (rc != 0)
		log_err("ca", "%s: %s", p->sets[p->count].file, strerror(-rc));
	p->count++;
	return 0;
}

static int
make_roots(const struct pending *p, int bundle_fd,
    struct message_ca_result *ret, int *ret_fd)
{
	struct roots_source sources[CA_SETS_MAX];
	AUTO_FREE uint8_t *pem = NULL;
	AUTO_FREE uint8_t *image = NULL;
	size_t pem_len = 0, image_len = 0;
	int rc = read_bundle(bundle_fd, BUNDLE_MAX_BYTES, &pem, &pem_len);

	for (uint32_t i = 0; i < p->count; i++)
		sources[i] = (struct roots_source){ &p->sets[i],
			{ p->texts[i], p->lens[i] } };
	if (rc == 0)
		rc = roots_build_sets((struct span){ pem, pem_len }, sources,
		    p->count, &image, &image_len, &ret->count, ret->text,
		    sizeof(ret->text));
	if (rc == 0)
		rc = fd_memfd_sealed("tapward-roots", image, image_len, ret_fd);
	return rc;
}

static int
on_roots_make(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_ca_result m = { .ok = true };
	struct message_ca_roots asked;
	int fd = -1;
	int rc = message_ca_roots_decode(&msg->body, &asked);

	(void)arg;
	if (rc != 0)
		return rc;
	rc = asked.set_count != pending.count
	    ? -EPROTO
	    : make_roots(&pending, msg->fds[0], &m, &fd);
	forget_pending(&pending);
	m.ok = rc == 0;
	if (rc == 0)
		rc = answer(c, MSG_ROOTS_MADE, msg->id, &m, &fd, 1);
	else if (m.text[0] != '\0')
		rc = answer(c, MSG_ROOTS_MADE, msg->id, &m, NULL, 0);
	else
		rc = refuse(c, MSG_ROOTS_MADE, msg->id,
		    rc == -ENOENT ? "the CA bundle holds no certificate"
				  : "reading the CA bundle",
		    rc);
	fd_close(&fd);
	return rc;
}

static const struct chan_rule rules[] = {
	{ MSG_CA_MAKE, MESSAGE_SMALL_BYTES, 0, 0, on_ca_make },
	{ MSG_ROOTS_MAKE, MESSAGE_SMALL_BYTES, 1, 1, on_roots_make },
	{ MSG_ROOTS_SET, MESSAGE_LARGE_BYTES, 0, 1, on_roots_set },
};

static const struct confine_call calls[] = {
	{ "pread64", "the CA bundle, by offset" },
	{ "memfd_create", "what it makes goes out in memfds" },
};

static const struct confine_limited limited[] = {
	{ "fcntl", 1, 0xffffffffu, F_ADD_SEALS, "sealing a memfd" },
};

static const struct confine_profile profile = {
	.program = "tapward-ca",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
	.limited = limited,
	.limited_count = sizeof(limited) / sizeof(limited[0]),
};

static void
say_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	(void)snprintf(ret->role, sizeof(ret->role), "ca");
}

static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	/* It asks when it wants something. */
	(void)c;
	(void)adopted;
	(void)arg;
}

static const struct child_spec spec = {
	.profile = &profile,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.hello = say_hello,
	.on_supervisor = on_supervisor,
};

int
main(int argc, char **argv)
{
	struct child c;

	child_init(&c, argc, argv);
	/* Before the filter: it reads the processor and seeds itself. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		die("ca", "OpenSSL does not start");
	return child_serve(&c, &spec, NULL);
}
