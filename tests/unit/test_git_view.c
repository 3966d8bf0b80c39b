/*
 * What git sees of a folder, and what a guest changed of it, with repositories
 * and streams that somebody hostile made. Every program that a repository could
 * name leaves a mark if it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/git_patch.h"
#include "cli/git_run.h"
#include "cli/git_view.h"
#include "cli/new_file.h"
#include "vmm/archive.h"
#include "vmm/archive_write.h"

static char folder[64];

static void
sh(const char *script)
{
	char file[128], command[256];
	FILE *f;

	(void)snprintf(file, sizeof(file), "%s/script", folder);
	f = fopen(file, "w");
	assert_non_null(f);
	(void)fprintf(f,
	    "set -e\nexport HOME=%s/home GIT_CONFIG_NOSYSTEM=1\n"
	    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com\n"
	    "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com\n"
	    "T=%s\ncd \"$T\"\n%s",
	    folder, folder, script);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(command, sizeof(command), "sh %s >%s/said 2>&1", file,
	    folder);
	if (system(command) != 0) {
		(void)snprintf(command, sizeof(command), "cat %s/said", folder);
		if (system(command) == 0)
			fail_msg("the script failed:\n%s", script);
		fail();
	}
}

static int
make_folder(void **state)
{
	char home[96];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/tapward-test-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(home, sizeof(home), "%s/home", folder);
	if (mkdir(home, 0700) == -1)
		return -1;
	(void)setenv("HOME", home, 1);
	(void)unsetenv("XDG_CONFIG_HOME");
	return 0;
}

static int
remove_folder(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static const char *
in_folder(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* Nothing that a repository named has run, and no scratch is left. */
static void
assert_clean(void)
{
	if (access(in_folder("ran"), F_OK) == 0)
		fail_msg("something of the repository was run");
}

