/* The rows of verify: see verify.h. */
#include "cli/verify.h"

#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/guest.h"
#include "cli/output.h"
#include "cli/refusals.h"

#define AGENT "/proc/1/exe"
#define PATH_TEXT_SIZE (SANDBOX_NAME_SIZE + 32)
/* A row may take this long: a guest that hangs is a failure. */
#define ROW_TIMEOUT_MS 30000
#define ARGS_MAX 10

/* Runs argv in the guest; its output without the last newline, and its end. */
static bool
run(struct verify *v, const char *const *argv, uint32_t timeout_ms,
    char found[VERIFY_FOUND_SIZE], struct session_end *ret_end)
{
	AUTO_CLOSE int out = memfd_create("tapward-verify", MFD_CLOEXEC);
	struct session_command c = {
		.argv = argv,
		.timeout_ms = timeout_ms,
		.output_max = 65536,
		.in_fd = -1,
		.out_fd = out,
		.err_fd = out,
	};
	struct err err = { "" };
	ssize_t n;

	if (out == -1 || session_run(v->session, &c, ret_end, &err) != 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%.200s", err.text);
		return false;
	}
	n = pread(out, found, VERIFY_FOUND_SIZE - 1, 0);
	found[n > 0 ? n : 0] = '\0';
	found[strcspn(found, "\n")] = '\0';
	for (char *p = found; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	return true;
}

static bool
probe(struct verify *v, const char *const *argv, char found[VERIFY_FOUND_SIZE])
{
	const char *args[ARGS_MAX] = { AGENT, "--probe" };
	struct session_end end;

	for (size_t i = 0; i + 3 < ARGS_MAX && argv[i] != NULL; i++)
		args[i + 2] = argv[i];
	return run(v, args, ROW_TIMEOUT_MS, found, &end);
}

/* Does text begin with one of the words? */
static bool
begins(const char *text, const char *words)
{
	while (*words != '\0') {
		size_t len = strcspn(words, "|");

		if (len > 0 && strncmp(text, words, len) == 0)
			return true;
		words += len + (words[len] == '|' ? 1 : 0);
	}
	return false;
}

static bool
row_probe(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	return probe(v, row->argv, found) && begins(found, row->want);
}

/* A path that must not be there. */
static bool
row_absent(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *path = row->argv[0] == NULL ? v->canary : row->argv[0];
	const char *const argv[] = { "ls", "-d", "--", path, NULL };
	struct session_end end;

	if (!run(v, argv, ROW_TIMEOUT_MS, found, &end))
		return false;
	return end.end == FRAME_END_CODE && end.value != 0;
}

static int64_t
dropped(struct verify *v)
{
	char path[PATH_TEXT_SIZE];
	struct reply reply;
	const char *key;
	json_t *count;
	int64_t sum = 0;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", v->name);
	if (call_quietly(v->cli, "GET", path, &reply) != 0)
		return -1;
	json_object_foreach(json_object_get(reply.json, "dropped"), key, count)
	    sum += json_integer_value(count);
	reply_done(&reply);
	return sum;
}

/* A frame that is dropped, and counted. */
static bool
row_frame(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	int64_t before = dropped(v), after;

	if (before == -1 || !probe(v, row->argv, found) ||
	    strcmp(found, "sent") != 0)
		return false;
	after = dropped(v);
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "sent; %" PRId64 " dropped and counted", after - before);
	return after > before;
}

static bool
was_reached(const struct verify *v)
{
	struct pollfd p = { .fd = v->listener, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Each address of this host, with a service that listens on all of them. */
static bool
row_host(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	struct ifaddrs *all;
	unsigned int tried = 0;

	(void)row;
	if (getifaddrs(&all) == -1)
		return false;
	for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next) {
		char address[64];
		const char *const argv[] = { "tcp", address, v->port, NULL };

		if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET ||
		    getnameinfo(a->ifa_addr, sizeof(struct sockaddr_in),
			address, sizeof(address), NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		if (!probe(v, argv, found) || strcmp(found, "open") == 0) {
			freeifaddrs(all);
			return false;
		}
		tried++;
	}
	freeifaddrs(all);
	if (was_reached(v))
		return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "none of %u addresses; the service saw nobody", tried);
	return tried > 0;
}

static bool
row_gateway(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "tcp", output_member(v->about, "gateway"),
		v->port, NULL };

	(void)row;
	return probe(v, argv, found) && strcmp(found, "open") != 0 &&
	    !was_reached(v);
}

