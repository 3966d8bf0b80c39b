/*
 * ClientHellos are built here from their parts, put into records of any size
 * and fed in any steps. Corpora hold those of real programs.
 */
#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/tls_hello.h"

/* Extensions, as bytes: type, length, data. */
#define X_SNI                                                                  \
	"\0\0\0\x0e\0\x0c\0\0\x09"                                             \
	"a.example"
#define X_ALPN_BOTH "\0\x10\0\x0e\0\x0c\x02h2\x08http/1.1"
#define X_ALPN_11 "\0\x10\0\x0b\0\x09\x08http/1.1"
#define X_VERSIONS "\0\x2b\0\x07\x06\xaa\xaa\x03\x04\x03\x03"
#define X_TICKET "\0\x23\0\x02xy"
#define X_NO_TICKET "\0\x23\0\0"
#define X_PSK "\0\x29\0\x01x"
#define X_EARLY "\0\x2a\0\0"
#define X_LIMIT "\0\x1c\0\x02\x40\x01"
#define X_ECH_OUTER "\xfe\x0d\0\x02\0x"
#define X_ECH_INNER "\xfe\x0d\0\x01\x01"
#define X_ECH_BAD "\xfe\x0d\0\0"
#define X_UNKNOWN "\x7a\x7a\0\x01x"

static uint8_t scratch[TLS_HELLO_MAX_BYTES];

/* A handshake message with these extensions, and pad bytes of padding. */
static void
write_hello(struct wr *w, struct span extensions, size_t pad)
{
	static const uint8_t random[32] = { 1 };
	size_t extra = pad > 0 ? 4 + pad : 0;

	wr_u8(w, 1);
	wr_u24(w, (uint32_t)(2 + 32 + 1 + 4 + 2 + 2 + extensions.len + extra));
	wr_u16(w, 0x0303);
	wr_bytes(w, random, sizeof(random));
	wr_u8(w, 0);
	wr_bytes(w, "\0\x02\x13\x01", 4);
	wr_bytes(w, "\x01\0", 2);
	wr_u16(w, (uint16_t)(extensions.len + extra));
	if (pad > 0) {
		wr_u16(w, 21); /* padding, RFC 7685 */
		wr_u16(w, (uint16_t)pad);
	}
	for (size_t i = 0; i < pad; i++)
		wr_u8(w, 0);
	wr_bytes(w, extensions.ptr, extensions.len);
}

static void
write_records(struct wr *w, struct span message, size_t record_bytes)
{
	struct rd r = rd_span(message);

	while (rd_left(&r) > 0) {
		size_t len =
		    rd_left(&r) < record_bytes ? rd_left(&r) : record_bytes;
		struct span part = rd_take(&r, len);

		wr_bytes(w, "\x16\x03\x01", 3);
		wr_span16(w, part);
	}
}

static enum tls_hello_status
feed(struct span in, size_t step, struct tls_hello *ret)
{
	struct tls_hello_scan scan = { .at = 0 };
	enum tls_hello_status s = TLS_HELLO_MORE;
	size_t have = 0;

	while (s == TLS_HELLO_MORE && have < in.len) {
		have = in.len - have > step ? have + step : in.len;
		s = tls_hello_parse(&scan, (struct span){ in.ptr, have },
		    scratch, ret);
	}
	return s;
}

