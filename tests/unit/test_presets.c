/* What is shipped is what it says: complete, for reading, and explained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "conf/image.h"
#include "conf/presets.h"
#include "tests/unit/make_policy.h"

#define PRESETS_MAX 256
#define FIELDS_MAX 4
#define URL_SIZE 512

/* Each row of a file of tests/presets, its fields parted by tabs. */
typedef void row_fn(char *field[FIELDS_MAX], size_t fields, void *arg);

static size_t
each_row(const char *path, row_fn *fn, void *arg)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY);
	AUTO_FREE char *text = NULL;
	char *line, *rest;
	size_t len, rows = 0;

	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, 1 << 20, &text, &len), 0);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *field[FIELDS_MAX] = { NULL };
		size_t n = 0;

		if (line[0] == '#' || line[0] == '\0')
			continue;
		while (
		    n < FIELDS_MAX && (field[n] = strsep(&line, "\t")) != NULL)
			n++;
		fn(field, n, arg);
		rows++;
	}
	return rows;
}

/* --- each by itself, and all of them together ---------------------------- */

struct compiled {
	struct policy *one[PRESETS_MAX];
	struct policy *all;
};

static int
compile_all(void **state)
{
	static char text[PRESETS_MAX * 64];
	struct compiled *c = calloc(1, sizeof(*c));
	size_t len = (size_t)snprintf(text, sizeof(text), POLICY_HEAD);

	assert_non_null(c);
	for (size_t i = 0; presets_all[i].name != NULL; i++) {
		char line[64];

		assert_true(i < PRESETS_MAX);
		(void)snprintf(line, sizeof(line), POLICY_HEAD "preset = %s\n",
		    presets_all[i].name);
		c->one[i] =
		    make_policy_with("one.ini", line, false, presets_find);
		if (c->one[i] == NULL)
			fail_msg("%s does not compile", presets_all[i].name);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "preset = %s\n", presets_all[i].name);
		assert_true(len < sizeof(text));
	}
	c->all = make_policy_with("all.ini", text, true, presets_find);
	assert_non_null(c->all);
	*state = c;
	return 0;
}

static int
drop_all(void **state)
{
	struct compiled *c = *state;

	for (size_t i = 0; i < PRESETS_MAX; i++)
		policy_unref(c->one[i]);
	policy_unref(c->all);
	free(c);
	return 0;
}

static const struct policy *
find_one(const struct compiled *c, const char *name)
{
	const struct preset *p = presets_get(name);

	if (p == NULL)
		fail_msg("there is no preset %s", name);
	return c->one[p - presets_all];
}

/* --- reading only -------------------------------------------------------- */

/* A method that writes by its name, and why it reads there. */
struct wanted {
	const char *rule;
	const char *method;
	bool is_found;
};

static void
on_exception(char *field[FIELDS_MAX], size_t fields, void *arg)
{
	struct wanted *w = arg;

	/* rule, method, why */
	assert_int_equal(fields, 3);
	assert_true(strlen(field[2]) > 10);
	if (strcmp(field[0], w->rule) == 0 && strcmp(field[1], w->method) == 0)
		w->is_found = true;
}

static void
check_methods(const struct policy *p, const struct image_rule *r)
{
	if (r->methods.count == 0)
		fail_msg("%s:%u: every method is allowed", r->file, r->line);
	for (uint32_t i = 0; i < r->methods.count; i++) {
		struct wanted w = { .rule = r->name };

		w.method = image_string(p,
		    image_u32(p, IMAGE_PATTERNS, r->methods.at + i));
		assert_non_null(w.method);
		if (strcmp(w.method, "GET") == 0 ||
		    strcmp(w.method, "HEAD") == 0)
			continue;
		(void)each_row(TEST_PRESETS "/posts", on_exception, &w);
		if (!w.is_found)
			fail_msg("%s:%u: %s is not a method that reads; if it "
				 "reads there, say why in tests/presets/posts",
			    r->file, r->line, w.method);
	}
}

static void
check_rule(const struct policy *p, const struct preset *preset,
    const struct image_rule *r)
{
	size_t len = strlen(preset->name);

	if (strncmp(r->name, preset->name, len) != 0 ||
	    (r->name[len] != '\0' && r->name[len] != '-'))
		fail_msg("%s:%u: the rule is not named after its preset",
		    r->file, r->line);
	if (r->action != ACTION_ALLOW || r->scheme == SCHEME_TCP ||
	    r->tls != TLS_MODE_INSPECT || r->credential[0] != '\0' ||
	    (r->widen & ~(uint32_t)WIDEN_ENCODED_SLASH) != 0)
		fail_msg("%s:%u: not a rule that a preset may have", r->file,
		    r->line);
	if (r->paths.count == 0)
		fail_msg("%s:%u: no path", r->file, r->line);
	check_methods(p, r);
}

static void
each_preset_is_for_reading(void **state)
{
	const struct compiled *c = *state;
	size_t rules = 0, presets = 0;

	for (; presets_all[presets].name != NULL; presets++) {
		const struct policy *p = c->one[presets];
		struct image_rule r;
		uint32_t id = 0;

		assert_int_equal(p->kinds & (1u << PATTERN_ANY_DEPTH), 0);
		for (; image_rule(p, id, &r); id++)
			check_rule(p, &presets_all[presets], &r);
		assert_true(id > 0);
		rules += id;
	}
	print_message("%zu presets, %zu rules\n", presets, rules);
}