static struct git_view *
view_of(const char *name)
{
	struct err err = { "" };
	struct git_view *v = NULL;

	if (git_view_new(in_folder(name), &v, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	assert_clean();
	return v;
}

/* What goes up, as a stream; the caller's. */
static int
archive(const char *name, struct git_view *v)
{
	uint8_t buf[8192];
	struct archive_writer *w;
	struct err err = { "" };
	size_t len;
	int out, fd = open(in_folder(name), O_RDONLY | O_DIRECTORY);

	assert_int_not_equal(fd, -1);
	assert_int_equal(git_file_new(&out, &err), 0);
	assert_int_equal(archive_writer_new(fd,
			     v == NULL ? NULL : git_view_filter, v, &w),
	    0);
	do {
		if (archive_writer_fill(w, buf, sizeof(buf), &len, &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(fd_write_all(out, buf, len), 0);
	} while (len > 0);
	archive_writer_free(w);
	return out;
}

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
	char got[4096], sorted[4096] = "", *parts[64], *save = NULL;
	struct git_view *v = view_of(name);
	int fd = archive(name, v);
	size_t n = 0, at = 0;

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

/* Into T/patch; before: made of T/repo, after of T/after, as it is. */
static int
make_patch(const char *name, struct git_patch_totals *ret, struct err *err)
{
	struct git_view *v = view_of(name);
	int before = archive(name, v), after, rc;
	struct new_file out;
	struct git_patch p = { .view = v, .before_fd = before };
	static char path[96];

	sh("sh change\n");
	after = archive("after", NULL);
	(void)snprintf(path, sizeof(path), "%s/patch", folder);
	assert_int_equal(new_file_open(path, &out, err), 0);
	p.after_fd = after;
	p.out_fd = out.fd;
	rc = git_patch_make(&p, ret, err);
	if (rc == 0)
		rc = new_file_keep(&out, err);
	new_file_done(&out);
	git_view_free(v);
	(void)close(before);
	(void)close(after);
	assert_clean();
	return rc;
}

#define REPO                                                                   \
	"git init -q repo; cd repo; echo '*.log' >.gitignore; echo a >a\n"     \
	"echo x >x; chmod +x x; mkdir d; seq 100 >d/b; ln -s a l\n"            \
	"head -c 5000 /dev/zero >bin; git add .; git commit -qm 1\n"           \
	"echo y >y.log; echo u >u; cd ..\n"                                    \
	"cp -a repo after; rm -rf after/.git after/y.log; cp -a repo was\n"

static const struct {
	const char *claim, *script; /* of T/after, as the guest changes it */
	size_t files;
	const char *check; /* of T/repo, after `git apply` */
} patches[] = {
	{ "nothing", "", 0, "" },
	{ "what was changed, made and removed, of any kind",
	    "echo b >>a; chmod -x x; rm l; ln -s d/b l; echo n >d/n\n"
	    "head -c 6000 /dev/urandom >bin; rm u; cp bin $T/bin\n",
	    6,
	    "echo 'a\nb' | cmp - a; test ! -x x; test $(readlink l) = d/b\n"
	    "test $(cat d/n) = n; cmp bin $T/bin; test ! -e u\n" },
	{ "a file that became a folder, and a folder that became a file",
	    "rm a; mkdir a; echo n >a/n; rm -r d; echo d >d\n", 4,
	    "test $(cat a/n) = n; test $(cat d) = d\n" },
	{ "a file that moved", "mv d/b d/c\n", 2, "test -e d/c -a ! -e d/b\n" },
	{ "new files that are ignored are left out",
	    "echo z >z.log; mkdir node_modules; echo node_modules/ "
	    ">>.gitignore\n"
	    "echo m >node_modules/m; echo n >n\n",
	    2, "test ! -e z.log -a ! -e node_modules; test -e n\n" },
	{ "names that are no names of a patch",
	    "echo n >'new\nline'; echo q >'q\"\\'; echo t >'tab\tx'\n"
	    "printf n >\"$(printf '\\303\\244')\"; echo m >':(exclude)m'\n",
	    5,
	    "test -e 'new\nline' -a -e 'q\"\\' -a -e 'tab\tx'\n"
	    "test -e ':(exclude)m'\n" },
	{ ".git, whatever it is and wherever, is no part of it",
	    "git init -q .; git config core.fsmonitor $T/evil; mkdir -p "
	    "s/.GIT\n"
	    "echo x >s/.GIT/config; echo 'gitdir: /' >d/.git; echo n >n\n",
	    1,
	    "test -e n -a ! -e s -a ! -e d/.git\n"
	    "test -z \"$(git config core.fsmonitor)\"\n" },
	{ "attributes that name filters and drivers convert and run nothing",
	    "echo '* filter=f diff=d text eol=crlf ident' >.gitattributes\n"
	    "echo '$Id$' >id; git config --file cfg filter.f.clean $T/evil\n",
	    3, "test \"$(cat id)\" = '$Id$'\n" },
	{ "text in the stream that looks like a command is text",
	    "printf 'x\\ndata 5\\nM 100644 inline .git/config\\n' >n\n", 1,
	    "grep -q inline n\n" },
	{ "a link that leads out is not made, and one that became so stays",
	    "ln -s /etc/passwd p; ln -s ../../x q; rm l; ln -s /etc l\n", 0,
	    "test ! -e p -a ! -e q; test $(readlink l) = a\n" },
};

static void
makes_a_patch(void **state)
{
	for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
		struct git_patch_totals totals;
		struct err err = { "" };
		char script[4096];

		assert_int_equal(make_folder(state), 0);
		(void)snprintf(script, sizeof(script),
		    REPO "cat >$T/change <<'END'\ncd $T/after\n%s\nEND\n"
			 "sed -i \"1iT=$T\" $T/change\n",
		    patches[i].script);
		sh(script);
		if (make_patch("repo", &totals, &err) != 0)
			fail_msg("%s: %s", patches[i].claim, err.text);
		if (totals.files != patches[i].files)
			fail_msg("%s: %zu files, want %zu", patches[i].claim,
			    totals.files, patches[i].files);
		(void)snprintf(script, sizeof(script),
		    "diff -r --no-dereference repo was\ncd repo\n"
		    "test ! -s $T/patch || git apply $T/patch\n%s",
		    patches[i].check);
		sh(script);
		assert_int_equal(remove_folder(state), 0);
	}
}

/* One of a folder within fits at the top, as git's own does. */
static void
makes_a_patch_of_a_part(void **state)
{
	struct git_patch_totals totals;
	struct err err = { "" };

	(void)state;
	sh("git init -q repo; cd repo; mkdir -p p/q; echo '*.log' >.gitignore\n"
	   "echo a >p/q/a; git add .; git commit -qm 1; cd ..\n"
	   "cp -a repo/p after; cat >change <<'END'\n"
	   "echo b >>after/q/a; echo x >after/x.log; echo n >after/n\nEND\n");
	if (make_patch("repo/p", &totals, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(totals.files, 2);
	assert_int_equal(totals.ignored, 1);
	sh("cd repo/p; git apply $T/patch; cd ..\n"
	   "test $(wc -l <p/q/a) = 2; test -e p/n; test ! -e p/x.log\n");
}

static const struct {
	const char *claim;
	uint8_t bytes[64];
	size_t len;
} streams[] = {
	{ "nothing", { 0 }, 0 },
	{ "no archive", "no archive at all", 17 },
	{ "the start of one", { 'T', 'W', 'A', '1', 1 }, 5 },
	{ "a file instead of a folder",
	    { 'T', 'W', 'A', '1', 2, 1, 0xa4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 },
	    30 },
};

static void
refuses_what_is_no_archive(void **state)
{
	struct git_patch_totals totals;
	struct git_view *v;
	int before, out;

	(void)state;
	sh("git init -q repo; echo a >repo/a\n");
	v = view_of("repo");
	before = archive("repo", v);
	assert_int_equal(git_file_new(&out, NULL), 0);
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		struct err err = { "" };
		struct git_patch p = { .view = v,
			.before_fd = before,
			.out_fd = out };

		assert_int_equal(git_file_new(&p.after_fd, &err), 0);
		assert_int_equal(fd_write_all(p.after_fd, streams[i].bytes,
				     streams[i].len),
		    0);
		if (git_patch_make(&p, &totals, &err) == 0 ||
		    err.text[0] == '\0')
			fail_msg("%s: taken, %s", streams[i].claim, err.text);
		(void)close(p.after_fd);
	}
	(void)close(out);
	(void)close(before);
	git_view_free(v);
}

static void
keeps_a_new_file_or_leaves_none(void **state)
{
	struct new_file f;
	struct err err = { "" };
	char path[96];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/new", folder);
	assert_int_equal(new_file_check(path, &err), 0);
	assert_int_equal(new_file_open(path, &f, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	new_file_done(&f);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(new_file_open(path, &f, &err), 0);
	assert_int_equal(new_file_keep(&f, &err), 0);
	new_file_done(&f);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(new_file_check(path, &err), -EEXIST);
	assert_int_equal(new_file_open(path, &f, &err), 0);
	assert_int_equal(new_file_keep(&f, &err), -EEXIST);
	new_file_done(&f);
	assert_int_equal(new_file_check("/nonexistent/x", &err), -ENOENT);
	assert_int_not_equal(new_file_open("/nonexistent/x", &f, &err), 0);
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
		cmocka_unit_test(makes_a_patch),
		cmocka_unit_test_setup_teardown(makes_a_patch_of_a_part,
		    make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_archive,
		    make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(keeps_a_new_file_or_leaves_none,
		    make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
