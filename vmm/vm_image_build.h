/*
 * Making an image and putting it into the store. What gathers the files is a
 * program of its own, tapward-image-build, since it only calls others.
 */
#ifndef TAPWARD_VMM_VM_IMAGE_BUILD_H
#define TAPWARD_VMM_VM_IMAGE_BUILD_H

#include "vmm/vm_image.h"

struct vm_image_recipe {
	const char *source; /* "host", "debian", "oci:...", "dir:..." */
	const char *kernel; /* "installed", "debian", or a path */
	const char *tag;    /* NULL: none */
	const char *const *packages; /* NULL-terminated */
};

/*
 * Builds it, whole or not at all; what the program says goes to stderr. 0 or
 * -errno with err set; ret is its digest.
 */
int vm_image_build(const struct vm_image_recipe *r,
    char ret_digest[DIGEST_TEXT_SIZE], struct err *err);
/* Points tag at the image. 0 or -errno. */
int vm_image_tag(const char *tag, const char *digest, struct err *err);
/*
 * By tag: takes the tag away, and the image if it has no other; by digest: the
 * image with all its tags. 0 or -errno.
 */
int vm_image_remove(const char *name, struct err *err);

/* Each image of the store; tags are separated by blanks. */
typedef void vm_image_each(const char *digest, const char *tags,
    const json_t *manifest, void *arg);
/* One that cannot be read is told with a NULL manifest. 0 or -errno. */
int vm_image_list(vm_image_each *each, void *arg, struct err *err);

#endif