static const struct {
	const char *claim;
	struct span extensions;
	enum tls_hello_status want;
} names[] = {
	{ "a name", BYTES(X_SNI), TLS_HELLO_OK },
	{ "a name behind others", BYTES(X_UNKNOWN X_ALPN_BOTH X_SNI),
	    TLS_HELLO_OK },
	{ "row 71: no name", BYTES(X_ALPN_BOTH), TLS_HELLO_NO_SNI },
	{ "row 71: an empty extension", BYTES("\0\0\0\0"),
	    TLS_HELLO_SNI_EMPTY },
	{ "row 71: an empty list", BYTES("\0\0\0\x02\0\0"),
	    TLS_HELLO_SNI_EMPTY },
	{ "row 71: an empty name", BYTES("\0\0\0\x05\0\x03\0\0\0"),
	    TLS_HELLO_SNI_EMPTY },
	{ "row 71: an address",
	    BYTES("\0\0\0\x0c\0\x0a\0\0\x07"
		  "1.2.3.4"),
	    TLS_HELLO_SNI_ADDRESS },
	{ "row 71: IPv6",
	    BYTES("\0\0\0\x08\0\x06\0\0\x03"
		  "::1"),
	    TLS_HELLO_SNI_ADDRESS },
	{ "row 18: an odd address",
	    BYTES("\0\0\0\x0a\0\x08\0\0\x05"
		  "127.1"),
	    TLS_HELLO_SNI_ADDRESS },
	{ "row 71: a final dot (RFC 6066 3)",
	    BYTES("\0\0\0\x0f\0\x0d\0\0\x0a"
		  "a.example."),
	    TLS_HELLO_SNI_NAME },
	{ "row 4: a NUL",
	    BYTES("\0\0\0\x0f\0\x0d\0\0\x0a"
		  "a\0.example"),
	    TLS_HELLO_SNI_NAME },
	{ "row 99: a wildcard",
	    BYTES("\0\0\0\x0e\0\x0c\0\0\x09"
		  "*.example"),
	    TLS_HELLO_SNI_NAME },
	{ "row 93: an unknown name type",
	    BYTES("\0\0\0\x0e\0\x0c\x01\0\x09"
		  "a.example"),
	    TLS_HELLO_SNI_TYPE },
	{ "row 93: two names",
	    BYTES("\0\0\0\x1a\0\x18\0\0\x09"
		  "a.example\0\0\x09"
		  "b.example"),
	    TLS_HELLO_SNI_NAMES },
	{ "row 93: two extensions", BYTES(X_SNI X_SNI), TLS_HELLO_SNI_TWICE },
	{ "row 93: three", BYTES(X_SNI X_SNI X_SNI), TLS_HELLO_SNI_TWICE },
	{ "a name longer than its list",
	    BYTES("\0\0\0\x0e\0\x0c\0\0\x0a"
		  "a.example"),
	    TLS_HELLO_MALFORMED },
	{ "a list longer than its extension",
	    BYTES("\0\0\0\x0e\0\x0d\0\0\x09"
		  "a.example"),
	    TLS_HELLO_MALFORMED },
	{ "bytes behind the list",
	    BYTES("\0\0\0\x0f\0\x0c\0\0\x09"
		  "a.examplex"),
	    TLS_HELLO_MALFORMED },
	{ "another extension twice", BYTES(X_SNI X_ALPN_11 X_ALPN_11),
	    TLS_HELLO_MALFORMED },
	{ "an unknown extension twice", BYTES(X_SNI X_UNKNOWN X_UNKNOWN),
	    TLS_HELLO_MALFORMED },
	{ "an extension past the end", BYTES(X_SNI "\0\x10\0\x05x"),
	    TLS_HELLO_MALFORMED },
	{ "an empty protocol name", BYTES(X_SNI "\0\x10\0\x03\0\x01\0"),
	    TLS_HELLO_MALFORMED },
	{ "half a version", BYTES(X_SNI "\0\x2b\0\x02\x01\x03"),
	    TLS_HELLO_MALFORMED },
	{ "early_data that is not empty", BYTES(X_SNI "\0\x2a\0\x01x"),
	    TLS_HELLO_MALFORMED },
};

/* Rows 90 and 91: any segments, any records. */
static void
judges_names_alike_however_split(void **state)
{
	static const size_t record_sizes[] = { 1, 2, 3, 40, 16384 };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		for (size_t k = 0; k < ROWS(record_sizes); k++) {
			uint8_t message[256], stream[2048];
			struct wr m = wr_init(message, sizeof(message));
			struct wr s = wr_init(stream, sizeof(stream));
			struct tls_hello hello;

			write_hello(&m, names[i].extensions, 0);
			write_records(&s, (struct span){ message, m.len },
			    record_sizes[k]);
			assert_true(wr_ok(&m) && wr_ok(&s));
			for (size_t step = 1; step < 50; step += 6)
				row_equal(names[i].claim,
				    feed((struct span){ stream, s.len }, step,
					&hello),
				    names[i].want);
		}
}

