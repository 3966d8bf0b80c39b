/*
 * The rows, the keys and the lines of `tapward top`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/top_view.h"

#define ROW(name, state, requests, refused, up)                                \
	"{\"name\":\"" name "\",\"state\":\"" state                            \
	"\",\"owner\":0,\"generation\":3,\"connections\":2,\"asks\":1,"        \
	"\"accepted\":9,\"requests\":" #requests ",\"refused\":" #refused      \
	",\"dropped\":1,\"up\":" #up ",\"down\":2048}"
#define OTHERS                                                                 \
	"{\"name\":\"others\",\"state\":\"running\",\"owner\":7,"              \
	"\"generation\":4,\"connections\":null,\"asks\":null,"                 \
	"\"accepted\":null,\"requests\":null,\"refused\":null,"                \
	"\"dropped\":null,\"up\":null,\"down\":null}"
#define STATUS                                                                 \
	"\"status\":{\"version\":\"9.9\",\"started\":"                         \
	"\"2026-01-31T20:00:00.000Z\",\"sandboxes\":3,\"machines\":0,"         \
	"\"states\":{\"running\":3},\"pool_ready\":7,\"pool_size\":8,"         \
	"\"audit_can_write\":true,\"recorder\":{\"seq\":42,\"lost\":0},"       \
	"\"resolvers\":[\"127.0.0.53:53\"],\"credential_fault\":null,"         \
	"\"processes\":[{\"role\":\"broker\",\"pid\":1,\"restarts\":0},"       \
	"{\"role\":\"api\",\"pid\":0,\"restarts\":2}]}"
#define REFUSAL                                                                \
	"{\"time\":\"2026-01-31T20:59:58.123Z\",\"sandbox\":\"ci-7\","         \
	"\"count\":3,\"reason\":\"no-rule\",\"rule\":\"-\",\"host\":"          \
	"\"evil\\u001b[2J\\u009b.example\",\"port\":443,\"method\":\"GET\","   \
	"\"path\":\"/x\"}"

struct fixture {
	struct top_model model;
	struct top_ui ui;
	char *text;
};

static json_t *
answer(unsigned int sample_ms, const char *rows)
{
	static char text[8192];
	json_t *json;
	int len;

	len = snprintf(text, sizeof(text),
	    "{\"sample_ms\":%u," STATUS ",\"sandboxes\":[%s],\"more\":false,"
	    "\"refusals\":[" REFUSAL "],\"hosts\":[{\"host\":"
	    "\"api.example\",\"allowed\":5,\"refused\":1,\"up\":10,"
	    "\"down\":20,\"last\":null}]}",
	    sample_ms, rows);
	assert_in_range(len, 1, sizeof(text) - 1);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	return json;
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->text = malloc(TOP_SCREEN_BYTES + 1);
	assert_non_null(f->text);
	f->ui = (struct top_ui){ .width = 80,
		.height = 24,
		.interval_s = 1,
		.sort = TOP_NAME };
	/* 2026-01-31T21:00:00Z */
	clock_test_set(0, 0, UINT64_C(1769893200000));
	assert_true(top_model_take(&f->model,
	    answer(1000,
		ROW("ci-7", "running", 100, 4, 1000) "," ROW("ci-10",
		    "detached", 5, 40, 0) "," OTHERS)));
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	clock_test_release();
	top_model_done(&f->model);
	free(f->text);
	free(f);
	return 0;
}

static void
draw(struct fixture *f)
{
	struct wr w = wr_init(f->text, TOP_SCREEN_BYTES);

	top_view_screen(&w, &f->model, &f->ui);
	assert_true(wr_ok(&w));
	f->text[w.len] = '\0';
}

static void
write_text(struct fixture *f)
{
	struct wr w = wr_init(f->text, TOP_SCREEN_BYTES);

	top_view_text(&w, &f->model, &f->ui);
	assert_true(wr_ok(&w));
	f->text[w.len] = '\0';
}

static void
has(const struct fixture *f, const char *what)
{
	if (strstr(f->text, what) == NULL)
		fail_msg("\"%s\" is not in\n%s", what, f->text);
}

static void
lacks(const struct fixture *f, const char *what)
{
	if (strstr(f->text, what) != NULL)
		fail_msg("\"%s\" is in\n%s", what, f->text);
}

static const struct top_row *
row(const struct fixture *f, const char *name)
{
	const struct top_row *r = top_model_find(&f->model, name);

	assert_non_null(r);
	return r;
}

