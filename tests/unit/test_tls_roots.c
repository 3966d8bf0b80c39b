/*
 * Private CAs in a gate: by whom a host is believed, and what becomes of
 * connections and sessions when that changes.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "proxy/roots.h"
#include "proxy/tls.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\nhost = api.example.org, web.example.org\n"

#define GET "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

/* Roots as a reload gives them: a CA for all, and one for some hosts. */
static void
give_roots(struct fix *f, const struct ca_made *public,
    const struct ca_made *private, const char *pattern)
{
	struct message_ca_set set = { .name = "corp",
		.is_only = true,
		.host_count = 1 };
	const struct roots_source source = { &set,
		{ private->cert, private->cert_len } };
	AUTO_CLOSE int fd = -1;
	AUTO_FREE uint8_t *image = NULL;
	uint32_t count;
	char text[64];
	size_t len;

	(void)snprintf(set.hosts[0], sizeof(set.hosts[0]), "%s", pattern);
	assert_int_equal(roots_build_sets((struct span){ public->cert,
					      public->cert_len },
			     &source, 1, &image, &len, &count, text,
			     sizeof(text)),
	    0);
	assert_int_equal(fd_memfd_sealed("roots", image, len, &fd), 0);
	assert_int_equal(tls_state_set_roots(&f->gate, fd), 0);
}

/* f's origins are signed by f->roots; which of the hosts is believed? */
static const struct {
	const char *claim;
	bool is_private; /* f->roots is that of the pattern */
	const char *pattern;
	bool is_let_through; /* api.example.org */
} private_cas[] = {
	{ "its own CA counts", true, "api.example.org", true },
	{ "its own CA counts, by a star", true, "*.example.org", true },
	{ "that of another host does not", true, "web.example.org", false },
	{ "public ones do not", false, "api.example.org", false },
	{ "elsewhere public ones do", false, "web.example.org", true },
};

static void
a_host_with_a_ca_of_its_own_is_verified_by_that(void **state)
{
	struct fix *f = *state;
	struct ca_made other;
	struct peer *o;

	assert_int_equal(ca_make("other", 3600, &other), 0);
	for (size_t i = 0; i < sizeof(private_cas) / sizeof(private_cas[0]);
	     i++) {
		const bool is_private = private_cas[i].is_private;

		give_roots(f, is_private ? &other : &f->roots,
		    is_private ? &f->roots : &other, private_cas[i].pattern);
		fix_open_tls(f, "api.example.org");
		peer_say(&f->guest, GET);
		if (private_cas[i].is_let_through) {
			o = fix_origin(f, 0);
			fix_until(f, peer_has(o, "\r\n\r\n"));
		} else {
			fix_until(f,
			    peer_has(&f->guest,
				"Tapward-Reason: origin-tls\r\n"));
			if (f->origins[0].in_len != 0)
				fail_msg("%s", private_cas[i].claim);
		}
		fix_close(f);
		fix_forget_origins(f);
	}
	secret_done(&other.both);
}

/* New roots while a request is on its way: it ends, and nothing follows it. */
static void
what_older_roots_vouched_for_serves_nothing_new(void **state)
{
	struct fix *f = *state;
	struct ca_made other;
	struct peer *o;

	assert_int_equal(ca_make("other", 3600, &other), 0);
	for (size_t i = 0; i < 2; i++) {
		fix_open_tls(f, "api.example.org");
		peer_say(&f->guest, GET);
		o = fix_origin(f, i);
		fix_until(f, peer_has(o, "\r\n\r\n"));
		/* Neither the connection nor its session came again. */
		assert_int_equal(SSL_session_reused(o->ssl), 0);
		give_roots(f, &f->roots, &other, "web.example.org");
		peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		fix_until(f, peer_has(&f->guest, "ok"));
		fix_close(f);
	}
	secret_done(&other.both);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_host_with_a_ca_of_its_own_is_verified_by_that),
		TEST(what_older_roots_vouched_for_serves_nothing_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
