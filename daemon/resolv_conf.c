/* Reading resolv.conf(5), see resolv_conf.h. */
#include "daemon/resolv_conf.h"

#include <string.h>

#include "wire/address.h"

#define DNS_PORT 53

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* The next word of r; empty at its end. */
static struct span
take_word(struct rd *r)
{
	struct span word;

	while (rd_peek(r) != -1 && is_blank((uint8_t)rd_peek(r)))
		rd_skip(r, 1);
	word.ptr = r->at;
	word.len = 0;
	while (rd_peek(r) != -1 && !is_blank((uint8_t)rd_peek(r))) {
		rd_skip(r, 1);
		word.len++;
	}
	return word;
}

static bool
parse_nameserver(struct span line, struct message_resolver *ret)
{
	struct rd r = rd_span(line);
	struct address a;

	if (!span_is(take_word(&r), "nameserver") ||
	    !address_parse(take_word(&r), &a))
		return false;
	*ret = (struct message_resolver){
		.address.family = (uint8_t)a.family,
		.port = DNS_PORT,
	};
	memcpy(ret->address.bytes, a.bytes, sizeof(ret->address.bytes));
	return true;
}

unsigned int
resolv_conf_parse(struct span text, struct message_resolver *ret,
    unsigned int max)
{
	struct rd r = rd_span(text);
	unsigned int count = 0;

	while (rd_left(&r) > 0 && count < max) {
		const uint8_t *newline = memchr(r.at, '\n', rd_left(&r));
		size_t len =
		    newline == NULL ? rd_left(&r) : (size_t)(newline - r.at);

		if (parse_nameserver(rd_take(&r, len), &ret[count]))
			count++;
		if (newline != NULL)
			rd_skip(&r, 1);
	}
	return count;
}
