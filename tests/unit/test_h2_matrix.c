/*
 * Exchanges in all their shapes, between each version of HTTP and each.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#define POLICY                                                                 \
	"[policy]\nversion = 1\n[allow api]\nhost = api.example.org\n"         \
	"path = /**\nmethod = GET, HEAD, POST\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

#define BIG 3000000

struct shape {
	const char *claim;
	struct side_message ask, answer;
	unsigned int interim;
};

static const struct shape shapes[] = {
	{ "GET", { .method = "GET" },
	    { .status = 200, .body = SIDE_LENGTH, .size = 5 }, 0 },
	{ "GET, a body of no told length", { .method = "GET" },
	    { .status = 200, .body = SIDE_STREAM, .size = 70000 }, 0 },
	{ "GET, an empty answer", { .method = "GET" },
	    { .status = 200,
		.body = SIDE_NONE,
		.fields = "content-length: 0\n" },
	    0 },
	{ "HEAD", { .method = "HEAD" },
	    { .status = 200, .fields = "content-length: 9\n" }, 0 },
	{ "204", { .method = "GET" }, { .status = 204 }, 0 },
	{ "304", { .method = "GET" },
	    { .status = 304, .fields = "content-length: 9\n" }, 0 },
	{ "POST with a length",
	    { .method = "POST", .body = SIDE_LENGTH, .size = 100000 },
	    { .status = 200, .body = SIDE_LENGTH, .size = 5 }, 0 },
	{ "POST of nothing",
	    { .method = "POST", .fields = "content-length: 0\n" },
	    { .status = 200, .body = SIDE_LENGTH, .size = 5 }, 0 },
	{ "POST, chunked or DATA",
	    { .method = "POST", .body = SIDE_STREAM, .size = 100000 },
	    { .status = 200, .body = SIDE_STREAM, .size = 5 }, 0 },
	{ "large both ways",
	    { .method = "POST", .body = SIDE_STREAM, .size = BIG },
	    { .status = 200, .body = SIDE_STREAM, .size = BIG }, 0 },
	{ "trailers",
	    { .method = "POST",
		.body = SIDE_STREAM,
		.size = 10,
		.trailer = "x-up",
		.fields = "te: trailers\n" },
	    { .status = 200,
		.body = SIDE_STREAM,
		.size = 10,
		.trailer = "x-down" },
	    0 },
	{ "interim answers", { .method = "GET" },
	    { .status = 200, .body = SIDE_LENGTH, .size = 5 }, 8 },
};

static const char *
status_line(bool is_h2, unsigned int status)
{
	static char text[32];

	(void)snprintf(text, sizeof(text),
	    is_h2 ? ":status: %u\n" : "http/1.1 %u", status);
	return text;
}

static bool
is_bodyless(const struct shape *sh)
{
	return strcmp(sh->ask.method, "HEAD") == 0 ||
	    sh->answer.status == 204 || sh->answer.status == 304;
}

static void
check_request(const struct side *o, const struct shape *sh)
{
	if (strstr(o->head,
		o->is_h2 ? ":path: /p?q\n" : " /p?q http/1.1\r\n") == NULL)
		fail_msg("%s: %s", sh->claim, o->head);
	assert_non_null(strstr(o->head,
	    o->is_h2 ? ":authority: api.example.org\n"
		     : "\r\nhost: api.example.org\r\n"));
	assert_int_equal(o->body_len, sh->ask.size);
	assert_true(o->body_sum == side_sum(sh->ask.size));
}

static void
check_answer(const struct side *g, const struct shape *sh)
{
	if (strstr(g->head, status_line(g->is_h2, sh->answer.status)) == NULL)
		fail_msg("%s: %s", sh->claim, g->head);
	assert_int_equal(g->interim, 0);
	assert_int_equal(g->body_len, sh->answer.size);
	assert_true(g->body_sum == side_sum(sh->answer.size));
	if (sh->answer.fields != NULL &&
	    strstr(sh->answer.fields, "length: 9") != NULL)
		assert_non_null(strstr(g->head, "content-length: 9"));
}

/* One exchange; the origin is the first that is dialled. */
static void
exchange(struct fix *f, struct side *g, struct side *o, const struct shape *sh)
{
	size_t records = f->record_count;

	g->is_bodyless = is_bodyless(sh);
	side_send(g, &sh->ask);
	if (o->p == NULL)
		side_origin(o, f, f->origin_is_h2, 0);
	fix_until(f, side_look(o)->is_whole);
	check_request(o, sh);
	for (unsigned int i = 0; i < sh->interim; i++)
		side_interim(o, 100 + (i % 2) * 3);
	side_send(o, &sh->answer);
	fix_until(f, side_look(g)->is_whole);
	check_answer(g, sh);
	fix_until(f, f->record_count == records + 1);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(fix_last(f)->r.up, sh->ask.size);
	assert_int_equal(fix_last(f)->r.down, sh->answer.size);
}

static void
run_shape(struct fix *f, const struct shape *sh, unsigned int versions)
{
	struct side g, o = { .p = NULL };
	bool guest_is_h2 = (versions & 1) != 0;

	f->origin_is_h2 = (versions & 2) != 0;
	f->record_count = 0;
	side_guest(&g, f, guest_is_h2);
	exchange(f, &g, &o, sh);
	if (sh->ask.trailer != NULL) {
		assert_int_equal(strstr(o.trailers, "x-up: done") != NULL,
		    guest_is_h2 && f->origin_is_h2);
		assert_non_null(strstr(g.trailers, "x-down: done"));
		assert_non_null(strstr(o.head, "te: trailers"));
	}
	/* And once more, on the same two connections. */
	side_next(&g);
	side_next(&o);
	exchange(f, &g, &o, sh);
	assert_int_equal(f->origin_count, 1);
	side_done(&g);
	side_done(&o);
	fix_close(f);
	fix_forget_origins(f);
}

static void
each_shape_goes_through_between_any_two_versions(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned int v = 0; v < 4; v++)
			run_shape(*state, &shapes[i], v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    each_shape_goes_through_between_any_two_versions, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
