/*
 * Makes load for tools/bench: connections with a handshake and one request
 * each, or requests on kept connections, over TLS.
 *
 * Usage: load ADDRESS:PORT NAME CA conn|kept COUNT PARALLEL PATH
 *        [CONNECT-AUTHORITY]
 * COUNT is shared by PARALLEL processes. With a CONNECT authority the request
 * for a tunnel goes first. Prints "COUNT SECONDS BYTES"; exit 1 on any failure.
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

struct load {
	struct sockaddr_in to;
	char *name; /* not const: SSL_set_tlsext_host_name() casts */
	const char *path;
	const char *authority; /* of CONNECT, or NULL */
	SSL_CTX *ctx;
	uint64_t *bytes; /* shared by the processes */
};

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
load_tunnel(const struct load *l, int fd)
{
	char head[1024];
	size_t len = 0;
	int n = snprintf(head, sizeof(head),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", l->authority,
	    l->authority);

	if (send(fd, head, (size_t)n, MSG_NOSIGNAL) != n)
		return false;
	while (len < sizeof(head) - 1 && recv(fd, head + len, 1, 0) == 1) {
		head[++len] = '\0';
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return strstr(head, " 200") != NULL;
	}
	return false;
}

static SSL *
load_open(const struct load *l)
{
	int fd = load_connect(l);
	SSL *ssl;

	if (fd == -1)
		return NULL;
	if (l->authority != NULL && !load_tunnel(l, fd)) {
		(void)close(fd);
		return NULL;
	}
	ssl = SSL_new(l->ctx);
	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 ||
	    SSL_set_tlsext_host_name(ssl, l->name) != 1 ||
	    SSL_set1_host(ssl, l->name) != 1 || SSL_connect(ssl) != 1) {
		ERR_print_errors_fp(stderr);
		SSL_free(ssl);
		(void)close(fd);
		return NULL;
	}
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
load_request(const struct load *l, SSL *ssl)
{
	static char buf[262145];
	size_t len = 0;
	const char *end = NULL;
	long left;
	int n = snprintf(buf, sizeof(buf),
	    "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n"
	    "Accept: */*\r\n\r\n",
	    l->path, l->name);

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
	(void)__atomic_add_fetch(l->bytes, (uint64_t)load_length(buf),
	    __ATOMIC_RELAXED);
	while (left > 0) {
		n = SSL_read(ssl, buf, sizeof(buf) - 1);
		if (n <= 0)
			return false;
		left -= n;
	}
	return left == 0;
}

static bool
load_run_each(const struct load *l, long count)
{
	for (long i = 0; i < count; i++) {
		SSL *ssl = load_open(l);

		if (ssl == NULL || !load_request(l, ssl))
			return false;
		load_close(ssl);
	}
	return true;
}

static bool
load_run_kept(const struct load *l, long count)
{
	SSL *ssl = load_open(l);

	if (ssl == NULL)
		return false;
	for (long i = 0; i < count; i++)
		if (!load_request(l, ssl))
			return false;
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
load_fork(const struct load *l, bool kept, long count, int parallel)
{
	bool good = true;
	int status;

	for (int i = 0; i < parallel; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit((kept ? load_run_kept : load_run_each)(l,
				  count / parallel)
				? 0
				: 1);
		good = good && pid != -1;
	}
	while (wait(&status) > 0)
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return good;
}

int
main(int argc, char **argv)
{
	struct load l = { .ctx = SSL_CTX_new(TLS_client_method()) };
	struct timespec a, b;
	bool good;

	if (argc < 8 || l.ctx == NULL || !load_parse_to(argv[1], &l.to) ||
	    SSL_CTX_load_verify_locations(l.ctx, argv[3], NULL) != 1) {
		(void)fprintf(stderr,
		    "usage: load ADDRESS:PORT NAME CA"
		    " conn|kept COUNT PARALLEL PATH"
		    " [AUTHORITY]\n");
		return 64;
	}
	SSL_CTX_set_verify(l.ctx, SSL_VERIFY_PEER, NULL);
	l.name = argv[2];
	l.path = argv[7];
	l.authority = argc > 8 ? argv[8] : NULL;
	l.bytes = mmap(NULL, sizeof(*l.bytes), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	good = load_fork(&l, strcmp(argv[4], "kept") == 0,
	    strtol(argv[5], NULL, 10), (int)strtol(argv[6], NULL, 10));
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	(void)printf("%s %.3f %llu\n", argv[5],
	    (double)(b.tv_sec - a.tv_sec) +
		(double)(b.tv_nsec - a.tv_nsec) / 1e9,
	    (unsigned long long)*l.bytes);
	return good ? 0 : 1;
}
