/* See verify_host.h. */
#include "cli/verify_host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "cli/call.h"
#include "cli/create.h"
#include "cli/output.h"

#define PATH_TEXT_SIZE (SANDBOX_NAME_SIZE + 48)
/* What waits for the guest (netfilter/sockets.h); the ports are fixed. */
#define PORT_PROXY 3128
#define PORT_TRANSPARENT 3129
#define PORT_DNS 53
#define PORT_SNTP 123
/* TCP_LISTEN; a socket of UDP that is not connected says TCP_CLOSE. */
#define STATE_LISTEN 0x0a
/* A record is written within a second, on a busy host within a few. */
#define LOG_WAIT_MS 10000
#define LINE_SIZE 512
#define WORDS_MAX 8

static json_int_t
monitor_pid(const struct verify *v)
{
	const json_t *vm = json_object_get(v->about, "vm");

	return json_integer_value(json_object_get(vm, "pid"));
}

/* A file of /proc/PID; NULL, with found set, if it cannot be read. */
static FILE *
open_proc(json_int_t pid, const char *name, char found[VERIFY_FOUND_SIZE])
{
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/%s",
	    pid, name);
	f = fopen(path, "re");
	if (f == NULL)
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%s cannot be read",
		    path);
	return f;
}

/* The next line of a table of /proc in words; 0 at its end. */
static size_t
read_words(FILE *f, char line[LINE_SIZE], char *ret[WORDS_MAX])
{
	size_t count = 0;
	char *rest = NULL;

	if (fgets(line, LINE_SIZE, f) == NULL)
		return 0;
	for (char *p = strtok_r(line, " \t\n", &rest);
	     p != NULL && count < WORDS_MAX; p = strtok_r(NULL, " \t\n", &rest))
		ret[count++] = p;
	return count;
}

static unsigned int
hex(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 16);
}

bool
verify_host_devices(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *ours = output_member(v->about, "device");
	FILE *f = open_proc(monitor_pid(v), "net/dev", found);
	char line[LINE_SIZE], *words[WORDS_MAX];
	bool is_right = true, has_ours = false;

	(void)row;
	if (f == NULL)
		return false;
	/* The two lines of headings have no "NAME:". */
	while (is_right && read_words(f, line, words) > 0) {
		char *colon = strchr(words[0], ':');

		if (colon == NULL)
			continue;
		*colon = '\0';
		if (strcmp(words[0], ours) == 0)
			has_ours = true;
		else
			is_right = strcmp(words[0], "lo") == 0;
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%s is there",
		    words[0]);
	}
	(void)fclose(f);
	if (is_right && has_ours)
		(void)snprintf(found, VERIFY_FOUND_SIZE, "lo and %s", ours);
	return is_right && has_ours;
}

bool
verify_host_routes(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *ours = output_member(v->about, "device");
	FILE *f = open_proc(monitor_pid(v), "net/route", found);
	char line[LINE_SIZE], *words[WORDS_MAX];
	unsigned int count = 0;
	bool is_right = true;

	(void)row;
	if (f == NULL)
		return false;
	(void)read_words(f, line, words); /* the heading */
	while (is_right && read_words(f, line, words) >= 3) {
		/* device, target, gateway; to the guest's own network */
		is_right = hex(words[2]) == 0 && hex(words[1]) != 0 &&
		    strcmp(words[0], ours) == 0;
		count++;
	}
	(void)fclose(f);
	if (is_right)
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "%u, to the guest alone", count);
	else
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "one to %08x by %08x at %s", ntohl(hex(words[1])),
		    ntohl(hex(words[2])), words[0]);
	return is_right && count == 1;
}

/* May this port wait in the sandbox's network? is_bound: to an address. */
static bool
is_of_gate(bool is_tcp, unsigned int port, bool is_bound)
{
	static const struct {
		bool is_tcp, is_bound;
		unsigned int port;
	} sockets[] = {
		{ true, true, PORT_PROXY },
		{ true, false, PORT_TRANSPARENT },
		{ true, false, PORT_DNS },
		{ false, false, PORT_DNS },
		{ false, true, PORT_SNTP },
	};

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
		if (sockets[i].is_tcp == is_tcp && sockets[i].port == port &&
		    sockets[i].is_bound == is_bound)
			return true;
	return false;
}

