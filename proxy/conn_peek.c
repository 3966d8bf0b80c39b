/*
 * Peeking, see conn_peek.h. Each look parses all bytes so far anew, which
 * keeps no state between looks: a hello is in one segment, or two, unless
 * somebody tries to be clever, and then at most 64 KiB are looked at.
 */
#include "proxy/conn_peek.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

/*
 * What is refused and how. missing_extension for no name is RFC 8446 9.2;
 * unrecognized_name is what clients print as such. What is not TLS gets no
 * alert.
 */
static const struct refusal {
	enum reason reason;
	uint8_t alert;
} refusals[] = {
	[TLS_HELLO_OK] = { REASON_NONE, 0 },
	[TLS_HELLO_MORE] = { REASON_NONE, 0 },
	[TLS_HELLO_NOT_TLS] = { REASON_NOT_HTTP, 0 },
	[TLS_HELLO_ALERT] = { REASON_NO_SNI, 0 },
	[TLS_HELLO_RECORD] = { REASON_NO_SNI, ALERT_DECODE_ERROR },
	[TLS_HELLO_TOO_BIG] = { REASON_NO_SNI, ALERT_DECODE_ERROR },
	[TLS_HELLO_MALFORMED] = { REASON_NO_SNI, ALERT_DECODE_ERROR },
	[TLS_HELLO_NO_SNI] = { REASON_NO_SNI, ALERT_MISSING_EXTENSION },
	[TLS_HELLO_SNI_EMPTY] = { REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME },
	[TLS_HELLO_SNI_ADDRESS] = { REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME },
	[TLS_HELLO_SNI_NAME] = { REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME },
	[TLS_HELLO_SNI_TYPE] = { REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME },
	[TLS_HELLO_SNI_NAMES] = { REASON_NO_SNI, ALERT_UNRECOGNIZED_NAME },
	[TLS_HELLO_SNI_TWICE] = { REASON_NO_SNI, ALERT_DECODE_ERROR },
};

static_assert(sizeof(refusals) / sizeof(refusals[0]) == TLS_HELLO_STATUS_COUNT,
    "each status has a row");

static struct peek
peek_refuse(enum tls_hello_status status)
{
	return (struct peek){ .outcome = PEEK_REFUSE,
		.reason = refusals[status].reason,
		.alert = refusals[status].alert,
		.detail = tls_hello_status_text(status) };
}

struct peek
conn_peek(int fd, uint8_t *scratch, size_t size,
    uint8_t gather[TLS_HELLO_MAX_BYTES])
{
	struct tls_hello_scan scan = { 0 };
	struct peek p = { .outcome = PEEK_MORE };
	enum tls_hello_status status;
	ssize_t n = recv(fd, scratch, size, MSG_PEEK);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return p;
	if (n <= 0) {
		p.outcome = PEEK_GONE;
		return p;
	}
	status = tls_hello_parse(&scan, (struct span){ scratch, (size_t)n },
	    gather, &p.hello);
	if (status == TLS_HELLO_OK)
		p.outcome = PEEK_HELLO;
	else if (status != TLS_HELLO_MORE)
		return peek_refuse(status);
	/* It would have to be more than the buffer holds. */
	else if ((size_t)n == size)
		return peek_refuse(TLS_HELLO_TOO_BIG);
	return p;
}

void
conn_send_alert(int fd, uint8_t alert, uint8_t *scratch, size_t size)
{
	/* RFC 8446 5.1, 6: record header of TLS 1.0, fatal. */
	const uint8_t record[] = { 21, 3, 1, 0, 2, 2, alert };

	(void)send(fd, record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)recv(fd, scratch, size, MSG_DONTWAIT);
}
