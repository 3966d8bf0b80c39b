/*
 * Answers to what is refused, see deny.h.
 *
 * Which client shows what: npm, pnpm, gem, apt, maven and composer the reason
 * phrase; git and go a text/plain body; npm and yarn the JSON field "error",
 * docker "errors[0].message", cargo "errors[0].detail", composer "warning". So
 * each of them carries the same line. Others have a row in forms[].
 */
#include "proxy/deny.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "base/json.h"
#include "proxy/push_report.h"
#include "wire/http.h"
#include "wire/lfs.h"

/* Of the 200 bytes of a line, for what was asked. */
#define ASKED_MAX 96
#define PATH_SHOWN_MAX 48

/* RFC 9209 2.3: error types of Proxy-Status. */
static const char *
proxy_error(enum reason r)
{
	static const struct {
		enum reason reason;
		const char *error;
	} rows[] = {
		{ REASON_RESOLVE_FAILED, "dns_error" },
		{ REASON_ORIGIN_UNREACHABLE, "destination_unavailable" },
		{ REASON_ORIGIN_TLS, "tls_certificate_error" },
		{ REASON_TIMEOUT, "http_response_timeout" },
		{ REASON_BAD_RESPONSE, "http_protocol_error" },
		{ REASON_BAD_REQUEST, "http_request_error" },
		{ REASON_NOT_HTTP, "http_request_error" },
		{ REASON_LIMIT_HEAD, "http_request_error" },
		{ REASON_HOST_MISMATCH, "http_request_error" },
		{ REASON_PRIVATE_ADDRESS, "destination_ip_prohibited" },
		{ REASON_LIMIT_CONNECTIONS, "connection_limit_reached" },
		{ REASON_AUDIT_UNAVAILABLE, "proxy_internal_error" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].reason == r)
			return rows[i].error;
	return "http_request_denied";
}

struct deny
deny_init(enum reason reason)
{
	return (struct deny){
		.reason = reason,
		.rule = "-",
		.file = "",
		.say = "",
		.detail = "",
		.credential = "",
		.host = "",
	};
}

struct deny
deny_of(const struct verdict *v)
{
	struct deny d = deny_init(v->reason);

	d.by_ceiling = v->by_ceiling;
	d.rule = v->rule;
	d.file = v->file;
	d.line = v->line;
	d.say = v->say;
	return d;
}

/* The first row of which all that it names fits. */
static const struct {
	const char *agent;  /* how User-Agent begins, or NULL */
	const char *accept; /* what some Accept holds, or NULL */
	const char *path;   /* the whole of it, or NULL */
	enum deny_form form;
} forms[] = {
	/*
	 * pip passes over an index page of status 4xx in silence, and names
	 * the type of a page that is none.
	 */
	{ "pip/", "application/vnd.pypi.simple", NULL, DENY_FORM_TYPE },
	/*
	 * These ask whether there is a registry, and print a bare number if
	 * there is none. After a 401 they ask for what they want, and print
	 * the JSON of that answer.
	 */
	{ "skopeo/", NULL, "/v2/", DENY_FORM_PING },
	{ "containers/", NULL, "/v2/", DENY_FORM_PING },
	{ "Buildah/", NULL, "/v2/", DENY_FORM_PING },
	{ "libpod/", NULL, "/v2/", DENY_FORM_PING },
	/* JSON that they do not ask for. */
	{ "skopeo/", NULL, NULL, DENY_FORM_JSON },
	{ "containers/", NULL, NULL, DENY_FORM_JSON },
	{ "Buildah/", NULL, NULL, DENY_FORM_JSON },
	{ "libpod/", NULL, NULL, DENY_FORM_JSON },
	{ "Composer/", NULL, NULL, DENY_FORM_JSON },
	/* It prints "message", of its objects' URLs too. */
	{ "git-lfs/", NULL, NULL, DENY_FORM_LFS },
	{ NULL, LFS_TYPE, NULL, DENY_FORM_LFS },
	{ NULL, "json", NULL, DENY_FORM_JSON },
};

static bool
is_agent(const struct http_fields *f, const char *begin)
{
	const struct http_field *at = http_field_find(f, "user-agent", 0);
	size_t len = strlen(begin);

	return at != NULL && at->value.len >= len &&
	    span_is((struct span){ at->value.ptr, len }, begin);
}

