/*
 * What scan.c and scan_forms.c share. For nobody else.
 *
 * The shift table is indexed by a hash of three bytes and says how far the
 * window may move when its last three bytes hash there; 0 means that a form
 * may end its first `window` bytes here. Every form takes part with so many
 * bytes only, so one window serves all.
 */
#ifndef TAPWARD_PROXY_SCAN_PRIVATE_H
#define TAPWARD_PROXY_SCAN_PRIVATE_H

#include "proxy/scan.h"

/* Bytes that are hashed together; no form is shorter. */
#define SCAN_BLOCK 3
/*
 * 16 KiB stay in the first cache; with 40 forms of 64 bytes one slot of six is
 * taken, so that most steps are still of full width.
 */
#define SCAN_SLOTS_BITS 14
#define SCAN_SLOTS (1u << SCAN_SLOTS_BITS)
/* Wider steps save little: random bytes take 0.05 ns each with these. */
#define SCAN_WINDOW_MAX 64
/* Each of SCAN_SECRETS_MAX has 12, and 24 more when base64 of it is sent. */
#define SCAN_ROWS_MAX ((size_t)36 * SCAN_SECRETS_MAX)

/*
 * One form: its bytes are worked out when they are asked for, which is seldom,
 * so that a long secret is in memory once.
 */
struct scan_row {
	enum scan_form form;
	struct span core; /* what it is a form of; in the table's bytes */
	uint8_t skip;     /* of base64: bytes before core in its group */
	bool is_other;    /* base64url; capitals */
	uint8_t first;    /* byte */
	size_t len;
};

enum scan_flag {
	SCAN_BEGINS = 1, /* some form begins with this byte */
	SCAN_OCCURS = 2, /* some form has it in its window */
	/* Behind such a lead, it may be an escape of one that occurs. */
	SCAN_BEHIND_PERCENT = 4,
	SCAN_BEHIND_BACKSLASH = 8,
	SCAN_BEHIND_AMPERSAND = 16,
};

struct scan_table {
	uint8_t shift[SCAN_SLOTS];
	uint8_t flags[256];
	uint8_t widest; /* shift of what is in no form */
	size_t window;
	size_t longest;
	size_t count;
	struct scan_row rows[SCAN_ROWS_MAX];
	uint8_t bytes[];
};

static inline size_t
scan_slot(const uint8_t *p)
{
	uint32_t v =
	    (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

	/* Fibonacci hashing: the product is meant to lose its high bits. */
	return (size_t)(((uint64_t)v * 0x9e3779b1u & 0xffffffffu) >>
	    (32 - SCAN_SLOTS_BITS));
}

/* NULL: no forms. */
const struct scan_table *scan_table_of(const struct scan_forms *f);
uint8_t scan_row_byte(const struct scan_row *row, size_t i);

#endif
