/*
 * Events, see log_event.h. A record of the journal is one datagram of lines
 * "FIELD=value"; no value of ours has a newline, since all are printable.
 */
#include "base/log_event.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define TEXT_MAX 3072
#define RECORD_MAX 4096

/* The ids are ours for ever: whoever looks for one has it in a query. */
static const struct log_event_row rows[LOG_EVENT_COUNT] = {
	[LOG_EVENT_STARTED] = { "started", "7f54834dccf94caf87421a633a4e3405",
	    LOG_LEVEL_INFO },
	[LOG_EVENT_START_FAILED] = { "start-failed",
	    "a4d0b1e49d74421e8ce375c2ab9fa013", LOG_LEVEL_ERR },
	[LOG_EVENT_STOPPING] = { "stopping", "0acb770c21ad43abb7cd4a8312417883",
	    LOG_LEVEL_INFO },
	[LOG_EVENT_RELOADED] = { "reloaded", "902234aed18f4bf88d53ce2d2411450c",
	    LOG_LEVEL_INFO },
	[LOG_EVENT_RELOAD_REFUSED] = { "reload-refused",
	    "02d83b6f2eab46c3b0d44fcbc04bb902", LOG_LEVEL_ERR },
	[LOG_EVENT_SANDBOX_CREATED] = { "sandbox-created",
	    "87ade3820c1f4fcfbbed5080b51d24a4", LOG_LEVEL_INFO },
	[LOG_EVENT_SANDBOX_FAILED] = { "sandbox-failed",
	    "c73a2496b90f4479b83532fc0b694313", LOG_LEVEL_WARN },
	[LOG_EVENT_SANDBOX_ENDED] = { "sandbox-ended",
	    "f6120f8f143c42fca35cbfda85247c05", LOG_LEVEL_INFO },
	[LOG_EVENT_SANDBOX_ADOPTED] = { "sandbox-adopted",
	    "b7784ad343b04691b6478bdb5e6d565e", LOG_LEVEL_INFO },
	[LOG_EVENT_SANDBOX_CHANGED] = { "sandbox-changed",
	    "67f6b6c312cc414682c41d33f20fa5df", LOG_LEVEL_INFO },
	[LOG_EVENT_POLICY_RELOADED] = { "policy-reloaded",
	    "3ffa329b1261406681fb3d255d90fb1d", LOG_LEVEL_INFO },
	[LOG_EVENT_POLICY_REFUSED] = { "policy-refused",
	    "f78faef21bad40129e8c364c4aab824d", LOG_LEVEL_WARN },
	[LOG_EVENT_GATE_GONE] = { "gate-gone",
	    "29aefaba265f47f4be29ee2686ad250a", LOG_LEVEL_WARN },
	[LOG_EVENT_GATE_REPLACED] = { "gate-replaced",
	    "134234cd9a684b3c982e582e1898430e", LOG_LEVEL_INFO },
	[LOG_EVENT_PROCESS_UP] = { "process-up",
	    "7e00aa99136f4996a1801ccafaa7964a", LOG_LEVEL_INFO },
	[LOG_EVENT_PROCESS_GONE] = { "process-gone",
	    "19dab0d2b2294714b4c0480804ab0265", LOG_LEVEL_WARN },
	[LOG_EVENT_PROCESS_FAILED] = { "process-failed",
	    "081354c318fe46dd83867145a0ff446b", LOG_LEVEL_ERR },
	[LOG_EVENT_WATCHDOG] = { "watchdog", "e54702aa22c14fba9c451e4f1ed91c60",
	    LOG_LEVEL_ERR },
	[LOG_EVENT_AUDIT_HEAD] = { "audit-head",
	    "b0f8455e96e847ccbbaa1083ad982b7e", LOG_LEVEL_INFO },
	[LOG_EVENT_AUDIT_FAILED] = { "audit-failed",
	    "f93b51cc407641e9b3235d77908f6696", LOG_LEVEL_ERR },
	[LOG_EVENT_AUDIT_WRITES] = { "audit-writes",
	    "9b82f37fed354a1eb0c59e94833cb525", LOG_LEVEL_INFO },
	[LOG_EVENT_AUDIT_ROTATED] = { "audit-rotated",
	    "73bde2eb33834daf8552a91123053417", LOG_LEVEL_INFO },
	[LOG_EVENT_AUDIT_ANCHOR] = { "audit-anchor",
	    "03e9fbd787be4fd7886137eb82ecaa7d", LOG_LEVEL_ERR },
	[LOG_EVENT_CREDENTIAL_FAULT] = { "credential-fault",
	    "43af4b2968ce4354a26dd360033a8d5e", LOG_LEVEL_ERR },
	[LOG_EVENT_RESOLVER] = { "resolver", "92dce3091daa4cd3aa9e5cc814fcea4c",
	    LOG_LEVEL_ERR },
	[LOG_EVENT_RESOLVER_DOWN] = { "resolver-down",
	    "add84bd001d74b7489c93b35e1b0916e", LOG_LEVEL_WARN },
	[LOG_EVENT_RESOLVER_UP] = { "resolver-up",
	    "e8cd336bb3f64d22b6b370162e4ab126", LOG_LEVEL_INFO },
	[LOG_EVENT_CEILING] = { "ceiling", "0a3a598af92842558545a6d6ba9364b6",
	    LOG_LEVEL_INFO },
	[LOG_EVENT_NO_CEILING] = { "no-ceiling",
	    "2f61d13cdea740eba83065e77ed2c682", LOG_LEVEL_WARN },
};

