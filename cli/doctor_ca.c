/*
 * doctor: the private CAs of the configuration, and certificates of clients.
 * One that has ended, or a CA that somebody else may write, is a fault; one
 * that ends soon is told in time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/certificate.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/doctor.h"

#define FILE_MAX_BYTES (1u << 20)
#define DAY_S INT64_C(86400)
#define SOON_DAYS 30

static bool
others_may_write(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	    (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

/* what: "[ca corp]". */
static void
look_at_end(struct doctor *d, const char *what, const char *file,
    const struct certificate_look *look)
{
	const int64_t left =
	    look->first_end_s - (int64_t)(clock_wall_ms() / 1000);
	char mend[DOCTOR_TEXT_SIZE];

	(void)snprintf(mend, sizeof(mend),
	    "put the certificate that follows it into %s; it is taken up "
	    "within seconds",
	    file);
	if (left <= 0)
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s: a certificate in %s ended %" PRId64 " days ago", what,
		    file, -left / DAY_S);
	else if (left < SOON_DAYS * DAY_S)
		doctor_say(d, DOCTOR_WARN, mend,
		    "%s: a certificate in %s ends in %" PRId64 " days", what,
		    file, left / DAY_S);
	else
		doctor_say(d, DOCTOR_OK, "",
		    "%s: %s: %u certificates, the first ends in %" PRId64
		    " days",
		    what, file, look->count, left / DAY_S);
}

static void
look_at(struct doctor *d, const struct hostconf_ca *a)
{
	AUTO_CLOSE int fd =
	    open(a->set.file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	struct certificate_look look;
	char what[CREDENTIAL_NAME_SIZE + 8], mend[DOCTOR_TEXT_SIZE];
	size_t len = 0;
	int rc;

	(void)snprintf(what, sizeof(what), "[ca %s]", a->set.name);
	(void)snprintf(mend, sizeof(mend), "chown root %s; chmod 644 %s",
	    a->set.file, a->set.file);
	if (fd == -1 && errno == EACCES) {
		doctor_cannot(d, what, a->set.file, EACCES);
		return;
	}
	if (fd != -1 && others_may_write(fd)) {
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s: %s may be written by others than root, who then say "
		    "whom origins are believed to be",
		    what, a->set.file);
		return;
	}
	rc = fd == -1 ? -errno : fd_read_all(fd, FILE_MAX_BYTES, &text, &len);
	if (rc == 0)
		rc = certificate_look((struct span){ (const uint8_t *)text,
					  len },
		    &look);
	if (rc == 0) {
		look_at_end(d, what, a->set.file, &look);
		return;
	}
	(void)snprintf(mend, sizeof(mend),
	    "write the CA's certificate into %s, as PEM", a->set.file);
	doctor_say(d, DOCTOR_FAIL, mend, "%s: %s %s: no host of it is reached",
	    what, a->set.file,
	    text == NULL ? strerror(-rc) : "is no list of certificates in PEM");
}

void
doctor_certificate(struct doctor *d, const char *what, const char *path)
{
	AUTO_CLOSE int fd =
	    open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	struct certificate_look look;
	size_t len = 0;

	/* Whether it is there, and what it is, somebody else says. */
	if (fd != -1 && fd_read_all(fd, FILE_MAX_BYTES, &text, &len) == 0 &&
	    certificate_look((struct span){ (const uint8_t *)text, len },
		&look) == 0)
		look_at_end(d, what, path, &look);
}

void
doctor_private_cas(struct doctor *d)
{
	if (d->host == NULL)
		return;
	for (size_t i = 0; i < d->host->ca_count; i++)
		look_at(d, &d->host->cas[i]);
}
