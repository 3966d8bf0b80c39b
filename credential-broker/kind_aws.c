/*
 * `kind = aws`: a key of AWS, as it is in a file or as a program says it, or
 * the session of a role that STS gives for the file's (AssumeRole, with a
 * session policy). What a gate gets is derived of it for one day, region and
 * service (aws_key.h, lease.c). A session cannot be given back: it is asked for
 * no longer than `duration`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "credential-broker/answer.h"
#include "credential-broker/aws_key.h"
#include "credential-broker/aws_process.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/fetch.h"
#include "credential-broker/form.h"
#include "credential-broker/helper.h"
#include "credential-broker/kind_fetch.h"
#include "wire/sigv4.h"

#define STS "sts"
#define DURATION_S 900 /* the least that STS gives */
#define DURATION_MAX_S 43200
/* Of a program that does not say when its key ends. */
#define PROCESS_TTL_S 300
#define POLICY_MAX_BYTES 2048 /* AssumeRole: before it is packed */
#define URL_SIZE 256

/* What load() makes of a definition. */
struct aws {
	struct secret key; /* as kinds hand it out; empty: a program says it */
	uint64_t process_ttl_s;
	const char *role; /* of the definition; NULL: the key itself */
	uint64_t duration_s;
	char url[URL_SIZE];
	char host[URL_SIZE]; /* as it is in the URL */
	bool may_be_clear;
};

/* --- what the definition says --------------------------------------------- */

static int
read_url(const struct credential *c, struct aws *a, struct err *err)
{
	const char *url = credential_setting(c, "sts-url"), *fault;
	const char *region = credential_item(c, "region", 0), *host;
	size_t len;

	(void)snprintf(a->url, sizeof(a->url),
	    url != NULL ? "%s" : "https://sts.%s.amazonaws.com/",
	    url != NULL ? url : region);
	a->may_be_clear = credential_says_yes(c, "cleartext");
	fault = fetch_url_fault(a->url, a->may_be_clear);
	if (fault != NULL)
		return err_at(err, NULL, 0, "sts-url: %s", fault);
	host = strstr(a->url, "://") + 3;
	len = strcspn(host, "/?");
	if (strcmp(host + len, "/") != 0)
		return err_at(err, NULL, 0,
		    "sts-url is https://HOST/, without a path");
	/* It fits: the URL does. */
	memcpy(a->host, host, len);
	a->host[len] = '\0';
	return 0;
}

static int
read_role(const struct credential *c, struct aws *a, struct err *err)
{
	const struct secret *policy = credential_secret(c, "session-policy");

	a->role = credential_setting(c, "role");
	a->duration_s = credential_seconds(c, "duration", DURATION_S);
	if (a->role == NULL) {
		if (policy != NULL ||
		    credential_setting(c, "duration") != NULL ||
		    credential_setting(c, "external-id") != NULL ||
		    credential_setting(c, "sts-url") != NULL)
			return err_at(err, NULL, 0,
			    "session-policy, duration, external-id and sts-url "
			    "are of a session: add `role`");
		return 0;
	}
	if (a->duration_s < DURATION_S || a->duration_s > DURATION_MAX_S)
		return err_at(err, NULL, 0,
		    "duration is from 15m to 12h, as STS has it");
	if (policy != NULL && policy->len > POLICY_MAX_BYTES)
		return err_at(err, NULL, 0,
		    "session-policy holds more than 2,048 bytes");
	return read_url(c, a, err);
}

static void
aws_unload(struct credential *c)
{
	struct aws *a = c->state;

	if (a == NULL)
		return;
	secret_done(&a->key);
	free(a);
	c->state = NULL;
}

static int
read_value(const struct credential *c, struct aws *a, struct err *err)
{
	const char *fault = aws_key_read(secret_span(&c->value), &a->key);

	if (fault != NULL)
		return err_at(err, NULL, 0, "%s %s", c->definition.source,
		    fault);
	if (credential_setting(c, "run-as") != NULL ||
	    credential_setting(c, "default-ttl") != NULL)
		return err_at(err, NULL, 0,
		    "run-as and default-ttl are of a program: add `command`, "
		    "or remove them");
	return 0;
}

static void
read_command(struct credential *c, struct aws *a)
{
	a->process_ttl_s = credential_seconds(c, "default-ttl", PROCESS_TTL_S);
	/* Two at once could write one cache of theirs. */
	c->is_serial = true;
}

static bool
is_process(const struct credential *c)
{
	return credential_setting(c, "command") != NULL;
}

static int
aws_load(struct credential *c, struct err *err)
{
	struct aws *a = calloc(1, sizeof(*a));
	int rc = 0;

	c->state = a;
	if (a == NULL)
		return err_os(err, -ENOMEM, "aws");
	if (is_process(c))
		read_command(c, a);
	else
		rc = read_value(c, a, err);
	if (rc != 0)
		return rc;
	if (credential_item(c, "region", 0) == NULL ||
	    credential_item(c, "service", 0) == NULL)
		return err_at(err, NULL, 0, "it needs `region` and `service`");
	return read_role(c, a, err);
}

