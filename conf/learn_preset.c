/*
 * Presets in a policy that is learned. One fits if it lets through all that
 * was asked of some host; of those that fit the one for the most requests is
 * taken, until none fits what is left. So a preset is never taken for a host
 * that needs a rule all the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/compile.h"
#include "conf/learn_private.h"
#include "conf/policy.h"
#include "conf/presets.h"
#include "wire/path.h"

/* No preset names a credential, or opens a tunnel. */
static bool
is_allowed(const struct learn *l, const struct policy *p,
    const struct learn_asked *a)
{
	size_t len = strcspn(a->target, "?");
	struct span path = { (const uint8_t *)a->target, len };
	struct path_reading reading = path_read(path);
	struct policy_pair pair = { p, NULL };
	struct policy_request req = { .host = a->host,
		.port = a->port,
		.scheme = a->scheme == AUDIT_SCHEME_HTTP ||
			a->scheme == AUDIT_SCHEME_WS
		    ? SCHEME_HTTP
		    : SCHEME_HTTPS,
		.method = span_of(l->methods[a->method]),
		.path = path,
		.has_query = a->target[len] == '?',
		.is_websocket = learn_is_websocket(a),
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };

	if (a->kind == LEARN_TUNNEL || a->is_other || a->credential[0] != '\0')
		return false;
	req.query = span_of(a->target + len + (req.has_query ? 1 : 0));
	return policy_judge_request(&pair, &req).action == ACTION_ALLOW;
}

/* All that is left of the place of a is let through. */
static bool
fits_place(const struct learn *l, const struct policy *p,
    const struct learn_asked *a)
{
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);

		if (!b->is_covered && learn_is_same_place(a, b) &&
		    !is_allowed(l, p, b))
			return false;
	}
	return true;
}

/* How many requests it is for; with takes they are covered from now on. */
static uint64_t
gain_of(const struct learn *l, const struct policy *p, bool takes)
{
	uint64_t gain = 0;

	for (size_t i = 0; i < l->all.count; i++) {
		struct learn_asked *a = learn_at(l, i);

		if (a->is_covered || !is_allowed(l, p, a) ||
		    !fits_place(l, p, a))
			continue;
		gain += a->count;
		a->is_written = takes;
	}
	for (size_t i = 0; i < l->all.count && takes; i++) {
		struct learn_asked *a = learn_at(l, i);

		a->is_covered = a->is_covered || a->is_written;
		a->is_written = false;
	}
	return gain;
}

/* NULL when it does not compile, or memory is short. */
static struct policy *
preset_policy(const struct preset *preset, struct compile_result *r)
{
	char text[WORDS_NAME_MAX + 64];
	struct compile_input in = { .display_name = "preset",
		.preset = presets_find };
	struct policy *p = NULL;

	(void)snprintf(text, sizeof(text),
	    "[policy]\nversion = 1\npreset = %s\n", preset->name);
	in.text = span_of(text);
	if (compile_policy(&in, r) != 0 ||
	    policy_map_bytes(r->image, r->image_len, &p) != 0)
		return NULL;
	return p;
}

/* What one preset is good for now; with takes it is taken. */
static int
try_preset(const struct learn *l, const struct preset *preset, bool takes,
    uint64_t *ret_gain)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct policy *p = r == NULL ? NULL : preset_policy(preset, r);

	*ret_gain = p == NULL ? 0 : gain_of(l, p, takes);
	policy_unref(p);
	if (r == NULL)
		return -ENOMEM;
	compile_result_done(r);
	free(r);
	return 0;
}

/* The preset that is good for most now; NULL for none. 0 or -ENOMEM. */
static int
find_best(const struct learn *l, const struct preset **ret)
{
	const struct preset *best = NULL;
	uint64_t most = 0, gain;

	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		int rc = try_preset(l, p, false, &gain);

		if (rc != 0)
			return rc;
		if (gain > most) {
			most = gain;
			best = p;
		}
	}
	*ret = best;
	return 0;
}

int
learn_write_presets(struct learn *l, struct wr *w)
{
	for (;;) {
		const struct preset *best;
		uint64_t gain;
		int rc = find_best(l, &best);

		if (rc != 0)
			return rc;
		if (best == NULL)
			return 0;
		rc = try_preset(l, best, true, &gain);
		if (rc != 0)
			return rc;
		wr_fmt(w, "preset  = %s ; %llu requests\n", best->name,
		    (unsigned long long)gain);
	}
}
