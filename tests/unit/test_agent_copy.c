/*
 * Copies to and from the guest, by the agent as an ordinary process.
 */
#include "agent_peer.h"
#include "archive_support.h"

#include "vmm/archive_read.h"

static uint8_t buf[1 << 20];
static char text[2][TREE_TEXT_SIZE];
static char place[64];
static char path[256];
static int place_fd;

static int
setup(void **state)
{
	(void)state;
	(void)umask(022);
	(void)snprintf(place, sizeof(place), "/tmp/tapward-test.XXXXXX");
	assert_non_null(mkdtemp(place));
	place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	host_start();
	host_hello();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(place_fd);
	remove_tree(place);
	return host_end() != 0;
}

static const char *
in_place(const char *name)
{
	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static struct span
archive(const char *script)
{
	struct wr w = wr_init(buf, sizeof(buf));

	put_script(&w, script);
	return (struct span){ buf, w.len };
}

/* PUT of a script to a name in place; the task when it is over. */
static struct task *
put(const char *name, const char *script, uint32_t flags)
{
	struct task *t = copy_with(FRAME_PUT, in_place(name), flags);

	t->input = archive(script);
	t->input_ends = true;
	until(t->rules.exited);
	return t;
}

static struct task *
get(const char *name)
{
	struct task *t = copy_with(FRAME_GET, in_place(name), 0);

	until(t->rules.exited);
	return t;
}

static void
is_ok(const struct task *t)
{
	if (t->end.end != FRAME_END_CODE || t->end.value != 0)
		fail_msg("%s", t->text);
}

static void
is_refused(const struct task *t, const char *why)
{
	assert_int_equal(t->end.end, FRAME_END_FAILED);
	if (strstr(t->text, why) == NULL)
		fail_msg("\"%s\", want \"%s\"", t->text, why);
}

static const char *
tree(const char *name, unsigned int i)
{
	const int fd = openat(place_fd, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd != -1);
	(void)tree_text(fd, text[i]);
	(void)close(fd);
	return text[i];
}

static void
puts_and_gets_a_tree(void **state)
{
	static const struct archive_limits trusted = { .entries_max = 100,
		.bytes_max = 1000000,
		.links = ARCHIVE_LINKS_ANY };
	struct archive_reader *r;
	struct task *t;
	struct err err;

	(void)state;
	is_ok(put("new/above/x",
	    "d @ 750 f a 640 hello d b 700 l c /etc u d e 755 u u e", 0));
	assert_string_equal(tree("new/above/x", 0),
	    "f a 640 hello\nd b 700\nl b/c /etc\nd e 755\n");
	t = get("new/above/x");
	is_ok(t);
	assert_int_equal(archive_reader_new(place_fd, "back", &trusted, NULL,
			     NULL, &r),
	    0);
	assert_int_equal(archive_reader_feed(r,
			     (struct span){ t->out[0], t->len[0] }, &err),
	    0);
	assert_int_equal(archive_reader_end(r, &err), 0);
	archive_reader_free(r);
	(void)tree("back", 1);
	assert_string_equal(tree("new/above/x", 0), text[1]);
}

static void
puts_and_gets_a_file_of_megabytes(void **state)
{
	const size_t size = 5000000;
	uint8_t *bytes = malloc(size + 100);
	struct wr w = wr_init(bytes, size + 100);
	struct task *t;

	(void)state;
	assert_non_null(bytes);
	archive_magic_encode(&w);
	archive_entry_encode(&w,
	    &(struct archive_entry){ .type = ARCHIVE_FILE,
		.mode = 0600,
		.mtime_s = 1000000000,
		.size = size });
	for (size_t i = 0; i < size; i++)
		wr_u8(&w, (uint8_t)(i * 2654435761u >> 11));
	put_bare(&w, ARCHIVE_END);
	t = copy_with(FRAME_PUT, in_place("f"), 0);
	t->input = (struct span){ bytes, w.len };
	t->input_ends = true;
	until(t->rules.exited);
	is_ok(t);
	t = get("f");
	is_ok(t);
	assert_int_equal(t->len[0], w.len);
	assert_memory_equal(t->out[0], bytes, w.len);
	free(bytes);
}

static void
does_not_put_onto_what_is_there_unless_told(void **state)
{
	(void)state;
	is_ok(put("x", "d @ 755 f a 644 old u e", 0));
	is_refused(put("x", "d @ 755 f a 644 new u e", 0),
	    "\".\": File exists");
	is_ok(put("x", "d @ 755 f a 644 new f b 644 y u e", FRAME_COPY_MERGE));
	assert_string_equal(tree("x", 0), "f a 644 new\nf b 644 y\n");
	/* slashes at the end mean the same */
	is_ok(put("x//", "d @ 755 f c 644 z u e", FRAME_COPY_MERGE));
	assert_string_equal(tree("x", 0),
	    "f a 644 new\nf b 644 y\nf c 644 z\n");
}

static void
says_what_is_wrong_with_a_put(void **state)
{
	struct task *t;

	(void)state;
	is_ok(put("file", "f @ 644 x e", 0));
	is_refused(put("file/below/x", "f @ 644 x e", 0), "Not a directory");
	is_refused(put("..", "f @ 644 x e", 0), "names no file");
	is_refused(put("y", "d @ 755 f a 644 x", 0), "stops before its end");
	is_refused(put("z", "d @ 755 f ../a 644 x u e", 0),
	    "a name that no file may have");
	t = copy_with(FRAME_PUT, "/", FRAME_COPY_MERGE);
	t->input = archive("d @ 755 u e");
	t->input_ends = true;
	until(t->rules.exited);
	is_refused(t, "names no file");
}

static void
says_what_is_wrong_with_a_get(void **state)
{
	(void)state;
	is_refused(get("nothing"), "nothing\": No such file or directory");
	assert_int_equal(mkfifoat(place_fd, "fifo", 0644), 0);
	is_refused(get("fifo"), "neither a file nor a directory");
}

static void
reads_and_writes_as_its_user(void **state)
{
	struct task *t;

	(void)state;
	if (geteuid() != 0)
		skip();
	is_ok(put("x", "d @ 755 f a 600 secret u e", 0));
	t = task_new();
	(void)fchmod(place_fd, 0755);
	host_say(t, frame_copy_encode, FRAME_GET, t->id,
	    &(struct frame_copy){ .path = span_of(in_place("x")),
		.user = span_of("4711") });
	until(t->rules.exited);
	is_refused(t, "\"a\": Permission denied");
	t = task_new();
	host_say(t, frame_copy_encode, FRAME_PUT, t->id,
	    &(struct frame_copy){ .path = span_of(in_place("y")),
		.user = span_of("4711") });
	t->input = archive("f @ 644 x e");
	t->input_ends = true;
	until(t->rules.exited);
	is_refused(t, "Permission denied");
}

/* The host gives up in the middle of a file. */
static void
leaves_no_half_of_a_file(void **state)
{
	struct task *t = copy_with(FRAME_PUT, in_place("x"), 0);

	(void)state;
	t->input = archive("d @ 755 f a 644 whole f b 644 half");
	t->input.len--;
	until(t->input.len == 0 && faccessat(place_fd, "x/b", F_OK, 0) == 0);
	host_say(t, frame_bare_encode, FRAME_RESET, t->id, 0);
	until(t->rules.exited);
	is_refused(t, "stops before its end");
	assert_string_equal(tree("x", 0), "f a 644 whole\n");
}

static void
stops_a_get_that_is_not_wanted_any_more(void **state)
{
	struct task *t = copy_with(FRAME_GET, "/usr/bin", 0);

	(void)state;
	t->keeps = true;
	until(t->rules.credit[FRAME_OUTPUT] == 0);
	host_say(t, frame_bare_encode, FRAME_RESET, t->id, 0);
	until(t->rules.exited);
	is_refused(t, "ended");
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(puts_and_gets_a_tree),
		CLAIM(puts_and_gets_a_file_of_megabytes),
		CLAIM(does_not_put_onto_what_is_there_unless_told),
		CLAIM(says_what_is_wrong_with_a_put),
		CLAIM(says_what_is_wrong_with_a_get),
		CLAIM(reads_and_writes_as_its_user),
		CLAIM(leaves_no_half_of_a_file),
		CLAIM(stops_a_get_that_is_not_wanted_any_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
