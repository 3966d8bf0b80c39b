/* See report_log.h. */
#include "cli/report_log.h"

#include <stdio.h>
#include <unistd.h>

#include "base/names.h"
#include "cli/call.h"
#include "cli/log_lines.h"

struct reading {
	struct report *report;
	struct report_log *log;
};

static void
check_line(struct report_log *l, struct span line)
{
	struct audit_line_head head;
	enum audit_verify_result r;

	if (l->chain == REPORT_CHAIN_BROKEN)
		return;
	if (l->first_seq == 0 && audit_line_read(line, &head))
		l->first_seq = head.seq;
	r = audit_verify_line(&l->verify, line);
	if (r == AUDIT_VERIFY_OK)
		return;
	l->chain = REPORT_CHAIN_BROKEN;
	l->fault = r;
	l->fault_line = l->verify.lines + 1;
}

static int
on_checked_line(char *line, size_t len, void *arg)
{
	const struct reading *reading = arg;
	const struct span bytes = { (const uint8_t *)line, len };

	check_line(reading->log, bytes);
	report_take(reading->report, bytes);
	return 0;
}

static int
on_own_line(char *line, size_t len, void *arg)
{
	const struct reading *reading = arg;

	report_take(reading->report,
	    (struct span){ (const uint8_t *)line, len });
	return 0;
}

static void
begin(struct report_log *l)
{
	*l = (struct report_log){ .chain = REPORT_CHAIN_WHOLE };
	audit_verify_init(&l->verify);
}

static void
end(struct report_log *l)
{
	enum audit_verify_result r = audit_verify_end(&l->verify);

	if (l->chain != REPORT_CHAIN_WHOLE || r == AUDIT_VERIFY_OK)
		return;
	l->chain = REPORT_CHAIN_BROKEN;
	l->fault = r;
	l->fault_line = l->verify.lines;
}

int
report_log_ask(const struct cli *cli, const char *name, struct report *r,
    struct report_log *ret)
{
	struct reading reading = { r, ret };
	char path[SANDBOX_NAME_SIZE + 32];

	begin(ret);
	if (geteuid() == 0) {
		int rc = call_stream(cli, "/v1/log", false, on_checked_line,
		    &reading);
		end(ret);
		return rc;
	}
	ret->chain = REPORT_CHAIN_UNCHECKED;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/log", name);
	return call_stream(cli, path, false, on_own_line, &reading);
}

int
report_log_read(char *const *paths, size_t count, struct report *r,
    struct report_log *ret)
{
	struct reading reading = { r, ret };
	int rc = 0;

	begin(ret);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = log_lines_read(paths[i], on_checked_line, &reading);
	end(ret);
	return rc;
}

json_t *
report_log_json(const struct report_log *l)
{
	static const char *const states[] = {
		[REPORT_CHAIN_UNCHECKED] = "unchecked",
		[REPORT_CHAIN_WHOLE] = "whole",
		[REPORT_CHAIN_BROKEN] = "broken",
	};
	json_t *ret = json_pack("{s:s, s:I, s:I, s:I}", "chain",
	    states[l->chain], "records", (json_int_t)l->verify.lines,
	    "first_seq", (json_int_t)l->first_seq, "cut_lines",
	    (json_int_t)l->verify.torn);

	if (l->chain == REPORT_CHAIN_WHOLE)
		(void)json_object_set_new(ret, "head",
		    json_string(l->verify.head));
	if (l->chain != REPORT_CHAIN_BROKEN)
		return ret;
	(void)json_object_set_new(ret, "fault",
	    json_string(audit_verify_text(l->fault)));
	(void)json_object_set_new(ret, "fault_line",
	    json_integer((json_int_t)l->fault_line));
	return ret;
}
