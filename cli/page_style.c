/*
 * See page_style.h. Colours are named by what they mean. What was refused is
 * told by shape as well (a hatch, a mark), since paper may be grey.
 */
#include "cli/page_style.h"

#include <errno.h>
#include <string.h>

#include "base/digest.h"

static const char *const style[] = {
	":root{color-scheme:light dark;--paper:#fff;--ink:#1b2430;",
	"--faint:#5b6675;--line:#dde3ea;--wash:#f5f7fa;--in:#1f6feb;",
	"--out:#8250df;--ok:#1a7f5a;--no:#c4320a;--no-wash:#fff1ec;",
	"--warn:#8a5a00;--warn-wash:#fff8e1}\n",
	"@media(prefers-color-scheme:dark){:root{--paper:#0f141a;",
	"--ink:#e3e9f0;--faint:#93a0b0;--line:#2a333e;--wash:#171e26;",
	"--in:#58a6ff;--out:#bc8cff;--ok:#3fb68b;--no:#ff8f66;",
	"--no-wash:#2b1812;--warn:#e3b341;--warn-wash:#2a2313}}\n",
	"*{box-sizing:border-box}\n",
	"body{margin:0 auto;max-width:72rem;padding:2.5rem 1.5rem 4rem;",
	"background:var(--paper);color:var(--ink);",
	"font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,",
	"\"Helvetica Neue\",\"DejaVu Sans\",sans-serif}\n",
	"code,pre,.mono{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,",
	"Consolas,\"DejaVu Sans Mono\",monospace;overflow-wrap:anywhere}\n",
	".brand{color:var(--faint);font-size:13px;letter-spacing:.04em;",
	"text-transform:uppercase;margin:0}\n",
	"h1{font-size:2rem;line-height:1.2;margin:.2rem 0 .3rem;",
	"overflow-wrap:anywhere}\n",
	"h2{font-size:1.2rem;margin:2.6rem 0 .6rem;padding-top:1rem;",
	"border-top:1px solid var(--line)}\n",
	"h3{font-size:14px;margin:1.2rem 0 .2rem}\n",
	"p{margin:.4rem 0}\n",
	".meta,.note{color:var(--faint);font-size:13px}\n",
	".lede{font-size:1.1rem;margin:1rem 0;max-width:60rem}\n",
	".bar-note{border-left:4px solid var(--ok);background:var(--wash);",
	"padding:.6rem .9rem;margin:.8rem 0;border-radius:0 6px 6px 0}\n",
	".bar-note.bad{border-color:var(--no);background:var(--no-wash)}\n",
	".bar-note.doubt{border-color:var(--warn);",
	"background:var(--warn-wash)}\n",
	".tiles{display:grid;gap:.75rem;margin:1.2rem 0;padding:0;",
	"grid-template-columns:repeat(auto-fit,minmax(9rem,1fr))}\n",
	".tile{border:1px solid var(--line);border-radius:8px;",
	"padding:.7rem .9rem;background:var(--wash)}\n",
	".tile dt{color:var(--faint);font-size:12.5px}\n",
	".tile dd{margin:0;font-size:1.5rem;font-weight:600;line-height:1.3;",
	"font-variant-numeric:tabular-nums}\n",
	".tile.no dd{color:var(--no)}\n",
	"figure{margin:1rem 0}\n",
	"figcaption{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;",
	"align-items:baseline}\n",
	"figcaption b{font-size:15px}\n",
	".key{display:inline-flex;gap:.4rem;align-items:center;",
	"color:var(--faint);font-size:13px}\n",
	".key svg{width:14px;height:12px}\n",
	"svg.plot{display:block;width:100%;height:auto;margin-top:.3rem}\n",
	".plot text{fill:var(--faint);font-size:12px}\n",
	".plot .grid{stroke:var(--line);stroke-width:1}\n",
	".plot .axis{stroke:var(--faint);stroke-width:1}\n",
	".allowed{fill:var(--ok)}.refused{fill:url(#hatch)}\n",
	".hatch-ground{fill:var(--no);opacity:.35}\n",
	".hatch-line{stroke:var(--no);stroke-width:2.4}\n",
	".down{fill:var(--in)}.up{fill:var(--out)}.track{fill:var(--line)}\n",
	".scroll{overflow-x:auto}\n",
	"table{border-collapse:collapse;width:100%;font-size:14px}\n",
	"th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;",
	"border-bottom:1px solid var(--line)}\n",
	"thead th{color:var(--faint);font-weight:500;font-size:12.5px;",
	"white-space:nowrap;border-bottom-width:2px}\n",
	"tbody th{font-weight:600;overflow-wrap:anywhere;min-width:11rem}\n",
	"th.num,td.num{text-align:right;white-space:nowrap;",
	"font-variant-numeric:tabular-nums}\n",
	"td.when{white-space:nowrap;font-variant-numeric:tabular-nums}\n",
	"svg.share{width:9rem;height:5px;display:block;margin-top:.35rem}\n",
	".defs{position:absolute}td.zero{color:var(--faint)}\n",
	".no-count{color:var(--no);font-weight:600}\n",
	".refusal{border:1px solid var(--line);border-left:4px solid ",
	"var(--no);border-radius:0 8px 8px 0;padding:.8rem 1rem;",
	"margin:.8rem 0;break-inside:avoid}\n",
	".refusal h3{margin:0;font-size:15px;overflow-wrap:anywhere}\n",
	".refusal .count{float:right;color:var(--no);font-weight:600;",
	"margin-left:1rem}\n",
	".chip{display:inline-block;border:1px solid var(--line);",
	"border-radius:999px;padding:0 .6rem;font-size:12.5px;",
	"color:var(--faint)}\n",
	"ul.asked{list-style:none;margin:.3rem 0;padding:0}\n",
	"pre{background:var(--wash);border:1px solid var(--line);",
	"border-radius:6px;padding:.6rem .8rem;margin:.4rem 0;",
	"white-space:pre-wrap}\n",
	"pre.policy{max-height:36rem;overflow:auto}\n",
	"footer{margin-top:3rem;color:var(--faint);font-size:13px;",
	"border-top:1px solid var(--line);padding-top:.8rem}\n",
	"@media print{:root{--paper:#fff;--ink:#000;--faint:#444;",
	"--line:#bbb;--wash:#fff;--no-wash:#fff;--warn-wash:#fff;",
	"--in:#1f6feb;--out:#8250df;--ok:#1a7f5a;--no:#b32a06;",
	"--warn:#8a5a00}\n",
	"body{max-width:none;padding:0;font-size:10.5pt;",
	"print-color-adjust:exact;-webkit-print-color-adjust:exact}\n",
	"pre.policy{max-height:none}.scroll{overflow:visible}\n",
	"tr,figure,.tile{break-inside:avoid}thead{display:",
	"table-header-group}h2,h3{break-after:avoid}}\n",
};

