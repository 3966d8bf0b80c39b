/*
 * What git sees of a folder, with repositories that somebody hostile made.
 */
#include "tests/unit/git_support.h"

#include "vmm/archive.h"

/* Names of all but folders, one after the other, with ',' behind each. */
static void
list(int fd, char *ret, size_t size)
{
	static struct archive_parser p;
	static char path[4096];
	size_t lens[16] = { 0 }, depth = 0, at = 0;
	AUTO_FREE char *text = NULL;
	struct archive_entry e;
	struct span in, data;
	size_t len;

	memset(&p, 0, sizeof(p));
	assert_int_not_equal(lseek(fd, 0, SEEK_SET), -1);
	assert_int_equal(fd_read_all(fd, 64 << 20, &text, &len), 0);
	in = (struct span){ (const uint8_t *)text, len };
	ret[0] = '\0';
	for (;;) {
		enum archive_event event = archive_parse(&p, &in, &e, &data);

		if (event == ARCHIVE_MORE || event == ARCHIVE_DONE)
			break;
		assert_int_not_equal(event, ARCHIVE_BAD);
		if (event != ARCHIVE_ENTRY)
			continue;
		if (e.type == ARCHIVE_UP) {
			depth--;
			continue;
		}
		len = (size_t)snprintf(path + lens[depth],
		    sizeof(path) - lens[depth], "%s%.*s",
		    lens[depth] == 0 ? "" : "/", (int)e.name.len,
		    (const char *)e.name.ptr);
		if (e.type == ARCHIVE_DIR)
			lens[depth + 1] =
			    e.name.len == 0 ? 0 : lens[depth] + len;
		if (e.type == ARCHIVE_DIR)
			depth++;
		else
			at +=
			    (size_t)snprintf(ret + at, size - at, "%s,", path);
	}
}

static int
compare_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* want: names in their order, ',' behind each. */
static void
assert_view(const char *claim, const char *name, const char *want)
{
	static char got[4096], sorted[4096]; /* a frame has its limit */
	char *parts[64], *save = NULL;
	struct git_view *v = view_of(name);
	int fd = archive(name, v);
	size_t n = 0, at = 0;

	sorted[0] = '\0';
	list(fd, got, sizeof(got));
	for (char *t = strtok_r(got, ",", &save); t != NULL && n < 64;
	     t = strtok_r(NULL, ",", &save))
		parts[n++] = t;
	if (n > 0)
		qsort(parts, n, sizeof(parts[0]), compare_text);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(sorted + at, sizeof(sorted) - at, "%s,",
		    parts[i]);
	if (strcmp(sorted, want) != 0)
		fail_msg("%s: got %s, want %s", claim, sorted, want);
	git_view_free(v);
	(void)close(fd);
}

#define EVIL                                                                   \
	"echo '#!/bin/sh\necho \"$0\" >>'$T'/ran\ncat' >evil\nchmod +x evil\n" \
	"git init -q repo\ncd repo\n"                                          \
	"echo '*.log' >.gitignore\necho '* filter=f diff=d' >.gitattributes\n" \
	"echo a >a\necho x >x.log\necho new >new\nmkdir d\necho b >d/b\n"      \
	"git add .gitignore .gitattributes a d\ngit commit -qm 1\n"            \
	"for h in post-index-change pre-commit post-checkout; do\n"            \
	"mkdir -p .git/hooks; cp ../evil .git/hooks/$h; done\n"                \
	"git config core.hooksPath $T/repo/.git/hooks\n"                       \
	"git config core.fsmonitor $T/evil\n"                                  \
	"git config core.pager $T/evil\n"                                      \
	"git config core.sshCommand $T/evil\n"                                 \
	"git config core.alternateRefsCommand $T/evil\n"                       \
	"git config diff.external $T/evil\n"                                   \
	"git config diff.d.textconv $T/evil\ngit config diff.d.command "       \
	"$T/evil\n"                                                            \
	"git config filter.f.clean $T/evil\ngit config filter.f.smudge "       \
	"$T/evil\n"                                                            \
	"git config filter.f.process $T/evil\n"                                \
	"git config filter.f.required true\n"                                  \
	"git config alias.ls-files \"!$T/evil\"\n"                             \
	"git config extensions.partialClone origin\n"                          \
	"git config remote.origin.url ext::$T/evil\n"                          \
	"git config remote.origin.uploadpack $T/evil\n"                        \
	"git config url.https://user:token@example.com/.insteadOf "            \
	"https://example.com/\n"

