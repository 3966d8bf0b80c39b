/*
 * See words.h.
 */
#include "conf/words.h"

#include <string.h>

#include "base/ascii.h"
#include "base/names.h"

/* Longest word that is compared for a slip. */
#define WORDS_COMPARED_MAX 32

bool
words_is_name(struct span s)
{
	if (s.len == 0 || s.len > WORDS_NAME_MAX || !ascii_is_alnum(s.ptr[0]))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!ascii_is_alnum(c) && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

bool
words_is_method(struct span s)
{
	if (s.len == 0 || s.len >= METHOD_NAME_SIZE || s.ptr[0] == '-')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] != '-' && (s.ptr[i] < 'A' || s.ptr[i] > 'Z'))
			return false;
	}
	return true;
}

bool
words_parse_yes(struct span s, bool *ret)
{
	if (!span_is(s, "yes") && !span_is(s, "no"))
		return false;
	*ret = span_is(s, "yes");
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

bool
words_next_item(struct span *list, struct span *ret)
{
	const uint8_t *comma;
	struct span s = *list;

	if (list->ptr == NULL)
		return false;
	comma = s.len > 0 ? memchr(s.ptr, ',', s.len) : NULL;
	if (comma != NULL) {
		s.len = (size_t)(comma - s.ptr);
		*list = (struct span){ comma + 1, list->len - s.len - 1 };
	} else {
		*list = (struct span){ NULL, 0 };
	}
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	*ret = s;
	return true;
}

static size_t
least(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Inserted, dropped and changed letters between the two (Levenshtein). */
static size_t
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[WORDS_COMPARED_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			bool same = ascii_lower((uint8_t)a[i - 1]) ==
			    ascii_lower((uint8_t)b[j - 1]);
			size_t above = row[j];

			row[j] = least(above + 1, row[j - 1] + 1,
			    diagonal + (same ? 0 : 1));
			diagonal = above;
		}
	}
	return row[b_len];
}

const char *
words_nearest(const char *word, const char *const *words, size_t count,
    size_t stride)
{
	const char *best = NULL;
	size_t best_distance = 3, len = strlen(word);

	for (size_t i = 0; i < count && len <= WORDS_COMPARED_MAX; i++) {
		const char *w;
		size_t d, w_len;

		memcpy(&w, (const char *)words + i * stride, sizeof(w));
		w_len = strlen(w);
		if (w_len > WORDS_COMPARED_MAX)
			continue;
		d = distance(word, len, w, w_len);
		if (d < best_distance && d < w_len) {
			best = w;
			best_distance = d;
		}
	}
	return best;
}
