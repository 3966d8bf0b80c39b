/*
 * What whoever looks at `tapward top` has chosen, and what keys do to it.
 * Pure.
 */
#ifndef TAPWARD_CLI_TOP_UI_H
#define TAPWARD_CLI_TOP_UI_H

#include "cli/top_model.h"

enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_QUIT,
	TOP_KEY_SORT,
	TOP_KEY_REVERSE,
	TOP_KEY_PAUSE,
	TOP_KEY_HELP,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_OPEN, /* one sandbox */
	TOP_KEY_BACK,
	TOP_KEY_REDRAW,
};

struct top_ui {
	unsigned int width, height; /* of the terminal */
	bool has_color;
	bool is_paused;
	bool is_help;
	enum top_column sort;
	bool is_reversed;
	char selected[SANDBOX_NAME_SIZE]; /* "": the first */
	char shown[SANDBOX_NAME_SIZE];    /* this one alone; "": all */
	bool is_single;    /* one was asked for: there is no way back */
	unsigned int page; /* rows of the list, as last drawn */
	unsigned int interval_s;
	char notice[128]; /* why what is shown is old; or "" */
};

enum top_step {
	TOP_DRAW,  /* again, with what is there */
	TOP_FETCH, /* something else is to be shown */
	TOP_QUIT,
};

/*
 * The key at the front of len bytes that a terminal sent; *ret_used is how
 * many of them it is made of, at least 1.
 */
enum top_key top_key_read(const uint8_t *bytes, size_t len, size_t *ret_used);
enum top_step top_ui_key(struct top_ui *ui, const struct top_model *m,
    enum top_key key);
/* Which row is selected; 0 when that sandbox is gone. */
size_t top_ui_selected(const struct top_ui *ui, const struct top_model *m);

#endif
