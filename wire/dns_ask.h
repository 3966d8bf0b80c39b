/*
 * Questions of ours to a nameserver over a stream, and what is read of its
 * answers before anybody trusts them with a name: where one ends, and whether
 * it belongs to a question of ours. Pure. The records are dialler_answer.h's.
 */
#ifndef TAPWARD_WIRE_DNS_ASK_H
#define TAPWARD_WIRE_DNS_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/dns.h"

/*
 * RFC 8467 4.1: a question is as long as the next multiple of this, so that
 * its length tells less of the name.
 */
#define DNS_ASK_BLOCK_BYTES 128
/* Room that dns_ask_write() needs at most, the length before it included. */
#define DNS_ASK_MAX_BYTES (2 + 3 * DNS_ASK_BLOCK_BYTES)
/*
 * An answer that is longer is none that we asked for: addresses, a chain of
 * names and no signatures.
 */
#define DNS_ASK_ANSWER_MAX_BYTES 16384

/*
 * One question with recursion wanted, in its frame (RFC 1035 4.2.2), padded
 * (RFC 7830). host is canonical.
 */
void dns_ask_write(struct wr *w, uint16_t id, const char *host, uint16_t type);

enum dns_frame {
	DNS_FRAME_MORE,  /* not all of it is there */
	DNS_FRAME_WHOLE, /* *ret_msg borrows it; *ret_used with its length */
	DNS_FRAME_BAD,   /* too short for a header, or too long */
};
/* The first answer of a stream. */
enum dns_frame dns_ask_frame(struct span so_far, struct span *ret_msg,
    size_t *ret_used);

/* Of a whole one. */
uint16_t dns_ask_id(struct span msg);
/*
 * msg answers one question, that for host (canonical) and type. Only then
 * *ret_rcode is written: one of RFC 1035 4.1.1, or a later one.
 */
bool dns_ask_answers(struct span msg, const char *host, uint16_t type,
    uint8_t *ret_rcode);

#endif
