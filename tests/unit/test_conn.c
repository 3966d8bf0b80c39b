/*
 * How a guest's connection is judged, from accept to relay, inspection or end.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/fd.h"
#include "base/message.h"
#include "client_hello.h"
#include "loop_pause.h"
#include "proxy/conn_peek.h"
#include "proxy/conn_private.h"
#include "proxy/synth.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow through]\nhost = through.example.org\nport = PORT\n"           \
	"tls = passthrough\n"                                                  \
	"[allow look]\nhost = look.example.org\nport = PORT\n"                 \
	"[allow plain]\nhost = plain.example.org\nport = PORT\n"               \
	"scheme = http\nmethod = GET\n"                                        \
	"[allow db]\nhost = db.example.org\nport = PORT\nscheme = tcp\n"

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	fixture_free(*state);
	return 0;
}

static bool
was_inspected(struct fixture *f, void *arg)
{
	(void)arg;
	return f->inspect_count > 0;
}

static bool
was_dialled(struct fixture *f, void *arg)
{
	(void)arg;
	return f->dial_count > 0;
}

static bool
has_open_connection(struct fixture *f, void *arg)
{
	(void)arg;
	return f->gate.conn_count > 0;
}

/* Says hello and reads what comes back until the end. */
static ssize_t
hello_and_read(struct fixture *f, int guest, const char *name, bool has_ech,
    uint8_t *buf, size_t size)
{
	uint8_t hello[512];
	size_t len = client_hello(name, has_ech, hello);

	fixture_write(guest, hello, len);
	return fixture_read(f, guest, buf, size);
}

static void
joins_a_passthrough_host_to_its_origin(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[512];
	size_t len = client_hello("through.example.org", false, hello);
	int guest = fixture_guest_here(f), origin;

	fixture_write(guest, hello, len);
	origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, origin, got, len), (ssize_t)len);
	assert_memory_equal(got, hello, len);
	fixture_write(origin, "server hello", 12);
	assert_int_equal(fixture_read(f, guest, got, 12), 12);
	assert_memory_equal(got, "server hello", 12);
	assert_string_equal(f->dials[0].host, "through.example.org");
	assert_int_equal(f->dials[0].port, f->port);
	assert_int_equal(f->inspect_count, 0);
	(void)close(guest);
	(void)close(origin);
	fixture_wait_closed(f);
}

static void
records_a_relay_when_it_ends(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[512];
	size_t len = client_hello("through.example.org", false, hello);
	int guest = fixture_guest_here(f), origin;
	const struct fixture_record *rec;

	fixture_write(guest, hello, len);
	origin = fixture_accept(f);
	fixture_write(origin, "12345", 5);
	assert_int_equal(fixture_read(f, guest, got, 5), 5);
	assert_int_equal(f->record_count, 0);
	(void)close(guest);
	(void)close(origin);
	rec = fixture_wait_record(f, 1);
	assert_int_equal(rec->r.event, AUDIT_CONNECT);
	assert_int_equal(rec->r.verdict, ACTION_ALLOW);
	assert_string_equal(rec->r.rule, "through");
	assert_string_equal(rec->host, "through.example.org");
	assert_string_equal(rec->r.file, "tapward.ini");
	assert_int_equal(rec->r.up, len);
	assert_int_equal(rec->r.down, 5);
	assert_string_equal(rec->r.address, "192.0.2.1:443");
}

/* Row 90 of the escapes, and what it costs: no spinning between the bytes. */
static void
waits_for_a_hello_that_comes_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[512];
	size_t len = client_hello("through.example.org", false, hello);
	int guest = fixture_guest_here(f), origin;

	for (size_t i = 0; i < len; i++) {
		assert_int_equal(f->dial_count, 0);
		fixture_write(guest, hello + i, 1);
		fixture_turn(f);
		fixture_turn(f);
	}
	origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, origin, got, len), (ssize_t)len);
	assert_memory_equal(got, hello, len);
	(void)close(guest);
	(void)close(origin);
}

static void
does_not_spin_on_half_a_hello(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	int guest = fixture_guest_here(f);

	(void)client_hello("through.example.org", false, hello);
	fixture_write(guest, hello, 40);
	/* Each turn waits for one event; the bytes are one, the rest is time.
	 */
	assert_in_range(loop_pause(f->base, 50), 1, 5);
	assert_int_equal(f->gate.conn_count, 1);
	(void)close(guest);
}

static void
ends_half_a_hello_by_the_time_of_a_handshake(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	int guest;

	f->gate.limits.tls_timeout_ms = 20;
	guest = fixture_guest_here(f);
	(void)client_hello("through.example.org", false, hello);
	fixture_write(guest, hello, 40);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason, REASON_TIMEOUT);
	fixture_wait_closed(f);
	(void)close(guest);
}

