/*
 * Secret memory, see secret.h. Each value has a mapping of its own: a page is
 * more than most need, but nothing else lies beside it, an overrun of another
 * object cannot reach into it through the heap, and munmap() returns it
 * wiped. RLIMIT_MEMLOCK counts the pages.
 */
#include "base/secret.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
whole_pages(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

/* Locked, left out of core files, zero in a forked child. 0 or -errno. */
static int
protect(void *ptr, size_t size)
{
	if (mlock(ptr, size) == -1)
		return -ENOMEM;
	if (madvise(ptr, size, MADV_DONTDUMP) == -1)
		return -errno;
	/* EINVAL: a kernel before 4.14, or an emulator that lacks it. */
	if (madvise(ptr, size, MADV_WIPEONFORK) == -1 && errno != EINVAL)
		return -errno;
	return 0;
}

static int
map_locked(size_t size, uint8_t **ret_ptr)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (ptr == MAP_FAILED)
		return -ENOMEM;
	rc = protect(ptr, size);
	if (rc != 0) {
		(void)munmap(ptr, size);
		return rc;
	}
	*ret_ptr = ptr;
	return 0;
}

int
secret_alloc(struct secret *s, size_t len)
{
	struct secret fresh = { NULL, len, whole_pages(len) };
	int rc = 0;

	if (len > SECRET_DERIVED_MAX_BYTES)
		return -E2BIG;
	if (len > 0)
		rc = map_locked(fresh.map_size, &fresh.ptr);
	if (rc != 0)
		return rc;
	secret_done(s);
	*s = fresh;
	return 0;
}

int
secret_set(struct secret *s, const void *ptr, size_t len)
{
	struct secret fresh = SECRET_NONE;
	int rc = len > SECRET_MAX_BYTES ? -E2BIG : secret_alloc(&fresh, len);

	if (rc != 0)
		return rc;
	if (len > 0)
		memcpy(fresh.ptr, ptr, len);
	/* Last, since ptr may lie in what s held. */
	secret_done(s);
	*s = fresh;
	return 0;
}

int
secret_read(struct secret *s, int fd)
{
	AUTO_SECRET struct secret whole = SECRET_NONE;
	size_t len = 0;
	int rc = secret_alloc(&whole, SECRET_MAX_BYTES);

	while (rc == 0) {
		bool is_full = len == whole.len;
		uint8_t more;
		ssize_t n = read(fd, is_full ? &more : whole.ptr + len,
		    is_full ? 1 : whole.len - len);
		if (n == 0)
			return secret_set(s, whole.ptr, len);
		if (n == -1 && errno != EINTR)
			rc = -errno;
		else if (n > 0 && is_full)
			rc = -E2BIG;
		else if (n > 0)
			len += (size_t)n;
	}
	return rc;
}

struct secret
secret_steal(struct secret *s)
{
	struct secret taken = *s;

	*s = SECRET_NONE;
	return taken;
}

struct span
secret_span(const struct secret *s)
{
	return (struct span){ s->ptr, s->len };
}

bool
secret_equals(const struct secret *a, struct span b)
{
	volatile uint8_t differs = 0;

	if (a->len != b.len)
		return false;
	for (size_t i = 0; i < b.len; i++)
		differs |= a->ptr[i] ^ b.ptr[i];
	return differs == 0;
}

void
secret_done(struct secret *s)
{
	int rc;

	if (s == NULL || s->ptr == NULL)
		return;
	secret_wipe(s->ptr, s->map_size);
	rc = munmap(s->ptr, s->map_size);
	assert(rc == 0);
	*s = SECRET_NONE;
}

void
secret_wipe(void *ptr, size_t len)
{
	if (len > 0)
		explicit_bzero(ptr, len);
}
