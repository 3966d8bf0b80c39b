/*
 * Putting a credential into a request, see inject.h.
 */
#include "proxy/inject.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/token.h"

/* "authorization: Basic ", CRLF and the like. */
#define LINE_EXTRA 64

/*
 * Beside what a lease lists: every name under which a service of the common
 * kinds takes a key, so that a guest cannot bring an account of its own to a
 * host that it is let in to with ours.
 */
static const struct span stripped[] = {
	SPAN("authorization"),
	SPAN("proxy-authorization"),
	SPAN("cookie"),
	SPAN("x-api-key"),
	SPAN("api-key"),
	SPAN("apikey"),
	SPAN("x-apikey"),
	SPAN("x-auth-token"),
	SPAN("x-auth-key"),
	SPAN("x-access-token"),
	SPAN("x-token"),
	SPAN("private-token"),
	SPAN("job-token"),
	SPAN("deploy-token"),
	SPAN("x-gitlab-token"),
	SPAN("x-github-token"),
	SPAN("x-nuget-apikey"),
	SPAN("npm-auth-token"),
	SPAN("npm-session"),
	SPAN("npm-otp"),
	SPAN("otp"),
	SPAN("x-goog-api-key"),
	SPAN("x-amz-security-token"),
	SPAN("x-registry-auth"),
	SPAN("x-jfrog-art-api"),
	SPAN("x-vault-token"),
	SPAN("x-figma-token"),
	SPAN("x-csrf-token"),
};

bool
inject_is_stripped(struct span name)
{
	for (size_t i = 0; i < sizeof(stripped) / sizeof(stripped[0]); i++)
		if (http_name_aliases(name, stripped[i]))
			return true;
	return false;
}

bool
inject_is_stripped_by(const struct message_lease *lease, struct span name)
{
	if (lease->apply == LEASE_APPLY_HEADER &&
	    http_name_aliases(name, span_of(lease->field)))
		return true;
	for (unsigned int i = 0; i < lease->strip_count; i++)
		if (http_name_aliases(name, span_of(lease->strip[i])))
			return true;
	return false;
}

bool
inject_is_withheld_by(const struct message_lease *lease, struct span name)
{
	if (!lease->keeps_set_cookie &&
	    (http_name_aliases(name, span_of("set-cookie")) ||
		http_name_aliases(name, span_of("set-cookie2"))))
		return true;
	for (unsigned int i = 0; i < lease->strip_response_count; i++)
		if (http_name_aliases(name, span_of(lease->strip_response[i])))
			return true;
	return false;
}

bool
inject_method_may_carry(enum http_method m)
{
	return m != HTTP_METHOD_TRACE && m != HTTP_METHOD_OPTIONS &&
	    m != HTTP_METHOD_CONNECT;
}

/* A decoded "user:password" of a guest. */
struct pair {
	uint8_t bytes[INJECT_BASIC_MAX];
	size_t user_len;
	struct span password;
};

/* EVP_DecodeBlock() drops blanks around, and takes '=' within for a digit. */
static bool
is_base64(struct span in)
{
	for (size_t i = 0; i < in.len; i++)
		if (!ascii_is_alnum(in.ptr[i]) && in.ptr[i] != '+' &&
		    in.ptr[i] != '/')
			return false;
	return true;
}

/* Base64 of at most INJECT_BASIC_MAX bytes; padding may be missing. */
static bool
decode(struct span in, struct pair *p, size_t *ret_len)
{
	uint8_t padded[INJECT_BASIC_MAX + 4];
	size_t pad = 0;
	int n;

	while (in.len > 0 && in.ptr[in.len - 1] == '=') {
		in.len--;
		pad++;
	}
	if (in.len == 0 || in.len > INJECT_BASIC_MAX || pad > 2 ||
	    in.len % 4 == 1 || !is_base64(in))
		return false;
	memcpy(padded, in.ptr, in.len);
	for (pad = 0; (in.len + pad) % 4 != 0; pad++)
		padded[in.len + pad] = '=';
	n = EVP_DecodeBlock(p->bytes, padded, (int)(in.len + pad));
	if (n < (int)pad)
		return false;
	*ret_len = (size_t)n - pad;
	return true;
}

/* "Basic <base64 of user:password>", scheme without case. */
static bool
read_basic(struct span value, struct pair *p)
{
	size_t len = 0;
	const uint8_t *colon;

	if (value.len < 7 ||
	    !span_is_case((struct span){ value.ptr, 6 }, "Basic "))
		return false;
	value.ptr += 6;
	value.len -= 6;
	if (!decode(value, p, &len))
		return false;
	colon = memchr(p->bytes, ':', len);
	if (colon == NULL)
		return false;
	p->user_len = (size_t)(colon - p->bytes);
	p->password = (struct span){ colon + 1, len - p->user_len - 1 };
	return true;
}

