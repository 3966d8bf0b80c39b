/*
 * The kinds, see kind.h.
 */
#include "credential-broker/kind.h"

#include <assert.h>

#include "base/message_broker.h"

static const struct kind *const kinds[] = {
	[BROKER_KIND_STATIC] = &kind_static,
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == BROKER_KIND_COUNT,
    "each kind has a row");

const struct kind *
kind_of(uint8_t kind)
{
	assert(kind < BROKER_KIND_COUNT);
	return kinds[kind];
}

const char *
kind_value_fault(struct span value)
{
	if (value.len == 0)
		return "holds nothing";
	if (value.len < KIND_VALUE_MIN_BYTES)
		return "holds less than 8 bytes";
	if (value.len > KIND_VALUE_MAX_BYTES)
		return "holds more than 16 KiB";
	/* CWE-113: a line end in a value begins another header. */
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
			return "holds a line break or another control byte "
			       "before its end";
	if (value.ptr[0] == ' ' || value.ptr[value.len - 1] == ' ')
		return "begins or ends with a blank";
	return NULL;
}
