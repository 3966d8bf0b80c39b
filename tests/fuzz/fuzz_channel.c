/*
 * A packet of a channel from a sender that we do not trust. The first byte
 * says how many descriptors came with it, the rest is the packet.
 *
 * Holds: a handler runs only for what its row lets through, gets the body as
 * it was sent, and success means that nothing of it was left over.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 300

struct call {
	unsigned int count;
	uint16_t type;
	size_t body_len;
	size_t left;
	unsigned int fd_count;
};

static void
hold(bool claim)
{
	if (!claim)
		abort();
}

static int
on_any(struct chan_msg *msg, struct call *call)
{
	call->count++;
	call->type = msg->type;
	call->fd_count = msg->fd_count;
	call->body_len = rd_left(&msg->body);
	return 0;
}

static int
on_fields(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct call *call = arg;
	char name[16];
	int rc = on_any(msg, call);

	(void)c;
	(void)rd_u32(&msg->body);
	(void)rd_cstr16(&msg->body, name, sizeof(name));
	hold(strlen(name) < sizeof(name));
	call->left = rd_left(&msg->body);
	return rc;
}

static int
on_list(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct call *call = arg;
	int rc = on_any(msg, call);

	(void)c;
	while (rd_left(&msg->body) > 0)
		(void)rd_str16(&msg->body, 64);
	call->left = rd_left(&msg->body);
	return rc;
}

static int
on_refused(struct chan *c, struct chan_msg *msg, void *arg)
{
	(void)c;
	(void)on_any(msg, arg);
	return -EPERM;
}

static const struct chan_rule rules[] = {
	{ 2, 32, 0, 0, on_fields },
	{ 4, BODY_MAX, 0, 2, on_list },
	{ 6, 0, 1, CHAN_FDS_MAX, on_fields },
	{ 8, BODY_MAX, 0, CHAN_FDS_MAX, on_refused },
};

static const struct chan_rule *
rule_of(uint16_t type)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].type == type)
			return &rules[i];
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fds[256];
	struct packet_in packet = { .fds = fds };
	struct call call = { 0 };
	const struct chan_rule *rule;
	int rc;

	if (size == 0)
		return 0;
	memset(fds, 0xff, sizeof(fds)); /* -1: none to close */
	packet.bytes = (struct span){ data + 1, size - 1 };
	packet.fd_count = data[0];
	rc = packet_dispatch(NULL, rules, sizeof(rules) / sizeof(rules[0]),
	    &packet, &call);
	hold(call.count <= 1);
	if (call.count == 0) {
		hold(rc != 0);
		return 0;
	}
	rule = rule_of(call.type);
	hold(data[1] == CHAN_VERSION && data[2] == call.fd_count);
	hold(data[0] == call.fd_count);
	hold(call.type == (data[3] << 8 | data[4]));
	hold(call.body_len == size - 1 - CHAN_HEADER_BYTES);
	hold(call.body_len <= rule->body_max);
	hold(call.fd_count >= rule->fds_min && call.fd_count <= rule->fds_max);
	hold(rc != 0 || (call.left == 0 && rule->handler != on_refused));
	return 0;
}
