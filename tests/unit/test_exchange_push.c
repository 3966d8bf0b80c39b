/*
 * Pushes by git: what reaches the origin is what the guest sent, to the byte,
 * whatever pieces it comes in and however slowly it is taken.
 */
#include "code.h"
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[git tool]\nrepo = api.example.org/tool\npush = refs/heads/a/*\n"     \
	"[allow up]\nhost = api.example.org\npath = /up\nmethod = POST\n"

#define NONE "0000000000000000000000000000000000000000"
#define OLD "b4f6392feab92ee36dd64a8aedafc2847bea62e0"
#define CAPS "report-status side-band-64k object-format=sha1 agent=x"

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

static uint64_t
next_random(uint64_t *seed)
{
	*seed = (*seed & UINT32_MAX) * 1664525 + 1013904223;
	return *seed >> 8 & 0xffffff;
}

/* --- what is sent --- */

static size_t
load_pack(uint8_t *buf, size_t size)
{
	FILE *f = fopen(TEST_CORPUS "/sha1-ofs", "rb");
	size_t len;

	assert_non_null(f);
	len = fread(buf, 1, size, f);
	(void)fclose(f);
	assert_true(len > 1000);
	return len;
}

/*
 * Commands and a pack that git made, then bytes up to size. An update is one
 * that has to be shown to move forward.
 */
static struct span
make_push(uint8_t *to, size_t size, bool is_update, uint64_t *seed)
{
	uint8_t pack[2048];
	size_t len = load_pack(pack, sizeof(pack));
	char line[256];
	struct wr w = wr_init(to, size);
	int n = snprintf(line, sizeof(line), "%s %.40s refs/heads/a/x%c%s",
	    is_update ? OLD : NONE, (const char *)pack, 0, CAPS);

	wr_fmt(&w, "%04x", (unsigned int)n + 4);
	wr_bytes(&w, line, (size_t)n);
	wr_text(&w, "0000");
	wr_bytes(&w, pack + 40, len - 40);
	assert_true(wr_ok(&w));
	while (w.len < size)
		wr_u8(&w, (uint8_t)next_random(seed));
	return (struct span){ to, w.len };
}

enum kind { KIND_PLAIN, KIND_CREATE, KIND_UPDATE, KINDS };

/* One upload. */
struct run {
	enum kind kind;
	bool guest_is_h2, origin_is_h2, is_gzip, has_length;
	struct span want, sent; /* by the origin; by the guest */
	size_t first;           /* of the first piece; 0: as any */
	size_t piece, burst;    /* at most; 0: all */
	bool is_slow;           /* the origin takes a little at a time */
	bool ends_late;         /* all that can happen before has */
	uint64_t seed;
};

static void
send_head(struct side *g, const struct run *r)
{
	const struct side_message m = {
		.method = "POST",
		.path =
		    r->kind == KIND_PLAIN ? "/up" : "/tool/git-receive-pack",
		.body = r->has_length ? SIDE_LENGTH : SIDE_STREAM,
		.declared = r->sent.len,
		.is_open = true,
		.fields = r->is_gzip ? "content-encoding: gzip\n" : NULL,
	};

	side_send(g, &m);
}

/* --- a run --- */

static void
be_slow(struct side *o, struct run *r)
{
	if (o->p == NULL || !r->is_slow)
		return;
	o->p->is_slow = next_random(&r->seed) % 4 != 0;
	if (!o->is_h2)
		return;
	o->h2->keeps_window = true;
	if (o->s != NULL)
		h2p_consume(o->h2, o->s, next_random(&r->seed) % 5000);
}

/* The origin's side, as soon as it was dialled. */
static void
turn(struct fix *f, struct side *o, struct run *r)
{
	fix_turn(f);
	if (o->p == NULL && f->origin_count > 0 && f->origins[0].is_shaken)
		side_origin(o, f, r->origin_is_h2, 0);
	if (o->p != NULL)
		(void)side_look(o);
	be_slow(o, r);
}

static void
send_body(struct fix *f, struct side *g, struct side *o, struct run *r)
{
	uint64_t deadline = fix_deadline();
	struct rd rest = rd_span(r->sent);

	while (rd_left(&rest) > 0) {
		size_t left = rd_left(&rest), n = left;

		if (left == r->sent.len && r->first > 0)
			n = r->first;
		else if (r->piece > 0)
			n = 1 + next_random(&r->seed) % r->piece;
		side_more(g, rd_take(&rest, n < left ? n : left));
		do {
			turn(f, o, r);
			assert_false(fix_is_late(deadline));
		} while (side_has_more(g));
	}
	if (r->ends_late)
		fix_settle(f);
	side_end(g);
}

static void
run(struct fix *f, struct side *g, struct side *o, struct run *r)
{
	static const struct side_message answer = { .status = 200,
		.body = SIDE_LENGTH,
		.size = 5 };
	uint64_t deadline = fix_deadline();
	size_t records = f->record_count;

	f->guest.burst = r->burst;
	send_head(g, r);
	send_body(f, g, o, r);
	while (o->p == NULL || !o->is_whole) {
		turn(f, o, r);
		if (side_look(g)->has_head || fix_is_late(deadline))
			fail_msg("kind %d h2 %d %d gzip %d: %s", r->kind,
			    r->guest_is_h2, r->origin_is_h2, r->is_gzip,
			    g->head);
	}
	assert_int_equal(o->body_len, r->want.len);
	assert_true(o->body_sum == h2p_sum(0, 0, r->want.ptr, r->want.len));
	if (o->is_h2)
		o->h2->keeps_window = false;
	o->p->is_slow = false;
	side_send(o, &answer);
	fix_until(f, side_look(g)->is_whole && f->record_count > records);
	assert_int_equal(fix_last(f)->r.reason, REASON_NONE);
	assert_int_equal(fix_last(f)->r.up, r->want.len);
}

