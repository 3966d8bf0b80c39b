#include "wire_rows.h"

#include <string.h>

#include "wire/proxy_answer.h"

#define OK "HTTP/1.1 200 Connection established\r\n"
#define END "\r\n"

static const struct {
	const char *claim;
	struct span bytes;
	enum proxy_answer_status want;
	unsigned int status;
	size_t behind; /* bytes that are not of the head */
} rows[] = {
	{ "a tunnel", BYTES(OK END), PROXY_ANSWER_OPEN, 200, 0 },
	{ "by HTTP/1.0, as tinyproxy", BYTES("HTTP/1.0 200 OK\r\n" END),
	    PROXY_ANSWER_OPEN, 200, 0 },
	{ "any 2xx", BYTES("HTTP/1.1 299 Odd\r\n" END), PROXY_ANSWER_OPEN, 299,
	    0 },
	{ "what the origin says at once is not the head's",
	    BYTES(OK "Via: x\r\n" END "220 mail\r\n"), PROXY_ANSWER_OPEN, 200,
	    10 },
	{ "RFC 9110 9.3.6: a length of a tunnel means nothing",
	    BYTES(OK "Content-Length: 3\r\n" END "abc"), PROXY_ANSWER_OPEN, 200,
	    3 },
	{ "nor does a coding", BYTES(OK "Transfer-Encoding: chunked\r\n" END),
	    PROXY_ANSWER_OPEN, 200, 0 },
	{ "length and coding, which can be read in two ways",
	    BYTES(OK "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n" END),
	    PROXY_ANSWER_BAD, 0, 0 },
	{ "two lengths",
	    BYTES(OK "Content-Length: 3\r\nContent-Length: 4\r\n" END),
	    PROXY_ANSWER_BAD, 0, 0 },
	{ "a login that is wrong",
	    BYTES("HTTP/1.1 407 Proxy Authentication Required\r\n"
		  "Proxy-Authenticate: Basic realm=\"x\"\r\n" END "no"),
	    PROXY_ANSWER_REFUSED, 407, 2 },
	{ "a refusal", BYTES("HTTP/1.1 403 Forbidden\r\n" END),
	    PROXY_ANSWER_REFUSED, 403, 0 },
	{ "a redirect is a refusal",
	    BYTES("HTTP/1.1 302 Found\r\nLocation: http://x/\r\n" END),
	    PROXY_ANSWER_REFUSED, 302, 0 },
	{ "an origin that is away", BYTES("HTTP/1.1 502 Bad Gateway\r\n" END),
	    PROXY_ANSWER_REFUSED, 502, 0 },
	{ "an interim answer, and a tunnel behind it",
	    BYTES("HTTP/1.1 100 Continue\r\n" END OK END), PROXY_ANSWER_BAD, 0,
	    0 },
	{ "101, which nobody asked for",
	    BYTES("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n" END),
	    PROXY_ANSWER_BAD, 0, 0 },
	{ "204, a tunnel of nothing", BYTES("HTTP/1.1 204 No Content\r\n" END),
	    PROXY_ANSWER_BAD, 0, 0 },
	{ "HTTP/2 in the clear", BYTES("HTTP/2 200\r\n" END), PROXY_ANSWER_BAD,
	    0, 0 },
	{ "HTTP/0.9", BYTES("<html>no</html>\r\n\r\n"), PROXY_ANSWER_BAD, 0,
	    0 },
	{ "another protocol", BYTES("SSH-2.0-x\r\n"), PROXY_ANSWER_BAD, 0, 0 },
	{ "TLS", BYTES("\x15\x03\x01\x00\x02\x02\x46"), PROXY_ANSWER_BAD, 0,
	    0 },
	{ "an empty line first", BYTES("\r\n" OK END), PROXY_ANSWER_BAD, 0, 0 },
	{ "a line that LF alone ends", BYTES("HTTP/1.1 200 OK\n\n"),
	    PROXY_ANSWER_BAD, 0, 0 },
	{ "a NUL", BYTES(OK "X: a\0b\r\n" END), PROXY_ANSWER_BAD, 0, 0 },
	{ "a folded line", BYTES(OK "X: a\r\n b\r\n" END), PROXY_ANSWER_BAD, 0,
	    0 },
	{ "part of a head", BYTES(OK "Via: "), PROXY_ANSWER_MORE, 0, 0 },
	{ "part of its first line", BYTES("HTT"), PROXY_ANSWER_MORE, 0, 0 },
};

static enum proxy_answer_status
read_by_bytes(struct proxy_answer *a, struct span in)
{
	enum proxy_answer_status s = PROXY_ANSWER_MORE;

	for (size_t n = 1; n <= in.len && s == PROXY_ANSWER_MORE; n++)
		s = proxy_answer_read(a, (struct span){ in.ptr, n });
	return s;
}

static void
an_answer_is_read_in_one_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct proxy_answer whole = { .status = 0 };
		struct proxy_answer bytes = { .status = 0 };
		const struct span in = rows[i].bytes;

		row_equal(rows[i].claim, proxy_answer_read(&whole, in),
		    rows[i].want);
		row_equal(rows[i].claim, read_by_bytes(&bytes, in),
		    rows[i].want);
		row_equal(rows[i].claim, whole.status, rows[i].status);
		row_equal(rows[i].claim, bytes.status, rows[i].status);
		if (rows[i].status == 0)
			continue;
		row_equal(rows[i].claim, whole.head_len,
		    in.len - rows[i].behind);
		row_equal(rows[i].claim, bytes.head_len, whole.head_len);
	}
}

/* len bytes of a head, its end included if it may be whole. */
static struct span
head_of(uint8_t *buf, size_t len)
{
	static const char begin[] = OK "X: ";

	memset(buf, 'a', len);
	memcpy(buf, begin, sizeof(begin) - 1);
	memcpy(buf + len - 4, "\r\n\r\n", 4);
	return (struct span){ buf, len };
}

static void
a_head_has_an_end_by_8_kib(void **state)
{
	static uint8_t buf[2 * PROXY_ANSWER_MAX_BYTES];
	struct proxy_answer a = { .status = 0 };

	(void)state;
	assert_int_equal(proxy_answer_read(&a,
			     head_of(buf, PROXY_ANSWER_MAX_BYTES)),
	    PROXY_ANSWER_OPEN);
	assert_int_equal(a.head_len, PROXY_ANSWER_MAX_BYTES);
	a = (struct proxy_answer){ .status = 0 };
	assert_int_equal(proxy_answer_read(&a,
			     head_of(buf, PROXY_ANSWER_MAX_BYTES + 1)),
	    PROXY_ANSWER_BAD);
	a = (struct proxy_answer){ .status = 0 };
	assert_int_equal(read_by_bytes(&a,
			     head_of(buf, PROXY_ANSWER_MAX_BYTES + 1)),
	    PROXY_ANSWER_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_read_in_one_way),
		cmocka_unit_test(a_head_has_an_end_by_8_kib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
