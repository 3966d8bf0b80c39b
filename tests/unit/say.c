/*
 * A secret as origins write it, see say.h.
 */
#include "say.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#define TEXT_MAX 262144

/* How one byte is written; i counts them. */
typedef void spell(struct wr *w, uint8_t c, size_t i);

static void
put(struct wr *w, const char *format, unsigned int c)
{
	char text[32];

	/* Formats are the constants below. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof(text), format, c);
#pragma GCC diagnostic pop
	wr_text(w, text);
}

static bool
is_in(uint8_t c, const char *set)
{
	return c != 0 && strchr(set, c) != NULL;
}

static bool
is_component(uint8_t c)
{
	return isalnum(c) || is_in(c, "-_.!~*'()");
}

static void
plain(struct wr *w, uint8_t c, size_t i)
{
	(void)i;
	wr_u8(w, c);
}

static void
uri_component(struct wr *w, uint8_t c, size_t i)
{
	if (is_component(c))
		plain(w, c, i);
	else
		put(w, "%%%02X", c);
}

static void
uri_lower(struct wr *w, uint8_t c, size_t i)
{
	if (is_component(c))
		plain(w, c, i);
	else
		put(w, "%%%02x", c);
}

static void
uri(struct wr *w, uint8_t c, size_t i)
{
	if (isalnum(c) || is_in(c, "-_.~/"))
		plain(w, c, i);
	else
		put(w, "%%%02X", c);
}

static void
uri_all(struct wr *w, uint8_t c, size_t i)
{
	(void)i;
	put(w, "%%%02X", c);
}

static void
uri_all_lower(struct wr *w, uint8_t c, size_t i)
{
	(void)i;
	put(w, "%%%02x", c);
}

static void
uri_mixed(struct wr *w, uint8_t c, size_t i)
{
	if (i % 2 == 0 && c != '%')
		plain(w, c, i);
	else
		put(w, i % 4 == 1 ? "%%%02X" : "%%%02x", c);
}

static void
uri_twice(struct wr *w, uint8_t c, size_t i)
{
	if (is_component(c))
		plain(w, c, i);
	else
		put(w, "%%25%02X", c);
}

static void
json(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "\"\\"))
		wr_u8(w, '\\');
	plain(w, c, i);
}

static void
json_php(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "\"\\/"))
		wr_u8(w, '\\');
	plain(w, c, i);
}

static void
json_go(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "<>&"))
		put(w, "\\u%04x", c);
	else
		json(w, c, i);
}

static void
json_net(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "<>&+'\"`"))
		put(w, "\\u%04X", c);
	else
		json(w, c, i);
}

static void
json_all(struct wr *w, uint8_t c, size_t i)
{
	put(w, i % 2 == 0 ? "\\u%04x" : "\\u%04X", c);
}

static void
json_twice(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "\"\\"))
		wr_text(w, "\\\\\\");
	else if (c == '/')
		wr_text(w, "\\\\\\");
	plain(w, c, i);
}

static void
json_escaped(struct wr *w, uint8_t c, size_t i)
{
	if (is_component(c))
		plain(w, c, i);
	else
		put(w, "\\u0025%02X", c);
}

static void
hex_escapes(struct wr *w, uint8_t c, size_t i)
{
	(void)i;
	put(w, "\\x%02x", c);
}

static void
repr(struct wr *w, uint8_t c, size_t i)
{
	if (is_in(c, "'\\"))
		wr_u8(w, '\\');
	plain(w, c, i);
}

static void
html(struct wr *w, uint8_t c, size_t i)
{
	switch (c) {
	case '&':
		wr_text(w, "&amp;");
		break;
	case '<':
		wr_text(w, "&lt;");
		break;
	case '>':
		wr_text(w, "&gt;");
		break;
	case '"':
		wr_text(w, "&quot;");
		break;
	case '\'':
		wr_text(w, "&#039;");
		break;
	default:
		plain(w, c, i);
	}
}

static void
html_all(struct wr *w, uint8_t c, size_t i)
{
	switch (c) {
	case '+':
		wr_text(w, "&plus;");
		break;
	case '/':
		wr_text(w, "&sol;");
		break;
	case '_':
		wr_text(w, "&lowbar;");
		break;
	case '=':
		wr_text(w, "&equals;");
		break;
	case '.':
		wr_text(w, "&period;");
		break;
	default:
		html(w, c, i);
	}
}

static void
html_decimal(struct wr *w, uint8_t c, size_t i)
{
	if (isalnum(c))
		plain(w, c, i);
	else
		put(w, "&#%u;", c);
}

static void
html_hex(struct wr *w, uint8_t c, size_t i)
{
	if (isalnum(c))
		plain(w, c, i);
	else
		put(w, i % 2 == 0 ? "&#x%02X;" : "&#X%x;", c);
}

static const struct {
	const char *name;
	spell *spell;
} ways[SAY_WAYS] = {
	[SAY_PLAIN] = { "as it is", plain },
	[SAY_URI_COMPONENT] = { "encodeURIComponent()", uri_component },
	[SAY_URI_LOWER] = { "in URLs, small digits", uri_lower },
	[SAY_URI] = { "quote()", uri },
	[SAY_URI_ALL] = { "every byte as in URLs", uri_all },
	[SAY_URI_ALL_LOWER] = { "the same in small digits", uri_all_lower },
	[SAY_URI_MIXED] = { "every other byte as in URLs", uri_mixed },
	[SAY_URI_TWICE] = { "a URL in a URL", uri_twice },
	[SAY_JSON] = { "JSON.stringify()", json },
	[SAY_JSON_PHP] = { "PHP's JSON", json_php },
	[SAY_JSON_GO] = { "Go's JSON", json_go },
	[SAY_JSON_NET] = { ".NET's JSON", json_net },
	[SAY_JSON_ALL] = { "\\u00NN for every byte", json_all },
	[SAY_JSON_TWICE] = { "JSON in JSON", json_twice },
	[SAY_JSON_ESCAPED] = { "a URL in escaped JSON", json_escaped },
	[SAY_HEX_ESCAPES] = { "\\xNN for every byte", hex_escapes },
	[SAY_REPR] = { "repr()", repr },
	[SAY_HTML] = { "htmlspecialchars()", html },
	[SAY_HTML_ALL] = { "htmlentities()", html_all },
	[SAY_HTML_DECIMAL] = { "html/template", html_decimal },
	[SAY_HTML_HEX] = { "mustache", html_hex },
};

static const char *const form_names[SAY_FORMS] = { "raw", "small letters",
	"capitals", "hexadecimal", "hexadecimal capitals", "base64",
	"base64url" };

const char *
say_form_name(enum say_form form)
{
	return form_names[form];
}

const char *
say_way_name(enum say_way way)
{
	return ways[way].name;
}

static bool
is_base64(enum say_form form)
{
	return form == SAY_BASE64 || form == SAY_BASE64_URL;
}

/* What is encoded of it, and where the secret alone is in there. */
static size_t
encode(enum say_form form, struct span before, struct span secret,
    struct span after, uint8_t *out, size_t *ret_at, size_t *ret_end)
{
	static uint8_t whole[TEXT_MAX];
	struct wr w = wr_init(whole, sizeof(whole));
	struct wr o = wr_init(out, TEXT_MAX);
	int n;

	if (!is_base64(form)) {
		for (size_t i = 0; i < secret.len; i++) {
			uint8_t c = secret.ptr[i];

			if (form == SAY_HEX || form == SAY_HEX_UPPER)
				put(&o, form == SAY_HEX ? "%02x" : "%02X", c);
			else
				wr_u8(&o,
				    (uint8_t)(form == SAY_LOWER ? tolower(c)
					    : form == SAY_UPPER ? toupper(c)
								: c));
		}
		*ret_at = 0;
		*ret_end = o.len;
		return o.len;
	}
	wr_bytes(&w, before.ptr, before.len);
	wr_bytes(&w, secret.ptr, secret.len);
	wr_bytes(&w, after.ptr, after.len);
	n = EVP_EncodeBlock(out, whole, (int)w.len);
	for (int i = 0; form == SAY_BASE64_URL && i < n; i++)
		out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
	*ret_at = (before.len * 8 + 5) / 6;
	*ret_end = (before.len + secret.len) * 8 / 6;
	return (size_t)n;
}

void
say(struct wr *w, enum say_form form, enum say_way way, struct span before,
    struct span secret, struct span after, size_t *ret_at, size_t *ret_end)
{
	static uint8_t coded[TEXT_MAX];
	size_t at, end;
	size_t len = encode(form, before, secret, after, coded, &at, &end);

	if (!is_base64(form))
		wr_bytes(w, before.ptr, before.len);
	for (size_t i = 0; i < len; i++) {
		if (i == at)
			*ret_at = w->len;
		ways[way].spell(w, coded[i], i);
		if (i + 1 == end)
			*ret_end = w->len;
	}
	if (!is_base64(form))
		wr_bytes(w, after.ptr, after.len);
	if (!wr_ok(w))
		abort();
}
