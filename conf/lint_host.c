/*
 * Names that are more than one place: hosts where anybody's files lie, hosts
 * that take whatever is posted, hosts that fetch whatever they are asked for.
 * A wildcard is asked as the names that it holds.
 */
#include <string.h>

#include "conf/cover.h"
#include "conf/lint.h"

enum host_kind {
	HOST_SHARED, /* files of everybody, told apart by the path's start */
	HOST_DROP,   /* anybody reads there what anybody sends */
	HOST_RELAY,  /* fetches what it is asked for, from anywhere */
};

struct known_host {
	const char *name;
	enum host_kind kind;
};

static const struct known_host known[] = {
	{ "raw.githubusercontent.com", HOST_SHARED },
	{ "objects.githubusercontent.com", HOST_SHARED },
	{ "release-assets.githubusercontent.com", HOST_SHARED },
	{ "pkg-containers.githubusercontent.com", HOST_SHARED },
	{ "pkg-npm.githubusercontent.com", HOST_SHARED },
	{ "media.githubusercontent.com", HOST_SHARED },
	{ "storage.googleapis.com", HOST_SHARED },
	{ "storage.cloud.google.com", HOST_SHARED },
	{ "firebasestorage.googleapis.com", HOST_SHARED },
	{ "s3.amazonaws.com", HOST_SHARED },
	{ "s3.us-east-1.amazonaws.com", HOST_SHARED },
	{ "s3.us-west-2.amazonaws.com", HOST_SHARED },
	{ "s3.eu-west-1.amazonaws.com", HOST_SHARED },
	{ "s3.eu-central-1.amazonaws.com", HOST_SHARED },
	{ "cdn.jsdelivr.net", HOST_SHARED },
	{ "unpkg.com", HOST_SHARED },
	{ "cdn.discordapp.com", HOST_SHARED },
	{ "gist.github.com", HOST_DROP },
	{ "gist.githubusercontent.com", HOST_DROP },
	{ "pastebin.com", HOST_DROP },
	{ "paste.rs", HOST_DROP },
	{ "dpaste.org", HOST_DROP },
	{ "hastebin.com", HOST_DROP },
	{ "0x0.st", HOST_DROP },
	{ "transfer.sh", HOST_DROP },
	{ "file.io", HOST_DROP },
	{ "tmpfiles.org", HOST_DROP },
	{ "webhook.site", HOST_DROP },
	{ "requestbin.com", HOST_DROP },
	{ "hooks.slack.com", HOST_DROP },
	{ "discord.com", HOST_DROP },
	{ "api.telegram.org", HOST_DROP },
	{ "docs.google.com", HOST_DROP },
	{ "script.google.com", HOST_DROP },
	{ "drive.google.com", HOST_DROP },
	{ "content.dropboxapi.com", HOST_DROP },
	{ "dns.google", HOST_RELAY },
	{ "cloudflare-dns.com", HOST_RELAY },
	{ "dns.quad9.net", HOST_RELAY },
	{ "doh.opendns.com", HOST_RELAY },
	{ "translate.google.com", HOST_RELAY },
	{ "r.jina.ai", HOST_RELAY },
	{ "api.allorigins.win", HOST_RELAY },
	{ "corsproxy.io", HOST_RELAY },
	{ "web.archive.org", HOST_RELAY },
	{ "archive.ph", HOST_RELAY },
};

/* Names that no public resolver answers with a public address. */
static const char *const private_names[] = { "internal", "local", "localhost",
	"lan", "corp", "home.arpa", "intranet", "private" };

static bool
is_below_or_same(const char *name, const char *of)
{
	size_t n = strlen(name), k = strlen(of);

	return n >= k && strcmp(name + n - k, of) == 0 &&
	    (n == k || name[n - k - 1] == '.');
}

/* The pattern stands for the name. */
static bool
stands_for(const struct model *m, const struct model_host *h, const char *name)
{
	const char *x = model_string(m, h->name);
	size_t n = strlen(name), k = strlen(x);

	if (h->kind == PATTERN_EXACT || n <= k + 1)
		return h->kind == PATTERN_EXACT && strcmp(x, name) == 0;
	return is_below_or_same(name, x) &&
	    (h->kind == PATTERN_ANY_DEPTH ||
		memchr(name, '.', n - k - 1) == NULL);
}

/* Every path begins with a segment that is written out: "/bucket/...". */
static bool
names_a_place(const struct model *m, const struct model_rule *r)
{
	for (uint32_t i = 0; i < r->paths.count; i++) {
		const uint32_t *off = vec_at(&m->paths, r->paths.at + i);
		const char *path = model_string(m, *off);
		size_t len = strcspn(path + 1, "/*");

		if (len == 0)
			return false;
	}
	return r->paths.count > 0;
}

