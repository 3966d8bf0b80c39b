/*
 * Any bytes as what a gate would have signed: read in bounds, and what is taken
 * for a proof is one of the two texts that TLS has.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/tls_proof.h"

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
	char host[HOST_SIZE] = "", again[HOST_SIZE];

	switch (tls_proof_read((struct span){ data, size }, host)) {
	case TLS_PROOF_NONE:
		return 0;
	case TLS_PROOF_13:
		must(size == 64 + 34 + 32 || size == 64 + 34 + 48);
		must(data[0] == ' ' && host[0] == '\0');
		return 0;
	case TLS_PROOF_12:
		break;
	}
	/* From a ClientHello on to a ClientKeyExchange. */
	must(size > 9 * 4 && data[0] == 1);
	must(host_is_written(host_parse(span_of(host), again)) &&
	    strcmp(host, again) == 0);
	/* A byte less, or one more, is none. */
	must(tls_proof_read((struct span){ data, size - 1 }, again) ==
	    TLS_PROOF_NONE);
	return 0;
}
