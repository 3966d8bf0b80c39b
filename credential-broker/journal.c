/*
 * The journal, see journal.h. On the disk: a length in two bytes, a type in
 * one, and the body.
 */
#include "credential-broker/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "credential-broker/credential.h"
#include "credential-broker/seal.h"

#define AREA "journal"
#define SEALED_MAX_BYTES (KIND_VALUE_MAX_BYTES + SEAL_MORE_BYTES)
#define RECORD_MAX_BYTES (SEALED_MAX_BYTES + 256)
#define FILE_MAX_BYTES (256u << 20)
/* It is written anew once it is larger than this and thrice what counts. */
#define COMPACT_BYTES (256u << 10)

enum record_type {
	RECORD_ADD = 1,
	RECORD_DONE,
	RECORD_STATE,
};

/* Of an ADD or, with id 0, a STATE. */
struct entry {
	LIST_ENTRY(entry) link;
	uint64_t id;
	uint64_t end_wall_s; /* 0: none is known */
	bool is_orphan;
	char credential[CREDENTIAL_NAME_SIZE];
	size_t len;
	uint8_t sealed[];
};

struct journal {
	int fds[JOURNAL_FILES]; /* -1: none */
	unsigned int active;
	size_t written; /* bytes in the active file */
	size_t live;    /* and of them those that count, about */
	unsigned int count;
	LIST_HEAD(entries, entry) entries;
	uint8_t buf[RECORD_MAX_BYTES]; /* the record that is being written */
};

/* --- entries -------------------------------------------------------------- */

static size_t
size_of(const struct entry *e)
{
	return e->len + strlen(e->credential) + 32;
}

static void
entry_free(struct journal *j, struct entry *e)
{
	LIST_REMOVE(e, link);
	j->count--;
	j->live -= size_of(e);
	free(e);
}

static struct entry *
find(struct journal *j, uint64_t id)
{
	struct entry *e;

	LIST_FOREACH(e, &j->entries, link)
	if (e->id == id)
		return e;
	return NULL;
}

static struct entry *
find_state(struct journal *j, const char *credential)
{
	struct entry *e;

	LIST_FOREACH(e, &j->entries, link)
	if (e->id == 0 && strcmp(e->credential, credential) == 0)
		return e;
	return NULL;
}

static struct entry *
entry_new(struct journal *j, const char *credential, uint64_t id,
    uint64_t end_wall_s, size_t len)
{
	struct entry *e = j->count == JOURNAL_ENTRIES_MAX
	    ? NULL
	    : calloc(1, sizeof(*e) + len);

	if (e == NULL)
		return NULL;
	e->id = id;
	e->end_wall_s = end_wall_s;
	e->len = len;
	(void)strncpy(e->credential, credential, sizeof(e->credential) - 1);
	LIST_INSERT_HEAD(&j->entries, e, link);
	j->count++;
	j->live += size_of(e);
	return e;
}

/* --- the disk ------------------------------------------------------------- */

/* Room for one, after its length. */
static struct wr
record_begin(struct journal *j, enum record_type type)
{
	struct wr w = wr_init(j->buf, sizeof(j->buf));

	wr_u16(&w, 0);
	wr_u8(&w, (uint8_t)type);
	return w;
}

static struct wr
record_of(struct journal *j, const struct entry *e)
{
	struct wr w = record_begin(j, e->id == 0 ? RECORD_STATE : RECORD_ADD);

	wr_u64(&w, e->id);
	wr_u64(&w, e->end_wall_s);
	wr_str16(&w, e->credential);
	wr_span16(&w, (struct span){ e->sealed, e->len });
	return w;
}

/* 0 or -errno. */
static int
append(struct journal *j, unsigned int file, struct wr *w)
{
	int rc;

	if (!wr_ok(w))
		return -EMSGSIZE;
	wr_patch_u16(w, 0, (uint16_t)(w->len - 2));
	rc = fd_write_all(j->fds[file], w->buf, w->len);
	if (rc == 0)
		j->written += w->len;
	return rc;
}

static int
sync_file(struct journal *j, unsigned int file)
{
	return fdatasync(j->fds[file]) == 0 ? 0 : -errno;
}

static int
empty(struct journal *j, unsigned int file)
{
	return ftruncate(j->fds[file], 0) == 0 &&
		lseek(j->fds[file], 0, SEEK_SET) == 0
	    ? 0
	    : -errno;
}

