/*
 * A state file that is taken has one spelling: written again it is the same.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char again[STATE_TEXT_MAX];
	struct wr w = wr_init(again, sizeof(again));
	struct state s;

	if (state_parse((struct span){ data, size }, &s) != 0)
		return 0;
	state_write(&w, &s);
	if (!wr_ok(&w) || w.len != size || memcmp(again, data, size) != 0)
		abort();
	return 0;
}
