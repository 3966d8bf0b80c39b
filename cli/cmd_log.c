/*
 * log: what was decided, as a table, as the records themselves, or checked.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/audit_verify.h"
#include "base/names.h"
#include "cli/anchors.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/log_lines.h"
#include "cli/output.h"

static const char *
log_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "" : text;
}

/* "host:port", "host" or "-". */
static void
log_print_where(const json_t *record, char *buf, size_t size)
{
	const char *host = log_text(record, "host");
	json_int_t port = json_integer_value(json_object_get(record, "port"));

	if (*host == '\0')
		host = log_text(record, "address");
	if (*host == '\0')
		host = "-";
	if (port != 0)
		(void)snprintf(buf, size, "%s:%lld", host, (long long)port);
	else
		(void)snprintf(buf, size, "%s", host);
}

/* Why it was refused; or why it was not, where a sandbox learns. */
static void
log_print_why(const json_t *record, char *buf, size_t size)
{
	const char *learned = log_text(record, "learned");

	(void)snprintf(buf, size, "%s%s%s", log_text(record, "reason"),
	    *learned == '\0' ? "" : "learned:", learned);
}

/* Commands and paths are anybody's; a terminal gets none of their bytes. */
static int
log_print_row(char *line, size_t len, void *arg)
{
	json_t *record = json_loadb(line, len, 0, NULL);
	char where[320], why[128];

	(void)arg;
	if (record == NULL) {
		output_line("%s", line);
		return 0;
	}
	log_print_where(record, where, sizeof(where));
	log_print_why(record, why, sizeof(why));
	output_line("%s %-16s %-9s %-5s %-18s %-32s %-6s %-28s %s %s%s%s",
	    log_text(record, "time"), log_text(record, "sandbox"),
	    log_text(record, "event"), log_text(record, "verdict"), why, where,
	    log_text(record, "method"),
	    *log_text(record, "path") != '\0' ? log_text(record, "path")
					      : log_text(record, "detail"),
	    log_text(record, "rule"), log_text(record, "at"),
	    *log_text(record, "credential") != '\0' ? " credential=" : "",
	    log_text(record, "credential"));
	json_decref(record);
	return fflush(stdout) == 0 ? 0 : CLI_FAILED;
}

static int
log_print_line(char *line, size_t len, void *arg)
{
	(void)len;
	(void)arg;
	(void)puts(line);
	return fflush(stdout) == 0 ? 0 : CLI_FAILED;
}

struct log_options {
	const char *name;
	bool follow;
	bool denied;
	bool json;
	bool verify;
	char **files; /* of the log, in their order, instead of the daemon's */
	int file_count;
	const char *head;   /* the hash that the last line must have */
	const char *anchor; /* a file of hashes that its lines must have */
};

/* A log that is shown whole, so that what it lacks is seen. */
struct log_shown {
	call_line *show;
	bool is_whole;
	uint64_t next; /* number; 0 before the first */
};

/* Files that are no longer kept, or that somebody took away. */
static void
log_tell_missing(const struct log_shown *s, uint64_t seq)
{
	if (s->next == 0 && seq > 1)
		(void)fprintf(stderr,
		    "tapward: the log begins with record %llu: those before it "
		    "are not there\n",
		    (unsigned long long)seq);
	else if (s->next != 0 && seq > s->next)
		(void)fprintf(stderr,
		    "tapward: records %llu to %llu are not there: a file of "
		    "the log is missing, damaged or edited\n",
		    (unsigned long long)s->next, (unsigned long long)seq - 1);
}

static int
log_show_line(char *line, size_t len, void *arg)
{
	struct log_shown *s = arg;
	struct audit_line_head head;

	if (s->is_whole &&
	    audit_line_read((struct span){ (const uint8_t *)line, len },
		&head)) {
		log_tell_missing(s, head.seq);
		s->next = head.seq + 1;
	}
	return s->show(line, len, NULL);
}

struct log_check {
	struct audit_verify chain;
	uint64_t first; /* number of a whole line; 0 before it */
	struct anchors anchors;
};

static int
log_refuse_anchor(const struct log_check *c, uint64_t seq)
{
	(void)fprintf(stderr,
	    "tapward: the audit log was rewritten: an anchor has another hash "
	    "for record %llu, line %llu\n",
	    (unsigned long long)seq, (unsigned long long)c->chain.lines);
	return CLI_FAILED;
}

/* The first line names the record before it, which is no longer kept. */
static bool
log_hold_before(struct log_check *c, struct span line)
{
	struct audit_line_head head;

	return !audit_line_read(line, &head) || head.seq <= 1 ||
	    anchors_hold(&c->anchors, head.seq - 1, head.prev);
}

static int
log_verify_line(char *line, size_t len, void *arg)
{
	const struct span text = { (const uint8_t *)line, len };
	struct log_check *c = arg;
	struct audit_verify *v = &c->chain;
	bool is_first = v->lines == 0;
	enum audit_verify_result r = audit_verify_line(v, text);

	if (r != AUDIT_VERIFY_OK) {
		(void)fprintf(stderr,
		    "tapward: the audit log is not whole: line %llu: %s\n",
		    (unsigned long long)v->lines + 1, audit_verify_text(r));
		return CLI_FAILED;
	}
	if (c->first == 0)
		c->first = v->seq;
	if (is_first && !log_hold_before(c, text))
		return log_refuse_anchor(c, v->seq - 1);
	/* A line that was cut has no number of its own. */
	if (v->is_after_torn || anchors_hold(&c->anchors, v->seq, v->head))
		return 0;
	return log_refuse_anchor(c, v->seq);
}

static int
log_verify_file(const char *path, struct log_check *c)
{
	const int rc = log_lines_read(path, log_verify_line, c);

	if (rc != 0)
		(void)fprintf(stderr, "tapward: that is in %s\n", path);
	return rc;
}

