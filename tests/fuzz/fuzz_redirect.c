/*
 * Any bytes as a Location: what is read is a URL that, written again from its
 * parts, is read as the same one, and has one path only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/redirect.h"
#include "wire/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[REDIRECT_LOCATION_MAX + HOST_SIZE + 32];
	struct redirect_target t, again;
	struct wr w = wr_init(text, sizeof(text));

	if (!redirect_read((struct span){ data, size }, &t))
		return 0;
	must(t.path.len > 0 && t.path.ptr[0] == '/');
	must(!path_read(t.path).is_ambiguous);
	must(!t.authority.has_port || t.authority.port == 443);
	wr_text(&w, "https://");
	wr_text(&w, t.authority.host);
	wr_bytes(&w, t.path.ptr, t.path.len);
	if (t.has_query) {
		wr_u8(&w, '?');
		wr_bytes(&w, t.query.ptr, t.query.len);
	}
	must(wr_ok(&w) && w.len <= size);
	must(redirect_read((struct span){ w.buf, w.len }, &again));
	must(strcmp(again.authority.host, t.authority.host) == 0);
	must(span_eq(again.path, t.path) && again.has_query == t.has_query);
	must(!t.has_query || span_eq(again.query, t.query));
	return 0;
}