/* One of the tables of sockets, of either family: only the gate's wait. */
static bool
check_sockets(json_int_t pid, const char *table, unsigned int *count,
    char found[VERIFY_FOUND_SIZE])
{
	FILE *f = open_proc(pid, table, found);
	const bool is_tcp = strstr(table, "tcp") != NULL;
	char line[LINE_SIZE], *words[WORDS_MAX], *colon;
	unsigned int port = 0;
	bool is_right = true;

	if (f == NULL)
		return false;
	(void)read_words(f, line, words); /* the heading */
	/* a number, address and port here, the same there, state */
	while (is_right && read_words(f, line, words) >= 4) {
		if (is_tcp && hex(words[3]) != STATE_LISTEN)
			continue;
		(*count)++;
		colon = strchr(words[1], ':');
		port = colon == NULL ? 0 : hex(colon + 1);
		is_right = strchr(table, '6') == NULL &&
		    is_of_gate(is_tcp, port, hex(words[1]) != 0);
	}
	(void)fclose(f);
	if (!is_right)
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "one waits at port %u (%s)", port, table);
	return is_right;
}

bool
verify_host_sockets(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	static const char *const tables[] = { "net/tcp", "net/tcp6", "net/udp",
		"net/udp6", "net/udplite", "net/raw", "net/raw6" };
	unsigned int count = 0;

	(void)row;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!check_sockets(monitor_pid(v), tables[i], &count, found))
			return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "%u sockets, all of the gate's", count);
	return count == 5;
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
is_without_rights(json_int_t pid, char found[VERIFY_FOUND_SIZE])
{
	static const char none[] = "0000000000000000";
	FILE *f = open_proc(pid, "status", found);
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	ssize_t len;

	if (f == NULL)
		return false;
	len = getdelim(&text, &size, '\0', f);
	(void)fclose(f);
	if (len > 0 && !has_line(text, "\nUid:", "0\t") &&
	    has_line(text, "\nCapEff:", none) &&
	    has_line(text, "\nCapPrm:", none) &&
	    has_line(text, "\nCapBnd:", none) &&
	    has_line(text, "\nNoNewPrivs:", "1") &&
	    has_line(text, "\nSeccomp:", "2"))
		return true;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "process %" JSON_INTEGER_FORMAT " has rights that it needs not",
	    pid);
	return false;
}

/* What tapward-vm has started: the monitor. */
static size_t
children_of(json_int_t pid, json_int_t ret[WORDS_MAX])
{
	char name[64], line[LINE_SIZE], ignored[VERIFY_FOUND_SIZE];
	char *words[WORDS_MAX];
	size_t count = 0;
	FILE *f;

	(void)snprintf(name, sizeof(name),
	    "task/%" JSON_INTEGER_FORMAT "/children", pid);
	f = open_proc(pid, name, ignored);
	if (f == NULL)
		return 0;
	count = read_words(f, line, words);
	(void)fclose(f);
	for (size_t i = 0; i < count; i++)
		ret[i] = strtoll(words[i], NULL, 10);
	return count;
}

bool
verify_host_monitor(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const json_int_t pid = monitor_pid(v);
	json_int_t monitors[WORDS_MAX];
	size_t count = children_of(pid, monitors);

	(void)row;
	if (count == 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "no monitor is found below process %" JSON_INTEGER_FORMAT,
		    pid);
		return false;
	}
	if (!is_without_rights(pid, found))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_without_rights(monitors[i], found))
			return false;
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "own user, no capabilities, filtered system calls");
	return true;
}

/* What is looked for in a log, and how often it was there. */
struct search {
	const char *host; /* NULL: whatever came of a guest */
	unsigned int count;
};

static int
on_record(char *line, size_t len, void *arg)
{
	struct search *s = arg;
	json_t *json = json_loadb(line, len, 0, NULL);
	const char *host = output_member(json, "host");

	if (s->host != NULL
		? strcmp(host, s->host) == 0
		: strcmp(output_member(json, "event"), "lifecycle") != 0)
		s->count++;
	json_decref(json);
	return 0;
}

/* -1: the log cannot be read. */
static int
count_records(const struct verify *v, const char *name, const char *host)
{
	struct search s = { .host = host };
	char path[PATH_TEXT_SIZE];

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/log", name);
	return call_stream(v->cli, path, false, on_record, &s) == 0
	    ? (int)s.count
	    : -1;
}

static bool
await_record(const struct verify *v, const char *host)
{
	const struct timespec pause = { .tv_nsec = 50000000 };

	for (int ms = 0; ms < LOG_WAIT_MS; ms += 50) {
		int n = count_records(v, v->name, host);

		if (n != 0)
			return n > 0;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

bool
verify_host_log(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *const argv[] = { "http", v->unheard, "80", "/", NULL };
	bool is_there;

	(void)row;
	if (!verify_probe(v, argv, 0, found, NULL))
		return false;
	is_there = await_record(v, v->unheard);
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%s is %sin it", v->unheard,
	    is_there ? "" : "not ");
	return is_there;
}

bool
verify_host_log_after(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	bool is_there;

	(void)row;
	session_close(v->session);
	v->session = NULL;
	remove_sandbox(v->cli, v->name);
	is_there = count_records(v, v->name, v->unheard) > 0;
	(void)snprintf(found, VERIFY_FOUND_SIZE, "the sandbox is gone, %s",
	    is_there ? "its log is there" : "and its log with it");
	return is_there;
}

bool
verify_host_neighbour(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	char path[PATH_TEXT_SIZE];
	struct reply reply;
	size_t dropped;
	int records;

	if (!verify_probe(v, row->argv, 0, found, NULL))
		return false;
	if (strncmp(found, row->want, strlen(row->want)) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", v->neighbour);
	records = count_records(v, v->neighbour, NULL);
	if (records == -1 || call_quietly(v->cli, "GET", path, &reply) != 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE,
		    "the daemon does not tell what it saw");
		return false;
	}
	dropped = json_object_size(json_object_get(reply.json, "dropped"));
	reply_done(&reply);
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    "its policy is not ours; %d records and %zu kinds of packets of "
	    "ours are with it",
	    records, dropped);
	return records == 0 && dropped == 0;
}

