/*
 * One rule of a policy that is learned: for all that was asked of one place
 * by the same methods, its paths one by one, or up to the folder that they
 * have in common.
 */
#include <stdbool.h>
#include <string.h>

#include "conf/learn_private.h"
#include "wire/path.h"

/* Longest path that is written: a line of a policy holds 200 bytes. */
#define PATH_MAX_BYTES 120

bool
learn_is_writable(struct span path)
{
	if (path.len == 0 || path.len > PATH_MAX_BYTES ||
	    path_read(path).is_ambiguous)
		return false;
	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] <= ' ' || path.ptr[i] >= 0x7f ||
		    strchr("*,;#\"", path.ptr[i]) != NULL)
			return false;
	return path_pattern_fault(path) == NULL;
}

/* The first of those before n that this is a path of. */
static bool
is_first_path(const struct learn *l, const struct learn_asked *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct learn_asked *b = learn_at(l, i);

		if (learn_is_same_rule(a, b) &&
		    span_eq(learn_path(a), learn_path(b)))
			return false;
	}
	return true;
}

/* Of one path, or of the whole rule. */
static uint64_t
count_of(const struct learn *l, const struct learn_asked *a, bool of_path)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);

		if (learn_is_same_rule(a, b) &&
		    (!of_path || span_eq(learn_path(a), learn_path(b))))
			n += b->count;
	}
	return n;
}

/* Up to which '/' are they all alike? 0: a path of them cannot be written. */
static size_t
common_folder(const struct learn *l, const struct learn_asked *a)
{
	struct span path = learn_path(a);
	size_t len = path.len;

	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);
		struct span other = learn_path(b);
		size_t k = 0;

		if (!learn_is_same_rule(a, b))
			continue;
		if (path_read(other).is_ambiguous)
			return 0;
		while (k < len && k < other.len && path.ptr[k] == other.ptr[k])
			k++;
		len = k;
	}
	while (len > 0 && path.ptr[len - 1] != '/')
		len--;
	while (len > 0 && !learn_is_writable((struct span){ path.ptr, len }))
		for (len--; len > 0 && path.ptr[len - 1] != '/';)
			len--;
	return len;
}

static void
write_methods(const struct learn *l, const struct learn_asked *a, struct wr *w)
{
	const char *sep = "method  = ";

	for (size_t i = 0; i < l->method_count; i++) {
		if ((a->methods & UINT32_C(1) << i) == 0)
			continue;
		wr_fmt(w, "%s%s", sep, l->methods[i]);
		sep = ", ";
	}
	wr_text(w, "\n");
}

/* Before a path: the key, and of a repository where it is. */
static void
write_path_key(const struct learn_asked *a, struct wr *w)
{
	if (a->kind != LEARN_FETCH)
		wr_text(w, "path    = ");
	else if (a->port == PORT_HTTPS)
		wr_fmt(w, "repo    = %s", a->host);
	else
		wr_fmt(w, "repo    = %s:%u", a->host, a->port);
}

/* What there is to know of the paths of a rule. */
struct paths {
	size_t count;
	bool all_writable;
	bool has_slash;
};

static struct paths
look_at_paths(const struct learn *l, const struct learn_asked *a)
{
	struct paths ret = { 0, true, false };

	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);
		struct span path = learn_path(b);

		if (!learn_is_same_rule(a, b))
			continue;
		ret.count += is_first_path(l, b, i) ? 1 : 0;
		ret.all_writable = ret.all_writable && learn_is_writable(path);
		ret.has_slash =
		    ret.has_slash || path_read(path).has_encoded_slash;
	}
	return ret;
}

static void
write_paths(const struct learn *l, const struct learn_asked *a, struct wr *w)
{
	struct paths paths = look_at_paths(l, a);
	size_t folder = common_folder(l, a);

	if (!paths.all_writable && folder == 0)
		return; /* without the key every path matches */
	if (paths.has_slash)
		wr_text(w, "encoded-slash = yes\n");
	if (!paths.all_writable || paths.count > LEARN_PATHS_MAX) {
		write_path_key(a, w);
		wr_fmt(w, "%.*s** ; %llu, %zu paths\n", (int)folder, a->target,
		    (unsigned long long)count_of(l, a, false), paths.count);
		return;
	}
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);

		if (!learn_is_same_rule(a, b) || !is_first_path(l, b, i))
			continue;
		write_path_key(b, w);
		wr_fmt(w, "%.*s ; %llu\n", (int)learn_path(b).len, b->target,
		    (unsigned long long)count_of(l, b, true));
	}
}

static void
write_place(const struct learn_asked *a, struct wr *w)
{
	bool is_http =
	    a->scheme == AUDIT_SCHEME_HTTP || a->scheme == AUDIT_SCHEME_WS;

	wr_fmt(w, "host    = %s\n", a->host);
	if (is_http)
		wr_text(w, "scheme  = http\n");
	else if (a->scheme == AUDIT_SCHEME_TCP)
		wr_text(w, "scheme  = tcp\n");
	else if (a->scheme == AUDIT_SCHEME_PASSTHROUGH)
		wr_text(w, "tls     = passthrough\n");
	if (a->port != (is_http ? PORT_HTTP : PORT_HTTPS) ||
	    a->scheme == AUDIT_SCHEME_TCP)
		wr_fmt(w, "port    = %u\n", a->port);
}

void
learn_write_rule(struct learn *l, const struct learn_asked *a, const char *name,
    struct wr *w)
{
	wr_fmt(w, "[%s %s] ; %llu %s\n",
	    a->kind == LEARN_FETCH ? "git" : "allow", name,
	    (unsigned long long)count_of(l, a, false),
	    a->kind == LEARN_TUNNEL ? "connections" : "requests");
	if (a->kind != LEARN_FETCH)
		write_place(a, w);
	if (a->kind == LEARN_PLAIN)
		write_methods(l, a, w);
	if (learn_is_websocket(a))
		wr_text(w, "websocket = yes\n");
	if (a->kind != LEARN_TUNNEL)
		write_paths(l, a, w);
	if (a->credential[0] != '\0')
		wr_fmt(w, "credential = %s\n", a->credential);
	for (size_t i = 0; i < l->all.count; i++)
		if (learn_is_same_rule(a, learn_at(l, i)))
			learn_at(l, i)->is_written = true;
}
