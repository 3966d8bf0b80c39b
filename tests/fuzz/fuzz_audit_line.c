/*
 * A record from a gate that a guest may have taken over: whatever it says,
 * its line is sound (fuzz_line.h).
 */
#include "fuzz_line.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct audit_text text;
	struct audit_record record;
	struct rd r = rd_init(data, size);

	if (size <= AUDIT_BODY_MAX_BYTES &&
	    message_audit_decode(&r, &text, &record) == 0)
		line_is_sound(&record);
	return 0;
}
