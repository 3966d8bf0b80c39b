/*
 * What is made of an archive stream, and that nothing else is. Each row runs
 * in a directory that holds a file of somebody else's ("outside") and the
 * directory "in", where the archive is to be made under the name "x".
 */
#include "archive_support.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "count_fds.h"
#include "vmm/archive_read.h"

#define MANY .entries_max = 1000, .bytes_max = 1000

struct place {
	char path[64];
	int outer_fd, fd;
	char text[TREE_TEXT_SIZE];
};

static uint8_t buf[1 << 20];
static struct place place;

static int
setup(void **state)
{
	int fd;

	(void)state;
	(void)umask(022);
	(void)snprintf(place.path, sizeof(place.path),
	    "/tmp/tapward-test.XXXXXX");
	assert_non_null(mkdtemp(place.path));
	place.outer_fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(place.outer_fd, "in", 0755), 0);
	place.fd = openat(place.outer_fd, "in", O_RDONLY | O_CLOEXEC);
	fd = openat(place.outer_fd, "outside",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	(void)close(fd);
	return place.fd == -1;
}

/* In what is above "in" there is nothing new, and "outside" is as it was. */
static void
nothing_beside(const char *claim)
{
	static const char mine[] = "f outside 600 mine\n";
	const char *text = tree_text(place.outer_fd, place.text);
	const size_t len = strlen(text);

	row_span(claim, (struct span){ (const uint8_t *)text, 9 },
	    "d in 755\n");
	assert_true(len >= 9 + sizeof(mine) - 1);
	assert_string_equal(text + len - (sizeof(mine) - 1), mine);
	for (text += 9; strcmp(text, mine) != 0; text = strchr(text, '\n') + 1)
		row_span(claim, (struct span){ (const uint8_t *)text + 2, 3 },
		    "in/");
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(place.fd);
	(void)close(place.outer_fd);
	remove_tree(place.path);
	return 0;
}

/* Reads len bytes of buf to "x" in pieces; what comes of it. */
static int
read_bytes(const struct archive_limits *limits, size_t len, size_t piece,
    struct err *err)
{
	struct archive_reader *r;
	int rc = archive_reader_new(place.fd, "x", limits, NULL, NULL, &r);

	assert_int_equal(rc, 0);
	for (size_t at = 0; rc == 0 && at < len; at += piece)
		rc = archive_reader_feed(r,
		    (struct span){ buf + at,
			len - at < piece ? len - at : piece },
		    err);
	if (rc == 0)
		rc = archive_reader_end(r, err);
	archive_reader_free(r);
	return rc;
}

static int
read_script(const struct archive_limits *limits, const char *script)
{
	struct wr w = wr_init(buf, sizeof(buf));
	struct err err = { "" };
	int rc;

	put_script(&w, script);
	rc = read_bytes(limits, w.len, 7, &err);
	if (rc != 0 && err.text[0] == '\0')
		fail_msg("%s: refused without a word", script);
	return rc;
}

