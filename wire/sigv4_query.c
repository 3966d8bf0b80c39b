/*
 * Queries as they are signed, see sigv4_query.h.
 */
#include "wire/sigv4_query.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/token.h"

/* The longest name that is of interest, unescaped. */
#define NAME_SIZE 32

static const char *const parameters[SIGV4_PARAMETER_COUNT] = {
	[SIGV4_PARAMETER_ALGORITHM] = "X-Amz-Algorithm",
	[SIGV4_PARAMETER_CREDENTIAL] = "X-Amz-Credential",
	[SIGV4_PARAMETER_DATE] = "X-Amz-Date",
	[SIGV4_PARAMETER_EXPIRES] = "X-Amz-Expires",
	[SIGV4_PARAMETER_NAMES] = "X-Amz-SignedHeaders",
	[SIGV4_PARAMETER_SIGNATURE] = "X-Amz-Signature",
	[SIGV4_PARAMETER_CONTENT] = "X-Amz-Content-Sha256",
	[SIGV4_PARAMETER_TOKEN] = "X-Amz-Security-Token",
};

bool
sigv4_unescape(struct wr *w, struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		int high, low;

		if (s.ptr[i] != '%') {
			wr_u8(w, s.ptr[i]);
			continue;
		}
		if (s.len - i < 3)
			return false;
		high = ascii_hex(s.ptr[i + 1]);
		low = ascii_hex(s.ptr[i + 2]);
		if (high < 0 || low < 0)
			return false;
		wr_u8(w, (uint8_t)(high * 16 + low));
		i += 2;
	}
	return wr_ok(w);
}

void
sigv4_escape(struct wr *w, struct span s, const char *but)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (ascii_is_alnum(c) ||
		    (c != '\0' && strchr("-_.~", c) != NULL) ||
		    (c != '\0' && strchr(but, c) != NULL)) {
			wr_u8(w, c);
			continue;
		}
		wr_u8(w, '%');
		wr_u8(w, (uint8_t)digits[c >> 4]);
		wr_u8(w, (uint8_t)digits[c & 15]);
	}
}

/* COUNT: none of them. *ret_is_bent: one, but not written as SDKs do. */
static enum sigv4_parameter
find(struct span name, bool *ret_is_bent)
{
	uint8_t text[NAME_SIZE];
	struct wr w = wr_init(text, sizeof(text));
	struct span plain;

	*ret_is_bent = false;
	if (!sigv4_unescape(&w, name))
		return SIGV4_PARAMETER_COUNT;
	plain = (struct span){ text, w.len };
	for (int i = 0; i < SIGV4_PARAMETER_COUNT; i++) {
		if (!span_is_case(plain, parameters[i]))
			continue;
		*ret_is_bent = !span_is(name, parameters[i]);
		return (enum sigv4_parameter)i;
	}
	return SIGV4_PARAMETER_COUNT;
}

enum sigv4_status
sigv4_query_read(struct span query, struct sigv4_query *ret)
{
	bool has_id = false, has_signature = false, is_bent;

	memset(ret, 0, sizeof(*ret));
	while (query.len > 0) {
		struct span value = token_cut(&query, '&');
		struct span name = token_cut(&value, '=');
		enum sigv4_parameter i = find(name, &is_bent);

		has_id = has_id || span_is_case(name, "AWSAccessKeyId");
		has_signature =
		    has_signature || span_is_case(name, "Signature");
		if (i == SIGV4_PARAMETER_COUNT)
			continue;
		if (is_bent)
			return SIGV4_FORM;
		if (ret->value[i].ptr != NULL)
			return SIGV4_TWO;
		/* A name alone has an empty value. */
		ret->value[i] = value.ptr == NULL ? span_of("") : value;
		ret->is_signed = true;
	}
	ret->is_version_2 = has_id && has_signature;
	return SIGV4_OK;
}

static void
write_one(struct wr *w, const char **separator, enum sigv4_parameter i,
    struct span value)
{
	wr_text(w, *separator);
	wr_text(w, parameters[i]);
	wr_u8(w, '=');
	sigv4_escape(w, value, "");
	*separator = "&";
}

bool
sigv4_query_write(struct wr *w, struct span query,
    const struct span value[SIGV4_PARAMETER_COUNT])
{
	bool is_written[SIGV4_PARAMETER_COUNT] = { false }, is_bent;
	const char *separator = "";

	while (query.len > 0) {
		struct span part = token_cut(&query, '&'), rest = part;
		enum sigv4_parameter i = find(token_cut(&rest, '='), &is_bent);

		if (i == SIGV4_PARAMETER_COUNT) {
			wr_text(w, separator);
			wr_bytes(w, part.ptr, part.len);
			separator = "&";
		} else if (value[i].ptr != NULL && !is_written[i]) {
			write_one(w, &separator, i, value[i]);
			is_written[i] = true;
		}
	}
	for (int i = 0; i < SIGV4_PARAMETER_COUNT; i++)
		if (value[i].ptr != NULL && !is_written[i])
			write_one(w, &separator, (enum sigv4_parameter)i,
			    value[i]);
	return wr_ok(w);
}

struct parameter {
	struct span name, value;
};

static int
compare_spans(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);

	return d != 0 ? d : (a.len > b.len) - (a.len < b.len);
}

static int
compare(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int d = compare_spans(x->name, y->name);

	return d != 0 ? d : compare_spans(x->value, y->value);
}

enum sigv4_status
sigv4_query_sort(struct wr *w, struct span query)
{
	struct parameter all[SIGV4_PARAMETERS_MAX];
	size_t count = 0;

	while (query.ptr != NULL && query.len > 0) {
		struct span value = token_cut(&query, '&');
		struct span name = token_cut(&value, '=');

		if (name.len == 0 || count == SIGV4_PARAMETERS_MAX ||
		    (query.ptr != NULL && query.len == 0))
			return SIGV4_PARAMETERS;
		if (!span_is(name, parameters[SIGV4_PARAMETER_SIGNATURE]))
			all[count++] = (struct parameter){ name, value };
	}
	if (count > 0)
		qsort(all, count, sizeof(all[0]), compare);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			wr_u8(w, '&');
		wr_bytes(w, all[i].name.ptr, all[i].name.len);
		wr_u8(w, '=');
		wr_bytes(w, all[i].value.ptr, all[i].value.len);
	}
	return SIGV4_OK;
}
