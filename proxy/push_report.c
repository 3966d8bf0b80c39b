/*
 * See push_report.h.
 */
#include "proxy/push_report.h"

#include <errno.h>

#include "wire/pktline.h"

/* Of a name; no repository has longer ones. */
#define REF_SHOWN_MAX 512
#define SAID_MAX 1000
/* Of one line in the sideband, less its own length and its band. */
#define BAND_PIECE_BYTES 8192

enum {
	BAND_DATA = 1,
	BAND_SAID = 2,
};

static void
append(struct push_report *r, struct buf *to, struct span s)
{
	if (buf_append(to, s) != 0)
		r->failed = true;
}

static void
append_line(struct push_report *r, struct buf *to, struct span text)
{
	struct wr w = buf_write(to, text.len + PKTLINE_HEADER_BYTES + 8);

	pktline_write(&w, text);
	if (buf_write_end(to, &w) != 0)
		r->failed = true;
}

/* In pieces, each in a line of this band. */
static void
append_band(struct push_report *r, struct buf *to, uint8_t band, struct span s)
{
	uint8_t piece[BAND_PIECE_BYTES + 1];

	while (s.len > 0) {
		size_t len =
		    s.len < BAND_PIECE_BYTES ? s.len : BAND_PIECE_BYTES;
		struct wr w = wr_init(piece, sizeof(piece));

		wr_u8(&w, band);
		wr_bytes(&w, s.ptr, len);
		append_line(r, to, (struct span){ piece, w.len });
		s = (struct span){ s.ptr + len, s.len - len };
	}
}

static void
write_clean(struct wr *w, struct span s, size_t max)
{
	for (size_t i = 0; i < s.len && i < max; i++)
		wr_u8(w, s.ptr[i] <= ' ' || s.ptr[i] > 0x7e ? '?' : s.ptr[i]);
}

void
push_report_say(struct push_report *r, const char *text)
{
	char line[SAID_MAX + 2];
	struct wr w = wr_init(line, sizeof(line));
	size_t len = strlen(text);

	if (!r->takes_sideband)
		return;
	wr_bytes(&w, text, len < SAID_MAX ? len : SAID_MAX);
	wr_u8(&w, '\n');
	append_band(r, &r->said, BAND_SAID, (struct span){ w.buf, w.len });
}

void
push_report_begin(struct push_report *r, const char *fault)
{
	char line[SAID_MAX];
	struct wr w = wr_init(line, sizeof(line));

	wr_text(&w, "unpack ");
	wr_text(&w, fault == NULL ? "ok" : fault);
	wr_u8(&w, '\n');
	append_line(r, &r->lines, (struct span){ w.buf, w.len });
}

void
push_report_refuse(struct push_report *r, struct span ref, const char *why)
{
	char line[REF_SHOWN_MAX + SAID_MAX];
	struct wr w = wr_init(line, sizeof(line));

	wr_text(&w, "ng ");
	write_clean(&w, ref, REF_SHOWN_MAX);
	wr_u8(&w, ' ');
	wr_text(&w, why);
	wr_u8(&w, '\n');
	append_line(r, &r->lines, (struct span){ w.buf, w.len });
}

int
push_report_end(struct push_report *r, struct buf *out)
{
	append(r, &r->lines, span_of("0000"));
	append(r, out, buf_span(&r->said));
	if (r->takes_sideband) {
		append_band(r, out, BAND_DATA, buf_span(&r->lines));
		append(r, out, span_of("0000"));
	} else {
		append(r, out, buf_span(&r->lines));
	}
	return r->failed ? -ENOMEM : 0;
}

void
push_report_done(struct push_report *r)
{
	buf_done(&r->lines);
	buf_done(&r->said);
}
