/*
 * Keys of AWS, see aws_key.h.
 */
#include "credential-broker/aws_key.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "wire/sigv4.h"
#include "wire/token.h"

#define DAY_MS UINT64_C(86400000)
/* AWS writes 40; what is much longer is no secret of a key. */
#define SECRET_MIN_BYTES 16
#define SECRET_BYTES_MAX 128

/* Of the alphabets of base64 and of URLs. */
static bool
is_word(struct span s)
{
	static const char others[] = "+/=-_.~";

	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) &&
		    (s.ptr[i] == '\0' || strchr(others, s.ptr[i]) == NULL))
			return false;
	return true;
}

static bool
is_sound(const struct aws_key *k)
{
	return sigv4_is_key_id(k->id) && k->secret.len >= SECRET_MIN_BYTES &&
	    k->secret.len <= SECRET_BYTES_MAX && is_word(k->secret) &&
	    is_word(k->token);
}

bool
aws_key_split(struct span value, struct aws_key *ret)
{
	struct aws_key k;

	k.id = token_cut(&value, ' ');
	k.secret = token_cut(&value, ' ');
	k.token = value;
	if (!is_sound(&k) || (value.ptr != NULL && value.len == 0))
		return false;
	*ret = k;
	return true;
}

int
aws_key_join(const struct aws_key *k, struct secret *ret)
{
	struct wr w;
	int rc;

	if (!is_sound(k))
		return -EINVAL;
	rc = secret_alloc(ret,
	    k->id.len + 1 + k->secret.len +
		(k->token.len > 0 ? 1 + k->token.len : 0));
	if (rc != 0)
		return rc;
	w = wr_init(ret->ptr, ret->len);
	wr_bytes(&w, k->id.ptr, k->id.len);
	wr_u8(&w, ' ');
	wr_bytes(&w, k->secret.ptr, k->secret.len);
	if (k->token.len > 0) {
		wr_u8(&w, ' ');
		wr_bytes(&w, k->token.ptr, k->token.len);
	}
	return wr_ok(&w) ? 0 : -EMSGSIZE;
}

enum mint_fault
aws_key_mint(const struct aws_key *k, struct secret *ret)
{
	switch (aws_key_join(k, ret)) {
	case 0:
		return MINT_OK;
	case -EINVAL:
		return MINT_ANSWER;
	default:
		return MINT_LOCAL;
	}
}

/* One line of a file. */
struct reading {
	struct aws_key key;
	unsigned int profiles;
};

static const char *
take_line(struct reading *r, struct span line)
{
	struct span value = line, name;

	if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
		return NULL;
	if (line.ptr[0] == '[')
		return ++r->profiles > 1
		    ? "holds more than one profile: keep the one to be used"
		    : NULL;
	name = token_trim(token_cut(&value, '='));
	value = token_trim(value);
	if (span_is(name, "aws_access_key_id") && r->key.id.len == 0)
		r->key.id = value;
	else if (span_is(name, "aws_secret_access_key") &&
	    r->key.secret.len == 0)
		r->key.secret = value;
	else if (span_is(name, "aws_session_token") && r->key.token.len == 0)
		r->key.token = value;
	else
		return "holds a line that is none of aws_access_key_id, "
		       "aws_secret_access_key and aws_session_token, once "
		       "each";
	return NULL;
}

static struct span
without_cr(struct span line)
{
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return token_trim(line);
}

const char *
aws_key_read(struct span file, struct secret *ret)
{
	static const char none[] = "holds no key of AWS: write "
				   "aws_access_key_id = and "
				   "aws_secret_access_key = into it";
	struct reading r = { .profiles = 0 };
	struct span rest = file, line = without_cr(token_cut(&rest, '\n'));
	int rc;

	if (!aws_key_split(line, &r.key)) {
		const char *fault;

		memset(&r, 0, sizeof(r));
		fault = take_line(&r, line);
		while (fault == NULL && rest.ptr != NULL)
			fault =
			    take_line(&r, without_cr(token_cut(&rest, '\n')));
		if (fault != NULL)
			return fault;
	}
	rc = aws_key_join(&r.key, ret);
	if (rc == -EINVAL)
		return none;
	return rc == 0 ? NULL : "cannot be kept: no locked memory is left";
}

static void
write_date(uint64_t wall_ms, char ret[SIGV4_DATE_SIZE])
{
	struct wr w = wr_init(ret, SIGV4_DATE_SIZE);
	char text[CLOCK_TEXT_SIZE];

	/* The digits of "2026-11-30T". */
	(void)clock_text(wall_ms, text);
	for (const char *p = text; *p != 'T'; p++)
		if (*p != '-')
			wr_u8(&w, (uint8_t)*p);
	wr_u8(&w, 0);
}

int
aws_key_derive(const struct aws_key *k, const char *region, const char *service,
    uint64_t wall_ms, struct secret *ret)
{
	struct sigv4_scope scope;
	uint8_t key[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];
	size_t room = k->id.len + SIGV4_DATE_SIZE +
	    (size_t)2 * SIGV4_WORD_SIZE + DIGEST_HEX_SIZE + k->token.len + 8;
	AUTO_SECRET struct secret text = SECRET_NONE;
	struct wr w;
	int rc;

	if (!sigv4_is_word(span_of(region)) || !sigv4_is_word(span_of(service)))
		return -EINVAL;
	write_date(wall_ms, scope.date);
	memcpy(scope.region, region, strlen(region) + 1);
	memcpy(scope.service, service, strlen(service) + 1);
	rc = secret_alloc(&text, room);
	if (rc == 0)
		rc = sigv4_derive(k->secret, &scope, key);
	if (rc != 0)
		return rc;
	digest_hex(key, hex);
	w = wr_init(text.ptr, text.len);
	wr_bytes(&w, k->id.ptr, k->id.len);
	wr_fmt(&w, " %s %s %s %s", scope.date, region, service, hex);
	if (k->token.len > 0) {
		wr_u8(&w, ' ');
		wr_bytes(&w, k->token.ptr, k->token.len);
	}
	digest_wipe(key, sizeof(key));
	digest_wipe(hex, sizeof(hex));
	return wr_ok(&w) ? secret_set(ret, text.ptr, w.len) : -EMSGSIZE;
}

uint64_t
aws_key_day_left_ms(uint64_t wall_ms)
{
	return DAY_MS - wall_ms % DAY_MS;
}
