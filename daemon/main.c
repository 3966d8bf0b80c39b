/*
 * tapwardd, the supervisor: root, one thread, no guest byte. It makes
 * sandboxes and the processes that serve them, and hands descriptors from one
 * to another; what those hold it never reads.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/dirs.h"
#include "daemon/host_watch.h"
#include "daemon/jobs.h"
#include "daemon/last_errors.h"
#include "daemon/link_recorder.h"
#include "daemon/notify.h"
#include "daemon/probe.h"
#include "daemon/resolver_watch.h"
#include "daemon/rotate.h"
#include "daemon/startup.h"
#include "daemon/supervisor.h"
#include "daemon/sweep.h"
#include "daemon/watchdog.h"

#define CONFIG_PATH "/etc/tapward/tapward.ini"
/* A sandbox takes some 20 descriptors of ours. */
#define FILES_WANTED 524288
/* EX_CONFIG of sysexits.h: to be started again once a file is mended. */
#define EXIT_CONFIG 78

static const int signals[] = { SIGTERM, SIGINT, SIGUSR1, SIGHUP };
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

struct options {
	const char *config;
	bool foreground;
};

__attribute__((format(printf, 4, 0))) static void
path_below(const char *dir, char buf[SUPERVISOR_PATH_SIZE], size_t size,
    const char *fmt, va_list ap)
{
	int n = snprintf(buf, size, "%s/", dir);
	int m = vsnprintf(buf + n, size - (size_t)n, fmt, ap);

	static_assert(HOSTCONF_PATH_SIZE < SUPERVISOR_PATH_SIZE,
	    "a folder of the configuration leaves room");
	if (m < 0 || (size_t)n + (size_t)m >= size)
		die("main", "path too long below %s", dir);
}

void
supervisor_run_path(const struct supervisor *sv, char buf[SUPERVISOR_PATH_SIZE],
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	path_below(sv->config->host->run_dir, buf, SUPERVISOR_PATH_SIZE, fmt,
	    ap);
	va_end(ap);
}

void
supervisor_state_path(const struct supervisor *sv,
    char buf[SUPERVISOR_PATH_SIZE], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	path_below(sv->config->host->state_dir, buf, SUPERVISOR_PATH_SIZE, fmt,
	    ap);
	va_end(ap);
}

static void
usage(FILE *to)
{
	(void)
	    fputs("usage: tapwardd [--config FILE] [--foreground] | --probe\n",
		to);
}

static struct options
parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "probe", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .config = CONFIG_PATH };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'c') {
			o.config = optarg;
		} else if (c == 'f') {
			o.foreground = true;
		} else if (c == 'v') {
			(void)puts("tapwardd " TAPWARD_VERSION);
			exit(EXIT_SUCCESS);
		} else if (c == 'p') {
			exit(probe());
		} else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? EXIT_SUCCESS : 2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
	return o;
}

/* As many as the system allows. */
static void
raise_files(void)
{
	struct rlimit r = { FILES_WANTED, FILES_WANTED };

	if (setrlimit(RLIMIT_NOFILE, &r) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		die("start", "RLIMIT_NOFILE: %s", strerror(errno));
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	log_debug("start", "files=%llu", (unsigned long long)r.rlim_cur);
}

/* What must be there before anything of ours is started. */
static int
prepare(struct supervisor *sv, struct err *err)
{
	const struct hostconf *h;
	int rc;

	if (geteuid() != 0)
		return err_at(err, NULL, 0,
		    "tapwardd must be started as root: it makes network "
		    "namespaces and gives its children their own users");
	rc = config_load(sv->config_path, &sv->config, err);
	if (rc == 0)
		rc = dirs_make(sv->config, err);
	if (rc == 0)
		rc = dirs_lock(sv->config, &sv->lock_fd, err);
	if (rc == 0)
		rc = dirs_make_root(sv->config, &sv->root_fd, err);
	if (rc == 0)
		rc = net_host_init(&sv->host, err);
	if (rc != 0)
		return rc;
	assert(sv->config != NULL);
	h = sv->config->host;
	sv->plan = sv->config->plan;
	cgroup_host_init(&sv->cgroups, h->uid_first, h->uid_last);
	rc = uids_init(&sv->uids, h->uid_first, h->uid_last);
	return rc == 0 ? 0 : err_os(err, rc, "[daemon] uid-range");
}

static int
init_parts(struct supervisor *sv, struct err *err)
{
	int rc;

	sv->base = event_base_new();
	if (sv->base == NULL)
		return err_os(err, -ENOMEM, "event loop");
	rc = compiler_init(&sv->compiler, sv);
	if (rc == 0)
		rc = resolver_watch_new(sv->base, RESOLVER_WATCH_PAUSE_MS,
		    &sv->resolvers);
	if (rc == 0)
		rc = pool_init(&sv->pool, sv);
	for (size_t i = 0; rc == 0 && i < SERVICE_COUNT; i++)
		rc = service_init(&sv->services[i], sv, service_specs[i]);
	if (rc == 0)
		rc = compiler_warm(&sv->compiler);
	return rc == 0 ? 0 : err_os(err, rc, "starting tapward-compile");
}

static void
on_signal(evutil_socket_t signo, short what, void *arg)
{
	const struct sandbox_request nobody = { 0 };
	struct supervisor *sv = arg;

	(void)what;
	if (signo == SIGHUP) {
		if (sv->is_serving)
			reloading_start(sv, &nobody);
		return;
	}
	/* For an upgrade: guests go on, the next tapwardd takes them up. */
	sv->is_leaving = signo == SIGUSR1;
	log_event(LOG_EVENT_STOPPING, NULL, "stop", "signal=%d sandboxes=%u %s",
	    (int)signo, sv->sandbox_count, sv->is_leaving ? "go on" : "end");
	(void)event_base_loopbreak(sv->base);
}

static int
watch_signals(struct supervisor *sv, struct event *ret[SIGNAL_COUNT])
{
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		ret[i] = evsignal_new(sv->base, signals[i], on_signal, sv);
		if (ret[i] == NULL || event_add(ret[i], NULL) == -1)
			return -ENOMEM;
	}
	return 0;
}

