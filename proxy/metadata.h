/*
 * The metadata services by which SDKs of AWS, Google Cloud and Azure find
 * credentials on a machine of theirs, in a guest at 169.254.169.254 and
 * metadata.google.internal. What is handed out is the placeholder of a
 * credential that says `metadata = yes`: with it the SDK asks the cloud's API,
 * and on the way there the gate puts in what is real. Nothing secret is here.
 *
 * A fixed table of paths; whatever is not in it is 404. Each cloud wants the
 * field that a page in a browser, or a proxy that was fooled, could not send.
 */
#ifndef TAPWARD_PROXY_METADATA_H
#define TAPWARD_PROXY_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/verdict.h"
#include "proxy/grants.h"
#include "wire/http.h"

#define METADATA_ADDRESS "169.254.169.254"
#define METADATA_GOOGLE "metadata.google.internal"
#define METADATA_BODY_MAX 2048
#define METADATA_KEY_BYTES 32

struct metadata_request {
	struct span method;
	bool is_google_name; /* asked of METADATA_GOOGLE */
	struct span path, query;
	const struct http_fields *fields;
	uint64_t wall_ms, boot_ms; /* now */
};

/* Texts that are pointed to are static. */
struct metadata_answer {
	unsigned int status;
	const char *phrase;
	const char *type;
	const char *name; /* of one field beside it; NULL: none */
	char value[32];
	char body[METADATA_BODY_MAX];
	size_t len;
};

/* Is it this service that is asked for, and is any of it granted? */
bool metadata_is_asked(const struct grants *g, enum scheme scheme,
    const char *host, uint16_t port);
/*
 * Answers from g. key: of this gate, for the session tokens of AWS's version 2;
 * they hold for what it made, and end by themselves.
 */
void metadata_answer(const struct grants *g,
    const uint8_t key[METADATA_KEY_BYTES], const struct metadata_request *req,
    struct metadata_answer *ret);

#endif
