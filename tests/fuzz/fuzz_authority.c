/*
 * What parses is written back as host[:port] and parses to the same; the
 * CONNECT form takes a subset, with a port, and reads it alike.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/authority.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct authority a, b, c;
	enum authority_status s = authority_parse(in, &a);
	enum authority_status t = authority_parse_connect(in, &b);
	uint8_t text[HOST_SIZE + 8];
	struct wr w = wr_init(text, sizeof(text));

	HOLDS(t == s || t == AUTHORITY_NO_PORT);
	if (s != AUTHORITY_OK)
		return 0;
	HOLDS((t == AUTHORITY_OK) == a.has_port);
	HOLDS(a.has_port == (a.port != 0));
	HOLDS(host_is_written(a.host_status));
	wr_text(&w, a.host);
	if (a.has_port)
		wr_fmt(&w, ":%u", (unsigned int)a.port);
	HOLDS(wr_ok(&w));
	HOLDS(
	    authority_parse((struct span){ text, w.len }, &c) == AUTHORITY_OK);
	HOLDS(strcmp(a.host, c.host) == 0 && a.port == c.port);
	HOLDS(authority_same(&a, &c, 443));
	return 0;
}
