#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "wire/lfs.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define OBJECT(oid, size) "{\"oid\":\"" oid "\",\"size\":" size "}"
#define BATCH(op, more)                                                        \
	"{\"operation\":\"" op "\"," more                                      \
	"\"objects\":[" OBJECT(A, "12") "," OBJECT(B, "30") "]}"

static struct lfs *
reset(enum lfs_document d)
{
	static struct lfs l;

	memset(&l, 0, sizeof(l));
	l.document = d;
	l.objects_max = 3;
	return &l;
}

static enum lfs_status
read_all(struct lfs *l, const char *text)
{
	struct span in = span_of(text);
	enum lfs_status s;

	do {
		s = lfs_read(l, &in);
	} while (s == LFS_OBJECT);
	return s == LFS_MORE || s == LFS_READ ? lfs_end(l) : s;
}

static void
a_request_is_read_or_refused(void **state)
{
	static const struct {
		const char *claim, *text;
		enum lfs_status want;
	} rows[] = {
		{ "a download", BATCH("download", ""), LFS_READ },
		{ "all that git-lfs says",
		    BATCH("upload",
			"\"transfers\":[\"basic\",\"ssh\"],\"hash_algo\":"
			"\"sha256\",\"ref\":{\"name\":\"refs/heads/x\"},"),
		    LFS_READ },
		{ "what it may say one day", BATCH("upload", "\"new\":{},"),
		    LFS_READ },
		{ "null is nothing", BATCH("upload", "\"ref\":null,"),
		    LFS_READ },
		{ "not JSON", "operation=upload", LFS_BROKEN },
		{ "nothing", "", LFS_SHORT },
		{ "half of it", "{\"operation\":\"upload\"", LFS_SHORT },
		{ "no operation", "{\"objects\":[]}", LFS_MISSING },
		{ "no objects", "{\"operation\":\"upload\"}", LFS_MISSING },
		{ "another operation", BATCH("delete", ""), LFS_OPERATION },
		{ "... in another case", BATCH("Upload", ""), LFS_OPERATION },
		{ "two of them", BATCH("download", "\"operation\":\"upload\","),
		    LFS_TWICE },
		{ "... as Go reads it",
		    BATCH("download", "\"Operation\":\"upload\","), LFS_TWICE },
		{ "a name in another case",
		    "{\"Operation\":\"upload\",\"objects\":[]}", LFS_KIND },
		{ "an operation that is a number",
		    "{\"operation\":1,\"objects\":[]}", LFS_KIND },
		{ "objects that are none",
		    "{\"operation\":\"upload\",\"objects\":{}}", LFS_KIND },
		{ "... of another kind",
		    "{\"operation\":\"upload\",\"objects\":[[]]}", LFS_KIND },
		{ "... null among them",
		    "{\"operation\":\"upload\",\"objects\":[null]}", LFS_KIND },
		{ "an array of requests", "[" BATCH("upload", "") "]",
		    LFS_KIND },
		{ "another hash", BATCH("upload", "\"hash_algo\":\"sha512\","),
		    LFS_HASH },
		{ "an oid of another",
		    "{\"operation\":\"upload\",\"objects\":["
		    "{\"oid\":\"abc\",\"size\":1}]}",
		    LFS_OID },
		{ "an oid in capitals",
		    "{\"operation\":\"upload\",\"objects\":["
		    "{\"oid\":\"A" A "\",\"size\":1}]}",
		    LFS_OID },
		{ "a size below zero",
		    "{\"operation\":\"upload\",\"objects\":[" OBJECT(A,
			"-1") "]}",
		    LFS_SIZE },
		{ "a size with an exponent",
		    "{\"operation\":\"upload\",\"objects\":[" OBJECT(A,
			"1e9") "]}",
		    LFS_SIZE },
		{ "a size as a text",
		    "{\"operation\":\"upload\",\"objects\":[" OBJECT(A,
			"\"1\"") "]}",
		    LFS_KIND },
		{ "no size",
		    "{\"operation\":\"upload\",\"objects\":[{\"oid\":\"" A
		    "\"}]}",
		    LFS_MISSING },
		{ "too many objects",
		    "{\"operation\":\"upload\",\"objects\":[" OBJECT(A,
			"1") "," OBJECT(A, "1") "," OBJECT(A, "1") "," OBJECT(A,
			"1") "]}",
		    LFS_MANY },
		{ "a reference with a line end",
		    BATCH("upload", "\"ref\":{\"name\":\"a\\nb\"},"), LFS_REF },
		{ "more behind it", BATCH("upload", "") "x", LFS_BROKEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lfs *l = reset(LFS_BATCH);
		enum lfs_status got = read_all(l, rows[i].text);

		if (got != rows[i].want)
			fail_msg("%s: %s", rows[i].claim, lfs_status_text(got));
	}
}

static void
a_request_says_what_it_is_about(void **state)
{
	struct lfs *l = reset(LFS_BATCH);

	(void)state;
	assert_int_equal(read_all(l,
			     BATCH("upload",
				 "\"ref\":{\"name\":\"refs/heads/x\"},")),
	    LFS_READ);
	assert_int_equal(l->operation, LFS_UPLOAD);
	assert_string_equal(l->ref, "refs/heads/x");
	assert_int_equal(l->objects, 2);
	assert_int_equal(l->bytes, 42);
	assert_false(l->is_large);
	l = reset(LFS_BATCH);
	assert_int_equal(read_all(l,
			     "{\"operation\":\"upload\",\"objects\":[" OBJECT(A,
				 "9223372036854775807") "," OBJECT(A,
				 "9223372036854775807") "," OBJECT(A,
				 "2") "]}"),
	    LFS_READ);
	assert_true(l->is_large);
}

static void
a_lock_says_whether_it_is_forced(void **state)
{
	static const struct {
		const char *text;
		enum lfs_status want;
		bool force;
	} rows[] = {
		{ "{}", LFS_READ, false },
		{ "{\"path\":\"a\",\"ref\":{\"name\":\"refs/heads/x\"}}",
		    LFS_READ, false },
		{ "{\"force\":false}", LFS_READ, false },
		{ "{\"force\":true}", LFS_READ, true },
		{ "{\"force\":1}", LFS_KIND, false },
		{ "{\"force\":\"true\"}", LFS_KIND, false },
		{ "{\"FORCE\":true}", LFS_KIND, false },
		{ "{\"force\":false,\"force\":true}", LFS_TWICE, false },
		{ "[]", LFS_KIND, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lfs *l = reset(LFS_LOCK);

		assert_int_equal(read_all(l, rows[i].text), rows[i].want);
		assert_int_equal(l->force, rows[i].force);
	}
}

#define ACTION(name, more)                                                     \
	"\"" name "\":{\"href\":\"https://s/" name "\"" more "}"
#define ANSWER(actions)                                                        \
	"{\"transfer\":\"basic\",\"objects\":[{\"actions\":{" actions          \
	"},\"oid\":\"" A "\",\"size\":7}]}"

/* "GET https://s/x auth 60 @..." of each action. */
static void
tell_actions(struct lfs *l, struct wr *w)
{
	for (size_t i = 0; i < LFS_ACTIONS; i++) {
		const struct lfs_action *a = &l->object.actions[i];
		struct span href = lfs_text(l, &a->href);
		struct span auth = lfs_text(l, &a->authorization);
		struct span at = lfs_text(l, &a->expires_at);

		if (!a->href.is_there)
			continue;
		wr_fmt(w, "%s %.*s %.*s",
		    lfs_action_method((enum lfs_action_kind)i), (int)href.len,
		    (const char *)href.ptr, (int)auth.len,
		    (const char *)auth.ptr);
		if (a->expires)
			wr_fmt(w, " in %u", (unsigned int)a->expires_in);
		wr_fmt(w, " %.*s;", (int)at.len, (const char *)at.ptr);
	}
}

static void
an_answer_names_what_may_be_done(void **state)
{
	static const struct {
		const char *claim, *text;
		enum lfs_status want;
		const char *actions;
	} rows[] = {
		{ "a download", ANSWER(ACTION("download", "")), LFS_READ,
		    "GET https://s/download  ;" },
		{ "an upload and what checks it",
		    ANSWER(ACTION("verify", "") "," ACTION("upload", "")),
		    LFS_READ,
		    "PUT https://s/upload  ;POST https://s/verify  ;" },
		{ "with its end and a token",
		    ANSWER(ACTION("upload",
			",\"header\":{\"X\":\"y\",\"Authorization\":\"T a\"},"
			"\"expires_in\":60")),
		    LFS_READ, "PUT https://s/upload T a in 60 ;" },
		{ "a token in another case",
		    ANSWER(ACTION("upload",
			",\"header\":{\"AUTHORIZATION\":\"T a\"}")),
		    LFS_READ, "PUT https://s/upload T a ;" },
		{ "two tokens",
		    ANSWER(ACTION("upload",
			",\"header\":{\"Authorization\":\"a\","
			"\"authorization\":\"b\"}")),
		    LFS_TWICE, "" },
		{ "an end by the clock",
		    ANSWER(ACTION("upload",
			",\"expires_at\":\"2026-01-01T00:00:00Z\"")),
		    LFS_READ, "PUT https://s/upload  2026-01-01T00:00:00Z;" },
		{ "what has ended",
		    ANSWER(ACTION("upload", ",\"expires_in\":-5")), LFS_READ,
		    "PUT https://s/upload  in 0 ;" },
		{ "no end", ANSWER(ACTION("upload", ",\"expires_in\":0")),
		    LFS_READ, "PUT https://s/upload  ;" },
		{ "another action", ANSWER(ACTION("delete", "")), LFS_READ,
		    "" },
		{ "an action elsewhere",
		    "{\"objects\":[{\"oid\":\"" A
		    "\",\"x\":{" ACTION("download",
			"") "}}],\"actions\":{" ACTION("download", "") "}}",
		    LFS_READ, "" },
		{ "an error instead",
		    "{\"objects\":[{\"oid\":\"" A "\",\"size\":1,\"error\":"
		    "{\"code\":404,\"message\":\"gone\"}}]}",
		    LFS_READ, "" },
		{ "an action without a size",
		    "{\"objects\":[{\"oid\":\"" A
		    "\",\"actions\":{" ACTION("download", "") "}}]}",
		    LFS_MISSING, "" },
		{ "another way", "{\"transfer\":\"tus\",\"objects\":[]}",
		    LFS_TRANSFER, "" },
		{ "two hrefs",
		    ANSWER(ACTION("upload", ",\"href\":\"https://t/\"")),
		    LFS_TWICE, "" },
		{ "an href that is none", ANSWER("\"upload\":{\"href\":{}}"),
		    LFS_KIND, "" },
		{ "one upload after the other",
		    ANSWER(ACTION("upload", "") "," ACTION("Upload", "")),
		    LFS_TWICE, "" },
		{ "no objects", "{\"message\":\"no\"}", LFS_MISSING, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lfs *l = reset(LFS_ANSWER);
		char got[512];
		struct wr w = wr_init(got, sizeof(got) - 1);
		struct span in = span_of(rows[i].text);
		enum lfs_status s;

		while ((s = lfs_read(l, &in)) == LFS_OBJECT)
			tell_actions(l, &w);
		got[w.len] = '\0';
		if (s == LFS_MORE)
			s = lfs_end(l);
		if (s != rows[i].want || strcmp(got, rows[i].actions) != 0)
			fail_msg("%s: %s, %s", rows[i].claim,
			    lfs_status_text(s), got);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read_or_refused),
		cmocka_unit_test(a_request_says_what_it_is_about),
		cmocka_unit_test(a_lock_says_whether_it_is_forced),
		cmocka_unit_test(an_answer_names_what_may_be_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