/* One chain goes through all of them. */
static int
log_verify_files(const struct log_options *o, struct log_check *c)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < o->file_count; i++)
		rc = log_verify_file(o->files[i], c);
	return rc;
}

static int
log_load_anchors(const char *path, struct anchors *ret)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	int rc = f == NULL ? -errno : anchors_load(ret, f);

	if (f != NULL && !is_stdin)
		(void)fclose(f);
	if (rc != 0)
		(void)fprintf(stderr, "tapward: %s: %s\n", path, strerror(-rc));
	else if (ret->count == 0)
		(void)fprintf(stderr,
		    "tapward: %s: no line has \"seq=NUMBER head=HASH\"\n",
		    path);
	anchors_sort(ret);
	return rc == 0 && ret->count > 0 ? 0 : CLI_FAILED;
}

/* What must hold once the whole log was read. */
static int
log_verify_end(const struct log_options *o, const struct log_check *c)
{
	const struct audit_verify *v = &c->chain;
	enum audit_verify_result r = audit_verify_end(v);

	if (r != AUDIT_VERIFY_OK) {
		(void)fprintf(stderr,
		    "tapward: the audit log is not whole: its end: %s\n",
		    audit_verify_text(r));
		return CLI_FAILED;
	}
	if (o->head != NULL && strcmp(o->head, v->head) != 0) {
		(void)fprintf(stderr,
		    "tapward: the audit log ends with %s, not with --head:"
		    " it was rewritten, or goes on\n",
		    v->head);
		return CLI_FAILED;
	}
	if (anchors_left(&c->anchors) != 0) {
		(void)fprintf(stderr,
		    "tapward: the audit log was cut: it ends with record %llu,"
		    " and an anchor knows record %llu\n",
		    (unsigned long long)v->seq,
		    (unsigned long long)c->anchors.all[c->anchors.count - 1]
			.seq);
		return CLI_FAILED;
	}
	/* One that begins behind them all can be anybody's. */
	if (o->anchor != NULL && c->anchors.held == 0) {
		(void)fprintf(stderr,
		    "tapward: no anchor is of this log's records, or of the "
		    "one "
		    "before them: they prove nothing of it\n");
		return CLI_FAILED;
	}
	(void)printf("%llu records in an unbroken chain; head %s\n",
	    (unsigned long long)v->lines, v->head);
	if (c->first > 1)
		(void)printf("it begins with record %llu: those before it are "
			     "not there\n",
		    (unsigned long long)c->first);
	if (o->anchor != NULL)
		(void)printf("%zu of %zu anchors are of these records, and "
			     "hold\n",
		    c->anchors.held, c->anchors.count);
	return 0;
}

static int
log_verify(const struct cli *cli, const struct log_options *o)
{
	struct log_check c = { .anchors = { 0 } };
	int rc =
	    o->anchor == NULL ? 0 : log_load_anchors(o->anchor, &c.anchors);

	audit_verify_init(&c.chain);
	if (rc == 0)
		rc = o->file_count > 0
		    ? log_verify_files(o, &c)
		    : call_stream(cli, "/v1/log", false, log_verify_line, &c);
	if (rc == 0)
		rc = log_verify_end(o, &c);
	anchors_done(&c.anchors);
	return rc;
}

static int
log_show(const struct cli *cli, const struct log_options *o)
{
	char path[SANDBOX_NAME_SIZE + 64];
	struct wr w = wr_init(path, sizeof(path));
	struct log_shown s = {
		.show = o->json ? log_print_line : log_print_row,
		.is_whole = o->name == NULL && !o->denied,
	};

	wr_text(&w, "/v1/");
	if (o->name != NULL)
		wr_fmt(&w, "sandboxes/%s/", o->name);
	wr_text(&w, "log");
	if (o->denied)
		wr_text(&w, "?denied=1");
	if (o->follow)
		wr_text(&w, o->denied ? "&follow=1" : "?follow=1");
	wr_u8(&w, '\0');
	return call_stream(cli, path, o->follow, log_show_line, &s);
}

int
cmd_log(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "follow", no_argument, NULL, 'f' },
		{ "denied", no_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "verify", no_argument, NULL, 'v' },
		{ "file", required_argument, NULL, 'F' },
		{ "head", required_argument, NULL, 'H' },
		{ "anchor", required_argument, NULL, 'A' },
		{ NULL, 0, NULL, 0 },
	};
	struct log_options o = { .name = NULL };
	char *one_file[1];
	int opt;

	while ((opt = getopt_long(argc, argv, "f", options, NULL)) != -1) {
		switch (opt) {
		case 'f':
			o.follow = true;
			break;
		case 'd':
			o.denied = true;
			break;
		case 'j':
			o.json = true;
			break;
		case 'v':
			o.verify = true;
			break;
		case 'F':
			one_file[0] = optarg;
			o.files = one_file;
			o.file_count = 1;
			break;
		case 'H':
			o.head = optarg;
			break;
		case 'A':
			o.anchor = optarg;
			break;
		default:
			return cli_usage("log", "see tapward(1)");
		}
	}
	if (o.verify && optind < argc && o.file_count == 0) {
		o.files = argv + optind;
		o.file_count = argc - optind;
	} else if (optind < argc) {
		o.name = cli_only_name("log", argc, argv, optind);
		if (o.name == NULL)
			return CLI_USAGE;
	}
	if (!o.verify &&
	    (o.file_count > 0 || o.head != NULL || o.anchor != NULL))
		return cli_usage("log",
		    "--file, --head and --anchor go with --verify");
	return o.verify ? log_verify(cli, &o) : log_show(cli, &o);
}