static const struct {
	const char *claim, *script, *name, *want;
} views[] = {
	{ "tracked and new files, not what is ignored, not .git",
	    "git init -q repo; cd repo; echo '*.log' >.gitignore; echo a >a\n"
	    "echo x >x.log; mkdir d e; echo b >d/b; echo y >e/y.log\n"
	    "git add .gitignore a; ln -s a link\n",
	    "repo", ".gitignore,a,d/b,link," },
	{ "a tracked file that is ignored, and none that is gone",
	    "git init -q repo; cd repo; echo '*.log' >.gitignore; echo a >a\n"
	    "echo x >x.log; git add -f .gitignore a x.log; rm a\n",
	    "repo", ".gitignore,x.log," },
	{ "info/exclude and the caller's own list count",
	    "git init -q repo; cd repo; echo s >secret; echo e >env; echo a "
	    ">a\n"
	    "echo secret >.git/info/exclude\n"
	    "mkdir -p $HOME/.config/git; echo env >$HOME/.config/git/ignore\n",
	    "repo", "a," },
	{ "the caller's list by core.excludesFile counts",
	    "git init -q repo; cd repo; echo e >env; echo a >a\n"
	    "echo env >$HOME/list\n"
	    "git config --global core.excludesFile $HOME/list\n",
	    "repo", "a," },
	{ "a folder within a repository, ignored by what is above it",
	    "git init -q repo; cd repo; echo '*.log' >.gitignore; mkdir -p "
	    "d/e\n"
	    "echo a >a; echo b >d/e/b; echo x >d/e/x.log\n",
	    "repo/d", "e/b," },
	{ "names with newlines, quotes and what looks like an option",
	    "git init -q repo; cd repo; echo 'z*' >.gitignore\n"
	    "printf x >'a\nz'; printf x >'\"q\"'; printf x >-rf\n"
	    "printf x >'zz\na'; git add .\n",
	    "repo", "\"q\",-rf,.gitignore,a\nz," },
	{ "submodules with what git sees of them",
	    "git init -q s; cd s; echo '*.o' >.gitignore; echo m >m; git add "
	    ".\n"
	    "git commit -qm 1; cd ..; git init -q repo; cd repo\n"
	    "git -c protocol.file.allow=always submodule -q add $T/s sub\n"
	    "echo o >sub/x.o; echo n >sub/n\n",
	    "repo", ".gitmodules,sub/.gitignore,sub/m,sub/n," },
	{ "a submodule that is not checked out is empty",
	    "git init -q s; cd s; echo m >m; git add .; git commit -qm 1\n"
	    "cd ..; git init -q repo; cd repo; echo a >a; git add a\n"
	    "git update-index --add --cacheinfo "
	    "160000,$(git -C ../s rev-parse HEAD),sub\nmkdir sub\n",
	    "repo", "a," },
	{ "a worktree, whose .git is a file",
	    "git init -q main; cd main; echo a >a; git add a; git commit -qm "
	    "1\n"
	    "echo secret >.git/info/exclude; git worktree add -q ../repo\n"
	    "cd ../repo; echo new >new; echo s >secret\n",
	    "repo", "a,new," },
	{ "a repository within, which this one knows nothing of, is left out",
	    "git init -q repo; cd repo; echo a >a; git init -q in; cd in\n"
	    "echo s >s; git add s; git commit -qm 1\n",
	    "repo", "a," },
	{ "a list that names .git itself is not believed",
	    "git init -q repo; cd repo; echo a >a; git add a\n"
	    "sed -i 's/a/a/' a; mkdir .GIT 2>/dev/null || true; echo x "
	    ">.GIT/x\n"
	    "python3 - <<'X'\nimport hashlib\n"
	    "i = open('.git/index','rb').read()[:-20]\n"
	    "e = i[12:12+62]\nname = b'.git/config'\n"
	    "e = e[:60] + len(name).to_bytes(2, 'big') + name\n"
	    "e += b'\\0' * (8 - len(e) % 8)\n"
	    "i = i[:8] + (2).to_bytes(4, 'big') + e + i[12:]\n"
	    "open('.git/index','wb').write(i + hashlib.sha1(i).digest())\nX\n",
	    "repo", "a," },
	{ "core.worktree of the repository is not obeyed",
	    "mkdir other; echo s >other/s; git init -q repo; cd repo; echo a "
	    ">a\n"
	    "git config core.worktree $T/other\n",
	    "repo", "a," },
	{ "include.path and core.excludesFile of the repository are not obeyed",
	    "git init -q repo; cd repo; echo '*.log' >.gitignore; echo a >a\n"
	    "echo '!*.log' >../not; echo x >x.log\n"
	    "git config core.excludesFile $T/not\n"
	    "printf '[core]\\nfsmonitor = %s/evil\\n' $T >../inc\n"
	    "git config include.path $T/inc\n",
	    "repo", ".gitignore,a," },
	{ "a folder that became a link is a link",
	    "mkdir other; echo s >other/s; git init -q repo; cd repo; mkdir d\n"
	    "echo s >d/s; git add d; rm -r d; ln -s ../other d\n",
	    "repo", "d," },
	{ "a shared index",
	    "git init -q repo; cd repo; echo a >a; git add a; git commit -qm "
	    "1\n"
	    "git update-index --split-index; echo b >b; git add b\n",
	    "repo", "a,b," },
	{ "a sparse index and checkout",
	    "git init -q repo; cd repo; mkdir d e; echo a >d/a; echo b >e/b\n"
	    "git add .; git commit -qm 1; git sparse-checkout set "
	    "--cone --sparse-index d\n",
	    "repo", "d/a," },
	{ "objects that are named by SHA-256",
	    "git init -q --object-format=sha256 repo; cd repo; echo a >a\n"
	    "git add a; git commit -qm 1; echo b >b\n",
	    "repo", "a,b," },
	{ "nothing was ever added", "git init -q repo; echo a >repo/a\n",
	    "repo", "a," },
	{ "nothing that a repository names is run", EVIL, "repo",
	    ".gitattributes,.gitignore,a,d/b,new," },
	{ "the same in a submodule",
	    EVIL "cd ..; mv repo s; git init -q repo; cd repo\n"
		 "git add ../s 2>/dev/null || true; mv ../s sub\n"
		 "git update-index --add --cacheinfo 160000,"
		 "$(GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor "
		 "GIT_CONFIG_VALUE_0=false git -C sub rev-parse HEAD),sub\n"
		 "rm -f $T/ran\n",
	    "repo",
	    "sub/.gitattributes,sub/.gitignore,sub/a,sub/d/b,sub/new," },
};

