/* Images in a store of our own: found by what names them, never if damaged. */
#include "wire_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "vmm/vm_image.h"
#include "vmm/vm_image_build.h"

#define PATH_SIZE (VM_IMAGE_PATH_SIZE + 128)

static char base[32], store[VM_IMAGE_PATH_SIZE];
static char first[DIGEST_TEXT_SIZE], second[DIGEST_TEXT_SIZE];

static void
sha256_text(const char *text, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_BYTES];

	assert_int_equal(digest_sha256(text, strlen(text), digest), 0);
	digest_hex(digest, ret);
}

static void
path_of(char path[PATH_SIZE], const char *digest, const char *file)
{
	(void)snprintf(path, PATH_SIZE, "%s/%s/%s", store, digest, file);
}

static void
write_file(const char *digest, const char *file, const char *text)
{
	char path[PATH_SIZE];
	FILE *f;

	path_of(path, digest, file);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
}

/* An image whose three files hold their own names. */
static void
add_image(const char *source, char ret[DIGEST_TEXT_SIZE])
{
	char kernel[DIGEST_TEXT_SIZE], modules[DIGEST_TEXT_SIZE];
	char root[DIGEST_TEXT_SIZE], text[1024], path[PATH_SIZE];

	sha256_text("kernel", kernel);
	sha256_text("modules.cpio", modules);
	sha256_text("root.squashfs", root);
	(void)snprintf(text, sizeof(text),
	    "{\"version\": 1, \"source\": \"%s\", \"kernel\": {\"sha256\": "
	    "\"%s\"}, \"modules\": {\"sha256\": \"%s\"}, \"root\": "
	    "{\"sha256\": \"%s\"}}",
	    source, kernel, modules, root);
	sha256_text(text, ret);
	path_of(path, ret, "");
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(ret, "manifest.json", text);
	write_file(ret, "kernel", "kernel");
	write_file(ret, "modules.cpio", "modules.cpio");
	write_file(ret, "root.squashfs", "root.squashfs");
}

static int
fill_store(void)
{
	char path[PATH_SIZE];

	if (setenv("TAPWARD_IMAGES", store, 1) == -1)
		return -1;
	path_of(path, "tags", "");
	if (mkdir(path, 0700) == -1)
		return -1;
	add_image("one", first);
	add_image("two", second);
	return vm_image_tag("default", first, NULL);
}

static int
setup(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/tapward-images-XXXXXX");
	if (mkdtemp(base) == NULL)
		return -1;
	memcpy(store, base, sizeof(base));
	return fill_store();
}

/* In a folder whose name is as long as one may be. */
static int
setup_deep(void **state)
{
	size_t len;

	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/tapward-images-XXXXXX");
	if (mkdtemp(base) == NULL)
		return -1;
	memcpy(store, base, sizeof(base));
	while ((len = strlen(store)) < VM_IMAGE_PATH_SIZE - 1) {
		const size_t left = VM_IMAGE_PATH_SIZE - 2 - len;
		const size_t n = left > 250 ? 200 : left;

		store[len] = '/';
		memset(store + len + 1, 'x', n);
		store[len + 1 + n] = '\0';
		if (mkdir(store, 0700) == -1)
			return -1;
	}
	return fill_store();
}

static int
teardown(void **state)
{
	char path[PATH_SIZE];

	(void)state;
	(void)vm_image_remove(first, NULL);
	(void)vm_image_remove(second, NULL);
	(void)snprintf(path, sizeof(path), "%s/tags", store);
	(void)rmdir(path);
	/* Nothing of the images is left, or this fails. */
	while (rmdir(store) == 0 && strcmp(store, base) != 0)
		*strrchr(store, '/') = '\0';
	return access(base, F_OK) == -1 ? 0 : -1;
}

static void
finds_by_tag_and_by_enough_of_a_digest(void **state)
{
	char found[DIGEST_TEXT_SIZE], start[16];

	(void)state;
	assert_int_equal(vm_image_find("default", found, NULL), 0);
	assert_string_equal(found, first);
	assert_int_equal(vm_image_find(second, found, NULL), 0);
	assert_string_equal(found, second);
	(void)snprintf(start, sizeof(start), "%.8s", second);
	assert_int_equal(vm_image_find(start, found, NULL), 0);
	assert_string_equal(found, second);
	start[7] = '\0';
	assert_int_equal(vm_image_find(start, found, NULL), -ENOENT);
}

