#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proxy/pack_look.h"

/*
 * Packs that git made of twelve commits less the first three, with commits
 * kept as differences, by distance and by name; before each the last's name.
 */
static const struct {
	const char *file;
	size_t oid_len;
	const char *old_oid;
} packs[] = {
	{ "sha1-ofs", 40, "b4f6392feab92ee36dd64a8aedafc2847bea62e0" },
	{ "sha1-ref", 40, "b4f6392feab92ee36dd64a8aedafc2847bea62e0" },
	{ "sha256-ofs", 64,
	    "baa5c9691b3c029f1408ac3cb575b9c083e20add9b00cdaaaa2210385335ae3"
	    "5" },
	{ "sha256-ref", 64,
	    "baa5c9691b3c029f1408ac3cb575b9c083e20add9b00cdaaaa2210385335ae3"
	    "5" },
};
#define PACKS (sizeof(packs) / sizeof(packs[0]))

static size_t
load(const char *name, uint8_t *buf, size_t size)
{
	char path[512];
	FILE *f;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/%s", TEST_CORPUS, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(buf, 1, size, f);
	(void)fclose(f);
	return len;
}

/* The pack in pieces of this size, up to len bytes of it. */
static struct pack_look *
look(struct span pack, size_t oid_len, size_t piece)
{
	struct pack_look *l = pack_look_new(oid_len);

	assert_non_null(l);
	while (pack.len > 0) {
		size_t n = piece < pack.len ? piece : pack.len;

		if (!pack_look_feed(l, (struct span){ pack.ptr, n }))
			break;
		pack = (struct span){ pack.ptr + n, pack.len - n };
	}
	return l;
}

static void
a_chain_of_commits_is_shown(void **state)
{
	uint8_t buf[8192];

	(void)state;
	for (size_t i = 0; i < PACKS; i++) {
		size_t len = load(packs[i].file, buf, sizeof(buf));
		size_t n = packs[i].oid_len;
		struct span new_oid = { buf, n };
		struct span pack = { buf + n, len - n };
		struct span old_oid = span_of(packs[i].old_oid);

		for (size_t piece = len; piece > 0; piece /= 3) {
			struct pack_look *l = look(pack, n, piece);

			if (!pack_look_shows(l, new_oid, old_oid))
				fail_msg("%s in pieces of %zu", packs[i].file,
				    piece);
			assert_false(pack_look_shows(l, old_oid, new_oid));
			assert_false(pack_look_shows(l, old_oid, old_oid));
			assert_false(pack_look_shows(l, new_oid, new_oid));
			pack_look_free(l);
		}
	}
}

static void
commits_come_first_and_are_enough(void **state)
{
	uint8_t buf[8192];
	size_t len = load("sha1-ofs", buf, sizeof(buf));
	struct span pack = { buf + 40, len - 40 };
	size_t at = 0;
	struct pack_look *l = pack_look_new(40);

	(void)state;
	while (!pack_look_has_news(l)) {
		assert_true(at < pack.len);
		assert_true(
		    pack_look_feed(l, (struct span){ pack.ptr + at++, 1 }));
	}
	assert_true(at < pack.len / 2 + pack.len / 4);
	assert_true(pack_look_shows(l, (struct span){ buf, 40 },
	    span_of(packs[0].old_oid)));
	pack_look_free(l);
}

/* Whatever is wrong in it, nothing else is shown, and nothing breaks. */
static void
a_changed_pack_shows_no_other_chain(void **state)
{
	static const char other[] = "1111111111111111111111111111111111111111";
	uint8_t buf[8192];
	size_t len = load("sha1-ref", buf, sizeof(buf));
	struct span pack = { buf + 40, len - 40 };

	(void)state;
	for (size_t i = 40; i < len; i++) {
		struct pack_look *l;

		buf[i] ^= 0x21;
		l = look(pack, 40, 97);
		assert_false(pack_look_shows(l, (struct span){ buf, 40 },
		    span_of(other)));
		pack_look_free(l);
		buf[i] ^= 0x21;
	}
	for (size_t n = 0; n < pack.len; n++) {
		struct pack_look *l =
		    look((struct span){ pack.ptr, n }, 40, 512);

		assert_false(pack_look_shows(l, (struct span){ buf, 40 },
		    span_of(other)));
		pack_look_free(l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_of_commits_is_shown),
		cmocka_unit_test(commits_come_first_and_are_enough),
		cmocka_unit_test(a_changed_pack_shows_no_other_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