size_t
inject_read_pair(struct span authorization, uint8_t buf[INJECT_BASIC_MAX])
{
	struct pair p;

	if (!read_basic(authorization, &p))
		return 0;
	memcpy(buf, p.bytes, p.user_len + 1 + p.password.len);
	return p.user_len + 1 + p.password.len;
}

/* "Basic " and base64 of user:password, by way of locked memory. */
static int
write_basic(struct wr *w, struct span user, struct span password)
{
	AUTO_SECRET struct secret plain = SECRET_NONE;
	AUTO_SECRET struct secret coded = SECRET_NONE;
	struct wr p;
	int n, rc;

	rc = secret_alloc(&plain, user.len + 1 + password.len);
	if (rc == 0)
		rc = secret_alloc(&coded, (plain.len + 2) / 3 * 4 + 1);
	if (rc != 0)
		return rc;
	p = wr_init(plain.ptr, plain.len);
	wr_bytes(&p, user.ptr, user.len);
	wr_u8(&p, ':');
	wr_bytes(&p, password.ptr, password.len);
	n = EVP_EncodeBlock(coded.ptr, plain.ptr, (int)plain.len);
	wr_text(w, "Basic ");
	wr_bytes(w, coded.ptr, (size_t)n);
	return 0;
}

/* It goes into `authorization`, where a guest's pair may be. */
static bool
sets_authorization(const struct message_lease *lease)
{
	return lease->apply != LEASE_APPLY_HEADER &&
	    lease->apply != LEASE_APPLY_QUERY &&
	    lease->apply != LEASE_APPLY_CERTIFICATE;
}

/*
 * The guest's own pair with its placeholder replaced, where it is a whole
 * user name or a whole password. False: there is none.
 */
static bool
replace_in_basic(struct wr *w, const struct message_lease *lease,
    struct span guest, int *ret_rc)
{
	struct pair p;
	struct span user, value = secret_span(&lease->value);

	if (lease->placeholder[0] == '\0' || guest.len == 0 ||
	    !sets_authorization(lease) || !read_basic(guest, &p))
		return false;
	user = (struct span){ p.bytes, p.user_len };
	if (span_is(p.password, lease->placeholder))
		*ret_rc = write_basic(w, user, value);
	else if (span_is(user, lease->placeholder))
		*ret_rc = write_basic(w, value, p.password);
	else
		return false;
	return true;
}

static int
write_value(struct wr *w, const struct message_lease *lease)
{
	struct span value = secret_span(&lease->value);

	switch (lease->apply) {
	case LEASE_APPLY_BEARER:
		wr_text(w, "Bearer ");
		break;
	case LEASE_APPLY_BASIC:
		return write_basic(w, span_of(lease->user), value);
	case LEASE_APPLY_RAW:
	case LEASE_APPLY_HEADER:
	case LEASE_APPLY_QUERY:
	case LEASE_APPLY_SIGV4:
	case LEASE_APPLY_CERTIFICATE:
	case LEASE_APPLY_COUNT:
		break;
	}
	wr_bytes(w, value.ptr, value.len);
	return 0;
}

/* Visible ASCII, and blanks within: nothing that ends or bends a line. */
static bool
value_is_clean(struct span v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] < 0x20 || v.ptr[i] > 0x7e)
			return false;
	return v.len > 0 && v.ptr[0] != ' ' && v.ptr[v.len - 1] != ' ';
}

static int
line_begin(struct secret *room, struct wr *w, const struct message_lease *lease)
{
	int rc = secret_alloc(room,
	    2 * (lease->value.len + INJECT_BASIC_MAX) + LINE_EXTRA +
		LEASE_FIELD_NAME_SIZE + LEASE_USER_SIZE);

	if (rc != 0)
		return rc;
	*w = wr_init(room->ptr, room->len);
	wr_text(w,
	    lease->apply == LEASE_APPLY_HEADER ? lease->field
					       : "authorization");
	wr_text(w, ": ");
	return 0;
}

static int
line_end(const struct secret *room, struct wr *w, struct secret *ret)
{
	wr_text(w, "\r\n");
	return wr_ok(w) ? secret_set(ret, room->ptr, w->len) : -EMSGSIZE;
}

