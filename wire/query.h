/*
 * The parameters of a query, as the origins that read one take it apart: at
 * '&', some at ';', with names that are escaped, in either letter case, or
 * bent into a name of theirs. Which of those an origin is nobody knows, so a
 * parameter is said to have a name if any of them could think so.
 */
#ifndef TAPWARD_WIRE_QUERY_H
#define TAPWARD_WIRE_QUERY_H

#include <stdbool.h>

#include "base/bytes.h"

struct query_piece {
	struct span text; /* "name=value", as it is written */
	struct span name; /* what is before its first '=', as it is written */
	uint8_t before;   /* what parts it from the piece before it; 0: first */
};

/* Zeroed but for rest. */
struct query_reader {
	struct span rest;
	uint8_t before;
	bool is_over;
};

/* Borrows. False at the end; an empty query is one empty piece. */
bool query_next(struct query_reader *r, struct query_piece *ret);
/*
 * Could an origin take this name for that one, which is letters, digits, '-'
 * and '_'? Escapes are resolved once, '+' and what PHP makes '_' count as
 * such, and "name[...]" is a name, too.
 */
bool query_is_named(struct span name, const char *want);
/* name=value, value escaped but for unreserved bytes (RFC 3986 2.3). */
void query_write(struct wr *w, const char *name, struct span value);

#endif