/* Where an allowed name leads, on a port that no rule names. */
static bool
row_other_port(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const ask[] = { "dns", VERIFY_HOST, "1", NULL };
	char address[VERIFY_FOUND_SIZE];
	const char *argv[] = { "tcp", NULL, "8443", NULL };

	(void)row;
	if (!probe(v, ask, address) || strncmp(address, "NOERROR ", 8) != 0)
		return false;
	argv[1] = address + 8;
	return probe(v, argv, found) && strcmp(found, "refused") == 0;
}

/* Its text must be what the kernel says of a process that can do nothing. */
static bool
has_line(const char *text, const char *key, const char *want)
{
	const char *at = strstr(text, key);

	return at != NULL &&
	    strncmp(at + strlen(key) + strspn(at + strlen(key), "\t "), want,
		strlen(want)) == 0;
}

static bool
row_monitor(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const json_t *vm = json_object_get(v->about, "vm");
	json_int_t pid = json_integer_value(json_object_get(vm, "pid"));
	AUTO_FREE char *text = NULL;
	char path[64];
	size_t len;
	ssize_t n;
	FILE *f;

	(void)row;
	(void)snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	len = 0;
	n = getdelim(&text, &len, '\0', f);
	(void)fclose(f);
	if (n == -1 || has_line(text, "\nUid:", "0\t") ||
	    !has_line(text, "\nCapEff:", "0000000000000000") ||
	    !has_line(text, "\nCapBnd:", "0000000000000000") ||
	    !has_line(text, "\nNoNewPrivs:", "1") ||
	    !has_line(text, "\nSeccomp:", "2")) {
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "process %lld has rights that it needs not",
		    (long long)pid);
		return false;
	}
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "own user, no capabilities, filtered system calls");
	return true;
}

/* A guest that takes all its memory loses the taker, and goes on. */
static bool
row_memory(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	char mib[16];
	const char *const argv[] = { AGENT, "--probe", "spin", mib, NULL };
	const char *const after[] = { "devices", NULL };
	struct session_end end;

	(void)row;
	(void)snprintf(mib, sizeof(mib), "%d", 2 * v->memory_mib);
	if (!run(v, argv, ROW_TIMEOUT_MS, found, &end) ||
	    (end.end == FRAME_END_CODE && end.value == 0))
		return false;
	if (!probe(v, after, found))
		return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "%s MiB asked for: ended, the guest goes on", mib);
	return true;
}

static bool
row_disk(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "sh", "-c",
		"head -c 100000000000 /dev/zero >/tapward-verify; "
		"rm -f /tapward-verify",
		NULL };
	struct session_end end;

	(void)row;
	return run(v, argv, ROW_TIMEOUT_MS, found, &end) &&
	    strstr(found, "No space left") != NULL;
}

static bool
row_time(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "sleep", "60", NULL };
	struct session_end end;

	(void)row;
	if (!run(v, argv, 1000, found, &end) ||
	    end.limit != FRAME_LIMIT_TIMEOUT)
		return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE, "ended after a second");
	return true;
}

/* All that was refused above is in the log, which is not the guest's. */
static bool
row_log(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	json_t *all = refusals_read(v->cli, v->name);
	size_t count = json_array_size(all);

	(void)row;
	json_decref(all);
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "%zu refusals of this sandbox are in it", count);
	return count >= 4;
}

/* Nothing is started where it cannot be isolated: here, without a policy. */
static bool
row_closed(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	json_t *body = json_pack("{s:s, s:s, s:s}", "name", "verify-broken",
	    "policy", "[allow", "policy_name", "broken.ini");
	const struct call q = { .method = "POST",
		.path = "/v1/sandboxes",
		.body = body };
	struct reply reply;
	int rc = call_refused(v->cli, &q, &reply);

	(void)row;
	json_decref(body);
	if (rc != 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "a sandbox was made of a policy with an error");
		return false;
	}
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%.200s",
	    output_member(reply.json, "error"));
	reply_done(&reply);
	return true;
}

