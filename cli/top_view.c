/* Lines of a screen, see top_view.h. */
#include "cli/top_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"

#define TEXT_WIDTH 200
#define LINE_SIZE (TOP_SIDE_MAX + 1)
#define NAME_MIN 12

/* ECMA-48 8.3.117; what has no color is in it with NO_COLOR, too. */
enum style { PLAIN, BOLD, REVERSE, BAD, STYLES };
static const struct {
	const char *on, *on_without_color;
} styles[STYLES] = {
	[PLAIN] = { "", "" },
	[BOLD] = { "\x1b[1m", "\x1b[1m" },
	[REVERSE] = { "\x1b[7m", "\x1b[7m" },
	[BAD] = { "\x1b[1;31m", "\x1b[1m" },
};

struct screen {
	struct wr *w;
	bool is_text; /* no terminal */
	bool has_color;
	unsigned int width;
	unsigned int left; /* lines that still fit */
};

/* How a column looks, and how soon it goes where there is no room. */
static const struct {
	const char *head;
	int width;
	unsigned int rank; /* the highest goes first; 0 never */
	bool is_bytes;
} columns[TOP_COLUMNS] = {
	[TOP_NAME] = { "SANDBOX", NAME_MIN, 0, false },
	[TOP_STATE] = { "STATE", 10, 5, false },
	[TOP_CONNECTIONS] = { "CONN", 6, 4, false },
	[TOP_REQUEST_RATE] = { "REQ/S", 7, 2, false },
	[TOP_REQUESTS] = { "REQUESTS", 9, 3, false },
	[TOP_REFUSED] = { "REFUSED", 8, 1, false },
	[TOP_UP_RATE] = { "UP/S", 7, 6, true },
	[TOP_DOWN_RATE] = { "DOWN/S", 7, 6, true },
	[TOP_ASKS] = { "ASKS", 5, 7, false },
	[TOP_UP] = { "UP", 7, 8, true },
	[TOP_DOWN] = { "DOWN", 7, 8, true },
};

bool
top_view_find_column(const char *name, enum top_column *ret)
{
	for (int i = 0; i < TOP_COLUMNS; i++)
		if (strcasecmp(name, columns[i].head) == 0) {
			*ret = (enum top_column)i;
			return true;
		}
	return false;
}

/* Three digits and a unit, where more do not fit. */
static const char *
scaled(char buf[TOP_NUMBER_SIZE], uint64_t v, unsigned int base, uint64_t plain)
{
	static const char units[] = "KMGTPE";
	uint64_t unit = base;
	size_t i = 0;

	if (v < plain) {
		(void)snprintf(buf, TOP_NUMBER_SIZE, "%" PRIu64, v);
		return buf;
	}
	while (v / unit >= base && units[i + 1] != '\0') {
		unit *= base;
		i++;
	}
	if (v / unit < 10)
		(void)snprintf(buf, TOP_NUMBER_SIZE,
		    "%" PRIu64 ".%" PRIu64 "%c", v / unit,
		    v % unit / (unit / 10) % 10, units[i]);
	else
		(void)snprintf(buf, TOP_NUMBER_SIZE, "%" PRIu64 "%c", v / unit,
		    units[i]);
	return buf;
}

const char *
top_view_count(char buf[TOP_NUMBER_SIZE], uint64_t v)
{
	return scaled(buf, v, 1000, 100000);
}

static const char *
bytes_text(char buf[TOP_NUMBER_SIZE], uint64_t v)
{
	return scaled(buf, v, 1024, 1024);
}

void
top_view_span(char *buf, size_t size, uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" },
		{ 1, "s" } };
	size_t i = 0;

	while (i < 3 && seconds < units[i].seconds)
		i++;
	if (i == 3)
		(void)snprintf(buf, size, "%" PRIu64 " s", seconds);
	else
		(void)snprintf(buf, size, "%" PRIu64 " %s %" PRIu64 " %s",
		    seconds / units[i].seconds, units[i].name,
		    seconds % units[i].seconds / units[i + 1].seconds,
		    units[i + 1].name);
}

