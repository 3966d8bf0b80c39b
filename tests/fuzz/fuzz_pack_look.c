/*
 * A pack shows the same however it is split, and never what no commit in it
 * says: that a name descends from one that is nowhere in it.
 */
#include "fuzz_wire.h"

#include "proxy/pack_look.h"

#define OLD "1111111111111111111111111111111111111111"

static bool
look(struct span in, uint32_t seed, size_t oid_len, struct span new_oid)
{
	static const char none[] = OLD OLD;
	struct pack_look *l = pack_look_new(oid_len);
	struct span never = { (const uint8_t *)none, oid_len };
	bool goes_on = true, shows;

	HOLDS(l != NULL);
	while (goes_on && in.len > 0) {
		size_t piece = seed == 0 ? in.len : next_piece(&seed);

		piece = piece < in.len ? piece : in.len;
		goes_on = pack_look_feed(l, (struct span){ in.ptr, piece });
		in = (struct span){ in.ptr + piece, in.len - piece };
		(void)pack_look_has_news(l);
	}
	shows = pack_look_shows(l, new_oid, new_oid);
	HOLDS(!shows); /* a commit cannot hold its own name */
	shows = pack_look_shows(l, new_oid, never);
	pack_look_free(l);
	return shows;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t oid_len = size % 2 == 0 ? 40 : 64;
	struct span name, pack;

	if (size < oid_len || size > 65536)
		return 0;
	name = (struct span){ data, oid_len };
	pack = (struct span){ data + oid_len, size - oid_len };
	HOLDS(look(pack, 0, oid_len, name) ==
	    look(pack, (uint32_t)size, oid_len, name));
	return 0;
}
