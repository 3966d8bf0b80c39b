/* What the service manager gave, see given.h. */
#include "credential-broker/given.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define PREFIX "credential:"

struct file {
	char name[BROKER_SOURCE_SIZE];
	int fd;
};

struct given {
	unsigned int count;
	struct file files[GIVEN_MAX];
};

static int
add(struct given *g, int folder, const char *name)
{
	struct file *f = &g->files[g->count];

	if (name[0] == '.')
		return 0;
	/* No key of the configuration is that long. */
	if (strlen(name) >= sizeof(f->name))
		return 0;
	if (g->count == GIVEN_MAX)
		return -E2BIG;
	f->fd = openat(folder, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (f->fd == -1)
		return -errno;
	memcpy(f->name, name, strlen(name) + 1);
	g->count++;
	return 0;
}

int
given_new(const char *folder, struct given **ret)
{
	struct given *g = calloc(1, sizeof(*g));
	const struct dirent *entry;
	DIR *dir = NULL;
	int rc = g == NULL ? -ENOMEM : 0;

	if (rc == 0 && folder != NULL) {
		dir = opendir(folder);
		rc = dir == NULL ? -errno : 0;
	}
	while (rc == 0 && dir != NULL && (entry = readdir(dir)) != NULL)
		rc = add(g, dirfd(dir), entry->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	if (rc != 0) {
		given_free(g);
		return rc;
	}
	*ret = g;
	return 0;
}

void
given_free(struct given *g)
{
	for (unsigned int i = 0; g != NULL && i < g->count; i++)
		(void)close(g->files[i].fd);
	free(g);
}

static bool
is_ours(const char *source)
{
	return strncmp(source, PREFIX, strlen(PREFIX)) == 0;
}

/* Of a source as it is written; -1: not there. */
static int
find(const struct given *g, const char *source)
{
	if (g == NULL || !is_ours(source))
		return -1;
	source += strlen(PREFIX);
	for (unsigned int i = 0; i < g->count; i++)
		if (strcmp(g->files[i].name, source) == 0)
			return g->files[i].fd;
	return -1;
}

static unsigned int
count_open(const struct message_broker_credential *d)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < d->setting_count; i++)
		count += d->settings[i].is_open ? 1 : 0;
	return count;
}

unsigned int
given_complete(const struct given *g, struct message_broker_credential *d,
    const int *fds, unsigned int count, int ret[BROKER_CREDENTIAL_FDS_MAX])
{
	const unsigned int open = count_open(d);
	unsigned int n = 0, used = 0;

	/* Not as it should be, which is for others to say. */
	if (count < open || count > open + 1) {
		memcpy(ret, fds, count * sizeof(*fds));
		return count;
	}
	if (count > open)
		ret[n++] = fds[used++];
	else if (find(g, d->source) != -1)
		ret[n++] = find(g, d->source);
	for (unsigned int i = 0; i < d->setting_count; i++) {
		struct message_broker_setting *s = &d->settings[i];
		const int fd = s->is_source ? find(g, s->text) : -1;

		if (s->is_open) {
			ret[n++] = fds[used++];
		} else if (fd != -1) {
			s->is_open = true;
			ret[n++] = fd;
		}
	}
	return n;
}

static int
say(const char *credential, const char *source, struct err *err)
{
	const char *name = source + strlen(PREFIX);

	(void)err_at(err, NULL, 0,
	    "credential %s: %s was not given to the broker; "
	    "LoadCredential=%s:/FILE in `systemctl edit tapward-broker`, and "
	    "its restart, mend it",
	    credential, source, name);
	return -ENOKEY;
}

int
given_check(const struct given *g, const struct message_broker_credential *d,
    unsigned int count, struct err *err)
{
	if (g == NULL)
		return 0;
	if (count == count_open(d) && is_ours(d->source))
		return say(d->name, d->source, err);
	for (unsigned int i = 0; i < d->setting_count; i++) {
		const struct message_broker_setting *s = &d->settings[i];

		if (s->is_source && !s->is_open && is_ours(s->text))
			return say(d->name, s->text, err);
	}
	return 0;
}
