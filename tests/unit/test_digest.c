#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"

static void
hashes_as_fips_180_4_says(void **state)
{
	static const struct {
		const char *text, *want;
		size_t len;
	} rows[] = {
		{ "",
		    "e3b0c44298fc1c149afbf4c8996fb924"
		    "27ae41e4649b934ca495991b7852b855",
		    0 },
		{ "abc",
		    "ba7816bf8f01cfea414140de5dae2223"
		    "b00361a396177a9cb410ff61f20015ad",
		    3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t digest[DIGEST_BYTES];
		char hex[DIGEST_HEX_SIZE];

		assert_int_equal(digest_sha256(rows[i].text, rows[i].len,
				     digest),
		    0);
		digest_hex(digest, hex);
		assert_string_equal(hex, rows[i].want);
	}
}

/* RFC 4231, 4.2, 4.3 and 4.7: keys short, and longer than a block. */
static void
authenticates_as_rfc_4231_says(void **state)
{
	uint8_t long_key[DIGEST_KEY_MAX_BYTES];
	const struct {
		struct span key;
		const char *data, *want;
	} rows[] = {
		{ { long_key, 131 },
		    "Test Using Larger Than Block-Size Key - Hash Key First",
		    "60e431591ee0b67f0d8a26aacbf5b77f"
		    "8e0bc6213728c5140546040f0ee37f54" },
		{ SPAN("Jefe"), "what do ya want for nothing?",
		    "5bdcc146bf60754e6a042426089575c7"
		    "5a003f089d2739839dec58b964ec3843" },
	};
	const char *prefix = "Je";
	uint8_t mac[DIGEST_BYTES], again[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];

	(void)state;
	memset(long_key, 0xaa, sizeof(long_key));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(digest_hmac(rows[i].key, span_of(rows[i].data),
				     mac),
		    0);
		digest_hex(mac, hex);
		assert_string_equal(hex, rows[i].want);
	}
	assert_int_equal(digest_hmac_after(prefix, span_of("fe"),
			     span_of(rows[1].data), again),
	    0);
	assert_memory_equal(mac, again, sizeof(mac));
	assert_int_equal(digest_hmac_after(prefix,
			     (struct span){ long_key, 511 }, span_of(""), mac),
	    -E2BIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_as_fips_180_4_says),
		cmocka_unit_test(authenticates_as_rfc_4231_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