/* What counts goes to the other file, which then is the one. */
static int
compact(struct journal *j)
{
	const unsigned int other = 1 - j->active;
	const struct entry *e;
	int rc = empty(j, other);

	j->written = 0;
	LIST_FOREACH(e, &j->entries, link)
	if (rc == 0) {
		struct wr w = record_of(j, e);

		rc = append(j, other, &w);
	}
	if (rc == 0)
		rc = sync_file(j, other);
	if (rc != 0)
		return rc;
	rc = empty(j, j->active);
	j->active = other;
	return rc;
}

/* Before a record is begun, for which this needs its room. */
static int
make_ready(struct journal *j)
{
	if (j->fds[0] == -1)
		return -EBADF;
	return j->written > COMPACT_BYTES && j->written > 3 * j->live
	    ? compact(j)
	    : 0;
}

static int
write_record(struct journal *j, struct wr *w)
{
	int rc = append(j, j->active, w);

	if (rc == 0)
		rc = sync_file(j, j->active);
	if (rc != 0)
		log_err(AREA, "write: %s", strerror(-rc));
	return rc;
}

/* --- reading -------------------------------------------------------------- */

static void
read_entry(struct journal *j, struct rd *r, bool is_state)
{
	const uint64_t id = rd_u64(r), end_wall_s = rd_u64(r);
	char credential[CREDENTIAL_NAME_SIZE];
	struct entry *e;
	struct span sealed;

	(void)rd_cstr16(r, credential, sizeof(credential));
	sealed = rd_str16(r, SEALED_MAX_BYTES);
	if (!rd_done(r) || (id == 0) != is_state)
		return;
	e = is_state ? find_state(j, credential) : find(j, id);
	/* Of a state the last one counts; both files have the same entries. */
	if (e != NULL && !is_state)
		return;
	if (e != NULL)
		entry_free(j, e);
	e = entry_new(j, credential, id, end_wall_s, sealed.len);
	if (e == NULL)
		return;
	memcpy(e->sealed, sealed.ptr, sealed.len);
	e->is_orphan = !is_state;
}

static void
read_record(struct journal *j, struct rd *r)
{
	struct entry *e;

	switch (rd_u8(r)) {
	case RECORD_ADD:
		read_entry(j, r, false);
		break;
	case RECORD_STATE:
		read_entry(j, r, true);
		break;
	case RECORD_DONE:
		e = find(j, rd_u64(r));
		if (e != NULL && e->id != 0 && rd_ok(r))
			entry_free(j, e);
		break;
	default:
		break;
	}
}

static int
read_file(struct journal *j, unsigned int file)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	struct rd r;
	int rc = lseek(j->fds[file], 0, SEEK_SET) == 0
	    ? fd_read_all(j->fds[file], FILE_MAX_BYTES, &text, &len)
	    : -errno;

	if (rc != 0)
		return rc;
	r = rd_init(text, len);
	while (rd_left(&r) > 0) {
		struct rd record = rd_sub(&r, rd_u16(&r));

		if (!rd_ok(&r)) {
			log_warn(AREA, "file=%u: its last record is not whole",
			    file);
			break;
		}
		read_record(j, &record);
	}
	return 0;
}

/* --- what others call ----------------------------------------------------- */

struct journal *
journal_new(void)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->fds[0] = j->fds[1] = -1;
	LIST_INIT(&j->entries);
	return j;
}

void
journal_free(struct journal *j)
{
	struct entry *e, *next;

	if (j == NULL)
		return;
	for (e = LIST_FIRST(&j->entries); e != NULL; e = next) {
		next = LIST_NEXT(e, link);
		free(e);
	}
	fd_close(&j->fds[0]);
	fd_close(&j->fds[1]);
	free(j);
}

int
journal_open(struct journal *j, int fds[JOURNAL_FILES])
{
	int rc = 0;

	if (j->fds[0] != -1)
		return 0;
	for (unsigned int i = 0; i < JOURNAL_FILES; i++)
		j->fds[i] = steal_fd(&fds[i]);
	for (unsigned int i = 0; i < JOURNAL_FILES && rc == 0; i++)
		rc = read_file(j, i);
	/* Written anew at once: a torn end is gone, and both can be written. */
	if (rc == 0)
		rc = compact(j);
	if (rc != 0) {
		fd_close(&j->fds[0]);
		fd_close(&j->fds[1]);
	}
	return rc;
}