static int
make_line(struct injection *in)
{
	AUTO_SECRET struct secret room = SECRET_NONE;
	struct wr w;
	int rc;

	/*
	 * Each request has lines of its own (proxy/resign.h), or a query
	 * (exchange_query.c).
	 */
	if (in->lease.apply == LEASE_APPLY_SIGV4 ||
	    in->lease.apply == LEASE_APPLY_QUERY)
		return 0;
	rc = line_begin(&room, &w, &in->lease);
	if (rc == 0)
		rc = write_value(&w, &in->lease);
	return rc == 0 ? line_end(&room, &w, &in->line) : rc;
}

int
injection_pair_line(const struct injection *in, struct span guest_authorization,
    struct secret *ret)
{
	AUTO_SECRET struct secret room = SECRET_NONE;
	struct wr w;
	int rc = 0;

	secret_done(ret);
	if (guest_authorization.len == 0)
		return 0;
	rc = line_begin(&room, &w, &in->lease);
	if (rc != 0 ||
	    !replace_in_basic(&w, &in->lease, guest_authorization, &rc))
		return rc;
	return rc == 0 ? line_end(&room, &w, ret) : rc;
}

/* --- what is secret in a value --- */

/* What follows a scheme (RFC 9110 11.4), or nothing. */
static struct span
behind_scheme(struct span value, struct span *ret_scheme)
{
	const uint8_t *blank = memchr(value.ptr, ' ', value.len);

	if (blank == NULL)
		return (struct span){ NULL, 0 };
	*ret_scheme = (struct span){ value.ptr, (size_t)(blank - value.ptr) };
	return (struct span){ blank + 1, value.len - ret_scheme->len - 1 };
}

/* "user:password" of a whole Basic that the host's definition holds. */
static int
take_pair(struct span coded, struct secret *ret)
{
	AUTO_SECRET struct secret padded = SECRET_NONE;
	int rc, n;

	while (coded.len > 0 && coded.ptr[coded.len - 1] == '=')
		coded.len--;
	if (coded.len == 0 || coded.len % 4 == 1 || !is_base64(coded))
		return 0;
	rc = secret_alloc(&padded, coded.len + 3);
	if (rc == 0)
		rc = secret_alloc(ret, (coded.len + 3) / 4 * 3);
	if (rc != 0)
		return rc;
	memset(padded.ptr, '=', padded.len);
	memcpy(padded.ptr, coded.ptr, coded.len);
	n = EVP_DecodeBlock(ret->ptr, padded.ptr,
	    (int)((coded.len + 3) / 4 * 4));
	if (n < 0)
		secret_done(ret);
	else
		ret->len = coded.len * 3 / 4;
	return 0;
}

/* The password if it is long enough to be told from other text. */
static struct span
secret_of_pair(struct span pair)
{
	const uint8_t *colon =
	    pair.len == 0 ? NULL : memchr(pair.ptr, ':', pair.len);
	size_t user_len;

	if (colon == NULL)
		return pair;
	user_len = (size_t)(colon - pair.ptr) + 1;
	if (pair.len - user_len < SCAN_SECRET_MIN_BYTES)
		return pair;
	return (struct span){ colon + 1, pair.len - user_len };
}

struct secrets {
	struct scan_secret all[SCAN_SECRETS_MAX];
	size_t count;
};

static void
add_secret(struct secrets *s, struct span value, bool is_sent_coded)
{
	if (value.len >= SCAN_SECRET_MIN_BYTES && s->count < SCAN_SECRETS_MAX)
		s->all[s->count++] =
		    (struct scan_secret){ value, is_sent_coded };
}

/* Values of cookies (RFC 6265 4.2.1); of more than fit only the whole is. */
static void
add_cookies(struct secrets *s, struct span cookies)
{
	while (cookies.len > 0) {
		struct span value = token_cut(&cookies, ';');

		(void)token_cut(&value, '=');
		add_secret(s, token_trim(value), false);
	}
}

/* Base64 of it goes out, with what a guest or the host writes before it. */
static bool
is_sent_in_basic(const struct message_lease *lease)
{
	return lease->apply == LEASE_APPLY_BASIC ||
	    (sets_authorization(lease) && lease->placeholder[0] != '\0');
}

/* The key is not sent, but must not be seen; the token behind it is. */
static void
add_signing_key(struct secrets *s, struct span value)
{
	struct span part = { NULL, 0 };

	for (int i = 0; i < 5; i++)
		part = token_cut(&value, ' ');
	add_secret(s, part, false);
	add_secret(s, value, false);
}

