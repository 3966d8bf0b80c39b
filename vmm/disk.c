/* See disk.h: mke2fs(8) does it. */
#include "vmm/disk.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"

#define MKE2FS "/usr/sbin/mke2fs"

static int
await(int pidfd, int *ret_status)
{
	siginfo_t info = { 0 };

	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) == -1)
		if (errno != EINTR)
			return -errno;
	*ret_status = info.si_code == CLD_EXITED ? info.si_status : 128;
	return 0;
}

int
disk_format(struct err *err)
{
	/* Nobody else has it mounted (-F), and it is all zeros already. */
	static const char *const argv[] = { MKE2FS, "-q", "-F", "-t", "ext4",
		"-m", "0", "-E",
		"nodiscard,lazy_itable_init=1,lazy_journal_init=1", DISK_PATH,
		NULL };
	const struct process_spec spec = {
		.path = MKE2FS,
		.argv = argv,
		.netns_fd = -1,
		.stderr_fd = -1,
	};
	AUTO_CLOSE int pidfd = -1;
	int status = 0;
	pid_t pid;
	int rc = process_spawn(&spec, &pid, &pidfd);

	if (rc == -ENOENT)
		return err_os(err, rc,
		    "%s, which --disk needs (Debian: e2fsprogs)", MKE2FS);
	if (rc == 0)
		rc = await(pidfd, &status);
	if (rc != 0)
		return err_os(err, rc, "%s", MKE2FS);
	if (status == 0)
		return 0;
	(void)err_at(err, NULL, 0,
	    "%s failed (%d); a larger --disk may mend it", MKE2FS, status);
	return -EIO;
}
