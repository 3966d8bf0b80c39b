/*
 * Dropped packets as records.
 */
#include "tests/unit/recorder_support.h"

#include "daemon/recorder_packet.h"
#include "wire/ip.h"

static const uint8_t udp[] = {
	0x45,
	0,
	0,
	29,
	0,
	0,
	0,
	0,
	64,
	17,
	0,
	0,
	100,
	64,
	0,
	2,
	192,
	0,
	2,
	1,
	0x30,
	0x39,
	0x01,
	0xbb,
	0,
	9,
	0,
	0,
	'x',
};
static const uint8_t ethernet[] = {
	2,
	0,
	0,
	0,
	0,
	1,
	2,
	0,
	0,
	0,
	0,
	2,
	8,
	0,
};

static void
says_who_sent_what_where(void **state)
{
	const struct nflog_packet packet = {
		.reason = REASON_PACKET_UDP,
		.ethertype = IP_ETHERTYPE_IPV4,
		.frame = { ethernet, sizeof(ethernet) },
		.payload = { udp, sizeof(udp) },
	};
	struct recorder_packet d;

	(void)state;
	recorder_packet_describe(&packet, &d);
	assert_int_equal(d.record.event, AUDIT_PACKET);
	assert_int_equal(d.record.verdict, ACTION_DENY);
	assert_int_equal(d.record.reason, REASON_PACKET_UDP);
	assert_string_equal(d.record.address, "192.0.2.1");
	assert_int_equal(d.record.port, 443);
	assert_true(span_is(d.record.detail,
	    "udp mac=02:00:00:00:00:02 from=100.64.0.2"));
}

static void
bears_any_bytes(void **state)
{
	(void)state;
	for (size_t len = 0; len <= sizeof(udp); len++) {
		for (unsigned int type = 0; type < 0x10000; type += 0x86) {
			const struct nflog_packet packet = {
				.reason = REASON_PACKET_OTHER,
				.ethertype = (uint16_t)type,
				.frame = { ethernet, len % 15 },
				.payload = { udp, len },
			};
			struct recorder_packet d;

			recorder_packet_describe(&packet, &d);
			assert_true(d.record.detail.len < AUDIT_DETAIL_MAX);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_who_sent_what_where),
		cmocka_unit_test(bears_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
