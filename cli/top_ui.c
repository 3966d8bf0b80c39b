/* Keys, see top_ui.h. */
#include "cli/top_ui.h"

#include <string.h>

#include "base/bytes.h"

/* Longer sequences, then single bytes; the first that fits is it. */
static const struct {
	const char *bytes;
	enum top_key key;
} keys[] = {
	{ "\x1b[A", TOP_KEY_UP },
	{ "\x1bOA", TOP_KEY_UP },
	{ "\x1b[B", TOP_KEY_DOWN },
	{ "\x1bOB", TOP_KEY_DOWN },
	{ "\x1b[C", TOP_KEY_OPEN },
	{ "\x1bOC", TOP_KEY_OPEN },
	{ "\x1b[D", TOP_KEY_BACK },
	{ "\x1bOD", TOP_KEY_BACK },
	{ "\x1b[5~", TOP_KEY_PAGE_UP },
	{ "\x1b[6~", TOP_KEY_PAGE_DOWN },
	{ "\x1b[H", TOP_KEY_HOME },
	{ "\x1bOH", TOP_KEY_HOME },
	{ "\x1b[1~", TOP_KEY_HOME },
	{ "\x1b[F", TOP_KEY_END },
	{ "\x1bOF", TOP_KEY_END },
	{ "\x1b[4~", TOP_KEY_END },
	{ "q", TOP_KEY_QUIT },
	{ "Q", TOP_KEY_QUIT },
	{ "s", TOP_KEY_SORT },
	{ "r", TOP_KEY_REVERSE },
	{ "p", TOP_KEY_PAUSE },
	{ " ", TOP_KEY_PAUSE },
	{ "h", TOP_KEY_HELP },
	{ "?", TOP_KEY_HELP },
	{ "k", TOP_KEY_UP },
	{ "j", TOP_KEY_DOWN },
	{ "g", TOP_KEY_HOME },
	{ "G", TOP_KEY_END },
	{ "\r", TOP_KEY_OPEN },
	{ "\n", TOP_KEY_OPEN },
	{ "\x7f", TOP_KEY_BACK },
	{ "\b", TOP_KEY_BACK },
	{ "\f", TOP_KEY_REDRAW },
};

/* A sequence that means nothing to us: taken whole, so that "q" in it is not
 * a key. ECMA-48 5.4: parameters, then one byte from "@" on. */
static size_t
sequence_length(const uint8_t *bytes, size_t len)
{
	size_t n = 2;

	if (len < 2 || (bytes[1] != '[' && bytes[1] != 'O'))
		return 1;
	while (n < len && bytes[n] < 0x40)
		n++;
	return n < len ? n + 1 : len;
}

enum top_key
top_key_read(const uint8_t *bytes, size_t len, size_t *ret_used)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i].bytes);

		if (n <= len && memcmp(bytes, keys[i].bytes, n) == 0) {
			*ret_used = n;
			return keys[i].key;
		}
	}
	*ret_used = 1;
	if (bytes[0] != 0x1b)
		return TOP_KEY_NONE;
	*ret_used = sequence_length(bytes, len);
	return *ret_used == 1 ? TOP_KEY_BACK : TOP_KEY_NONE;
}

size_t
top_ui_selected(const struct top_ui *ui, const struct top_model *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->rows[i].name, ui->selected) == 0)
			return i;
	return 0;
}

/* The row so many below (above, if negative) the selected one. */
static void
move(struct top_ui *ui, const struct top_model *m, long long by)
{
	long long at = (long long)top_ui_selected(ui, m) + by;

	if (m->count == 0)
		return;
	if (at >= (long long)m->count)
		at = (long long)m->count - 1;
	if (at < 0)
		at = 0;
	memcpy(ui->selected, m->rows[at].name, sizeof(ui->selected));
}

static enum top_step
open_selected(struct top_ui *ui, const struct top_model *m)
{
	if (ui->shown[0] != '\0' || m->count == 0)
		return TOP_DRAW;
	move(ui, m, 0);
	memcpy(ui->shown, ui->selected, sizeof(ui->shown));
	return TOP_FETCH;
}

static enum top_step
go_back(struct top_ui *ui)
{
	if (ui->shown[0] == '\0' || ui->is_single)
		return TOP_DRAW;
	ui->shown[0] = '\0';
	return TOP_FETCH;
}

/* What each key moves by; 0: it moves nothing. */
static long long
step_of(const struct top_ui *ui, const struct top_model *m, enum top_key key)
{
	const long long page = ui->page > 1 ? ui->page - 1 : 1;
	const struct {
		enum top_key key;
		long long by;
	} steps[] = {
		{ TOP_KEY_UP, -1 },
		{ TOP_KEY_DOWN, 1 },
		{ TOP_KEY_PAGE_UP, -page },
		{ TOP_KEY_PAGE_DOWN, page },
		{ TOP_KEY_HOME, -(long long)m->count },
		{ TOP_KEY_END, (long long)m->count },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].key == key)
			return steps[i].by;
	return 0;
}

enum top_step
top_ui_key(struct top_ui *ui, const struct top_model *m, enum top_key key)
{
	const bool was_help = ui->is_help;

	if (key == TOP_KEY_QUIT)
		return TOP_QUIT;
	/* Any key leaves the help. */
	ui->is_help = false;
	if (was_help)
		return TOP_DRAW;
	if (key == TOP_KEY_SORT)
		ui->sort = (enum top_column)((ui->sort + 1) % TOP_COLUMNS);
	else if (key == TOP_KEY_REVERSE)
		ui->is_reversed = !ui->is_reversed;
	else if (key == TOP_KEY_PAUSE)
		ui->is_paused = !ui->is_paused;
	else if (key == TOP_KEY_HELP)
		ui->is_help = true;
	else if (key == TOP_KEY_OPEN)
		return open_selected(ui, m);
	else if (key == TOP_KEY_BACK)
		return go_back(ui);
	else if (ui->shown[0] == '\0' && step_of(ui, m, key) != 0)
		move(ui, m, step_of(ui, m, key));
	return TOP_DRAW;
}
