/*
 * top: what sandboxes do now, on a terminal, once as text, or as JSON.
 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cli/top_terminal.h"
#include "cli/top_view.h"

/* Keys wait as long as the daemon does not answer. */
#define PATIENCE_S 3
#define INTERVAL_MAX_S 3600

struct top {
	const struct cli *cli;
	struct top_model model;
	struct top_ui ui;
	struct top_terminal terminal;
	uint64_t next_ms; /* when to look again */
	uint8_t *screen;  /* TOP_SCREEN_BYTES */
	int signal;
};

static int
top_call(const struct top *t, bool is_loud, const char *path, struct reply *ret)
{
	const struct call q = { .method = "GET",
		.path = path,
		.patience_s = PATIENCE_S };

	return is_loud ? call_or_complain(t->cli, &q, ret)
		       : call_quietly_for(t->cli, &q, ret);
}

/* The name that the next page comes after; NULL without one. */
static const char *
last_name(const json_t *page)
{
	const json_t *all = json_object_get(page, "sandboxes");
	size_t count = json_array_size(all);

	if (count == 0 || !json_is_true(json_object_get(page, "more")))
		return NULL;
	return json_string_value(
	    json_object_get(json_array_get(all, count - 1), "name"));
}

/* One answer with the sandboxes of all pages. 0, or the exit status. */
static int
top_fetch(const struct top *t, bool is_loud, json_t **ret)
{
	char path[SANDBOX_NAME_SIZE + 64] = "/v1/top";
	struct reply first, more;
	const char *after;
	int rc;

	if (t->ui.shown[0] != '\0')
		(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/top",
		    t->ui.shown);
	rc = top_call(t, is_loud, path, &first);
	if (rc != 0)
		return rc;
	*ret = json_incref(first.json);
	after = last_name(first.json);
	reply_done(&first);
	while (after != NULL && sandbox_name_is_valid(after)) {
		json_t *all = json_object_get(*ret, "sandboxes");

		(void)snprintf(path, sizeof(path), "/v1/top?after=%s", after);
		rc = top_call(t, is_loud, path, &more);
		if (rc != 0)
			break;
		(void)json_array_extend(all,
		    json_object_get(more.json, "sandboxes"));
		(void)json_object_set(*ret, "more",
		    json_object_get(more.json, "more"));
		reply_done(&more);
		after = last_name(*ret);
	}
	if (rc != 0)
		json_decref(*ret);
	return rc;
}

/* Looks again. What is shown stays, with a notice, when that fails. */
static int
top_look(struct top *t, bool is_loud)
{
	json_t *json = NULL;
	int rc = top_fetch(t, is_loud, &json);

	t->next_ms = clock_mono_ms() + (uint64_t)t->ui.interval_s * 1000;
	t->ui.notice[0] = '\0';
	if (rc == 0 && !top_model_take(&t->model, json))
		rc = CLI_NO_DAEMON;
	if (rc == CLI_NO_DAEMON)
		(void)snprintf(t->ui.notice, sizeof(t->ui.notice),
		    "tapwardd does not answer: what is below is old");
	else if (rc != 0)
		(void)snprintf(t->ui.notice, sizeof(t->ui.notice),
		    "%s is gone, or not yours", t->ui.shown);
	return rc;
}

static bool
top_draw(struct top *t)
{
	struct wr w = wr_init(t->screen, TOP_SCREEN_BYTES);

	top_terminal_size(&t->ui.width, &t->ui.height);
	top_model_sort(&t->model, t->ui.sort, t->ui.is_reversed);
	top_view_screen(&w, &t->model, &t->ui);
	return top_terminal_write((struct span){ w.buf, w.len });
}

/* False: the end. */
static bool
top_take_keys(struct top *t, const uint8_t *bytes, size_t len)
{
	bool must_look = false;

	while (len > 0) {
		size_t used;
		enum top_key key = top_key_read(bytes, len, &used);
		enum top_step step = top_ui_key(&t->ui, &t->model, key);

		if (step == TOP_QUIT)
			return false;
		must_look = must_look || step == TOP_FETCH;
		bytes += used;
		len -= used;
	}
	if (must_look)
		(void)top_look(t, false);
	return true;
}