static void
rates_are_what_was_added_by_the_time_between_two_answers(void **state)
{
	struct fixture *f = *state;

	assert_true(row(f, "ci-7")->values[TOP_REQUEST_RATE] == TOP_UNKNOWN);
	assert_true(top_model_take(&f->model,
	    answer(3000,
		ROW("ci-7", "running", 125, 4, 7000) "," ROW("new", "running",
		    50, 0, 5) "," OTHERS)));
	assert_int_equal(row(f, "ci-7")->values[TOP_REQUEST_RATE], 125);
	assert_int_equal(row(f, "ci-7")->values[TOP_UP_RATE], 3000);
	assert_int_equal(row(f, "ci-7")->values[TOP_DOWN_RATE], 0);
	assert_int_equal(row(f, "ci-7")->values[TOP_REFUSED], 5);
	assert_true(row(f, "new")->values[TOP_UP_RATE] == TOP_UNKNOWN);
	assert_true(row(f, "others")->values[TOP_REQUESTS] == TOP_UNKNOWN);
	/* What began anew, or another of the same name, makes no rate. */
	assert_true(top_model_take(&f->model,
	    answer(4000, ROW("ci-7", "running", 1, 0, 0))));
	assert_int_equal(row(f, "ci-7")->values[TOP_REQUEST_RATE], 0);
	assert_null(top_model_find(&f->model, "others"));
}

static void
what_is_no_answer_changes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_false(top_model_take(&f->model, json_object()));
	assert_false(top_model_take(&f->model, json_array()));
	assert_false(top_model_take(&f->model,
	    json_pack("{s:i, s:s}", "sample_ms", 1, "sandboxes", "x")));
	assert_int_equal(f->model.count, 3);
}

static void
sorts_numbers_down_and_names_up_with_the_unknown_last(void **state)
{
	static const struct {
		enum top_column by;
		bool is_reversed;
		const char *order[3];
	} rows[] = {
		{ TOP_NAME, false, { "ci-10", "ci-7", "others" } },
		{ TOP_NAME, true, { "others", "ci-7", "ci-10" } },
		{ TOP_REQUESTS, false, { "ci-7", "ci-10", "others" } },
		{ TOP_REFUSED, false, { "ci-10", "ci-7", "others" } },
		{ TOP_REFUSED, true, { "others", "ci-7", "ci-10" } },
		{ TOP_STATE, false, { "ci-10", "ci-7", "others" } },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		top_model_sort(&f->model, rows[i].by, rows[i].is_reversed);
		for (size_t k = 0; k < 3; k++)
			assert_string_equal(f->model.rows[k].name,
			    rows[i].order[k]);
	}
}

static void
json_has_the_rates(void **state)
{
	struct fixture *f = *state;
	const json_t *one;

	assert_true(top_model_take(&f->model,
	    answer(1500, ROW("ci-7", "running", 103, 4, 1000) "," OTHERS)));
	top_model_add_rates(&f->model);
	one = json_array_get(json_object_get(f->model.json, "sandboxes"), 0);
	assert_true(
	    json_real_value(json_object_get(one, "request_rate")) == 6.0);
	one = json_array_get(json_object_get(f->model.json, "sandboxes"), 1);
	assert_true(json_is_null(json_object_get(one, "request_rate")));
}

static void
says_who_learns_and_which_resolver_is_down(void **state)
{
	struct fixture *f = *state;
	json_t *json = answer(1500,
	    ROW("ci-7", "running\",\"learning\":true,\"x\":\"", 1, 0,
		0) "," ROW("ci-8", "detached\",\"learning\":true,\"x\":\"", 1,
		0, 0) "," OTHERS);
	json_t *status = json_object_get(json, "status");

	(void)json_object_set_new(status, "learning", json_integer(2));
	(void)json_object_set_new(status, "resolver_states",
	    json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "127.0.0.53:53",
		"state", "up", "name", "192.0.2.1:53", "state", "down"));
	assert_true(top_model_take(&f->model, json));
	assert_string_equal(row(f, "ci-7")->state, "learning");
	/* Of one that does not run that is what counts. */
	assert_string_equal(row(f, "ci-8")->state, "detached");
	assert_string_equal(row(f, "others")->state, "running");
	write_text(f);
	has(f, "sandboxes 3, 3 running, 2 learning   machines 0 ");
	has(f, "   resolver 192.0.2.1:53 DOWN   audit 42");
}

