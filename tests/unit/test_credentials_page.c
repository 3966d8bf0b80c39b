/*
 * docs/credentials.md is true: the host's parser takes each of its blocks, the
 * broker takes each credential in it, and no kind lacks its page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "conf/hostconf.h"
#include "credential-broker/credential.h"
#include "credential-broker/kind.h"
#include "tests/unit/jwt_support.h"

#define PAGE "docs/credentials.md"
#define OPEN "```ini\n"
#define CLOSE "```\n"

static char *page;
static char pem[PEM_SIZE], gcp_key[2 * PEM_SIZE], certificate[PEM_SIZE];

static int
read_page(void **state)
{
	AUTO_CLOSE int fd = open(TEST_CREDENTIALS_PAGE, O_RDONLY);
	size_t len;

	(void)state;
	return fd >= 0 &&
		fd_read_all(fd, HOSTCONF_TEXT_MAX_BYTES, &page, &len) == 0
	    ? 0
	    : -1;
}

static int
prepare(void **state)
{
	EVP_PKEY *key = jwt_make_key(pem);
	uint8_t digest[32];

	jwt_make_certificate(key, 3600, certificate, digest);
	jwt_write_gcp_key(gcp_key, pem, "service_account",
	    "ci@acme-prod.iam.gserviceaccount.com", "");
	EVP_PKEY_free(key);
	return read_page(state);
}

static int
forget(void **state)
{
	(void)state;
	free(page);
	return 0;
}

/* --- blocks --------------------------------------------------------------- */

/*
 * The next block after *at as a configuration of its own, on the lines that
 * it has in the page. NULL: there is none.
 */
static char *
next_block(const char **at)
{
	static const char rest[] = "[ceiling]\npolicy = none\n";
	const char *begin = strstr(*at, OPEN), *end;
	size_t lines = 0, len;
	char *text;

	if (begin == NULL)
		return NULL;
	begin += strlen(OPEN);
	end = strstr(begin, CLOSE);
	if (end == NULL)
		fail_msg("%s: a block has no end", PAGE);
	for (const char *p = page; p < begin; p++)
		lines += *p == '\n' ? 1 : 0;
	len = (size_t)(end - begin);
	text = calloc(1, lines + len + sizeof(rest));
	assert_non_null(text);
	memset(text, '\n', lines);
	memcpy(text + lines, begin, len);
	memcpy(text + lines + len, rest, sizeof(rest));
	*at = end + strlen(CLOSE);
	return text;
}

/* What a source holds that a kind must be able to read; "": of all others. */
struct source_row {
	const char *kind, *key, *text;
};

static const struct source_row sources[] = {
	{ "aws", "value",
	    "[default]\naws_access_key_id = AKIAEXAMPLE0000000AB\n"
	    "aws_secret_access_key = canary-of-the-page\n" },
	{ "gcp", "key", gcp_key },
	{ "", "key", pem },
	{ "", "certificate", certificate },
	{ "", "", "canary-of-the-page\n" },
};

static int
open_source(const struct kind *kind, const char *key)
{
	const struct source_row *row = sources;
	int fd = -1;

	while ((*row->kind != '\0' && strcmp(row->kind, kind->name) != 0) ||
	    (*row->key != '\0' && strcmp(row->key, key) != 0))
		row++;
	assert_int_equal(fd_memfd_sealed("source", row->text, strlen(row->text),
			     &fd),
	    0);
	return fd;
}

static void
load_credential(const struct hostconf_credential *cr, struct err *err)
{
	struct message_broker_credential *d = cr->def;
	const struct kind *kind = kind_of(d->kind);
	int fds[BROKER_CREDENTIAL_FDS_MAX];
	struct credential *c = NULL;
	unsigned int count = 0;
	int rc;

	if (d->source[0] != '\0')
		fds[count++] = open_source(kind, "value");
	for (unsigned int i = 0; i < d->setting_count; i++) {
		d->settings[i].is_open = d->settings[i].is_source;
		if (d->settings[i].is_source)
			fds[count++] = open_source(kind, d->settings[i].name);
	}
	rc = credential_new(d, fds, count, &c, err);
	if (rc != 0 || !c->is_loaded)
		fail_msg("%s:%u: %s", PAGE, cr->line,
		    rc != 0 ? err->text : "a source is missing");
	credential_unref(c);
	while (count > 0)
		(void)close(fds[--count]);
}

static void
each_block_is_taken_by_the_daemon_and_the_broker(void **state)
{
	struct err err = { "" };
	const char *at = page;
	unsigned int count = 0;
	char *text;

	(void)state;
	while ((text = next_block(&at)) != NULL) {
		struct hostconf *c = NULL;

		if (hostconf_parse(PAGE, span_of(text), &c, &err) != 0)
			fail_msg("%s", err.text);
		assert_true(c->credential_count > 0);
		for (size_t i = 0; i < c->credential_count; i++)
			load_credential(&c->credentials[i], &err);
		hostconf_free(c);
		free(text);
		count++;
	}
	assert_true(count >= BROKER_KIND_COUNT);
}

static void
each_kind_has_a_page_and_a_row(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < BROKER_KIND_COUNT; i++) {
		const char *name = kind_of(i)->name;
		char want[96];

		(void)snprintf(want, sizeof(want), "\n| [%s](#%s) |", name,
		    name);
		if (strstr(page, want) == NULL)
			fail_msg("%s: no row of %s", PAGE, name);
		(void)snprintf(want, sizeof(want), "\n## %s\n\n" OPEN, name);
		if (strstr(page, want) == NULL)
			fail_msg("%s: no page of %s that begins with a "
				 "configuration",
			    PAGE, name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    each_block_is_taken_by_the_daemon_and_the_broker),
		cmocka_unit_test(each_kind_has_a_page_and_a_row),
	};

	return cmocka_run_group_tests(tests, prepare, forget);
}
