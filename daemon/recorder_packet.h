/*
 * A packet that a ruleset dropped, as an audit record. Pure.
 */
#ifndef TAPWARD_DAEMON_RECORDER_PACKET_H
#define TAPWARD_DAEMON_RECORDER_PACKET_H

#include "base/message_audit.h"
#include "netfilter/nflog.h"

/* The texts that the record borrows; must live as long as it. */
struct recorder_packet {
	char address[ADDRESS_TEXT_SIZE];
	char detail[AUDIT_DETAIL_MAX];
	struct audit_record record;
};

void recorder_packet_describe(const struct nflog_packet *packet,
    struct recorder_packet *ret);

#endif
