/* See page_plot.h. Lengths are those of the view box. */
#include "cli/page_plot.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/clock.h"
#include "cli/html.h"
#include "cli/timeline.h"

#define WIDTH 1040.0
#define LEFT 74.0 /* for the axis' numbers */
#define TOP 10.0
#define HEIGHT 150.0
#define FOOT 26.0
/* Few slots must not become few wide blocks. */
#define SLOTS_MIN 24
#define TICKS_MAX 9

struct frame {
	const json_t *slots;
	const struct page_plot *plot;
	size_t count;      /* of slots that there is room for */
	uint64_t step_ms;  /* width of a slot */
	uint64_t from_ms;  /* of the first */
	uint64_t above;    /* the largest that stands above the axis */
	uint64_t below;    /* and below it */
	double per_unit;   /* height */
	double axis;       /* where it is */
	double slot_width; /* its gap with it */
};

static uint64_t
value(const struct frame *fr, size_t slot, size_t which)
{
	const json_t *one = json_array_get(fr->slots, slot);

	return (uint64_t)json_integer_value(
	    json_array_get(one, fr->plot->columns[which]));
}

static void
measure(struct frame *fr)
{
	uint64_t all;

	for (size_t i = 0; i < json_array_size(fr->slots); i++) {
		uint64_t a = value(fr, i, 0), b = value(fr, i, 1);
		uint64_t up = fr->plot->is_mirrored ? a : timeline_sum(a, b);
		uint64_t down = fr->plot->is_mirrored ? b : 0;

		fr->above = up > fr->above ? up : fr->above;
		fr->below = down > fr->below ? down : fr->below;
	}
	all = timeline_sum(fr->above, fr->below);
	fr->per_unit = all == 0 ? 0 : HEIGHT / (double)all;
	fr->axis = TOP + (all == 0 ? HEIGHT : (double)fr->above * fr->per_unit);
	fr->slot_width = (WIDTH - LEFT) / (double)fr->count;
}

/* 1, 2 or 5 times a power of ten, of which at most three make up n. */
static uint64_t
tick_of(uint64_t n)
{
	static const uint64_t steps[] = { 1, 2, 5 };

	for (uint64_t power = 1; power <= n; power *= 10) {
		for (size_t i = 0; i < 3; i++)
			if (n / power / steps[i] <= 3)
				return power * steps[i];
		if (power > UINT64_MAX / 10)
			break;
	}
	return n == 0 ? 1 : n;
}

static void
put_level(FILE *f, const struct frame *fr, uint64_t n, double y)
{
	(void)fprintf(f,
	    "<line class=\"%s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" "
	    "y2=\"%.1f\"/><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">",
	    n == 0 ? "axis" : "grid", LEFT, WIDTH, y, y, LEFT - 8, y + 4);
	fr->plot->put(f, n);
	(void)fputs("</text>\n", f);
}

static void
put_levels(FILE *f, const struct frame *fr)
{
	const uint64_t most = fr->above > fr->below ? fr->above : fr->below;
	const uint64_t tick = tick_of(most);

	for (uint64_t i = 1; i <= fr->above / tick; i++)
		put_level(f, fr, i * tick,
		    fr->axis - (double)(i * tick) * fr->per_unit);
	for (uint64_t i = 1; i <= fr->below / tick; i++)
		put_level(f, fr, i * tick,
		    fr->axis + (double)(i * tick) * fr->per_unit);
	put_level(f, fr, 0, fr->axis);
}

/* How many slots lie between two times that are written. */
static uint64_t
time_tick(const struct frame *fr)
{
	static const uint64_t steps_ms[] = { 100, 200, 500, 1000, 2000, 5000,
		10000, 20000, 30000, 60000, 120000, 300000, 600000, 1200000,
		1800000, 3600000, 7200000, 10800000, 21600000, 43200000,
		86400000, 172800000, 864000000, 1728000000, 8640000000 };
	const uint64_t all_ms = fr->count * fr->step_ms;

	for (size_t i = 0; i < sizeof(steps_ms) / sizeof(steps_ms[0]); i++)
		if (steps_ms[i] >= fr->step_ms &&
		    steps_ms[i] % fr->step_ms == 0 &&
		    all_ms / steps_ms[i] < TICKS_MAX)
			return steps_ms[i] / fr->step_ms;
	return fr->count / 4 + 1;
}

