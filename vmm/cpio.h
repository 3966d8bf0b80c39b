/*
 * Writes a cpio archive as the kernel's initramfs takes it: format "newc",
 * Documentation/driver-api/early-userspace/buffer-format.rst. Several one
 * after another are one: what comes later wins.
 */
#ifndef TAPWARD_VMM_CPIO_H
#define TAPWARD_VMM_CPIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Most that cpio_head() and cpio_pad() write, for a path of len bytes. */
#define CPIO_HEAD_BYTES(len) (110 + (len) + 1 + 3)
#define CPIO_PAD_BYTES 3

/*
 * What comes before the bytes of a file; mode with its type (stat(2)), size 0
 * for a folder. path without a leading '/'.
 */
void cpio_head(struct wr *w, const char *path, uint32_t mode, uint32_t size);
/* Behind the bytes of a file: up to the next multiple of four. */
void cpio_pad(struct wr *w, uint32_t size);
/* The end of an archive. */
void cpio_end(struct wr *w);

#endif
