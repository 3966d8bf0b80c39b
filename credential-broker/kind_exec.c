/*
 * `kind = exec`: what a helper program on the host says, in one of the forms
 * that programs have agreed upon: raw, JSON, and the credential helpers of git,
 * docker and cargo. No shell is between us and it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "credential-broker/answer.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/form.h"
#include "credential-broker/helper.h"
#include "credential-broker/kind.h"

#define DEFAULT_TTL_S 300

struct protocol {
	const char *name;
	/* Writes what it is told into f. NULL: nothing. */
	void (*ask)(const struct credential *c, struct form *f);
	/* Reads what it said; ret has the end of default-ttl already. */
	enum mint_fault (*read)(const struct credential *c, struct span output,
	    struct minted *ret);
};

/* What load() makes of a definition. */
struct exec {
	const struct protocol *protocol;
	uint64_t default_ttl_s;
};

static enum mint_fault
take(struct minted *ret, struct span value)
{
	return secret_set(&ret->value, value.ptr, value.len) == 0 ? MINT_OK
								  : MINT_LOCAL;
}

/* --- raw and JSON --------------------------------------------------------- */

static enum mint_fault
read_raw(const struct credential *c, struct span output, struct minted *ret)
{
	(void)c;
	return take(ret, span_without_line_ends(output));
}

/* Seconds since 1970, or RFC 3339. */
static bool
read_end(const json_t *j, const char *name, struct minted *ret)
{
	uint64_t wall_s;

	if (json_object_get(j, name) == NULL)
		return true;
	if (!answer_time(j, name, &wall_s) && !answer_seconds(j, name, &wall_s))
		return false;
	ret->not_after_boot_ms = kind_not_after_wall(wall_s);
	return true;
}

static enum mint_fault
read_json(const struct credential *c, struct span output, struct minted *ret)
{
	const char *key = credential_setting(c, "json-key");
	const char *end = credential_setting(c, "expires-key");
	json_t *j = answer_parse(output);
	const char *text =
	    j == NULL ? NULL : answer_text(j, key == NULL ? "token" : key);
	enum mint_fault fault = MINT_ANSWER;

	if (text != NULL && (end == NULL || read_end(j, end, ret)))
		fault = take(ret, span_of(text));
	json_decref(j);
	return fault;
}

/* --- git: gitcredentials(7), git-credential(1) ---------------------------- */

static void
ask_git(const struct credential *c, struct form *f)
{
	form_text(f, "protocol=https\nhost=");
	form_text(f, c->definition.hosts[0]);
	form_text(f, "\n\n");
}

static bool
has_key(struct span line, const char *key, struct span *ret_value)
{
	const size_t n = strlen(key);

	if (line.len < n || memcmp(line.ptr, key, n) != 0)
		return false;
	*ret_value = (struct span){ line.ptr + n, line.len - n };
	return true;
}

static bool
read_seconds(struct span s, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is_digit(s.ptr[i]) || n > UINT32_MAX)
			return false;
		n = n * 10 + (uint64_t)(s.ptr[i] - '0');
	}
	*ret = n;
	return s.len > 0;
}

static enum mint_fault
read_git(const struct credential *c, struct span output, struct minted *ret)
{
	enum mint_fault fault = MINT_REFUSED; /* it said nothing: it has none */
	struct span v;
	uint64_t wall_s;

	(void)c;
	while (output.len > 0) {
		const struct span line = span_take_line(&output);

		if (line.len == 0)
			break;
		if (memchr(line.ptr, '\0', line.len) != NULL ||
		    memchr(line.ptr, '=', line.len) == NULL)
			return MINT_ANSWER;
		if (has_key(line, "password=", &v))
			fault = take(ret, v);
		else if (has_key(line, "username=", &v) &&
		    kind_take_user(ret, v) != MINT_OK)
			return MINT_ANSWER;
		else if (has_key(line, "password_expiry_utc=", &v)) {
			if (!read_seconds(v, &wall_s))
				return MINT_ANSWER;
			ret->not_after_boot_ms = kind_not_after_wall(wall_s);
		}
	}
	return fault;
}

/* --- docker: docker-credential-helpers ------------------------------------ */

static void
ask_docker(const struct credential *c, struct form *f)
{
	form_text(f, c->definition.hosts[0]);
}

