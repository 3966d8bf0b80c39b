/*
 * Stands where a VMM would: joins the tap of a sandbox, which came as a
 * descriptor, to a second tap in the namespace of a test's guest, and carries
 * whole frames both ways.
 *
 * Usage: frame_pump FD NAME (of the second tap, which is there already).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A frame of the largest MTU with its header. */
#define FRAME_MAX_BYTES 65550

static int
pump_open_tap(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (strlen(name) >= sizeof(ifr.ifr_name) || fd == -1)
		return -1;
	memcpy(ifr.ifr_name, name, strlen(name));
	if (ioctl(fd, TUNSETIFF, &ifr) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* One frame from one side to the other; false when a side is gone. */
static bool
pump_frame(int from, int to)
{
	static uint8_t frame[FRAME_MAX_BYTES];
	ssize_t n = read(from, frame, sizeof(frame));

	if (n == -1)
		return errno == EAGAIN || errno == EINTR;
	/* A frame that the other side has no room for is lost, as on a wire. */
	return n > 0 && (write(to, frame, (size_t)n) >= 0 || errno != EBADFD);
}

int
main(int argc, char **argv)
{
	struct pollfd sides[2];

	if (argc != 3) {
		(void)fprintf(stderr, "usage: frame_pump FD NAME\n");
		return 64;
	}
	sides[0] = (struct pollfd){ atoi(argv[1]), POLLIN, 0 };
	sides[1] = (struct pollfd){ pump_open_tap(argv[2]), POLLIN, 0 };
	if (sides[1].fd == -1) {
		perror(argv[2]);
		return 1;
	}
	(void)puts("pumping");
	(void)fflush(stdout);
	while (poll(sides, 2, -1) > 0) {
		for (int i = 0; i < 2; i++)
			if (sides[i].revents != 0 &&
			    !pump_frame(sides[i].fd, sides[1 - i].fd))
				return 0;
	}
	return 1;
}
