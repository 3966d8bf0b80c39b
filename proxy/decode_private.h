/*
 * What the decode*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_DECODE_PRIVATE_H
#define TAPWARD_PROXY_DECODE_PRIVATE_H

#include "proxy/decode.h"

/* One library behind decode.h. arg is what open() gave. */
struct decode_kind {
	/* NULL when memory is short. */
	void *(*open)(enum coding coding, struct decode_budget *budget);
	void (*close)(void *arg);
	enum decode_status (*run)(void *arg, struct span *in, struct wr *out);
	bool (*is_settled)(const void *arg); /* NULL: always */
	bool (*is_whole)(const void *arg);
};

extern const struct decode_kind decode_zlib, decode_brotli, decode_zstd;

/*
 * Memory of a decoder: within the budget, and wiped when it is freed, since
 * what was decoded may hold the secret. NULL as malloc(), or over the budget.
 */
void *decode_alloc(struct decode_budget *budget, size_t size);
void decode_release(struct decode_budget *budget, void *ptr);

#endif
