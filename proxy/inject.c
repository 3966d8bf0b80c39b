/*
 * Putting a credential into a request, see inject.h.
 */
#include "proxy/inject.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/secret.h"

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
	    in.len % 4 == 1)
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
	    lease->apply == LEASE_APPLY_HEADER || !read_basic(guest, &p))
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
write_value(struct wr *w, const struct message_lease *lease,
    struct span guest_authorization)
{
	struct span value = secret_span(&lease->value);
	int rc = 0;

	if (replace_in_basic(w, lease, guest_authorization, &rc))
		return rc;
	switch (lease->apply) {
	case LEASE_APPLY_BEARER:
		wr_text(w, "Bearer ");
		break;
	case LEASE_APPLY_BASIC:
		return write_basic(w, span_of(lease->user), value);
	case LEASE_APPLY_RAW:
	case LEASE_APPLY_HEADER:
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
make_line(struct injection *in, const struct message_lease *lease,
    struct span guest_authorization)
{
	AUTO_SECRET struct secret room = SECRET_NONE;
	const char *name =
	    lease->apply == LEASE_APPLY_HEADER ? lease->field : "authorization";
	struct wr w;
	int rc;

	rc = secret_alloc(&room,
	    2 * (lease->value.len + INJECT_BASIC_MAX) + LINE_EXTRA +
		LEASE_FIELD_NAME_SIZE + LEASE_USER_SIZE);
	if (rc != 0)
		return rc;
	w = wr_init(room.ptr, room.len);
	wr_text(&w, name);
	wr_text(&w, ": ");
	rc = write_value(&w, lease, guest_authorization);
	wr_text(&w, "\r\n");
	if (rc == 0 && !wr_ok(&w))
		rc = -EMSGSIZE;
	if (rc == 0)
		rc = secret_set(&in->line, room.ptr, w.len);
	return rc;
}

int
injection_set(struct injection *in, const struct message_lease *lease,
    struct span guest_authorization)
{
	int rc;

	/* A guest's pair differs from request to request: made anew. */
	if (in->lease_id != 0 && in->lease_id == lease->lease_id &&
	    !(in->has_guest_pair || guest_authorization.len > 0))
		return 0;
	injection_done(in);
	if (!value_is_clean(secret_span(&lease->value)))
		return -EINVAL;
	rc = make_line(in, lease, guest_authorization);
	if (rc == 0)
		rc = scan_forms_set(&in->forms, secret_span(&lease->value));
	if (rc != 0) {
		injection_done(in);
		return rc;
	}
	in->lease_id = lease->lease_id;
	in->ends_boot_ms = lease->expires_boot_ms;
	in->has_guest_pair = guest_authorization.len > 0;
	return 0;
}

void
injection_done(struct injection *in)
{
	secret_done(&in->line);
	scan_forms_done(&in->forms);
	in->lease_id = 0;
	in->ends_boot_ms = 0;
	in->has_guest_pair = false;
}
