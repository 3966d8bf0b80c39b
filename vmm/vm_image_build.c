/* See vm_image_build.h. */
#include "vmm/vm_image_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/paths.h"

#define PROGRAM "tapward-image-build"
#define FACTS_MAX 4096
#define TAGS_TEXT_MAX 1024
#define PATH_TEXT_SIZE (VM_IMAGE_PATH_SIZE + DIGEST_TEXT_SIZE + 64)
#define PACKAGES_MAX 1024
#define DEPTH_FDS 32

/* A folder of the store that is not an image yet. */
struct building {
	char store[VM_IMAGE_PATH_SIZE];
	char folder[PATH_TEXT_SIZE];
};

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	/* A folder that its owner may not write: packages have such. */
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	return remove(path) == -1 && errno != ENOENT ? -1 : 0;
}

static void
remove_tree(const char *path)
{
	(void)nftw(path, remove_one, DEPTH_FDS, FTW_DEPTH | FTW_PHYS);
}

/* The folder and those above it. */
static int
make_folders(const char *path, struct err *err)
{
	char part[PATH_TEXT_SIZE];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return err_os(err, -ENAMETOOLONG, "the store of images");
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			return err_os(err, -errno, "%s", part);
		part[i] = path[i];
	}
	return 0;
}

static int
begin(struct building *b, struct err *err)
{
	char tags[PATH_TEXT_SIZE];
	int rc = vm_image_store(b->store, err);

	if (rc != 0)
		return rc;
	(void)snprintf(tags, sizeof(tags), "%s/tags", b->store);
	rc = make_folders(tags, err);
	if (rc != 0)
		return rc;
	(void)snprintf(b->folder, sizeof(b->folder), "%s/.build-XXXXXX",
	    b->store);
	return mkdtemp(b->folder) == NULL ? err_os(err, -errno, "%s", b->store)
					  : 0;
}

static int
await(pid_t pid, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return err_os(err, -errno, PROGRAM);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	(void)err_at(err, NULL, 0, "the image was not built");
	return -EIO;
}

static int
run(const struct vm_image_recipe *r, const char *out, struct err *err)
{
	char program[PATH_TEXT_SIZE];
	const char *argv[PACKAGES_MAX + 5];
	size_t n = 0;
	union {
		const char **ours;
		char *const *spawns;
	} args = { .ours = argv };
	pid_t pid;
	int rc = paths_libexec(PROGRAM, program, sizeof(program));

	if (rc != 0)
		return err_os(err, rc, PROGRAM);
	argv[n++] = program;
	argv[n++] = out;
	argv[n++] = r->source;
	argv[n++] = r->kernel;
	for (const char *const *p = r->packages; *p != NULL; p++) {
		if (n == PACKAGES_MAX + 4)
			return err_at(err, NULL, 0,
			    "more than %d packages were named", PACKAGES_MAX);
		argv[n++] = *p;
	}
	argv[n] = NULL;
	rc = posix_spawn(&pid, program, NULL, NULL, args.spawns, environ);
	return rc == 0 ? await(pid, err) : err_os(err, -rc, "%s", program);
}

/* KEY=VALUE lines into the manifest, as text. */
static int
add_facts(const char *folder, json_t *manifest, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	char path[PATH_TEXT_SIZE + 16], *save, *line;
	size_t len;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/facts", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = fd == -1 ? -errno : fd_read_all(fd, FACTS_MAX, &text, &len);
	if (rc != 0)
		return err_os(err, rc, "%s", path);
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		(void)json_object_set_new(manifest, line, json_string(value));
	}
	(void)unlink(path);
	return 0;
}

static int
add_file(const char *folder, enum vm_image_file file, json_t *manifest,
    struct err *err)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_TEXT_SIZE + 32], digest[DIGEST_TEXT_SIZE];
	struct stat st;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", folder,
	    vm_image_file_name(file));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1 || fchmod(fd, 0444) == -1)
		return err_os(err, -errno, "%s", path);
	rc = vm_image_digest_file(fd, digest);
	if (rc != 0)
		return err_os(err, rc, "%s", path);
	/* What a crash of the machine leaves is an image or none. */
	if (fsync(fd) == -1)
		return err_os(err, -errno, "%s", path);
	(void)json_object_set_new(manifest, vm_image_file_key(file),
	    json_pack("{s:s, s:I}", "sha256", digest, "size",
		(json_int_t)st.st_size));
	return 0;
}

