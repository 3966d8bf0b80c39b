/*
 * Records and chains for the tests of the recorder.
 */
#ifndef TAPWARD_TESTS_UNIT_RECORDER_SUPPORT_H
#define TAPWARD_TESTS_UNIT_RECORDER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "conf/verdict.h"
#include "daemon/recorder_line.h"

static inline struct message_recorder_sandbox
sandbox_named(const char *name)
{
	struct message_recorder_sandbox m = { .generation = 7 };

	(void)strncpy(m.sandbox, name, sizeof(m.sandbox) - 1);
	memset(m.policy, 'a', sizeof(m.policy) - 1);
	return m;
}

static inline struct audit_record
denial_of(const char *host)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);

	r.verdict = ACTION_DENY;
	r.reason = REASON_NO_RULE;
	r.host = span_of(host);
	return r;
}

/* The text of the file, with a NUL after it; owned by the caller. */
static inline char *
text_of(int fd)
{
	char *text;
	size_t len;

	assert_true(lseek(fd, 0, SEEK_SET) == 0);
	assert_int_equal(fd_read_all(fd, 1 << 26, &text, &len), 0);
	return text;
}

/* Lines up to the first that does not verify; *ret tells why. */
static inline uint64_t
verify_text(const char *text, enum audit_verify_result *ret)
{
	struct audit_verify v;

	audit_verify_init(&v);
	*ret = AUDIT_VERIFY_OK;
	while (*text != '\0' && *ret == AUDIT_VERIFY_OK) {
		size_t len = strcspn(text, "\n");
		struct span line = { (const uint8_t *)text, len };

		*ret = audit_verify_line(&v, line);
		text += text[len] == '\n' ? len + 1 : len;
	}
	if (*ret == AUDIT_VERIFY_OK)
		*ret = audit_verify_end(&v);
	return v.lines;
}

static inline void
assert_whole_chain(int fd, uint64_t want_lines)
{
	AUTO_FREE char *text = text_of(fd);
	enum audit_verify_result result;
	uint64_t lines = verify_text(text, &result);

	if (result != AUDIT_VERIFY_OK)
		fail_msg("%s after %u lines of\n%s", audit_verify_text(result),
		    (unsigned int)lines, text);
	assert_int_equal(lines, want_lines);
}

#endif
