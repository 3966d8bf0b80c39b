/*
 * What is written down is found again after any end, by whoever has the
 * secrets of its credential and by nobody else.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "credential-broker/credential.h"
#include "credential-broker/journal.h"

#define CANARY "canary-of-the-journal"

struct fixture {
	int files[JOURNAL_FILES];
	struct credential *c, *other;
};

static struct credential *
credential(const char *name, const char *secret)
{
	struct credential *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	(void)snprintf(c->definition.name, sizeof(c->definition.name), "%s",
	    name);
	assert_int_equal(secret_set(&c->value, secret, strlen(secret)), 0);
	return c;
}

static void
set_up(struct fixture *f)
{
	for (int i = 0; i < JOURNAL_FILES; i++) {
		f->files[i] = memfd_create("journal", MFD_CLOEXEC);
		assert_true(f->files[i] != -1);
	}
	f->c = credential("npm", "the root of it");
	f->other = credential("npm", "another root");
}

static void
tear_down(struct fixture *f)
{
	for (int i = 0; i < JOURNAL_FILES; i++)
		(void)close(f->files[i]);
	secret_done(&f->c->value);
	secret_done(&f->other->value);
	free(f->c);
	free(f->other);
}

/* As a broker that begins: it gets descriptors of its own. */
static struct journal *
begin(const struct fixture *f)
{
	struct journal *j = journal_new();
	int fds[JOURNAL_FILES];

	assert_non_null(j);
	for (int i = 0; i < JOURNAL_FILES; i++)
		fds[i] = fcntl(f->files[i], F_DUPFD_CLOEXEC, 0);
	assert_int_equal(journal_open(j, fds), 0);
	return j;
}

static uint64_t
add(struct journal *j, const struct credential *c, const char *what)
{
	return journal_add(j, c, span_of(what), clock_boot_ms() + 60000);
}

static void
must_hold(struct journal *j, const struct credential *c, const char *what)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	uint64_t id;

	assert_true(journal_orphan(j, c, &id, &s));
	assert_true(span_is(secret_span(&s), what));
}

static void
must_hold_nothing(struct journal *j, const struct credential *c)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	uint64_t id;

	assert_false(journal_orphan(j, c, &id, &s));
}

static void
finds_what_was_not_done(void **state)
{
	struct fixture f;
	struct journal *j;
	uint64_t done;

	(void)state;
	set_up(&f);
	j = begin(&f);
	done = add(j, f.c, "value-one");
	assert_true(done != 0 && add(j, f.c, CANARY) != 0);
	/* Somebody takes care of both. */
	must_hold_nothing(j, f.c);
	journal_done(j, done);
	journal_free(j);
	j = begin(&f);
	must_hold_nothing(j, f.other);
	must_hold(j, f.c, CANARY);
	must_hold_nothing(j, f.c);
	journal_free(j);
	/* Found is not yet given back. */
	j = begin(&f);
	must_hold(j, f.c, CANARY);
	journal_free(j);
	tear_down(&f);
}

static void
forgets_what_has_ended(void **state)
{
	struct fixture f;
	struct journal *j;

	(void)state;
	set_up(&f);
	j = begin(&f);
	assert_true(add(j, f.c, CANARY) != 0);
	journal_free(j);
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	clock_test_advance(62000);
	j = begin(&f);
	must_hold_nothing(j, f.c);
	journal_free(j);
	clock_test_release();
	tear_down(&f);
}

static size_t
size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (size_t)st.st_size;
}

