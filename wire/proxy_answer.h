/*
 * What a forward proxy answers to CONNECT (RFC 9110 9.3.6), as its bytes come.
 * Pure. Nothing but a whole head with a status of 2xx opens a tunnel, and the
 * length of that head is exact: what follows is the origin's.
 */
#ifndef TAPWARD_WIRE_PROXY_ANSWER_H
#define TAPWARD_WIRE_PROXY_ANSWER_H

#include "base/bytes.h"
#include "wire/http.h"

/* Heads of proxies have some hundred bytes. */
#define PROXY_ANSWER_MAX_BYTES 8192

enum proxy_answer_status {
	PROXY_ANSWER_MORE,    /* the head does not end yet */
	PROXY_ANSWER_OPEN,    /* the tunnel is there */
	PROXY_ANSWER_REFUSED, /* the proxy says no, whatever it says */
	/* No head of HTTP/1, or one that is read in two ways, or a huge one. */
	PROXY_ANSWER_BAD,
};

struct proxy_answer {
	struct http_scan scan; /* zeroed before the first byte */
	unsigned int status;   /* 100..599 once it is OPEN or REFUSED */
	size_t head_len;       /* likewise, the empty line included */
};

/*
 * so_far holds all bytes since the first, and so grows from call to call; what
 * comes out does not depend on how they were split. After anything but MORE it
 * is not called again.
 */
enum proxy_answer_status proxy_answer_read(struct proxy_answer *a,
    struct span so_far);

#endif
