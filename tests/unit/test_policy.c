#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "tests/unit/make_policy.h"

static void
tcp_hosts_have_addresses_of_their_own(void **state)
{
	static const char text[] =
	    POLICY_HEAD "[allow db]\nhost = db.example.org, cache.example.org\n"
			"scheme = tcp\nport = 5432, 6379\n"
			"[allow web]\nhost = web.example.org\n";
	struct policy *p = make_policy(text), *again = make_policy(text);
	const struct policy_pair pair = { p, NULL }, anew = { again, NULL };
	struct policy_tcp found;
	uint32_t db, cache;
	uint16_t ports[4];

	(void)state;
	assert_true(p != NULL && again != NULL);
	db = policy_tcp_address(&pair, "db.example.org");
	cache = policy_tcp_address(&pair, "cache.example.org");
	assert_int_equal(db >> 16, 0xc612);
	assert_int_equal(cache >> 16, 0xc612);
	assert_int_not_equal(db, cache);
	/* the address follows from the name, not from the compile */
	assert_int_equal(db, policy_tcp_address(&anew, "db.example.org"));
	assert_int_equal(policy_tcp_address(&pair, "web.example.org"), 0);
	assert_int_equal(policy_tcp_address(&pair, "x.example.org"), 0);
	assert_true(policy_tcp_find(&pair, db, 5432, &found));
	assert_string_equal(found.host, "db.example.org");
	assert_true(policy_tcp_find(&pair, cache, 6379, &found));
	assert_string_equal(found.host, "cache.example.org");
	assert_false(policy_tcp_find(&pair, db, 443, &found));
	assert_int_equal(policy_tcp_all(&pair, NULL, 0), 4);
	assert_int_equal(policy_ports(&pair, ports, 4), 3);
	assert_int_equal(ports[0], 443);
	assert_int_equal(ports[1], 5432);
	assert_int_equal(ports[2], 6379);
	assert_int_equal(policy_ports(&pair, ports, 1), 3);
	policy_unref(p);
	policy_unref(again);
}

static void
an_image_that_was_changed_is_refused(void **state)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = "t",
		.text =
		    span_of(POLICY_HEAD "[allow a]\nhost = a.example.org\n") };
	struct policy *p;
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(compile_policy(&in, r), 0);
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), 0);
	assert_string_equal(policy_file(p), "t");
	assert_int_equal(strlen(policy_digest(p)), 64);
	assert_int_equal(policy_rule_count(p), 1);
	assert_int_equal(policy_host_count(p), 1);
	policy_unref(policy_ref(p));
	policy_unref(p);
	assert_int_equal(policy_map_bytes(r->image, r->image_len - 1, &p),
	    -EBADMSG);
	assert_int_equal(policy_map_bytes(r->image, 10, &p), -EBADMSG);
	r->image[8]++;
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), -EPROTO);
	r->image[8]--;
	/* a count of the header */
	r->image[68]++;
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p),
	    -EBADMSG);
	/* not sealed */
	fd = memfd_create("x", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(policy_map(fd, &p), -EBADMSG);
	compile_result_done(r);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_hosts_have_addresses_of_their_own),
		cmocka_unit_test(an_image_that_was_changed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
