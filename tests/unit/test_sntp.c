#include "wire_rows.h"

#include <string.h>

#include "wire/sntp.h"

static const struct {
	const char *claim;
	uint8_t first;
	size_t len;
	enum sntp_status want;
} rows[] = {
	{ "version 4, mode 3", 0x23, 48, SNTP_OK },
	{ "version 3, mode 3, leap unknown", 0xdb, 48, SNTP_OK },
	{ "version 2", 0x13, 48, SNTP_VERSION },
	{ "version 5", 0x2b, 48, SNTP_VERSION },
	{ "symmetric active", 0x21, 48, SNTP_MODE },
	{ "an answer", 0x24, 48, SNTP_MODE },
	{ "control (monlist and its like)", 0x26, 48, SNTP_MODE },
	{ "private", 0x27, 48, SNTP_MODE },
	{ "47 bytes", 0x23, 47, SNTP_SIZE },
	{ "a key and a digest behind it", 0x23, 68, SNTP_SIZE },
	{ "nothing", 0x23, 0, SNTP_SIZE },
};

static void
takes_a_clients_packet_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		uint8_t packet[80] = { rows[i].first };
		struct sntp_query q;
		enum sntp_status s =
		    sntp_query_parse((struct span){ packet, rows[i].len }, &q);

		row_equal(rows[i].claim, s, rows[i].want);
		assert_true(strlen(sntp_status_text(s)) > 0);
	}
}

/* 2026-01-31T00:00:00.500Z is 3,978,806,400.5 s after 1900. */
static void
answers_with_the_wall_clock(void **state)
{
	static const uint8_t want[SNTP_PACKET_BYTES] = {
		0x24, 10, 6, 0xf6,                     /* version 4, mode 4 */
		0, 0, 0, 0, 0, 0, 0, 0x42,             /* delay, dispersion */
		0x7f, 0x7f, 1, 1,                      /* reference id */
		0xed, 0x27, 0xc4, 0x80, 0x80, 0, 0, 0, /* reference */
		1, 2, 3, 4, 5, 6, 7, 8,                /* originate */
		0xed, 0x27, 0xc4, 0x80, 0x80, 0, 0, 0, /* receive */
		0xed, 0x27, 0xc4, 0x81, 0, 0, 0, 0,    /* transmit */
	};
	uint8_t packet[48] = { 0x23, 0, 6, [40] = 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t answer[SNTP_PACKET_BYTES];
	struct sntp_query q;

	(void)state;
	assert_int_equal(sntp_query_parse((struct span){ packet,
					      sizeof(packet) },
			     &q),
	    SNTP_OK);
	sntp_answer_write(&q, UINT64_C(1769817600500), UINT64_C(1769817601000),
	    answer);
	assert_memory_equal(answer, want, sizeof(want));
}

/* Era 1 begins 2036-02-07T06:28:16Z: seconds start from 0 again. */
static void
wraps_in_2036(void **state)
{
	struct sntp_query q = { .version = 4 };
	uint8_t answer[SNTP_PACKET_BYTES];
	static const uint8_t zero[8] = { 0 };

	(void)state;
	sntp_answer_write(&q, UINT64_C(2085978496000), UINT64_C(2085978496000),
	    answer);
	assert_memory_equal(answer + 40, zero, 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_clients_packet_only),
		cmocka_unit_test(answers_with_the_wall_clock),
		cmocka_unit_test(wraps_in_2036),
	};

	return cmocka_run_group_tests_name("sntp", tests, NULL, NULL);
}
