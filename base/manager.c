/* The service manager, see manager.h. */
#include "base/manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

static int
send_to(const char *path, const char *message)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -errno;
	if (len >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, len);
	/* A name of the abstract namespace, which starts with a NUL. */
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL,
		(const struct sockaddr *)&sun,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
	    -1)
		return -errno;
	return 0;
}

void
manager_tell(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");
	int rc = path == NULL ? 0 : send_to(path, message);

	if (rc != 0)
		log_warn("notify", "%s: %s", path, strerror(-rc));
}
