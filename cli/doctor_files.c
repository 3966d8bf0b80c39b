/*
 * doctor: folders, the audit log, space, and the roots by which origins are
 * verified.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/doctor.h"

#define PATH_SIZE (HOSTCONF_PATH_SIZE + 32)
#define MIB (UINT64_C(1) << 20)
/* Of a file of certificates; Debian's has 230 KB. */
#define ROOTS_MAX_BYTES (16u << 20)
#define ROTATION_MAX_BYTES (1u << 20)
#define LOGROTATE_DIR "/etc/logrotate.d"

/* As daemon/dirs.c makes them; bits that are more than that. */
static const struct {
	size_t base;
	const char *name;
	mode_t forbidden;
} folders[] = {
	{ offsetof(struct hostconf, run_dir), "", 0022 },
	{ offsetof(struct hostconf, run_dir), "/peer", 0077 },
	{ offsetof(struct hostconf, run_dir), "/sandboxes", 0066 },
	{ offsetof(struct hostconf, state_dir), "", 0077 },
	{ offsetof(struct hostconf, state_dir), "/ca", 0077 },
	{ offsetof(struct hostconf, state_dir), "/vm", 0077 },
	{ offsetof(struct hostconf, log_dir), "", 0027 },
};

void
doctor_folders(struct doctor *d)
{
	bool is_well = true;

	if (d->host == NULL)
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[PATH_SIZE];
		struct stat st;

		(void)snprintf(path, sizeof(path), "%s%s",
		    (const char *)d->host + folders[i].base, folders[i].name);
		/* tapwardd makes what is not there. */
		if (lstat(path, &st) == -1 && errno == ENOENT)
			continue;
		if (!doctor_is_safe(d, "folder", path, folders[i].forbidden))
			is_well = false;
	}
	if (is_well)
		doctor_say(d, DOCTOR_OK, "", "%s, %s, %s", d->host->run_dir,
		    d->host->state_dir, d->host->log_dir);
}

void
doctor_log(struct doctor *d)
{
	char path[PATH_SIZE];
	struct stat st;

	if (d->host == NULL)
		return;
	(void)snprintf(path, sizeof(path), "%s/audit.jsonl", d->host->log_dir);
	if (lstat(path, &st) == -1 && errno == ENOENT)
		doctor_say(d, DOCTOR_OK, "", "%s is not there yet", path);
	else if (doctor_is_safe(d, "log", path, 0037))
		doctor_say(d, DOCTOR_OK, "", "%s, %" PRIu64 " MiB", path,
		    (uint64_t)st.st_size / MIB);
}

static bool
has_words(const char *path, const char *one, const char *two)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	size_t len;

	return fd != -1 &&
	    fd_read_all(fd, ROTATION_MAX_BYTES, &text, &len) == 0 &&
	    strstr(text, one) != NULL && strstr(text, two) != NULL;
}

/* A copy that is cut to nothing afterwards takes lines, and the chain, away. */
void
doctor_rotation(struct doctor *d)
{
	DIR *dir = opendir(LOGROTATE_DIR);
	const struct dirent *entry;
	bool is_well = true;

	if (d->host == NULL) {
		if (dir != NULL)
			(void)closedir(dir);
		return;
	}
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char path[512], mend[DOCTOR_TEXT_SIZE];

		(void)snprintf(path, sizeof(path), LOGROTATE_DIR "/%s",
		    entry->d_name);
		if (!has_words(path, d->host->log_dir, "copytruncate"))
			continue;
		(void)snprintf(mend, sizeof(mend),
		    "edit %s: no copytruncate, and postrotate tapward reload "
		    "--host",
		    path);
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s cuts the audit log: copytruncate loses records and "
		    "breaks the chain",
		    path);
		is_well = false;
	}
	if (dir != NULL)
		(void)closedir(dir);
	if (is_well)
		doctor_say(d, DOCTOR_OK, "", "nothing else cuts the audit log");
}

/* The folder, or the nearest above it that is there. */
static int
free_space(const char *folder, struct statvfs *ret)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s", folder);
	while (statvfs(path, ret) == -1) {
		char *slash = strrchr(path, '/');

		if (errno != ENOENT || slash == NULL)
			return -errno;
		slash[slash == path ? 1 : 0] = '\0';
	}
	return 0;
}

static void
look_at_space(struct doctor *d, const char *folder, uint64_t least,
    uint64_t wanted)
{
	char mend[DOCTOR_TEXT_SIZE];
	enum doctor_level level;
	struct statvfs fs;
	uint64_t bytes;
	int rc = free_space(folder, &fs);

	if (rc != 0) {
		doctor_cannot(d, "folder", folder, -rc);
		return;
	}
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	/* File systems without a number of inodes say 0 of 0. */
	if (bytes < least || (fs.f_files > 0 && fs.f_favail < 64))
		level = DOCTOR_FAIL;
	else
		level = bytes < wanted ? DOCTOR_WARN : DOCTOR_OK;
	(void)snprintf(mend, sizeof(mend),
	    "make room on the file system of %s: df -h %s; df -i %s", folder,
	    folder, folder);
	doctor_say(d, level, level == DOCTOR_OK ? "" : mend,
	    "%s: %" PRIu64 " MiB free%s", folder, bytes / MIB,
	    level == DOCTOR_FAIL ? "; a log that is full stops new requests"
				 : "");
}

void
doctor_space(struct doctor *d)
{
	if (d->host == NULL)
		return;
	look_at_space(d, d->host->log_dir, 16 * MIB, 512 * MIB);
	look_at_space(d, d->host->state_dir, 4 * MIB, 64 * MIB);
	look_at_space(d, d->host->run_dir, 4 * MIB, 16 * MIB);
}

static size_t
count_certificates(const char *text)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	size_t count = 0;

	for (const char *p = text; (p = strstr(p, begin)) != NULL;
	     p += sizeof(begin) - 1)
		count++;
	return count;
}

void
doctor_roots(struct doctor *d)
{
	static const char mend[] = "apt-get install ca-certificates, or "
				   "[upstream] ca-file = FILE";
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	size_t len, count;
	int rc;

	if (d->host == NULL)
		return;
	fd = open(d->host->ca_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	rc = fd == -1 ? -errno : fd_read_all(fd, ROOTS_MAX_BYTES, &text, &len);
	if (rc != 0 || text == NULL) {
		doctor_say(d, DOCTOR_FAIL, mend, "%s: %s", d->host->ca_file,
		    strerror(-rc));
		return;
	}
	count = count_certificates(text);
	if (count == 0)
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s holds no certificate: no origin can be verified",
		    d->host->ca_file);
	else
		doctor_say(d, DOCTOR_OK, "", "%s: %zu certificates",
		    d->host->ca_file, count);
}
