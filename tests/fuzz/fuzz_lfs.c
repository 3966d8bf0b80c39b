/*
 * A document of LFS is read in one way however it is split; what it names lies
 * within it; and no more objects come of it than it may have. The first byte
 * says which document it is.
 */
#include "fuzz_wire.h"

#include "wire/lfs.h"

#define OBJECTS_MAX 4

struct told {
	enum lfs_status end;
	size_t objects, actions;
	uint64_t sum;
};

/* Of a text: what depends on each of its bytes. */
static uint64_t
sum_of(struct span s, uint64_t sum)
{
	for (size_t i = 0; i < s.len; i++)
		sum = ((sum & UINT64_MAX >> 5) << 5 | sum >> 59) ^ s.ptr[i];
	return sum;
}

static void
take_object(const struct lfs *l, struct told *t)
{
	t->objects++;
	HOLDS(l->object.has_oid);
	for (size_t i = 0; i < LFS_ACTIONS; i++) {
		const struct lfs_action *a = &l->object.actions[i];

		if (!a->href.is_there)
			continue;
		HOLDS(l->document == LFS_ANSWER && l->object.has_size);
		t->actions++;
		t->sum = sum_of(lfs_text(l, &a->href), t->sum);
		t->sum = sum_of(lfs_text(l, &a->authorization), t->sum);
		t->sum = sum_of(lfs_text(l, &a->expires_at), t->sum);
		t->sum ^= a->expires_in;
	}
	HOLDS(l->object.text_len <= LFS_TEXT_MAX);
}

static struct told
tell(struct span in, enum lfs_document d, uint32_t seed)
{
	static struct lfs l;
	struct told t = { .end = LFS_MORE };

	memset(&l, 0, sizeof(l));
	l.document = d;
	l.objects_max = OBJECTS_MAX;
	while (in.len > 0 && (t.end == LFS_MORE || t.end == LFS_READ)) {
		size_t piece = seed == 0 ? in.len : next_piece(&seed);
		struct span part = { in.ptr, piece < in.len ? piece : in.len };

		in = (struct span){ in.ptr + part.len, in.len - part.len };
		while ((t.end = lfs_read(&l, &part)) == LFS_OBJECT)
			take_object(&l, &t);
		HOLDS(t.end > LFS_READ || part.len == 0);
	}
	t.end = lfs_end(&l);
	HOLDS(t.end >= LFS_READ && t.end < LFS_STATUSES);
	HOLDS(t.objects <= OBJECTS_MAX);
	HOLDS(t.end != LFS_READ || d != LFS_BATCH ||
	    (l.operation != LFS_NO_OPERATION && l.objects == t.objects));
	return t;
}

/* What is read of a path is LFS's, and names a repository before it. */
static void
check_service(struct span path)
{
	struct span repo;
	enum git_service s = git_service_of(path, &repo);

	HOLDS(!git_service_is_read(s) ||
	    (repo.len < path.len && path.len - repo.len >= 15));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct told a, b;
	enum lfs_document d;
	struct span in;

	if (size < 1)
		return 0;
	d = (enum lfs_document)(data[0] % LFS_DOCUMENTS);
	in = (struct span){ data + 1, size - 1 };
	check_service(in);
	a = tell(in, d, 0);
	b = tell(in, d, (uint32_t)size);
	HOLDS(a.end == b.end && a.objects == b.objects);
	HOLDS(a.actions == b.actions && a.sum == b.sum);
	return 0;
}
