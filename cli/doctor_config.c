/*
 * doctor: what the host's configuration says, and whether what it names is
 * there. What the daemon would refuse is asked of the code that it asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/doctor.h"
#include "cli/loaded.h"
#include "cli/policy_file.h"
#include "conf/check.h"
#include "conf/hostconf_setting.h"

/* Lines of /etc/subuid that are looked at. */
#define LINE_SIZE 256

static void
missing(struct doctor *d, int error)
{
	char mend[DOCTOR_TEXT_SIZE];

	if (error != ENOENT) {
		doctor_cannot(d, "configuration", d->config_path, error);
		return;
	}
	(void)snprintf(mend, sizeof(mend),
	    "install -D -m 644 /usr/share/tapward/samples/tapward.ini %s",
	    d->config_path);
	doctor_say(d, DOCTOR_FAIL, mend,
	    "%s is not there: tapwardd does not "
	    "start without it",
	    d->config_path);
}

void
doctor_configuration(struct doctor *d)
{
	AUTO_CLOSE int fd =
	    open(d->config_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	struct err err = { "" };
	size_t len;
	int rc;

	if (fd == -1) {
		missing(d, errno);
		return;
	}
	rc = fd_read_all(fd, HOSTCONF_TEXT_MAX_BYTES, &text, &len);
	if (rc != 0) {
		missing(d, -rc);
		return;
	}
	rc = hostconf_parse(d->config_path,
	    (struct span){ (const uint8_t *)text, len }, &d->host, &err);
	if (rc != 0) {
		char mend[DOCTOR_TEXT_SIZE];

		d->host = NULL;
		(void)snprintf(mend, sizeof(mend), "tapward check %s",
		    d->config_path);
		doctor_say(d, DOCTOR_FAIL, mend, "%s",
		    rc == -EINVAL ? err.text : strerror(-rc));
	}
	if (doctor_is_safe(d, "configuration", d->config_path, 0022) && rc == 0)
		doctor_say(d, DOCTOR_OK, "", "%s", d->config_path);
}

void
doctor_group(struct doctor *d)
{
	char mend[DOCTOR_TEXT_SIZE];
	const struct group *gr;

	if (d->host == NULL)
		return;
	gr = getgrnam(d->host->group);
	if (gr != NULL) {
		doctor_say(d, DOCTOR_OK, "", "%s may use the control socket",
		    d->host->group);
		return;
	}
	(void)snprintf(mend, sizeof(mend), "groupadd --system %s",
	    d->host->group);
	doctor_say(d, DOCTOR_FAIL, mend,
	    "there is no group %s, which [daemon] group names", d->host->group);
}

static bool
has_accounts(struct doctor *d)
{
	const uint32_t first = d->host->uid_first, last = d->host->uid_last;
	const struct passwd *pw;
	bool has = false;

	setpwent();
	while (!has && (pw = getpwent()) != NULL) {
		if (pw->pw_uid < first || pw->pw_uid > last)
			continue;
		doctor_say(d, DOCTOR_FAIL,
		    "[daemon] uid-range = FIRST-LAST, where no account is",
		    "the account %.64s (uid %u) is in [daemon] uid-range "
		    "%" PRIu32 "-%" PRIu32,
		    pw->pw_name, (unsigned int)pw->pw_uid, first, last);
		has = true;
	}
	endpwent();
	return has;
}

/* name:first:count (subuid(5)); what is not such a line is passed over. */
static bool
overlaps(char *line, const struct hostconf *h)
{
	char *colon = strchr(line, ':');
	char *end;
	unsigned long first, count;

	if (colon == NULL)
		return false;
	*colon = '\0';
	first = strtoul(colon + 1, &end, 10);
	if (*end != ':')
		return false;
	count = strtoul(end + 1, NULL, 10);
	return count > 0 && first <= h->uid_last &&
	    first + (count - 1) >= h->uid_first;
}

static bool
has_subuids(struct doctor *d)
{
	FILE *f = fopen("/etc/subuid", "re");
	char line[LINE_SIZE];
	bool has = false;

	while (f != NULL && !has && fgets(line, sizeof(line), f) != NULL) {
		has = overlaps(line, d->host);
		if (has)
			doctor_say(d, DOCTOR_FAIL,
			    "[daemon] uid-range = FIRST-LAST, where no line "
			    "of /etc/subuid is",
			    "/etc/subuid gives uids of [daemon] uid-range to "
			    "containers of %.64s",
			    line);
	}
	if (f != NULL)
		(void)fclose(f);
	return has;
}

void
doctor_uids(struct doctor *d)
{
	if (d->host == NULL || has_accounts(d) || has_subuids(d))
		return;
	doctor_say(d, DOCTOR_OK, "", "%" PRIu32 "-%" PRIu32 ", nobody else's",
	    d->host->uid_first, d->host->uid_last);
}

static void
check_ceiling(struct doctor *d, const struct policy_file *file)
{
	AUTO_FREE char *text = malloc(CHECK_TEXT_MAX_BYTES);
	struct wr w =
	    wr_init(text, text == NULL ? 0 : CHECK_TEXT_MAX_BYTES - 1);
	struct check_report report;
	char mend[DOCTOR_TEXT_SIZE];
	int rc = check_text(file->path,
	    (struct span){ (const uint8_t *)file->text, file->len },
	    CHECK_CEILING, CHECK_LINES, &w, &report);

	if (rc != 0 || text == NULL) {
		doctor_say(d, DOCTOR_FAIL, "", "%s: %s", file->path,
		    strerror(rc == 0 ? ENOMEM : -rc));
		return;
	}
	text[w.len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(mend, sizeof(mend), "tapward check %.500s", file->path);
	if (report.errors > 0)
		doctor_say(d, DOCTOR_FAIL, mend, "%.500s", text);
	else
		doctor_say(d, DOCTOR_OK, "", "%s", file->path);
}

void
doctor_ceiling(struct doctor *d)
{
	struct policy_file file;
	struct err err = { "" };

	if (d->host == NULL)
		return;
	if (!d->host->has_ceiling) {
		doctor_say(d, DOCTOR_WARN,
		    "[ceiling] policy = /etc/tapward/ceiling.ini",
		    "none: what a repository's policy asks for is what its "
		    "sandbox gets");
		return;
	}
	if (!doctor_is_safe(d, "ceiling", d->host->ceiling_file, 0022))
		return;
	if (policy_file_read(d->host->ceiling_file, LOADED_CEILING_MAX_BYTES,
		&file, &err) != 0) {
		doctor_say(d, DOCTOR_FAIL, "", "%s", err.text);
		return;
	}
	check_ceiling(d, &file);
	policy_file_done(&file);
}

/* As the broker has it: nobody but its owner may read it. */
static bool
is_secret_well(struct doctor *d, const char *credential, const char *path)
{
	char what[CREDENTIAL_NAME_SIZE + 32];
	struct stat st;

	(void)snprintf(what, sizeof(what), "secret of %s,", credential);
	if (stat(path, &st) == -1 && errno == ENOENT) {
		char mend[DOCTOR_TEXT_SIZE];

		(void)snprintf(mend, sizeof(mend),
		    "install -m 600 /dev/stdin %s, and type it", path);
		doctor_say(d, DOCTOR_FAIL, mend, "%s %s, is not there", what,
		    path);
		return false;
	}
	return doctor_is_safe(d, what, path, 0077);
}

static bool
is_source_well(struct doctor *d, const char *credential, const char *text)
{
	enum hostconf_source source;
	size_t used;

	return hostconf_parse_source(span_of(text), &source, &used) != NULL ||
	    source != HOSTCONF_SOURCE_FILE ||
	    is_secret_well(d, credential, text + used);
}

/* The first word of `command`, the program of a helper. */
static bool
is_helper_well(struct doctor *d, const char *credential, const char *command)
{
	char path[HOSTCONF_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%.*s", (int)(sizeof(path) - 1),
	    command);
	path[strcspn(path, " \t")] = '\0';
	if (access(path, X_OK) == 0)
		return true;
	doctor_say(d, DOCTOR_FAIL, "command = /PROGRAM ARGUMENT ...",
	    "helper of %s, %s: %s", credential, path, strerror(errno));
	return false;
}

static void
look_at_certificate(struct doctor *d, const char *credential, const char *text)
{
	char what[CREDENTIAL_NAME_SIZE + 16];
	enum hostconf_source source;
	size_t used;

	(void)snprintf(what, sizeof(what), "[credential %s]", credential);
	if (hostconf_parse_source(span_of(text), &source, &used) == NULL &&
	    source == HOSTCONF_SOURCE_FILE)
		doctor_certificate(d, what, text + used);
}

static bool
is_credential_well(struct doctor *d, const struct hostconf_credential *c)
{
	const struct message_broker_credential *def = c->def;
	bool is_well = c->place == NULL || c->source != HOSTCONF_SOURCE_FILE ||
	    is_secret_well(d, def->name, c->place);

	for (unsigned int i = 0; i < def->setting_count; i++) {
		const struct message_broker_setting *s = &def->settings[i];

		if (s->is_source && !is_source_well(d, def->name, s->text))
			is_well = false;
		if (is_well && strcmp(s->name, "certificate") == 0)
			look_at_certificate(d, def->name, s->text);
		if (strcmp(s->name, "command") == 0 &&
		    !is_helper_well(d, def->name, s->text))
			is_well = false;
	}
	return is_well;
}

void
doctor_credentials(struct doctor *d)
{
	bool is_well = true;

	if (d->host == NULL)
		return;
	for (size_t i = 0; i < d->host->credential_count; i++)
		if (!is_credential_well(d, &d->host->credentials[i]))
			is_well = false;
	if (is_well)
		doctor_say(d, DOCTOR_OK, "", "%zu, with their files",
		    d->host->credential_count);
}

/* 127.0.0.0/8 or ::1. */
static bool
is_loopback(const struct message_address *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == 4 ? a->bytes[0] == 127
			      : memcmp(a->bytes, one, sizeof(one)) == 0;
}

void
doctor_metrics(struct doctor *d)
{
	if (d->host == NULL)
		return;
	if (d->host->has_metrics && !is_loopback(&d->host->metrics_address))
		doctor_say(d, DOCTOR_WARN,
		    "[daemon] metrics-listen = 127.0.0.1:PORT",
		    "whoever reaches port %u of this host reads the counters",
		    d->host->metrics_port);
	else
		doctor_say(d, DOCTOR_OK, "", "%s",
		    d->host->has_metrics ? "on loopback" : "off");
}
