/*
 * Makes load for tools/bench: connections with a handshake and one request
 * each, or requests on kept connections, over TLS.
 *
 * Usage: load [-c AUTHORITY] [-f FIRST] ADDRESS:PORT NAME CA
 *        conn|resumed|kept COUNT PARALLEL PATH
 * COUNT is shared by PARALLEL processes. A '#' in NAME, and in the AUTHORITY
 * of a CONNECT that goes first, is the connection's number, from FIRST on.
 * resumed: all connections but the first of a process bring its TLS session.
 * Prints "COUNT SECONDS BYTES P50 P99 RESUMED", the middle two in us of a
 * connection, or of a request on a kept one. Exit 1 on any failure.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 256

/* Of all processes. */
struct tally {
	uint64_t bytes;
	uint64_t resumed;
	uint32_t us[]; /* one for each of COUNT */
};

struct load {
	struct sockaddr_in to;
	const char *name;
	const char *path;
	const char *authority; /* of CONNECT, or NULL */
	long first;
	SSL_CTX *ctx;
	bool resumes;
	SSL_SESSION *session; /* of the last connection */
	struct tally *tally;
};

static uint64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* text with its '#' as a number, into ret; what is too long is cut. */
static char *
numbered(const char *text, long number, char ret[NAME_BYTES])
{
	char digits[24];
	size_t len = 0;

	(void)snprintf(digits, sizeof(digits), "%ld", number);
	for (; *text != '\0' && len + sizeof(digits) < NAME_BYTES; text++) {
		const char *part = *text == '#' ? digits : text;
		size_t part_len = *text == '#' ? strlen(digits) : 1;

		memcpy(ret + len, part, part_len);
		len += part_len;
	}
	ret[len] = '\0';
	return ret;
}

static int
load_connect(const struct load *l)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd == -1)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&l->to, sizeof(l->to)) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* Asks for a tunnel; the answer's head is read byte by byte. */
static bool
load_tunnel(const struct load *l, int fd, long number)
{
	char head[2 * NAME_BYTES + 64], to[NAME_BYTES];
	size_t len = 0;
	int n;

	(void)numbered(l->authority, number, to);
	n = snprintf(head, sizeof(head),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to);
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL) != n)
		return false;
	while (len < sizeof(head) - 1 && recv(fd, head + len, 1, 0) == 1) {
		head[++len] = '\0';
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return strstr(head, " 200") != NULL;
	}
	return false;
}

static bool
load_handshake(const struct load *l, SSL *ssl, int fd, long number)
{
	char name[NAME_BYTES];

	(void)numbered(l->name, number, name);
	if (l->resumes && l->session != NULL &&
	    SSL_set_session(ssl, l->session) != 1)
		return false;
	return SSL_set_fd(ssl, fd) == 1 &&
	    SSL_set_tlsext_host_name(ssl, name) == 1 &&
	    SSL_set1_host(ssl, name) == 1 && SSL_connect(ssl) == 1;
}

static SSL *
load_open(const struct load *l, long number)
{
	int fd = load_connect(l);
	SSL *ssl;

	if (fd == -1)
		return NULL;
	if (l->authority != NULL && !load_tunnel(l, fd, number)) {
		(void)close(fd);
		return NULL;
	}
	ssl = SSL_new(l->ctx);
	if (ssl == NULL || !load_handshake(l, ssl, fd, number)) {
		ERR_print_errors_fp(stderr);
		SSL_free(ssl);
		(void)close(fd);
		return NULL;
	}
	if (SSL_session_reused(ssl) == 1)
		(void)__atomic_add_fetch(&l->tally->resumed, 1,
		    __ATOMIC_RELAXED);
	return ssl;
}

static void
load_close(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	(void)SSL_shutdown(ssl);
	SSL_free(ssl);
	(void)close(fd);
}

/* Content-Length of a head, -1 without one. */
static long
load_length(const char *head)
{
	const char *at = strcasestr(head, "\r\ncontent-length:");

	return at == NULL ? -1 : strtol(at + 17, NULL, 10);
}

