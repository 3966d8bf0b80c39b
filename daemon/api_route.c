/*
 * The routes of DESIGN 10 as rows. {} stands for the name of a sandbox, or the
 * id of a question.
 */
#include "daemon/api_route.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/fd.h"
#include "base/message.h"
#include "daemon/api_budgets.h"
#include "daemon/api_json.h"

#define JSON_TYPE "application/json"
#define LINES_TYPE "application/x-ndjson"
#define METRICS_TYPE "text/plain; version=0.0.4"

static const struct api_route_row {
	const char *method;
	const char *path;
	struct api_target target;
} api_routes[] = {
	{ "GET", "/v1/sandboxes", { API_LIST, false, false } },
	{ "POST", "/v1/sandboxes", { API_CREATE, false, true } },
	{ "GET", "/v1/sandboxes/{}", { API_SHOW, false, false } },
	{ "DELETE", "/v1/sandboxes/{}", { API_REMOVE, false, false } },
	{ "PUT", "/v1/sandboxes/{}/policy", { API_RELOAD, false, true } },
	{ "POST", "/v1/sandboxes/{}/attach", { API_ATTACH, false, true } },
	{ "PUT", "/v1/sandboxes/{}/vm", { API_VM_START, false, true } },
	{ "DELETE", "/v1/sandboxes/{}/vm", { API_VM_STOP, false, false } },
	{ "POST", "/v1/sandboxes/{}/session", { API_SESSION, false, false } },
	{ "GET", "/v1/sandboxes/{}/log", { API_LOG, false, false } },
	{ "GET", "/v1/log", { API_LOG, false, false } },
	{ "GET", "/v1/asks", { API_ASKS, false, false } },
	{ "POST", "/v1/asks/{}", { API_ANSWER, false, true } },
	{ "GET", "/v1/status", { API_STATUS, false, false } },
	{ "GET", "/v1/top", { API_TOP, false, false } },
	{ "GET", "/v1/sandboxes/{}/top", { API_TOP_ONE, false, false } },
	{ "POST", "/v1/reload", { API_RELOAD_HOST, false, false } },
	{ "GET", "/v1/events", { API_STATUS, true, false } },
	{ "GET", "/metrics", { API_METRICS, false, false } },
};

/* Does path fit pattern? *ret_name is what stands for {}. */
static bool
api_path_fits(const char *pattern, struct span path, struct span *ret_name)
{
	struct rd r = rd_span(path);
	struct span name = { NULL, 0 };

	for (const char *p = pattern; *p != '\0'; p++) {
		if (*p != '{') {
			if (rd_u8(&r) != (uint8_t)*p)
				return false;
			continue;
		}
		name.ptr = r.at;
		while (rd_peek(&r) != -1 && rd_peek(&r) != '/') {
			rd_skip(&r, 1);
			name.len++;
		}
		p++; /* the closing brace */
	}
	*ret_name = name;
	return rd_done(&r);
}

static bool
api_take_target_name(struct span name, char buf[SANDBOX_NAME_SIZE])
{
	if (name.len >= SANDBOX_NAME_SIZE)
		return false;
	if (name.len > 0)
		memcpy(buf, name.ptr, name.len);
	buf[name.len] = '\0';
	return true;
}