/* A sandbox that must not be made: true if it was refused. */
static bool
is_refused(struct verify *v, const char *name, const struct call *q,
    char found[VERIFY_FOUND_SIZE])
{
	struct reply reply;
	int rc = call_refused(v->cli, q, &reply);

	if (rc == 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%.200s",
		    output_member(reply.json, "error"));
		reply_done(&reply);
		return true;
	}
	if (rc != CLI_NO_DAEMON)
		remove_sandbox(v->cli, name);
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%s",
	    rc == CLI_NO_DAEMON ? "tapwardd does not answer"
				: "a sandbox was made of it");
	return false;
}

bool
verify_host_closed(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	static const char name[] = "verify-broken";
	json_t *body = json_pack("{s:s, s:s, s:s}", "name", name, "policy",
	    "[allow", "policy_name", "broken.ini");
	const struct call q = { .method = "POST",
		.path = "/v1/sandboxes",
		.body = body };
	bool is_right = is_refused(v, name, &q, found);

	(void)row;
	json_decref(body);
	return is_right;
}

bool
verify_host_isolation(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	static const char name[] = "verify-exposed";
	AUTO_CLOSE int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "name", name, "policy",
	    VERIFY_POLICY, "policy_name", "verify.ini", "device", "veth");
	const struct call q = { .method = "POST",
		.path = "/v1/sandboxes",
		.body = body,
		.fds = { here },
		.fd_count = 1 };
	bool is_right = here != -1 && is_refused(v, name, &q, found);

	(void)row;
	json_decref(body);
	return is_right;
}

/* 0, CLI_FAILED if it was refused (why is in found), or CLI_NO_DAEMON. */
static int
set_policy(const struct verify *v, const char *policy,
    char found[VERIFY_FOUND_SIZE])
{
	char path[PATH_TEXT_SIZE];
	json_t *body = json_pack("{s:s, s:s}", "policy", policy, "policy_name",
	    "verify.ini");
	const struct call q = { .method = "PUT", .path = path, .body = body };
	struct reply reply;
	int rc;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/policy", v->name);
	rc = call_refused(v->cli, &q, &reply);
	json_decref(body);
	if (rc == 0) {
		(void)snprintf(found, VERIFY_FOUND_SIZE, "%.200s",
		    output_member(reply.json, "error"));
		reply_done(&reply);
		return CLI_FAILED;
	}
	(void)snprintf(found, VERIFY_FOUND_SIZE,
	    rc == CLI_NO_DAEMON ? "tapwardd does not answer" : "");
	return rc == CLI_NO_DAEMON ? rc : 0;
}

/* The status and the reason that a guest with curl(1) is told. */
static bool
ask_by_tls(struct verify *v, const char *want, char found[VERIFY_FOUND_SIZE])
{
	static const char url[] = "https://" VERIFY_HOST "/";
	static const char *const argv[] = { "curl", "-s", "-m", "20", "-o",
		"/dev/null", "-D", "-", url, NULL };
	struct session_end end;
	char text[4096];
	const struct verify_program curl = { argv, 0, text, sizeof(text) };
	bool is_right;

	if (!verify_run(v, &curl, found, &end))
		return false;
	is_right = strcasestr(text, want) != NULL;
	/* Its first line has the status; it is the guest's to write. */
	text[strcspn(text, "\r\n")] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%.100s%s", text,
	    is_right ? ", as it is of no use" : "");
	return is_right;
}

bool
verify_host_revoked(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	char ignored[VERIFY_FOUND_SIZE];
	bool is_right;
	int rc = set_policy(v, VERIFY_CREDENTIAL_POLICY, found);

	if (rc != 0)
		return rc == CLI_FAILED &&
		    strstr(found, VERIFY_CREDENTIAL) != NULL;
	is_right = ask_by_tls(v, row->want, found);
	return set_policy(v, VERIFY_POLICY, ignored) == 0 && is_right;
}