/* One request and its whole answer. */
static bool
load_request(const struct load *l, SSL *ssl, long number)
{
	static char buf[262145];
	char name[NAME_BYTES];
	size_t len = 0;
	const char *end = NULL;
	long left;
	int n = snprintf(buf, sizeof(buf),
	    "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n"
	    "Accept: */*\r\n\r\n",
	    l->path, numbered(l->name, number, name));

	if (SSL_write(ssl, buf, n) != n)
		return false;
	while (end == NULL) {
		n = SSL_read(ssl, buf + len, (int)(sizeof(buf) - 1 - len));
		if (n <= 0)
			return false;
		len += (size_t)n;
		buf[len] = '\0';
		end = strstr(buf, "\r\n\r\n");
	}
	if (strncmp(buf, "HTTP/1.1 200", 12) != 0) {
		(void)fprintf(stderr, "%.300s\n", buf);
		return false;
	}
	left = load_length(buf) - (long)(len - (size_t)(end + 4 - buf));
	(void)__atomic_add_fetch(&l->tally->bytes, (uint64_t)load_length(buf),
	    __ATOMIC_RELAXED);
	while (left > 0) {
		n = SSL_read(ssl, buf, sizeof(buf) - 1);
		if (n <= 0)
			return false;
		left -= n;
	}
	return left == 0;
}

static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct load *l = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	SSL_SESSION_free(l->session);
	l->session = session;
	return 1;
}

/* The part of one process: count connections or requests, from number on. */
static bool
load_run_each(const struct load *l, long number, long count)
{
	for (long i = number; i < number + count; i++) {
		uint64_t began = now_us();
		SSL *ssl = load_open(l, l->first + i);

		if (ssl == NULL || !load_request(l, ssl, l->first + i))
			return false;
		l->tally->us[i] = (uint32_t)(now_us() - began);
		load_close(ssl);
	}
	return true;
}

static bool
load_run_kept(const struct load *l, long number, long count)
{
	SSL *ssl = load_open(l, l->first);

	if (ssl == NULL)
		return false;
	for (long i = number; i < number + count; i++) {
		uint64_t began = now_us();

		if (!load_request(l, ssl, l->first))
			return false;
		l->tally->us[i] = (uint32_t)(now_us() - began);
	}
	load_close(ssl);
	return true;
}

static bool
load_parse_to(const char *text, struct sockaddr_in *ret)
{
	char host[64];
	const char *colon = strchr(text, ':');

	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	ret->sin_family = AF_INET;
	ret->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	return inet_pton(AF_INET, host, &ret->sin_addr) == 1;
}

static bool
load_fork(const struct load *l, bool kept, long count, long parallel)
{
	bool good = true;
	int status;

	for (long i = 0; i < parallel; i++) {
		long from = count * i / parallel;
		long until = count * (i + 1) / parallel;
		pid_t pid = fork();

		if (pid == 0)
			_exit((kept ? load_run_kept : load_run_each)(l, from,
				  until - from)
				? 0
				: 1);
		good = good && pid != -1;
	}
	while (wait(&status) > 0)
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return good;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int
load_run(struct load *l, const char *mode, long count, long parallel)
{
	uint64_t began = now_us();
	bool good = load_fork(l, strcmp(mode, "kept") == 0, count, parallel);
	uint64_t us = now_us() - began;

	qsort(l->tally->us, (size_t)count, sizeof(l->tally->us[0]), compare);
	(void)printf("%ld %.6f %llu %u %u %llu\n", count, (double)us / 1e6,
	    (unsigned long long)l->tally->bytes, l->tally->us[count / 2],
	    l->tally->us[count * 99 / 100],
	    (unsigned long long)l->tally->resumed);
	return good ? 0 : 1;
}

static int
usage(void)
{
	(void)fprintf(stderr,
	    "usage: load [-c AUTHORITY] [-f FIRST] ADDRESS:PORT NAME CA\n"
	    "       conn|resumed|kept COUNT PARALLEL PATH\n");
	return 64;
}

int
main(int argc, char **argv)
{
	struct load l = { .ctx = SSL_CTX_new(TLS_client_method()) };
	long count;
	int c;

	while ((c = getopt(argc, argv, "c:f:")) != -1) {
		if (c == 'c')
			l.authority = optarg;
		else if (c == 'f')
			l.first = strtol(optarg, NULL, 10);
		else
			return usage();
	}
	argv += optind;
	if (argc - optind != 7 || l.ctx == NULL ||
	    !load_parse_to(argv[0], &l.to) ||
	    SSL_CTX_load_verify_locations(l.ctx, argv[2], NULL) != 1)
		return usage();
	SSL_CTX_set_verify(l.ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_app_data(l.ctx, &l);
	SSL_CTX_sess_set_new_cb(l.ctx, on_session);
	(void)SSL_CTX_set_session_cache_mode(l.ctx,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	l.name = argv[1];
	l.resumes = strcmp(argv[3], "resumed") == 0;
	count = strtol(argv[4], NULL, 10);
	l.path = argv[6];
	l.tally = mmap(NULL,
	    sizeof(*l.tally) + (size_t)count * sizeof(l.tally->us[0]),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count <= 0 || l.tally == MAP_FAILED)
		return usage();
	return load_run(&l, argv[3], count, strtol(argv[5], NULL, 10));
}
