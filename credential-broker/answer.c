/*
 * Answers of issuers, see answer.h.
 */
#include "credential-broker/answer.h"

#include <string.h>
#include <time.h>

#include "base/ascii.h"

json_t *
answer_parse(struct span body)
{
	json_t *j = body.len == 0 ? NULL
				  : json_loadb((const char *)body.ptr, body.len,
					JSON_REJECT_DUPLICATES, NULL);

	if (j != NULL && !json_is_object(j)) {
		json_decref(j);
		return NULL;
	}
	return j;
}

const char *
answer_text(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);
	const char *text = json_string_value(v);

	/* jansson refuses \u0000, so the length is that of the text. */
	return text == NULL || *text == '\0' ? NULL : text;
}

static bool
read_digits(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (!ascii_is_digit((uint8_t)*text))
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*ret = n;
	return true;
}

bool
answer_seconds(const json_t *object, const char *name, uint64_t *ret)
{
	const json_t *v = json_object_get(object, name);
	double d;

	if (json_is_string(v))
		return read_digits(json_string_value(v), ret);
	if (!json_is_number(v))
		return false;
	d = json_number_value(v);
	if (!(d >= 0 && d <= (double)UINT32_MAX))
		return false;
	*ret = (uint64_t)d;
	return true;
}

/* Two or four digits; false if they are none. */
static bool
take_number(const char **at, int digits, int *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, (*at)++) {
		if (!ascii_is_digit((uint8_t) * *at))
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static bool
take_byte(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* "Z", "+02:00", "-0530"; then the end. */
static bool
take_zone(const char **at, int64_t *ret_s)
{
	const char sign = **at;
	int h, m;

	*ret_s = 0;
	if (sign == 'Z' || sign == 'z')
		return (*at)[1] == '\0';
	if (sign != '+' && sign != '-')
		return false;
	(*at)++;
	if (!take_number(at, 2, &h))
		return false;
	(void)take_byte(at, ':');
	if (!take_number(at, 2, &m) || h > 23 || m > 59 || **at != '\0')
		return false;
	*ret_s = (int64_t)(h * 3600 + m * 60) * (sign == '+' ? 1 : -1);
	return true;
}

bool
answer_parse_time(const char *text, uint64_t *ret)
{
	struct tm tm = { .tm_isdst = 0 };
	int64_t zone_s, at_s;

	if (!take_number(&text, 4, &tm.tm_year) || !take_byte(&text, '-') ||
	    !take_number(&text, 2, &tm.tm_mon) || !take_byte(&text, '-') ||
	    !take_number(&text, 2, &tm.tm_mday) ||
	    (*text != 'T' && *text != 't' && *text != ' '))
		return false;
	text++;
	if (!take_number(&text, 2, &tm.tm_hour) || !take_byte(&text, ':') ||
	    !take_number(&text, 2, &tm.tm_min) || !take_byte(&text, ':') ||
	    !take_number(&text, 2, &tm.tm_sec))
		return false;
	if (take_byte(&text, '.'))
		while (ascii_is_digit((uint8_t)*text))
			text++;
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
	    tm.tm_sec > 60 || !take_zone(&text, &zone_s))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	at_s = (int64_t)timegm(&tm) - zone_s;
	if (at_s < 0)
		return false;
	*ret = (uint64_t)at_s;
	return true;
}

bool
answer_time(const json_t *object, const char *name, uint64_t *ret)
{
	const char *text = answer_text(object, name);

	return text != NULL && answer_parse_time(text, ret);
}