/* --- lines --- */

static void
put(struct screen *s, enum style style, char *text)
{
	size_t len = strnlen(text, s->width);

	if (s->left == 0)
		return;
	s->left--;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
	while (s->is_text && len > 0 && text[len - 1] == ' ')
		len--;
	if (!s->is_text)
		wr_text(s->w,
		    s->has_color ? styles[style].on
				 : styles[style].on_without_color);
	wr_bytes(s->w, text, len);
	if (!s->is_text)
		wr_text(s->w, style == PLAIN ? "\x1b[K" : "\x1b[0m\x1b[K");
	if (s->is_text)
		wr_text(s->w, "\n");
	else if (s->left > 0)
		wr_text(s->w, "\r\n");
}

__attribute__((format(printf, 3, 4))) static void
line(struct screen *s, enum style style, const char *fmt, ...)
{
	char text[LINE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(s, style, text);
}

static const char *
text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "-" : text;
}

static long long
number_of(const json_t *json, const char *key)
{
	return (long long)json_integer_value(json_object_get(json, key));
}

/* --- the head --- */

static void
put_title(struct screen *s, const struct top_ui *ui, const json_t *status)
{
	const char *started = text_of(status, "started");
	char now[CLOCK_TEXT_SIZE], up[48] = "-";
	uint64_t wall_ms = clock_wall_ms();
	struct tm tm = { 0 };

	if (strptime(started, "%Y-%m-%dT%H:%M:%S", &tm) != NULL &&
	    (time_t)(wall_ms / 1000) >= timegm(&tm))
		top_view_span(up, sizeof(up),
		    wall_ms / 1000 - (uint64_t)timegm(&tm));
	line(s, BOLD, "tapwardd %s, up %s   %.8s UTC%s%s",
	    text_of(status, "version"), up, clock_text(wall_ms, now) + 11,
	    ui->is_paused ? "   PAUSED" : "",
	    ui->notice[0] == '\0' ? "" : "   ");
	if (ui->notice[0] != '\0')
		line(s, BAD, "%s", ui->notice);
}

static void
put_sandboxes(struct screen *s, const json_t *status)
{
	char text[LINE_SIZE];
	struct wr w = wr_init(text, sizeof(text) - 1);
	const char *state;
	json_t *count;

	wr_fmt(&w, "sandboxes %lld", number_of(status, "sandboxes"));
	json_object_foreach(json_object_get(status, "states"), state, count)
	{
		if (json_integer_value(count) != 0)
			wr_fmt(&w, ", %lld %s",
			    (long long)json_integer_value(count), state);
	}
	if (number_of(status, "learning") != 0)
		wr_fmt(&w, ", %lld learning", number_of(status, "learning"));
	wr_fmt(&w, "   machines %lld   pool %lld of %lld",
	    number_of(status, "machines"), number_of(status, "pool_ready"),
	    number_of(status, "pool_size"));
	text[w.len] = '\0';
	put(s, PLAIN, text);
}

/* "all up" unless one is not. */
static bool
write_processes(struct wr *w, const json_t *status)
{
	bool is_fine = true;
	size_t i;
	json_t *p;

	json_array_foreach(json_object_get(status, "processes"), i, p)
	{
		bool is_up = number_of(p, "pid") != 0;

		is_fine = is_fine && is_up;
		wr_fmt(w, "%s%s%s", i == 0 ? "" : " ", text_of(p, "role"),
		    is_up ? "" : " DOWN");
		if (number_of(p, "restarts") != 0)
			wr_fmt(w, "(%lld)", number_of(p, "restarts"));
	}
	return is_fine;
}

