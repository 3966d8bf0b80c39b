/*
 * See oci_scope.h. A name has slashes and may hold the words of endpoints, so
 * the path is read from its end.
 */
#include "credential-broker/oci_scope.h"

#include <string.h>

#include "base/ascii.h"

#define NAME_MAX_BYTES 255

struct access_row {
	const char *word;
	const char *actions; /* of the scope */
};

static const struct access_row accesses[OCI_ACCESS_COUNT] = {
	[OCI_PULL] = { "pull", "pull" },
	[OCI_PUSH] = { "push", "pull,push" },
	[OCI_DELETE] = { "delete", "delete" },
};

struct method_row {
	const char *method;
	enum oci_access access;
};

static const struct method_row methods[] = {
	{ "GET", OCI_PULL },
	{ "HEAD", OCI_PULL },
	{ "POST", OCI_PUSH },
	{ "PUT", OCI_PUSH },
	{ "PATCH", OCI_PUSH },
	{ "DELETE", OCI_DELETE },
};

bool
oci_access_parse(const char *word, enum oci_access *ret)
{
	for (unsigned int i = 0; i < OCI_ACCESS_COUNT; i++)
		if (strcmp(accesses[i].word, word) == 0) {
			*ret = (enum oci_access)i;
			return true;
		}
	return false;
}

/*
 * Cuts "/SEGMENT" off the end of path; *ret is the segment. False if there is
 * none.
 */
static bool
cut_last(struct span *path, struct span *ret)
{
	size_t at = path->len;

	while (at > 0 && path->ptr[at - 1] != '/')
		at--;
	if (at == 0)
		return false;
	*ret = (struct span){ path->ptr + at, path->len - at };
	path->len = at - 1;
	return true;
}

/* An upload is one endpoint whatever a registry writes behind it. */
static bool
cut_upload(struct span *path)
{
	static const char uploads[] = "/blobs/uploads/";
	const size_t len = sizeof(uploads) - 1;

	for (size_t at = path->len; at >= len; at--)
		if (memcmp(path->ptr + at - len, uploads, len) == 0) {
			path->len = at - len;
			return true;
		}
	return false;
}

/* Leaves /v2/NAME. */
static bool
cut_endpoint(struct span *path, bool *ret_is_upload)
{
	struct span last, word;

	*ret_is_upload = cut_upload(path);
	if (*ret_is_upload)
		return true;
	if (!cut_last(path, &last) || last.len == 0 || !cut_last(path, &word))
		return false;
	return span_is(word, "manifests") || span_is(word, "blobs") ||
	    span_is(word, "referrers") ||
	    (span_is(word, "tags") && span_is(last, "list"));
}

/* [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/...)*, but for runs of separators. */
static bool
is_name(struct span s)
{
	bool may_part = false; /* a separator may come */

	if (s.len == 0 || s.len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		const uint8_t c = s.ptr[i];

		if (ascii_is_digit(c) || (c >= 'a' && c <= 'z'))
			may_part = true;
		else if (c == '/' && may_part && ascii_is_alnum(s.ptr[i - 1]))
			may_part = false;
		else if ((c != '.' && c != '_' && c != '-') || !may_part)
			return false;
	}
	return ascii_is_alnum(s.ptr[s.len - 1]);
}

static bool
access_of(const char *method, bool is_upload, enum oci_access *ret)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].method, method) == 0) {
			*ret = methods[i].access;
			/* Its status, and that it is given up. */
			if (is_upload)
				*ret = OCI_PUSH;
			return true;
		}
	return false;
}

bool
oci_scope(const char *method, struct span path, enum oci_access most, char *ret,
    size_t size)
{
	static const char base[] = "/v2/";
	const size_t base_len = sizeof(base) - 1;
	enum oci_access need;
	bool is_upload;
	struct wr w;

	if (size == 0 || path.len < base_len ||
	    memcmp(path.ptr, base, base_len) != 0)
		return false;
	if (path.len == base_len) {
		ret[0] = '\0';
		return true;
	}
	if (!cut_endpoint(&path, &is_upload) || path.len <= base_len ||
	    !access_of(method, is_upload, &need) || need > most)
		return false;
	path.ptr += base_len;
	path.len -= base_len;
	if (!is_name(path))
		return false;
	w = wr_init(ret, size);
	wr_text(&w, "repository:");
	wr_bytes(&w, path.ptr, path.len);
	wr_text(&w, ":");
	wr_text(&w, accesses[need].actions);
	wr_u8(&w, '\0');
	return wr_ok(&w);
}
