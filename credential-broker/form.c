/*
 * Texts with secrets in them, see form.h.
 */
#include "credential-broker/form.h"

#include <string.h>

#include "base/ascii.h"

static const char hex[] = "0123456789ABCDEF";

struct form
form_new(void)
{
	struct form f = { .buf = SECRET_NONE };

	f.failed = secret_alloc(&f.buf, FORM_MAX_BYTES) != 0;
	return f;
}

void
form_done(struct form *f)
{
	secret_done(&f->buf);
	f->len = 0;
}

void
form_span(struct form *f, struct span s)
{
	/* A byte is left for the NUL. */
	if (f->failed || s.len >= f->buf.len - f->len) {
		f->failed = true;
		return;
	}
	if (s.len > 0)
		memcpy(f->buf.ptr + f->len, s.ptr, s.len);
	f->len += s.len;
}

void
form_text(struct form *f, const char *text)
{
	form_span(f, span_of(text));
}

static void
put(struct form *f, char c)
{
	form_span(f, (struct span){ (const uint8_t *)&c, 1 });
}

void
form_encoded(struct form *f, struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		const uint8_t c = s.ptr[i];

		if (ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' ||
		    c == '~') {
			put(f, (char)c);
			continue;
		}
		put(f, '%');
		put(f, hex[c >> 4]);
		put(f, hex[c & 15]);
	}
}

void
form_add_span(struct form *f, const char *name, struct span value)
{
	if (f->len > 0)
		put(f, '&');
	form_encoded(f, span_of(name));
	put(f, '=');
	form_encoded(f, value);
}

void
form_add(struct form *f, const char *name, const char *value)
{
	form_add_span(f, name, span_of(value));
}

static void
put_base64(struct form *f, struct span s, const char *digits, bool pads)
{
	for (size_t i = 0; i < s.len; i += 3) {
		const size_t n = s.len - i < 3 ? s.len - i : 3;
		uint32_t v = (uint32_t)s.ptr[i] << 16;

		if (n > 1)
			v |= (uint32_t)s.ptr[i + 1] << 8;
		if (n > 2)
			v |= s.ptr[i + 2];
		for (size_t k = 0; k <= n; k++)
			put(f, digits[v >> (18 - 6 * k) & 63]);
		for (size_t k = n; pads && k < 3; k++)
			put(f, '=');
	}
}

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

void
form_base64(struct form *f, struct span s)
{
	put_base64(f, s, ALNUM "+/", true);
}

void
form_base64url(struct form *f, struct span s)
{
	put_base64(f, s, ALNUM "-_", false);
}

void
form_json(struct form *f, struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		const uint8_t c = s.ptr[i];

		if (c >= ' ' && c != '"' && c != '\\') {
			put(f, (char)c);
			continue;
		}
		if (c == '"' || c == '\\') {
			put(f, '\\');
			put(f, (char)c);
			continue;
		}
		form_text(f, "\\u00");
		put(f, hex[c >> 4]);
		put(f, hex[c & 15]);
	}
}

bool
form_ok(const struct form *f)
{
	return !f->failed;
}

struct span
form_span_of(const struct form *f)
{
	return (struct span){ f->buf.ptr, f->len };
}

const char *
form_text_of(struct form *f)
{
	if (f->failed)
		return "";
	f->buf.ptr[f->len] = '\0';
	return (const char *)f->buf.ptr;
}
