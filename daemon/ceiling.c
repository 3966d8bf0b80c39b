/* The ceiling, see ceiling.h. */
#include "daemon/ceiling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/files.h"
#include "daemon/supervisor.h"

/* Millions of names of up to 254 bytes. */
#define CEILING_TEXT_MAX (UINT64_C(1) << 30)
#define TEXT_SIZE 1024

struct load {
	struct supervisor *sv;
	ceiling_done *done;
	void *arg;
};

/* The new one in the place of the old. */
static int
take_over(struct supervisor *sv, struct policy_set *p)
{
	int rc = policy_map(p->image_fd, &p->policy);

	if (rc != 0)
		return rc;
	policy_set_done(&sv->ceiling);
	sv->ceiling = policy_set_steal(p);
	log_event(LOG_EVENT_CEILING, NULL, "ceiling",
	    "file=%s digest=%s rules=%zu hosts=%zu", sv->ceiling.display_name,
	    sv->ceiling.digest, policy_rule_count(sv->ceiling.policy),
	    policy_host_count(sv->ceiling.policy));
	return 0;
}

/* The next finding, without its newline. */
static struct span
take_line(struct span *text)
{
	const uint8_t *newline = memchr(text->ptr, '\n', text->len);
	struct span line = { text->ptr,
		newline == NULL ? text->len : (size_t)(newline - text->ptr) };
	size_t len = line.len + (newline == NULL ? 0 : 1);

	*text = (struct span){ text->ptr + len, text->len - len };
	return line;
}

/* Each finding is a line; the first error is told, all are logged. */
static void
log_findings(struct span text, char buf[TEXT_SIZE])
{
	static const char mild[] = ": warning: ";

	buf[0] = '\0';
	while (text.len > 0) {
		struct span line = take_line(&text);
		size_t len = line.len < TEXT_SIZE ? line.len : TEXT_SIZE - 1;

		log_warn("ceiling", "%.*s", (int)line.len,
		    (const char *)line.ptr);
		if (buf[0] != '\0' ||
		    memmem(line.ptr, line.len, mild, strlen(mild)) != NULL)
			continue;
		memcpy(buf, line.ptr, len);
		buf[len] = '\0';
	}
}

static void
on_compiled(void *arg, int rc, const struct answer *a)
{
	struct load *load = arg;
	struct policy_set p = POLICY_SET_NONE;
	char text[TEXT_SIZE];

	log_findings(a->findings, text);
	if (rc == 0) {
		p.image_fd = steal_fd(&a->fds[0]);
		memcpy(p.digest, a->digest, sizeof(p.digest));
		(void)snprintf(p.display_name, sizeof(p.display_name), "%.*s",
		    (int)sizeof(p.display_name) - 1,
		    load->sv->config->host->ceiling_file);
		rc = take_over(load->sv, &p);
	}
	if (rc != 0 && text[0] == '\0')
		(void)snprintf(text, sizeof(text), "%s",
		    rc == -EIO ? a->text : strerror(-rc));
	policy_set_done(&p);
	load->done(load->arg, rc, text);
	free(load);
}

static int
open_text(const char *path, int *ret_fd, const char **ret_why)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	if (fd == -1 || fstat(fd, &st) == -1) {
		rc = -errno;
		*ret_why = strerror(-rc);
		return rc;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		*ret_why = "must be a file that only root can write";
		return -EPERM;
	}
	rc = files_to_memfd("tapward-ceiling", fd, CEILING_TEXT_MAX, ret_fd);
	if (rc != 0)
		*ret_why = strerror(-rc);
	return rc;
}

void
ceiling_load(struct supervisor *sv, ceiling_done *done, void *arg)
{
	const struct hostconf *h = sv->config->host;
	struct compile_text text = { .fd = -1, .is_ceiling = true };
	struct load *load;
	AUTO_CLOSE int fd = -1;
	const char *why = "out of memory";
	char buf[TEXT_SIZE];
	int rc;

	if (!h->has_ceiling) {
		log_event(LOG_EVENT_NO_CEILING, NULL, "ceiling",
		    "none: [ceiling] policy = none");
		policy_set_done(&sv->ceiling);
		done(arg, 0, "");
		return;
	}
	load = malloc(sizeof(*load));
	rc = load == NULL ? -ENOMEM : open_text(h->ceiling_file, &fd, &why);
	if (rc == 0) {
		*load = (struct load){ sv, done, arg };
		text.fd = fd;
		text.display_name = h->ceiling_file;
		text.learns = h->learn_count > 0;
		rc = compiler_ask(&sv->compiler, &text, on_compiled, load);
		why = strerror(-rc);
	}
	if (rc == 0)
		return;
	free(load);
	(void)snprintf(buf, sizeof(buf),
	    "%s: %s; mend it, or write [ceiling] policy = none to go without",
	    h->ceiling_file, why);
	done(arg, rc, buf);
}