/* The first, unless one is down: then that one. False: all is not well. */
static bool
write_resolver(struct wr *w, const json_t *status)
{
	const json_t *first =
	    json_array_get(json_object_get(status, "resolvers"), 0);
	const json_t *down = NULL;
	size_t i;
	json_t *r;

	json_array_foreach(json_object_get(status, "resolver_states"), i, r)
	{
		if (down == NULL && strcmp(text_of(r, "state"), "down") == 0)
			down = r;
	}
	if (first == NULL)
		wr_text(w, "   resolver NONE");
	else if (down != NULL)
		wr_fmt(w, "   resolver %s DOWN", text_of(down, "name"));
	else
		wr_fmt(w, "   resolver %s", json_string_value(first));
	return first != NULL && down == NULL;
}

static void
put_service(struct screen *s, const json_t *status)
{
	const json_t *recorder = json_object_get(status, "recorder");
	char text[LINE_SIZE];
	struct wr w = wr_init(text, sizeof(text) - 1);
	bool is_fine = write_processes(&w, status);

	is_fine = write_resolver(&w, status) && is_fine;
	if (!json_is_true(json_object_get(status, "audit_can_write"))) {
		is_fine = false;
		wr_text(&w, "   audit CANNOT WRITE");
	} else if (!json_is_object(recorder)) {
		is_fine = false;
		wr_text(&w, "   recorder DOES NOT ANSWER");
	} else {
		wr_fmt(&w, "   audit %lld, %lld lost",
		    number_of(recorder, "seq"), number_of(recorder, "lost"));
	}
	if (json_is_string(json_object_get(status, "credential_fault"))) {
		is_fine = false;
		wr_text(&w, "   credential FAULT");
	}
	text[w.len] = '\0';
	put(s, is_fine ? PLAIN : BAD, text);
}

static void
put_head(struct screen *s, const struct top_ui *ui, const struct top_model *m)
{
	const json_t *status = json_object_get(m->json, "status");

	put_title(s, ui, status);
	put_sandboxes(s, status);
	put_service(s, status);
}

/* --- the table --- */

/* Which columns fit: bits. *ret_name is the width of the first. */
static unsigned int
choose_columns(unsigned int width, int *ret_name)
{
	unsigned int chosen = (1u << TOP_COLUMNS) - 1;
	int total = 0;

	for (int i = 0; i < TOP_COLUMNS; i++)
		total += columns[i].width + (i == 0 ? 0 : 1);
	while (total > (int)width) {
		int worst = 0;

		for (int i = 1; i < TOP_COLUMNS; i++)
			if ((chosen & (1u << i)) != 0 &&
			    columns[i].rank >= columns[worst].rank)
				worst = i;
		if (worst == 0)
			break;
		chosen &= ~(1u << worst);
		total -= columns[worst].width + 1;
	}
	*ret_name = columns[TOP_NAME].width;
	if (total < (int)width)
		*ret_name += (int)width - total;
	if (*ret_name > SANDBOX_NAME_SIZE - 1)
		*ret_name = SANDBOX_NAME_SIZE - 1;
	return chosen;
}

static void
put_columns(struct screen *s, const struct top_ui *ui)
{
	char text[LINE_SIZE];
	struct wr w = wr_init(text, sizeof(text) - 1);
	int name;
	unsigned int chosen = choose_columns(s->width, &name);

	for (int i = 0; i < TOP_COLUMNS; i++) {
		char head[16];

		if ((chosen & (1u << i)) == 0)
			continue;
		(void)snprintf(head, sizeof(head), "%s%s",
		    (int)ui->sort == i ? (ui->is_reversed ? "^" : "*") : "",
		    columns[i].head);
		if (i == TOP_NAME)
			wr_fmt(&w, "%-*.*s", name, name, head);
		else if (i == TOP_STATE)
			wr_fmt(&w, " %-*.*s", columns[i].width,
			    columns[i].width, head);
		else
			wr_fmt(&w, " %*.*s", columns[i].width, columns[i].width,
			    head);
	}
	text[w.len] = '\0';
	put(s, BOLD, text);
}