static void
end_sandboxes(struct supervisor *sv)
{
	struct sandbox *s;

	while ((s = LIST_FIRST(&sv->sandboxes)) != NULL) {
		/* One that is half made is nobody's. */
		if (sv->is_leaving && s->is_kept) {
			sandbox_leave(s);
			continue;
		}
		if (s->is_kept)
			sandbox_say(s, "ended: tapwardd ends");
		sandbox_free(s);
	}
}

static void
remove_socket(const struct supervisor *sv)
{
	char path[SUPERVISOR_PATH_SIZE];

	/* Who connects meanwhile waits for the next of us. */
	if (sv->control_fd == -1 || sv->is_control_given)
		return;
	supervisor_run_path(sv, path, "control.sock");
	(void)unlink(path);
}

static void
end_parts(struct supervisor *sv)
{
	bool is_leaving;

	/* Those that outlive us stay only for somebody. */
	is_leaving = sv->is_leaving && sv->sandbox_count > 0;
	notify_stopping();
	watchdog_stop(sv);
	rotate_stop(sv);
	host_watch_stop(sv);
	sweep_cgroups_end(sv);
	end_sandboxes(sv);
	gates_end_retired(sv);
	pool_done(&sv->pool);
	compiler_done(&sv->compiler);
	for (size_t i = SERVICE_COUNT; i > 0; i--)
		service_stop(&sv->services[i - 1], is_leaving);
	if (!is_leaving)
		dirs_remove_root(sv->config);
	remove_socket(sv);
}

static void
end_rest(struct supervisor *sv, struct event *events[SIGNAL_COUNT])
{
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		if (events[i] != NULL)
			event_free(events[i]);
	resolver_watch_free(sv->resolvers);
	policy_set_done(&sv->ceiling);
	fd_close(&sv->roots_fd);
	fd_close(&sv->control_fd);
	fd_close(&sv->metrics_fd);
	fd_close(&sv->root_fd);
	fd_close(&sv->lock_fd);
	net_host_done(&sv->host);
	uids_done(&sv->uids);
	event_base_free(sv->base);
	config_free(sv->config);
}

static void
run(struct supervisor *sv)
{
	struct event *events[SIGNAL_COUNT] = { NULL };
	struct err err;
	int rc = prepare(sv, &err);

	if (rc == 0)
		rc = init_parts(sv, &err);
	if (rc != 0) {
		log_event(LOG_EVENT_START_FAILED, NULL, "start", "%s",
		    err.text);
		exit(rc == -EINVAL ? EXIT_CONFIG : EXIT_FAILURE);
	}
	rc = watch_signals(sv, events);
	if (rc == 0)
		rc = startup_begin(sv);
	if (rc != 0)
		sv->exit_status = 1;
	/* A first step may have failed already: a loop not begun is not ended.
	 */
	if (sv->exit_status == 0)
		(void)event_base_dispatch(sv->base);
	end_parts(sv);
	end_rest(sv, events);
}

/* Without one, and if it does not answer, all goes to standard error. */
static void
use_journal(void)
{
	int fd;

	if (log_event_is_journal() &&
	    log_event_connect(LOG_EVENT_JOURNAL, &fd) == 0)
		log_event_use(fd);
}

int
main(int argc, char **argv)
{
	static struct supervisor sv = {
		.root_fd = -1,
		.lock_fd = -1,
		.roots_fd = -1,
		.control_fd = -1,
		.metrics_fd = -1,
		.ceiling = { .text_fd = -1, .image_fd = -1 },
	};
	const struct options o = parse_options(argc, argv);

	log_init("tapwardd", log_level_from_env());
	last_errors_keep();
	use_journal();
	sv.config_path = o.config;
	sv.started_wall_ms = clock_wall_ms();
	LIST_INIT(&sv.sandboxes);
	if (!o.foreground && getenv("NOTIFY_SOCKET") == NULL &&
	    notify_detach() != 0)
		die("start", "cannot go into the background");
	raise_files();
	run(&sv);
	return sv.exit_status;
}
