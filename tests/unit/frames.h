/*
 * Frames as a guest would send them, and the guest's end of a tap: for the
 * tests of netfilter/.
 */
#ifndef TAPWARD_TESTS_UNIT_FRAMES_H
#define TAPWARD_TESTS_UNIT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netfilter/plan.h"

#define FRAME_MAX 2048

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t len;
};

/* Where things are in an untagged IPv4 frame. */
enum {
	AT_ETHER_TARGET = 0,
	AT_ETHER_SOURCE = 6,
	AT_ETHER_TYPE = 12,
	AT_IP = 14,
	AT_IP_FRAGMENT = AT_IP + 6,
	AT_IP_PROTOCOL = AT_IP + 9,
	AT_IP_SOURCE = AT_IP + 12,
	AT_IP_TARGET = AT_IP + 16,
	AT_L4 = AT_IP + 20,
	AT_ARP_OP = AT_IP + 6,
	AT_ARP_SENDER_MAC = AT_IP + 8,
	AT_ARP_SENDER_IP = AT_IP + 14,
	AT_ARP_TARGET_IP = AT_IP + 24,
};

#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_RST 0x04
#define TCP_FLAG_ACK 0x10

/* From the plan's guest, with right checksums. */
void frame_ip(struct frame *f, const struct net_plan *plan, uint8_t protocol,
    uint32_t target, const void *payload, size_t len);
void frame_udp(struct frame *f, const struct net_plan *plan, uint32_t target,
    uint16_t source_port, uint16_t target_port, const char *text);
void frame_tcp(struct frame *f, const struct net_plan *plan, uint32_t target,
    uint16_t source_port, uint16_t target_port, uint8_t flags);
void frame_icmp_echo(struct frame *f, const struct net_plan *plan,
    uint32_t target);
/* "Who has the gateway?" */
void frame_arp(struct frame *f, const struct net_plan *plan);
/* Puts words of a tag (0x8100, 0) behind the addresses. */
void frame_tag(struct frame *f, uint16_t type, uint16_t tci);
/* Checksum of the IPv4 header again, after a change. */
void frame_sum_ip(struct frame *f);
void frame_put16(struct frame *f, size_t at, uint16_t v);
void frame_put32(struct frame *f, size_t at, uint32_t v);
uint16_t frame_get16(const struct frame *f, size_t at);
uint32_t frame_get32(const struct frame *f, size_t at);

/* Writes it whole to a tap. */
bool frame_send(int tap_fd, const struct frame *f);
/* The next frame from the tap within timeout_ms; false without one. */
bool frame_receive(int tap_fd, int timeout_ms, struct frame *ret);

#endif
