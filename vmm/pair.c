/* See pair.h. */
#include "vmm/pair.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"

int
pair_make(int *ret_ours, int *ret_theirs)
{
	AUTO_CLOSE int ours = -1, theirs = -1;
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	rc = fd_set_nonblock(ours, true);
	if (rc != 0)
		return rc;
	*ret_ours = steal_fd(&ours);
	*ret_theirs = steal_fd(&theirs);
	return 0;
}