static const struct secret *
aws_held(const struct credential *c)
{
	const struct aws *a = c->state;

	return a->role == NULL && !is_process(c) ? &a->key : NULL;
}

/* --- what a program says -------------------------------------------------- */

static void
on_said(enum mint_fault fault, struct span output, void *arg)
{
	struct mint *m = arg;
	const struct aws *a = m->credential->state;
	struct minted minted = { .user = "" };

	if (fault == MINT_OK)
		fault = aws_process_read(output, a->process_ttl_s, &minted);
	m->state = NULL;
	mint_end(m, fault, &minted, 0);
	minted_done(&minted);
}

static void
ask_process(struct mint *m)
{
	m->state = helper_start(m->broker, m->credential->definition.name,
	    (struct span){ NULL, 0 }, on_said, m);
	if (m->state == NULL)
		mint_end(m, MINT_LOCAL, NULL, 0);
}

/* --- a session ------------------------------------------------------------ */

static void
write_body(const struct mint *m, const struct aws *a, struct form *body)
{
	const struct credential *c = m->credential;
	const struct secret *policy = credential_secret(c, "session-policy");
	const char *external = credential_setting(c, "external-id");
	char name[80], duration[24];

	(void)snprintf(name, sizeof(name), "tapward-%s", m->sandbox);
	(void)snprintf(duration, sizeof(duration), "%llu",
	    (unsigned long long)a->duration_s);
	form_add(body, "Action", "AssumeRole");
	form_add(body, "Version", "2011-06-15");
	form_add(body, "RoleArn", a->role);
	form_add(body, "RoleSessionName", name);
	form_add(body, "DurationSeconds", duration);
	if (policy != NULL)
		form_add_span(body, "Policy", secret_span(policy));
	if (external != NULL)
		form_add(body, "ExternalId", external);
}

/* Of a time "2026-11-30T01:15:02.123Z". */
static void
write_time(char ret[SIGV4_TIME_SIZE])
{
	struct wr w = wr_init(ret, SIGV4_TIME_SIZE);
	char text[CLOCK_TEXT_SIZE];

	(void)clock_text(clock_wall_ms(), text);
	for (const char *p = text; *p != '.'; p++)
		if (*p != '-' && *p != ':')
			wr_u8(&w, (uint8_t)*p);
	wr_bytes(&w, "Z", 2);
}

static int
sign(const struct aws *a, const struct aws_key *k,
    const struct sigv4_scope *scope, const char *time, struct span body,
    char ret[DIGEST_HEX_SIZE])
{
	struct http_fields fields = { .count = 2 };
	uint8_t buf[2 * URL_SIZE + 256], key[DIGEST_BYTES];
	uint8_t digest[DIGEST_BYTES];
	char payload[DIGEST_HEX_SIZE];
	struct wr w = wr_init(buf, sizeof(buf));
	struct sigv4_subject s = { .service = STS,
		.method = span_of("POST"),
		.path = span_of("/"),
		.host = "",
		.names = "host;x-amz-date" };
	int rc = digest_sha256(body.ptr, body.len, digest);

	fields.at[0] = (struct http_field){ span_of("host"), span_of(a->host) };
	fields.at[1] =
	    (struct http_field){ span_of("x-amz-date"), span_of(time) };
	s.fields = &fields;
	digest_hex(digest, payload);
	s.payload = span_of(payload);
	if (rc == 0 && (sigv4_canonical(&w, &s) != SIGV4_OK || !wr_ok(&w)))
		rc = -EMSGSIZE;
	if (rc == 0)
		rc = sigv4_derive(k->secret, scope, key);
	if (rc == 0)
		rc = sigv4_sign(key, scope, time, (struct span){ buf, w.len },
		    ret);
	digest_wipe(key, sizeof(key));
	return rc;
}

/* The two fields that are signed for, and with. False: they cannot be made. */
static bool
write_headers(const struct credential *c, const struct aws *a, struct span body,
    struct form *date, struct form *authorization, struct form *token)
{
	struct sigv4_scope scope = { .service = STS };
	char time[SIGV4_TIME_SIZE], signature[DIGEST_HEX_SIZE], text[512];
	struct aws_key k;

