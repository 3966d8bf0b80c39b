/* See cpio.h. */
#include "vmm/cpio.h"

#include <string.h>

#define ALIGN 4

static void
zeros(struct wr *w, size_t len)
{
	static const uint8_t zero[ALIGN] = { 0 };

	wr_bytes(w, zero, (ALIGN - len % ALIGN) % ALIGN);
}

void
cpio_head(struct wr *w, const char *path, uint32_t mode, uint32_t size)
{
	const size_t path_size = strlen(path) + 1;

	/* magic, ino, mode, uid, gid, nlink, mtime, size, 4 of devices,
	 * the path's size, check */
	wr_fmt(w, "070701%08x%08x%08x%08x%08x%08x%08x", 0u, mode, 0u, 0u, 1u,
	    0u, size);
	wr_fmt(w, "%08x%08x%08x%08x%08x%08x", 0u, 0u, 0u, 0u,
	    (unsigned int)path_size, 0u);
	wr_bytes(w, path, path_size);
	zeros(w, 110 + path_size);
}

void
cpio_pad(struct wr *w, uint32_t size)
{
	zeros(w, size);
}

void
cpio_end(struct wr *w)
{
	cpio_head(w, "TRAILER!!!", 0, 0);
}
