/*
 * Packets of a channel, see packet.h.
 */
#include "base/packet.h"

#include <assert.h>
#include <errno.h>

#include "base/fd.h"

void
packet_write_head(uint8_t ret[CHAN_HEADER_BYTES],
    const struct packet_head *head)
{
	struct wr w = wr_init(ret, CHAN_HEADER_BYTES);

	wr_u8(&w, head->version);
	wr_u8(&w, head->fd_count);
	wr_u16(&w, head->type);
	wr_u32(&w, head->id);
	assert(wr_ok(&w));
}

static struct packet_head
read_head(struct rd *r)
{
	struct packet_head head;

	head.version = rd_u8(r);
	head.fd_count = rd_u8(r);
	head.type = rd_u16(r);
	head.id = rd_u32(r);
	return head;
}

static const struct chan_rule *
find_rule(const struct chan_rule *rules, size_t count, uint16_t type)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

/* 0 if rule lets such a packet through. */
static int
check(const struct chan_rule *rule, const struct packet_head *head,
    size_t body_len, unsigned int fd_count)
{
	if (head->version != CHAN_VERSION)
		return -EPROTONOSUPPORT;
	if (rule == NULL)
		return -ENOMSG;
	if (body_len > rule->body_max)
		return -EMSGSIZE;
	if (head->fd_count != fd_count || fd_count < rule->fds_min ||
	    fd_count > rule->fds_max || fd_count > CHAN_FDS_MAX)
		return -EBADF;
	return 0;
}

static void
close_all(const int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		int fd = fds[i];

		fd_close(&fd);
	}
}

static int
handle(struct chan *c, const struct chan_rule *rule, struct chan_msg *msg,
    void *arg)
{
	int rc = rule->handler(c, msg, arg);

	close_all(msg->fds, msg->fd_count);
	if (rc != 0)
		return rc;
	return rd_done(&msg->body) ? 0 : -EBADMSG;
}

int
packet_dispatch(struct chan *c, const struct chan_rule *rules,
    size_t rule_count, const struct packet_in *packet, void *arg)
{
	struct rd r = rd_span(packet->bytes);
	struct packet_head head = read_head(&r);
	struct chan_msg msg = { .type = head.type, .id = head.id, .body = r };
	const struct chan_rule *rule = find_rule(rules, rule_count, head.type);
	int rc = -EBADMSG;

	if (rd_ok(&r))
		rc = check(rule, &head, rd_left(&r), packet->fd_count);
	if (rc != 0) {
		close_all(packet->fds, packet->fd_count);
		return rc;
	}
	for (unsigned int i = 0; i < packet->fd_count; i++)
		msg.fds[i] = packet->fds[i];
	msg.fd_count = packet->fd_count;
	return handle(c, rule, &msg, arg);
}
