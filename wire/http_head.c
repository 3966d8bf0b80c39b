#include "wire/http_head.h"

#include <string.h>

#include "wire/token.h"

enum http_status
http_head_line(struct span *rest, struct span *ret_line)
{
	struct span after = *rest, line = token_cut(&after, '\n');

	if (after.ptr == NULL || line.len == 0 ||
	    line.ptr[line.len - 1] != '\r')
		return HTTP_LINE_END;
	line.len--;
	if (!token_is_text(line))
		return memchr(line.ptr, '\r', line.len) != NULL ? HTTP_LINE_END
								: HTTP_CONTROL;
	*rest = after;
	*ret_line = line;
	return HTTP_OK;
}

enum http_status
http_head_version(struct span in, unsigned int *ret_minor)
{
	if (span_is(in, "HTTP/1.1"))
		*ret_minor = 1;
	else if (span_is(in, "HTTP/1.0"))
		*ret_minor = 0;
	else
		return HTTP_VERSION;
	return HTTP_OK;
}

/*
 * Fields that frame the body may have one SP before the value and nothing
 * else around it: others trim other bytes than we do (HTTP Garden).
 */
static enum http_status
check_framing_blanks(struct span name, struct span raw, struct span value)
{
	size_t before = raw.len > 0 && raw.ptr[0] == ' ' ? 1 : 0;

	if (raw.len == value.len + before)
		return HTTP_OK;
	if (span_is_case(name, "Content-Length"))
		return HTTP_LENGTH;
	if (span_is_case(name, "Transfer-Encoding"))
		return HTTP_CODING;
	return HTTP_OK;
}

static enum http_status
parse_field(struct span line, struct http_field *ret)
{
	struct span raw = line, name;
	enum http_status s;

	if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
		return HTTP_FOLD;
	name = token_cut(&raw, ':');
	if (raw.ptr == NULL || !token_is(name))
		return HTTP_FIELD_NAME;
	if (http_name_is_bent(name))
		return HTTP_ALIAS;
	ret->name = name;
	ret->value = token_trim(raw);
	s = check_framing_blanks(name, raw, ret->value);
	return s;
}

enum http_status
http_head_fields(struct span rest, struct http_fields *ret_fields)
{
	struct span line;
	enum http_status s;

	ret_fields->count = 0;
	while ((s = http_head_line(&rest, &line)) == HTTP_OK && line.len > 0) {
		if (ret_fields->count == HTTP_FIELDS_MAX)
			return HTTP_FIELD_COUNT;
		s = parse_field(line, &ret_fields->at[ret_fields->count]);
		if (s != HTTP_OK)
			return s;
		ret_fields->count++;
	}
	return s == HTTP_OK && rest.len > 0 ? HTTP_LINE_END : s;
}

static enum http_status
parse_length(const struct http_fields *f, struct http_body *b)
{
	const struct http_field *field =
	    http_field_find(f, "Content-Length", 0);

	if (field == NULL)
		return HTTP_OK;
	if (http_field_find(f, "Content-Length", 1) != NULL)
		return HTTP_TWO_LENGTHS;
	if (!token_decimal(field->value, HTTP_LENGTH_MAX_BYTES, &b->length))
		return HTTP_LENGTH;
	b->has_length = true;
	return HTTP_OK;
}

static enum http_status
parse_coding(const struct http_fields *f, unsigned int minor,
    struct http_body *b)
{
	const struct http_field *field =
	    http_field_find(f, "Transfer-Encoding", 0);

	if (field == NULL)
		return HTTP_OK;
	if (minor == 0)
		return HTTP_CODING_IN_1_0;
	if (!span_is_case(field->value, "chunked") ||
	    http_field_find(f, "Transfer-Encoding", 1) != NULL)
		return HTTP_CODING;
	b->is_chunked = true;
	return HTTP_OK;
}

enum http_status
http_head_body(const struct http_fields *f, unsigned int minor,
    struct http_body *ret_body)
{
	struct http_body b = { .is_chunked = false };
	enum http_status s = parse_length(f, &b);

	if (s == HTTP_OK)
		s = parse_coding(f, minor, &b);
	if (s != HTTP_OK)
		return s;
	if (b.is_chunked && b.has_length)
		return HTTP_CODING_AND_LENGTH;
	*ret_body = b;
	return HTTP_OK;
}

/* RFC 9110 5.6.1: empty elements of a list are passed over. */
static bool
is_token_list(struct span list)
{
	while (list.ptr != NULL) {
		struct span element = token_trim(token_cut(&list, ','));

		if (element.len > 0 && !token_is(element))
			return false;
	}
	return true;
}

enum http_status
http_head_connection(const struct http_fields *f, unsigned int minor,
    bool *ret_is_keep_alive)
{
	const struct http_field *field;

	for (size_t i = 0;
	     (field = http_field_find(f, "Connection", i)) != NULL; i++)
		if (!is_token_list(field->value))
			return HTTP_CONNECTION;
	*ret_is_keep_alive = !http_has_connection_option(f, span_of("close")) &&
	    (minor == 1 ||
		http_has_connection_option(f, span_of("keep-alive")));
	return HTTP_OK;
}

bool
http_head_is_websocket(const struct http_fields *f)
{
	const struct http_field *upgrade = http_field_find(f, "Upgrade", 0);

	return upgrade != NULL && span_is_case(upgrade->value, "websocket") &&
	    http_field_find(f, "Upgrade", 1) == NULL &&
	    http_has_connection_option(f, span_of("upgrade"));
}

enum http_status
http_head_authority(enum authority_status s)
{
	switch (s) {
	case AUTHORITY_OK:
		return HTTP_OK;
	case AUTHORITY_ADDRESS:
		return HTTP_HOST_ADDRESS;
	case AUTHORITY_EMPTY:
	case AUTHORITY_USERINFO:
	case AUTHORITY_BRACKET:
	case AUTHORITY_HOST:
	case AUTHORITY_PORT:
	case AUTHORITY_NO_PORT:
	case AUTHORITY_STATUS_COUNT:
		break;
	}
	return HTTP_HOST;
}