static void
put_times(FILE *f, const struct frame *fr)
{
	const uint64_t tick = time_tick(fr);
	const double y = TOP + HEIGHT;

	for (uint64_t i = 0; i < fr->count; i += tick) {
		double x = LEFT + (double)i * fr->slot_width;

		(void)fprintf(f,
		    "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\""
		    " y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\">",
		    x, x, y + 2, y + 7, x, y + 20);
		if (i == 0)
			(void)fputs("0", f);
		else
			html_span(f, i * fr->step_ms);
		(void)fputs("</text>\n", f);
	}
}

static void
put_bar(FILE *f, const struct frame *fr, size_t slot, size_t which, double y)
{
	double height = (double)value(fr, slot, which) * fr->per_unit;
	double gap = fr->slot_width > 4 ? 1 : 0;

	/* One request among a thousand is still seen. */
	if (height < 1)
		height = 1;
	(void)fprintf(f,
	    "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
	    "height=\"%.2f\"/>",
	    fr->plot->classes[which],
	    LEFT + (double)slot * fr->slot_width + gap / 2, y,
	    fr->slot_width - gap, height);
}

static void
put_slot(FILE *f, const struct frame *fr, size_t i)
{
	const uint64_t a = value(fr, i, 0), b = value(fr, i, 1);
	char time[CLOCK_TEXT_SIZE];
	double top = fr->axis - (double)a * fr->per_unit;

	if (a == 0 && b == 0)
		return;
	(void)fprintf(f,
	    "<g><title>%s: ", clock_text(fr->from_ms + i * fr->step_ms, time));
	for (size_t k = 0; k < 2; k++) {
		(void)fputs(k == 0 ? "" : ", ", f);
		fr->plot->put(f, k == 0 ? a : b);
		(void)fprintf(f, "%s %s", fr->plot->unit, fr->plot->words[k]);
	}
	(void)fputs("</title>", f);
	if (a != 0)
		put_bar(f, fr, i, 0,
		    (double)a * fr->per_unit < 1 ? fr->axis - 1 : top);
	if (b != 0 && fr->plot->is_mirrored)
		put_bar(f, fr, i, 1, fr->axis);
	else if (b != 0)
		put_bar(f, fr, i, 1,
		    (double)b * fr->per_unit < 1
			? top - 1
			: top - (double)b * fr->per_unit);
	(void)fputs("</g>\n", f);
}

static void
put_caption(FILE *f, const struct page_plot *plot, uint64_t step_ms)
{
	(void)fprintf(f, "<figure><figcaption><b>%s</b>", plot->title);
	for (size_t i = 0; i < 2; i++)
		(void)fprintf(f,
		    "<span class=\"key\"><svg viewBox=\"0 0 14 12\" "
		    "aria-hidden=\"true\"><rect class=\"%s\" width=\"14\" "
		    "height=\"12\" rx=\"2\"/></svg>%s</span>",
		    plot->classes[i], plot->words[i]);
	(void)fputs("<span class=\"key\">each bar ", f);
	html_span(f, step_ms);
	(void)fputs("</span></figcaption>\n", f);
}

void
page_plot_write(FILE *f, const json_t *timeline, const struct page_plot *plot)
{
	const json_t *from = json_object_get(timeline, "from");
	struct frame fr = {
		.slots = json_object_get(timeline, "slots"),
		.plot = plot,
		.step_ms = (uint64_t)json_integer_value(
		    json_object_get(timeline, "step_ms")),
	};

	fr.count = json_array_size(fr.slots);
	if (fr.count == 0 || fr.step_ms == 0 ||
	    !timeline_parse(json_string_value(from), &fr.from_ms))
		return;
	fr.count = fr.count < SLOTS_MIN ? SLOTS_MIN : fr.count;
	measure(&fr);
	put_caption(f, plot, fr.step_ms);
	(void)fprintf(f,
	    "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
	    "aria-label=\"%s\">\n",
	    WIDTH, TOP + HEIGHT + FOOT, plot->title);
	put_levels(f, &fr);
	for (size_t i = 0; i < json_array_size(fr.slots); i++)
		put_slot(f, &fr, i);
	put_times(f, &fr);
	(void)fputs("</svg></figure>\n", f);
}

void
page_plot_hatch(FILE *f)
{
	(void)fputs("<svg class=\"defs\" width=\"0\" height=\"0\" "
		    "aria-hidden=\"true\"><defs>"
		    "<pattern id=\"hatch\" width=\"5\" height=\"5\" "
		    "patternUnits=\"userSpaceOnUse\" "
		    "patternTransform=\"rotate(45)\"><rect "
		    "class=\"hatch-ground\" width=\"5\" height=\"5\"/><line "
		    "class=\"hatch-line\" y2=\"5\"/></pattern></defs></svg>\n",
	    f);
}