static const char *
cell(char buf[TOP_NUMBER_SIZE], const struct top_row *row, int column)
{
	const uint64_t v = row->values[column];

	if (v == TOP_UNKNOWN)
		return "-";
	if (column == TOP_REQUEST_RATE && v < 1000) {
		(void)snprintf(buf, TOP_NUMBER_SIZE, "%" PRIu64 ".%" PRIu64,
		    v / 10, v % 10);
		return buf;
	}
	if (column == TOP_REQUEST_RATE)
		return top_view_count(buf, v / 10);
	return columns[column].is_bytes ? bytes_text(buf, v)
					: top_view_count(buf, v);
}

static void
put_row(struct screen *s, const struct top_row *row, bool is_selected)
{
	char text[LINE_SIZE], buf[TOP_NUMBER_SIZE];
	struct wr w = wr_init(text, sizeof(text) - 1);
	int name;
	unsigned int chosen = choose_columns(s->width, &name);

	wr_fmt(&w, "%-*.*s", name, name, row->name);
	if ((chosen & (1u << TOP_STATE)) != 0)
		wr_fmt(&w, " %-*.*s", columns[TOP_STATE].width,
		    columns[TOP_STATE].width, row->state);
	for (int i = TOP_STATE + 1; i < TOP_COLUMNS; i++)
		if ((chosen & (1u << i)) != 0)
			wr_fmt(&w, " %*s", columns[i].width, cell(buf, row, i));
	text[w.len] = '\0';
	put(s, is_selected ? REVERSE : PLAIN, text);
}

/* So many rows, the selected one among them. */
static void
put_rows(struct screen *s, const struct top_ui *ui, const struct top_model *m,
    unsigned int count)
{
	const size_t at = top_ui_selected(ui, m);
	size_t first = at >= count ? at - count + 1 : 0;

	put_columns(s, ui);
	for (size_t i = first; i < m->count && i < first + count; i++)
		put_row(s, &m->rows[i], !s->is_text && i == at);
	if (m->count == 0)
		line(s, PLAIN, "no sandboxes; tapward create makes one");
}

/* --- refusals and hosts --- */

static void
put_refusal(struct screen *s, const json_t *r, bool has_name)
{
	const char *method = text_of(r, "method"), *path = text_of(r, "path");
	const char *host = text_of(r, "host");
	char port[32] = "", times[32] = "";

	if (number_of(r, "port") != 0)
		(void)snprintf(port, sizeof(port), ":%lld",
		    number_of(r, "port"));
	if (number_of(r, "count") > 1)
		(void)snprintf(times, sizeof(times), " x%lld",
		    number_of(r, "count"));
	line(s, PLAIN, "%.8s %-*.*s%s%-18s %s%s%s%s%s%s%s",
	    strlen(text_of(r, "time")) > 11 ? text_of(r, "time") + 11 : "-",
	    has_name ? 12 : 0, has_name ? 12 : 0, text_of(r, "sandbox"),
	    has_name ? " " : "", text_of(r, "reason"),
	    strcmp(method, "-") == 0 ? "" : method,
	    strcmp(method, "-") == 0 ? "" : " ", *host == '\0' ? "-" : host,
	    port, *path == '/' ? "" : " ", strcmp(path, "-") == 0 ? "" : path,
	    times);
}

static void
put_refusals(struct screen *s, const struct top_model *m, bool has_name,
    unsigned int count)
{
	const json_t *all = json_object_get(m->json, "refusals");
	size_t i;
	json_t *r;

	line(s, BOLD, "%s",
	    !json_is_array(all)             ? "LAST REFUSALS: not known now"
		: json_array_size(all) == 0 ? "LAST REFUSALS: none"
					    : "LAST REFUSALS");
	json_array_foreach(all, i, r)
	{
		if (i < count)
			put_refusal(s, r, has_name);
	}
}

