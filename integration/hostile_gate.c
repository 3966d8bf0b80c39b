/*
 * A gate that somebody has taken over. It is linked from the gate's own parts,
 * so main(), confinement, system call filter, sockets and channels are those
 * of tapward-gate up to the moment it is to serve; the linker's --wrap turns
 * that one call aside. From then on it does what the guest says, which is
 * what an attacker has who runs code in a gate. Sandboxes whose name does not
 * begin with "hostile" get the gate as it is.
 *
 * The guest speaks over the port of the explicit proxy. A line is words
 * between blanks, and so is the line that answers it:
 *
 *	send WHICH FDS HEX      a packet of these bytes, with FDS descriptors
 *	flood WHICH MS FDS HEX  the same packet, again and again
 *	recv WHICH              the next packet: its bytes, its descriptors
 *	call CALL ARG...        a system call by name or number; ARG is a
 *	                        number, x:HEX (bytes to read), b:N (room for N)
 *	call32 CALL ARG...      the same by the 32 bit ABI, numbers only
 *	policy WORD             what the next policy meets: "lie" (the default:
 *	                        it says yes), "refuse", "hang"
 *
 * HEX is "-" for no bytes.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "proxy/gate_run.h"
#include "proxy/tls.h"

#define AREA "hostile"
#define LINE_MAX_BYTES ((size_t)1 << 20)
#define PACKET_MAX_BYTES ((size_t)1 << 18)
#define WORDS_MAX 12
#define FDS_MAX 64

enum which {
	WHICH_SUPERVISOR,
	WHICH_DIALLER,
	WHICH_BROKER,
	WHICH_RECORDER,
	WHICH_COUNT
};

static const char *const which_names[WHICH_COUNT] = { "supervisor", "dialler",
	"broker", "recorder" };

/* There is one gate in a process, and no argument reaches what is wrapped. */
static struct {
	struct gate_run *run;
	int channels[WHICH_COUNT];
	int guest;        /* that commands now, or -1 */
	char policy_word; /* its first letter, 0: lie */
	struct event *accept_event, *guest_event;
	char line[LINE_MAX_BYTES];
	size_t line_len;
	uint8_t packet[PACKET_MAX_BYTES];
	char answer[2 * PACKET_MAX_BYTES + 256];
	size_t answer_len;
} taken = { .guest = -1 };

struct words {
	char *at[WORDS_MAX];
	unsigned int count;
};

int __real_gate_run_start(struct gate_run *r,
    const struct message_gate_start *m, struct gate_start_fds *fds);
int __wrap_gate_run_start(struct gate_run *r,
    const struct message_gate_start *m, struct gate_start_fds *fds);
int __real_gate_run_set_policy(struct gate_run *r, int policy, int ceiling);
int __wrap_gate_run_set_policy(struct gate_run *r, int policy, int ceiling);
int __real_gate_run_set_peer(struct gate_run *r, uint8_t which, int fd);
int __wrap_gate_run_set_peer(struct gate_run *r, uint8_t which, int fd);
int __real_tls_state_set_roots(struct gate *g, int roots);
int __wrap_tls_state_set_roots(struct gate *g, int roots);

__attribute__((format(printf, 1, 2))) static void
say(const char *fmt, ...)
{
	size_t left = sizeof(taken.answer) - taken.answer_len;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(taken.answer + taken.answer_len, left, fmt, args);
	va_end(args);
	assert(n >= 0 && (size_t)n < left);
	taken.answer_len += (size_t)n;
}

static void
say_hex(const uint8_t *bytes, size_t len)
{
	if (len == 0)
		say(" -");
	else
		say(" ");
	for (size_t i = 0; i < len; i++)
		say("%02x", bytes[i]);
}

static void
say_result(long rc, int error)
{
	if (rc == -1)
		say("%s", strerrorname_np(error));
	else
		say("%ld", rc);
}

/* The bytes of hex at ret, of which there is room for max. */
static size_t
read_hex(const char *hex, uint8_t *ret, size_t max)
{
	size_t len = 0;

	/* "-" is shorter than a byte. */
	for (; hex[0] != '\0' && hex[1] != '\0' && len < max; hex += 2)
		ret[len++] = (uint8_t)(ascii_hex((uint8_t)hex[0]) << 4 |
		    ascii_hex((uint8_t)hex[1]));
	return len;
}

static int
channel_of(const char *name)
{
	for (int i = 0; i < WHICH_COUNT; i++)
		if (strcmp(which_names[i], name) == 0)
			return taken.channels[i];
	return -1;
}