static void
refuses_digits_that_name_several(void **state)
{
	char found[DIGEST_TEXT_SIZE], near[DIGEST_TEXT_SIZE];
	char path[PATH_SIZE], start[9];

	(void)state;
	memcpy(near, first, sizeof(near));
	near[63] = near[63] == '0' ? '1' : '0';
	path_of(path, near, "");
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(start, sizeof(start), "%.8s", first);
	assert_int_equal(vm_image_find(start, found, NULL), -EINVAL);
	assert_int_equal(rmdir(path), 0);
}

static void
refuses_names_that_leave_the_store(void **state)
{
	static const char *const names[] = { "", "..", "../x", "a/b", "-x",
		".x", "a b", "\033[31m", "a\n" };
	char found[DIGEST_TEXT_SIZE], path[PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		row_equal(names[i],
		    (uint64_t)-vm_image_find(names[i], found, NULL), EINVAL);
	/* A tag that is none of ours. */
	(void)snprintf(path, sizeof(path), "%s/tags/odd", store);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(vm_image_find("odd", found, NULL), -EINVAL);
	assert_int_equal(unlink(path), 0);
}

static void
opens_a_whole_image(void **state)
{
	struct vm_image i;
	char text[16] = "";

	(void)state;
	assert_int_equal(vm_image_open("default", &i, NULL), 0);
	assert_string_equal(i.digest, first);
	assert_int_equal(read(i.fds[VM_IMAGE_ROOT], text, 15), 13);
	assert_string_equal(text, "root.squashfs");
	vm_image_done(&i);
}

static const struct {
	const char *claim, *file, *text;
} damages[] = {
	{ "the kernel is another", "kernel", "Kernel" },
	{ "the modules are cut short", "modules.cpio", "modules" },
	{ "the root image is longer", "root.squashfs", "root.squashfs " },
	{ "the root image is empty", "root.squashfs", "" },
	{ "the manifest is another", "manifest.json", "{}" },
	{ "the manifest is empty", "manifest.json", "" },
};

static void
opens_nothing_that_is_damaged(void **state)
{
	for (size_t n = 0; n < ROWS(damages); n++) {
		struct vm_image i = VM_IMAGE_NONE;
		struct err err = { "" };

		write_file(first, damages[n].file, damages[n].text);
		row_equal(damages[n].claim,
		    (uint64_t)-vm_image_open("default", &i, &err), EBADMSG);
		row_equal(damages[n].claim,
		    strstr(err.text, damages[n].file) != NULL, true);
		assert_int_equal(i.fds[VM_IMAGE_KERNEL], -1);
		assert_int_equal(teardown(state) | setup(state), 0);
	}
}

/* What is no file is not waited for, nor followed. */
static void
opens_no_link_and_no_pipe(void **state)
{
	char path[PATH_SIZE], elsewhere[PATH_SIZE];
	struct vm_image i;

	(void)state;
	path_of(path, first, "kernel");
	path_of(elsewhere, second, "kernel");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_int_equal(vm_image_open("default", &i, NULL), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(vm_image_open("default", &i, NULL), -EBADMSG);
}

static void
removes_an_image_with_its_last_tag(void **state)
{
	char found[DIGEST_TEXT_SIZE];

	(void)state;
	assert_int_equal(vm_image_tag("again", first, NULL), 0);
	assert_int_equal(vm_image_remove("default", NULL), 0);
	assert_int_equal(vm_image_find("again", found, NULL), 0);
	assert_int_equal(vm_image_remove("again", NULL), 0);
	assert_int_equal(vm_image_find(first, found, NULL), -ENOENT);
	assert_int_equal(vm_image_find(second, found, NULL), 0);
}

/* What was cut off would name another folder than the image's. */
static void
removes_from_a_store_with_the_longest_name(void **state)
{
	char found[DIGEST_TEXT_SIZE];

	(void)state;
	assert_int_equal(strlen(store), VM_IMAGE_PATH_SIZE - 1);
	assert_int_equal(vm_image_remove(first, NULL), 0);
	assert_int_equal(vm_image_find(first, found, NULL), -ENOENT);
	assert_int_equal(vm_image_find(second, found, NULL), 0);
}

int
main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CLAIM(finds_by_tag_and_by_enough_of_a_digest),
		CLAIM(refuses_digits_that_name_several),
		CLAIM(refuses_names_that_leave_the_store),
		CLAIM(opens_a_whole_image),
		CLAIM(opens_nothing_that_is_damaged),
		CLAIM(opens_no_link_and_no_pipe),
		CLAIM(removes_an_image_with_its_last_tag),
		cmocka_unit_test_setup_teardown(
		    removes_from_a_store_with_the_longest_name, setup_deep,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