/* What an OCI image says of commands. */
static void
add_oci(const char *folder, json_t *manifest)
{
	char path[PATH_TEXT_SIZE + 32];
	const json_t *process;
	json_t *config;

	(void)snprintf(path, sizeof(path), "%s/oci-config.json", folder);
	config = json_load_file(path, 0, NULL);
	(void)unlink(path);
	process = json_object_get(config, "process");
	if (json_is_array(json_object_get(process, "env")))
		(void)json_object_set(manifest, "env",
		    json_object_get(process, "env"));
	if (json_is_string(json_object_get(process, "cwd")))
		(void)json_object_set(manifest, "workdir",
		    json_object_get(process, "cwd"));
	json_decref(config);
}

static json_t *
make_manifest(const struct vm_image_recipe *r, const char *folder,
    struct err *err)
{
	char now[CLOCK_TEXT_SIZE];
	json_t *m = json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "arch",
#if defined(__x86_64__)
	    "x86_64",
#elif defined(__aarch64__)
	    "aarch64",
#else
	    "unknown",
#endif
	    "created", clock_text(clock_wall_ms(), now), "source", r->source);
	int rc = add_facts(folder, m, err);

	add_oci(folder, m);
	for (unsigned int f = 0; rc == 0 && f < VM_IMAGE_FILES; f++)
		rc = add_file(folder, (enum vm_image_file)f, m, err);
	if (rc == 0)
		return m;
	json_decref(m);
	return NULL;
}

static int
write_manifest(const char *folder, const json_t *manifest,
    char ret_digest[DIGEST_TEXT_SIZE], struct err *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = json_dumps(manifest, JSON_INDENT(1));
	char path[PATH_TEXT_SIZE + 16];
	uint8_t digest[DIGEST_BYTES];
	int rc;

	if (text == NULL)
		return err_os(err, -ENOMEM, "the manifest");
	(void)snprintf(path, sizeof(path), "%s/manifest.json", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	rc = fd == -1 ? -errno : fd_write_all(fd, text, strlen(text));
	if (rc == 0 && fsync(fd) == -1)
		rc = -errno;
	if (rc == 0)
		rc = digest_sha256(text, strlen(text), digest);
	if (rc != 0)
		return err_os(err, rc, "%s", path);
	digest_hex(digest, ret_digest);
	return 0;
}

static int
finish(const struct building *b, const struct vm_image_recipe *r,
    char ret_digest[DIGEST_TEXT_SIZE], struct err *err)
{
	char path[PATH_TEXT_SIZE];
	json_t *manifest = make_manifest(r, b->folder, err);
	int rc = manifest == NULL
	    ? -EIO
	    : write_manifest(b->folder, manifest, ret_digest, err);

	json_decref(manifest);
	if (rc != 0)
		return rc;
	(void)snprintf(path, sizeof(path), "%s/%s", b->store, ret_digest);
	if (chmod(b->folder, 0755) == -1 || rename(b->folder, path) == -1)
		return err_os(err, -errno, "%s", path);
	return 0;
}

int
vm_image_build(const struct vm_image_recipe *r,
    char ret_digest[DIGEST_TEXT_SIZE], struct err *err)
{
	struct building b;
	int rc = begin(&b, err);

	if (rc != 0)
		return rc;
	rc = run(r, b.folder, err);
	if (rc == 0)
		rc = finish(&b, r, ret_digest, err);
	if (rc != 0) {
		remove_tree(b.folder);
		return rc;
	}
	return r->tag == NULL ? 0 : vm_image_tag(r->tag, ret_digest, err);
}

int
vm_image_tag(const char *tag, const char *digest, struct err *err)
{
	char store[VM_IMAGE_PATH_SIZE], target[DIGEST_TEXT_SIZE + 8];
	char path[PATH_TEXT_SIZE + VM_IMAGE_TAG_MAX];
	char next[PATH_TEXT_SIZE + VM_IMAGE_TAG_MAX + 16];
	int rc = vm_image_store(store, err);

	if (rc != 0)
		return rc;
	if (!vm_image_tag_is_valid(tag))
		return err_at(err, NULL, 0,
		    "\"%s\" is no name for an image: letters, digits, '.', "
		    "'_' and '-', at most %d",
		    tag, VM_IMAGE_TAG_MAX);
	(void)snprintf(target, sizeof(target), "../%s", digest);
	(void)snprintf(path, sizeof(path), "%s/tags/%s", store, tag);
	(void)snprintf(next, sizeof(next), "%s.%d~", path, (int)getpid());
	(void)unlink(next);
	if (symlink(target, next) == -1 || rename(next, path) == -1)
		return err_os(err, -errno, "%s", path);
	return 0;
}

/* Tags of an image into text, with blanks between; returns how many. */
static unsigned int
tags_of(const char *store, const char *digest, char text[TAGS_TEXT_MAX])
{
	char path[PATH_TEXT_SIZE], found[DIGEST_TEXT_SIZE];
	struct wr w = wr_init(text, TAGS_TEXT_MAX - 1);
	unsigned int count = 0;
	DIR *dir;
	const struct dirent *e;

	(void)snprintf(path, sizeof(path), "%s/tags", store);
	dir = opendir(path);
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (!vm_image_tag_is_valid(e->d_name) ||
		    vm_image_find(e->d_name, found, NULL) != 0 ||
		    strcmp(found, digest) != 0)
			continue;
		if (count++ > 0)
			wr_text(&w, " ");
		wr_text(&w, e->d_name);
	}
	if (dir != NULL)
		(void)closedir(dir);
	text[w.len] = '\0';
	return count;
}