static void
sees_what_git_sees(void **state)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		assert_int_equal(make_folder(state), 0);
		sh(views[i].script);
		assert_view(views[i].claim, views[i].name, views[i].want);
		assert_int_equal(remove_folder(state), 0);
	}
}

/* What is asserted by its absence would be there. */
static void
has_a_trap_that_works(void **state)
{
	(void)state;
	sh(EVIL "git status || true\n");
	assert_int_equal(access(in_folder("ran"), F_OK), 0);
}

static const struct {
	const char *claim, *script, *says;
} refusals[] = {
	{ "no repository", "mkdir repo\n", "leave --git away" },
	{ "a .git that leads nowhere",
	    "mkdir repo; echo 'gitdir: /nonexistent' >repo/.git\n", "No such" },
	{ "a .git that is something else", "mkdir repo; echo x >repo/.git\n",
	    "Invalid" },
	{ "a .git that is a FIFO", "mkdir repo; mkfifo repo/.git\n",
	    "Invalid" },
	{ "an index that is none",
	    "git init -q repo; echo x >repo/.git/index\n", "git: " },
};

static void
refuses_what_is_no_repository(void **state)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct err err = { "" };
		struct git_view *v;

		assert_int_equal(make_folder(state), 0);
		sh(refusals[i].script);
		if (git_view_new(in_folder("repo"), &v, &err) == 0 ||
		    strstr(err.text, refusals[i].says) == NULL)
			fail_msg("%s: %s", refusals[i].claim, err.text);
		assert_int_equal(remove_folder(state), 0);
	}
}

static const struct {
	const char *claim, *script;
	bool has_commit;
} commits[] = {
	{ "a branch", "git commit -q --allow-empty -m 1\n", true },
	{ "a branch that is packed",
	    "git commit -q --allow-empty -m 1; git pack-refs --all\n", true },
	{ "a commit itself",
	    "git commit -q --allow-empty -m 1; git checkout -q --detach\n",
	    true },
	{ "no commit yet", "", false },
	{ "a HEAD that leads out of the repository",
	    "git commit -q --allow-empty -m 1; cp .git/refs/heads/* $T/c\n"
	    "echo 'ref: refs/../../../c' >.git/HEAD\n",
	    false },
	{ "a HEAD that leads to itself", "echo 'ref: HEAD' >.git/HEAD\n",
	    false },
	{ "a branch that is a FIFO",
	    "mkfifo .git/refs/heads/f; echo 'ref: refs/heads/f' >.git/HEAD\n",
	    false },
	{ "a branch that holds something else",
	    "ln -s /etc/passwd .git/refs/heads/f\n"
	    "echo 'ref: refs/heads/f' >.git/HEAD\n",
	    false },
};

static void
knows_the_commit(void **state)
{
	for (size_t i = 0; i < sizeof(commits) / sizeof(commits[0]); i++) {
		char script[1024], want[128] = "";
		struct git_view *v;
		FILE *f;

		assert_int_equal(make_folder(state), 0);
		(void)snprintf(script, sizeof(script),
		    "git init -q repo; cd repo\n%s%s", commits[i].script,
		    commits[i].has_commit ? "git rev-parse HEAD >$T/head\n"
					  : "");
		sh(script);
		v = view_of("repo");
		if (commits[i].has_commit) {
			f = fopen(in_folder("head"), "r");
			assert_non_null(f);
			assert_non_null(fgets(want, sizeof(want), f));
			(void)fclose(f);
			want[strcspn(want, "\n")] = '\0';
		}
		if (strcmp(git_view_commit(v), want) != 0)
			fail_msg("%s: got %s, want %s", commits[i].claim,
			    git_view_commit(v), want);
		git_view_free(v);
		assert_int_equal(remove_folder(state), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_what_git_sees),
		cmocka_unit_test_setup_teardown(has_a_trap_that_works,
		    make_folder, remove_folder),
		cmocka_unit_test(refuses_what_is_no_repository),
		cmocka_unit_test(knows_the_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