static enum mint_fault
read_docker(const struct credential *c, struct span output, struct minted *ret)
{
	json_t *j = answer_parse(output);
	const char *user = j == NULL ? NULL : answer_text(j, "Username");
	const char *secret = j == NULL ? NULL : answer_text(j, "Secret");
	enum mint_fault fault = MINT_ANSWER;

	(void)c;
	/* An identity token is for the registry's own token server only. */
	if (user != NULL && secret != NULL && strcmp(user, "<token>") != 0)
		fault = kind_take_user(ret, span_of(user));
	if (fault == MINT_OK)
		fault = take(ret, span_of(secret));
	json_decref(j);
	return fault;
}

/* --- cargo: credential-provider-protocol ---------------------------------- */

/* It says hello first and reads then: what we write waits in the pipe. */
static void
ask_cargo(const struct credential *c, struct form *f)
{
	form_text(f, "{\"v\":1,\"registry\":{\"index-url\":\"");
	form_json(f, span_of(credential_setting(c, "index-url")));
	form_text(f,
	    "\"},\"kind\":\"get\",\"operation\":\"read\",\"args\":[]}\n");
}

static enum mint_fault
read_cargo_ok(const json_t *ok, struct minted *ret)
{
	const char *token = answer_text(ok, "token");
	const char *cache = answer_text(ok, "cache");

	if (token == NULL ||
	    (cache != NULL && strcmp(cache, "expires") == 0 &&
		(json_object_get(ok, "expiration") == NULL ||
		    !read_end(ok, "expiration", ret))))
		return MINT_ANSWER;
	return take(ret, span_of(token));
}

static enum mint_fault
read_cargo(const struct credential *c, struct span output, struct minted *ret)
{
	json_t *hello = answer_parse(span_take_line(&output));
	json_t *said = answer_parse(span_take_line(&output));
	const json_t *ok = said == NULL ? NULL : json_object_get(said, "Ok");
	enum mint_fault fault = MINT_ANSWER;
	size_t i;
	json_t *v;

	(void)c;
	if (said != NULL && json_object_get(said, "Err") != NULL)
		fault = MINT_REFUSED;
	json_array_foreach(json_object_get(hello, "v"), i,
	    v) if (json_integer_value(v) == 1 && json_is_object(ok)) fault =
	    read_cargo_ok(ok, ret);
	json_decref(hello);
	json_decref(said);
	return fault;
}

static const struct protocol protocols[] = {
	{ "raw", NULL, read_raw },
	{ "json", NULL, read_json },
	{ "git", ask_git, read_git },
	{ "docker", ask_docker, read_docker },
	{ "cargo", ask_cargo, read_cargo },
};

/* --- the kind ------------------------------------------------------------- */

static int
exec_load(struct credential *c, struct err *err)
{
	const char *name = credential_setting(c, "protocol");
	struct exec *x = calloc(1, sizeof(*x));

	c->state = x;
	if (x == NULL)
		return err_os(err, -ENOMEM, "exec");
	x->protocol = &protocols[0];
	for (size_t i = 0;
	     name != NULL && i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (strcmp(name, protocols[i].name) == 0)
			x->protocol = &protocols[i];
	x->default_ttl_s = credential_seconds(c, "default-ttl", DEFAULT_TTL_S);
	if (x->protocol->ask == ask_cargo &&
	    credential_setting(c, "index-url") == NULL)
		return err_at(err, NULL, 0,
		    "protocol = cargo needs `index-url = sparse+https://...`");
	return 0;
}

static void
exec_unload(struct credential *c)
{
	free(c->state);
	c->state = NULL;
}

static void
on_output(enum mint_fault fault, struct span output, void *arg)
{
	struct mint *m = arg;
	const struct exec *x = m->credential->state;
	struct minted minted = {
		.not_after_boot_ms = kind_not_after(x->default_ttl_s),
	};

	if (fault == MINT_OK)
		fault = x->protocol->read(m->credential, output, &minted);
	m->state = NULL;
	mint_end(m, fault, &minted, 0);
	minted_done(&minted);
}

static void
exec_begin(struct mint *m)
{
	const struct exec *x = m->credential->state;
	AUTO_FORM struct form in = form_new();

	if (x->protocol->ask != NULL)
		x->protocol->ask(m->credential, &in);
	if (form_ok(&in))
		m->state =
		    helper_start(m->broker, m->credential->definition.name,
			form_span_of(&in), on_output, m);
	if (m->state == NULL)
		mint_end(m, MINT_LOCAL, NULL, 0);
}

static void
exec_cancel(struct mint *m)
{
	helper_cancel(m->state);
	m->state = NULL;
}

const struct kind kind_exec = {
	.name = "exec",
	/* Two at once could write one file of theirs. */
	.is_serial = true,
	.load = exec_load,
	.unload = exec_unload,
	.begin = exec_begin,
	.cancel = exec_cancel,
};
