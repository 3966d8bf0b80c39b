/*
 * An archive as the kernel and cpio(1) read it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "vmm/cpio.h"

static void
each_part_ends_at_a_multiple_of_four(void **state)
{
	uint8_t buf[256];

	(void)state;
	for (size_t len = 1; len < 40; len++) {
		char path[41];
		struct wr w = wr_init(buf, sizeof(buf));

		memset(path, 'a', len);
		path[len] = '\0';
		cpio_head(&w, path, S_IFREG | 0644, (uint32_t)len);
		assert_true(wr_ok(&w));
		assert_int_equal(w.len % 4, 0);
		assert_true(w.len <= CPIO_HEAD_BYTES(len));
		assert_int_equal(w.buf[110 + len], 0);
		w.len += len;
		cpio_pad(&w, (uint32_t)len);
		assert_int_equal(w.len % 4, 0);
	}
}

static void
the_head_is_thirteen_numbers_of_eight_digits(void **state)
{
	uint8_t buf[128];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	cpio_head(&w, "init", S_IFREG | 0755, 0x1234);
	assert_memory_equal(buf,
	    "070701"   /* magic */
	    "00000000" /* inode */
	    "000081ed" /* mode */
	    "00000000" /* uid */
	    "00000000" /* gid */
	    "00000001" /* links */
	    "00000000" /* time */
	    "00001234" /* size */
	    "00000000"
	    "00000000"
	    "00000000"
	    "00000000" /* devices */
	    "00000005" /* of the name, with its NUL */
	    "00000000" /* check */
	    "init",
	    115);
}

static void
what_does_not_fit_fails(void **state)
{
	uint8_t buf[100];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	cpio_head(&w, "init", S_IFREG | 0755, 1);
	assert_false(wr_ok(&w));
}

/* The independent reader: names and content come out as they went in. */
static void
cpio_lists_what_was_written(void **state)
{
	char path[] = "/tmp/tapward-cpio-XXXXXX", command[128], line[64];
	uint8_t buf[1024];
	struct wr w = wr_init(buf, sizeof(buf));
	int fd = mkstemp(path);
	FILE *f;

	(void)state;
	assert_int_not_equal(fd, -1);
	cpio_head(&w, "tapward", S_IFDIR | 0755, 0);
	cpio_head(&w, "tapward/config", S_IFREG | 0444, 5);
	wr_text(&w, "hello");
	cpio_pad(&w, 5);
	cpio_end(&w);
	f = fdopen(fd, "w");
	assert_int_equal(fwrite(buf, 1, w.len, f), w.len);
	(void)fclose(f);
	(void)snprintf(command, sizeof(command),
	    "cpio -i --quiet --to-stdout tapward/config <%s", path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "hello");
	assert_int_equal(pclose(f), 0);
	(void)remove(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_ends_at_a_multiple_of_four),
		cmocka_unit_test(the_head_is_thirteen_numbers_of_eight_digits),
		cmocka_unit_test(what_does_not_fit_fails),
		cmocka_unit_test(cpio_lists_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