static void
put_hosts(struct screen *s, const struct top_model *m, unsigned int count)
{
	const json_t *all = json_object_get(m->json, "hosts");
	int width = s->width > 76 ? (int)s->width - 36 : 40;
	char up[TOP_NUMBER_SIZE], down[TOP_NUMBER_SIZE];
	size_t i;
	json_t *h;

	line(s, BOLD, "%-*s %8s %8s %7s %7s", width, "HOST", "ALLOWED",
	    "REFUSED", "UP", "DOWN");
	json_array_foreach(all, i, h)
	{
		if (i < count)
			line(s, PLAIN, "%-*.*s %8lld %8lld %7s %7s", width,
			    width, text_of(h, "host"), number_of(h, "allowed"),
			    number_of(h, "refused"),
			    bytes_text(up, (uint64_t)number_of(h, "up")),
			    bytes_text(down, (uint64_t)number_of(h, "down")));
	}
}

/* --- the whole --- */

static void
put_help(struct screen *s)
{
	static const char *const lines[] = {
		"q        quit",
		"s r      sort by the next column, the other way around",
		"up down  choose a sandbox (also j k, page up, page down,"
		" home, end)",
		"enter    look at that one: its hosts and last refusals;"
		" left or esc: back",
		"p        pause, and go on",
		"h        this; any key leaves it",
		"",
		"REQ/S, UP/S and DOWN/S are since the last look. REFUSED"
		" counts packets, too.",
		"A \"-\" is another user's sandbox, or not known yet.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		line(s, PLAIN, "%s", lines[i]);
}

static unsigned int
at_most(size_t a, unsigned int b)
{
	return a < b ? (unsigned int)a : b;
}

/* A third of what is left is for refusals, one line of it for their head. */
static void
put_all(struct screen *s, const struct top_model *m, struct top_ui *ui)
{
	size_t known = json_array_size(json_object_get(m->json, "refusals"));
	unsigned int rest = s->left > 1 ? s->left - 1 : 1; /* the columns */
	unsigned int below = rest < 6 ? 0 : at_most(known + 1, rest / 3);

	ui->page = rest - below;
	if (s->is_text)
		ui->page = at_most(m->count, ui->page);
	put_rows(s, ui, m, ui->page);
	while (!s->is_text && s->left > below)
		line(s, PLAIN, "%s", "");
	if (below > 0)
		put_refusals(s, m, true, below - 1);
}

static void
put_one(struct screen *s, const struct top_model *m, const struct top_ui *ui)
{
	size_t known = json_array_size(json_object_get(m->json, "hosts"));
	unsigned int half;

	put_rows(s, ui, m, 1);
	half = s->left > 2 ? (s->left - 2) / 2 : 0;
	put_hosts(s, m, at_most(known, half));
	put_refusals(s, m, false, s->left > 1 ? s->left - 1 : 0);
}

static void
put_body(struct screen *s, const struct top_model *m, struct top_ui *ui)
{
	put_head(s, ui, m);
	if (ui->is_help)
		put_help(s);
	else if (ui->shown[0] != '\0')
		put_one(s, m, ui);
	else
		put_all(s, m, ui);
}

void
top_view_screen(struct wr *w, const struct top_model *m, struct top_ui *ui)
{
	static const char keys[] = "q quit  s sort  enter one  p pause  h help";
	struct screen s = {
		.w = w,
		.has_color = ui->has_color,
		/* The last cell of a line moves some cursors on. */
		.width = at_most(ui->width, TOP_SIDE_MAX) - 1,
		.left = at_most(ui->height, TOP_SIDE_MAX),
	};
	const bool has_keys = s.left > 8;

	wr_text(w, "\x1b[H");
	if (has_keys)
		s.left--;
	put_body(&s, m, ui);
	while (s.left > 0)
		line(&s, PLAIN, "%s", "");
	if (has_keys) {
		wr_text(w, "\r\n");
		s.left = 1;
		line(&s, BOLD, "%s", keys);
	}
}

void
top_view_text(struct wr *w, const struct top_model *m, const struct top_ui *ui)
{
	struct screen s = { .w = w,
		.is_text = true,
		.width = TEXT_WIDTH,
		.left = UINT32_MAX };
	struct top_ui copy = *ui;

	put_body(&s, m, &copy);
}
