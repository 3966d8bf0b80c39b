/*
 * See git.h.
 */
#include "wire/git.h"

#include "base/ascii.h"

/* Of an object of LFS: SHA-256 in hexadecimal. */
#define OID_LEN 64
/* Of a lock, its slash too. */
#define LOCK_ID_MAX 129

static bool
ends_with(struct span s, struct span end)
{
	return s.len >= end.len &&
	    memcmp(s.ptr + s.len - end.len, end.ptr, end.len) == 0;
}

static bool
cut_end(struct span *s, struct span end)
{
	if (!ends_with(*s, end))
		return false;
	s->len -= end.len;
	return true;
}

/* The last segment, its slash too; empty when there is none. */
static struct span
last_segment(struct span s)
{
	size_t i = s.len;

	while (i > 0 && s.ptr[i - 1] != '/')
		i--;
	return i == 0 ? (struct span){ s.ptr, 0 }
		      : (struct span){ s.ptr + i - 1, s.len - i + 1 };
}

static bool
is_oid(struct span segment)
{
	if (segment.len != OID_LEN + 1)
		return false;
	for (size_t i = 1; i < segment.len; i++) {
		if (!ascii_is_digit(segment.ptr[i]) &&
		    (segment.ptr[i] < 'a' || segment.ptr[i] > 'f'))
			return false;
	}
	return true;
}

static bool
is_number(struct span segment)
{
	for (size_t i = 1; i < segment.len; i++) {
		if (!ascii_is_digit(segment.ptr[i]))
			return false;
	}
	return segment.len > 1;
}

/* GitLab's "/gitlab-lfs/objects/OID/SIZE", Gitea's "/info/lfs/objects/OID". */
static bool
cut_object(struct span *path)
{
	static const struct span folders[] = { SPAN("/info/lfs/objects"),
		SPAN("/gitlab-lfs/objects") };
	struct span rest = *path, last = last_segment(rest);

	if (is_number(last) && last.len != OID_LEN + 1) {
		rest.len -= last.len;
		last = last_segment(rest);
	}
	if (!is_oid(last))
		return false;
	rest.len -= last.len;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (cut_end(&rest, folders[i])) {
			*path = rest;
			return true;
		}
	}
	return false;
}

/* Letters, digits and '-': of GitHub, GitLab, Gitea, numbers and UUIDs too. */
static bool
is_lock_id(struct span segment)
{
	for (size_t i = 1; i < segment.len; i++) {
		if (!ascii_is_alnum(segment.ptr[i]) && segment.ptr[i] != '-')
			return false;
	}
	return segment.len > 1 && segment.len <= LOCK_ID_MAX;
}

static bool
cut_unlock(struct span *path)
{
	static const struct span unlock = SPAN("/unlock"),
				 locks = SPAN("/info/lfs/locks");
	struct span rest = *path, id;

	if (!cut_end(&rest, unlock))
		return false;
	id = last_segment(rest);
	if (!is_lock_id(id))
		return false;
	rest.len -= id.len;
	if (!cut_end(&rest, locks))
		return false;
	*path = rest;
	return true;
}

bool
git_service_is_read(enum git_service s)
{
	return s == GIT_SERVICE_LFS || s == GIT_SERVICE_LOCKS ||
	    s == GIT_SERVICE_OTHERS || s == GIT_SERVICE_UNLOCK;
}

