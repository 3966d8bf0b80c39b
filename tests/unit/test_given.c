/*
 * What a service manager gave the broker itself, beside what the supervisor
 * hands over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credential-broker/given.h"

static char folder[] = "/tmp/tapward-test.XXXXXX";
static const char *const names[] = { "npm", "key", ".hidden" };

static void
path_of(const char *name, char buf[128])
{
	(void)snprintf(buf, 128, "%s/%s", folder, name);
}

static int
make_folder(void **state)
{
	char path[128];

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		FILE *f;

		path_of(names[i], path);
		f = fopen(path, "we");
		if (f == NULL || fputs(names[i], f) < 0 || fclose(f) != 0)
			return -1;
	}
	return 0;
}

static int
remove_folder(void **state)
{
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(names[i], path);
		(void)unlink(path);
	}
	return rmdir(folder);
}

static void
assert_holds(int fd, const char *text)
{
	char buf[32] = "";

	assert_true(pread(fd, buf, sizeof(buf) - 1, 0) >= 0);
	assert_string_equal(buf, text);
}

/* One with a value, and two settings of which the first is no source. */
static struct message_broker_credential *
definition(const char *value, const char *setting)
{
	struct message_broker_credential *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)snprintf(d->name, sizeof(d->name), "npm");
	(void)snprintf(d->source, sizeof(d->source), "%s", value);
	d->setting_count = 2;
	(void)snprintf(d->settings[0].text, sizeof(d->settings[0].text),
	    "credential:key");
	(void)snprintf(d->settings[1].text, sizeof(d->settings[1].text), "%s",
	    setting);
	d->settings[1].is_source = true;
	return d;
}

static void
what_nobody_sent_is_its_own(void **state)
{
	struct message_broker_credential *d =
	    definition("credential:npm", "credential:key");
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	struct given *g;
	struct err err;

	(void)state;
	assert_int_equal(given_new(folder, &g), 0);
	assert_int_equal(given_complete(g, d, NULL, 0, fds), 2);
	assert_holds(fds[0], "npm");
	assert_holds(fds[1], "key");
	assert_true(d->settings[1].is_open);
	/* A word that only looks like one. */
	assert_false(d->settings[0].is_open);
	assert_int_equal(given_check(g, d, 2, &err), 0);
	given_free(g);
	free(d);
}

static void
what_was_sent_goes_first(void **state)
{
	struct message_broker_credential *d =
	    definition("credential:npm", "credential:key");
	int fds[BROKER_CREDENTIAL_FDS_MAX], sent[2];
	struct given *g;

	(void)state;
	assert_int_equal(pipe(sent), 0);
	assert_int_equal(given_new(folder, &g), 0);
	d->settings[1].is_open = true;
	assert_int_equal(given_complete(g, d, sent, 2, fds), 2);
	assert_memory_equal(fds, sent, sizeof(sent));
	/* The setting's only: the value's is then ours. */
	assert_int_equal(given_complete(g, d, sent, 1, fds), 2);
	assert_holds(fds[0], "npm");
	assert_int_equal(fds[1], sent[0]);
	/* As no honest sender has it: left for others to refuse. */
	assert_int_equal(given_complete(g, d, sent, 0, fds), 0);
	given_free(g);
	(void)close(sent[0]);
	(void)close(sent[1]);
	free(d);
}

static void
what_is_missing_is_told(void **state)
{
	struct message_broker_credential *d =
	    definition("credential:npm", "credential:none");
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	struct given *g, *empty;
	struct err err;
	unsigned int n;

	(void)state;
	assert_int_equal(given_new(folder, &g), 0);
	assert_int_equal(given_new(NULL, &empty), 0);
	n = given_complete(g, d, NULL, 0, fds);
	assert_int_equal(n, 1);
	assert_int_equal(given_check(g, d, n, &err), -ENOKEY);
	assert_non_null(strstr(err.text, "credential npm: credential:none"));
	assert_non_null(strstr(err.text, "LoadCredential=none:/FILE"));
	n = given_complete(empty, d, NULL, 0, fds);
	assert_int_equal(n, 0);
	assert_int_equal(given_check(empty, d, n, &err), -ENOKEY);
	assert_non_null(strstr(err.text, "LoadCredential=npm:/FILE"));
	/* A child of the supervisor, who told already. */
	assert_int_equal(given_check(NULL, d, 0, &err), 0);
	given_free(g);
	given_free(empty);
	free(d);
}

static void
names_are_names_of_files_there(void **state)
{
	static const char *const others[] = { "credential:.hidden",
		"credential:../npm", "credential:", "credential:npm/",
		"file:npm", "npm", "" };
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	struct given *g;

	(void)state;
	assert_int_equal(given_new(folder, &g), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct message_broker_credential *d =
		    definition(others[i], others[i]);

		if (given_complete(g, d, NULL, 0, fds) != 0)
			fail_msg("%s", others[i]);
		free(d);
	}
	given_free(g);
	assert_int_equal(given_new("/no/such/folder", &g), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_sent_is_its_own),
		cmocka_unit_test(what_was_sent_goes_first),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(names_are_names_of_files_there),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