static void
text_tells_service_sandboxes_and_refusals(void **state)
{
	struct fixture *f = *state;

	write_text(f);
	has(f, "tapwardd 9.9, up 1 h 0 min   21:00:00 UTC\n");
	has(f, "sandboxes 3, 3 running   machines 0   pool 7 of 8\n");
	has(f,
	    "broker api DOWN(2)   resolver 127.0.0.53:53   audit 42, 0 "
	    "lost\n");
	has(f, "\nci-7 ");
	has(f, "\nothers ");
	has(f, "20:59:58 ci-7         no-rule            GET ");
	lacks(f, "\x1b");
	/* A name that a guest chose is no order to whoever reads it. */
	has(f, "evil?[2J??.example:443/x x3\n");
}

/* Cells of each line, with the orders to the terminal taken out. */
static unsigned int
longest_line(const char *text, unsigned int *ret_lines)
{
	unsigned int at = 0, longest = 0;

	*ret_lines = 1;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == 0x1b) {
			p += strcspn(p, "HmKJ");
			continue;
		}
		if (*p == '\n') {
			(*ret_lines)++;
			at = 0;
		} else if (*p != '\r') {
			at++;
		}
		longest = at > longest ? at : longest;
	}
	return longest;
}

static void
a_screen_fits_its_terminal_whatever_its_size(void **state)
{
	static const unsigned int sizes[][2] = { { 80, 24 }, { 1, 1 }, { 2, 2 },
		{ 20, 5 }, { 40, 9 }, { 40, 100 }, { 79, 10 }, { 132, 43 },
		{ 999, 200 }, { 5000, 3000 } };
	struct fixture *f = *state;

	for (size_t i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned int lines, width = sizes[i / 3][0];
		unsigned int height = sizes[i / 3][1];

		f->ui.width = width;
		f->ui.height = height;
		f->ui.is_help = i % 3 == 1;
		(void)snprintf(f->ui.shown, sizeof(f->ui.shown), "%s",
		    i % 3 == 2 ? "ci-7" : "");
		draw(f);
		assert_true(
		    longest_line(f->text, &lines) < width || width == 1);
		assert_int_equal(lines, height > 1000 ? 1000 : height);
	}
}

static void
columns_go_where_there_is_no_room_and_refusals_go_last(void **state)
{
	struct fixture *f = *state;

	f->ui.width = 120;
	draw(f);
	has(f, " DOWN");
	has(f, "REFUSED");
	f->ui.width = 60;
	draw(f);
	lacks(f, "ASKS");
	has(f, "REFUSED");
	has(f, "REQ/S");
	f->ui.width = 26;
	draw(f);
	lacks(f, "REQ/S");
	has(f, "REFUSED");
	has(f, "ci-10");
}

static void
only_the_selected_row_is_reversed_and_without_color_nothing_is_red(void **state)
{
	struct fixture *f = *state;
	const char *reversed;

	(void)snprintf(f->ui.selected, sizeof(f->ui.selected), "others");
	draw(f);
	reversed = strstr(f->text, "\x1b[7m");
	assert_non_null(reversed);
	assert_memory_equal(reversed + 4, "others", 6);
	assert_null(strstr(reversed + 1, "\x1b[7m"));
	lacks(f, "\x1b[1;31m");
	f->ui.has_color = true;
	draw(f);
	has(f, "\x1b[1;31mbroker api DOWN(2)");
}

static void
a_list_that_is_longer_than_the_screen_shows_the_selected(void **state)
{
	struct fixture *f = *state;
	char rows[4096];
	struct wr w = wr_init(rows, sizeof(rows));

	for (unsigned int i = 0; i < 30; i++)
		wr_fmt(&w,
		    "%s{\"name\":\"s%02u\",\"state\":\"running\","
		    "\"generation\":1}",
		    i == 0 ? "" : ",", i);
	wr_u8(&w, '\0');
	assert_true(top_model_take(&f->model, answer(9000, rows)));
	draw(f);
	has(f, "s00");
	lacks(f, "s29");
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_END), TOP_DRAW);
	draw(f);
	has(f, "\x1b[7ms29");
	lacks(f, "s00");
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_PAGE_UP);
	assert_int_equal(top_ui_selected(&f->ui, &f->model),
	    29 - (f->ui.page - 1));
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_HOME);
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_UP);
	assert_string_equal(f->ui.selected, "s00");
}

