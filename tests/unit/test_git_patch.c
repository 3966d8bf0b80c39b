/*
 * What a guest changed of a folder, with streams that somebody hostile made.
 */
#include "tests/unit/git_support.h"

#include "cli/git_patch.h"
#include "cli/new_file.h"

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
