#include "proxy/dialler_query.h"

#include <assert.h>

const char *
dialler_fault_word(enum dialler_fault f)
{
	static const char *const words[] = {
		[DIALLER_FAULT_NONE] = "",
		[DIALLER_FAULT_NO_NAME] = "no-such-name",
		[DIALLER_FAULT_FAILED] = "resolver-failed",
		[DIALLER_FAULT_BAD_ANSWER] = "resolver-bad-answer",
		[DIALLER_FAULT_TIMEOUT] = "resolver-timeout",
		[DIALLER_FAULT_REFUSED] = "resolver-refused",
		[DIALLER_FAULT_UNREACHABLE] = "resolver-unreachable",
		[DIALLER_FAULT_CLOSED] = "resolver-closed",
		[DIALLER_FAULT_CERTIFICATE] = "resolver-certificate",
		[DIALLER_FAULT_TLS] = "resolver-tls",
		[DIALLER_FAULT_NO_ROOTS] = "resolver-no-roots",
		[DIALLER_FAULT_NO_RESOLVER] = "no-resolver",
		[DIALLER_FAULT_TOO_MANY] = "too-many",
		[DIALLER_FAULT_CANCELLED] = "resolver-changed",
	};

	static_assert(sizeof(words) / sizeof(words[0]) == DIALLER_FAULT_COUNT,
	    "a word for each");
	return words[f];
}
