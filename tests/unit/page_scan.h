/*
 * A page's markup as a browser would take it apart, strictly: only the
 * elements that we write, only attributes in double quotes, nothing that runs
 * or loads. For the unit test and the fuzz target.
 */
#ifndef TAPWARD_TESTS_PAGE_SCAN_H
#define TAPWARD_TESTS_PAGE_SCAN_H

#include <stdbool.h>
#include <string.h>

static const char page_elements[] =
    " html head meta style title body p h1 h2 h3 div b code ul li dl dt dd "
    "figure figcaption span svg rect defs pattern line text g section table "
    "thead tbody tr th td pre footer ";
static const char page_attributes[] =
    " lang charset http-equiv content name class id width height viewBox "
    "aria-hidden aria-label role x y x1 x2 y1 y2 rx scope text-anchor "
    "patternUnits patternTransform preserveAspectRatio ";

/* n bytes at p are one of the words between blanks. */
static inline bool
page_scan_knows(const char *words, const char *p, size_t n)
{
	char word[32] = " ";

	if (n == 0 || n + 3 > sizeof(word))
		return false;
	memcpy(word + 1, p, n);
	word[n + 1] = ' ';
	return strstr(words, word) != NULL;
}

/* Takes the attributes of a tag; where they end, or NULL. */
static inline const char *
page_scan_attributes(const char *p, const char *end)
{
	while (p != NULL && p < end && *p == ' ') {
		size_t n = strcspn(++p, "=> /");

		if (!page_scan_knows(page_attributes, p, n))
			return NULL;
		p += n;
		if (end - p < 2 || p[0] != '=' || p[1] != '"')
			return NULL;
		p = memchr(p + 2, '"', (size_t)(end - p - 2));
		p = p == NULL ? NULL : p + 1;
	}
	return p;
}

/* What is wrong with it first, or NULL. page ends with a NUL. */
static inline const char *
page_scan_fault(const char *page, size_t len)
{
	static const char type[] = "<!DOCTYPE html>";
	const char *p = page, *end = page + len;

	if (strncmp(page, type, strlen(type)) != 0)
		return "another type";
	p += strlen(type);
	while (p < end) {
		size_t n;

		if (*p == '>')
			return "a bare >";
		if (*p++ != '<')
			continue;
		p += *p == '/' ? 1 : 0;
		n = strcspn(p, " />");
		if (!page_scan_knows(page_elements, p, n))
			return "an element that is not ours";
		p = page_scan_attributes(p + n, end);
		if (p == NULL)
			return "an attribute that is not ours";
		p += *p == '/' ? 1 : 0;
		if (*p++ != '>')
			return "a tag without an end";
	}
	return NULL;
}

#endif
