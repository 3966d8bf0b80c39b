/*
 * Small readings of words that policies and the host's configuration share.
 */
#ifndef TAPWARD_CONF_WORDS_H
#define TAPWARD_CONF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Longest name of a rule, a preset or a credential: libinih's section name
 * less the longest kind before it. */
#define WORDS_NAME_MAX 38

/* [A-Za-z0-9][A-Za-z0-9._-]*, at most WORDS_NAME_MAX bytes. */
bool words_is_name(struct span s);
/* [A-Z][A-Z-]*, shorter than METHOD_NAME_SIZE. */
bool words_is_method(struct span s);
/* "yes" or "no". */
bool words_parse_yes(struct span s, bool *ret);

/*
 * Takes the next item of a comma list off *list, blanks around it trimmed;
 * false at the end. "a,,b" and a comma at an end give an empty item, which
 * the caller refuses.
 */
bool words_next_item(struct span *list, struct span *ret);

/*
 * The one of count words that a slip of at most two keys turns into word;
 * NULL without one. stride is the distance of two words in bytes, so that
 * the names within a table of rows can be given.
 */
const char *words_nearest(const char *word, const char *const *words,
    size_t count, size_t stride);

#endif
