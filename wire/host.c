#include "wire/host.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/address.h"
#include "wire/token.h"

#define LABEL_MAX_BYTES 63

/* RFC 1123 2.1; no other byte can be part of a name or of an address. */
static enum host_status
check_bytes(struct span in)
{
	for (size_t i = 0; i < in.len; i++) {
		uint8_t c = in.ptr[i];

		if (c > 0x7f)
			return HOST_NOT_ASCII;
		if (!ascii_is_alnum(c) && c != '-' && c != '.')
			return HOST_BAD_BYTE;
	}
	return HOST_NAME;
}

static enum host_status
check_label(struct span label)
{
	if (label.len == 0)
		return HOST_LABEL_EMPTY;
	if (label.len > LABEL_MAX_BYTES)
		return HOST_LABEL_TOO_LONG;
	if (label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
		return HOST_LABEL_HYPHEN;
	return HOST_NAME;
}

/*
 * WHATWG URL 3.5 "ends in a number": inet_aton(), and so some resolver, reads
 * such a name as an address. No top-level domain is a number (RFC 3696 2).
 */
static bool
is_number(struct span label)
{
	size_t i = 0;
	bool is_hex = label.len >= 2 && label.ptr[0] == '0' &&
	    ascii_lower(label.ptr[1]) == 'x';

	for (i = is_hex ? 2 : 0; i < label.len; i++)
		if (is_hex ? ascii_hex(label.ptr[i]) < 0
			   : !ascii_is_digit(label.ptr[i]))
			return false;
	return label.len > 0;
}

/* Every label, and what kind of name they make. */
static enum host_status
check_labels(struct span name)
{
	struct span rest = name, last = { NULL, 0 };
	size_t count = 0;

	while (rest.ptr != NULL) {
		enum host_status s;

		last = token_cut(&rest, '.');
		s = check_label(last);
		if (s != HOST_NAME)
			return s;
		count++;
	}
	if (is_number(last))
		return HOST_ADDRESS_ODD;
	if (span_is_case(last, "localhost"))
		return HOST_LOCALHOST;
	return count == 1 ? HOST_SINGLE_LABEL : HOST_NAME;
}

static enum host_status
check_name(struct span *in)
{
	struct address ignored;
	enum host_status s;

	if (in->len == 0)
		return HOST_EMPTY;
	if (address_parse(*in, &ignored))
		return HOST_ADDRESS;
	s = check_bytes(*in);
	if (s != HOST_NAME)
		return s;
	if (in->ptr[in->len - 1] == '.')
		in->len--;
	if (in->len == 0)
		return HOST_LABEL_EMPTY; /* the root */
	if (in->len >= HOST_SIZE)
		return HOST_TOO_LONG;
	return check_labels(*in);
}

enum host_status
host_parse(struct span in, char ret[HOST_SIZE])
{
	enum host_status s = check_name(&in);

	if (!host_is_written(s))
		return s;
	for (size_t i = 0; i < in.len; i++)
		ret[i] = (char)ascii_lower(in.ptr[i]);
	ret[in.len] = '\0';
	return s;
}

bool
host_is_written(enum host_status s)
{
	return s == HOST_NAME || s == HOST_SINGLE_LABEL || s == HOST_LOCALHOST;
}

const char *
host_status_text(enum host_status s)
{
	static const char *const texts[] = {
		[HOST_NAME] = "a host name",
		[HOST_SINGLE_LABEL] = "a name of one label",
		[HOST_LOCALHOST] = "a name of this machine",
		[HOST_ADDRESS] = "an IP address, not a name",
		[HOST_ADDRESS_ODD] =
		    "a number that some programs read as an IP address",
		[HOST_EMPTY] = "the name is empty",
		[HOST_TOO_LONG] = "the name is longer than 253 bytes",
		[HOST_LABEL_EMPTY] = "the name has an empty label",
		[HOST_LABEL_TOO_LONG] = "a label is longer than 63 bytes",
		[HOST_LABEL_HYPHEN] = "a label begins or ends with a hyphen",
		[HOST_NOT_ASCII] =
		    "the name is not ASCII; write it as xn--... labels",
		[HOST_BAD_BYTE] = "a byte is no letter, digit, hyphen or dot",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == HOST_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}

size_t
host_depth_under(const char *name, const char *suffix)
{
	size_t name_len = strlen(name), suffix_len = strlen(suffix), depth = 0;
	size_t front;

	/* One byte of label and a dot at least. */
	if (suffix_len == 0 || name_len < suffix_len + 2)
		return 0;
	front = name_len - suffix_len;
	if (name[front - 1] != '.' || strcmp(name + front, suffix) != 0)
		return 0;
	for (size_t i = 0; i < front; i++)
		depth += name[i] == '.';
	return depth;
}

bool
host_is_under(const char *name, const char *suffix)
{
	return host_depth_under(name, suffix) > 0;
}
