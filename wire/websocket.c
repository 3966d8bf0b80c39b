#include "wire/websocket.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/token.h"

#define FIELD_PREFIX "Sec-WebSocket-"

bool
websocket_is_field(struct span name)
{
	size_t len = sizeof(FIELD_PREFIX) - 1;

	return name.len > len &&
	    span_is_case((struct span){ name.ptr, len }, FIELD_PREFIX);
}

/* The only field of its name, or NULL. */
static const struct http_field *
find_one(const struct http_fields *f, const char *name)
{
	return http_field_find(f, name, 1) != NULL
	    ? NULL
	    : http_field_find(f, name, 0);
}

/*
 * base64 of 16 bytes in its one spelling (RFC 4648 3.5): the last digit
 * stands for two bits.
 */
static bool
is_key(struct span s)
{
	static const uint8_t last[] = { 'A', 'Q', 'g', 'w' };

	if (s.len != WEBSOCKET_KEY_LEN || s.ptr[22] != '=' || s.ptr[23] != '=')
		return false;
	for (size_t i = 0; i < 22; i++)
		if (!ascii_is_alnum(s.ptr[i]) && s.ptr[i] != '+' &&
		    s.ptr[i] != '/')
			return false;
	return memchr(last, s.ptr[21], sizeof(last)) != NULL;
}

/* RFC 6455 4.1: tokens, none of them empty. */
static bool
is_protocol_list(struct span list)
{
	while (list.ptr != NULL)
		if (!token_is(token_trim(token_cut(&list, ','))))
			return false;
	return true;
}

enum websocket_status
websocket_check_request(const struct http_fields *f, struct span *ret_key)
{
	const struct http_field *key = find_one(f, "Sec-WebSocket-Key");
	const struct http_field *version = find_one(f, "Sec-WebSocket-Version");
	const struct http_field *protocol;

	if (key == NULL || !is_key(key->value))
		return WEBSOCKET_KEY;
	if (version == NULL || !span_is(version->value, "13"))
		return WEBSOCKET_VERSION;
	for (size_t i = 0; (protocol = http_field_find(f,
				"Sec-WebSocket-Protocol", i)) != NULL;
	     i++)
		if (!is_protocol_list(protocol->value))
			return WEBSOCKET_PROTOCOL;
	*ret_key = key->value;
	return WEBSOCKET_OK;
}

enum websocket_status
websocket_check_answer(const struct http_fields *f,
    const struct websocket_offer *offer)
{
	const struct http_field *accept = find_one(f, "Sec-WebSocket-Accept");
	const struct http_field *protocol =
	    http_field_find(f, "Sec-WebSocket-Protocol", 0);

	if (accept == NULL || !span_is(accept->value, offer->accept))
		return WEBSOCKET_ACCEPT;
	if (protocol != NULL &&
	    (!offer->has_protocol || !token_is(protocol->value) ||
		http_field_find(f, "Sec-WebSocket-Protocol", 1) != NULL))
		return WEBSOCKET_PROTOCOL;
	if (!offer->has_extensions &&
	    http_field_find(f, "Sec-WebSocket-Extensions", 0) != NULL)
		return WEBSOCKET_EXTENSIONS;
	return WEBSOCKET_OK;
}

const char *
websocket_status_text(enum websocket_status s)
{
	static const char *const texts[] = {
		[WEBSOCKET_OK] = "a handshake of a WebSocket",
		[WEBSOCKET_KEY] =
		    "Sec-WebSocket-Key is not 16 bytes in base64, once",
		[WEBSOCKET_VERSION] = "Sec-WebSocket-Version is not 13, once",
		[WEBSOCKET_PROTOCOL] =
		    "Sec-WebSocket-Protocol is no token that was asked for",
		[WEBSOCKET_EXTENSIONS] =
		    "Sec-WebSocket-Extensions was not asked for",
		[WEBSOCKET_ACCEPT] =
		    "Sec-WebSocket-Accept does not answer the key",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) ==
		WEBSOCKET_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}
