/*
 * The records of a ClientHello. What it says is read by tls_extensions.c.
 */
#include "wire/tls_hello.h"

#include <assert.h>
#include <string.h>

#include "wire/tls_extensions.h"

enum {
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
};

enum {
	HANDSHAKE_CLIENT_HELLO = 1,
};

#define RECORD_HEADER_BYTES 5
#define HANDSHAKE_HEADER_BYTES 4
#define RECORD_MAX_BYTES 16384 /* RFC 8446 5.1 */

/*
 * The next record of r, if it is whole. Each check needs only the bytes before
 * it, so that a split cannot change which one refuses.
 */
static enum tls_hello_status
take_record(struct rd *r, bool is_first, size_t at, struct span *ret_fragment)
{
	int type = rd_peek(r);
	uint16_t version;
	size_t len;

	if (type == -1)
		return TLS_HELLO_MORE;
	if (type == RECORD_ALERT)
		return TLS_HELLO_ALERT;
	if (type != RECORD_HANDSHAKE)
		return is_first ? TLS_HELLO_NOT_TLS : TLS_HELLO_RECORD;
	rd_skip(r, 1);
	version = rd_u16(r);
	len = rd_u16(r);
	if (!rd_ok(r))
		return TLS_HELLO_MORE;
	/* RFC 5246 E.1: {3, any}, since it says nothing of what is offered. */
	if (version >> 8 != 3)
		return is_first ? TLS_HELLO_NOT_TLS : TLS_HELLO_RECORD;
	if (len == 0 || len > RECORD_MAX_BYTES)
		return TLS_HELLO_RECORD;
	if (at + RECORD_HEADER_BYTES + len > TLS_HELLO_RAW_MAX_BYTES)
		return TLS_HELLO_TOO_BIG;
	*ret_fragment = rd_take(r, len);
	return rd_ok(r) ? TLS_HELLO_OK : TLS_HELLO_MORE;
}

/* Notes a whole record; TLS_HELLO_OK when the hello ends with it. */
static enum tls_hello_status
gather(struct tls_hello_scan *s, struct span fragment)
{
	struct rd r = rd_span(fragment);
	size_t total;

	for (size_t i = s->gathered;
	     i < HANDSHAKE_HEADER_BYTES && rd_left(&r) > 0; i++)
		s->header[i] = rd_u8(&r);
	s->at += RECORD_HEADER_BYTES + fragment.len;
	s->gathered += fragment.len;
	s->records++;
	if (s->header[0] != HANDSHAKE_CLIENT_HELLO)
		return TLS_HELLO_MALFORMED;
	if (s->gathered < HANDSHAKE_HEADER_BYTES)
		return TLS_HELLO_MORE;
	r = rd_init(s->header, sizeof(s->header));
	rd_skip(&r, 1);
	total = HANDSHAKE_HEADER_BYTES + (size_t)rd_u24(&r);
	if (total > TLS_HELLO_MAX_BYTES)
		return TLS_HELLO_TOO_BIG;
	if (s->gathered > total)
		return TLS_HELLO_MALFORMED;
	return s->gathered == total ? TLS_HELLO_OK : TLS_HELLO_MORE;
}

/* The handshake message, out of its records; borrows so_far or scratch. */
static struct span
join(const struct tls_hello_scan *s, struct span so_far, uint8_t *scratch)
{
	struct rd r = rd_span(so_far);
	struct wr w = wr_init(scratch, TLS_HELLO_MAX_BYTES);

	for (size_t i = 0; i < s->records; i++) {
		struct span fragment;

		rd_skip(&r, 3);
		fragment = rd_take(&r, rd_u16(&r));
		if (s->records == 1)
			return fragment;
		wr_bytes(&w, fragment.ptr, fragment.len);
	}
	assert(rd_ok(&r) && wr_ok(&w));
	return (struct span){ scratch, w.len };
}

enum tls_hello_status
tls_hello_parse(struct tls_hello_scan *s, struct span so_far,
    uint8_t scratch[TLS_HELLO_MAX_BYTES], struct tls_hello *ret)
{
	struct tls_hello hello;
	enum tls_hello_status status = TLS_HELLO_MORE;
	struct rd r = rd_span(so_far);

	rd_skip(&r, s->at);
	while (status == TLS_HELLO_MORE) {
		struct span fragment;
		enum tls_hello_status of_record =
		    take_record(&r, s->records == 0, s->at, &fragment);

		if (of_record != TLS_HELLO_OK)
			return of_record;
		status = gather(s, fragment);
	}
	if (status != TLS_HELLO_OK)
		return status;
	status = tls_extensions_parse(join(s, so_far, scratch), &hello);
	if (status != TLS_HELLO_OK)
		return status;
	hello.raw_len = s->at;
	*ret = hello;
	return TLS_HELLO_OK;
}

const char *
tls_hello_status_text(enum tls_hello_status s)
{
	static const char *const texts[] = {
		[TLS_HELLO_OK] = "a ClientHello that names a host",
		[TLS_HELLO_MORE] = "the ClientHello has not ended",
		[TLS_HELLO_NOT_TLS] = "this is not TLS",
		[TLS_HELLO_ALERT] = "an alert instead of a ClientHello",
		[TLS_HELLO_RECORD] = "a TLS record is malformed",
		[TLS_HELLO_TOO_BIG] = "the ClientHello is too long",
		[TLS_HELLO_MALFORMED] = "the ClientHello is malformed",
		[TLS_HELLO_NO_SNI] = "the ClientHello names no host",
		[TLS_HELLO_SNI_EMPTY] = "the host it names is empty",
		[TLS_HELLO_SNI_ADDRESS] =
		    "the host it names is an IP address, not a name",
		[TLS_HELLO_SNI_NAME] = "the host it names is not a valid name",
		[TLS_HELLO_SNI_TYPE] = "it names something but a host",
		[TLS_HELLO_SNI_NAMES] = "it names more than one host",
		[TLS_HELLO_SNI_TWICE] = "it names a host twice",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) ==
		TLS_HELLO_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}