static void
takes_no_byte_from_what_is_inspected(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[512];
	size_t len = client_hello("look.example.org", false, hello);
	int guest = fixture_guest_here(f);

	fixture_write(guest, hello, len);
	fixture_until(f, was_inspected, NULL);
	assert_int_equal(f->inspected->front, CONN_FRONT_TLS);
	assert_string_equal(f->inspected->sni, "look.example.org");
	assert_int_equal(event_pending(&f->inspected->event, EV_READ, NULL), 0);
	assert_int_equal(recv(f->inspected->fd, got, sizeof(got), MSG_DONTWAIT),
	    len);
	assert_memory_equal(got, hello, len);
	assert_int_equal(f->dial_count, 0);
	(void)close(guest);
}

static void
inspects_a_denied_name_so_that_it_is_told_why(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	size_t len = client_hello("evil.example.org", false, hello);
	int guest = fixture_guest_here(f);

	fixture_write(guest, hello, len);
	fixture_until(f, was_inspected, NULL);
	assert_string_equal(f->inspected->sni, "evil.example.org");
	conn_close(f->inspected, REASON_NONE);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason, REASON_NO_RULE);
	assert_int_equal(f->records[0].r.verdict, ACTION_DENY);
	assert_int_equal(f->dial_count, 0);
	(void)close(guest);
}

static void
refuses_what_it_cannot_judge(void **state)
{
	static const struct {
		const char *claim, *name;
		bool has_ech;
		enum reason reason;
		uint8_t alert;
	} rows[] = {
		{ "no SNI", NULL, false, REASON_NO_SNI,
		    ALERT_MISSING_EXTENSION },
		{ "an address", "192.0.2.1", false, REASON_NO_SNI,
		    ALERT_UNRECOGNIZED_NAME },
		{ "an underscore", "a_b.example.org", false, REASON_NO_SNI,
		    ALERT_UNRECOGNIZED_NAME },
		{ "a single label", "metadata", false, REASON_NO_SNI,
		    ALERT_UNRECOGNIZED_NAME },
		{ "localhost", "localhost", false, REASON_NO_SNI,
		    ALERT_UNRECOGNIZED_NAME },
		{ "ECH on a passthrough host", "through.example.org", true,
		    REASON_ECH, ALERT_HANDSHAKE_FAILURE },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint8_t want[] = { 21, 3, 1, 0, 2, 2, rows[i].alert };
		uint8_t got[64];
		int guest = fixture_guest_here(f);
		const struct fixture_record *rec;

		print_message("%s\n", rows[i].claim);
		assert_int_equal(hello_and_read(f, guest, rows[i].name,
				     rows[i].has_ech, got, sizeof(got)),
		    sizeof(want));
		assert_memory_equal(got, want, sizeof(want));
		rec = fixture_wait_record(f, i + 1);
		assert_int_equal(rec->r.reason, rows[i].reason);
		assert_int_equal(rec->r.verdict, ACTION_DENY);
		(void)close(guest);
	}
	assert_int_equal(f->dial_count, 0);
	assert_int_equal(f->inspect_count, 0);
}

static void
lets_ech_through_where_the_host_says_so(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	size_t len = client_hello("through.example.org", true, hello);
	int guest = fixture_guest_here(f);

	f->gate.passthrough_ech = true;
	fixture_write(guest, hello, len);
	fixture_until(f, was_dialled, NULL);
	(void)close(guest);
}

static void
inspects_ech_like_any_hello(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	size_t len = client_hello("look.example.org", true, hello);
	int guest = fixture_guest_here(f);

	fixture_write(guest, hello, len);
	fixture_until(f, was_inspected, NULL);
	(void)close(guest);
}

/* Row 75: the port decides what is spoken there. */
static void
closes_what_is_not_tls(void **state)
{
	static const char *const rows[] = { "GET / HTTP/1.1\r\n\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n", "\x05\x01" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int guest = fixture_guest_here(f);
		uint8_t got[16];

		fixture_write(guest, rows[i], strlen(rows[i]));
		assert_int_equal(fixture_read(f, guest, got, sizeof(got)),
		    -ECONNRESET);
		assert_int_equal(fixture_wait_record(f, i + 1)->r.reason,
		    REASON_NOT_HTTP);
		(void)close(guest);
	}
	assert_int_equal(f->inspect_count, 0);
}

