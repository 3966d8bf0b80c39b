/*
 * The request of an exchange: whom it names, what the policy says, and its
 * head in the one spelling that goes on.
 */
#include "proxy/exchange_private.h"

#include <errno.h>
#include <string.h>

#include "proxy/audit.h"
#include "wire/http_write.h"
#include "wire/path.h"
#include "wire/token.h"
#include "wire/websocket.h"

static uint16_t
usual_port(enum scheme s)
{
	return s == SCHEME_HTTP ? 80 : 443;
}

/* "http://" on plain HTTP, "https://" inside TLS; origin form says nothing. */
static bool
scheme_fits(const struct exchange *x, const struct http_request *req)
{
	switch (req->scheme) {
	case HTTP_SCHEME_NONE:
		return true;
	case HTTP_SCHEME_HTTP:
		return x->front.scheme == SCHEME_HTTP;
	case HTTP_SCHEME_HTTPS:
		return x->front.scheme == SCHEME_HTTPS;
	}
	return false;
}

/*
 * Does the request name what its connection was made for? REASON_NONE,
 * REASON_HOST_MISMATCH or REASON_BAD_REQUEST, and why.
 */
static enum reason
check_authority(struct exchange *x, const struct http_request *req,
    const char **ret_detail)
{
	const struct authority *a = &req->authority;
	uint16_t port = x->front.port;

	memcpy(x->host, a->host, sizeof(x->host));
	if (port == 0)
		port = a->has_port ? a->port : usual_port(x->front.scheme);
	x->port = port;
	if (req->known_method == HTTP_METHOD_CONNECT) {
		*ret_detail = "CONNECT belongs on the proxy's own port";
		return REASON_BAD_REQUEST;
	}
	if (!scheme_fits(x, req)) {
		*ret_detail = "the target's scheme is not the connection's";
		return REASON_BAD_REQUEST;
	}
	*ret_detail = "";
	if (x->front.host[0] != '\0' && strcmp(a->host, x->front.host) != 0)
		return REASON_HOST_MISMATCH;
	if (a->has_port && a->port != port)
		return REASON_HOST_MISMATCH;
	return REASON_NONE;
}