/* "denied=1&follow=1&after=NAME", each at most once, nothing else. */
static bool
api_take_query(struct span query, struct message_api_request *req)
{
	struct rd r = rd_span(query);

	while (rd_left(&r) > 0) {
		const uint8_t *end = memchr(r.at, '&', r.left);
		size_t len = end == NULL ? r.left : (size_t)(end - r.at);
		struct span one = rd_take(&r, len);
		bool is_log = req->op == API_LOG;

		rd_skip(&r, rd_left(&r) > 0 ? 1 : 0);
		if (is_log && !req->denied_only && span_is(one, "denied=1"))
			req->denied_only = true;
		else if (is_log && !req->follow && span_is(one, "follow=1"))
			req->follow = true;
		else if (one.len > 6 && memcmp(one.ptr, "after=", 6) == 0 &&
		    (req->op == API_LIST || req->op == API_ASKS ||
			req->op == API_TOP)) {
			one.ptr += 6;
			one.len -= 6;
			if (!api_take_target_name(one, req->name) ||
			    !sandbox_name_is_valid(req->name))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

unsigned int
api_route_find(const struct http_request *http, struct api_target *ret_target,
    struct message_api_request *req)
{
	unsigned int status = 404;

	for (size_t i = 0; i < sizeof(api_routes) / sizeof(*api_routes); i++) {
		const struct api_route_row *row = &api_routes[i];
		struct span name;

		if (!api_path_fits(row->path, http->path, &name))
			continue;
		status = 405;
		if (!span_is(http->method, row->method))
			continue;
		*ret_target = row->target;
		req->op = (uint8_t)row->target.op;
		if (!api_take_target_name(name, req->name))
			return 404;
		if (strchr(row->path, '{') != NULL &&
		    !sandbox_name_is_valid(req->name))
			return 404;
		return api_take_query(http->query, req) ? 200 : 400;
	}
	return status;
}

/* A pipe whose write end goes to the recorder; the read end is kept. */
static int
api_make_sink(struct api_conn *c, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -errno;
	c->sink_fd = fds[0];
	*ret_write = fds[1];
	return 0;
}

static int
api_send_request(struct api_conn *c, const int *fds, unsigned int fd_count)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	message_api_request_encode(&w, &c->request);
	c->request_id = chan_next_id(c->api->supervisor);
	return chan_send(c->api->supervisor, MSG_API_REQUEST, c->request_id, &w,
	    fds, fd_count);
}

/* Policy text and descriptors that this request goes out with. */
static int
api_pass_on(struct api_conn *c, const struct api_body *body, struct err *err)
{
	AUTO_CLOSE int extra = -1;
	int fds[1 + API_CONN_FDS_MAX];
	unsigned int n = 0;
	int rc = 0;

	if (c->request.op == API_CREATE || c->request.op == API_RELOAD) {
		if (body->policy == NULL)
			return err_at(err, NULL, 0,
			    "\"policy\", the text of the policy, is missing");
		rc = fd_memfd_sealed("tapward-policy-text", body->policy,
		    body->policy_len, &extra);
	} else if (c->request.op == API_LOG || c->request.op == API_METRICS) {
		rc = api_make_sink(c, &extra);
	}
	if (rc != 0)
		return err_os(err, rc, "passing the request on");
	if (extra != -1)
		fds[n++] = extra;
	if (c->request.op == API_CREATE && c->fd_count > 0)
		fds[n++] = c->fds[0];
	for (unsigned int i = 0;
	     c->request.op == API_VM_START && i < c->fd_count; i++)
		fds[n++] = c->fds[i];
	rc = api_send_request(c, fds, n);
	return rc == 0 ? 0 : err_os(err, rc, "the supervisor");
}

static void
api_route_request(struct api_conn *c, const struct http_request *http)
{
	const struct span nothing = { NULL, 0 };
	struct api_body body = { NULL, 0 };
	struct api_target target = { 0 };
	struct err err = { "" };
	unsigned int status = api_route_find(http, &target, &c->request);
	int rc = 0;

	if (status == 200 && c->metrics_only && target.op != API_METRICS)
		status = 404;
	if (status != 200) {
		api_conn_refuse(c, status,
		    "no such method, path or query; see tapward(1)", nothing);
		return;
	}
	if (target.is_events) {
		api_conn_stream(c, LINES_TYPE, -1);
		return;
	}
	if (target.has_body)
		rc = api_json_read((struct span){ c->in + c->head_len,
				       c->body_len },
		    &c->request, &body, &err);
	else if (c->body_len > 0)
		rc = err_at(&err, NULL, 0, "this request has no body");
	if (rc == 0)
		rc = api_pass_on(c, &body, &err);
	api_body_done(&body);
	if (rc != 0)
		api_conn_refuse(c, rc == -EINVAL ? 400 : 503, err.text,
		    nothing);
}

void
api_route(struct api_conn *c)
{
	struct http_request http;

	c->request = (struct message_api_request){ .peer_uid = c->uid,
		.peer_gid = c->gid,
		.owner_uid = API_OWNER_PEER,
		.cpus = API_VM_CPUS,
		.memory_mib = API_VM_MEMORY_MIB };
	if (http_request_parse_ours((struct span){ c->in, c->head_len },
		&http) != HTTP_OK) {
		api_conn_refuse(c, 400, "the request is not one we take",
		    (struct span){ NULL, 0 });
		return;
	}
	api_route_request(c, &http);
}

static unsigned int
api_result_status(uint8_t result)
{
	static const unsigned int statuses[API_RESULT_COUNT] = {
		[API_OK] = 200,
		[API_INVALID] = 400,
		[API_FORBIDDEN] = 403,
		[API_NOT_FOUND] = 404,
		[API_EXISTS] = 409,
		[API_LIMIT] = 429,
		[API_FAILED] = 500,
		[API_UNAVAILABLE] = 503,
	};

	return result < API_RESULT_COUNT ? statuses[result] : 500;
}

static json_t *
api_page_json(const struct message_api_page *page)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < page->count; i++)
		if (json_array_append_new(all,
			api_json_entry(&page->entries[i])) != 0)
			break;
	return json_pack("{s:o, s:b}", "sandboxes", all, "more",
	    (int)page->has_more);
}