static void
ends_with_a_guest_that_leaves_within_its_hello(void **state)
{
	static const size_t lens[] = { 0, 1, 60 };
	struct fixture *f = *state;
	uint8_t hello[512];

	(void)client_hello("through.example.org", false, hello);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		int guest = fixture_guest_here(f);

		if (lens[i] > 0)
			fixture_write(guest, hello, lens[i]);
		(void)close(guest);
		assert_int_equal(fixture_wait_record(f, i + 1)->r.reason,
		    REASON_NO_SNI);
		fixture_wait_closed(f);
	}
}

static void
ends_a_guest_that_takes_too_long(void **state)
{
	struct fixture *f = *state;
	int guest = fixture_guest_here(f);
	uint8_t got[16];

	fixture_until(f, has_open_connection, NULL);
	conn_set_timeout(TAILQ_FIRST(&f->gate.conns->open), 10, REASON_TIMEOUT);
	assert_int_equal(fixture_read(f, guest, got, 16), -ECONNRESET);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason, REASON_TIMEOUT);
	(void)close(guest);
}

/* A CONNECT is answered by inspect.c; here the connection comes back. */
static struct conn *
after_connect(struct fixture *f, int *ret_guest, const char *name)
{
	struct conn *c;
	uint32_t address = synth_take(f->gate.synth, "plain.example.org");

	*ret_guest = fixture_guest(address, f->port);
	fixture_until(f, was_inspected, NULL);
	c = f->inspected;
	conn_restart_as_tls(c, name, f->port);
	return c;
}

/* Row 68: CONNECT to one name, SNI of another. */
static void
compares_sni_with_the_name_of_the_connect(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[16];
	size_t len = client_hello("through.example.org", false, hello);
	int guest;

	(void)after_connect(f, &guest, "look.example.org");
	fixture_write(guest, hello, len);
	assert_int_equal(fixture_read(f, guest, got, sizeof(got)), 7);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_HOST_MISMATCH);
	assert_int_equal(f->dial_count, 0);
	(void)close(guest);
}

static void
goes_on_with_tls_after_a_connect(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	size_t len = client_hello("through.example.org", false, hello);
	int guest;
	struct conn *c = after_connect(f, &guest, "through.example.org");

	assert_int_equal(c->state, CONN_PEEK);
	assert_int_equal(c->front, CONN_FRONT_TLS);
	fixture_write(guest, hello, len);
	fixture_until(f, was_dialled, NULL);
	assert_string_equal(f->dials[0].host, "through.example.org");
	(void)close(guest);
}

static void
joins_a_tcp_host_right_after_a_connect(void **state)
{
	struct fixture *f = *state;
	int guest, origin;
	struct conn *c = after_connect(f, &guest, "db.example.org");
	uint8_t got[6];

	assert_int_equal(c->front, CONN_FRONT_TCP);
	origin = fixture_accept(f);
	fixture_write(origin, "220 hi", 6);
	assert_int_equal(fixture_read(f, guest, got, 6), 6);
	(void)close(guest);
	(void)close(origin);
}

static uint32_t
address_of_db(struct fixture *f)
{
	return synth_from_policy(f->gate.synth,
	    policy_tcp_address(&f->gate.pair, "db.example.org"));
}

static void
joins_a_reserved_address_where_the_origin_speaks_first(void **state)
{
	struct fixture *f = *state;
	int guest = fixture_guest(address_of_db(f), f->port), origin;
	uint8_t got[6];

	origin = fixture_accept(f);
	assert_string_equal(f->dials[0].host, "db.example.org");
	assert_int_equal(f->dials[0].scheme, SCHEME_TCP);
	fixture_write(origin, "220 hi", 6);
	assert_int_equal(fixture_read(f, guest, got, 6), 6);
	(void)close(guest);
	(void)close(origin);
	assert_string_equal(fixture_wait_record(f, 1)->host, "db.example.org");
}

/* The address was given for a name, and says nothing about the connection. */
static void
takes_no_address_as_evidence(void **state)
{
	struct fixture *f = *state;
	uint32_t address = synth_take(f->gate.synth, "through.example.org");
	uint8_t hello[512];
	size_t len = client_hello("evil.example.org", false, hello);
	int guest = fixture_guest(address, f->port);

	fixture_write(guest, hello, len);
	fixture_until(f, was_inspected, NULL);
	assert_string_equal(f->inspected->sni, "evil.example.org");
	assert_int_equal(f->dial_count, 0);
	(void)close(guest);
}

static void
finds_the_scheme_of_a_port_by_the_name_that_was_asked_for(void **state)
{
	struct fixture *f = *state;
	uint32_t address = synth_take(f->gate.synth, "plain.example.org");
	int guest = fixture_guest(address, f->port);

	fixture_until(f, was_inspected, NULL);
	assert_int_equal(f->inspected->front, CONN_FRONT_HTTP);
	(void)close(guest);
}