static struct tls_hello
hello_of(struct span extensions)
{
	uint8_t message[512], stream[512];
	struct wr m = wr_init(message, sizeof(message));
	struct wr s = wr_init(stream, sizeof(stream));
	struct tls_hello hello;

	write_hello(&m, extensions, 0);
	write_records(&s, (struct span){ message, m.len }, 16384);
	assert_int_equal(feed((struct span){ stream, s.len }, 512, &hello),
	    TLS_HELLO_OK);
	assert_int_equal(hello.raw_len, s.len);
	return hello;
}

static void
tells_what_is_offered(void **state)
{
	struct tls_hello h = hello_of((struct span)BYTES(X_UNKNOWN X_ALPN_BOTH
		X_VERSIONS X_TICKET X_EARLY X_ECH_OUTER X_LIMIT X_SNI X_PSK));

	(void)state;
	assert_string_equal(h.sni, "a.example");
	assert_int_equal(h.sni_status, HOST_NAME);
	assert_int_equal(h.legacy_version, 0x0303);
	assert_int_equal(h.max_version, 0x0304);
	assert_true(h.has_alpn && h.has_h2 && h.has_http11);
	assert_true(h.has_session_ticket && h.has_psk && h.has_early_data);
	assert_true(h.has_record_size_limit);
	assert_int_equal(h.ech, TLS_ECH_OUTER);
	h = hello_of((struct span)BYTES(X_SNI));
	assert_int_equal(h.max_version, 0x0303);
	assert_false(h.has_alpn || h.has_h2 || h.has_http11);
	assert_false(h.has_session_ticket || h.has_psk || h.has_early_data);
	assert_false(h.has_record_size_limit);
	assert_int_equal(h.ech, TLS_ECH_NONE);
	h = hello_of((struct span)BYTES(X_ALPN_11 X_NO_TICKET X_SNI));
	assert_true(h.has_alpn && !h.has_h2 && h.has_http11);
	assert_false(h.has_session_ticket);
	assert_int_equal(hello_of((struct span)BYTES(X_SNI X_ECH_INNER)).ech,
	    TLS_ECH_INNER);
	assert_int_equal(hello_of((struct span)BYTES(X_SNI X_ECH_BAD)).ech,
	    TLS_ECH_MALFORMED);
}

static const struct {
	const char *claim;
	struct span in;
	enum tls_hello_status want;
} streams[] = {
	{ "row 75: HTTP", BYTES("GET / HTTP/1.1\r\n"), TLS_HELLO_NOT_TLS },
	{ "row 75: SSH", BYTES("SSH-2.0-x\r\n"), TLS_HELLO_NOT_TLS },
	{ "row 75: SOCKS", BYTES("\x05\x01\x00"), TLS_HELLO_NOT_TLS },
	{ "SSL 2", BYTES("\x80\x2e\x01\x03\x01"), TLS_HELLO_NOT_TLS },
	{ "SSL 3, which TLS refuses by an alert of its own",
	    BYTES("\x16\x03\x00\x00\x01\x01"), TLS_HELLO_MORE },
	{ "TLS of no time", BYTES("\x16\x04\x00\x00\x01\x01"),
	    TLS_HELLO_NOT_TLS },
	{ "row 93: an alert first", BYTES("\x15\x03\x01\x00\x02\x01\x00"),
	    TLS_HELLO_ALERT },
	{ "row 93: an alert between two halves",
	    BYTES("\x16\x03\x01\x00\x01\x01\x15\x03\x01\x00\x02\x01\x00"),
	    TLS_HELLO_ALERT },
	{ "data between two halves",
	    BYTES("\x16\x03\x01\x00\x01\x01\x17\x03\x03\x00\x01x"),
	    TLS_HELLO_RECORD },
	{ "row 91: an empty record (RFC 8446 5.1)",
	    BYTES("\x16\x03\x01\x00\x00"), TLS_HELLO_RECORD },
	{ "a record over 2^14", BYTES("\x16\x03\x01\x40\x01"),
	    TLS_HELLO_RECORD },
	{ "row 93: a hello over 16 KiB",
	    BYTES("\x16\x03\x01\x00\x04\x01\x00\x40\x00"), TLS_HELLO_TOO_BIG },
	{ "another handshake message",
	    BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00"),
	    TLS_HELLO_MALFORMED },
	{ "an empty hello", BYTES("\x16\x03\x01\x00\x04\x01\x00\x00\x00"),
	    TLS_HELLO_MALFORMED },
	{ "bytes behind it in its record",
	    BYTES("\x16\x03\x01\x00\x06\x01\x00\x00\x01xx"),
	    TLS_HELLO_MALFORMED },
	{ "nothing yet", BYTES(""), TLS_HELLO_MORE },
	{ "half a header", BYTES("\x16\x03\x01"), TLS_HELLO_MORE },
};

