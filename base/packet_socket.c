/*
 * Packets on a socket, see packet_socket.h.
 */
#include "base/packet_socket.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/channel.h"
#include "base/fd.h"
#include "base/secret.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * CHAN_FDS_MAX)];
};

int
packet_send(int fd, struct iovec *iov, size_t iov_len, const int *fds,
    unsigned int fd_count)
{
	union control control;
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = iov_len };
	ssize_t n;

	if (fd_count > 0) {
		struct cmsghdr *cm = &control.align;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cm), fds, sizeof(int) * fd_count);
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	return n == -1 ? -errno : 0;
}

/*
 * Every descriptor that came with m into fds, which has room for all that the
 * control buffer can hold. A buffer for n can hold n + 1: CMSG_SPACE() rounds
 * up, and the kernel fills what is there.
 */
static unsigned int
collect_fds(struct msghdr *m, int fds[PACKET_FDS_MAX])
{
	unsigned int count = 0;

	for (struct cmsghdr *cm = CMSG_FIRSTHDR(m); cm != NULL;
	     cm = CMSG_NXTHDR(m, cm)) {
		size_t len = cm->cmsg_len - CMSG_LEN(0);

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		assert(count + len / sizeof(int) <= PACKET_FDS_MAX);
		memcpy(fds + count, CMSG_DATA(cm), len);
		count += (unsigned int)(len / sizeof(int));
	}
	return count;
}

static void
close_fds(int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		fd_close(&fds[i]);
}

int
packet_receive(int fd, uint8_t *buf, size_t size, size_t *ret_len,
    int ret_fds[PACKET_FDS_MAX], unsigned int *ret_fd_count)
{
	union control control;
	struct iovec iov = { buf, size };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	unsigned int count;

	if (n == -1)
		return -errno;
	count = collect_fds(&m, ret_fds);
	if (n > 0 && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
		*ret_len = (size_t)n;
		*ret_fd_count = count;
		return 1;
	}
	close_fds(ret_fds, count);
	secret_wipe(buf, (size_t)n);
	return n == 0 ? 0 : -EMSGSIZE;
}

size_t
packet_many_slots(size_t size, size_t slot)
{
	return size / slot < PACKET_MANY_MAX ? size / slot : PACKET_MANY_MAX;
}

int
packet_receive_many(int fd, uint8_t *buf, size_t size, size_t slot,
    struct span ret[PACKET_MANY_MAX])
{
	struct mmsghdr many[PACKET_MANY_MAX];
	struct iovec iov[PACKET_MANY_MAX];
	size_t slots = packet_many_slots(size, slot);
	int n;

	memset(many, 0, sizeof(many));
	for (size_t i = 0; i < slots; i++) {
		iov[i] = (struct iovec){ buf + i * slot, slot };
		many[i].msg_hdr.msg_iov = &iov[i];
		many[i].msg_hdr.msg_iovlen = 1;
	}
	/* Without room for descriptors the kernel closes what came. */
	n = recvmmsg(fd, many, (unsigned int)slots, MSG_DONTWAIT, NULL);
	if (n == -1)
		return -errno;
	for (int i = 0; i < n; i++) {
		bool is_whole =
		    (many[i].msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;

		ret[i].ptr = is_whole ? buf + (size_t)i * slot : NULL;
		ret[i].len = many[i].msg_len;
	}
	return n;
}
