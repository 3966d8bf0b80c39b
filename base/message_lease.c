/*
 * Gate and broker, see message_lease.h.
 */
#include "base/message_lease.h"

#include "base/message_field.h"

/* enum scheme of conf/verdict.h. */
#define SCHEME_COUNT 3

static void
field_filled(struct rd *r, char *buf, size_t size)
{
	field_printable(r, buf, size);
	if (rd_ok(r) && buf[0] == '\0')
		rd_fail(r);
}

/* A field name in lower case (RFC 9110 5.1), or "" where that is allowed. */
static void
field_name(struct rd *r, char buf[LEASE_FIELD_NAME_SIZE], bool may_be_empty)
{
	size_t len = rd_cstr16(r, buf, LEASE_FIELD_NAME_SIZE);

	if (len == 0 && !may_be_empty)
		rd_fail(r);
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)buf[i];

		if (!ascii_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' &&
		    c != '_')
			rd_fail(r);
	}
}

/* The name of a parameter in a query, or "". */
static void
field_parameter(struct rd *r, char buf[LEASE_FIELD_NAME_SIZE])
{
	size_t len = rd_cstr16(r, buf, LEASE_FIELD_NAME_SIZE);

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)buf[i];

		if (!ascii_is_alnum(c) && c != '-' && c != '_')
			rd_fail(r);
	}
}

void
message_lease_request_encode(struct wr *w,
    const struct message_lease_request *m)
{
	wr_str16(w, m->credential);
	wr_str16(w, m->host);
	wr_u16(w, m->port);
	wr_u8(w, m->scheme);
	wr_str16(w, m->method);
	wr_span16(w, m->path);
	field_bool_write(w, m->has_query);
	if (m->has_query)
		wr_span16(w, m->query);
	field_bool_write(w, m->is_websocket);
	wr_str16(w, m->region);
	wr_str16(w, m->service);
}