static uint64_t
new_id(void)
{
	uint64_t id = 0;

	return getrandom(&id, sizeof(id), 0) == (ssize_t)sizeof(id) ? id | 1
								    : 0;
}

/* Bound to what is sealed: no entry can stand in for another. */
static struct span
context_of(const struct entry *e, uint8_t buf[8 + CREDENTIAL_NAME_SIZE])
{
	struct wr w = wr_init(buf, 8 + CREDENTIAL_NAME_SIZE);

	wr_u64(&w, e->id);
	wr_text(&w, e->credential);
	return (struct span){ buf, w.len };
}

/* NULL: nothing was written. */
static struct entry *
write_entry(struct journal *j, const struct credential *c, uint64_t id,
    uint64_t end_wall_s, struct span what)
{
	uint8_t context[8 + CREDENTIAL_NAME_SIZE];
	struct entry *e;
	struct wr w;

	if (what.len > KIND_VALUE_MAX_BYTES || make_ready(j) != 0)
		return NULL;
	e = entry_new(j, c->definition.name, id, end_wall_s,
	    what.len + SEAL_MORE_BYTES);
	if (e == NULL)
		return NULL;
	if (seal(c, context_of(e, context), what, e->sealed)) {
		w = record_of(j, e);
		if (write_record(j, &w) == 0)
			return e;
	}
	entry_free(j, e);
	return NULL;
}

uint64_t
journal_add(struct journal *j, const struct credential *c, struct span what,
    uint64_t not_after_boot_ms)
{
	const uint64_t now = clock_boot_ms(), id = new_id();
	uint64_t end_s = 0;

	if (not_after_boot_ms != UINT64_MAX)
		end_s = clock_wall_ms() / 1000 + 1 +
		    (not_after_boot_ms > now ? not_after_boot_ms - now : 0) /
			1000;
	return id != 0 && write_entry(j, c, id, end_s, what) != NULL ? id : 0;
}

void
journal_done(struct journal *j, uint64_t id)
{
	struct entry *e = id == 0 ? NULL : find(j, id);
	struct wr w;

	if (e == NULL)
		return;
	entry_free(j, e);
	if (make_ready(j) != 0)
		return;
	w = record_begin(j, RECORD_DONE);
	wr_u64(&w, id);
	/* If it is lost it is given back once more, which harms nobody. */
	(void)write_record(j, &w);
}

void
journal_keep(struct journal *j, uint64_t id)
{
	struct entry *e = id == 0 ? NULL : find(j, id);

	if (e != NULL)
		e->is_orphan = true;
}

bool
journal_orphan(struct journal *j, const struct credential *c, uint64_t *ret_id,
    struct secret *ret)
{
	const uint64_t now_s = clock_wall_ms() / 1000;
	uint8_t context[8 + CREDENTIAL_NAME_SIZE];
	struct entry *e, *next;

	for (e = LIST_FIRST(&j->entries); e != NULL; e = next) {
		next = LIST_NEXT(e, link);
		if (!e->is_orphan ||
		    strcmp(e->credential, c->definition.name) != 0)
			continue;
		if (e->end_wall_s != 0 && e->end_wall_s < now_s) {
			journal_done(j, e->id);
			continue;
		}
		if (!seal_open(c, context_of(e, context),
			(struct span){ e->sealed, e->len }, ret))
			continue;
		e->is_orphan = false;
		*ret_id = e->id;
		return true;
	}
	return false;
}

int
journal_put_state(struct journal *j, const struct credential *c,
    struct span what)
{
	struct entry *before = find_state(j, c->definition.name);

	if (write_entry(j, c, 0, 0, what) == NULL)
		return -EIO;
	if (before != NULL)
		entry_free(j, before);
	return 0;
}

bool
journal_state(struct journal *j, const struct credential *c, struct secret *ret)
{
	const struct entry *e = find_state(j, c->definition.name);
	uint8_t context[8 + CREDENTIAL_NAME_SIZE];

	return e != NULL &&
	    seal_open(c, context_of(e, context),
		(struct span){ e->sealed, e->len }, ret);
}
