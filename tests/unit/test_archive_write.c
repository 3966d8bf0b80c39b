/*
 * Trees that are walked into an archive and made again: what comes out is what
 * was there, and a tree that changes meanwhile cannot lead the walk elsewhere.
 */
#include "archive_support.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "count_fds.h"
#include "vmm/archive_read.h"
#include "vmm/archive_write.h"

static const struct archive_limits trusted = { .entries_max = 10000,
	.bytes_max = 1 << 24,
	.links = ARCHIVE_LINKS_ANY };

static char place[64];
static int place_fd;
static char text[2][TREE_TEXT_SIZE];
static uint8_t bytes[1 << 20];

static int
setup(void **state)
{
	(void)state;
	(void)umask(022);
	(void)snprintf(place, sizeof(place), "/tmp/tapward-test.XXXXXX");
	assert_non_null(mkdtemp(place));
	place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place_fd == -1;
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(place_fd);
	remove_tree(place);
	return 0;
}

static void
make_tree(const char *name, const char *script)
{
	struct wr w = wr_init(bytes, sizeof(bytes));
	struct archive_reader *r;
	struct err err = { "" };

	put_script(&w, script);
	assert_int_equal(archive_reader_new(place_fd, name, &trusted, NULL,
			     NULL, &r),
	    0);
	assert_int_equal(archive_reader_feed(r, (struct span){ bytes, w.len },
			     &err),
	    0);
	archive_reader_free(r);
}

static struct archive_writer *
walk(const char *name, archive_filter *filter)
{
	const int fd = openat(place_fd, name, O_RDONLY | O_CLOEXEC);
	struct archive_writer *w;

	assert_true(fd != -1);
	assert_int_equal(archive_writer_new(fd, filter, NULL, &w), 0);
	return w;
}

/* All that w gives, by size bytes, made again as to. 0 or what w says. */
static int
copy(struct archive_writer *w, const char *to, size_t size, struct err *err)
{
	struct archive_reader *r;
	size_t len = 1;
	int rc = archive_reader_new(place_fd, to, &trusted, NULL, NULL, &r);

	assert_int_equal(rc, 0);
	while (rc == 0 && len > 0) {
		rc = archive_writer_fill(w, bytes, size, &len, err);
		if (rc == 0)
			assert_int_equal(archive_reader_feed(r,
					     (struct span){ bytes, len }, err),
			    0);
	}
	if (rc == 0)
		assert_int_equal(archive_reader_end(r, err), 0);
	archive_reader_free(r);
	return rc;
}

static void
same_trees(const char *a, const char *b)
{
	const int a_fd = openat(place_fd, a, O_RDONLY | O_CLOEXEC);
	const int b_fd = openat(place_fd, b, O_RDONLY | O_CLOEXEC);

	assert_string_equal(tree_text(a_fd, text[0]), tree_text(b_fd, text[1]));
	(void)close(a_fd);
	(void)close(b_fd);
}

static void
copies_a_tree(void **state)
{
	const int fds = count_fds();
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a",
	    "d @ 755 f a 644 hello d b 700 f c 755 x l up ../a l out /etc "
	    "d empty 711 u u f \n\xff 600 y l loop . u e");
	w = walk("a", NULL);
	assert_int_equal(copy(w, "b", 8192, &err), 0);
	same_trees("a", "b");
	assert_int_equal(archive_writer_totals(w)->entries, 9);
	assert_int_equal(archive_writer_totals(w)->bytes, 7);
	assert_int_equal(archive_writer_totals(w)->skipped, 0);
	archive_writer_free(w);
	assert_int_equal(count_fds(), fds);
}

static void
copies_a_file(void **state)
{
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a", "d @ 755 f x 640 hello u e");
	w = walk("a/x", NULL);
	assert_int_equal(mkdirat(place_fd, "b", 0755), 0);
	assert_int_equal(copy(w, "c", 8192, &err), 0);
	archive_writer_free(w);
	assert_int_equal(renameat(place_fd, "c", place_fd, "b/x"), 0);
	assert_int_equal(fchmodat(place_fd, "a", 0755, 0), 0);
	same_trees("a", "b");
}

/* Data that fills many buffers, and ends at every place in one. */
static void
copies_sizes_around_the_buffer(void **state)
{
	char name[128];
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(mkdirat(place_fd, "a", 0755), 0);
	memset(bytes, 'x', sizeof(bytes));
	for (size_t size = 8000; size < 8400; size += 13) {
		int fd;

		(void)snprintf(name, sizeof(name), "a/%zu", size);
		fd = openat(place_fd, name, O_WRONLY | O_CREAT, 0644);
		assert_int_equal(write(fd, bytes, size), (ssize_t)size);
		(void)close(fd);
		sum += size;
	}
	for (size_t size = 8192; size < 8200; size++) {
		struct archive_writer *w = walk("a", NULL);
		struct err err;

		assert_int_equal(copy(w, "b", size, &err), 0);
		assert_int_equal(archive_writer_totals(w)->bytes, sum);
		archive_writer_free(w);
		(void)snprintf(name, sizeof(name), "%s/b", place);
		remove_tree(name);
	}
}

static bool
no_modules(const char *path, const struct stat *st, void *arg)
{
	const char *end = strrchr(path, '/');

	(void)arg;
	end = end == NULL ? path : end + 1;
	return !S_ISDIR(st->st_mode) || strcmp(end, "node_modules") != 0;
}

