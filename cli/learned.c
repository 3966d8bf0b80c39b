/*
 * What a policy can be learned from: requests that were let through, by the
 * policy or by the ceiling alone, those that it was refused for want of a
 * rule, and tunnels. All else is counted, and told in a comment.
 */
#include "cli/learned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/names.h"
#include "base/reason.h"
#include "cli/call.h"
#include "conf/learn.h"

/* Places that are told of one by one. */
#define PLACES_MAX 64
#define PLACE_SIZE (HOST_NAME_SIZE + 8)

struct place {
	char name[PLACE_SIZE]; /* "host:port" */
	uint64_t count;
	bool has_request;
};

struct learning {
	struct learn *learn;
	uint64_t requests;
	uint64_t learned;    /* of them, by the ceiling alone */
	uint64_t by_ceiling; /* that no policy lets through */
	uint64_t by_rule;    /* that a [deny] rule of the policy refuses */
	uint64_t others;     /* that were refused for what they are */
	struct place places[PLACES_MAX]; /* of TLS, by what became of it */
	size_t place_count;
};

/* What a rule that names more mends; the rest is refused for what it is. */
static bool
is_mendable(const char *code)
{
	static const enum reason all[] = { REASON_NO_RULE, REASON_PORT,
		REASON_METHOD, REASON_PATH, REASON_QUERY, REASON_WEBSOCKET };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(code, reason_code(all[i])) == 0)
			return true;
	return false;
}

static const char *
text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text == NULL ? "" : text;
}

static enum audit_scheme
scheme_of(const json_t *record)
{
	const char *name = text_of(record, "scheme");

	for (unsigned int i = 1; i < AUDIT_SCHEME_COUNT; i++)
		if (strcmp(name, audit_scheme_name((enum audit_scheme)i)) == 0)
			return (enum audit_scheme)i;
	return AUDIT_SCHEME_NONE;
}

/* NULL when there are too many. */
static struct place *
place_of(struct learning *l, const struct learn_request *r)
{
	char name[PLACE_SIZE];

	(void)snprintf(name, sizeof(name), "%.*s:%u", HOST_NAME_SIZE, r->host,
	    r->port);
	for (size_t i = 0; i < l->place_count; i++)
		if (strcmp(l->places[i].name, name) == 0)
			return &l->places[i];
	if (l->place_count == PLACES_MAX)
		return NULL;
	memcpy(l->places[l->place_count].name, name, sizeof(name));
	return &l->places[l->place_count++];
}

static int
add(struct learning *l, const json_t *record, const struct learn_request *r)
{
	l->requests++;
	if (text_of(record, "learned")[0] != '\0')
		l->learned++;
	return learn_add(l->learn, r);
}

static int
take_request(struct learning *l, const json_t *record,
    const struct learn_request *r)
{
	static const char ceiling[] = "ceiling-";
	const char *reason = text_of(record, "reason");
	struct place *place = place_of(l, r);

	if (place != NULL)
		place->has_request = true;
	if (strncmp(reason, ceiling, sizeof(ceiling) - 1) == 0)
		l->by_ceiling++;
	else if (strcmp(reason, reason_code(REASON_DENIED_BY_RULE)) == 0)
		l->by_rule++;
	/* A byte that the log had to escape is no byte of a path. */
	else if (strcmp(text_of(record, "verdict"), "allow") != 0 &&
	    (!is_mendable(reason) || strchr(r->target, '\\') != NULL))
		l->others++;
	else
		return add(l, record, r);
	return 0;
}

/*
 * A tunnel; or TLS that came to nothing, since its guest did not take our
 * certificate, or went away without having asked for anything.
 */
static int
take_connection(struct learning *l, const json_t *record,
    const struct learn_request *r)
{
	bool is_refused = strcmp(text_of(record, "reason"),
			      reason_code(REASON_GUEST_TLS)) == 0;
	bool is_allowed = strcmp(text_of(record, "verdict"), "allow") == 0;
	struct place *place;

	if (is_allowed &&
	    (r->scheme == AUDIT_SCHEME_TCP ||
		r->scheme == AUDIT_SCHEME_PASSTHROUGH))
		return add(l, record, r);
	if (r->scheme != AUDIT_SCHEME_HTTPS || (!is_allowed && !is_refused))
		return 0;
	place = place_of(l, r);
	if (place != NULL)
		place->count++;
	return 0;
}

