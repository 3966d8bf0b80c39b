/*
 * What the broker signs for a gate: the two texts of TLS, and nothing that is
 * nearly one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proof_support.h"
#include "wire/tls_proof.h"

static void
a_proof_of_tls_13_is_64_blanks_a_context_and_a_digest(void **state)
{
	uint8_t buf[PROOF_MAX];
	char host[HOST_SIZE];

	(void)state;
	for (size_t len = 0; len <= 64; len++)
		assert_int_equal(tls_proof_read(proof_13(buf, len), host),
		    len == 32 || len == 48 ? TLS_PROOF_13 : TLS_PROOF_NONE);
	/* Each byte before the digest counts, that of the server's, too. */
	for (size_t i = 0; i < 98; i++) {
		struct span s = proof_13(buf, 32);

		buf[i] ^= 1;
		assert_int_equal(tls_proof_read(s, host), TLS_PROOF_NONE);
	}
}

static const struct {
	const char *claim, *host, *types;
	bool is_proof;
} rows[] = {
	{ "a whole handshake", "a.example", PROOF_12, true },
	{ "with the state of the certificate", "a.example",
	    "\x02\x0b\x16\x0c\x0d\x0e\x0b\x10", true },
	{ "without an ephemeral key", "a.example", "\x02\x0b\x0d\x0e\x0b\x10",
	    true },
	{ "nothing behind the first message", "a.example", "", false },
	{ "no certificate is asked for", "a.example",
	    "\x02\x0b\x0c\x0e\x0b\x10", false },
	{ "none is shown", "a.example", "\x02\x0b\x0c\x0d\x0e\x10", false },
	{ "it goes on", "a.example", PROOF_12 "\x0f", false },
	{ "a message twice", "a.example", "\x02\x02\x0b\x0c\x0d\x0e\x0b\x10",
	    false },
	{ "in another order", "a.example", "\x0b\x02\x0c\x0d\x0e\x0b\x10",
	    false },
	{ "it ends with the shown certificate", "a.example",
	    "\x02\x0b\x0c\x0d\x0e\x0b", false },
	{ "it names an address", "192.0.2.1", PROOF_12, false },
	{ "it names nobody", "", PROOF_12, false },
};

static void
a_proof_of_tls_12_is_a_handshake_that_names_its_host(void **state)
{
	uint8_t buf[PROOF_MAX];
	char host[HOST_SIZE];
	struct span s;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s = proof_12(buf, rows[i].host, rows[i].types);
		if (tls_proof_read(s, host) !=
		    (rows[i].is_proof ? TLS_PROOF_12 : TLS_PROOF_NONE))
			fail_msg("%s", rows[i].claim);
	}
	s = proof_12(buf, "B.Example", PROOF_12);
	assert_int_equal(tls_proof_read(s, host), TLS_PROOF_12);
	assert_string_equal(host, "b.example");
	/* No part of it is one, and nothing else may come first. */
	for (size_t len = 0; len < s.len; len++)
		assert_int_equal(tls_proof_read((struct span){ buf, len },
				     host),
		    TLS_PROOF_NONE);
	for (size_t i = 1; i < s.len; i++)
		assert_int_equal(tls_proof_read((struct span){ buf + i,
						    s.len - i },
				     host),
		    TLS_PROOF_NONE);
}

static void
a_scheme_is_one_that_tls_has_for_rsa_or_ecdsa(void **state)
{
	unsigned int count = 0;

	(void)state;
	for (unsigned int code = 0; code <= 0xffff; code++)
		count += tls_scheme_find((uint16_t)code) != NULL ? 1 : 0;
	assert_int_equal(count, 9);
	/* SHA-1 and MD5, and PKCS #1 v1.5 in TLS 1.3. */
	assert_null(tls_scheme_find(0x0201));
	assert_null(tls_scheme_find(0x0203));
	assert_false(tls_scheme_find(0x0401)->is_tls13);
	assert_true(tls_scheme_find(0x0804)->is_tls13);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_proof_of_tls_13_is_64_blanks_a_context_and_a_digest),
		cmocka_unit_test(
		    a_proof_of_tls_12_is_a_handshake_that_names_its_host),
		cmocka_unit_test(a_scheme_is_one_that_tls_has_for_rsa_or_ecdsa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
