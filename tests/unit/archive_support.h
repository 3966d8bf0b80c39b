/*
 * What the tests of archives share: archives written record by record, good
 * ones and others, and a directory of their own with what is in it as text.
 */
#ifndef TAPWARD_TESTS_UNIT_ARCHIVE_SUPPORT_H
#define TAPWARD_TESTS_UNIT_ARCHIVE_SUPPORT_H

#include "wire_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/archive.h"

#define TREE_TEXT_SIZE 65536

static inline void
put_dir(struct wr *w, const char *name, uint16_t mode)
{
	archive_entry_encode(w,
	    &(struct archive_entry){ .type = ARCHIVE_DIR,
		.mode = mode,
		.mtime_s = 1000000000,
		.name = span_of(name) });
}

static inline void
put_file(struct wr *w, const char *name, uint16_t mode, const char *data)
{
	archive_entry_encode(w,
	    &(struct archive_entry){ .type = ARCHIVE_FILE,
		.mode = mode,
		.mtime_s = 1000000000,
		.mtime_ns = 5,
		.size = strlen(data),
		.name = span_of(name) });
	wr_text(w, data);
}

static inline void
put_link(struct wr *w, const char *name, const char *target)
{
	archive_entry_encode(w,
	    &(struct archive_entry){ .type = ARCHIVE_LINK,
		.mtime_s = 1000000000,
		.name = span_of(name),
		.target = span_of(target) });
}

static inline void
put_bare(struct wr *w, enum archive_type type)
{
	archive_entry_encode(w, &(struct archive_entry){ .type = type });
}

/*
 * A script of records, separated by blanks: "d NAME MODE", "f NAME MODE DATA",
 * "l NAME TARGET", "u", "e" for END; "@" is the empty name.
 */
static inline void
put_script(struct wr *w, const char *script)
{
	AUTO_FREE char *text = strdup(script);
	char *save = NULL;

	archive_magic_encode(w);
	for (char *t = strtok_r(text, " ", &save); t != NULL;
	     t = strtok_r(NULL, " ", &save)) {
		const char *name =
		    *t == 'u' || *t == 'e' ? "" : strtok_r(NULL, " ", &save);
		const char *rest =
		    *t == 'u' || *t == 'e' ? "" : strtok_r(NULL, " ", &save);
		const uint16_t mode = (uint16_t)strtoul(rest, NULL, 8);

		if (strcmp(name, "@") == 0)
			name = "";
		if (*t == 'd')
			put_dir(w, name, mode);
		else if (*t == 'f')
			put_file(w, name, mode, strtok_r(NULL, " ", &save));
		else if (*t == 'l')
			put_link(w, name, rest);
		else
			put_bare(w, *t == 'u' ? ARCHIVE_UP : ARCHIVE_END);
	}
	assert_true(wr_ok(w));
}

static inline int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* One line of text for the entry. Borrows path. */
static inline void
tell_entry(struct wr *w, int dir_fd, const char *name, const char *path)
{
	char data[256] = "";
	struct stat st;
	ssize_t n;
	int fd;

	assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(dir_fd, name, data, sizeof(data) - 1);
		assert_true(n > 0);
		wr_fmt(w, "l %s %s\n", path, data);
	} else if (S_ISREG(st.st_mode)) {
		fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		n = fd == -1 ? -1 : read(fd, data, sizeof(data) - 1);
		assert_true(n >= 0);
		(void)close(fd);
		wr_fmt(w, "f %s %o %s\n", path, st.st_mode & 07777, data);
	} else {
		wr_fmt(w, "%c %s %o\n", S_ISDIR(st.st_mode) ? 'd' : '?', path,
		    st.st_mode & 07777);
	}
}

/* Everything below dir_fd, sorted, one line each; path is that of dir_fd. */
static inline void
tell_tree(struct wr *w, int dir_fd, const char *path)
{
	struct dirent **all;
	const int n = scandirat(dir_fd, ".", &all, NULL, by_name);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		const char *name = all[i]->d_name;
		char inside[8192];
		int fd;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			assert_in_range(snprintf(inside, sizeof(inside),
					    "%s%s%s", path,
					    *path == '\0' ? "" : "/", name),
			    1, sizeof(inside) - 1);
			tell_entry(w, dir_fd, name, inside);
			fd = openat(dir_fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd != -1)
				tell_tree(w, fd, inside);
			if (fd != -1)
				(void)close(fd);
		}
		free(all[i]);
	}
	free(all);
}

/* Into text, of TREE_TEXT_SIZE. Returns it. */
static inline const char *
tree_text(int dir_fd, char *text)
{
	struct wr w = wr_init(text, TREE_TEXT_SIZE);

	tell_tree(&w, dir_fd, "");
	wr_u8(&w, '\0');
	assert_true(wr_ok(&w));
	return text;
}

static inline int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
remove_tree(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16,
			     FTW_DEPTH | FTW_PHYS | FTW_MOUNT),
	    0);
}

#endif