/* Keeps as_method. */
static enum reason
check_override(struct exchange *x, const struct http_request *req,
    const char **ret_detail)
{
	const struct http_field *f = http_method_override(&req->fields, 0);

	if (f == NULL)
		return REASON_NONE;
	*ret_detail = "it asks for another method in an unclear way";
	if (http_method_override(&req->fields, 1) != NULL ||
	    !token_is(f->value) || f->value.len >= METHOD_NAME_SIZE)
		return REASON_BAD_REQUEST;
	/* In capitals, as whoever looks at it writes it. */
	for (size_t i = 0; i < f->value.len; i++) {
		uint8_t c = f->value.ptr[i];

		x->as_method[i] =
		    (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	*ret_detail = "";
	return REASON_NONE;
}

enum reason
exchange_check(struct exchange *x, const struct http_request *req,
    const char **ret_detail)
{
	enum reason r = check_authority(x, req, ret_detail);

	if (r != REASON_NONE)
		return r;
	*ret_detail = "";
	if (!audit_is_ready(x->gate))
		return REASON_AUDIT_UNAVAILABLE;
	if (req->method.len >= METHOD_NAME_SIZE) {
		*ret_detail = "the method is too long";
		return REASON_BAD_REQUEST;
	}
	if (http_method_is_misspelt(req->method)) {
		*ret_detail = "a method is written in capitals";
		return REASON_METHOD;
	}
	/* It echoes what it was sent, credentials too (RFC 9110 9.3.8). */
	if (req->known_method == HTTP_METHOD_TRACE)
		return REASON_METHOD;
	r = exchange_tunnel_check(req, ret_detail);
	return r != REASON_NONE ? r : check_override(x, req, ret_detail);
}

struct policy_request
exchange_policy_request(const struct exchange *x, const char *method)
{
	struct path_reading reading = path_read(x->path);

	return (struct policy_request){
		.host = x->host,
		.port = x->port,
		.scheme = x->front.scheme,
		.method = span_of(method),
		.path = x->path,
		.query = x->query,
		.has_query = x->has_query,
		.is_websocket = x->is_websocket,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash,
	};
}

static struct verdict
judge_method(const struct exchange *x, const char *method)
{
	struct policy_request req = exchange_policy_request(x, method);

	return policy_judge_request(&x->gate->pair, &req);
}

/* Both methods have to be allowed when an origin may read another. */
static struct verdict
judge_methods(const struct exchange *x)
{
	struct verdict v = judge_method(x, x->method), other;

	if (x->as_method[0] == '\0' || v.action == ACTION_DENY)
		return v;
	other = judge_method(x, x->as_method);
	if (other.action < v.action)
		return other;
	/* It counts for whatever either of them counts for. */
	for (size_t i = 0; i < VERDICT_FILES; i++)
		v.budgets[i] |= other.budgets[i];
	return v;
}

struct verdict
exchange_judge(const struct exchange *x)
{
	return exchange_answered(x, judge_methods(x));
}

/* It reads, carries nothing, and asks for what was granted to the byte. */
static bool
has_grant(const struct exchange *x)
{
	return x->as_method[0] == '\0' && x->framing == HTTP_FRAMING_NONE &&
	    redirect_is_granted(x->gate, x->host, x->path, x->query,
		x->has_query);
}

struct verdict
exchange_judge_all(const struct exchange *x, bool *ret_is_redirect)
{
	struct verdict v = exchange_judge(x);
	struct policy_request req = exchange_policy_request(x, x->method);

	*ret_is_redirect = false;
	if ((v.action != ACTION_DENY && v.learned.reason == REASON_NONE) ||
	    !has_grant(x))
		return v;
	v = policy_judge_redirect(&x->gate->pair, x->host, x->port, &req);
	*ret_is_redirect =
	    v.action == ACTION_ALLOW && v.learned.reason == REASON_NONE;
	return v;
}

static bool
is_redirect_status(unsigned int status)
{
	return (status >= 301 && status <= 303) || status == 307 ||
	    status == 308;
}

void
exchange_note_redirect(const struct exchange *x,
    const struct http_response *res)
{
	const struct http_field *f =
	    http_field_find(&res->fields, "location", 0);
	struct policy_request req = exchange_policy_request(x, x->method);
	struct redirect_target t;
	uint32_t seconds;

	if (!is_redirect_status(res->status) || f == NULL || x->is_redirect ||
	    http_field_find(&res->fields, "location", 1) != NULL ||
	    !redirect_read(f->value, &t))
		return;
	if (x->granted != NULL) {
		exchange_lfs_note_redirect(x, &t);
		return;
	}
	seconds = policy_redirect_s(&x->gate->pair, &req, t.authority.host);
	if (seconds > 0)
		redirect_grant(x->gate, &t, seconds);
}

void
exchange_keep_verdict(struct exchange *x, const struct verdict *v)
{
	struct exchange_verdict *k = &x->verdict;

	k->action = v->action;
	k->by_ceiling = v->by_ceiling;
	k->line = v->line;
	text_copy(k->rule, sizeof(k->rule), v->rule);
	text_copy(k->file, sizeof(k->file), v->file);
	text_copy(k->credential, sizeof(k->credential), v->credential);
	k->learned = v->learned.reason;
	if (k->learned == REASON_NONE)
		return;
	k->learned_line = v->learned.line;
	text_copy(k->learned_rule, sizeof(k->learned_rule), v->learned.rule);
	text_copy(k->learned_file, sizeof(k->learned_file), v->learned.file);
}

/*
 * Answers to a request with a credential must be readable to the scan: not
 * compressed, whole or message by message, and not in parts between which an
 * echo could be split.
 */
static bool
is_for_the_scan(struct span name)
{
	static const struct span names[] = { SPAN("accept-encoding"),
		SPAN("range"), SPAN("if-range"), SPAN("grpc-accept-encoding"),
		SPAN("connect-accept-encoding") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (http_name_aliases(name, names[i]))
			return true;
	return false;
}

static bool
is_range(struct span name)
{
	return http_name_aliases(name, span_of("range")) ||
	    http_name_aliases(name, span_of("if-range"));
}

/*
 * S3 is asked for large objects in parts. What is secret in a request to it is
 * in no object.
 */
static bool
keeps_range(const struct exchange *x)
{
	return x->resign != NULL && x->resign->status == SIGV4_OK &&
	    strcmp(x->resign->guest.scope.service, "s3") == 0;
}

/* Its answer is read here, and so must not be in a coding. */
static bool
is_looked_into(const struct exchange *x)
{
	return x->has_credential || exchange_push_is_lfs(x);
}

static bool
goes_on(const struct exchange *x, const struct http_request *req,
    const struct http_field *f, bool strips)
{
	struct span name = f->name;

	if (!http_is_forwarded(&req->fields, name))
		return false;
	if (strips && inject_is_stripped(name) && !exchange_lfs_passes(x, f))
		return false;
	if (exchange_push_is_coded(x) && span_is_case(name, "content-encoding"))
		return false;
	if (websocket_is_field(name) && !exchange_tunnel_passes(x, name))
		return false;
	if (is_range(name) && keeps_range(x))
		return true;
	return !(is_looked_into(x) && is_for_the_scan(name));
}

static size_t
room_for(const struct http_request *req)
{
	size_t room = 512 + HOST_NAME_SIZE + req->method.len + req->path.len +
	    req->query.len;

	for (size_t i = 0; i < req->fields.count; i++)
		room += req->fields.at[i].name.len +
		    req->fields.at[i].value.len + 4;
	return room;
}

/* A pair may hold a placeholder: git's does (inject.h). */
static bool
is_basic(struct span v)
{
	return v.len > 6 && v.len <= INJECT_BASIC_MAX &&
	    span_is_case((struct span){ v.ptr, 6 }, "Basic ");
}

static int
keep_authorization(struct exchange *x, const struct http_request *req)
{
	const struct http_field *f =
	    http_field_find(&req->fields, "authorization", 0);

	if (!x->has_credential || f == NULL ||
	    http_field_find(&req->fields, "authorization", 1) != NULL ||
	    !is_basic(f->value))
		return 0;
	return buf_append(&x->authorization, f->value);
}

int
exchange_write_head(struct exchange *x, const struct http_request *req)
{
	struct wr w = buf_write(&x->head, room_for(req));
	/* Nor does a key of the guest's own follow a redirect. */
	bool strips = x->is_redirect ||
	    policy_has_credential_at(&x->gate->pair, x->host, x->port);
	int rc;

	http_write_request_line(&w, req->method, req->path, req->has_query,
	    req->query);
	http_write_host(&w, x->host, x->port, usual_port(x->front.scheme));
	for (size_t i = 0; i < req->fields.count; i++) {
		const struct http_field *f = &req->fields.at[i];

		if (goes_on(x, req, f, strips))
			http_write_field(&w, f->name, f->value);
	}
	if (is_looked_into(x))
		http_write_text(&w, "Accept-Encoding", "identity");
	rc = buf_write_end(&x->head, &w);
	return rc == 0 ? keep_authorization(x, req) : rc;
}

/* Length of the first line of text, its CRLF included. */
static size_t
line_len(struct span text)
{
	const uint8_t *lf = memchr(text.ptr, '\n', text.len);

	return lf == NULL ? text.len : (size_t)(lf - text.ptr) + 1;
}

static struct span
name_of(struct span line)
{
	const uint8_t *colon = memchr(line.ptr, ':', line.len);

	if (colon == NULL)
		return (struct span){ line.ptr, 0 };
	return (struct span){ line.ptr, (size_t)(colon - line.ptr) };
}

bool
exchange_head_find(const struct exchange *x, const char *name,
    struct span *ret_value)
{
	struct span all = buf_span(&x->head);

	for (size_t at = line_len(all); at < all.len;) {
		struct span line = { all.ptr + at, all.len - at };

		line.len = line_len(line);
		if (span_is_case(name_of(line), name)) {
			size_t skip = strlen(name) + 1;

			*ret_value = token_trim((struct span){ line.ptr + skip,
			    line.len - skip - 2 });
			return true;
		}
		at += line.len;
	}
	return false;
}

/* Of field names: is this one of those that go? */
typedef bool strips_name(const struct exchange *x,
    const struct message_lease *l, struct span name);

static bool
strips_for_grant(const struct exchange *x, const struct message_lease *l,
    struct span name)
{
	(void)l;
	return inject_is_stripped(name) ||
	    grants_strip(lease_grants(x->gate), x->host, x->port, name);
}

static bool
strips_for_lease(const struct exchange *x, const struct message_lease *l,
    struct span name)
{
	(void)x;
	return inject_is_stripped_by(l, name);
}

static void
strip_head(struct exchange *x, strips_name *strips,
    const struct message_lease *l)
{
	struct span all = buf_span(&x->head);
	size_t at = line_len(all); /* the request line stays */
	size_t kept = at;

	/* What we wrote ourselves: one line for each field. */
	while (at < all.len) {
		struct span line = { all.ptr + at, all.len - at };

		line.len = line_len(line);
		if (!strips(x, l, name_of(line))) {
			memmove(x->head.ptr + x->head.at + kept, line.ptr,
			    line.len);
			kept += line.len;
		}
		at += line.len;
	}
	x->head.len = kept;
}

bool
exchange_misplaces(const struct exchange *x)
{
	const struct grants *g = lease_grants(x->gate);
	uint8_t pair[INJECT_BASIC_MAX];
	struct span value;
	size_t len;

	if (grants_misplaced(g, x->host, x->port, buf_span(&x->head)))
		return true;
	if (!exchange_head_find(x, "authorization", &value))
		return false;
	len = inject_read_pair(value, pair);
	return grants_misplaced(g, x->host, x->port,
	    (struct span){ pair, len });
}

void
exchange_strip_granted(struct exchange *x)
{
	if (grants_have(lease_grants(x->gate), x->host, x->port))
		strip_head(x, strips_for_grant, NULL);
}

void
exchange_strip_head(struct exchange *x, const struct message_lease *l)
{
	strip_head(x, strips_for_lease, l);
}

static bool
strips_signed(const struct exchange *x, const struct message_lease *l,
    struct span name)
{
	static const struct span names[] = { SPAN("authorization"),
		SPAN("date"), SPAN("x-amz-date"),
		SPAN("x-amz-security-token") };

	(void)x;
	(void)l;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (http_name_aliases(name, names[i]))
			return true;
	return false;
}

void
exchange_strip_signed(struct exchange *x)
{
	strip_head(x, strips_signed, NULL);
}

static bool
strips_range(const struct exchange *x, const struct message_lease *l,
    struct span name)
{
	(void)x;
	(void)l;
	return is_range(name);
}

void
exchange_strip_range(struct exchange *x)
{
	strip_head(x, strips_range, NULL);
}

void
exchange_head_fields(const struct exchange *x, struct http_fields *ret)
{
	struct span all = buf_span(&x->head);

	ret->count = 0;
	for (size_t at = line_len(all); at < all.len;) {
		struct span line = { all.ptr + at, all.len - at }, name;

		line.len = line_len(line);
		at += line.len;
		name = name_of(line);
		if (ret->count < HTTP_FIELDS_MAX)
			ret->at[ret->count++] = (struct http_field){ name,
				token_trim(
				    (struct span){ line.ptr + name.len + 1,
					line.len - name.len - 3 }) };
	}
}

int
exchange_set_query(struct exchange *x, struct span query)
{
	struct buf head = { .is_secret = true };
	struct span rest = buf_span(&x->head);
	size_t skip = line_len(rest);
	struct wr w = buf_write(&head,
	    rest.len + strlen(x->method) + x->path.len + query.len + 32);
	int rc;

	http_write_request_line(&w, span_of(x->method), x->path, query.len > 0,
	    query);
	wr_bytes(&w, rest.ptr + skip, rest.len - skip);
	rc = buf_write_end(&head, &w);
	if (rc != 0) {
		buf_done(&head);
		return rc;
	}
	buf_done(&x->head);
	x->head = head;
	return 0;
}
