/* Mapping and asking the image of roots, see roots_private.h for its form. */
#include "proxy/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "proxy/roots_private.h"

#define IMAGE_MAX_BYTES (16u << 20)

struct slot {
	enum roots_pattern kind;
	struct span name; /* len 0: empty */
	uint32_t set;
};

static struct rd
read_at(const struct roots *r, size_t at)
{
	struct rd in = rd_span(r->image);

	rd_skip(&in, at);
	return in;
}

/* {NULL, 0} when it is not within the image, behind the tables. */
static struct span
part(const struct roots *r, uint32_t offset, uint32_t len)
{
	if (offset < r->end_of_slots || offset > r->image.len ||
	    len > r->image.len - offset)
		return (struct span){ NULL, 0 };
	return (struct span){ r->image.ptr + offset, len };
}

struct roots_entry
roots_entry_at(const struct roots *r, uint32_t i)
{
	struct rd in =
	    read_at(r, r->entries_at + (size_t)i * ROOTS_ENTRY_BYTES);
	struct roots_entry e = { .hash = rd_u32(&in) };
	uint32_t offset = rd_u32(&in);

	e.der = part(r, offset, rd_u32(&in));
	return e;
}

/* False for one that is not sound. */
static bool
slot_at(const struct roots *r, uint32_t i, struct slot *ret)
{
	struct rd in = read_at(r, r->slots_at + (size_t)i * ROOTS_SLOT_BYTES);
	uint32_t offset = rd_u32(&in);
	uint32_t len_kind = rd_u32(&in);

	*ret = (struct slot){ .set = rd_u32(&in) };
	if (offset == 0)
		return true;
	ret->kind = (enum roots_pattern)(len_kind & 0xff);
	ret->name = part(r, offset, len_kind >> 8);
	return ret->name.len > 0 && ret->kind < ROOTS_PATTERNS &&
	    ret->set < r->set_count;
}

static bool
read_sets(struct roots *r, struct rd *in)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->set_count; i++) {
		struct roots_set *s = &r->sets[i];

		s->first = count;
		s->count = rd_u32(in);
		s->flags = rd_u32(in);
		if (!rd_ok(in) || s->count > ROOTS_MAX - count ||
		    s->flags > ROOTS_WITH_PUBLIC)
			return false;
		count += s->count;
	}
	r->entries_at =
	    ROOTS_HEADER_BYTES + (size_t)r->set_count * ROOTS_SET_BYTES;
	r->slots_at = r->entries_at + (size_t)count * ROOTS_ENTRY_BYTES;
	r->end_of_slots =
	    r->slots_at + (size_t)r->slot_count * ROOTS_SLOT_BYTES;
	return r->end_of_slots <= r->image.len;
}

static bool
are_entries_sound(const struct roots *r)
{
	for (uint32_t i = 0; i < r->set_count; i++) {
		const struct roots_set *s = &r->sets[i];
		uint32_t last_hash = 0;

		for (uint32_t k = s->first; k < s->first + s->count; k++) {
			struct roots_entry e = roots_entry_at(r, k);

			if (e.der.ptr == NULL || e.hash < last_hash)
				return false;
			last_hash = e.hash;
		}
	}
	return true;
}

static bool
is_slot_count(uint32_t n)
{
	return n == 0 || (n <= ROOTS_SLOTS_MAX && (n & (n - 1)) == 0);
}

static bool
is_sound(struct roots *r)
{
	struct rd in = rd_span(r->image);
	struct span magic = rd_take(&in, ROOTS_MAGIC_BYTES);
	struct slot slot;

	r->key.k0 = rd_u64(&in);
	r->key.k1 = rd_u64(&in);
	r->set_count = rd_u32(&in);
	r->slot_count = rd_u32(&in);
	if (!rd_ok(&in) || !span_is(magic, ROOTS_MAGIC) || r->set_count == 0 ||
	    r->set_count > ROOTS_SETS_MAX || !is_slot_count(r->slot_count) ||
	    !read_sets(r, &in) || !are_entries_sound(r))
		return false;
	for (uint32_t i = 0; i < r->slot_count; i++)
		if (!slot_at(r, i, &slot))
			return false;
	return true;
}

int
roots_map_bytes(struct span image, struct roots **ret)
{
	struct roots *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->image = image;
	r->refs = 1;
	if (!is_sound(r)) {
		free(r);
		return -EBADMSG;
	}
	*ret = r;
	return 0;
}

int
roots_map(int fd, struct roots **ret)
{
	struct stat st;
	void *ptr;
	int rc;

	if (!fd_is_sealed(fd))
		return -EINVAL;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size < ROOTS_HEADER_BYTES || st.st_size > IMAGE_MAX_BYTES)
		return -EBADMSG;
	ptr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		return -errno;
	rc = roots_map_bytes((struct span){ ptr, (size_t)st.st_size }, ret);
	if (rc == 0)
		(*ret)->is_mapped = true;
	else
		(void)munmap(ptr, (size_t)st.st_size);
	return rc;
}

void
roots_unref(struct roots *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	if (r->is_mapped)
		(void)munmap((void *)(uintptr_t)r->image.ptr, r->image.len);
	roots_free_method(r);
	free(r);
}

size_t
roots_count(const struct roots *r)
{
	return r->sets[ROOTS_PUBLIC].count;
}

/* The set of one pattern; ROOTS_PUBLIC: there is no such pattern. */
static unsigned int
find(const struct roots *r, enum roots_pattern kind, struct span name)
{
	const uint32_t mask = r->slot_count - 1;
	const uint32_t hash = roots_hash(&r->key, kind, name);

	for (uint32_t i = 0; i < ROOTS_PROBE_MAX; i++) {
		struct slot slot;

		if (!slot_at(r, ((hash & mask) + i) & mask, &slot) ||
		    slot.name.len == 0)
			break;
		if (slot.kind == kind && span_eq(slot.name, name))
			return slot.set;
	}
	return ROOTS_PUBLIC;
}

unsigned int
roots_set_for(const struct roots *r, const char *host)
{
	const char *below = strchr(host, '.');
	unsigned int set;

	if (r->slot_count == 0)
		return ROOTS_PUBLIC;
	set = find(r, ROOTS_EXACT, span_of(host));
	if (set == ROOTS_PUBLIC && below != NULL)
		set = find(r, ROOTS_ONE_LABEL, span_of(below + 1));
	for (; set == ROOTS_PUBLIC && below != NULL;
	     below = strchr(below + 1, '.'))
		set = find(r, ROOTS_ANY_DEPTH, span_of(below + 1));
	return set;
}