int
message_lease_request_decode(struct rd *r, struct message_lease_request *ret)
{
	struct message_lease_request m = { .port = 0 };

	field_filled(r, m.credential, sizeof(m.credential));
	field_filled(r, m.host, sizeof(m.host));
	m.port = rd_u16(r);
	m.scheme = field_enum(r, SCHEME_COUNT);
	field_filled(r, m.method, sizeof(m.method));
	m.path = rd_str16(r, LEASE_PATH_MAX_BYTES);
	m.has_query = field_bool(r);
	if (m.has_query)
		m.query = rd_str16(r, LEASE_QUERY_MAX_BYTES);
	m.is_websocket = field_bool(r);
	field_printable(r, m.region, sizeof(m.region));
	field_printable(r, m.service, sizeof(m.service));
	if (m.port == 0 || (m.region[0] == '\0') != (m.service[0] == '\0'))
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_lease_encode(struct wr *w, const struct message_lease *m)
{
	struct span value = secret_span(&m->value);

	wr_u8(w, (uint8_t)m->reason);
	if (m->reason != REASON_NONE) {
		wr_str16(w, m->detail);
		return;
	}
	wr_u64(w, m->lease_id);
	wr_u64(w, m->expires_boot_ms);
	wr_u64(w, m->renew_boot_ms);
	field_bool_write(w, m->any_request);
	field_bool_write(w, m->serves_websocket);
	wr_u8(w, (uint8_t)m->apply);
	wr_str16(w, m->field);
	wr_str16(w, m->user);
	wr_str16(w, m->placeholder);
	wr_u8(w, (uint8_t)m->strip_count);
	for (unsigned int i = 0; i < m->strip_count; i++)
		wr_str16(w, m->strip[i]);
	wr_u8(w, (uint8_t)m->strip_response_count);
	for (unsigned int i = 0; i < m->strip_response_count; i++)
		wr_str16(w, m->strip_response[i]);
	field_bool_write(w, m->keeps_set_cookie);
	wr_u32(w, (uint32_t)value.len);
	wr_bytes(w, value.ptr, value.len);
}

static unsigned int
read_names(struct rd *r, char names[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE])
{
	uint8_t count = rd_u8(r);

	if (count > LEASE_STRIP_MAX) {
		rd_fail(r);
		return 0;
	}
	for (unsigned int i = 0; i < count; i++)
		field_name(r, names[i], false);
	return count;
}

/* A value with a control byte would end the line it is put into, if it is. */
static struct span
read_value(struct rd *r, bool is_binary)
{
	uint32_t len = rd_u32(r);
	struct span value;

	if (len == 0 || len > SECRET_MAX_BYTES)
		rd_fail(r);
	value = rd_take(r, len);
	for (size_t i = 0; i < value.len && !is_binary; i++)
		if (value.ptr[i] < 0x20 || value.ptr[i] == 0x7f)
			rd_fail(r);
	return value;
}

int
message_lease_decode(struct rd *r, struct message_lease *ret)
{
	struct message_lease m = { .value = SECRET_NONE };
	struct span value;
	int rc;

	m.reason = (enum reason)field_enum(r, REASON_COUNT);
	if (!rd_ok(r))
		return -EBADMSG;
	if (m.reason != REASON_NONE) {
		field_printable(r, m.detail, sizeof(m.detail));
		if (!rd_ok(r))
			return -EBADMSG;
		*ret = m;
		return 0;
	}
	m.lease_id = rd_u64(r);
	m.expires_boot_ms = rd_u64(r);
	m.renew_boot_ms = rd_u64(r);
	m.any_request = field_bool(r);
	m.serves_websocket = field_bool(r);
	m.apply = (enum lease_apply)field_enum(r, LEASE_APPLY_COUNT);
	if (m.apply == LEASE_APPLY_QUERY)
		field_parameter(r, m.field);
	else
		field_name(r, m.field, m.apply != LEASE_APPLY_HEADER);
	if (m.apply == LEASE_APPLY_QUERY && m.field[0] == '\0')
		rd_fail(r);
	field_printable(r, m.user, sizeof(m.user));
	field_printable(r, m.placeholder, sizeof(m.placeholder));
	m.strip_count = read_names(r, m.strip);
	m.strip_response_count = read_names(r, m.strip_response);
	m.keeps_set_cookie = field_bool(r);
	value = read_value(r, m.apply == LEASE_APPLY_CERTIFICATE);
	if (!rd_ok(r))
		return -EBADMSG;
	rc = secret_set(&m.value, value.ptr, value.len);
	if (rc != 0)
		return rc;
	*ret = m;
	return 0;
}

void
message_grant_encode(struct wr *w, const struct message_grant *m)
{
	wr_u16(w, m->port);
	wr_u16(w, (uint16_t)m->host_count);
	for (unsigned int i = 0; i < m->host_count; i++)
		wr_str16(w, m->hosts[i]);
	wr_u16(w, (uint16_t)m->name_count);
	for (unsigned int i = 0; i < m->name_count; i++)
		wr_str16(w, m->names[i]);
	wr_str16(w, m->parameter);
	wr_str16(w, m->placeholder);
	wr_u8(w, m->metadata.cloud);
	wr_str16(w, m->metadata.identity);
	wr_str16(w, m->metadata.place);
}

int
message_grant_decode(struct rd *r, struct message_grant *ret)
{
	ret->port = rd_u16(r);
	ret->host_count = field_count(r, GRANT_HOSTS_MAX);
	for (unsigned int i = 0; i < ret->host_count; i++)
		field_filled(r, ret->hosts[i], sizeof(ret->hosts[i]));
	ret->name_count = field_count(r, GRANT_NAMES_MAX);
	for (unsigned int i = 0; i < ret->name_count; i++)
		field_name(r, ret->names[i], false);
	field_parameter(r, ret->parameter);
	field_printable(r, ret->placeholder, sizeof(ret->placeholder));
	ret->metadata.cloud = field_enum(r, GRANT_CLOUD_COUNT);
	field_printable(r, ret->metadata.identity,
	    sizeof(ret->metadata.identity));
	field_printable(r, ret->metadata.place, sizeof(ret->metadata.place));
	if (ret->port == 0 || ret->host_count == 0)
		rd_fail(r);
	return field_result(r);
}

void
message_grants_whole_encode(struct wr *w, const struct message_grants_whole *m)
{
	wr_u32(w, m->count);
}

int
message_grants_whole_decode(struct rd *r, struct message_grants_whole *ret)
{
	const struct message_grants_whole m = { .count = rd_u32(r) };

	if (!rd_ok(r) || m.count > GRANTS_MAX)
		return -EBADMSG;
	*ret = m;
	return 0;
}

void
message_lease_rejected_encode(struct wr *w,
    const struct message_lease_rejected *m)
{
	wr_u64(w, m->lease_id);
}

int
message_lease_rejected_decode(struct rd *r, struct message_lease_rejected *ret)
{
	ret->lease_id = rd_u64(r);
	return field_result(r);
}
