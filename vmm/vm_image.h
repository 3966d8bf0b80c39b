/*
 * Images: what a guest is started from. A folder of the store for each, named
 * by the SHA-256 of its manifest:
 *
 *   manifest.json  version, arch, created, source; and of root, kernel and
 *                  modules each: sha256, size; env, workdir, user
 *   root.squashfs  the root file system, read only
 *   kernel         an ELF image with a PVH note, or a bzImage
 *   modules.cpio   modules/order, the names in the order to load them in, and
 *                  modules/NAME for each, not compressed
 *
 * and `tags/NAME`, symbolic links to those folders. Whoever uses an image opens
 * it as themselves; nothing here is done for another user.
 */
#ifndef TAPWARD_VMM_VM_IMAGE_H
#define TAPWARD_VMM_VM_IMAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/names.h"

#define VM_IMAGE_PATH_SIZE 512
#define VM_IMAGE_MANIFEST_MAX_BYTES 65536
#define VM_IMAGE_TAG_MAX 64
/* Digits of a digest that name an image where they name only one. */
#define VM_IMAGE_DIGEST_MIN 8

enum vm_image_file {
	VM_IMAGE_KERNEL,
	VM_IMAGE_MODULES,
	VM_IMAGE_ROOT,
	VM_IMAGE_FILES
};

struct vm_image {
	char digest[DIGEST_TEXT_SIZE];
	json_t *manifest;        /* owned */
	int fds[VM_IMAGE_FILES]; /* owned, read-only; -1: not open */
};

#define VM_IMAGE_NONE                                                          \
	(struct vm_image)                                                      \
	{                                                                      \
		.fds = { -1, -1, -1 }                                          \
	}

/*
 * The caller's store: $TAPWARD_IMAGES; else /var/lib/tapward/images for root
 * and $XDG_DATA_HOME/tapward/images, ~/.local/share/tapward/images for others.
 * -EINVAL without a home.
 */
int vm_image_store(char ret[VM_IMAGE_PATH_SIZE], struct err *err);
/* [A-Za-z0-9][A-Za-z0-9._-]*, at most VM_IMAGE_TAG_MAX. */
bool vm_image_tag_is_valid(const char *tag);
/* "root.squashfs", "root": its file and its member of the manifest. */
const char *vm_image_file_name(enum vm_image_file file);
const char *vm_image_file_key(enum vm_image_file file);

/*
 * Finds the image by its tag, its digest, or the first digits of it. digest is
 * written. -ENOENT, -EINVAL when it names several, or -errno.
 */
int vm_image_find(const char *name, char ret_digest[DIGEST_TEXT_SIZE],
    struct err *err);
/* Its manifest alone, whose digest is checked. */
int vm_image_load(const char *digest, json_t **ret, struct err *err);
/*
 * Opens all of it after checking every byte against its digests: what a disk
 * lost or somebody changed is never started. 0, or as above; -EBADMSG for an
 * image that is not what its name says.
 */
int vm_image_open(const char *name, struct vm_image *ret, struct err *err);
void vm_image_done(struct vm_image *i);

/* SHA-256 of a file from its start, as text. 0 or -errno. */
int vm_image_digest_file(int fd, char ret[DIGEST_TEXT_SIZE]);

#endif
