/*
 * Usage: peer origin ADDRESS:PORT CERTIFICATE KEY h1|h2
 *        peer guest NAME CA h1|h2 KEY=VALUE...
 *
 * The origin serves each connection in a process of its own until it is
 * killed; the guest makes one connection to port 443 of NAME, as the resolver
 * of where it runs has it. Both print a line of JSON for each exchange.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int
fail(const char *what)
{
	perror(what);
	ERR_print_errors_fp(stderr);
	return 1;
}

static const struct version *
find_version(const char *name)
{
	if (strcmp(name, "h1") == 0)
		return &version_h1;
	return strcmp(name, "h2") == 0 ? &version_h2 : NULL;
}

/* arg: the version that is spoken here. */
static int
on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
    const unsigned char *in, unsigned int in_len, void *arg)
{
	const struct version *v = arg;
	unsigned char *to;

	(void)ssl;
	if (SSL_select_next_proto(&to, ret_len, (const uint8_t *)v->alpn,
		(unsigned int)strlen(v->alpn), in,
		in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = to;
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *
make_context(const SSL_METHOD *method)
{
	SSL_CTX *c = SSL_CTX_new(method);

	if (c != NULL)
		(void)SSL_CTX_set_mode(c,
		    SSL_MODE_ENABLE_PARTIAL_WRITE |
			SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return c;
}

static void
set_nodelay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* --- the origin --- */

static int
listen_at(char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	char *colon = strchr(text, ':');
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || colon == NULL)
		return -1;
	*colon = '\0';
	a.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, text, &a.sin_addr) != 1 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) == -1 ||
	    listen(fd, 256) == -1)
		return -1;
	return fd;
}

static void
serve_one(int fd, SSL_CTX *ctx, const struct version *v)
{
	SSL *ssl = SSL_new(ctx);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ssl != NULL && SSL_set_fd(ssl, fd) == 1)
		link_run(fd, ssl, v, NULL);
	(void)fflush(stdout);
	_exit(0);
}

static int
origin(char **argv)
{
	const struct version *v = find_version(argv[3]);
	SSL_CTX *ctx = make_context(TLS_server_method());
	int fd = listen_at(argv[0]);

	if (fd == -1 || v == NULL || ctx == NULL ||
	    SSL_CTX_use_certificate_chain_file(ctx, argv[1]) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, argv[2], SSL_FILETYPE_PEM) != 1)
		return fail("origin");
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, (void *)(uintptr_t)v);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		int one = accept(fd, NULL, NULL);

		if (one == -1)
			continue;
		set_nodelay(one);
		if (fork() == 0) {
			(void)close(fd);
			serve_one(one, ctx, v);
		}
		(void)close(one);
	}
}

/* --- the guest --- */

static int
connect_to(const char *name)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int fd;

	if (getaddrinfo(name, "443", &hints, &found) != 0)
		return -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd != -1 && connect(fd, found->ai_addr, found->ai_addrlen) == -1) {
		(void)close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

static int
guest(char **argv)
{
	const struct version *v = find_version(argv[2]);
	SSL_CTX *ctx = make_context(TLS_client_method());
	struct shape s;
	SSL *ssl;
	int fd;

	shape_init(&s);
	for (char **word = argv + 3; *word != NULL; word++)
		if (!shape_set(&s, *word)) {
			(void)fprintf(stderr, "peer: what is \"%s\"?\n", *word);
			return 64;
		}
	if (v == NULL || ctx == NULL ||
	    SSL_CTX_load_verify_locations(ctx, argv[1], NULL) != 1)
		return fail("guest");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	fd = connect_to(argv[0]);
	ssl = SSL_new(ctx);
	if (fd == -1 || ssl == NULL || SSL_set_fd(ssl, fd) != 1 ||
	    SSL_set_tlsext_host_name(ssl, (void *)argv[0]) != 1 ||
	    SSL_set1_host(ssl, argv[0]) != 1 ||
	    SSL_set_alpn_protos(ssl, (const uint8_t *)v->alpn,
		(unsigned int)strlen(v->alpn)) != 0)
		return fail(argv[0]);
	set_nodelay(fd);
	link_run(fd, ssl, v, &s);
	ERR_print_errors_fp(stderr);
	return 0;
}

int
main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	/* A line is written at once: processes share the file. */
	(void)setvbuf(stdout, NULL, _IOFBF, 65536);
	if (argc == 6 && strcmp(argv[1], "origin") == 0)
		return origin(argv + 2);
	if (argc >= 5 && strcmp(argv[1], "guest") == 0)
		return guest(argv + 2);
	(void)fprintf(stderr,
	    "usage: peer origin ADDRESS:PORT CERTIFICATE KEY h1|h2\n"
	    "       peer guest NAME CA h1|h2 KEY=VALUE...\n");
	return 64;
}
