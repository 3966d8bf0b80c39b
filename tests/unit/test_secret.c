#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/secret.h"

/* AddressSanitizer makes mlock() do nothing. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKS false
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LOCKS false
#endif
#ifndef LOCKS
#define LOCKS true
#endif

static void
holds_a_copy(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	char source[] = "token";

	(void)state;
	assert_int_equal(secret_set(&s, source, 5), 0);
	secret_wipe(source, sizeof(source));
	assert_memory_equal(source, "\0\0\0\0\0\0", 6);
	assert_true(secret_equals(&s, span_of("token")));
	assert_false(secret_equals(&s, span_of("tokem")));
	assert_false(secret_equals(&s, span_of("toke")));
	assert_int_equal(secret_span(&s).len, 5);
}

static void
a_new_value_replaces_the_old(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	/* Even when it is a part of the old one. */
	assert_int_equal(secret_set(&s, s.ptr + 1, 3), 0);
	assert_true(secret_equals(&s, span_of("oke")));
	assert_int_equal(secret_set(&s, NULL, 0), 0);
	assert_null(s.ptr);
	assert_true(secret_equals(&s, span_of("")));
}

static void
too_long_is_refused_and_changes_nothing(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	assert_int_equal(secret_alloc(&s, SECRET_DERIVED_MAX_BYTES + 1),
	    -E2BIG);
	assert_true(secret_equals(&s, span_of("token")));
	assert_int_equal(secret_alloc(&s, SECRET_MAX_BYTES), 0);
	assert_int_equal(s.len, SECRET_MAX_BYTES);
}

static void
stealing_leaves_nothing(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	AUTO_SECRET struct secret t = SECRET_NONE;

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	t = secret_steal(&s);
	assert_null(s.ptr);
	assert_true(secret_equals(&t, span_of("token")));
	secret_done(&t);
	secret_done(&t);
	secret_done(NULL);
	assert_null(t.ptr);
}

/* "lo" in the VmFlags of the mapping at ptr, as /proc/self/smaps shows it. */
static void
get_vm_flags(const void *ptr, char flags[256])
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	bool is_here = false;
	uintptr_t from, to;

	assert_non_null(f);
	flags[0] = '\0';
	while (flags[0] == '\0' && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_here = from <= (uintptr_t)ptr && (uintptr_t)ptr < to;
		if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			memcpy(flags, line, 255);
	}
	flags[255] = '\0';
	(void)fclose(f);
}

static void
memory_is_locked_and_left_out_of_cores_and_children(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	char flags[256];

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	get_vm_flags(s.ptr, flags);
	if (LOCKS)
		assert_non_null(strstr(flags, " lo"));
	assert_non_null(strstr(flags, " dd")); /* not dumped */
	assert_non_null(strstr(flags, " wf")); /* wiped on fork */
}

static void
a_forked_child_finds_zeros(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0)
		_exit(memcmp(s.ptr, "\0\0\0\0\0", 5) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(secret_equals(&s, span_of("token")));
}

static void
memory_that_cannot_be_locked_is_refused(void **state)
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	(void)state;
	if (!LOCKS)
		skip();
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct secret s = SECRET_NONE;

		/* CAP_IPC_LOCK would pass the limit. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 ||
		    (getuid() == 0 && setresuid(65534, 65534, 65534) != 0))
			_exit(2);
		_exit(secret_set(&s, "token", 5) == -ENOMEM && s.ptr == NULL
			? 0
			: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
reads_from_a_descriptor(void **state)
{
	static char big[SECRET_MAX_BYTES + 1];
	static const struct {
		size_t len;
		int want;
	} rows[] = {
		{ 0, 0 },
		{ 5, 0 },
		{ SECRET_MAX_BYTES, 0 },
		{ SECRET_MAX_BYTES + 1, -E2BIG },
	};

	(void)state;
	memset(big, 't', sizeof(big));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO_SECRET struct secret s = SECRET_NONE;
		AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);

		assert_int_equal(fd_write_all(fd, big, rows[i].len), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(secret_read(&s, fd), rows[i].want);
		assert_int_equal(s.len, rows[i].want == 0 ? rows[i].len : 0);
		assert_true(rows[i].want != 0 ||
		    secret_equals(&s,
			(struct span){ (uint8_t *)big, rows[i].len }));
	}
}

static void
reading_reports_what_read_reports(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;

	(void)state;
	assert_int_equal(secret_set(&s, "token", 5), 0);
	assert_int_equal(secret_read(&s, -1), -EBADF);
	assert_true(secret_equals(&s, span_of("token")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_a_copy),
		cmocka_unit_test(a_new_value_replaces_the_old),
		cmocka_unit_test(too_long_is_refused_and_changes_nothing),
		cmocka_unit_test(stealing_leaves_nothing),
		cmocka_unit_test(
		    memory_is_locked_and_left_out_of_cores_and_children),
		cmocka_unit_test(a_forked_child_finds_zeros),
		cmocka_unit_test(memory_that_cannot_be_locked_is_refused),
		cmocka_unit_test(reads_from_a_descriptor),
		cmocka_unit_test(reading_reports_what_read_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
