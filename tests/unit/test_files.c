/*
 * Files of the supervisor: whole or not at all, and never through a link.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "daemon/files.h"

static char folder[64];

static const char *
path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int
setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/tapward-files.XXXXXX");
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	return files_remove_dir(folder);
}

static struct files_owner
ourselves(mode_t mode)
{
	return (struct files_owner){ getuid(), getgid(), mode };
}

static void
count_name(const char *name, void *arg)
{
	(void)name;
	++*(unsigned int *)arg;
}

static void
copies_a_descriptor_from_its_start(void **state)
{
	const struct files_owner owner = ourselves(0640);
	AUTO_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	unsigned int names = 0;
	struct stat st;
	char text[16];

	(void)state;
	assert_int_equal(fd_write_all(fd, "hello", 5), 0);
	assert_int_equal(files_copy_atomic(path_of("file"), fd, &owner), 0);
	assert_int_equal(files_read_text(path_of("file"), text, sizeof(text)),
	    0);
	assert_string_equal(text, "hello");
	assert_int_equal(stat(path_of("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* Nothing lies beside it. */
	assert_int_equal(files_each(folder, count_name, &names), 0);
	assert_int_equal(names, 1);
}

static void
does_not_write_through_a_link(void **state)
{
	const struct files_owner owner = ourselves(0600);
	AUTO_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	char target[256], text[16];

	(void)state;
	(void)snprintf(target, sizeof(target), "%s", path_of("target"));
	assert_int_equal(fd_write_all(fd, "new", 3), 0);
	assert_int_equal(files_copy_atomic(target, fd, &owner), 0);
	assert_int_equal(symlink(target, path_of("link")), 0);
	assert_int_equal(symlink(target, path_of("link.new")), 0);
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_int_equal(files_copy_atomic(path_of("link"), fd, &owner), 0);
	assert_int_equal(files_read_text(target, text, sizeof(text)), 0);
	assert_string_equal(text, "new");
	assert_int_equal(files_read_text(path_of("link"), text, sizeof(text)),
	    0);
	assert_string_equal(text, "n");
}

static void
a_failed_copy_leaves_the_old_file(void **state)
{
	const struct files_owner owner = ourselves(0600);
	AUTO_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	unsigned int names = 0;
	char text[16];

	(void)state;
	assert_int_equal(fd_write_all(fd, "old", 3), 0);
	assert_int_equal(files_copy_atomic(path_of("file"), fd, &owner), 0);
	assert_int_equal(files_copy_atomic(path_of("file"), -1, &owner),
	    -EBADF);
	assert_int_equal(files_read_text(path_of("file"), text, sizeof(text)),
	    0);
	assert_string_equal(text, "old");
	assert_int_equal(files_each(folder, count_name, &names), 0);
	assert_int_equal(names, 1);
}

static void
makes_sealed_copies_up_to_a_size(void **state)
{
	AUTO_CLOSE int fd = memfd_create("source", MFD_CLOEXEC);
	AUTO_CLOSE int copy = -1;

	(void)state;
	assert_int_equal(fd_write_all(fd, "hello", 5), 0);
	assert_int_equal(files_to_memfd("copy", fd, 4, &copy), -EFBIG);
	assert_int_equal(files_to_memfd("copy", fd, 5, &copy), 0);
	assert_true(fd_is_sealed(copy));
	assert_int_equal(lseek(copy, 0, SEEK_END), 5);
}

static void
a_link_is_no_folder(void **state)
{
	const struct files_owner owner = ourselves(0700);

	(void)state;
	assert_int_equal(symlink("/tmp", path_of("link")), 0);
	assert_int_equal(files_make_dir(path_of("link"), &owner), -ENOTDIR);
}

static void
a_folder_gets_the_mode_it_should_have(void **state)
{
	const struct files_owner owner = ourselves(0711);
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(path_of("folder"), 0777), 0);
	assert_int_equal(files_make_dir(path_of("folder"), &owner), 0);
	assert_int_equal(stat(path_of("folder"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(files_remove_dir(path_of("folder")), 0);
	assert_int_equal(files_remove_dir(path_of("folder")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    copies_a_descriptor_from_its_start, setup, teardown),
		cmocka_unit_test_setup_teardown(does_not_write_through_a_link,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_failed_copy_leaves_the_old_file, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    makes_sealed_copies_up_to_a_size, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_is_no_folder, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_folder_gets_the_mode_it_should_have, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