static int journal_fd = -1;

const struct log_event_row *
log_event_row(enum log_event e)
{
	return &rows[e];
}

bool
log_event_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char said[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) == -1)
		return false;
	(void)snprintf(said, sizeof(said), "%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return strcmp(stream, said) == 0;
}

int
log_event_connect(const char *path, int *ret_fd)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd =
	    socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -errno;
	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

void
log_event_use(int fd)
{
	fd_close(&journal_fd);
	journal_fd = fd;
}

static void
field(struct wr *w, const char *name, const char *value)
{
	if (value == NULL || *value == '\0')
		return;
	wr_fmt(w, "%s=", name);
	for (const char *c = value; *c != '\0'; c++)
		wr_u8(w, *c < 0x20 || *c > 0x7e ? '?' : (uint8_t)*c);
	wr_u8(w, '\n');
}

/* False: it did not take it. */
static bool
send_record(enum log_event e, const struct log_about *about, const char *text)
{
	char record[RECORD_MAX + 1];
	struct wr w = wr_init(record, sizeof(record));

	field(&w, "MESSAGE", text);
	field(&w, "MESSAGE_ID", rows[e].id);
	wr_fmt(&w, "PRIORITY=%d\n", log_level_syslog(rows[e].level));
	field(&w, "SYSLOG_IDENTIFIER", log_program_name());
	field(&w, "TAPWARD_EVENT", rows[e].name);
	if (about != NULL) {
		field(&w, "TAPWARD_SANDBOX", about->sandbox);
		field(&w, "TAPWARD_REASON", about->reason);
		field(&w, "TAPWARD_ROLE", about->role);
	}
	return wr_ok(&w) && write(journal_fd, record, w.len) == (ssize_t)w.len;
}

void
log_event(enum log_event e, const struct log_about *about, const char *area,
    const char *fmt, ...)
{
	const enum log_level level = rows[e].level;
	char text[TEXT_MAX];
	int n, saved = errno;
	va_list ap;

	n = snprintf(text, sizeof(text), "%s ", area);
	va_start(ap, fmt);
	(void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	if (journal_fd != -1 && log_is_wanted(level) &&
	    send_record(e, about, text))
		log_show(level, text);
	else
		log_at(level, area, "%s", text + n);
	errno = saved;
}