/* What is attached is /dev/null each time: that it came is what counts. */
static ssize_t
send_packet(int channel, unsigned int fd_count, size_t len)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec iov = { taken.packet, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	static const int fds[FDS_MAX]; /* standard input */

	if (fd_count > FDS_MAX)
		fd_count = FDS_MAX;
	if (fd_count > 0) {
		struct cmsghdr *head;

		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
	}
	return sendmsg(channel, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
do_send(const struct words *w)
{
	size_t len = read_hex(w->at[3], taken.packet, sizeof(taken.packet));
	ssize_t n = send_packet(channel_of(w->at[1]),
	    (unsigned int)strtoul(w->at[2], NULL, 10), len);

	say_result(n, errno);
}

static void
do_flood(const struct words *w)
{
	int channel = channel_of(w->at[1]);
	uint64_t end = clock_mono_ms() + strtoul(w->at[2], NULL, 10);
	unsigned int fds = (unsigned int)strtoul(w->at[3], NULL, 10);
	size_t len = read_hex(w->at[4], taken.packet, sizeof(taken.packet));
	unsigned long sent = 0, full = 0;
	int error = 0;

	while (clock_mono_ms() < end && (error == 0 || error == EAGAIN)) {
		error = send_packet(channel, fds, len) == -1 ? errno : 0;
		sent += error == 0;
		full += error == EAGAIN;
	}
	say("%lu %lu %s", sent, full,
	    error == 0 ? "0" : strerrorname_np(error));
}

static void
say_fds(struct msghdr *msg)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(msg);
	int fds[FDS_MAX];
	size_t size;

	if (head == NULL || head->cmsg_type != SCM_RIGHTS)
		return;
	size = head->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(head), size);
	for (size_t i = 0; i < size / sizeof(int); i++)
		say(" %d", fds[i]);
}

static void
do_recv(const struct words *w)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { taken.packet, sizeof(taken.packet) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf) };
	ssize_t n = recvmsg(channel_of(w->at[1]), &msg, MSG_DONTWAIT);

	if (n <= 0) {
		say_result(n, errno);
		return;
	}
	say("%zd", n);
	say_hex(taken.packet, (size_t)n);
	say_fds(&msg);
}

/* Arguments of a call, and the bytes that they point at. */
struct arguments {
	unsigned long value[6];
	size_t used;   /* of taken.packet */
	uint8_t *room; /* b:N */
	size_t room_size;
};

static void
read_argument(struct arguments *a, unsigned int i, const char *text)
{
	uint8_t *at = taken.packet + a->used;
	size_t left = sizeof(taken.packet) - a->used, len;

	if (strncmp(text, "x:", 2) == 0) {
		len = read_hex(text + 2, at, left - 1);
		/* A path ends here; other bytes do not care. */
		at[len++] = '\0';
	} else if (strncmp(text, "b:", 2) == 0) {
		len = strtoul(text + 2, NULL, 10);
		assert(len <= left);
		memset(at, 0, len);
		a->room = at;
		a->room_size = len;
	} else {
		a->value[i] = (unsigned long)strtoll(text, NULL, 0);
		return;
	}
	a->value[i] = (unsigned long)(uintptr_t)at;
	/* The next one lies as a struct would. */
	a->used += (len + 15) & ~(size_t)15;
}

static void
read_arguments(struct arguments *a, const struct words *w)
{
	for (unsigned int i = 2; i < w->count && i < 8; i++)
		read_argument(a, i - 2, w->at[i]);
}

static void
do_call(const struct words *w)
{
	struct arguments a = { { 0 }, 0, NULL, 0 };
	long nr = ascii_is_digit((uint8_t)w->at[1][0])
	    ? strtol(w->at[1], NULL, 0)
	    : seccomp_syscall_resolve_name(w->at[1]);
	long rc;

	read_arguments(&a, w);
	rc = syscall(nr, a.value[0], a.value[1], a.value[2], a.value[3],
	    a.value[4], a.value[5]);
	say_result(rc, errno);
	if (a.room != NULL)
		say_hex(a.room, a.room_size);
}

static void
do_call32(const struct words *w)
{
#ifdef __x86_64__
	struct arguments a = { { 0 }, 0, NULL, 0 };
	long rc;

	read_arguments(&a, w);
	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(strtol(w->at[1], NULL, 0)), "b"(a.value[0]),
			 "c"(a.value[1]), "d"(a.value[2])
			 : "memory");
	say("%ld", rc);
#else
	(void)w;
	say("ENOSYS");
#endif
}

static void
do_policy(const struct words *w)
{
	taken.policy_word = w->at[1][0];
	say("0");
}