/* A post that no rule makes any more is no longer known to be needed. */
static void
on_post(char *field[FIELDS_MAX], size_t fields, void *arg)
{
	const struct policy *all = arg;
	struct image_rule r;

	(void)fields;
	for (uint32_t id = 0; image_rule(all, id, &r); id++) {
		if (strcmp(r.name, field[0]) != 0)
			continue;
		for (uint32_t i = 0; i < r.methods.count; i++) {
			uint32_t at =
			    image_u32(all, IMAGE_PATTERNS, r.methods.at + i);

			if (strcmp(image_string(all, at), field[1]) == 0)
				return;
		}
	}
	fail_msg("tests/presets/posts: %s does not allow %s", field[0],
	    field[1]);
}

static void
each_post_is_still_made(void **state)
{
	struct compiled *c = *state;

	assert_true(each_row(TEST_PRESETS "/posts", on_post, c->all) > 0);
}

/* --- what they are for, and what none of them opens ---------------------- */

/* As ask_request(), of a URL without its query, and of that. */
static struct verdict
ask(const struct policy *p, const char *method, const char *url)
{
	struct policy_pair pair = { p, NULL };
	char host[URL_SIZE], path[URL_SIZE], *query, *colon;
	bool is_http = strncmp(url, "http://", 7) == 0;
	const char *at = url + (is_http ? 7 : 8), *slash = strchr(at, '/');
	unsigned long port = is_http ? 80 : 443;
	struct path_reading reading;
	struct policy_request req = { .host = host,
		.scheme = is_http ? SCHEME_HTTP : SCHEME_HTTPS,
		.method = span_of(method) };

	assert_true(is_http || strncmp(url, "https://", 8) == 0);
	assert_true(slash != NULL && strlen(url) < URL_SIZE);
	memcpy(host, at, (size_t)(slash - at));
	host[slash - at] = '\0';
	memcpy(path, slash, strlen(slash) + 1);
	if ((colon = strchr(host, ':')) != NULL) {
		*colon = '\0';
		port = strtoul(colon + 1, NULL, 10);
	}
	if ((query = strchr(path, '?')) != NULL) {
		*query++ = '\0';
		req.has_query = true;
		req.query = span_of(query);
	}
	reading = path_read(span_of(path));
	req.port = (uint16_t)port;
	req.path = span_of(path);
	req.is_ambiguous = reading.is_ambiguous;
	req.has_encoded_slash = reading.has_encoded_slash;
	return policy_judge_request(&pair, &req);
}

static size_t endpoint_faults;

static void
on_endpoint(char *field[FIELDS_MAX], size_t fields, void *arg)
{
	const struct compiled *c = arg;
	const struct policy *p = c->all;
	char *methods, *method;
	bool is_allow;

	/* preset, verdict, methods, URL */
	assert_int_equal(fields, 4);
	is_allow = strcmp(field[1], "allow") == 0;
	assert_true(is_allow || strcmp(field[1], "deny") == 0);
	if (is_allow)
		p = find_one(c, field[0]);
	methods = field[2];
	while ((method = strsep(&methods, ",")) != NULL) {
		struct verdict v = ask(p, method, field[3]);

		if ((v.action == ACTION_ALLOW) == is_allow)
			continue;
		print_error("%s: %s %s: %s by %s (%s:%u)\n", field[0], method,
		    field[3], action_name(v.action), v.rule, v.file, v.line);
		endpoint_faults++;
	}
}

static void
each_endpoint_is_open_or_shut_as_listed(void **state)
{
	size_t rows = each_row(TEST_PRESETS "/endpoints", on_endpoint, *state);

	print_message("%zu rows\n", rows);
	assert_int_equal(endpoint_faults, 0);
	assert_true(rows > 400);
}

static void
on_allowed(char *field[FIELDS_MAX], size_t fields, void *arg)
{
	bool *is_listed = arg;
	const struct preset *p = presets_get(field[0]);

	assert_int_equal(fields, 4);
	if (p != NULL && strcmp(field[1], "allow") == 0)
		is_listed[p - presets_all] = true;
}

static void
each_preset_has_an_endpoint(void **state)
{
	bool is_listed[PRESETS_MAX] = { false };

	(void)state;
	(void)each_row(TEST_PRESETS "/endpoints", on_allowed, is_listed);
	for (size_t i = 0; presets_all[i].name != NULL; i++) {
		if (!is_listed[i])
			fail_msg("tests/presets/endpoints has no row for %s",
			    presets_all[i].name);
	}
}

/* --- told to people ------------------------------------------------------ */

static void
each_preset_says_what_it_is_for(void **state)
{
	(void)state;
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		struct preset_about about = presets_about(p);
		const char *before = "", *line;
		AUTO_FREE char *text = calloc(1, p->len + 1);
		char *rest = text;

		assert_non_null(text);
		memcpy(text, p->text, p->len);

		if (about.group.len == 0 || about.title.len < 8)
			fail_msg("%s: the first line is not \"; GROUP: TITLE\"",
			    p->name);
		while ((line = strsep(&rest, "\n")) != NULL) {
			if (strncmp(line, "[allow ", 7) == 0 &&
			    strncmp(before, "; ", 2) != 0)
				fail_msg("%s: %s without a comment before it",
				    p->name, line);
			before = line;
		}
	}
	assert_null(presets_get("no-such-preset"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_preset_is_for_reading),
		cmocka_unit_test(each_post_is_still_made),
		cmocka_unit_test(each_endpoint_is_open_or_shut_as_listed),
		cmocka_unit_test(each_preset_has_an_endpoint),
		cmocka_unit_test(each_preset_says_what_it_is_for),
	};

	return cmocka_run_group_tests(tests, compile_all, drop_all);
}