/* before, after: tree_text() of "in"; before is made first, of before_script */
static const struct {
	const char *claim;
	const char *before;
	struct archive_limits limits;
	const char *script;
	int want;
	const char *after;
} rows[] = {
	{ "a tree as it was, with its modes", NULL, { MANY },
	    "d @ 750 f a 640 hello d b 700 f c 755 x l d ../a u l e b/c u e", 0,
	    "d x 750\nf x/a 640 hello\nd x/b 700\nf x/b/c 755 x\n"
	    "l x/b/d ../a\nl x/e b/c\n" },
	{ "a single file", NULL, { MANY }, "f @ 600 hello e", 0,
	    "f x 600 hello\n" },
	{ "a directory that may not be written when it is done", NULL, { MANY },
	    "d @ 500 f a 400 x u e", 0, "d x 500\nf x/a 400 x\n" },
	{ "not onto a file", "f @ 600 old e", { MANY }, "f @ 600 new e",
	    -EEXIST, "f x 600 old\n" },
	{ "not onto a link", "d @ 755 l a b u e", { MANY }, "d @ 755 u e",
	    -EEXIST, "d x 755\nl x/a b\n" },
	{ "no limits, nothing", NULL, { .merge = true }, "d @ 755 u e", -EFBIG,
	    "" },
	{ "as many files as allowed", NULL,
	    { .entries_max = 2, .bytes_max = 9 }, "d @ 755 f a 644 x u e", 0,
	    "d x 755\nf x/a 644 x\n" },
	{ "one more", NULL, { .entries_max = 2, .bytes_max = 9 },
	    "d @ 755 f a 644 x f b 644 x u e", -EFBIG,
	    "d x 700\nf x/a 644 x\n" },
	{ "as many bytes as allowed, in all", NULL,
	    { .entries_max = 9, .bytes_max = 4 },
	    "d @ 755 f a 644 xx f b 644 xx u e", 0,
	    "d x 755\nf x/a 644 xx\nf x/b 644 xx\n" },
	{ "one more byte, of which none is written", NULL,
	    { .entries_max = 9, .bytes_max = 4 },
	    "d @ 755 f a 644 xx f b 644 xxx u e", -EFBIG,
	    "d x 700\nf x/a 644 xx\n" },
	{ "a link out of the tree", NULL, { MANY },
	    "d @ 755 l a ../../outside u e", -EPERM, "d x 700\n" },
	{ "an absolute link", NULL, { MANY }, "d @ 755 l a /etc/passwd u e",
	    -EPERM, "d x 700\n" },
	{ "two that lead out together", NULL, { MANY },
	    "d @ 755 l a . l b a/../.. u e", -EPERM, "d x 700\nl x/a .\n" },
	{ "or left out, when that was asked", NULL,
	    { MANY, .links = ARCHIVE_LINKS_SKIP },
	    "d @ 755 l a /etc/passwd f b 644 x u e", 0,
	    "d x 755\nf x/b 644 x\n" },
	{ "left out, they count all the same", NULL,
	    { .entries_max = 3, .bytes_max = 9, .links = ARCHIVE_LINKS_SKIP },
	    "d @ 755 l a / l b / l c / u e", -EFBIG, "d x 700\n" },
	{ "or made, for a reader that trusts", NULL,
	    { MANY, .links = ARCHIVE_LINKS_ANY },
	    "d @ 755 l a ../../outside u e", 0,
	    "d x 755\nl x/a ../../outside\n" },
	{ "and then not written through", NULL,
	    { MANY, .links = ARCHIVE_LINKS_ANY },
	    "d @ 755 l a ../.. d a 755 f evil 644 x u u e", -EEXIST,
	    "d x 700\nl x/a ../..\n" },
	{ "nor a file through a link to a file", NULL,
	    { MANY, .links = ARCHIVE_LINKS_ANY },
	    "d @ 755 l a ../../outside f a 644 x u e", -EEXIST,
	    "d x 700\nl x/a ../../outside\n" },
	{ "a name twice", NULL, { MANY }, "d @ 755 f a 644 x f a 644 y u e",
	    -EEXIST, "d x 700\nf x/a 644 x\n" },
	{ "a directory twice", NULL, { MANY },
	    "d @ 755 d a 755 u d a 755 u u e", -EEXIST,
	    "d x 700\nd x/a 755\n" },
	{ "merged: what is there stays, what comes is added or new",
	    "d @ 711 f old 600 old f a 600 old d b 711 f c 600 old u u e",
	    { MANY, .merge = true },
	    "d @ 755 f a 644 new d b 755 f d 644 new u l e a u e", 0,
	    "d x 711\nf x/a 644 new\nd x/b 711\nf x/b/c 600 old\n"
	    "f x/b/d 644 new\nl x/e a\nf x/old 600 old\n" },
	{ "merged: a link is replaced, not written through",
	    "d @ 755 l a ../../outside u e", { MANY, .merge = true },
	    "d @ 755 f a 644 x u e", 0, "d x 755\nf x/a 644 x\n" },
	{ "merged: a file is replaced by a link", "d @ 755 f a 644 x u e",
	    { MANY, .merge = true }, "d @ 755 l a b u e", 0,
	    "d x 755\nl x/a b\n" },
	{ "merged: a link to a directory is not entered",
	    "d @ 755 l a ../.. u e", { MANY, .merge = true },
	    "d @ 755 d a 755 f evil 644 x u u e", -ENOTDIR,
	    "d x 755\nl x/a ../..\n" },
	{ "merged: a directory is not replaced by a file",
	    "d @ 755 d a 755 u u e", { MANY, .merge = true },
	    "d @ 755 f a 644 x u e", -EISDIR, "d x 755\nd x/a 755\n" },
	{ "merged: nor by a link", "d @ 755 d a 755 u u e",
	    { MANY, .merge = true }, "d @ 755 l a b u e", -EISDIR,
	    "d x 755\nd x/a 755\n" },
	{ "merged: nor a file by a directory", "d @ 755 f a 644 x u e",
	    { MANY, .merge = true }, "d @ 755 d a 755 u u e", -ENOTDIR,
	    "d x 755\nf x/a 644 x\n" },
	{ "merged: the root too is not a link that is followed", "f @ 644 x e",
	    { MANY, .merge = true }, "d @ 755 f a 644 x u e", -ENOTDIR,
	    "f x 644 x\n" },
	{ "merged: a name twice is the later", NULL, { MANY, .merge = true },
	    "d @ 755 f a 644 x f a 600 y u e", 0, "d x 755\nf x/a 600 y\n" },
	{ "a path that climbs", NULL, { MANY }, "d @ 755 f ../evil 644 x u e",
	    -EBADMSG, "d x 700\n" },
	{ "an absolute path", NULL, { MANY }, "d @ 755 f /tmp/evil 644 x u e",
	    -EBADMSG, "d x 700\n" },
	{ "set-user-id", NULL, { MANY }, "d @ 755 f a 4755 x u e", -EBADMSG,
	    "d x 700\n" },
	{ "an archive that stops", NULL, { MANY }, "d @ 755 f a 644 x",
	    -EBADMSG, "d x 700\nf x/a 644 x\n" },
};