enum git_service
git_service_of(struct span path, struct span *ret_repo)
{
	static const struct {
		struct span end;
		enum git_service service;
	} rows[] = {
		{ SPAN("/info/refs"), GIT_SERVICE_REFS },
		{ SPAN("/git-upload-pack"), GIT_SERVICE_FETCH },
		{ SPAN("/git-receive-pack"), GIT_SERVICE_PUSH },
		{ SPAN("/info/lfs/objects/batch"), GIT_SERVICE_LFS },
		{ SPAN("/info/lfs/locks"), GIT_SERVICE_LOCKS },
		{ SPAN("/info/lfs/locks/verify"), GIT_SERVICE_OTHERS },
		{ SPAN("/info/lfs/verify"), GIT_SERVICE_VERIFY },
	};
	static const struct span suffix = SPAN(".git");
	enum git_service found = GIT_SERVICE_NONE;

	for (size_t i = 0;
	     i < sizeof(rows) / sizeof(rows[0]) && found == GIT_SERVICE_NONE;
	     i++) {
		if (cut_end(&path, rows[i].end))
			found = rows[i].service;
	}
	if (found == GIT_SERVICE_NONE && cut_object(&path))
		found = GIT_SERVICE_OBJECT;
	else if (found == GIT_SERVICE_NONE && cut_unlock(&path))
		found = GIT_SERVICE_UNLOCK;
	*ret_repo = path;
	/* A folder that is named ".git" is a repository's own. */
	if (cut_end(&path, suffix) && path.len > 0 &&
	    path.ptr[path.len - 1] != '/')
		*ret_repo = path;
	return found;
}

static bool
holds_any_case(struct span s, struct span word)
{
	for (size_t i = 0; i + word.len <= s.len; i++) {
		if (bytes_eq_case(s.ptr + i, word.ptr, word.len))
			return true;
	}
	return false;
}

bool
git_may_be_push(struct span path, struct span query)
{
	static const struct span word = SPAN("receive-pack");
	static const struct span refs = SPAN("info/refs");

	if (holds_any_case(path, word) || holds_any_case(query, word))
		return true;
	return query.len > 0 && memchr(query.ptr, '%', query.len) != NULL &&
	    holds_any_case(path, refs);
}

/* --- references --- */

/* git-check-ref-format(1), rules 4, 5 and 10, and what is not ASCII. */
static bool
is_ref_byte(uint8_t c)
{
	static const uint8_t barred[] = { '~', '^', ':', '?', '*', '[', '\\' };

	return c > ' ' && c < 0x7f && memchr(barred, c, sizeof(barred)) == NULL;
}

static bool
holds(struct span s, struct span word)
{
	for (size_t i = 0; i + word.len <= s.len; i++) {
		if (memcmp(s.ptr + i, word.ptr, word.len) == 0)
			return true;
	}
	return false;
}

/* One of the parts that slashes part. */
static const char *
part_fault(struct span part)
{
	static const struct span lock = SPAN(".lock");

	if (part.len == 0)
		return "an empty part in a reference";
	if (part.ptr[0] == '.')
		return "a part of a reference begins with a dot";
	if (ends_with(part, lock))
		return "a part of a reference ends with .lock";
	return NULL;
}

static const char *
parts_fault(struct span name)
{
	const char *fault = NULL;

	while (fault == NULL) {
		const uint8_t *slash = memchr(name.ptr, '/', name.len);
		size_t len =
		    slash != NULL ? (size_t)(slash - name.ptr) : name.len;

		fault = part_fault((struct span){ name.ptr, len });
		if (slash == NULL)
			return fault;
		name = (struct span){ slash + 1, name.len - len - 1 };
	}
	return fault;
}

static const char *
ref_fault(struct span name, bool takes_stars)
{
	static const struct span start = SPAN("refs/"), dots = SPAN(".."),
				 at = SPAN("@{"), stars = SPAN("***");

	if (name.len <= start.len ||
	    memcmp(name.ptr, start.ptr, start.len) != 0)
		return "a reference is written whole: refs/heads/NAME";
	if (name.len > GIT_REF_MAX_BYTES)
		return "a reference of more than 255 bytes";
	for (size_t i = 0; i < name.len; i++) {
		if (!is_ref_byte(name.ptr[i]) &&
		    !(takes_stars && name.ptr[i] == '*'))
			return "a byte that no reference may hold here";
	}
	if (holds(name, dots))
		return "two dots in a reference";
	if (holds(name, at))
		return "@{ in a reference";
	if (holds(name, stars))
		return "three stars in a row: * stays within a part, ** "
		       "crosses '/'";
	if (name.ptr[name.len - 1] == '.')
		return "a reference ends with a dot";
	return parts_fault(name);
}

const char *
git_ref_fault(struct span name)
{
	return ref_fault(name, false);
}

const char *
git_ref_pattern_fault(struct span pattern)
{
	return ref_fault(pattern, true);
}
