#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_as_fips_180_4_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