/* Cut at any byte, or with one changed: what is whole before it is there. */
static void
survives_a_torn_end(void **state)
{
	struct fixture f;
	struct journal *j;
	uint8_t bytes[4096];
	size_t one, two;
	int which;

	(void)state;
	set_up(&f);
	j = begin(&f);
	assert_true(add(j, f.c, "value-one") != 0);
	which = size_of(f.files[0]) > 0 ? 0 : 1;
	one = size_of(f.files[which]);
	assert_true(add(j, f.c, "value-two") != 0);
	two = size_of(f.files[which]);
	journal_free(j);
	assert_true(two <= sizeof(bytes));
	assert_int_equal(pread(f.files[which], bytes, two, 0), (ssize_t)two);
	assert_null(memmem(bytes, two, "value-", 6));
	for (size_t len = one; len < two; len++) {
		for (int i = 0; i < JOURNAL_FILES; i++)
			assert_int_equal(ftruncate(f.files[i], 0), 0);
		assert_int_equal(pwrite(f.files[which], bytes, len, 0),
		    (ssize_t)len);
		j = begin(&f);
		must_hold(j, f.c, "value-one");
		must_hold_nothing(j, f.c);
		assert_true(add(j, f.c, "value-three") != 0);
		journal_free(j);
		j = begin(&f);
		must_hold(j, f.c, "value-three");
		must_hold(j, f.c, "value-one");
		journal_free(j);
	}
	for (size_t at = 2; at < one; at++) {
		for (int i = 0; i < JOURNAL_FILES; i++)
			assert_int_equal(ftruncate(f.files[i], 0), 0);
		bytes[at] ^= 1;
		assert_int_equal(pwrite(f.files[which], bytes, one, 0),
		    (ssize_t)one);
		bytes[at] ^= 1;
		j = begin(&f);
		/* The time of its end is not sealed, and harms nobody. */
		if (at < 2 + 9 || at >= 2 + 17)
			must_hold_nothing(j, f.c);
		journal_free(j);
	}
	tear_down(&f);
}

static void
keeps_the_last_of_what_was_learned(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	struct fixture f;
	struct journal *j;

	(void)state;
	set_up(&f);
	j = begin(&f);
	assert_false(journal_state(j, f.c, &s));
	assert_int_equal(journal_put_state(j, f.c, span_of("first")), 0);
	assert_int_equal(journal_put_state(j, f.c, span_of(CANARY)), 0);
	assert_true(journal_state(j, f.c, &s));
	assert_true(span_is(secret_span(&s), CANARY));
	journal_free(j);
	j = begin(&f);
	assert_true(journal_state(j, f.c, &s));
	assert_true(span_is(secret_span(&s), CANARY));
	assert_false(journal_state(j, f.other, &s));
	journal_free(j);
	tear_down(&f);
}

/* Thousands come and go: the files do not grow with them. */
static void
does_not_grow(void **state)
{
	struct fixture f;
	struct journal *j;

	(void)state;
	set_up(&f);
	j = begin(&f);
	assert_int_equal(journal_put_state(j, f.c, span_of("learned")), 0);
	assert_true(add(j, f.c, CANARY) != 0);
	for (int i = 0; i < 8000; i++) {
		const uint64_t id = add(j, f.c, "short-lived");

		assert_true(id != 0);
		journal_done(j, id);
	}
	assert_true(size_of(f.files[0]) + size_of(f.files[1]) < 600000);
	journal_free(j);
	j = begin(&f);
	must_hold(j, f.c, CANARY);
	must_hold_nothing(j, f.c);
	journal_free(j);
	tear_down(&f);
}

static void
refuses_without_files(void **state)
{
	struct fixture f;
	struct journal *j = journal_new();

	(void)state;
	set_up(&f);
	assert_int_equal(add(j, f.c, CANARY), 0);
	assert_int_not_equal(journal_put_state(j, f.c, span_of("x")), 0);
	journal_done(j, 7);
	journal_free(j);
	tear_down(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_not_done),
		cmocka_unit_test(forgets_what_has_ended),
		cmocka_unit_test(survives_a_torn_end),
		cmocka_unit_test(keeps_the_last_of_what_was_learned),
		cmocka_unit_test(does_not_grow),
		cmocka_unit_test(refuses_without_files),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