static const struct {
	const char *name;
	unsigned int words;
	void (*run)(const struct words *w);
} commands[] = {
	{ "send", 4, do_send },
	{ "flood", 5, do_flood },
	{ "recv", 2, do_recv },
	{ "call", 2, do_call },
	{ "call32", 2, do_call32 },
	{ "policy", 2, do_policy },
};

static void
obey(char *line)
{
	struct words w = { { NULL }, 0 };
	char *next = NULL;

	taken.answer_len = 0;
	for (char *p = strtok_r(line, " \n", &next);
	     p != NULL && w.count < WORDS_MAX; p = strtok_r(NULL, " \n", &next))
		w.at[w.count++] = p;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (w.count >= commands[i].words &&
		    strcmp(w.at[0], commands[i].name) == 0) {
			commands[i].run(&w);
			break;
		}
	say("\n");
}

static void
dismiss(void)
{
	if (taken.guest_event != NULL)
		event_free(taken.guest_event);
	taken.guest_event = NULL;
	fd_close(&taken.guest);
}

static void
on_guest(evutil_socket_t fd, short what, void *arg)
{
	ssize_t n = read(fd, taken.line + taken.line_len,
	    sizeof(taken.line) - 1 - taken.line_len);

	(void)what;
	(void)arg;
	if (n <= 0) {
		dismiss();
		return;
	}
	taken.line_len += (size_t)n;
	if (taken.line[taken.line_len - 1] != '\n')
		return;
	taken.line[taken.line_len] = '\0';
	taken.line_len = 0;
	obey(taken.line);
	if (fd_write_all(fd, taken.answer, taken.answer_len) != 0)
		dismiss();
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	int guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	(void)arg;
	if (guest == -1)
		return;
	dismiss();
	taken.guest = guest;
	taken.line_len = 0;
	taken.guest_event = event_new(taken.run->gate.base, guest,
	    EV_READ | EV_PERSIST, on_guest, NULL);
	if (taken.guest_event == NULL ||
	    event_add(taken.guest_event, NULL) == -1)
		dismiss();
}

static bool
is_hostile(const char *sandbox)
{
	return strncmp(sandbox, "hostile", 7) == 0;
}

int
__wrap_gate_run_start(struct gate_run *r, const struct message_gate_start *m,
    struct gate_start_fds *fds)
{
	if (!is_hostile(m->sandbox))
		return __real_gate_run_start(r, m, fds);
	memcpy(r->gate.sandbox, m->sandbox, sizeof(r->gate.sandbox));
	r->gate.generation = m->generation;
	r->is_started = true;
	taken.run = r;
	taken.channels[WHICH_SUPERVISOR] = CHILD_FD_SUPERVISOR;
	taken.channels[WHICH_DIALLER] = steal_fd(&fds->dialler);
	taken.channels[WHICH_BROKER] = steal_fd(&fds->broker);
	taken.channels[WHICH_RECORDER] = steal_fd(&fds->recorder);
	taken.accept_event =
	    event_new(r->gate.base, r->sockets[GATE_SOCKET_EXPLICIT],
		EV_READ | EV_PERSIST, on_accept, NULL);
	if (taken.accept_event == NULL ||
	    event_add(taken.accept_event, NULL) == -1)
		return -ENOMEM;
	log_warn(AREA, "sandbox=%s taken over", m->sandbox);
	return __wrap_gate_run_set_policy(r, fds->policy, fds->ceiling);
}

/* What it answers tells nothing about what it does then. */
int
__wrap_gate_run_set_policy(struct gate_run *r, int policy, int ceiling)
{
	struct policy *p;
	int rc;

	if (taken.run == NULL)
		return __real_gate_run_set_policy(r, policy, ceiling);
	if (taken.policy_word == 'r')
		return -EBADMSG;
	while (taken.policy_word == 'h')
		(void)clock_mono_ms();
	rc = policy_map(policy, &p);
	if (rc == 0)
		r->gate.pair.policy = p;
	return rc;
}

int
__wrap_gate_run_set_peer(struct gate_run *r, uint8_t which, int fd)
{
	static const enum which channels[] = {
		[GATE_START_DIALLER] = WHICH_DIALLER,
		[GATE_START_BROKER] = WHICH_BROKER,
		[GATE_START_RECORDER] = WHICH_RECORDER,
	};

	if (taken.run == NULL)
		return __real_gate_run_set_peer(r, which, fd);
	assert(which < sizeof(channels) / sizeof(channels[0]));
	fd_close(&taken.channels[channels[which]]);
	taken.channels[channels[which]] = fd;
	return 0;
}

int
__wrap_tls_state_set_roots(struct gate *g, int roots)
{
	return taken.run == NULL ? __real_tls_state_set_roots(g, roots) : 0;
}
