/*
 * The control API as a stranger reaches it: a head and a body. Property: what
 * is taken fits its message, so that encoding and decoding it again works.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/api_json.h"
#include "daemon/api_route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_survives_the_message(const struct message_api_request *req)
{
	uint8_t buf[4096];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_api_request back;
	struct rd r;

	message_api_request_encode(&w, req);
	if (!wr_ok(&w))
		abort();
	r = rd_init(buf, w.len);
	/* A name may be refused there, as one that is no sandbox's. */
	if (message_api_request_decode(&r, &back) == 0 && !rd_done(&r))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_api_request req = { .op = API_CREATE };
	struct api_target target = { API_LIST, false, false };
	struct api_body body = { NULL, 0 };
	struct http_scan scan = { 0 };
	struct http_request http;
	struct err err = { "" };
	size_t head = 0;

	if (http_scan(&scan, (struct span){ data, size }, &head) != HTTP_OK ||
	    http_request_parse((struct span){ data, head }, &http) != HTTP_OK ||
	    api_route_find(&http, &target, &req) != 200)
		return 0;
	if (api_json_read((struct span){ data + head, size - head }, &req,
		&body, &err) == 0)
		check_survives_the_message(&req);
	api_body_done(&body);
	return 0;
}