static int
take_record(struct learning *l, const json_t *record)
{
	json_int_t port = json_integer_value(json_object_get(record, "port"));
	struct learn_request r = {
		.host = text_of(record, "host"),
		.port = (uint16_t)port,
		.scheme = scheme_of(record),
		.method = text_of(record, "method"),
		.target = text_of(record, "path"),
		.credential = text_of(record, "credential"),
		.count = 1,
	};

	if (port <= 0 || port > UINT16_MAX || r.host[0] == '\0')
		return 0;
	if (strcmp(text_of(record, "event"), "request") == 0)
		return take_request(l, record, &r);
	if (strcmp(text_of(record, "event"), "connect") == 0)
		return take_connection(l, record, &r);
	return 0;
}

static int
on_line(char *line, size_t len, void *arg)
{
	json_t *record = json_loadb(line, len, 0, NULL);
	int rc = record == NULL ? 0 : take_record(arg, record);

	json_decref(record);
	if (rc == -E2BIG)
		(void)fprintf(stderr,
		    "tapward: more than %d different requests: learn from a "
		    "shorter run\n",
		    LEARN_REQUESTS_MAX);
	else if (rc != 0)
		(void)fprintf(stderr, "tapward: %s\n", strerror(-rc));
	return rc == 0 ? 0 : CLI_FAILED;
}

/* --- the text --- */

static void
write_places(const struct learning *l, struct wr *w)
{
	for (size_t i = 0; i < l->place_count; i++) {
		const struct place *p = &l->places[i];

		if (p->has_request || p->count == 0)
			continue;
		wr_fmt(w,
		    "\n; %s asked for nothing in %llu connections: its client "
		    "does not trust the sandbox's CA\n; (tapward env), or pins "
		    "a certificate; then only `tls = passthrough` lets it "
		    "through,\n; where the host's ceiling says so, too\n",
		    p->name, (unsigned long long)p->count);
	}
}

static void
write_left_out(const struct learning *l, struct wr *w)
{
	const struct {
		uint64_t count;
		const char *why;
	} rows[] = {
		{ l->by_ceiling, "the host's ceiling refuses them" },
		{ l->by_rule,
		    "[deny] rules of the policy refuse them: keep those" },
		{ l->others,
		    "a policy cannot allow what they were refused "
		    "for" },
	};

	write_places(l, w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].count > 0)
			wr_fmt(w, "\n; %llu requests are not in here: %s\n",
			    (unsigned long long)rows[i].count, rows[i].why);
}

static int
write_policy(const struct learning *l, const char *name, struct wr *w)
{
	int rc;

	wr_fmt(w, "; what %s asked for: %llu requests", name,
	    (unsigned long long)l->requests);
	if (l->learned > 0)
		wr_fmt(w, ", %llu of them let through by the ceiling alone",
		    (unsigned long long)l->learned);
	wr_text(w, "\n");
	rc = learn_write(l->learn, w);
	if (rc != 0)
		return rc;
	write_left_out(l, w);
	wr_u8(w, 0);
	return wr_ok(w) ? 0 : -EMSGSIZE;
}

static int
make_text(const struct learning *l, const char *name, char **ret_text)
{
	AUTO_FREE char *text = malloc(LEARN_TEXT_MAX_BYTES);
	struct wr w = wr_init(text, text == NULL ? 0 : LEARN_TEXT_MAX_BYTES);
	int rc = text == NULL ? -ENOMEM : write_policy(l, name, &w);

	if (rc != 0) {
		(void)fprintf(stderr, "tapward: the policy: %s\n",
		    strerror(-rc));
		return CLI_FAILED;
	}
	*ret_text = text;
	text = NULL;
	return 0;
}

int
learned_policy(const struct cli *cli, const char *name, char **ret_text)
{
	AUTO_FREE struct learning *l = calloc(1, sizeof(*l));
	char path[SANDBOX_NAME_SIZE + 32];
	int rc = CLI_FAILED;

	if (l != NULL)
		l->learn = learn_new();
	if (l == NULL || l->learn == NULL) {
		(void)fputs("tapward: no memory\n", stderr);
		return CLI_FAILED;
	}
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/log", name);
	rc = call_stream(cli, path, false, on_line, l);
	if (rc == 0)
		rc = make_text(l, name, ret_text);
	learn_free(l->learn);
	return rc;
}
