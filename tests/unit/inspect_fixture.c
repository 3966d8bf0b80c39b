/*
 * See inspect_fixture.h.
 */
#include "inspect_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/clock.h"
#include "base/fd.h"
#include "conf/compile.h"
#include "counts_support.h"
#include "loop_pause.h"
#include "proxy/audit.h"
#include "proxy/dial.h"
#include "proxy/hold.h"
#include "proxy/inspect.h"
#include "proxy/lease.h"
#include "proxy/meter.h"
#include "proxy/pool.h"
#include "proxy/redirect.h"
#include "proxy/roots.h"
#include "proxy/tls.h"
#include "proxy/x509_make.h"

#define DEADLINE_S 10

/* One test runs at a time, and has one fixture. */
static struct fix *current;

struct fix *
fix_current(void)
{
	return current;
}

static uint64_t
real_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
fix_deadline(void)
{
	return real_ms() + DEADLINE_S * 1000;
}

bool
fix_is_late(uint64_t deadline)
{
	return real_ms() > deadline;
}

static bool
turn(struct fix *f)
{
	bool moved;

	(void)event_base_loop(f->gate.base, EVLOOP_NONBLOCK);
	moved = peer_turn(&f->guest);
	for (size_t i = 0; i < f->origin_count; i++)
		moved = peer_turn(&f->origins[i]) || moved;
	return moved;
}

void
fix_turn(struct fix *f)
{
	(void)turn(f);
}

void
fix_settle(struct fix *f)
{
	unsigned int quiet = 0;

	while (quiet < 3)
		quiet = turn(f) ? 0 : quiet + 1;
}

unsigned int
fix_wakes(struct fix *f)
{
	return loop_pause(f->gate.base, 30);
}

const char *
fix_guest_text(struct fix *f)
{
	static char text[600];
	struct wr w = wr_init(text, sizeof(text) - 1);

	wr_fmt(&w, "(%zu bytes) ", f->guest.in_len);
	wr_bytes(&w, f->guest.in,
	    f->guest.in_len < 500 ? f->guest.in_len : 500);
	text[w.len] = '\0';
	return text;
}

struct peer *
fix_origin(struct fix *f, size_t k)
{
	fix_until(f, f->origin_count > k);
	return &f->origins[k];
}

void
fix_forget_origins(struct fix *f)
{
	for (size_t i = 0; i < f->origin_count; i++)
		peer_done(&f->origins[i]);
	f->origin_count = 0;
	fix_settle(f);
}

struct peer *
fix_ask(struct fix *f, const char *request)
{
	size_t k = f->origin_count;
	struct peer *o;

	peer_say(&f->guest, request);
	o = fix_origin(f, k);
	fix_until(f, peer_has(o, "\r\n\r\n"));
	return o;
}

/* --- certificates --- */

/* The origin's certificate, by the name that the guest of us asked for. */
static int
on_origin_name(SSL *ssl, int *alert, void *arg)
{
	struct fix *f = current;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	EVP_PKEY *key;
	X509 *x;

	(void)alert;
	(void)arg;
	assert_non_null(name);
	x = fix_make_cert(&f->roots, name, f->cert, &key);
	assert_int_equal(SSL_use_certificate(ssl, x), 1);
	assert_int_equal(SSL_use_PrivateKey(ssl, key), 1);
	X509_free(x);
	EVP_PKEY_free(key);
	return SSL_TLSEXT_ERR_OK;
}