	write_time(time);
	(void)snprintf(scope.date, sizeof(scope.date), "%.8s", time);
	(void)snprintf(scope.region, sizeof(scope.region), "%s",
	    credential_item(c, "region", 0));
	if (!aws_key_split(secret_span(&a->key), &k) ||
	    sign(a, &k, &scope, time, body, signature) != 0)
		return false;
	form_text(date, "X-Amz-Date: ");
	form_text(date, time);
	(void)snprintf(text, sizeof(text),
	    "/%s/%s/" STS "/aws4_request, SignedHeaders=host;x-amz-date, "
	    "Signature=%s",
	    scope.date, scope.region, signature);
	form_text(authorization, "Authorization: AWS4-HMAC-SHA256 Credential=");
	form_span(authorization, k.id);
	form_text(authorization, text);
	if (k.token.len > 0) {
		form_text(token, "X-Amz-Security-Token: ");
		form_span(token, k.token);
	}
	return form_ok(date) && form_ok(authorization) && form_ok(token);
}

/* What is between <name> and </name>, which is there once. */
static bool
element(struct span xml, const char *name, struct span *ret)
{
	char open[40], close[40];
	const uint8_t *from, *to;
	size_t left;

	(void)snprintf(open, sizeof(open), "<%s>", name);
	(void)snprintf(close, sizeof(close), "</%s>", name);
	if (xml.len == 0)
		return false;
	from = memmem(xml.ptr, xml.len, open, strlen(open));
	if (from == NULL)
		return false;
	from += strlen(open);
	left = xml.len - (size_t)(from - xml.ptr);
	to = memmem(from, left, close, strlen(close));
	if (to == NULL || memmem(from, left, open, strlen(open)) != NULL)
		return false;
	*ret = (struct span){ from, (size_t)(to - from) };
	return true;
}

static bool
read_end(struct span text, uint64_t *ret)
{
	char buf[40];

	if (text.len >= sizeof(buf))
		return false;
	memcpy(buf, text.ptr, text.len);
	buf[text.len] = '\0';
	return answer_parse_time(buf, ret);
}

static enum mint_fault
read_answer(const struct fetch_answer *a, struct minted *ret)
{
	struct span all, end;
	struct aws_key k;
	uint64_t end_s;

	if (a->fault != MINT_OK)
		return a->fault;
	if (!element(a->body, "Credentials", &all) ||
	    !element(all, "AccessKeyId", &k.id) ||
	    !element(all, "SecretAccessKey", &k.secret) ||
	    !element(all, "SessionToken", &k.token) || k.token.len == 0 ||
	    !element(all, "Expiration", &end) || !read_end(end, &end_s))
		return MINT_ANSWER;
	ret->not_after_boot_ms = kind_not_after_wall(end_s);
	if (ret->not_after_boot_ms == 0)
		return MINT_EXPIRED;
	return aws_key_mint(&k, &ret->value);
}

static void
on_session(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct minted minted = { .user = "" };
	const enum mint_fault fault = read_answer(a, &minted);

	kind_fetch_end(m, fault, &minted, a->retry_after_s);
}

static void
ask_sts(struct mint *m)
{
	const struct aws *a = m->credential->state;
	AUTO_FORM struct form body = form_new(), date = form_new();
	AUTO_FORM struct form authorization = form_new(), token = form_new();
	enum mint_fault fault = MINT_LOCAL;
	struct fetch *t = NULL;

	write_body(m, a, &body);
	if (form_ok(&body) &&
	    write_headers(m->credential, a, form_span_of(&body), &date,
		&authorization, &token)) {
		const struct fetch_request req = { .method = "POST",
			.url = a->url,
			.may_be_clear = a->may_be_clear,
			.headers = { "Accept: text/xml", form_text_of(&date),
			    form_text_of(&authorization),
			    token.len == 0 ? NULL : form_text_of(&token) },
			.body = form_span_of(&body),
			.body_type = "application/x-www-form-urlencoded",
			.want_type = "text/xml" };

		t = fetch_start(m->broker->fetcher, &req, on_session, m,
		    &fault);
	}
	kind_fetch_begun(m, t, fault);
}

static void
aws_begin(struct mint *m)
{
	if (is_process(m->credential))
		ask_process(m);
	else
		ask_sts(m);
}

static void
aws_cancel(struct mint *m)
{
	if (is_process(m->credential)) {
		helper_cancel(m->state);
		m->state = NULL;
	} else {
		kind_fetch_cancel(m);
	}
}

/* The role's own name, which follows its path. */
static void
aws_metadata(const struct credential *c, struct grant_metadata *ret)
{
	const char *role = credential_setting(c, "role");
	const char *slash = role == NULL ? NULL : strrchr(role, '/');
	const char *name = slash != NULL ? slash + 1 : c->definition.name;
	const char *region = credential_item(c, "region", 0);

	ret->cloud = GRANT_CLOUD_AWS;
	kind_put_text(ret->identity, name, strlen(name));
	kind_put_text(ret->place, region, strlen(region));
}

const struct kind kind_aws = {
	.name = "aws",
	.needs_value = true,
	.instead_of_value = "command",
	.metadata = aws_metadata,
	.load = aws_load,
	.unload = aws_unload,
	.held = aws_held,
	.begin = aws_begin,
	.cancel = aws_cancel,
};
