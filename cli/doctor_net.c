/*
 * doctor: what tapward needs of the host's network: a nameserver that answers,
 * and a firewall that lets its own processes out. Guests have none of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "conf/resolver_text.h"
#include "wire/address.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define DNS_PORT 53
/* Asked twice, as a packet may be lost. */
#define ASK_MS 1500
#define ASK_TIMES 2
#define DNS_HEADER_BYTES 12
#define DNS_ANSWER_BYTES 1232
#define ASK_AS_WE_DO                                                           \
	"it is asked again every few seconds; journalctl "                     \
	"TAPWARD_EVENT=resolver-down says since when"
/* As hostconf.h hands uids out: the first for the recorder, then these. */
#define UID_BROKER 1
#define UID_DIALLER 2

static socklen_t
make_address(const struct message_resolver *r, struct sockaddr_storage *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(r->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(r->port) };

	if (r->address.family == 4) {
		memcpy(&in.sin_addr, r->address.bytes, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, r->address.bytes, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

/*
 * The nameservers of the root zone: a question that names nobody. 0 when
 * whatever answer came, with its code; or -errno.
 */
static int
ask_once(int fd, unsigned int *ret_rcode)
{
	/* RFC 1035 4.1: an id, recursion desired, one question: . NS IN */
	uint8_t q[DNS_HEADER_BYTES + 5] = { 0, 0, 1, 0, 0,
		1, [14] = 2, [16] = 1 };
	uint8_t a[DNS_ANSWER_BYTES];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int rc;

	if (getrandom(q, 2, 0) != 2 ||
	    send(fd, q, sizeof(q), MSG_NOSIGNAL) == -1)
		return -errno;
	rc = poll(&p, 1, ASK_MS);
	if (rc <= 0)
		return rc == 0 ? -ETIMEDOUT : -errno;
	n = recv(fd, a, sizeof(a), MSG_DONTWAIT);
	if (n == -1)
		return -errno;
	if (n < DNS_HEADER_BYTES || memcmp(a, q, 2) != 0 || (a[2] & 0x80) == 0)
		return -EBADMSG;
	*ret_rcode = a[3] & 0xfu;
	return 0;
}

/*
 * As the dialler's, so that a firewall's rule on users says the same of it as
 * of the dialler's own; anybody but root asks as themselves.
 */
static int
open_as_dialler(const struct doctor *d, int family, int type)
{
	int fd;

	if (d->host != NULL)
		(void)setfsuid(d->host->uid_first + UID_DIALLER);
	fd = socket(family, type | SOCK_CLOEXEC, 0);
	(void)setfsuid(geteuid());
	return fd;
}

static int
ask(const struct doctor *d, const struct message_resolver *r,
    unsigned int *ret_rcode)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = make_address(r, &ss);
	AUTO_CLOSE int fd = open_as_dialler(d, ss.ss_family, SOCK_DGRAM);
	int rc = 0;

	if (fd == -1 || connect(fd, (const struct sockaddr *)&ss, len) == -1)
		return -errno;
	for (int i = 0; i < ASK_TIMES; i++) {
		rc = ask_once(fd, ret_rcode);
		if (rc == 0)
			return 0;
	}
	return rc;
}

/* Whether it lets us in. 0 or -errno. */
static int
try_to_connect(const struct doctor *d, const struct message_resolver *r)
{
	struct sockaddr_storage ss = { 0 };
	const socklen_t len = make_address(r, &ss);
	AUTO_CLOSE int fd =
	    open_as_dialler(d, ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int rc, err = 0;

	if (fd == -1)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&ss, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	rc = poll(&p, 1, ASK_TIMES * ASK_MS);
	if (rc <= 0)
		return rc == 0 ? -ETIMEDOUT : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) == -1)
		return -errno;
	return -err;
}

/* "nameserver ADDRESS" of resolv.conf(5), as far as there is room. */
static unsigned int
read_resolv_conf(struct message_resolver ret[DIALLER_RESOLVERS_MAX])
{
	FILE *f = fopen(RESOLV_CONF, "re");
	unsigned int count = 0;
	char line[256];

	while (f != NULL && count < DIALLER_RESOLVERS_MAX &&
	    fgets(line, sizeof(line), f) != NULL) {
		char *save = NULL;
		const char *key = strtok_r(line, " \t\n", &save);
		const char *value = strtok_r(NULL, " \t\n", &save);
		struct message_resolver r = { .port = DNS_PORT };
		struct address a;

		if (key == NULL || value == NULL ||
		    strcmp(key, "nameserver") != 0 ||
		    !address_parse(span_of(value), &a))
			continue;
		r.address.family = (uint8_t)a.family;
		memcpy(r.address.bytes, a.bytes, sizeof(r.address.bytes));
		ret[count++] = r;
	}
	if (f != NULL)
		(void)fclose(f);
	return count;
}

#define DNS_SERVFAIL 2

static void
say_no_answer(struct doctor *d, const char *name, int rc)
{
	if (rc == -EPERM)
		doctor_say(d, DOCTOR_FAIL, "see row firewall",
		    "%s: this host's firewall does not let tapward-dialler "
		    "ask it",
		    name);
	else
		doctor_say(d, DOCTOR_FAIL,
		    "[upstream] resolver = ADDRESS of one that answers",
		    "%s does not answer: %s", name, strerror(-rc));
}

/* What the daemon says of the resolver of this name; NULL: nothing. */
static const json_t *
find_state(const struct doctor *d, const char *name)
{
	const json_t *all = json_object_get(d->status, "resolver_states");
	size_t i;
	json_t *r;

	json_array_foreach(all, i, r)
	{
		if (strcmp(output_member(r, "name"), name) == 0)
			return r;
	}
	return NULL;
}

static void
look_at_resolver(struct doctor *d, const struct message_resolver *r,
    const char *name)
{
	const json_t *said = find_state(d, name);
	unsigned int rcode = 0;
	const int rc = ask(d, r, &rcode);

	if (rc != 0)
		say_no_answer(d, name, rc);
	else if (rcode == DNS_SERVFAIL)
		doctor_say(d, DOCTOR_WARN,
		    "look at the nameserver's own log: it reaches no root",
		    "%s answers SERVFAIL", name);
	else if (said != NULL &&
	    strcmp(output_member(said, "state"), "down") == 0)
		doctor_say(d, DOCTOR_WARN, ASK_AS_WE_DO,
		    "%s answers, but not tapward-dialler: %s", name,
		    output_member(said, "text"));
	else
		doctor_say(d, DOCTOR_OK, "", "%s answers", name);
}

/* The broker's way to it may be another one, and a firewall's rule, too. */
static void
look_at_brokers(struct doctor *d, const char *name)
{
	const json_t *said = find_state(d, name);

	if (said != NULL && strcmp(output_member(said, "broker"), "down") == 0)
		doctor_say(d, DOCTOR_WARN, ASK_AS_WE_DO,
		    "%s does not answer tapward-broker, which finds issuers of "
		    "credentials by it: %s",
		    name, output_member(said, "broker_text"));
}

/*
 * By TLS: that it lets us in is seen here, that it proves its name by whoever
 * asks it, with the roots that it is asked with.
 */
static void
look_at_tls_resolver(struct doctor *d, const struct message_resolver *r,
    const char *name)
{
	const json_t *said = find_state(d, name);
	const char *state = said == NULL ? "" : output_member(said, "state");
	const int rc = try_to_connect(d, r);

	if (rc != 0)
		say_no_answer(d, name, rc);
	else if (strcmp(state, "down") == 0)
		doctor_say(d, DOCTOR_FAIL,
		    "behind the '#' belongs the name that its certificate has, "
		    "and into [upstream] ca-file the CA that signed it; "
		    "tapward "
		    "reload --host looks again",
		    "%s: %s", name, output_member(said, "text"));
	else if (strcmp(state, "up") == 0)
		doctor_say(d, DOCTOR_OK, "", "%s proves its name, %s", name,
		    output_member(said, "text"));
	else
		doctor_say(d, DOCTOR_OK, "",
		    "%s takes connections; tapward-dialler has not asked it "
		    "yet",
		    name);
}

void
doctor_resolvers(struct doctor *d)
{
	struct message_resolver own[DIALLER_RESOLVERS_MAX];
	const struct message_resolver *all = own;
	unsigned int count;

	if (d->host != NULL && d->host->resolver_count > 0) {
		all = d->host->resolvers;
		count = d->host->resolver_count;
	} else {
		count = read_resolv_conf(own);
	}
	if (count == 0)
		doctor_say(d, DOCTOR_FAIL, "[upstream] resolver = ADDRESS",
		    RESOLV_CONF " names no nameserver: nothing can be "
				"resolved, so all is refused");
	for (unsigned int i = 0; i < count; i++) {
		char name[RESOLVER_NAME_SIZE];

		(void)resolver_text(&all[i], name);
		if (all[i].tls_name[0] == '\0')
			look_at_resolver(d, &all[i], name);
		else
			look_at_tls_resolver(d, &all[i], name);
		look_at_brokers(d, name);
	}
}

/* "drops FAMILY TABLE CHAIN" of tapwardd --probe. */
static bool
look_at_chain(struct doctor *d, char *line)
{
	const uint32_t first = d->host == NULL ? 0 : d->host->uid_first;
	char mend[DOCTOR_TEXT_SIZE];
	char *save = NULL;
	const char *word = strtok_r(line, " ", &save);
	const char *family = strtok_r(NULL, " ", &save);
	const char *table = strtok_r(NULL, " ", &save);
	const char *chain = strtok_r(NULL, "", &save);

	if (word == NULL || strcmp(word, "drops") != 0 || chain == NULL)
		return false;
	(void)snprintf(mend, sizeof(mend),
	    "nft insert rule %s %s %s meta skuid %" PRIu32 "-%" PRIu32
	    " accept (and in the file that makes the chain)",
	    family, table, chain, first + UID_BROKER, first + UID_DIALLER);
	doctor_say(d, DOCTOR_WARN, mend,
	    "chain %s of table %s %s drops what no rule of it lets out: "
	    "tapward-dialler connects to origins and nameservers from this "
	    "host",
	    chain, family, table);
	return true;
}

/* What people fear and need not: a guest's packets are never forwarded. */
static void
say_harmless(struct doctor *d)
{
	static const char *const managers[] = { "firewalld", "dockerd" };

	doctor_say(d, DOCTOR_OK, "",
	    "no chain of this host stops what leaves it");
	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++)
		if (doctor_has_process(managers[i]))
			doctor_say(d, DOCTOR_OK, "",
			    "%s runs beside: what it says of forwarding holds "
			    "nothing of a sandbox",
			    managers[i]);
}

void
doctor_firewall(struct doctor *d)
{
	char path[512], said[DOCTOR_OUTPUT_SIZE];
	bool is_seen = false;
	char *save = NULL;

	if (geteuid() != 0 || doctor_daemon_path(path, sizeof(path)) != 0 ||
	    doctor_run(path, "--probe", said, sizeof(said)) != 0)
		return; /* row kernel says so */
	for (char *line = strtok_r(said, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (look_at_chain(d, line))
			is_seen = true;
	if (!is_seen)
		say_harmless(d);
}