static void
remove_tags(const char *store, char *tags)
{
	char path[PATH_TEXT_SIZE + VM_IMAGE_TAG_MAX], *save;

	for (char *tag = strtok_r(tags, " ", &save); tag != NULL;
	     tag = strtok_r(NULL, " ", &save)) {
		(void)snprintf(path, sizeof(path), "%s/tags/%s", store, tag);
		(void)unlink(path);
	}
}

int
vm_image_remove(const char *name, struct err *err)
{
	char store[VM_IMAGE_PATH_SIZE], digest[DIGEST_TEXT_SIZE];
	char path[PATH_TEXT_SIZE + VM_IMAGE_TAG_MAX], tags[TAGS_TEXT_MAX];
	char gone[PATH_TEXT_SIZE];
	int rc = vm_image_store(store, err);

	if (rc == 0)
		rc = vm_image_find(name, digest, err);
	if (rc != 0)
		return rc;
	(void)snprintf(path, sizeof(path), "%s/tags/%s", store, name);
	if (unlink(path) == -1) {
		(void)tags_of(store, digest, tags);
		remove_tags(store, tags);
	} else if (tags_of(store, digest, tags) > 0) {
		return 0;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", store, digest);
	/* First its name: half an image must not be found. */
	(void)snprintf(gone, sizeof(gone), "%s/.gone-%.12s", store, digest);
	if (rename(path, gone) == -1)
		return err_os(err, -errno, "%s", path);
	remove_tree(gone);
	return 0;
}

int
vm_image_list(vm_image_each *each, void *arg, struct err *err)
{
	char store[VM_IMAGE_PATH_SIZE], tags[TAGS_TEXT_MAX];
	char digest[DIGEST_TEXT_SIZE];
	const struct dirent *e;
	DIR *dir;
	int rc = vm_image_store(store, err);

	if (rc != 0)
		return rc;
	dir = opendir(store);
	if (dir == NULL)
		return errno == ENOENT ? 0 : err_os(err, -errno, "%s", store);
	while ((e = readdir(dir)) != NULL) {
		json_t *manifest = NULL;

		if (strlen(e->d_name) != DIGEST_TEXT_SIZE - 1 ||
		    vm_image_find(e->d_name, digest, NULL) != 0)
			continue;
		(void)tags_of(store, digest, tags);
		(void)vm_image_load(digest, &manifest, NULL);
		each(digest, tags, manifest, arg);
		json_decref(manifest);
	}
	(void)closedir(dir);
	return 0;
}