static int
top_left_ms(const struct top *t)
{
	uint64_t now_ms = clock_mono_ms();

	if (t->ui.is_paused)
		return -1;
	return t->next_ms <= now_ms ? 0 : (int)(t->next_ms - now_ms);
}

static void
top_loop(struct top *t)
{
	uint8_t bytes[256];
	size_t len = 0;

	while (top_draw(t)) {
		switch (top_terminal_wait(&t->terminal, top_left_ms(t), bytes,
		    sizeof(bytes), &len, &t->signal)) {
		case TOP_EVENT_TIME:
			(void)top_look(t, false);
			break;
		case TOP_EVENT_INPUT:
			if (!top_take_keys(t, bytes, len))
				return;
			break;
		case TOP_EVENT_REDRAW:
			break;
		case TOP_EVENT_END:
			return;
		}
	}
}

/* Whoever ended us by a signal is told so. */
static int
top_live(struct top *t)
{
	int rc = top_look(t, true);

	if (rc != 0)
		return rc;
	if (top_terminal_open(&t->terminal) != 0) {
		(void)fprintf(stderr,
		    "tapward: the terminal cannot be set up; try --once\n");
		return CLI_FAILED;
	}
	top_loop(t);
	top_terminal_close(&t->terminal);
	if (t->signal != 0)
		(void)raise(t->signal);
	return 0;
}

/* Two looks, for rates. */
static int
top_once(struct top *t, bool is_json)
{
	struct wr w = wr_init(t->screen, TOP_SCREEN_BYTES);
	int rc = top_look(t, true);

	if (rc == 0) {
		(void)poll(NULL, 0, top_left_ms(t));
		rc = top_look(t, true);
	}
	if (rc != 0)
		return rc;
	if (is_json) {
		top_model_add_rates(&t->model);
		output_json(t->model.json);
		return 0;
	}
	top_model_sort(&t->model, t->ui.sort, t->ui.is_reversed);
	top_view_text(&w, &t->model, &t->ui);
	return wr_ok(&w) && fwrite(w.buf, 1, w.len, stdout) == w.len
	    ? 0
	    : CLI_FAILED;
}

static bool
take_interval(const char *text, struct top_ui *ui)
{
	uint32_t s;

	if (!duration_parse(text, &s) || s > INTERVAL_MAX_S)
		return false;
	ui->interval_s = s;
	return true;
}

static int
top_name(struct top_ui *ui, int argc, char **argv)
{
	const char *name;

	if (optind == argc)
		return 0;
	name = cli_only_name("top", argc, argv, optind);
	if (name == NULL)
		return CLI_USAGE;
	(void)snprintf(ui->shown, sizeof(ui->shown), "%s", name);
	ui->is_single = true;
	return 0;
}

static int
top_run(struct top *t, bool is_once, bool is_json)
{
	int rc = CLI_FAILED;

	t->screen = malloc(TOP_SCREEN_BYTES);
	if (t->screen != NULL)
		rc = is_once || is_json || !top_terminal_is_fit()
		    ? top_once(t, is_json)
		    : top_live(t);
	top_model_done(&t->model);
	free(t->screen);
	return rc;
}

int
cmd_top(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "once", no_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "interval", required_argument, NULL, 'i' },
		{ "sort", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const char *no_color = getenv("NO_COLOR");
	struct top t = { .cli = cli,
		.ui = { .interval_s = 1,
		    .sort = TOP_REQUEST_RATE,
		    .has_color = no_color == NULL || *no_color == '\0' } };
	bool is_once = false, is_json = false;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "b", options, NULL)) != -1) {
		if (opt == 'b')
			is_once = true;
		else if (opt == 'j')
			is_json = true;
		else if (opt == 'i' && !take_interval(optarg, &t.ui))
			return cli_usage("top", "--interval is 1s to 1h");
		else if (opt == 's' &&
		    !top_view_find_column(optarg, &t.ui.sort))
			return cli_usage("top",
			    "--sort is the head of a column: requests, "
			    "refused, up/s ...");
		else if (opt == '?')
			return cli_usage("top", "see tapward(1)");
	}
	rc = top_name(&t.ui, argc, argv);
	return rc != 0 ? rc : top_run(&t, is_once, is_json);
}
