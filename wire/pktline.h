/*
 * pkt-lines, which all that git says over the network is made of
 * (gitprotocol-common(5)): four hexadecimal digits, which count themselves,
 * and that many bytes less four.
 *
 * Stricter than git: digits are in lower case, as every writer has them, and
 * a line of no bytes ("0004", which must not be sent) is none.
 */
#ifndef TAPWARD_WIRE_PKTLINE_H
#define TAPWARD_WIRE_PKTLINE_H

#include <stddef.h>

#include "base/bytes.h"

#define PKTLINE_HEADER_BYTES 4
#define PKTLINE_MAX_BYTES 65520 /* of a whole line */
#define PKTLINE_DATA_MAX_BYTES (PKTLINE_MAX_BYTES - PKTLINE_HEADER_BYTES)

enum pktline_status {
	PKTLINE_MORE,  /* it is not whole: nothing was taken */
	PKTLINE_DATA,  /* ret_data holds what it says, at least a byte */
	PKTLINE_FLUSH, /* "0000" */
	PKTLINE_DELIM, /* "0001" */
	PKTLINE_END,   /* "0002" */
	PKTLINE_BAD,   /* anything else */
	PKTLINE_STATUS_COUNT
};

/* Takes one line off the front of in. ret_data borrows, and is else empty. */
enum pktline_status pktline_read(struct span *in, struct span *ret_data);

/* The line of data, of 1 .. PKTLINE_DATA_MAX_BYTES bytes. */
void pktline_write(struct wr *w, struct span data);
void pktline_write_flush(struct wr *w);

#endif
