/*
 * A written name is canonical: parsing it again, in capitals or with a final
 * dot, gives the same name and the same outcome, and no address is written.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "base/ascii.h"
#include "wire/address.h"
#include "wire/host.h"

static void
same_again(struct span in, enum host_status want, const char *name)
{
	char again[HOST_SIZE];

	HOLDS(host_parse(in, again) == want);
	HOLDS(strcmp(again, name) == 0);
}

static void
is_canonical(enum host_status s, const char *name)
{
	char loud[HOST_SIZE + 1];
	size_t len = strlen(name);
	struct address a;

	HOLDS(len > 0 && len < HOST_SIZE);
	HOLDS(!address_parse(span_of(name), &a));
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];

		HOLDS(ascii_is_alnum(c) || c == '-' || c == '.');
		HOLDS(ascii_lower(c) == c);
		loud[i] = (char)(ascii_is_alpha(c) ? c - 0x20 : c);
	}
	loud[len] = '.';
	same_again(span_of(name), s, name);
	same_again((struct span){ (uint8_t *)loud, len + 1 }, s, name);
	HOLDS(host_depth_under(name, name) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOST_SIZE];
	enum host_status s = host_parse((struct span){ data, size }, name);

	HOLDS(host_status_text(s) != NULL);
	if (host_is_written(s))
		is_canonical(s, name);
	return 0;
}
