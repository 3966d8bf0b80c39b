/* See vm_image.h. */
#include "vmm/vm_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/fd.h"

#define ROOT_STORE "/var/lib/tapward/images"
#define USER_STORE "tapward/images"
#define TAGS "tags"
#define MANIFEST "manifest.json"

static const struct {
	const char *name, *key;
} files[VM_IMAGE_FILES] = {
	[VM_IMAGE_KERNEL] = { "kernel", "kernel" },
	[VM_IMAGE_MODULES] = { "modules.cpio", "modules" },
	[VM_IMAGE_ROOT] = { "root.squashfs", "root" },
};

const char *
vm_image_file_name(enum vm_image_file file)
{
	return files[file].name;
}

const char *
vm_image_file_key(enum vm_image_file file)
{
	return files[file].key;
}

__attribute__((format(printf, 3, 4))) static int
put_path(char ret[VM_IMAGE_PATH_SIZE], struct err *err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(ret, VM_IMAGE_PATH_SIZE, fmt, ap);
	va_end(ap);
	return n > 0 && n < VM_IMAGE_PATH_SIZE
	    ? 0
	    : err_os(err, -ENAMETOOLONG, "the store of images");
}

int
vm_image_store(char ret[VM_IMAGE_PATH_SIZE], struct err *err)
{
	const char *own = getenv("TAPWARD_IMAGES");
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (own != NULL && *own != '\0')
		return put_path(ret, err, "%s", own);
	if (geteuid() == 0)
		return put_path(ret, err, ROOT_STORE);
	if (data != NULL && *data == '/')
		return put_path(ret, err, "%s/" USER_STORE, data);
	if (home != NULL && *home == '/')
		return put_path(ret, err, "%s/.local/share/" USER_STORE, home);
	return err_at(err, NULL, 0,
	    "there is no home to keep images in; set TAPWARD_IMAGES");
}

bool
vm_image_tag_is_valid(const char *tag)
{
	size_t len = strlen(tag);

	if (len == 0 || len > VM_IMAGE_TAG_MAX ||
	    !ascii_is_alnum((uint8_t)*tag))
		return false;
	for (const char *p = tag; *p != '\0'; p++)
		if (!ascii_is_alnum((uint8_t)*p) && strchr("._-", *p) == NULL)
			return false;
	return true;
}

static bool
is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (ascii_hex((uint8_t)text[i]) == -1 ||
		    ascii_lower((uint8_t)text[i]) != (uint8_t)text[i])
			return false;
	return true;
}

static bool
is_digest(const char *text)
{
	return strlen(text) == DIGEST_TEXT_SIZE - 1 &&
	    is_hex(text, DIGEST_TEXT_SIZE - 1);
}

/* The tag's link: "../DIGEST". */
static int
read_tag(const char *store, const char *tag, char ret[DIGEST_TEXT_SIZE],
    struct err *err)
{
	char path[VM_IMAGE_PATH_SIZE + VM_IMAGE_TAG_MAX + 8], target[128];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/" TAGS "/%s", store, tag);
	n = readlink(path, target, sizeof(target) - 1);
	if (n == -1)
		return -errno;
	target[n] = '\0';
	if (strncmp(target, "../", 3) != 0 || !is_digest(target + 3))
		return err_at(err, path, 0,
		    "is no tag of ours; tapward image rm takes it away");
	memcpy(ret, target + 3, DIGEST_TEXT_SIZE);
	return 0;
}

/* The one image whose digest begins so. */
static int
find_prefix(const char *store, const char *prefix, char ret[DIGEST_TEXT_SIZE],
    struct err *err)
{
	DIR *dir = opendir(store);
	const struct dirent *e;
	unsigned int found = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL) {
		if (!is_digest(e->d_name) ||
		    strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		found++;
		memcpy(ret, e->d_name, DIGEST_TEXT_SIZE);
	}
	(void)closedir(dir);
	if (found > 1)
		return err_at(err, NULL, 0,
		    "%s names %u images; give more of its digits", prefix,
		    found);
	return found == 1 ? 0 : -ENOENT;
}

int
vm_image_find(const char *name, char ret_digest[DIGEST_TEXT_SIZE],
    struct err *err)
{
	char store[VM_IMAGE_PATH_SIZE];
	size_t len = strlen(name);
	int rc = vm_image_store(store, err);