static void
tell_known(const struct model *m, const struct model_rule *r,
    const struct known_host *k, struct compile_result *ret)
{
	const char *name = model_string(m, r->name);
	struct place at = lint_at(m, r);

	switch (k->kind) {
	case HOST_SHARED:
		if (!names_a_place(m, r))
			finding_review(ret, at, "user-content",
			    "[%s %s] lets in all of %s, where anybody puts "
			    "files: name the owner or bucket with `path = "
			    "/NAME/**`",
			    lint_section(r), name, k->name);
		return;
	case HOST_DROP:
		finding_review(ret, at, "user-content",
		    "[%s %s] reaches %s, where anybody reads what anybody "
		    "sends: data can leave by it; name what is needed, or "
		    "remove it",
		    lint_section(r), name, k->name);
		return;
	case HOST_RELAY:
		finding_review(ret, at, "relay",
		    "[%s %s] reaches %s, which asks any other host for "
		    "whoever asks it: remove it",
		    lint_section(r), name, k->name);
		return;
	}
}

static void
check_known(const struct model *m, const struct model_rule *r,
    const struct model_host *h, struct compile_result *ret)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t before = ret->finding_count;

		if (stands_for(m, h, known[i].name))
			tell_known(m, r, &known[i], ret);
		/* one for a wildcard, which may hold several */
		if (ret->finding_count != before)
			return;
	}
}

static void
check_private(const struct model *m, const struct model_rule *r,
    const struct model_host *h, struct compile_result *ret)
{
	const char *name = model_string(m, h->name);

	for (size_t i = 0; i < sizeof(private_names) / sizeof(private_names[0]);
	     i++) {
		if (!is_below_or_same(name, private_names[i]))
			continue;
		finding_review(ret, lint_at(m, r), "private-name",
		    "%s is no public name: what it resolves to is refused "
		    "unless the host's configuration has an [address] section "
		    "for it",
		    name);
		return;
	}
}

static bool
takes_any_path(const struct model *m, const struct model_rule *r)
{
	return lint_run_has(m, &m->paths, &r->paths, "/**");
}

static void
check_wildcard(const struct model *m, const struct model_rule *r,
    const struct model_host *h, struct compile_result *ret)
{
	char host[IMAGE_STRING_SIZE + 4];

	if (h->kind == PATTERN_EXACT || r->is_git ||
	    r->tls == TLS_MODE_PASSTHROUGH || !lint_writes(m, r) ||
	    !takes_any_path(m, r))
		return;
	finding_review(ret, lint_at(m, r), "wide-wildcard",
	    "[%s %s] lets %s write to every host of %s: name the hosts, or "
	    "add `method = GET, HEAD`",
	    lint_section(r), model_string(m, r->name),
	    r->methods.count == 0 ? "every method" : "these methods",
	    lint_host_text(m, h, host));
}

static void
check_credential(const struct model *m, const struct model_rule *r,
    struct compile_result *ret)
{
	if (r->credential == 0 || r->is_git || r->methods.count > 0 ||
	    !takes_any_path(m, r))
		return;
	finding_review(ret, lint_at(m, r), "wide-credential",
	    "[%s %s] sends credential %s with whatever is asked for: say with "
	    "method and path what it is for",
	    lint_section(r), model_string(m, r->name),
	    model_string(m, r->credential));
}

/* A push to the branch that others build from. */
static void
check_push(const struct model *m, const struct model_rule *r,
    struct compile_result *ret)
{
	static const char *const shared[] = { "refs/heads/main",
		"refs/heads/master", "refs/tags/v1" };

	for (uint32_t i = 0; i < r->git.refs.count; i++) {
		const uint32_t *off = vec_at(&m->refs, r->git.refs.at + i);
		struct span ref = span_of(model_string(m, *off));

		for (size_t k = 0; k < sizeof(shared) / sizeof(shared[0]);
		     k++) {
			if (!cover_glob(ref, span_of(shared[k]), '/',
				COVER_EXACT))
				continue;
			finding_review(ret, lint_at(m, r), "git-push",
			    "[git %s] lets a guest push to %s: give it names "
			    "of its own, as in `push = refs/heads/agent/*`",
			    model_string(m, r->name), shared[k]);
			return;
		}
	}
}

void
lint_hosts(const struct model *m, struct compile_result *ret)
{
	for (size_t i = 0; i < m->hosts.count; i++) {
		const struct model_host *h = vec_at(&m->hosts, i);
		const struct model_rule *r = model_rule_at(m, h->rule);

		if (!lint_is_own(r) || r->action == ACTION_DENY)
			continue;
		check_known(m, r, h, ret);
		check_private(m, r, h, ret);
		check_wildcard(m, r, h, ret);
	}
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(m, i);

		if (!lint_is_own(r) || r->action == ACTION_DENY)
			continue;
		check_credential(m, r, ret);
		check_push(m, r, ret);
	}
}