static void
one_sandbox_is_opened_and_left(void **state)
{
	struct fixture *f = *state;

	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_DOWN);
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_OPEN),
	    TOP_FETCH);
	assert_string_equal(f->ui.shown, f->model.rows[1].name);
	draw(f);
	has(f, "HOST");
	has(f, "api.example");
	/* There is nothing further in, and the list does not move. */
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_OPEN), TOP_DRAW);
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_DOWN);
	assert_string_equal(f->ui.selected, f->ui.shown);
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_BACK),
	    TOP_FETCH);
	assert_string_equal(f->ui.shown, "");
	f->ui.is_single = true;
	(void)snprintf(f->ui.shown, sizeof(f->ui.shown), "ci-7");
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_BACK), TOP_DRAW);
	assert_string_equal(f->ui.shown, "ci-7");
}

static void
keys_do_what_the_help_says(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < TOP_COLUMNS; i++)
		(void)top_ui_key(&f->ui, &f->model, TOP_KEY_SORT);
	assert_int_equal(f->ui.sort, TOP_NAME);
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_PAUSE);
	assert_true(f->ui.is_paused);
	draw(f);
	has(f, "PAUSED");
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_HELP);
	draw(f);
	has(f, "any key leaves it");
	/* ... and does nothing else. */
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_PAUSE);
	assert_true(f->ui.is_paused && !f->ui.is_help);
	(void)top_ui_key(&f->ui, &f->model, TOP_KEY_HELP);
	assert_int_equal(top_ui_key(&f->ui, &f->model, TOP_KEY_QUIT), TOP_QUIT);
}

static void
reads_keys_and_skips_sequences_that_mean_nothing(void **state)
{
	static const struct {
		const char *bytes;
		enum top_key key;
		size_t used;
	} rows[] = {
		{ "q", TOP_KEY_QUIT, 1 },
		{ "\x1b[A", TOP_KEY_UP, 3 },
		{ "\x1bOBq", TOP_KEY_DOWN, 3 },
		{ "\x1b", TOP_KEY_BACK, 1 },
		{ "\x1bq", TOP_KEY_BACK, 1 },
		{ "\r", TOP_KEY_OPEN, 1 },
		{ "x", TOP_KEY_NONE, 1 },
		{ "\xff", TOP_KEY_NONE, 1 },
		/* F5, and a mouse: no "q" or "~" of theirs is a key. */
		{ "\x1b[15~q", TOP_KEY_NONE, 5 },
		{ "\x1b[200q", TOP_KEY_NONE, 6 },
		{ "\x1b[12", TOP_KEY_NONE, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = 0;

		assert_int_equal(top_key_read((const uint8_t *)rows[i].bytes,
				     strlen(rows[i].bytes), &used),
		    rows[i].key);
		assert_int_equal(used, rows[i].used);
	}
}

static void
numbers_are_short(void **state)
{
	static const struct {
		uint64_t v;
		const char *text;
	} rows[] = { { 0, "0" }, { 99999, "99999" }, { 100000, "100K" },
		{ 1234567, "1.2M" }, { UINT64_C(9007199254740991), "9.0P" },
		{ UINT64_MAX, "18E" } };
	static const struct {
		uint64_t s;
		const char *text;
	} spans[] = { { 0, "0 s" }, { 59, "59 s" }, { 61, "1 min 1 s" },
		{ 7260, "2 h 1 min" }, { 90000, "1 d 1 h" } };
	enum top_column column;
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(top_view_count(buf, rows[i].v),
		    rows[i].text);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		top_view_span(buf, sizeof(buf), spans[i].s);
		assert_string_equal(buf, spans[i].text);
	}
	assert_true(top_view_find_column("up/s", &column));
	assert_int_equal(column, TOP_UP_RATE);
	assert_false(top_view_find_column("cpu", &column));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rates_are_what_was_added_by_the_time_between_two_answers),
		TEST(what_is_no_answer_changes_nothing),
		TEST(sorts_numbers_down_and_names_up_with_the_unknown_last),
		TEST(json_has_the_rates),
		TEST(says_who_learns_and_which_resolver_is_down),
		TEST(text_tells_service_sandboxes_and_refusals),
		TEST(a_screen_fits_its_terminal_whatever_its_size),
		TEST(columns_go_where_there_is_no_room_and_refusals_go_last),
		TEST(
		    only_the_selected_row_is_reversed_and_without_color_nothing_is_red),
		TEST(a_list_that_is_longer_than_the_screen_shows_the_selected),
		TEST(one_sandbox_is_opened_and_left),
		TEST(keys_do_what_the_help_says),
		TEST(reads_keys_and_skips_sequences_that_mean_nothing),
		TEST(numbers_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