#define STYLE_LINES (sizeof(style) / sizeof(style[0]))
#define STYLE_MAX_BYTES 8192

/* RFC 4648 4, of 32 bytes: the last group has two of them. */
static void
put_base64(FILE *f, const uint8_t digest[DIGEST_BYTES])
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < DIGEST_BYTES; i += 3) {
		const bool is_short = i + 2 >= DIGEST_BYTES;
		uint32_t group = (uint32_t)digest[i] << 16 |
		    (uint32_t)digest[i + 1] << 8 |
		    (is_short ? 0 : (uint32_t)digest[i + 2]);

		(void)fputc(digits[group >> 18], f);
		(void)fputc(digits[group >> 12 & 63], f);
		(void)fputc(digits[group >> 6 & 63], f);
		(void)fputc(is_short ? '=' : digits[group & 63], f);
	}
}

int
page_style_write(FILE *f)
{
	uint8_t digest[DIGEST_BYTES];
	uint8_t text[STYLE_MAX_BYTES];
	struct wr w = wr_init(text, sizeof(text));

	for (size_t i = 0; i < STYLE_LINES; i++)
		wr_text(&w, style[i]);
	if (!wr_ok(&w) || digest_sha256(text, w.len, digest) != 0)
		return -EIO;
	(void)fputs("<meta http-equiv=\"Content-Security-Policy\" content=\""
		    "default-src 'none'; style-src 'sha256-",
	    f);
	put_base64(f, digest);
	(void)fputs("'; base-uri 'none'; form-action 'none'\">\n<style>", f);
	(void)fwrite(text, 1, w.len, f);
	(void)fputs("</style>\n", f);
	return 0;
}
