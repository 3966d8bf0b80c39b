/*
 * A guest and an origin that send anything. Property: whatever reaches the
 * origin begins with one head that is canonical (it parses strictly, and
 * names the host that was judged in our spelling), and a guest never gets
 * more than whole answers: what it sees begins with a head that parses.
 *
 * Input: one byte of how it is cut, the guest's bytes, a byte 0xff, the
 * origin's.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/inspect_fixture.h"
#include "wire/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "[policy]\nversion = 1\n[allow plain]\n"
			     "host = a.example.org\nport = 80\n"
			     "scheme = http\n";

static void
check_origin(struct peer *o)
{
	static const char host[] = "\r\nHost: a.example.org\r\n";
	struct http_scan scan = { .at = 0 };
	struct http_request req;
	size_t len;

	if (http_scan(&scan, (struct span){ o->in, o->in_len }, &len) !=
	    HTTP_OK) {
		/* A head is written whole, or not at all. */
		assert(o->in_len == 0);
		return;
	}
	assert(
	    http_request_parse((struct span){ o->in, len }, &req) == HTTP_OK);
	assert(req.form == HTTP_FORM_ORIGIN || req.form == HTTP_FORM_ASTERISK);
	assert(memmem(o->in, len, host, sizeof(host) - 1) != NULL);
	assert(!req.expects_continue && !req.has_upgrade);
}

static void
check_guest(struct peer *g)
{
	struct http_scan scan = { .at = 0 };
	struct http_response res;
	enum http_status s;
	size_t len;

	if (g->in_len == 0)
		return;
	s = http_scan(&scan, (struct span){ g->in, g->in_len }, &len);
	assert(s == HTTP_OK);
	s = http_response_parse((struct span){ g->in, len }, HTTP_METHOD_GET,
	    false, &res);
	/* An answer to HEAD, or 304, may say a length and have no body. */
	assert(s == HTTP_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fix *f;
	const uint8_t *cut;
	size_t guest_len;

	if (f == NULL)
		f = fix_new(policy);
	if (size < 2)
		return 0;
	cut = memchr(data + 1, 0xff, size - 1);
	guest_len = cut == NULL ? size - 1 : (size_t)(cut - data) - 1;
	f->record_count = 0;
	fix_open_http(f);
	f->guest.burst = data[0] % 8;
	peer_send(&f->guest, data + 1, guest_len);
	fix_settle(f);
	if (f->origin_count > 0 && cut != NULL) {
		f->origins[0].burst = data[0] / 8 % 8;
		peer_send(&f->origins[0], cut + 1, size - guest_len - 2);
		fix_settle(f);
	}
	for (size_t i = 0; i < f->origin_count; i++)
		check_origin(&f->origins[i]);
	check_guest(&f->guest);
	fix_close(f);
	fix_forget_origins(f);
	return 0;
}
