/*
 * Requests that write, put to the policy as a guest would put them: what
 * lets one through says more than any reading of its words. Names within a
 * path are made up; a rule that is written for one owner or package only is
 * not hit, and that is right.
 */
#include <string.h>

#include "conf/lint.h"
#include "conf/policy.h"
#include "wire/path.h"

struct probe {
	const char *host;
	const char *method;
	const char *path;
	const char *query; /* "" for none */
	const char *code;
	const char *what; /* "... lets a guest WHAT" */
};

#define PUBLISH "writes"
#define PUSH "git-push"
#define STORES "stores"

static const struct probe probes[] = {
	{ "x.npmjs.org", "PUT", "/x", "", PUBLISH, "publish to npm" },
	{ "x.npmjs.org", "PUT", "/-/user/org.couchdb.user:x", "", PUBLISH,
	    "log in to npm with an account of its own" },
	{ "registry.yarnpkg.com", "PUT", "/x", "", PUBLISH, "publish to npm" },
	{ "npm.pkg.github.com", "PUT", "/x", "", PUBLISH,
	    "publish to GitHub's npm registry" },
	{ "maven.pkg.github.com", "PUT", "/x/y/z.jar", "", PUBLISH,
	    "deploy to GitHub's Maven registry" },
	{ "nuget.pkg.github.com", "PUT", "/x/index.json", "", PUBLISH,
	    "push to GitHub's NuGet registry" },
	{ "api.jsr.io", "POST", "/scopes/x/packages/y/versions/1.0.0", "",
	    PUBLISH, "publish to JSR" },
	{ "upload.pypi.org", "POST", "/legacy/", "", PUBLISH,
	    "upload to PyPI" },
	{ "pypi.org", "POST", "/_/oidc/mint-token", "", PUBLISH,
	    "mint a token to upload to PyPI" },
	{ "api.anaconda.org", "POST", "/release/x/y", "", PUBLISH,
	    "upload to Anaconda" },
	{ "crates.io", "PUT", "/api/v1/crates/new", "", PUBLISH,
	    "publish to crates.io" },
	{ "crates.io", "DELETE", "/api/v1/crates/x/1.0.0/yank", "", PUBLISH,
	    "yank from crates.io" },
	{ "central.sonatype.com", "POST", "/api/v1/publisher/upload", "",
	    PUBLISH, "publish to Maven Central" },
	{ "oss.sonatype.org", "PUT", "/service/local/staging/x", "", PUBLISH,
	    "publish to Maven Central" },
	{ "plugins.gradle.org", "POST", "/api/v1/publish/versions/new/x", "",
	    PUBLISH, "publish a Gradle plugin" },
	{ "scans-in.gradle.com", "POST", "/in/x", "", PUBLISH,
	    "send a build scan" },
	{ "rubygems.org", "POST", "/api/v1/gems", "", PUBLISH,
	    "push to RubyGems" },
	{ "packagist.org", "POST", "/api/update-package", "", PUBLISH,
	    "update a package of Packagist" },
	{ "www.nuget.org", "PUT", "/api/v2/package", "", PUBLISH,
	    "push to NuGet" },
	{ "hex.pm", "POST", "/api/publish", "", PUBLISH, "publish to Hex" },
	{ "pub.dev", "GET", "/api/packages/versions/new", "", PUBLISH,
	    "publish to pub.dev, which begins with a GET" },
	{ "pause.perl.org", "POST", "/pause/authenquery", "", PUBLISH,
	    "upload to CPAN" },
	{ "hackage.haskell.org", "POST", "/packages/", "", PUBLISH,
	    "upload to Hackage" },
	{ "trunk.cocoapods.org", "POST", "/api/v1/pods", "", PUBLISH,
	    "publish a pod" },
	{ "clojars.org", "PUT", "/repo/x/y", "", PUBLISH, "deploy to Clojars" },
	{ "luarocks.org", "POST", "/api/1/x/upload", "", PUBLISH,
	    "upload to LuaRocks" },
	{ "registry-1.docker.io", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to Docker Hub" },
	{ "ghcr.io", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to GitHub's container registry" },
	{ "quay.io", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to Quay" },
	{ "public.ecr.aws", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to Amazon's public registry" },
	{ "gcr.io", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to Google's registry" },
	{ "x-docker.pkg.dev", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to Google's registry" },
	{ "registry.gitlab.com", "POST", "/v2/x/y/blobs/uploads/", "", PUBLISH,
	    "push to GitLab's container registry" },
	{ "keyserver.ubuntu.com", "POST", "/pks/add", "", PUBLISH,
	    "upload keys, which hold any bytes" },
	{ "storage.googleapis.com", "PUT", "/x/y", "", PUBLISH,
	    "upload to any bucket of Google's" },
	{ "s3.amazonaws.com", "PUT", "/x/y", "", PUBLISH,
	    "upload to any bucket of Amazon's" },
	{ "huggingface.co", "POST", "/api/models/x/y/commit/main", "", PUBLISH,
	    "commit to Hugging Face" },
	{ "app.terraform.io", "POST", "/api/v2/runs", "", PUBLISH,
	    "start runs of Terraform" },
	{ "uploads.github.com", "POST", "/repos/x/y/releases/1/assets", "",
	    PUBLISH, "upload to releases on GitHub" },
	{ "api.github.com", "POST", "/gists", "", PUBLISH,
	    "make gists, which anybody can read" },
	{ "api.github.com", "POST", "/graphql", "", PUBLISH,
	    "write by GraphQL, which no method tells from reading" },
	{ "gitlab.com", "POST", "/api/graphql", "", PUBLISH,
	    "write by GraphQL, which no method tells from reading" },
	{ "gitlab.com", "POST", "/api/v4/snippets", "", PUBLISH,
	    "make snippets, which anybody can read" },
	{ "github.com", "POST", "/x/y/git-receive-pack", "", PUSH,
	    "push to every repository of GitHub" },
	{ "gitlab.com", "POST", "/x/y/git-receive-pack", "", PUSH,
	    "push to every repository of GitLab" },
	{ "bitbucket.org", "POST", "/x/y/git-receive-pack", "", PUSH,
	    "push to every repository of Bitbucket" },
	{ "api.anthropic.com", "POST", "/v1/files", "", STORES,
	    "store files, under whatever key comes with them" },
	{ "api.openai.com", "POST", "/v1/files", "", STORES,
	    "store files, under whatever key comes with them" },
	{ "generativelanguage.googleapis.com", "POST", "/upload/v1beta/files",
	    "", STORES, "store files, under whatever key comes with them" },
	{ "api.mistral.ai", "POST", "/v1/files", "", STORES,
	    "store files, under whatever key comes with them" },
	{ "openrouter.ai", "POST", "/api/v1/keys", "", STORES,
	    "make keys, if its own may" },
};

static struct verdict
ask(const struct policy *image, const struct probe *p)
{
	struct policy_pair pair = { image, NULL };
	struct policy_request req = { .host = p->host,
		.port = 443,
		.scheme = SCHEME_HTTPS,
		.method = span_of(p->method),
		.path = span_of(p->path),
		.query = span_of(p->query),
		.has_query = p->query[0] != '\0' };

	return policy_judge_request(&pair, &req);
}

/* One finding for a rule: what it lets through first says enough. */
static bool
is_told(const struct compile_result *ret, size_t from, uint32_t line)
{
	for (size_t i = from; i < ret->finding_count; i++) {
		if (ret->findings[i].line == line)
			return true;
	}
	return false;
}

void
lint_probes(const struct model *m, const struct policy *image,
    struct compile_result *ret)
{
	size_t before = ret->finding_count;

	(void)m;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		const struct probe *p = &probes[i];
		struct verdict v = ask(image, p);

		/* what somebody is asked about is looked at by them */
		if (v.action != ACTION_ALLOW ||
		    strcmp(v.file, policy_file(image)) != 0 ||
		    is_told(ret, before, v.line))
			continue;
		/* of a push each command is asked for; the other was told */
		if (v.reads_push || v.tls == TLS_MODE_PASSTHROUGH)
			continue;
		finding_review(ret, (struct place){ v.file, v.line }, p->code,
		    "[%s %s] lets a guest %s (%s https://%s%s): name what is "
		    "meant by method and path",
		    verdict_section(&v), v.rule, p->what, p->method, p->host,
		    p->path);
	}
}