	if (rc != 0)
		return rc;
	if (!vm_image_tag_is_valid(name))
		return err_at(err, NULL, 0,
		    "\"%s\" is neither an image's name nor its digest", name);
	rc = read_tag(store, name, ret_digest, err);
	if (rc == -ENOENT && len >= VM_IMAGE_DIGEST_MIN && is_hex(name, len))
		rc = find_prefix(store, name, ret_digest, err);
	if (rc != -ENOENT)
		return rc == 0 || rc == -EINVAL ? rc
						: err_os(err, rc, "%s", store);
	(void)err_at(err, NULL, 0,
	    "there is no image \"%s\" in %s; tapward image build makes one, "
	    "tapward image list shows those there are",
	    name, store);
	return -ENOENT;
}

static int
open_part(const char *digest, const char *file, int *ret_fd, struct err *err)
{
	char store[VM_IMAGE_PATH_SIZE];
	char path[VM_IMAGE_PATH_SIZE + DIGEST_TEXT_SIZE + 32];
	struct stat st;
	int fd, rc = vm_image_store(store, err);

	if (rc != 0)
		return rc;
	(void)snprintf(path, sizeof(path), "%s/%s/%s", store, digest, file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1)
		return err_os(err, -errno, "%s", path);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		(void)err_at(err, path, 0, "is no file; build the image anew");
		return -EBADMSG;
	}
	*ret_fd = fd;
	return 0;
}

int
vm_image_digest_file(int fd, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_BYTES];
	struct stat st;
	void *bytes;
	int rc;

	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size == 0)
		return -ENODATA;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	(void)madvise(bytes, (size_t)st.st_size, MADV_SEQUENTIAL);
	rc = digest_sha256(bytes, (size_t)st.st_size, digest);
	(void)munmap(bytes, (size_t)st.st_size);
	if (rc == 0)
		digest_hex(digest, ret);
	return rc;
}

static int
is_not_what_it_says(const char *digest, const char *file, struct err *err)
{
	(void)err_at(err, NULL, 0,
	    "image %.12s: %s is not what was built: its digest differs; "
	    "tapward image rm %.12s, and build it anew",
	    digest, file, digest);
	return -EBADMSG;
}

static int
check_digest(int fd, const char *digest, const char *file, const char *want,
    struct err *err)
{
	char found[DIGEST_TEXT_SIZE];
	int rc = vm_image_digest_file(fd, found);

	if (rc != 0 && rc != -ENODATA)
		return err_os(err, rc, "image %.12s: %s", digest, file);
	if (rc == 0 && want != NULL && strcmp(found, want) == 0)
		return 0;
	return is_not_what_it_says(digest, file, err);
}

int
vm_image_load(const char *digest, json_t **ret, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	json_t *manifest;
	size_t len;
	int rc = open_part(digest, MANIFEST, &fd, err);

	if (rc == 0)
		rc = check_digest(fd, digest, MANIFEST, digest, err);
	if (rc != 0)
		return rc;
	rc = fd_read_all(fd, VM_IMAGE_MANIFEST_MAX_BYTES, &text, &len);
	if (rc != 0)
		return err_os(err, rc, "image %.12s: " MANIFEST, digest);
	manifest = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(manifest)) {
		json_decref(manifest);
		return is_not_what_it_says(digest, MANIFEST, err);
	}
	*ret = manifest;
	return 0;
}

static int
open_file(struct vm_image *i, enum vm_image_file file, struct err *err)
{
	const json_t *about = json_object_get(i->manifest, files[file].key);
	const char *want = json_string_value(json_object_get(about, "sha256"));
	int rc = open_part(i->digest, files[file].name, &i->fds[file], err);

	return rc != 0 ? rc
		       : check_digest(i->fds[file], i->digest, files[file].name,
			     want, err);
}

int
vm_image_open(const char *name, struct vm_image *ret, struct err *err)
{
	struct vm_image i = VM_IMAGE_NONE;
	int rc = vm_image_find(name, i.digest, err);

	if (rc == 0)
		rc = vm_image_load(i.digest, &i.manifest, err);
	for (unsigned int f = 0; rc == 0 && f < VM_IMAGE_FILES; f++)
		rc = open_file(&i, (enum vm_image_file)f, err);
	if (rc != 0) {
		vm_image_done(&i);
		return rc;
	}
	*ret = i;
	return 0;
}

void
vm_image_done(struct vm_image *i)
{
	json_decref(i->manifest);
	for (unsigned int f = 0; f < VM_IMAGE_FILES; f++)
		fd_close(&i->fds[f]);
	*i = VM_IMAGE_NONE;
}
