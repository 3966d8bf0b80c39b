/*
 * Any text as expectations: each is asked or refused with its line, and one
 * that is met says nothing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/compile.h"
#include "conf/expect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy_text[] =
    "[policy]\nversion = 1\n"
    "[allow a]\nhost = a.example.org\nmethod = GET\npath = /x/**\n"
    "[git g]\nrepo = a.example.org/r/*\npush = refs/heads/b/*\n";

static void
must(bool claim)
{
	if (!claim)
		abort();
}

static struct policy *
compile(void)
{
	static struct compile_result r;
	struct compile_input in = { .display_name = "p.ini",
		.text = span_of(policy_text) };
	struct policy *p;

	must(compile_policy(&in, &r) == 0);
	must(policy_map_bytes(r.image, r.image_len, &p) == 0);
	return p; /* with its image, until the end */
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *p;
	static uint8_t buf[1 << 16];
	struct wr w = wr_init(buf, sizeof(buf));
	struct expect_output out = { .lines = &w };
	struct expect_report report = { 0, 0 };
	struct err err = { "" };
	struct policy_pair pair;
	int rc;

	if (p == NULL)
		p = compile();
	pair = (struct policy_pair){ p, NULL };
	rc = expect_run("f.ini", (struct span){ data, size }, &pair, &out,
	    &report, &err);
	must(rc == 0 || rc == -EINVAL);
	must(rc == 0 || strncmp(err.text, "f.ini", 5) == 0);
	must(report.failed <= report.asked);
	must((report.failed > 0) == (w.len > 0 || !wr_ok(&w)));
	return 0;
}
