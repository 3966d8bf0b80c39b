/*
 * One line per event on standard error, "level area key=value ...". systemd
 * reads the level from a "<N>" prefix when standard error is the journal.
 * What was decided about a guest is not a log line but an audit record.
 * Guest bytes only through log_quote(); secrets never.
 */
#ifndef TAPWARD_BASE_LOG_H
#define TAPWARD_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum log_level {
	LOG_LEVEL_ERR,   /* a person must act */
	LOG_LEVEL_WARN,  /* we went on */
	LOG_LEVEL_INFO,  /* life cycle */
	LOG_LEVEL_DEBUG, /* off by default */
};

/* program is kept, not copied; it starts each line. */
void log_init(const char *program, enum log_level max);
/* The level named by TAPWARD_LOG (err, warn, info, debug); info without it. */
enum log_level log_level_from_env(void);

/*
 * fn is shown each line that is logged at LOG_LEVEL_WARN or above, without
 * program and priority: "level area text", printable, of len bytes. It must
 * not log. NULL: nobody.
 */
typedef void log_watch_fn(const char *line, size_t len);
void log_watch(log_watch_fn *fn);

/* For log_event.c: what a line is made of, and whether there would be one. */
const char *log_program_name(void);
int log_level_syslog(enum log_level level);
bool log_is_wanted(enum log_level level);
/* "area text" was written elsewhere: shows it to the watcher alone. */
void log_show(enum log_level level, const char *text);

__attribute__((format(printf, 3, 4))) void log_at(enum log_level level,
    const char *area, const char *fmt, ...);

#define log_err(area, ...) log_at(LOG_LEVEL_ERR, area, __VA_ARGS__)
#define log_warn(area, ...) log_at(LOG_LEVEL_WARN, area, __VA_ARGS__)
#define log_info(area, ...) log_at(LOG_LEVEL_INFO, area, __VA_ARGS__)
#define log_debug(area, ...) log_at(LOG_LEVEL_DEBUG, area, __VA_ARGS__)

/* Room for log_quote() of a host name with every byte escaped. */
#define LOG_QUOTE_MAX 1024
/*
 * Writes s between double quotes into buf, every byte outside 0x20..0x7e and
 * each quote and backslash as \xNN, cut with "..." if size is too small.
 * Returns buf.
 */
const char *log_quote(char *buf, size_t size, struct span s);

/* Logs an error and ends the process with status 70 (EX_SOFTWARE). */
__attribute__((format(printf, 2, 3), noreturn)) void die(const char *area,
    const char *fmt, ...);

#endif
