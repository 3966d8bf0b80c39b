/*
 * The hook of [ask]: a program of the host's that is asked before a person is.
 * It reads the question as a line of JSON and says `allow` or `deny`, and for
 * how long if for longer than once; when it says anything else, fails or takes
 * too long, a person may answer still.
 *
 * One at a time for each sandbox, so that a guest that asks much does not keep
 * others' from being run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/verdict.h"
#include "daemon/helper.h"
#include "daemon/question_private.h"
#include "daemon/supervisor.h"

#define AREA "ask"
/* At once, of all sandboxes. */
#define HOOKS_MAX 16
#define SAID_MAX 64
/* What it may answer for at most, as a person may: 30 days. */
#define FOR_MAX_S 2592000u

static unsigned int hook_count;

void
question_hook_end(struct question *q)
{
	if (q->hook != NULL)
		hook_count--;
	helper_cancel(q->hook);
	q->hook = NULL;
	fd_close(&q->hook_fd);
}

/* "allow", "deny 1h", with or without a newline; else false. */
static bool
read_answer(struct span said, struct question_answer *ret)
{
	struct question_answer a = { .by = "the hook", .by_host = true };
	const uint8_t *blank;
	uint64_t seconds;

	if (said.len > 0 && said.ptr[said.len - 1] == '\n')
		said.len--;
	blank = memchr(said.ptr, ' ', said.len);
	if (blank != NULL) {
		const size_t used = (size_t)(blank - said.ptr) + 1;

		if (!limit_parse(UNIT_S,
			(struct span){ said.ptr + used, said.len - used },
			&seconds) ||
		    seconds == 0 || seconds > FOR_MAX_S)
			return false;
		a.seconds = (uint32_t)seconds;
		said.len = used - 1;
	}
	a.is_allowed = span_is(said, "allow");
	if (!a.is_allowed && !span_is(said, "deny"))
		return false;
	*ret = a;
	return true;
}

static void
on_done(enum helper_outcome how, uint8_t status, void *arg)
{
	struct question *q = arg;
	struct supervisor *sv = q->sandbox->sv;
	struct question_answer a;
	uint8_t said[SAID_MAX];
	ssize_t n = read(q->hook_fd, said, sizeof(said));
	const bool is_answer = how == HELPER_RAN && status == 0 && n > 0 &&
	    n < SAID_MAX && read_answer((struct span){ said, (size_t)n }, &a);

	q->hook = NULL;
	hook_count--;
	fd_close(&q->hook_fd);
	q->is_hook_over = true;
	if (is_answer)
		question_settle_for(q, &a);
	else
		log_warn(AREA, "sandbox=%s id=%08x the hook has no answer",
		    q->sandbox->state.name, q->id);
	question_hooks_go_on(sv);
}

static void
write_url(struct json *j, const struct message_ask_subject *s)
{
	char url[ASK_TARGET_SIZE + HOST_NAME_SIZE + 32];

	(void)snprintf(url, sizeof(url), "%s://%s:%u%s",
	    scheme_name((enum scheme)s->scheme), s->host, s->port, s->target);
	json_str(j, "url", url);
}

/* Every text of it is printable, and quoted here. */
static void
write_question(struct wr *w, const struct question *q)
{
	const struct message_ask *m = &q->m;
	struct json j = json_init(w);
	char id[16], at[ASK_FILE_SIZE + 16];

	(void)snprintf(id, sizeof(id), "%08x", q->id);
	(void)snprintf(at, sizeof(at), "%s:%u", m->file, m->line);
	json_open_object(&j, NULL);
	json_str(&j, "id", id);
	json_str(&j, "sandbox", q->sandbox->state.name);
	json_u64(&j, "owner", q->sandbox->state.owner_uid);
	json_str(&j, "method", m->subject.method);
	write_url(&j, &m->subject);
	json_str(&j, "host", m->subject.host);
	json_u64(&j, "port", m->subject.port);
	json_str(&j, "target", m->subject.target);
	json_bool(&j, "websocket", m->subject.is_websocket);
	json_str(&j, "credential", m->subject.credential);
	if (m->body_bytes != ASK_BODY_UNKNOWN)
		json_u64(&j, "body_bytes", m->body_bytes);
	json_str(&j, "rule", m->rule);
	json_str(&j, "at", at);
	json_bool(&j, "ceiling", m->by_ceiling);
	json_close_object(&j);
	wr_u8(w, '\n');
}

/*
 * Its standard input is whole, and closed at our end, before it begins: a pipe
 * holds more than a question. Of what it says we read what a pipe has kept.
 */
static int
make_pipes(const struct question *q, int ret_fds[HELPER_FDS], int *ret_said)
{
	AUTO_CLOSE int in = -1, out = -1, ask = -1, said = -1;
	uint8_t text[3 * MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(text, sizeof(text));
	int fds[2];

	write_question(&w, q);
	if (!wr_ok(&w))
		return -EMSGSIZE;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return -errno;
	in = fds[0];
	ask = fds[1];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return -errno;
	said = fds[0];
	out = fds[1];
	if (write(ask, text, w.len) != (ssize_t)w.len)
		return -EIO;
	if (fd_set_nonblock(in, false) != 0 || fd_set_nonblock(out, false) != 0)
		return -EIO;
	ret_fds[HELPER_FD_STDIN] = steal_fd(&in);
	ret_fds[HELPER_FD_STDOUT] = steal_fd(&out);
	*ret_said = steal_fd(&said);
	return 0;
}

static void
run(struct question *q)
{
	const struct hostconf *h = q->sandbox->sv->config->host;
	int fds[HELPER_FDS] = { -1, -1 };
	const struct helper_program p = { .name = "ask",
		.command = h->ask_hook,
		.run_as = h->ask_run_as[0] == '\0' ? NULL : h->ask_run_as,
		.timeout_ms = h->ask_hook_timeout_ms,
		.fds = fds };
	int rc = make_pipes(q, fds, &q->hook_fd);

	if (rc == 0)
		rc = helper_start(q->sandbox->sv, &p, on_done, q, &q->hook);
	for (size_t i = 0; i < HELPER_FDS; i++)
		fd_close(&fds[i]);
	if (rc == 0) {
		hook_count++;
		return;
	}
	log_err(AREA, "hook not run: %s", strerror(-rc));
	fd_close(&q->hook_fd);
	q->is_hook_over = true;
}

/* The one that has waited longest; NULL when one runs, or none waits. */
static struct question *
next_of(const struct sandbox *s)
{
	struct question *q, *oldest = NULL;

	LIST_FOREACH(q, &s->questions.waiting, link)
	{
		if (q->hook != NULL)
			return NULL;
		if (!q->is_hook_over)
			oldest = q;
	}
	return oldest;
}

void
question_hooks_go_on(struct supervisor *sv)
{
	struct sandbox *s;

	if (sv->config->host->ask_hook[0] == '\0')
		return;
	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		struct question *q = next_of(s);

		if (hook_count >= HOOKS_MAX)
			return;
		if (q != NULL)
			run(q);
	}
}