static void
refuses_other_streams_however_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(streams); i++)
		for (size_t step = 1; step < 20; step++) {
			struct tls_hello hello;

			row_equal(streams[i].claim,
			    feed(streams[i].in, step, &hello), streams[i].want);
		}
}

/* Row 92: a post-quantum key share pushes the name past the first segment. */
static void
finds_a_name_behind_much_else(void **state)
{
	static uint8_t message[TLS_HELLO_MAX_BYTES];
	static uint8_t stream[TLS_HELLO_MAX_BYTES + 5];
	struct wr m = wr_init(message, sizeof(message));
	struct wr s = wr_init(stream, sizeof(stream));
	struct tls_hello hello;

	(void)state;
	write_hello(&m, (struct span)BYTES(X_SNI),
	    TLS_HELLO_MAX_BYTES - 4 - 43 - 18 - 4);
	assert_true(wr_ok(&m));
	assert_int_equal(m.len, TLS_HELLO_MAX_BYTES);
	write_records(&s, (struct span){ message, m.len }, 16384);
	assert_int_equal(feed((struct span){ stream, s.len }, 1448, &hello),
	    TLS_HELLO_OK);
	assert_string_equal(hello.sni, "a.example");
}

/* 16 KiB in records of one byte are 96 KiB of stream. */
static void
bounds_what_records_may_cost(void **state)
{
	static uint8_t message[TLS_HELLO_MAX_BYTES];
	static uint8_t stream[TLS_HELLO_MAX_BYTES * 6];
	struct wr m = wr_init(message, sizeof(message));
	struct wr s = wr_init(stream, sizeof(stream));
	struct tls_hello hello;

	(void)state;
	write_hello(&m, (struct span)BYTES(X_SNI), 16000);
	write_records(&s, (struct span){ message, m.len }, 1);
	assert_true(s.len > TLS_HELLO_RAW_MAX_BYTES);
	assert_int_equal(feed((struct span){ stream, s.len }, 1, &hello),
	    TLS_HELLO_TOO_BIG);
	assert_int_equal(feed((struct span){ stream, s.len }, s.len, &hello),
	    TLS_HELLO_TOO_BIG);
}

static void
says_each_outcome_in_words_of_its_own(void **state)
{
	(void)state;
	for (int s = 0; s < TLS_HELLO_STATUS_COUNT; s++)
		for (int t = 0; t < s; t++)
			assert_string_not_equal(tls_hello_status_text(
						    (enum tls_hello_status)s),
			    tls_hello_status_text((enum tls_hello_status)t));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_names_alike_however_split),
		cmocka_unit_test(tells_what_is_offered),
		cmocka_unit_test(refuses_other_streams_however_split),
		cmocka_unit_test(finds_a_name_behind_much_else),
		cmocka_unit_test(bounds_what_records_may_cost),
		cmocka_unit_test(says_each_outcome_in_words_of_its_own),
	};

	return cmocka_run_group_tests_name("tls_hello", tests, NULL, NULL);
}
