/*
 * tapward-compile: from the text of one policy to its image, for one question,
 * in a process that holds nothing else. The text comes from a repository that
 * nobody has read; what it may do to this process stays here, since the image
 * is read in bounds by whoever maps it (conf/image.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>

#include "base/child.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_compile.h"
#include "conf/compile.h"
#include "conf/policy.h"
#include "conf/presets.h"

/* A ceiling of millions of names takes a few; no text may take longer. */
#define CPU_MAX_S 30

struct compiler {
	struct child child;
	bool is_asked; /* one question, then none */
	struct compile_result result;
	uint8_t text[COMPILE_TEXT_MAX_BYTES];
	uint8_t body[COMPILE_TEXT_MAX_BYTES + MESSAGE_SMALL_BYTES];
};

/* A line for each finding, as many whole ones as fit. */
static struct span
write_findings(struct compiler *c)
{
	struct wr w = wr_init(c->text, sizeof(c->text));
	size_t len = 0;

	for (size_t i = 0; i < c->result.finding_count; i++) {
		wr_fmt(&w, "%s\n", c->result.findings[i].text);
		if (!wr_ok(&w))
			break;
		len = w.len;
	}
	return (struct span){ c->text, len };
}

static int
answer(struct compiler *c, struct chan *chan, uint32_t id, int image_fd,
    const char *digest, struct span text)
{
	struct message_compiled m = { .ok = image_fd != -1, .text = text };
	struct wr w = wr_init(c->body, sizeof(c->body));

	if (m.ok)
		memcpy(m.digest, digest, sizeof(m.digest));
	message_compiled_encode(&w, &m);
	return chan_send(chan, MSG_COMPILED, id, &w, &image_fd, m.ok ? 1 : 0);
}

static int
answer_result(struct compiler *c, struct chan *chan, uint32_t id)
{
	struct policy *p = NULL;
	AUTO_CLOSE int fd = -1;
	char digest[DIGEST_TEXT_SIZE] = "";
	int rc = policy_map_bytes(c->result.image, c->result.image_len, &p);

	if (rc != 0)
		return rc;
	if (strlen(policy_digest(p)) < sizeof(digest))
		memcpy(digest, policy_digest(p), strlen(policy_digest(p)) + 1);
	policy_unref(p);
	rc = fd_memfd_sealed("tapward-policy", c->result.image,
	    c->result.image_len, &fd);
	if (rc != 0)
		return rc;
	return answer(c, chan, id, fd, digest, write_findings(c));
}

static int
compile_text(struct compiler *c, struct chan *chan, uint32_t id,
    const struct message_compile *m, struct span text)
{
	struct compile_input in = { .display_name = m->display_name,
		.text = text,
		.is_ceiling = m->is_ceiling,
		.learns = m->learns,
		.preset = presets_find };
	int rc = compile_policy(&in, &c->result);

	if (rc == 0)
		rc = answer_result(c, chan, id);
	else if (rc == -EINVAL)
		rc = answer(c, chan, id, -1, "", write_findings(c));
	else
		rc = answer(c, chan, id, -1, "", span_of(strerror(-rc)));
	compile_result_done(&c->result);
	return rc;
}

/* Maps the text: sealed, so that it can neither change nor shrink. */
static int
compile_fd(struct compiler *c, struct chan *chan, uint32_t id,
    const struct message_compile *m, int fd)
{
	static const uint8_t nothing;
	struct stat st;
	void *ptr;
	int rc;

	if (!fd_is_sealed(fd))
		return -EPROTO;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size == 0)
		return compile_text(c, chan, id, m,
		    (struct span){ &nothing, 0 });
	ptr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ptr == MAP_FAILED)
		return -errno;
	rc = compile_text(c, chan, id, m,
	    (struct span){ ptr, (size_t)st.st_size });
	(void)munmap(ptr, (size_t)st.st_size);
	return rc;
}

static int
on_compile(struct chan *chan, struct chan_msg *msg, void *arg)
{
	struct compiler *c = arg;
	struct message_compile m;
	int rc = message_compile_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (c->is_asked)
		return -EPROTO;
	c->is_asked = true;
	return compile_fd(c, chan, msg->id, &m, msg->fds[0]);
}

static void
fill_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	memcpy(ret->role, "compile", sizeof("compile"));
}

static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	(void)c;
	(void)adopted;
	(void)arg;
}

static const struct chan_rule rules[] = {
	{ MSG_COMPILE, MESSAGE_SMALL_BYTES, 1, 1, on_compile },
};

static const struct confine_call calls[] = {
	{ "memfd_create", "the image" },
};

static const struct confine_limited limited[] = {
	{ "fcntl", 1, UINT32_MAX, F_ADD_SEALS, "the image is sealed" },
};

static const struct confine_profile profile = {
	.program = "tapward-compile",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
	.limited = limited,
	.limited_count = sizeof(limited) / sizeof(limited[0]),
};

static const struct child_spec spec = {
	.profile = &profile,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.hello = fill_hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = NULL, /* the answer was read: the end */
};

/* libcrypto finds its algorithms now, while it may still look for them. */
static void
load_libraries(void)
{
	uint8_t digest[DIGEST_BYTES];

	if (digest_sha256("", 0, digest) != 0)
		die("compile", "SHA-256 is not to be had");
}

int
main(int argc, char **argv)
{
	const struct rlimit cpu = { CPU_MAX_S, CPU_MAX_S };
	struct compiler *c = calloc(1, sizeof(*c));
	int status;

	if (c == NULL)
		die("compile", "no memory");
	child_init(&c->child, argc, argv);
	if (setrlimit(RLIMIT_CPU, &cpu) == -1)
		die("compile", "RLIMIT_CPU: %s", strerror(errno));
	load_libraries();
	status = child_serve(&c->child, &spec, c);
	free(c);
	return status;
}