static int
on_origin_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
    const unsigned char *offered, unsigned int offered_len, void *arg)
{
	const struct fix *f = current;
	const char *want = f->origin_is_h2 ? "\x02h2" : "\x08http/1.1";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len, (const uint8_t *)want,
		(unsigned int)strlen(want), offered,
		offered_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

void
fix_offer(struct fix *f, const char *alpn)
{
	assert_int_equal(SSL_CTX_set_alpn_protos(f->guest_tls,
			     (const uint8_t *)alpn, (unsigned int)strlen(alpn)),
	    0);
}

static void
make_contexts(struct fix *f)
{
	EVP_PKEY *key;
	X509 *ca;

	f->origin_tls = SSL_CTX_new(TLS_server_method());
	assert_non_null(f->origin_tls);
	(void)SSL_CTX_set_tlsext_servername_callback(f->origin_tls,
	    on_origin_name);
	SSL_CTX_set_alpn_select_cb(f->origin_tls, on_origin_alpn, NULL);
	(void)SSL_CTX_set_mode(f->origin_tls,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	f->guest_tls = SSL_CTX_new(TLS_client_method());
	assert_non_null(f->guest_tls);
	(void)SSL_CTX_set_mode(f->guest_tls,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	fix_read_ca(&f->ca, &key, &ca);
	assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(
						 f->guest_tls),
			     ca),
	    1);
	SSL_CTX_set_verify(f->guest_tls, SSL_VERIFY_PEER, NULL);
	EVP_PKEY_free(key);
	X509_free(ca);
}

static void
make_tls(struct fix *f)
{
	AUTO_CLOSE int ca_fd = -1;
	AUTO_CLOSE int roots_fd = -1;
	AUTO_FREE uint8_t *image = NULL;
	size_t len;
	uint32_t count;

	assert_int_equal(ca_make("sandbox CA", 86400, &f->ca), 0);
	assert_int_equal(ca_make("origins' CA", 86400, &f->roots), 0);
	assert_int_equal(fd_memfd_sealed("ca", f->ca.both.ptr, f->ca.both.len,
			     &ca_fd),
	    0);
	assert_int_equal(roots_build((struct span){ f->roots.cert,
					 f->roots.cert_len },
			     &image, &len, &count),
	    0);
	assert_int_equal(count, 1);
	assert_int_equal(fd_memfd_sealed("roots", image, len, &roots_fd), 0);
	assert_int_equal(tls_state_new(&f->gate, ca_fd, roots_fd), 0);
}

/* --- life --- */

static void
load_policy(struct fix *f, const char *text)
{
	static struct compile_result res;
	struct compile_input in = { .display_name = "tapward.ini",
		.text = span_of(text) };

	if (compile_policy(&in, &res) != 0)
		fail_msg("policy: %s", res.findings[0].text);
	f->image = res.image;
	assert_int_equal(policy_map_bytes(res.image, res.image_len, &f->policy),
	    0);
	f->gate.pair.policy = f->policy;
}

void
fix_set_policy(struct fix *f, const char *text)
{
	struct policy *old = f->policy;
	uint8_t *old_image = f->image;

	load_policy(f, text);
	f->gate.policy_generation++;
	meters_policy_changed(&f->gate);
	policy_unref(old);
	free(old_image);
	if (f->conn.inspect != NULL)
		inspect_policy_changed(&f->conn);
}

struct fix *
fix_new(const char *policy_text)
{
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)signal(SIGPIPE, SIG_IGN);
	current = f;
	f->gate.scratch = malloc(GATE_SCRATCH_BYTES);
	assert_non_null(f->gate.scratch);
	f->gate.base = event_base_new();
	f->gate.limits = (struct message_gate_limits){
		.connections = 100,
		.head_max_bytes = 32768,
		.head_timeout_ms = 10000,
		.idle_timeout_ms = 60000,
		.relay_idle_timeout_ms = 60000,
		.connect_timeout_ms = 10000,
		.tls_timeout_ms = 10000,
		.mint_per_second = 50,
		.leaf_cache = 512,
		.streams = 100,
		.wait_bytes = 65536,
		.large_bytes = 1 << 20,
		.idle_origins = 64,
		.decode_memory_bytes = 8 << 20,
		.sign_memory_bytes = 4 << 20,
		.decode_ratio = 1100,
		.push_commands_bytes = 65536,
		.push_look_bytes = 1 << 20,
		.lfs_batch_bytes = 1 << 16,
		.lfs_objects = 100,
		.lfs_grant_s = 3600,
		.push_refused_bytes = 8 << 20,
		.asks = 2,
		.ask_memory_bytes = 65536,
		.ask_timeout_ms = 5000,
	};
	f->gate.decode =
	    (struct decode_budget){ .max_bytes = 8 << 20, .ratio = 1100 };
	f->lease_field = f->lease_user = f->placeholder = f->strip = "";
	f->strip_response = f->grant_placeholder = f->grant_parameter = "";
	f->secret = "s3cr3t-canary-0123456789abcdef";
	f->lease_id = 7;
	f->grants = grants_new();
	assert_non_null(f->grants);
	fix_grant(f, NULL, 0, "");
	f->conn.fd = -1;
	f->guest.fd = -1;
	f->is_closed = true;
	load_policy(f, policy_text);
	f->counts = counts_memfd();
	assert_int_equal(meters_new(&f->gate, f->counts), 0);
	assert_int_equal(redirects_new(&f->gate), 0);
	assert_int_equal(holds_new(&f->gate), 0);
	make_tls(f);
	assert_int_equal(pool_new(&f->gate), 0);
	make_contexts(f);
	return f;
}