static json_t *
api_asks_json(const struct message_api_asks *asks)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < asks->count; i++)
		if (json_array_append_new(all, api_json_ask(&asks->asks[i])) !=
		    0)
			break;
	return json_pack("{s:o, s:b}", "asks", all, "more",
	    (int)asks->has_more);
}

static json_t *
api_answer_json(const struct message_api_answer *answer)
{
	switch ((enum api_payload)answer->payload) {
	case API_PAYLOAD_SANDBOX:
		return api_json_sandbox(answer->sandbox);
	case API_PAYLOAD_LIST:
		return api_page_json(answer->page);
	case API_PAYLOAD_STATUS:
		return api_json_status(answer->status);
	case API_PAYLOAD_ASKS:
		return api_asks_json(answer->asks);
	case API_PAYLOAD_TOP:
		return api_json_top(answer->status, answer->top);
	case API_PAYLOAD_NONE:
	case API_PAYLOAD_COUNT:
		break;
	}
	return json_object();
}

/* Warnings of a policy that was taken go along, so that a person sees them. */
static json_t *
api_answer_with_findings(const struct message_api_answer *answer)
{
	json_t *json = api_answer_json(answer);
	json_t *said;

	if (json == NULL || answer->findings.len == 0)
		return json;
	said = api_json_error("", answer->findings);
	if (said != NULL)
		(void)json_object_set(json, "findings",
		    json_object_get(said, "findings"));
	json_decref(said);
	return json;
}

/* Of the sandbox that is shown; fd is its counts, or -1. */
static void
api_add_budgets(json_t *json, int fd)
{
	json_t *budgets = fd == -1 ? NULL : api_budgets_json(fd);

	if (budgets != NULL)
		(void)json_object_set_new(json, "budgets", budgets);
}

void
api_route_answer(struct api_conn *c, const struct message_api_answer *answer,
    int fd)
{
	unsigned int status = api_result_status(answer->result);
	json_t *json;
	char *body;

	if (answer->result != API_OK) {
		if (fd != -1)
			(void)close(fd);
		fd_close(&c->sink_fd);
		api_conn_refuse(c, status, answer->text, answer->findings);
		return;
	}
	if (c->request.op == API_LOG || c->request.op == API_METRICS) {
		if (fd != -1)
			(void)close(fd);
		api_conn_stream(c,
		    c->request.op == API_LOG ? LINES_TYPE : METRICS_TYPE,
		    steal_fd(&c->sink_fd));
		return;
	}
	json = api_answer_with_findings(answer);
	if (json != NULL && answer->payload == API_PAYLOAD_SANDBOX) {
		api_add_budgets(json, fd);
		fd_close(&fd);
	}
	body = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (body == NULL) {
		if (fd != -1)
			(void)close(fd);
		api_conn_refuse(c, 500, "out of memory",
		    (struct span){ NULL, 0 });
		return;
	}
	api_conn_answer(c, c->request.op == API_CREATE ? 201 : status,
	    JSON_TYPE, span_of(body), fd);
	free(body);
}
