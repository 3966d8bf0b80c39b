/*
 * Plain offsets, no structs: what is tested here is what other code makes of
 * bytes that no decent library would produce.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"

void
frame_put16(struct frame *f, size_t at, uint16_t v)
{
	f->bytes[at] = (uint8_t)(v >> 8);
	f->bytes[at + 1] = (uint8_t)v;
}

void
frame_put32(struct frame *f, size_t at, uint32_t v)
{
	frame_put16(f, at, (uint16_t)(v >> 16));
	frame_put16(f, at + 2, (uint16_t)v);
}

uint16_t
frame_get16(const struct frame *f, size_t at)
{
	return (uint16_t)(f->bytes[at] << 8 | f->bytes[at + 1]);
}

uint32_t
frame_get32(const struct frame *f, size_t at)
{
	return (uint32_t)frame_get16(f, at) << 16 | frame_get16(f, at + 2);
}

/* RFC 1071. */
static uint16_t
sum(const uint8_t *p, size_t len, uint32_t start)
{
	uint32_t s = start;

	for (size_t i = 0; i < len; i++)
		s += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (s >> 16 != 0)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

void
frame_sum_ip(struct frame *f)
{
	size_t header = (f->bytes[AT_IP] & 0x0fU) * 4U;

	frame_put16(f, AT_IP + 10, 0);
	frame_put16(f, AT_IP + 10, sum(f->bytes + AT_IP, header, 0));
}

static void
sum_l4(struct frame *f, size_t at)
{
	size_t len = f->len - AT_L4;
	uint32_t start = f->bytes[AT_IP_PROTOCOL] + (uint32_t)len;

	for (size_t i = AT_IP_SOURCE; i < AT_L4; i += 2)
		start += frame_get16(f, i);
	frame_put16(f, AT_L4 + at, 0);
	frame_put16(f, AT_L4 + at, sum(f->bytes + AT_L4, len, start));
}

static void
put_ether(struct frame *f, const struct net_plan *plan, uint16_t type)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->bytes + AT_ETHER_TARGET, plan->gateway_mac, NET_MAC_BYTES);
	memcpy(f->bytes + AT_ETHER_SOURCE, plan->guest_mac, NET_MAC_BYTES);
	frame_put16(f, AT_ETHER_TYPE, type);
}

void
frame_ip(struct frame *f, const struct net_plan *plan, uint8_t protocol,
    uint32_t target, const void *payload, size_t len)
{
	put_ether(f, plan, 0x0800);
	f->bytes[AT_IP] = 0x45;
	frame_put16(f, AT_IP + 2, (uint16_t)(20 + len));
	f->bytes[AT_IP + 8] = 64;
	f->bytes[AT_IP_PROTOCOL] = protocol;
	frame_put32(f, AT_IP_SOURCE, plan->guest_ip);
	frame_put32(f, AT_IP_TARGET, target);
	if (len > 0)
		memcpy(f->bytes + AT_L4, payload, len);
	f->len = AT_L4 + len;
	frame_sum_ip(f);
}

void
frame_udp(struct frame *f, const struct net_plan *plan, uint32_t target,
    uint16_t source_port, uint16_t target_port, const char *text)
{
	uint8_t payload[512] = { 0 };
	size_t len = strlen(text);

	memcpy(payload + 8, text, len);
	frame_ip(f, plan, 17, target, payload, 8 + len);
	frame_put16(f, AT_L4, source_port);
	frame_put16(f, AT_L4 + 2, target_port);
	frame_put16(f, AT_L4 + 4, (uint16_t)(8 + len));
	sum_l4(f, 6);
}

void
frame_tcp(struct frame *f, const struct net_plan *plan, uint32_t target,
    uint16_t source_port, uint16_t target_port, uint8_t flags)
{
	const uint8_t payload[20] = { 0 };

	frame_ip(f, plan, 6, target, payload, sizeof(payload));
	frame_put16(f, AT_L4, source_port);
	frame_put16(f, AT_L4 + 2, target_port);
	frame_put32(f, AT_L4 + 4, 1000);
	f->bytes[AT_L4 + 12] = 5 << 4;
	f->bytes[AT_L4 + 13] = flags;
	frame_put16(f, AT_L4 + 14, 65535);
	sum_l4(f, 16);
}

void
frame_icmp_echo(struct frame *f, const struct net_plan *plan, uint32_t target)
{
	const uint8_t payload[16] = { 8, 0, 0, 0, 0, 1, 0, 1 };

	frame_ip(f, plan, 1, target, payload, sizeof(payload));
	frame_put16(f, AT_L4 + 2, sum(f->bytes + AT_L4, sizeof(payload), 0));
}

void
frame_arp(struct frame *f, const struct net_plan *plan)
{
	static const uint8_t kind[] = { 0, 1, 8, 0, 6, 4, 0, 1 };

	put_ether(f, plan, 0x0806);
	memset(f->bytes, 0xff, NET_MAC_BYTES);
	memcpy(f->bytes + AT_IP, kind, sizeof(kind));
	memcpy(f->bytes + AT_ARP_SENDER_MAC, plan->guest_mac, NET_MAC_BYTES);
	frame_put32(f, AT_ARP_SENDER_IP, plan->guest_ip);
	frame_put32(f, AT_ARP_TARGET_IP, plan->gateway_ip);
	f->len = 60;
}

void
frame_tag(struct frame *f, uint16_t type, uint16_t tci)
{
	memmove(f->bytes + AT_ETHER_TYPE + 4, f->bytes + AT_ETHER_TYPE,
	    f->len - AT_ETHER_TYPE);
	frame_put16(f, AT_ETHER_TYPE, type);
	frame_put16(f, AT_ETHER_TYPE + 2, tci);
	f->len += 4;
}

bool
frame_send(int tap_fd, const struct frame *f)
{
	return write(tap_fd, f->bytes, f->len) == (ssize_t)f->len;
}

bool
frame_receive(int tap_fd, int timeout_ms, struct frame *ret)
{
	struct pollfd p = { .fd = tap_fd, .events = POLLIN };
	ssize_t len;

	if (poll(&p, 1, timeout_ms) != 1)
		return false;
	memset(ret, 0, sizeof(*ret));
	len = read(tap_fd, ret->bytes, sizeof(ret->bytes));
	ret->len = len > 0 ? (size_t)len : 0;
	return len > 0;
}
