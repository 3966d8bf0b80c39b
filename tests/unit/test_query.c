/*
 * Parameters of a query: where they part, and what could be taken for a name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/query.h"

static const struct {
	const char *claim, *name, *want;
	bool is;
} rows[] = {
	{ "itself", "key", "key", true },
	{ "in another case", "KeY", "key", true },
	{ "whatever case it is defined in", "apikey", "apiKey", true },
	{ "with an escape", "k%65y", "key", true },
	{ "with an escape in capitals", "%4B%65%79", "key", true },
	{ "an escape of an escape is text", "k%2565y", "key", false },
	{ "half an escape is text", "k%6", "key", false },
	{ "a longer one", "keys", "key", false },
	{ "a shorter one", "ke", "key", false },
	{ "nothing", "", "key", false },
	{ "a blank before it", "+key", "key", true },
	{ "blanks before it, escaped", "%20%09key", "key", true },
	{ "a blank behind it", "key+", "key", true },
	{ "a blank within", "k+ey", "key", false },
	{ "an index", "key[]", "key", true },
	{ "an index of its own", "key%5B0%5D", "key", true },
	{ "an index behind a blank", "key+[a]", "key", true },
	{ "what a NUL ends", "key%00more", "key", true },
	{ "a dot for what PHP makes of it", "api.key", "api_key", true },
	{ "a blank for the same", "api+key", "api_key", true },
	{ "a dash is another name", "api-key", "api_key", false },
	{ "an underscore is no dash", "api_key", "api-key", false },
};

static void
tells_what_could_be_taken_for_a_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (query_is_named(span_of(rows[i].name), rows[i].want) !=
		    rows[i].is)
			fail_msg("%s", rows[i].claim);
}

static const struct {
	const char *query;
	const char *pieces; /* text>name, each followed by what parts it */
} parted[] = {
	{ "", ">" },
	{ "a", "a>a" },
	{ "a=b&c=d=e", "a=b>a&c=d=e>c" },
	{ "a;b=;&", "a>a;b=>b;>&>" },
	{ "=x", "=x>" },
};

static void
parts_at_what_any_origin_parts_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(parted) / sizeof(parted[0]); i++) {
		struct query_reader r = { .rest = span_of(parted[i].query) };
		struct query_piece p;
		uint8_t buf[64];
		struct wr w = wr_init(buf, sizeof(buf));

		while (query_next(&r, &p)) {
			if (p.before != 0)
				wr_u8(&w, p.before);
			wr_bytes(&w, p.text.ptr, p.text.len);
			wr_u8(&w, '>');
			wr_bytes(&w, p.name.ptr, p.name.len);
		}
		if (!span_is((struct span){ buf, w.len }, parted[i].pieces))
			fail_msg("%s: %.*s", parted[i].query, (int)w.len,
			    (const char *)buf);
		assert_false(query_next(&r, &p));
	}
}

static void
escapes_what_it_writes(void **state)
{
	static const char want[] = "k=aZ0-._~%26%3D%25%2B%20%3B%23%7F%FF";
	uint8_t buf[64];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	query_write(&w, "k", span_of("aZ0-._~&=%+ ;#\x7f\xff"));
	if (!span_is((struct span){ buf, w.len }, want))
		fail_msg("%.*s", (int)w.len, (const char *)buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_could_be_taken_for_a_name),
		cmocka_unit_test(parts_at_what_any_origin_parts_at),
		cmocka_unit_test(escapes_what_it_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
