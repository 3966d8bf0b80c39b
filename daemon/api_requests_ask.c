/*
 * Requests about questions of [ask].
 */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/fd.h"
#include "daemon/api_requests_private.h"
#include "daemon/link_api.h"
#include "daemon/supervisor.h"

/* Eight hexadecimal digits, lower case; 0 for what is not. */
static uint32_t
read_id(const char *text)
{
	uint32_t id = 0;

	if (strlen(text) != 8)
		return 0;
	for (size_t i = 0; i < 8; i++) {
		int digit = ascii_hex((uint8_t)text[i]);

		if (digit == -1)
			return 0;
		id = id << 4 | (uint32_t)digit;
	}
	return id;
}

static void
answer_asks(const struct request *r, struct message_api_asks *asks)
{
	const struct message_api_answer a = { .result = API_OK,
		.payload = API_PAYLOAD_ASKS,
		.text = "",
		.asks = asks };

	link_api_answer(r->sv, &r->to, &a, -1);
}

void
request_asks(struct request *r)
{
	AUTO_FREE struct message_api_asks *asks = calloc(1, sizeof(*asks));

	if (asks == NULL) {
		request_refuse(r, API_FAILED, "out of memory");
		return;
	}
	questions_page(r->sv, r->m->peer_uid, read_id(r->m->name), asks);
	answer_asks(r, asks);
}

void
request_answer(struct request *r)
{
	AUTO_FREE struct message_api_asks *asks = calloc(1, sizeof(*asks));
	const char *text = "";
	enum api_result result;

	if (asks == NULL) {
		request_refuse(r, API_FAILED, "out of memory");
		return;
	}
	asks->count = 1;
	result = question_answer(r->sv,
	    &(struct question_reply){ .id = read_id(r->m->name),
		.uid = r->m->peer_uid,
		.is_allowed = r->m->is_allowed,
		.seconds = r->m->for_s },
	    &asks->asks[0], &text);
	if (result == API_OK)
		answer_asks(r, asks);
	else
		request_refuse(r, result, text);
}
