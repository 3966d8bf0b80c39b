/*
 * An archive as a guest may send it, made in a directory. The first byte says
 * whether it may be merged into what is there, and what becomes of links that
 * lead out; the rest is the archive.
 *
 * Around the directory lie a file and a directory of somebody else, and in it
 * links to both, which a careless reader would follow.
 *
 * Holds: nothing but "x" and what is below it is made or changed, there are no
 * more files than allowed, nothing has more than permissions, and without
 * leave no link leads out. Where it is not merged, nothing that was there has
 * changed.
 */
#include "fuzz_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm/archive.h"
#include "vmm/archive_read.h"

#define ENTRIES_MAX 8

static char place[64];
static int outer_fd = -1;
static unsigned int found; /* files and directories below "x" */
static bool links_stay;

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void
remove_place(void)
{
	(void)nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
write_file(int dir_fd, const char *name, const char *text)
{
	const int fd = openat(dir_fd, name,
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);

	HOLDS(fd != -1);
	HOLDS(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
}

static bool
holds_text(int dir_fd, const char *name, const char *text)
{
	const int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char got[64];
	struct stat st;
	ssize_t n;

	if (fd == -1)
		return false;
	n = read(fd, got, sizeof(got));
	HOLDS(fstat(fd, &st) == 0);
	(void)close(fd);
	return n == (ssize_t)strlen(text) &&
	    memcmp(got, text, (size_t)n) == 0 && (st.st_mode & 07777) == 0640;
}

/* place/{file,dir/file,in/x/{file,out,dir}} */
static void
make_place(void)
{
	(void)umask(0);
	/* in memory, where that can be had: ten times as many inputs */
	(void)snprintf(place, sizeof(place), "/dev/shm/tapward-fuzz.XXXXXX");
	if (mkdtemp(place) == NULL) {
		(void)snprintf(place, sizeof(place),
		    "/tmp/tapward-fuzz.XXXXXX");
		HOLDS(mkdtemp(place) != NULL);
	}
	outer_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	HOLDS(outer_fd != -1);
	write_file(outer_fd, "file", "mine");
	HOLDS(mkdirat(outer_fd, "dir", 0750) == 0);
	write_file(outer_fd, "dir/file", "mine");
	HOLDS(mkdirat(outer_fd, "in", 0750) == 0);
	HOLDS(atexit(remove_place) == 0);
}

static void
make_inside(void)
{
	HOLDS(mkdirat(outer_fd, "in/x", 0750) == 0);
	write_file(outer_fd, "in/x/file", "old");
	HOLDS(symlinkat("../../file", outer_fd, "in/x/out") == 0);
	HOLDS(symlinkat("../../dir", outer_fd, "in/x/dir") == 0);
}

static void
remove_inside(void)
{
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/in/x", place);
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	HOLDS(faccessat(outer_fd, "in/x", F_OK, AT_SYMLINK_NOFOLLOW) == -1);
}

static unsigned int
count_in(const char *name)
{
	const int fd = openat(outer_fd, name, O_RDONLY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	unsigned int n = 0;

	HOLDS(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n - 2;
}

static void
check_outside(void)
{
	struct stat st;

	HOLDS(count_in(".") == 3 && count_in("dir") == 1);
	HOLDS(count_in("in") <= 1);
	HOLDS(holds_text(outer_fd, "file", "mine"));
	HOLDS(holds_text(outer_fd, "dir/file", "mine"));
	HOLDS(fstatat(outer_fd, "dir", &st, AT_SYMLINK_NOFOLLOW) == 0);
	HOLDS(st.st_mode == (S_IFDIR | 0750));
	HOLDS(fstatat(outer_fd, "in", &st, AT_SYMLINK_NOFOLLOW) == 0);
	HOLDS(st.st_mode == (S_IFDIR | 0750));
}

static int
look_at(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	uint8_t target[ARCHIVE_TARGET_MAX + 1];
	ssize_t n;

	found++;
	if (S_ISLNK(st->st_mode)) {
		HOLDS(flag == FTW_SL);
		n = readlink(path, (char *)target, sizeof(target));
		HOLDS(n > 0);
		HOLDS(!links_stay || ftw->level > 0);
		HOLDS(!links_stay ||
		    !archive_target_leaves((struct span){ target, (size_t)n },
			(unsigned int)ftw->level - 1));
		return 0;
	}
	HOLDS(S_ISDIR(st->st_mode) || S_ISREG(st->st_mode));
	HOLDS((st->st_mode & 07000) == 0 && st->st_nlink >= 1);
	HOLDS(!S_ISREG(st->st_mode) || st->st_nlink == 1);
	return 0;
}

static void
check_inside(void)
{
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/in/x", place);
	found = 0;
	(void)nftw(path, look_at, 16, FTW_PHYS);
	HOLDS(found <= ENTRIES_MAX + 4);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct archive_limits limits = { .entries_max = ENTRIES_MAX,
		.bytes_max = 100000 };
	struct archive_reader *r;
	bool has_before;
	int in_fd, rc;

	if (size == 0)
		return 0;
	if (outer_fd == -1)
		make_place();
	has_before = (data[0] & 1) != 0;
	limits.merge = (data[0] & 2) != 0;
	limits.links = (enum archive_links)((data[0] >> 2) % 3);
	links_stay = limits.links != ARCHIVE_LINKS_ANY && !has_before;
	if (has_before)
		make_inside();
	in_fd = openat(outer_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	HOLDS(archive_reader_new(in_fd, "x", &limits, NULL, NULL, &r) == 0);
	rc = archive_reader_feed(r, (struct span){ data + 1, size - 1 }, NULL);
	if (rc == 0)
		rc = archive_reader_end(r, NULL);
	HOLDS(rc <= 0);
	archive_reader_free(r);
	(void)close(in_fd);
	check_outside();
	check_inside();
	if (has_before && !limits.merge) {
		HOLDS(found == 4);
		HOLDS(holds_text(outer_fd, "in/x/file", "old"));
	}
	remove_inside();
	return 0;
}