/*
 * Whoever echoes a field may leave its scheme out, whoever reads Basic has
 * decoded it, and cookies are told one by one: so what is looked for is what is
 * secret in there.
 */
static int
make_forms(struct injection *in)
{
	AUTO_SECRET struct secret pair = SECRET_NONE;
	struct secrets s = { .count = 0 };
	struct span scheme = { NULL, 0 }, value = secret_span(&in->lease.value);
	struct span rest = behind_scheme(value, &scheme);
	bool has_rest = rest.len >= SCAN_SECRET_MIN_BYTES;
	int rc = 0;

	if (in->lease.apply == LEASE_APPLY_SIGV4)
		add_signing_key(&s, value);
	else
		add_secret(&s, has_rest ? rest : value,
		    is_sent_in_basic(&in->lease));
	if (span_is_case(scheme, "Basic"))
		rc = take_pair(rest, &pair);
	if (pair.len > 0)
		add_secret(&s, secret_of_pair(secret_span(&pair)), false);
	if (in->lease.apply == LEASE_APPLY_HEADER &&
	    strcmp(in->lease.field, "cookie") == 0)
		add_cookies(&s, value);
	if (rc == 0)
		rc = s.count > 0 ? scan_forms_set(&in->forms, s.all, s.count)
				 : -EINVAL;
	return rc;
}

/* --- one for all --- */

static bool
is_same(const struct message_lease *a, const struct message_lease *b)
{
	return a->lease_id == b->lease_id &&
	    a->expires_boot_ms == b->expires_boot_ms && a->apply == b->apply &&
	    a->strip_count == b->strip_count &&
	    a->strip_response_count == b->strip_response_count &&
	    a->keeps_set_cookie == b->keeps_set_cookie &&
	    a->serves_websocket == b->serves_websocket &&
	    memcmp(a->field, b->field, sizeof(a->field)) == 0 &&
	    memcmp(a->user, b->user, sizeof(a->user)) == 0 &&
	    memcmp(a->placeholder, b->placeholder, sizeof(a->placeholder)) ==
	    0 &&
	    memcmp(a->strip, b->strip, sizeof(a->strip)) == 0 &&
	    memcmp(a->strip_response, b->strip_response,
		sizeof(a->strip_response)) == 0 &&
	    secret_equals(&a->value, secret_span(&b->value));
}

static void
injection_free(struct injection *in)
{
	secret_done(&in->lease.value);
	secret_done(&in->line);
	scan_forms_done(&in->forms);
	free(in);
}

/* Of certificates nothing is sent in a head, and nothing is secret. */
static int
prepare(struct injection *in)
{
	int rc;

	if (in->lease.apply == LEASE_APPLY_CERTIFICATE)
		return in->lease.value.len > 0 ? 0 : -EINVAL;
	if (!value_is_clean(secret_span(&in->lease.value)))
		return -EINVAL;
	rc = make_line(in);
	return rc == 0 ? make_forms(in) : rc;
}

static int
injection_new(struct message_lease *lease, struct injection **ret)
{
	struct injection *in = calloc(1, sizeof(*in));
	int rc = -ENOMEM;

	if (in != NULL) {
		in->lease = *lease;
		in->lease.value = secret_steal(&lease->value);
		rc = prepare(in);
	}
	if (rc == 0)
		*ret = in;
	else if (in != NULL)
		injection_free(in);
	return rc;
}

static struct injection *
injection_find(const struct injections *all, const struct message_lease *lease)
{
	struct injection *in;

	LIST_FOREACH(in, all, link)
	if (is_same(&in->lease, lease))
		return in;
	return NULL;
}

int
injection_get(struct injections *all, struct message_lease *lease,
    struct injection **ret)
{
	struct injection *in = injection_find(all, lease);
	int rc = 0;

	if (in == NULL) {
		rc = injection_new(lease, &in);
		if (rc == 0)
			LIST_INSERT_HEAD(all, in, link);
	}
	if (rc == 0)
		*ret = injection_ref(in);
	secret_done(&lease->value);
	return rc;
}

struct injection *
injection_ref(struct injection *in)
{
	in->refs++;
	return in;
}

void
injection_unref(struct injection *in)
{
	if (in == NULL || --in->refs > 0)
		return;
	LIST_REMOVE(in, link);
	injection_free(in);
}

void
injection_set(struct injection **slot, struct injection *in)
{
	struct injection *old = *slot;

	*slot = in == NULL ? NULL : injection_ref(in);
	injection_unref(old);
}
