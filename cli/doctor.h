/*
 * doctor: looks this host over for what keeps tapward from working, and says
 * how each is mended. Every finding is a row: ok, warn (it works, or some of
 * it) or FAIL, with a command or a line of the configuration that mends it.
 */
#ifndef TAPWARD_CLI_DOCTOR_H
#define TAPWARD_CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "conf/hostconf.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_LEVELS };

#define DOCTOR_TEXT_SIZE 640
/* Of what `tapwardd --probe` and `--version` write. */
#define DOCTOR_OUTPUT_SIZE 8192

struct doctor {
	const struct cli *cli;
	const char *config_path;
	struct hostconf *host; /* NULL: it cannot be read */
	json_t *status;        /* of the daemon; NULL: it does not answer */
	const char *row;       /* whose function runs */
	json_t *rows;          /* NULL: they are printed as they come */
	unsigned int counts[DOCTOR_LEVELS];
};

/* A finding of the row that runs. mend is "" for DOCTOR_OK. */
__attribute__((format(printf, 4, 5))) void doctor_say(struct doctor *d,
    enum doctor_level level, const char *mend, const char *fmt, ...);

/* That path cannot be looked at; no fault of the host's if only root could. */
void doctor_cannot(struct doctor *d, const char *what, const char *path,
    int error);
/*
 * What lies at path, not following a link at its end, must be root's (or
 * belong to nobody but root) and have no bit of the mode `forbidden`. Says so
 * if not. True: it is as it must be. what names it to a person.
 */
bool doctor_is_safe(struct doctor *d, const char *what, const char *path,
    mode_t forbidden);
/*
 * Runs a program with one argument and takes its standard output, cut at
 * size. Its exit status, or -errno.
 */
int doctor_run(const char *path, const char *argument, char *buf, size_t size);
/* The path of TREE/sbin/tapwardd beside this program. 0 or -errno. */
int doctor_daemon_path(char *buf, size_t size);
/* A process of that name runs (its /proc/PID/comm). */
bool doctor_has_process(const char *comm);

/* Rows: doctor_config.c */
void doctor_configuration(struct doctor *d);
void doctor_group(struct doctor *d);
void doctor_uids(struct doctor *d);
void doctor_ceiling(struct doctor *d);
void doctor_credentials(struct doctor *d);
void doctor_metrics(struct doctor *d);
/* doctor_files.c */
void doctor_folders(struct doctor *d);
void doctor_log(struct doctor *d);
void doctor_space(struct doctor *d);
void doctor_roots(struct doctor *d);
void doctor_rotation(struct doctor *d);
/* doctor_ca.c */
/* When what lies at path ends; nothing if that cannot be read. */
void doctor_certificate(struct doctor *d, const char *what, const char *path);
void doctor_private_cas(struct doctor *d);
/* doctor_host.c */
void doctor_programs(struct doctor *d);
void doctor_tun(struct doctor *d);
void doctor_kernel(struct doctor *d);
void doctor_cgroups(struct doctor *d);
void doctor_kvm(struct doctor *d);
void doctor_monitor(struct doctor *d);
void doctor_clock(struct doctor *d);
/* doctor_net.c */
void doctor_resolvers(struct doctor *d);
void doctor_firewall(struct doctor *d);
/* doctor_daemon.c */
void doctor_service(struct doctor *d);
void doctor_socket(struct doctor *d);
void doctor_version(struct doctor *d);
void doctor_processes(struct doctor *d);
void doctor_health(struct doctor *d);

#endif
