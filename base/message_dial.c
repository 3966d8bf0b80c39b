/*
 * Gate and dialler, see message_dial.h.
 */
#include "base/message_dial.h"

#include "base/message_field.h"

/*
 * A canonical host name by its bytes alone: the dialler parses it again
 * (wire/host.h), which this layer cannot.
 */
static void
field_host(struct rd *r, char buf[HOST_NAME_SIZE])
{
	size_t len = rd_cstr16(r, buf, HOST_NAME_SIZE);

	if (len == 0)
		rd_fail(r);
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)buf[i];

		if (!ascii_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' &&
		    c != '.')
			rd_fail(r);
	}
}

void
message_dial_encode(struct wr *w, const struct message_dial *m)
{
	wr_str16(w, m->host);
	wr_u16(w, m->port);
	wr_u8(w, m->scheme);
	field_bool_write(w, m->is_redirect);
}

int
message_dial_decode(struct rd *r, struct message_dial *ret)
{
	struct message_dial m = { .port = 0 };

	field_host(r, m.host);
	m.port = rd_u16(r);
	m.scheme = field_enum(r, DIAL_SCHEME_COUNT);
	m.is_redirect = field_bool(r);
	if (m.port == 0)
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_dialed_encode(struct wr *w, const struct message_dialed *m)
{
	wr_u8(w, (uint8_t)m->reason);
	field_bool_write(w, m->by_ceiling);
	wr_str16(w, m->address);
	wr_u32(w, m->resolve_us);
	wr_u32(w, m->connect_us);
}

int
message_dialed_decode(struct rd *r, struct message_dialed *ret)
{
	struct message_dialed m = { .reason = REASON_NONE };

	m.reason = (enum reason)field_enum(r, REASON_COUNT);
	m.by_ceiling = field_bool(r);
	field_printable(r, m.address, sizeof(m.address));
	m.resolve_us = rd_u32(r);
	m.connect_us = rd_u32(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