static void
leaves_out_what_the_filter_does_not_want(void **state)
{
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a",
	    "d @ 755 d node_modules 755 f a 644 x u d b 755 f "
	    "node_modules 644 x d c 755 d node_modules 755 d d 755 u u u u u "
	    "e");
	make_tree("want",
	    "d @ 755 d b 755 f node_modules 644 x d c 755 u u u e");
	w = walk("a", no_modules);
	assert_int_equal(copy(w, "b", 8192, &err), 0);
	archive_writer_free(w);
	same_trees("want", "b");
}

static void
leaves_out_what_is_no_file(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a", "d @ 755 f x 644 y u e");
	make_tree("want", "d @ 755 f x 644 y u e");
	assert_int_equal(mkfifoat(place_fd, "a/fifo", 0644), 0);
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/a/sock", place);
	assert_int_equal(bind(sock, (struct sockaddr *)&sun, sizeof(sun)), 0);
	w = walk("a", NULL);
	assert_int_equal(copy(w, "b", 8192, &err), 0);
	assert_int_equal(archive_writer_totals(w)->skipped, 2);
	archive_writer_free(w);
	(void)close(sock);
	same_trees("want", "b");
}

static void
takes_files_and_directories_only(void **state)
{
	struct archive_writer *w;
	int fd;

	(void)state;
	assert_int_equal(mkfifoat(place_fd, "fifo", 0644), 0);
	fd = openat(place_fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(archive_writer_new(fd, NULL, NULL, &w), -EINVAL);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* What the walk finds when it comes to a name that it has seen. */
static bool
swap_for_link(const char *path, const struct stat *st, void *arg)
{
	(void)st;
	(void)arg;
	if (strcmp(path, "d") != 0)
		return true;
	assert_int_equal(renameat(place_fd, "a/d", place_fd, "moved"), 0);
	assert_int_equal(symlinkat("/", place_fd, "a/d"), 0);
	return true;
}

static void
is_not_led_away_by_a_link_put_in_its_way(void **state)
{
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a", "d @ 755 d d 755 u u e");
	w = walk("a", swap_for_link);
	assert_int_equal(copy(w, "b", 8192, &err), -ENOTDIR);
	assert_string_equal(err.text, "\"d\": Not a directory");
	archive_writer_free(w);
}

static bool
remove_it(const char *path, const struct stat *st, void *arg)
{
	(void)st;
	(void)arg;
	if (strcmp(path, "gone") == 0)
		assert_int_equal(unlinkat(place_fd, "a/gone", 0), 0);
	return true;
}

static void
does_not_mind_what_vanishes(void **state)
{
	struct archive_writer *w;
	struct err err;

	(void)state;
	make_tree("a", "d @ 755 f gone 644 x f b 644 y u e");
	w = walk("a", remove_it);
	assert_int_equal(copy(w, "b", 8192, &err), 0);
	archive_writer_free(w);
	same_trees("a", "b");
}

static void
says_when_a_file_becomes_shorter(void **state)
{
	struct archive_writer *w;
	struct err err;
	size_t len;
	int fd;

	(void)state;
	assert_int_equal(mkdirat(place_fd, "a", 0755), 0);
	fd = openat(place_fd, "a/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 100000), 0);
	w = walk("a", NULL);
	assert_int_equal(archive_writer_fill(w, bytes, 8192, &len, &err), 0);
	assert_int_equal(ftruncate(fd, 10000), 0);
	assert_int_equal(copy(w, "b", 8192, &err) != 0, 1);
	assert_string_equal(err.text,
	    "\"log\": it became shorter while it was read");
	archive_writer_free(w);
	(void)close(fd);
}

static void
says_what_it_cannot_read(void **state)
{
	struct archive_writer *w;
	struct err err;

	(void)state;
	assert_int_equal(fchmod(place_fd, 0777), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	make_tree("a", "d @ 755 d b 755 f secret 0 x u u e");
	w = walk("a", NULL);
	assert_int_equal(copy(w, "b", 8192, &err), -EACCES);
	assert_string_equal(err.text, "\"b/secret\": Permission denied");
	archive_writer_free(w);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void
says_how_deep_is_too_deep(void **state)
{
	int fd = dup(place_fd);
	struct archive_writer *w;
	struct err err;

	(void)state;
	for (unsigned int i = 0; i <= ARCHIVE_DEPTH_MAX; i++) {
		const int up = fd;

		assert_int_equal(mkdirat(up, "d", 0755), 0);
		fd = openat(up, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fd != -1);
		(void)close(up);
	}
	(void)close(fd);
	w = walk("d", NULL);
	assert_int_equal(copy(w, "b", 8192, &err), -ENAMETOOLONG);
	archive_writer_free(w);
	w = walk("d/d", NULL);
	assert_int_equal(copy(w, "c", 8192, &err), 0);
	assert_int_equal(archive_writer_totals(w)->entries, ARCHIVE_DEPTH_MAX);
	archive_writer_free(w);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(copies_a_tree),
		CLAIM(copies_a_file),
		CLAIM(copies_sizes_around_the_buffer),
		CLAIM(leaves_out_what_the_filter_does_not_want),
		CLAIM(leaves_out_what_is_no_file),
		CLAIM(takes_files_and_directories_only),
		CLAIM(is_not_led_away_by_a_link_put_in_its_way),
		CLAIM(does_not_mind_what_vanishes),
		CLAIM(says_when_a_file_becomes_shorter),
		CLAIM(says_what_it_cannot_read),
		CLAIM(says_how_deep_is_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