#define ANY_REFUSAL "refused|unreachable"

const struct verify_row verify_rows[] = {
	{ "a file of this host", row_absent, { NULL }, NULL },
	{ "secrets of this host", row_absent, { "/etc/tapward" }, NULL },
	{ "systemd's credentials", row_absent, { "/run/credentials" }, NULL },
	{ "the control socket", row_absent, { "/run/tapward/control.sock" },
	    NULL },
	{ "a container engine's socket", row_absent, { "/run/docker.sock" },
	    NULL },
	{ "KVM, to start guests of its own", row_absent, { "/dev/kvm" }, NULL },
	{ "the allowed request is let through", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x" },
	    "502 |503 |504 |200 " },
	{ "an unapproved host, by name", row_probe,
	    { "http", "unapproved.example", "80", "/" }, "403 no-rule" },
	{ "a package registry without a rule", row_probe,
	    { "http", "registry.example", "80", "/left-pad" }, "403 no-rule" },
	{ "a write to the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x", "DELETE" },
	    "403 method" },
	{ "another path of the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/refused/x" }, "403 path" },
	{ "another port of the allowed host", row_other_port, { NULL }, NULL },
	{ "a host by its address", row_probe, { "tcp", "192.0.2.10", "443" },
	    ANY_REFUSAL },
	{ "a host by IPv6", row_probe, { "tcp", "2001:db8::1", "443" },
	    ANY_REFUSAL },
	{ "the metadata service", row_probe, { "tcp", "169.254.169.254", "80" },
	    ANY_REFUSAL },
	{ "the metadata service by HTTP", row_probe,
	    { "http", "metadata.google.internal", "80", "/" }, "403 no-rule" },
	{ "the local network", row_probe, { "tcp", "192.168.1.1", "80" },
	    ANY_REFUSAL },
	{ "UDP", row_probe, { "udp", "192.0.2.10", "4000" }, "refused" },
	{ "QUIC", row_probe, { "udp", "192.0.2.10", "443", "quic" },
	    "refused" },
	{ "ICMP", row_probe, { "icmp", "192.0.2.10" }, "refused|silent" },
	{ "data in a DNS question", row_probe,
	    { "dns", "c2VjcmV0LWRhdGEtaW4tYS1sYWJlbA.attacker.example", "1" },
	    "NOERROR 198.18.|NOERROR 198.19.|REFUSED" },
	{ "data in a DNS answer (TXT)", row_probe,
	    { "dns", "attacker.example", "16" }, "NOERROR -|REFUSED" },
	{ "a second device", row_probe, { "devices" }, "eth0 " },
	{ "frames with another MAC", row_frame, { "frame", "mac" }, NULL },
	{ "packets with another address", row_frame, { "frame", "ip" }, NULL },
	{ "an ARP answer for another", row_frame, { "frame", "arp" }, NULL },
	{ "frames with a VLAN tag", row_frame, { "frame", "vlan" }, NULL },
	{ "IPv6 frames", row_frame, { "frame", "ipv6" }, NULL },
	{ "frames of another protocol", row_frame, { "frame", "ethertype" },
	    NULL },
	{ "fragments", row_frame, { "frame", "fragment" }, NULL },
	{ "IP options", row_frame, { "frame", "options" }, NULL },
	{ "a service of this host, at the gateway", row_gateway, { NULL },
	    NULL },
	{ "a service of this host, at each of its addresses", row_host,
	    { NULL }, NULL },
	{ "a monitor with rights", row_monitor, { NULL }, NULL },
	{ "more memory than it has", row_memory, { NULL }, NULL },
	{ "more disk than it has", row_disk, { NULL }, NULL },
	{ "more time than it has", row_time, { NULL }, NULL },
	{ "a log without what it tried", row_log, { NULL }, NULL },
	{ "a sandbox without isolation", row_closed, { NULL }, NULL },
};
const size_t verify_row_count = sizeof(verify_rows) / sizeof(verify_rows[0]);