/* In any letter case, in any of the fields. */
static bool
accepts(const struct http_fields *f, const char *part)
{
	const struct http_field *at;
	size_t len = strlen(part);

	for (size_t i = 0; (at = http_field_find(f, "accept", i)) != NULL; i++)
		for (size_t j = 0; j + len <= at->value.len; j++)
			if (span_is_case((struct span){ at->value.ptr + j,
					     len },
				part))
				return true;
	return false;
}

enum deny_form
deny_form_of(const struct http_fields *f, struct span path)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if ((forms[i].agent == NULL || is_agent(f, forms[i].agent)) &&
		    (forms[i].accept == NULL || accepts(f, forms[i].accept)) &&
		    (forms[i].path == NULL || span_is(path, forms[i].path)))
			return forms[i].form;
	return DENY_FORM_TEXT;
}

/* Only where the policy says no: what may go better later says so to all. */
unsigned int
deny_status(const struct deny *d)
{
	unsigned int status =
	    d->status != 0 ? d->status : reason_http_status(d->reason);

	if (status == 403 && d->form == DENY_FORM_TYPE)
		return 300;
	if (status == 403 && d->form == DENY_FORM_PING)
		return 401;
	return status;
}

/*
 * Text of somebody else, at most max bytes, every byte that is not printable
 * ASCII as '?': it goes into a status line and onto a terminal.
 */
static void
write_clean(struct wr *w, struct span s, size_t max)
{
	size_t len = s.len > max ? max : s.len;

	for (size_t i = 0; i < len; i++)
		wr_u8(w, s.ptr[i] < 0x20 || s.ptr[i] > 0x7e ? '?' : s.ptr[i]);
	if (s.len > max)
		wr_text(w, "...");
}

/* "GET https://host/path" */
static void
write_asked(struct wr *w, const struct deny *d)
{
	uint16_t usual = d->scheme == SCHEME_HTTP ? 80 : 443;

	if (d->method.len == 0 && d->host[0] == '\0') {
		wr_text(w, "request");
		return;
	}
	write_clean(w, d->method, 16);
	if (d->method.len > 0)
		wr_u8(w, ' ');
	if (!span_is(d->method, "CONNECT"))
		wr_text(w, d->scheme == SCHEME_HTTP ? "http://" : "https://");
	write_clean(w, span_of(d->host), ASKED_MAX - PATH_SHOWN_MAX);
	if (d->port != 0 && d->port != usual)
		wr_fmt(w, ":%u", (unsigned int)d->port);
	write_clean(w, d->path, PATH_SHOWN_MAX);
}

/* "no rule names this host" and what more there is to say. */
static void
write_why(struct wr *w, const struct deny *d)
{
	if (d->say[0] != '\0')
		write_clean(w, span_of(d->say), 80);
	else
		wr_text(w, reason_text(d->reason));
	if (d->credential[0] != '\0') {
		wr_text(w, ": ");
		write_clean(w, span_of(d->credential), 40);
	}
	if (d->detail[0] != '\0') {
		wr_text(w, ": ");
		write_clean(w, span_of(d->detail), 60);
	}
}

/* " (method, tapward.ini:12)"; of the ceiling only that it was it. */
static void
write_where(struct wr *w, const struct deny *d, const char *code)
{
	wr_fmt(w, " (%s", code);
	if (d->by_ceiling) {
		wr_text(w, ", the host's ceiling");
	} else if (d->file[0] != '\0') {
		wr_text(w, ", ");
		write_clean(w, span_of(d->file), 40);
		wr_fmt(w, ":%u", (unsigned int)d->line);
	}
	wr_text(w, ")");
}

/* Ends the text in ret: what did not fit is cut, the rest is kept. */
static void
finish(const struct wr *w, char *ret)
{
	ret[w->len] = '\0';
}

/*
 * One line of at most DENY_TEXT_MAX bytes. The tail (code, file:line) is what
 * a person needs most, so it is what precedes it that is cut.
 */
