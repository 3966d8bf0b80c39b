/*
 * The Authorization of a guest, in which it may have sent its placeholder.
 * Whatever it is, what is made of it is one field line of printable ASCII that
 * ends in CRLF; decoded, one half of its pair is the credential, whole, and
 * the other the guest's own; and only a half that was the placeholder, whole,
 * is replaced.
 *
 * Input: how the credential is applied, then the value of the field.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "base/ascii.h"
#include "proxy/inject.h"

static const char value[] = "s3cr3t-canary-0123456789abcdef";
static const char placeholder[] = "placeholder-of-it";
static struct injections all = LIST_HEAD_INITIALIZER(all);

static struct injection *
lend(enum lease_apply apply)
{
	struct message_lease lease = { .lease_id = 1,
		.expires_boot_ms = UINT64_MAX,
		.apply = apply };
	struct injection *in;

	memcpy(lease.placeholder, placeholder, sizeof(placeholder));
	if (apply == LEASE_APPLY_BASIC)
		memcpy(lease.user, "robot", sizeof("robot"));
	if (apply == LEASE_APPLY_HEADER)
		memcpy(lease.field, "x-token", sizeof("x-token"));
	HOLDS(secret_set(&lease.value, value, strlen(value)) == 0);
	HOLDS(injection_get(&all, &lease, &in) == 0);
	return in;
}

static int
digit(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* As RFC 4648 4 has it, read a bit at a time; false when it is none. */
static bool
decode(struct span in, struct wr *w)
{
	unsigned int bits = 0, count = 0;

	while (in.len > 0 && in.ptr[in.len - 1] == '=')
		in.len--;
	for (size_t i = 0; i < in.len; i++) {
		int d = digit(in.ptr[i]);

		if (d == -1)
			return false;
		bits = (bits << 6 | (unsigned int)d) & 0xffff;
		count += 6;
		if (count >= 8) {
			count -= 8;
			wr_u8(w, bits >> count & 0xff);
		}
	}
	return wr_ok(w);
}

struct pair {
	uint8_t bytes[4096];
	struct span user, password;
};

static bool
read_pair(struct span in, struct pair *p)
{
	struct wr w = wr_init(p->bytes, sizeof(p->bytes));
	const uint8_t *colon;

	if (!decode(in, &w))
		return false;
	colon = memchr(p->bytes, ':', w.len);
	if (colon == NULL)
		return false;
	p->user = (struct span){ p->bytes, (size_t)(colon - p->bytes) };
	p->password = (struct span){ colon + 1, w.len - p->user.len - 1 };
	return true;
}

/* What stands between "authorization: Basic " and the CRLF. */
static struct span
coded_part(struct span line)
{
	static const char front[] = "authorization: Basic ";
	const size_t len = sizeof(front) - 1;

	HOLDS(line.len > len + 2 && memcmp(line.ptr, front, len) == 0);
	HOLDS(memcmp(line.ptr + line.len - 2, "\r\n", 2) == 0);
	for (size_t i = 0; i < line.len - 2; i++)
		HOLDS(line.ptr[i] >= 0x20 && line.ptr[i] <= 0x7e);
	return (struct span){ line.ptr + len, line.len - len - 2 };
}

static void
check_line(struct span line, struct span guest)
{
	static struct pair sent, brought;

	HOLDS(read_pair(coded_part(line), &sent));
	HOLDS(guest.len > 6 &&
	    span_is_case((struct span){ guest.ptr, 6 }, "Basic "));
	HOLDS(
	    read_pair((struct span){ guest.ptr + 6, guest.len - 6 }, &brought));
	if (span_is(brought.password, placeholder)) {
		HOLDS(span_is(sent.password, value));
		HOLDS(span_eq(sent.user, brought.user));
	} else {
		HOLDS(span_is(brought.user, placeholder));
		HOLDS(span_is(sent.user, value));
		HOLDS(span_eq(sent.password, brought.password));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span guest;
	struct injection *in;
	enum lease_apply apply;
	AUTO_SECRET struct secret line = SECRET_NONE;

	if (size == 0)
		return 0;
	/* What is signed has no pair (fuzz_sigv4). */
	apply = (enum lease_apply)(data[0] % LEASE_APPLY_SIGV4);
	in = lend(apply);
	guest = (struct span){ data + 1, size - 1 };
	HOLDS(injection_pair_line(in, guest, &line) == 0);
	if (line.len > 0)
		check_line(secret_span(&line), guest);
	injection_unref(in);
	HOLDS(LIST_EMPTY(&all));
	return 0;
}