void
fix_close(struct fix *f)
{
	conn_close(&f->conn, REASON_NONE);
	fix_settle(f);
	fd_close(&f->conn.fd);
	if (event_initialized(&f->conn.timer))
		(void)event_del(&f->conn.timer);
	peer_done(&f->guest);
}

void
fix_free(struct fix *f)
{
	fix_close(f);
	pool_free(&f->gate);
	redirects_free(&f->gate);
	holds_free(&f->gate);
	meters_free(&f->gate);
	fd_close(&f->counts);
	tls_state_free(&f->gate);
	for (size_t i = 0; i < f->origin_count; i++)
		peer_done(&f->origins[i]);
	SSL_CTX_free(f->origin_tls);
	SSL_CTX_free(f->guest_tls);
	grants_free(f->grants);
	secret_done(&f->ca.both);
	secret_done(&f->roots.both);
	policy_unref(f->policy);
	free(f->image);
	event_base_free(f->gate.base);
	free(f->gate.scratch);
	free(f);
	current = NULL;
}

static void
on_conn_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void
open_conn(struct fix *f, enum conn_front front, uint16_t port, SSL *ssl,
    const char *sni)
{
	int fds[2];

	assert_true(f->is_closed);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fd_set_nonblock(fds[0], true), 0);
	f->conn = (struct conn){ .gate = &f->gate,
		.fd = fds[0],
		.state = CONN_INSPECT,
		.front = front,
		.port = port,
		.has_record_size_limit = f->has_record_size_limit };
	assert_int_equal(evtimer_assign(&f->conn.timer, f->gate.base,
			     on_conn_timer, f),
	    0);
	(void)snprintf(f->conn.sni, sizeof(f->conn.sni), "%s", sni);
	f->is_closed = false;
	f->has_restarted = false;
	peer_init(&f->guest, fds[1], ssl);
	inspect_start(&f->conn);
}

void
fix_open_http(struct fix *f)
{
	open_conn(f, CONN_FRONT_HTTP, 80, NULL, "");
}

void
fix_open_explicit(struct fix *f)
{
	open_conn(f, CONN_FRONT_EXPLICIT, 0, NULL, "");
}

void
fix_open_tls(struct fix *f, const char *sni)
{
	fix_open_tls_as(f, sni, sni);
}

void
fix_open_tls_as(struct fix *f, const char *sni, const char *seen)
{
	SSL *ssl = SSL_new(f->guest_tls);

	assert_non_null(ssl);
	assert_int_equal(SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
			     TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)sni),
	    1);
	assert_int_equal(SSL_set1_host(ssl, sni), 1);
	SSL_set_connect_state(ssl);
	open_conn(f, CONN_FRONT_TLS, 443, ssl, seen);
}

void
fix_open_tls_raw(struct fix *f, const char *seen)
{
	open_conn(f, CONN_FRONT_TLS, 443, NULL, seen);
}