static void
resets_connections_over_the_cap(void **state)
{
	struct fixture *f = *state;
	int held[4], guest;
	uint8_t got[1];

	f->gate.limits.connections = 4;
	for (int i = 0; i < 4; i++)
		held[i] = fixture_guest_here(f);
	for (int i = 0; i < 20; i++) {
		guest = fixture_guest_here(f);
		assert_int_equal(fixture_read(f, guest, got, 1), -ECONNRESET);
		(void)close(guest);
	}
	assert_int_equal(f->gate.conn_count, 4);
	/* Twenty were refused, the first is told at once, the rest later. */
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_LIMIT_CONNECTIONS);
	assert_int_equal(f->record_count, 1);
	assert_string_equal(f->records[0].detail, "1 connections refused");
	for (int i = 0; i < 4; i++)
		(void)close(held[i]);
	fixture_wait_closed(f);
	f->gate.conns->over_cap_ms -= 1000;
	guest = fixture_guest_here(f);
	fixture_until(f, has_open_connection, NULL);
	/* After one for each that was held. */
	assert_string_equal(fixture_wait_record(f, 6)->detail,
	    "19 connections refused");
	(void)close(guest);
}

static void
tells_the_guest_that_the_dialler_refused(void **state)
{
	static const struct {
		enum reason reason;
		uint8_t alert;
	} rows[] = {
		{ REASON_PRIVATE_ADDRESS, ALERT_ACCESS_DENIED },
		{ REASON_RESOLVE_FAILED, ALERT_INTERNAL_ERROR },
		{ REASON_ORIGIN_UNREACHABLE, ALERT_INTERNAL_ERROR },
	};
	struct fixture *f = *state;

	f->dialling = FIXTURE_DIAL_REFUSE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int guest = fixture_guest_here(f);
		const struct fixture_record *rec;
		uint8_t got[16];

		f->refusal = rows[i].reason;
		assert_int_equal(hello_and_read(f, guest, "through.example.org",
				     false, got, 16),
		    7);
		assert_int_equal(got[6], rows[i].alert);
		rec = fixture_wait_record(f, i + 1);
		assert_int_equal(rec->r.reason, rows[i].reason);
		assert_int_equal(rec->r.verdict, ACTION_DENY);
		assert_string_equal(rec->r.address, "192.0.2.1:443");
		(void)close(guest);
	}
}

static void
refuses_while_the_dialler_is_away(void **state)
{
	struct fixture *f = *state;
	int guest = fixture_guest_here(f);
	uint8_t got[16];

	chan_free(f->dialler);
	f->dialler = NULL;
	assert_int_equal(hello_and_read(f, guest, "through.example.org", false,
			     got, 16),
	    7);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_ORIGIN_UNREACHABLE);
	(void)close(guest);
}

static void
begins_nothing_that_cannot_be_recorded(void **state)
{
	struct fixture *f = *state;
	int guest = fixture_guest_here(f);
	uint8_t full = 0, got[16];
	struct wr w = { .buf = &full, .size = 1, .len = 1 };

	assert_int_equal(chan_send(f->recorder, MSG_AUDIT_STATE, 0, &w, NULL,
			     0),
	    0);
	fixture_turn(f);
	assert_int_equal(hello_and_read(f, guest, "through.example.org", false,
			     got, 16),
	    7);
	assert_int_equal(f->dial_count, 0);
	(void)close(guest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(joins_a_passthrough_host_to_its_origin),
		TEST(records_a_relay_when_it_ends),
		TEST(waits_for_a_hello_that_comes_byte_by_byte),
		TEST(does_not_spin_on_half_a_hello),
		TEST(ends_half_a_hello_by_the_time_of_a_handshake),
		TEST(takes_no_byte_from_what_is_inspected),
		TEST(inspects_a_denied_name_so_that_it_is_told_why),
		TEST(refuses_what_it_cannot_judge),
		TEST(lets_ech_through_where_the_host_says_so),
		TEST(inspects_ech_like_any_hello),
		TEST(closes_what_is_not_tls),
		TEST(ends_with_a_guest_that_leaves_within_its_hello),
		TEST(ends_a_guest_that_takes_too_long),
		TEST(compares_sni_with_the_name_of_the_connect),
		TEST(goes_on_with_tls_after_a_connect),
		TEST(joins_a_tcp_host_right_after_a_connect),
		TEST(joins_a_reserved_address_where_the_origin_speaks_first),
		TEST(takes_no_address_as_evidence),
		TEST(finds_the_scheme_of_a_port_by_the_name_that_was_asked_for),
		TEST(resets_connections_over_the_cap),
		TEST(tells_the_guest_that_the_dialler_refused),
		TEST(refuses_while_the_dialler_is_away),
		TEST(begins_nothing_that_cannot_be_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
