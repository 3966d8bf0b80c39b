/*
 * From a text to a mapped policy, for tests that ask for verdicts.
 */
#ifndef TAPWARD_TESTS_MAKE_POLICY_H
#define TAPWARD_TESTS_MAKE_POLICY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/compile.h"
#include "conf/policy.h"
#include "wire/path.h"

#define POLICY_HEAD "[policy]\nversion = 1\n"

/* NULL, and the findings on standard error, when it does not compile. */
static inline struct policy *
make_policy_of(const struct compile_input *in)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct policy *p = NULL;
	AUTO_CLOSE int fd = -1;

	if (r == NULL)
		abort();
	if (compile_policy(in, r) == 0 &&
	    fd_memfd_sealed("policy", r->image, r->image_len, &fd) == 0)
		(void)policy_map(fd, &p);
	for (size_t i = 0; p == NULL && i < r->finding_count; i++)
		fprintf(stderr, "%s\n", r->findings[i].text);
	compile_result_done(r);
	free(r);
	return p;
}

static inline struct policy *
make_policy_with(const char *name, const char *text, bool is_ceiling,
    compile_preset *preset)
{
	return make_policy_of(&(struct compile_input){ .display_name = name,
	    .text = span_of(text),
	    .is_ceiling = is_ceiling,
	    .preset = preset });
}

/* That of a sandbox which learns, and the ceiling of a host that permits it. */
static inline struct policy *
make_learning(const char *text)
{
	return make_policy_of(
	    &(struct compile_input){ .display_name = "tapward.ini",
		.text = span_of(text),
		.learns = true });
}

static inline struct policy *
make_learning_ceiling(const char *text)
{
	return make_policy_of(
	    &(struct compile_input){ .display_name = "ceiling.ini",
		.text = span_of(text),
		.is_ceiling = true,
		.learns = true });
}

static inline struct policy *
make_policy(const char *text)
{
	return make_policy_with("tapward.ini", text, false, NULL);
}

static inline struct policy *
make_ceiling(const char *text)
{
	return make_policy_with("ceiling.ini", text, true, NULL);
}

/* query NULL: the request has none. Port 80 is asked for as plain HTTP. */
static inline struct verdict
ask_request(const struct policy_pair *pair, const char *host, uint16_t port,
    const char *method, const char *path, const char *query)
{
	struct path_reading reading = path_read(span_of(path));
	struct policy_request req = { .host = host,
		.port = port,
		.scheme = port == 80 ? SCHEME_HTTP : SCHEME_HTTPS,
		.method = span_of(method),
		.path = span_of(path),
		.query = span_of(query != NULL ? query : ""),
		.has_query = query != NULL,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };

	return policy_judge_request(pair, &req);
}

#endif