static void
write_line(const struct deny *d, const char *code, char ret[DENY_TEXT_MAX + 1])
{
	char tail[96], front[512];
	struct wr t = wr_init(tail, sizeof(tail));
	struct wr f = wr_init(front, sizeof(front));
	struct wr w = wr_init(ret, DENY_TEXT_MAX);
	size_t room;

	write_where(&t, d, code);
	wr_text(&f, "tapward: ");
	write_asked(&f, d);
	wr_text(&f, " refused: ");
	write_why(&f, d);
	room = DENY_TEXT_MAX - t.len;
	if (f.len > room) {
		wr_bytes(&w, front, room - 3);
		wr_text(&w, "...");
	} else {
		wr_bytes(&w, front, f.len);
	}
	wr_bytes(&w, tail, t.len);
	finish(&w, ret);
}

static void
write_phrase(const struct deny *d, const char *code, char *ret, size_t size)
{
	char text[512];
	struct wr t = wr_init(text, sizeof(text));
	struct wr w = wr_init(ret, size - 1);

	write_why(&t, d);
	write_where(&t, d, code);
	wr_bytes(&w, text, t.len < size - 1 ? t.len : size - 1);
	finish(&w, ret);
}

static void
write_json(const char *line, struct deny_answer *a)
{
	struct wr w = wr_init(a->body, sizeof(a->body) - 1);
	struct json j = json_init(&w);

	json_open_object(&j, NULL);
	json_str(&j, "error", line);
	json_str(&j, "message", line);
	json_open_array(&j, "errors");
	json_open_object(&j, NULL);
	json_str(&j, "code", "DENIED");
	json_str(&j, "message", line);
	json_str(&j, "detail", line);
	json_close_object(&j);
	json_close_array(&j);
	json_str(&j, "warning", line);
	json_str(&j, "reason", a->code);
	json_close_object(&j);
	wr_text(&w, "\n");
	finish(&w, a->body);
	a->body_len = w.len;
	a->content_type = "application/json";
}

static void
write_text(const char *line, struct deny_answer *a)
{
	struct wr w = wr_init(a->body, sizeof(a->body) - 1);

	wr_text(&w, line);
	wr_text(&w, "\n");
	finish(&w, a->body);
	a->body_len = w.len;
	a->content_type = "text/plain; charset=utf-8";
}

/* The line as a parameter (RFC 9110 5.6.6), whose two bytes it cannot hold. */
static void
write_type(const char *line, struct deny_answer *a)
{
	struct wr w = wr_init(a->type, sizeof(a->type) - 1);

	wr_text(&w, "text/plain; reason=\"");
	for (; *line != '\0'; line++)
		wr_u8(&w,
		    *line == '"' || *line == '\\' ? '\'' : (uint8_t)*line);
	wr_text(&w, "\"");
	finish(&w, a->type);
	a->content_type = a->type;
}

void
deny_answer(const struct deny *d, struct deny_answer *ret)
{
	char line[DENY_TEXT_MAX + 1];
	struct wr w = wr_init(ret->code, sizeof(ret->code) - 1);

	ret->status = deny_status(d);
	if (d->by_ceiling)
		wr_text(&w, "ceiling-");
	wr_text(&w, reason_code(d->reason));
	finish(&w, ret->code);

	write_line(d, ret->code, line);
	write_phrase(d, ret->code, ret->phrase, sizeof(ret->phrase));
	w = wr_init(ret->proxy_status, sizeof(ret->proxy_status) - 1);
	wr_fmt(&w, "tapward; error=%s; details=\"%s\"", proxy_error(d->reason),
	    ret->code);
	finish(&w, ret->proxy_status);

	ret->has_retry_after = ret->status == 429;
	ret->retry_after_s = d->retry_after_s == 0 ? 1 : d->retry_after_s;
	if (d->form == DENY_FORM_JSON || d->form == DENY_FORM_PING ||
	    d->form == DENY_FORM_LFS)
		write_json(line, ret);
	else
		write_text(line, ret);
	if (d->form == DENY_FORM_LFS)
		ret->content_type = LFS_TYPE;
	if (ret->status == 300)
		write_type(line, ret);
	assert(ret->body_len > 0);
	ret->report = d->report;
	if (d->report.len > 0)
		ret->content_type = PUSH_REPORT_TYPE;
}

struct span
deny_content(const struct deny_answer *a)
{
	if (a->report.len > 0)
		return a->report;
	return (struct span){ (const uint8_t *)a->body, a->body_len };
}