/* A row may have made "x" such that its owner cannot remove what is in it. */
static void
make_removable(void)
{
	struct stat st;

	if (fstatat(place.fd, "x", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		assert_int_equal(fchmodat(place.fd, "x", 0700, 0), 0);
}

static void
makes_what_it_may_and_nothing_else(void **state)
{
	static const struct archive_limits trusted = { MANY,
		.links = ARCHIVE_LINKS_ANY };

	for (size_t i = 0; i < ROWS(rows); i++) {
		const int fds = count_fds();
		int rc;

		if (rows[i].before != NULL)
			assert_int_equal(read_script(&trusted, rows[i].before),
			    0);
		rc = read_script(&rows[i].limits, rows[i].script);
		if (rc != rows[i].want)
			fail_msg("%s: %s, want %s", rows[i].claim,
			    strerror(-rc), strerror(-rows[i].want));
		row_span(rows[i].claim,
		    span_of(tree_text(place.fd, place.text)), rows[i].after);
		row_equal("no descriptor is left", (uint64_t)count_fds(),
		    (uint64_t)fds);
		nothing_beside(rows[i].claim);
		make_removable();
		assert_int_equal(teardown(state) | setup(state), 0);
	}
}

static void
leaves_no_half_of_a_file(void **state)
{
	static const struct archive_limits limits = { MANY, .merge = true };
	struct wr w = wr_init(buf, sizeof(buf));
	struct err err;

	(void)state;
	put_script(&w, "d @ 755 f a 644 hello");
	assert_int_equal(read_bytes(&limits, w.len - 1, 100, &err), -EBADMSG);
	row_span("a new one is removed",
	    span_of(tree_text(place.fd, place.text)), "d x 700\n");
	assert_int_equal(read_script(&limits, "d @ 755 f a 644 old u e"), 0);
	w = wr_init(buf, sizeof(buf));
	put_script(&w, "d @ 755 f a 644 hello");
	assert_int_equal(read_bytes(&limits, w.len - 1, 100, &err), -EBADMSG);
	row_span("one that was there stays",
	    span_of(tree_text(place.fd, place.text)),
	    "d x 700\nf x/a 644 old\n");
}

/* As if it were killed there: nobody frees it before it is looked at. */
static void
has_no_name_for_half_of_what_replaces(void **state)
{
	static const struct archive_limits limits = { MANY, .merge = true };
	struct wr w = wr_init(buf, sizeof(buf));
	struct archive_reader *r;
	struct err err;
	int fd = openat(place.fd, ".", O_WRONLY | O_TMPFILE, 0600);

	(void)state;
	if (fd == -1)
		skip();
	(void)close(fd);
	assert_int_equal(read_script(&limits, "d @ 755 f a 644 old u e"), 0);
	put_script(&w, "d @ 755 f a 644 hello");
	assert_int_equal(archive_reader_new(place.fd, "x", &limits, NULL, NULL,
			     &r),
	    0);
	assert_int_equal(archive_reader_feed(r, (struct span){ buf, w.len - 1 },
			     &err),
	    0);
	row_span("nothing lies beside it",
	    span_of(tree_text(place.fd, place.text)),
	    "d x 755\nf x/a 644 old\n");
	archive_reader_free(r);
}

static void
keeps_times_and_gives_owners(void **state)
{
	const struct archive_limits limits = { MANY, .has_owner = true,
		.uid = geteuid() == 0 ? 1234 : geteuid(),
		.gid = geteuid() == 0 ? 4321 : getegid() };
	static const char *const names[] = { "x", "x/a", "x/l" };
	struct stat st;

	(void)state;
	assert_int_equal(read_script(&limits, "d @ 755 f a 644 x l l a u e"),
	    0);
	for (size_t i = 0; i < ROWS(names); i++) {
		assert_int_equal(fstatat(place.fd, names[i], &st,
				     AT_SYMLINK_NOFOLLOW),
		    0);
		row_equal(names[i], (uint64_t)st.st_mtim.tv_sec, 1000000000);
		row_equal(names[i], st.st_uid, limits.uid);
		row_equal(names[i], st.st_gid, limits.gid);
	}
	assert_int_equal(fstatat(place.fd, "x/a", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
}

/* 8 EiB are refused by what the entry says; no byte of it is waited for. */
static void
is_not_impressed_by_sizes(void **state)
{
	static const struct archive_limits limits = { .entries_max = 10,
		.bytes_max = UINT64_C(1) << 40 };
	struct wr w = wr_init(buf, sizeof(buf));
	struct err err;

	(void)state;
	put_script(&w, "d @ 755 f a 644 x");
	archive_entry_encode(&w,
	    &(struct archive_entry){ .type = ARCHIVE_FILE,
		.size = INT64_MAX,
		.name = span_of("b") });
	assert_int_equal(read_bytes(&limits, w.len, 100, &err), -EFBIG);
	assert_string_equal(err.text, "\"b\": more bytes than allowed");
}

/* The skip and its path are told; a NUL can be in neither. */
static void
on_skipped(const char *path, struct span target, void *arg)
{
	struct wr *w = arg;

	wr_fmt(w, "%s>%.*s;", path, (int)target.len, (const char *)target.ptr);
}

static void
tells_what_it_leaves_out(void **state)
{
	static const struct archive_limits limits = { MANY,
		.links = ARCHIVE_LINKS_SKIP };
	struct wr w = wr_init(buf, sizeof(buf));
	uint8_t told[256];
	struct wr out = wr_init(told, sizeof(told));
	struct archive_reader *r;
	struct err err;

	(void)state;
	put_script(&w, "d @ 755 d a 755 l b ../../c l d ../e u l f / u e");
	assert_int_equal(archive_reader_new(place.fd, "x", &limits, on_skipped,
			     &out, &r),
	    0);
	assert_int_equal(archive_reader_feed(r, (struct span){ buf, w.len },
			     &err),
	    0);
	assert_int_equal(archive_reader_end(r, &err), 0);
	assert_int_equal(archive_reader_totals(r)->skipped, 2);
	assert_int_equal(archive_reader_totals(r)->entries, 3);
	archive_reader_free(r);
	row_span("paths and targets", (struct span){ told, out.len },
	    "a/b>../../c;f>/;");
}

static void
takes_one_component_as_a_name(void **state)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/", "a/" };
	static const struct archive_limits limits = { MANY };
	struct archive_reader *r;

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		row_equal(names[i],
		    (uint64_t)-archive_reader_new(place.fd, names[i], &limits,
			NULL, NULL, &r),
		    EINVAL);
}

/* A hundred temporary names of killed runs, which had our process id. */
static void
does_not_touch_what_has_its_own_temporary_name(void **state)
{
	static const struct archive_limits limits = { MANY, .merge = true };
	char name[64];

	(void)state;
	assert_int_equal(read_script(&limits, "d @ 755 f a 644 old u e"), 0);
	(void)snprintf(name, sizeof(name), "x/.tapward-%ld-0", (long)getpid());
	assert_int_equal(symlinkat("../../outside", place.fd, name), 0);
	assert_int_equal(read_script(&limits, "d @ 755 f a 644 new u e"), 0);
	assert_int_equal(unlinkat(place.fd, name, 0), 0);
	row_span("replaced by another name",
	    span_of(tree_text(place.fd, place.text)),
	    "d x 755\nf x/a 644 new\n");
}

/* In a child: a file system of 64 KiB, where this process may make one. */
static int
fill_a_disk(void)
{
	static const struct archive_limits limits = { .entries_max = 1000,
		.bytes_max = 1 << 20 };
	struct wr w = wr_init(buf, sizeof(buf));
	struct err err;
	int rc;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tapward-test", place.path, "tmpfs", 0, "size=64k") == -1)
		return 77;
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_script(&w, "d @ 755");
	for (unsigned int i = 0; i < 4; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		archive_entry_encode(&w,
		    &(struct archive_entry){ .type = ARCHIVE_FILE,
			.mode = 0644,
			.size = 30000,
			.name = span_of(name) });
		memset(w.buf + w.len, 'x', 30000);
		w.len += 30000;
	}
	rc = read_bytes(&limits, w.len, 4096, &err);
	if (rc != -ENOSPC ||
	    strcmp(err.text, "\"c\": No space left on device") != 0 ||
	    faccessat(place.fd, "x/b", F_OK, 0) == -1 ||
	    faccessat(place.fd, "x/c", F_OK, 0) == 0)
		return 1;
	return 0;
}

static void
says_when_the_disk_is_full(void **state)
{
	const pid_t pid = fork();
	int status = 0;

	(void)state;
	if (pid == 0)
		_exit(fill_a_disk());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(makes_what_it_may_and_nothing_else),
		CLAIM(leaves_no_half_of_a_file),
		CLAIM(has_no_name_for_half_of_what_replaces),
		CLAIM(keeps_times_and_gives_owners),
		CLAIM(is_not_impressed_by_sizes),
		CLAIM(tells_what_it_leaves_out),
		CLAIM(takes_one_component_as_a_name),
		CLAIM(does_not_touch_what_has_its_own_temporary_name),
		CLAIM(says_when_the_disk_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