static void
open_sides(struct fix *f, struct side *g, struct side *o, const struct run *r)
{
	f->origin_is_h2 = r->origin_is_h2;
	f->record_count = 0;
	*o = (struct side){ .p = NULL };
	side_guest(g, f, r->guest_is_h2);
}

static void
close_sides(struct fix *f, struct side *g, struct side *o)
{
	side_done(g);
	side_done(o);
	fix_close(f);
	fix_forget_origins(f);
}

/* --- the claims --- */

/*
 * As many as the commands have, and what the pack begins with. A peer keeps no
 * more than H2P_STREAMS_MAX.
 */
#define SPLITS 270

static void
split_everywhere(struct fix *f, struct run *r)
{
	static uint8_t bytes[2000];
	struct side g, o;

	r->want = r->sent =
	    make_push(bytes, sizeof(bytes), r->kind == KIND_UPDATE, &r->seed);
	open_sides(f, &g, &o, r);
	for (r->first = 1; r->first < SPLITS; r->first++) {
		run(f, &g, &o, r);
		side_next(&g);
		side_next(&o);
	}
	close_sides(f, &g, &o);
}

static void
a_push_that_is_split_at_any_byte_goes_through(void **state)
{
	for (unsigned int v = 0; v < 4; v++)
		for (enum kind k = KIND_CREATE; k < KINDS; k++) {
			struct run r = { .kind = k,
				.guest_is_h2 = (v & 1) != 0,
				.origin_is_h2 = (v & 2) != 0 };

			split_everywhere(*state, &r);
		}
}

static struct span
gzip(struct span text, uint8_t *to, size_t size)
{
	struct wr w = wr_init(to, size);

	code(CODE_GZIP, text, &w);
	assert_true(wr_ok(&w));
	return (struct span){ to, w.len };
}

/* Everything by chance. */
static void
run_by_chance(struct fix *f, uint64_t seed)
{
	static const size_t pieces[] = { 0, 100, 5000, 16384, 65515, 70000 };
	static const size_t bursts[] = { 0, 700, 20000 };
	static const uint32_t windows[] = { 500, 4096, 65536 };
	static uint8_t plain[250000], coded[260000];
	struct run r = { .kind = (enum kind)(seed % KINDS), .seed = seed };
	struct side g, o;
	size_t size;

	size = 2000 + next_random(&r.seed) % (sizeof(plain) - 2000);
	r.guest_is_h2 = next_random(&r.seed) % 2 == 0;
	r.origin_is_h2 = next_random(&r.seed) % 2 == 0;
	r.is_gzip = r.kind != KIND_PLAIN && next_random(&r.seed) % 4 == 0;
	r.has_length = next_random(&r.seed) % 2 == 0;
	r.is_slow = next_random(&r.seed) % 2 == 0;
	r.piece = pieces[next_random(&r.seed) % 6];
	r.burst = bursts[next_random(&r.seed) % 3];
	f->gate.limits.wait_bytes = windows[next_random(&r.seed) % 3];
	r.want = r.sent =
	    make_push(plain, size, r.kind == KIND_UPDATE, &r.seed);
	if (r.is_gzip)
		r.sent = gzip(r.want, coded, sizeof(coded));
	open_sides(f, &g, &o, &r);
	run(f, &g, &o, &r);
	close_sides(f, &g, &o);
}

static void
what_comes_out_is_what_went_in(void **state)
{
	for (uint64_t seed = 1; seed <= 45; seed++)
		run_by_chance(*state, seed);
}

/*
 * All that its length promises, and the end in a frame of its own, for which
 * libnghttp2 wants a window: it is there though nothing was taken yet.
 */
static void
an_upload_as_large_as_the_window_ends(void **state)
{
	static const struct {
		uint32_t window;
		size_t size;
	} rows[] = { { 500, 499 }, { 500, 500 }, { 500, 501 }, { 500, 2000 },
		{ 4096, 14863 }, { 65536, 65535 }, { 65536, 65536 } };
	static uint8_t bytes[65536];
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span all = { bytes, rows[i].size };
		struct run r = { .kind = KIND_PLAIN,
			.guest_is_h2 = true,
			.has_length = true,
			.ends_late = true,
			.want = all,
			.sent = all };
		struct side g, o;

		f->gate.limits.wait_bytes = rows[i].window;
		open_sides(f, &g, &o, &r);
		run(f, &g, &o, &r);
		close_sides(f, &g, &o);
	}
}

/*
 * libcurl 7.88 on GnuTLS, which git of Debian 12 has, sends a piece of an
 * upload twice over HTTP/2 if its socket is full in the middle of it.
 */
static void
git_is_given_http_1_1_unless_it_takes_http_2_alone(void **state)
{
	static const struct {
		const char *offer, *want;
	} rows[] = { { "\x02h2\x08http/1.1", "http/1.1" }, { "\x02h2", "h2" } };
	struct fix *f = *state;

	for (size_t i = 0; i < 2; i++) {
		const unsigned char *name;
		unsigned int len;

		fix_offer(f, rows[i].offer);
		fix_open_tls(f, "api.example.org");
		fix_until(f, f->guest.is_shaken);
		SSL_get0_alpn_selected(f->guest.ssl, &name, &len);
		assert_int_equal(len, strlen(rows[i].want));
		assert_memory_equal(name, rows[i].want, len);
		fix_close(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_push_that_is_split_at_any_byte_goes_through, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(what_comes_out_is_what_went_in,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    an_upload_as_large_as_the_window_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    git_is_given_http_1_1_unless_it_takes_http_2_alone, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
