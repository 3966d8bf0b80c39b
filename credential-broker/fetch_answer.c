/*
 * What questions are asked of and what comes of them: URLs, heads and bodies
 * of answers, and what a status or an error of libcurl means.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "credential-broker/fetch_private.h"

/* Of an answer: what issuers send is some KiB. */
#define HEAD_MAX_BYTES 32768
#define RETRY_AFTER_MAX_S 600

static const char *
read_part(CURLU *u, CURLUPart what, char *buf, size_t size)
{
	char *part = NULL;
	const CURLUcode rc = curl_url_get(u, what, &part, CURLU_DEFAULT_PORT);
	const bool fits = rc == CURLUE_OK && strlen(part) < size;

	if (fits)
		memcpy(buf, part, strlen(part) + 1);
	curl_free(part);
	return fits ? NULL : "not a URL";
}

const char *
fetch_read_target(const char *url, struct fetch_target *ret)
{
	CURLU *u = curl_url();
	char scheme[16] = "", port[8] = "";
	const char *fault = "not a URL";

	if (u != NULL &&
	    curl_url_set(u, CURLUPART_URL, url,
		CURLU_DISALLOW_USER | CURLU_PATH_AS_IS) == CURLUE_OK) {
		fault = read_part(u, CURLUPART_SCHEME, scheme, sizeof(scheme));
		if (fault == NULL)
			fault = read_part(u, CURLUPART_HOST, ret->host,
			    sizeof(ret->host));
		if (fault == NULL)
			fault =
			    read_part(u, CURLUPART_PORT, port, sizeof(port));
		if (fault == NULL && strchr(url, '#') != NULL)
			fault = "it has a fragment";
	}
	curl_url_cleanup(u);
	ret->is_https = strcmp(scheme, "https") == 0;
	ret->port = (uint16_t)strtoul(port, NULL, 10);
	if (fault == NULL && !ret->is_https && strcmp(scheme, "http") != 0)
		fault = "it is not https";
	return fault;
}

const char *
fetch_url_fault(const char *url, bool may_be_clear)
{
	struct fetch_target t;
	const char *fault = fetch_read_target(url, &t);

	if (fault == NULL && !t.is_https && !may_be_clear)
		fault = "it is not https";
	return fault;
}

size_t
fetch_on_body(char *ptr, size_t size, size_t count, void *arg)
{
	struct fetch *t = arg;
	const size_t len = size * count;

	if (len > t->answer.len - t->answer_len) {
		t->is_too_large = true;
		return 0;
	}
	memcpy(t->answer.ptr + t->answer_len, ptr, len);
	t->answer_len += len;
	return len;
}

/* RFC 9110 10.2.3: seconds, or a date; a date is taken for a short while. */
static uint32_t
read_retry_after(struct span v)
{
	uint32_t n = 0;

	while (v.len > 0 && v.ptr[0] == ' ') {
		v.ptr++;
		v.len--;
	}
	if (v.len == 0 || !ascii_is_digit(v.ptr[0]))
		return 1;
	for (size_t i = 0; i < v.len && ascii_is_digit(v.ptr[i]); i++) {
		n = n * 10 + (uint32_t)(v.ptr[i] - '0');
		if (n > RETRY_AFTER_MAX_S)
			return RETRY_AFTER_MAX_S;
	}
	return n == 0 ? 1 : n;
}

static bool
is_field(struct span line, const char *name, struct span *ret_value)
{
	const size_t n = strlen(name);

	if (line.len <= n || line.ptr[n] != ':' ||
	    !bytes_eq_case(line.ptr, (const uint8_t *)name, n))
		return false;
	*ret_value = (struct span){ line.ptr + n + 1, line.len - n - 1 };
	while (ret_value->len > 0 && ret_value->ptr[ret_value->len - 1] <= ' ')
		ret_value->len--;
	return true;
}

size_t
fetch_on_header(char *ptr, size_t size, size_t count, void *arg)
{
	struct fetch *t = arg;
	const struct span line = { (const uint8_t *)ptr, size * count };
	struct span value;
	char date[64];

	t->head_len += line.len;
	if (t->head_len > HEAD_MAX_BYTES) {
		t->is_too_large = true;
		return 0;
	}
	if (is_field(line, "retry-after", &value))
		t->result.retry_after_s = read_retry_after(value);
	if (is_field(line, "date", &value) && value.len < sizeof(date)) {
		time_t at;

		memcpy(date, value.ptr, value.len);
		date[value.len] = '\0';
		at = curl_getdate(date, NULL);
		t->result.date_s = at > 0 ? (uint64_t)at : 0;
	}
	return line.len;
}

/* "application/json; charset=utf-8" is application/json. */
bool
fetch_has_wanted_type(const struct fetch *t)
{
	char *type = NULL;
	size_t n;

	if (t->want_type == NULL)
		return true;
	(void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
	if (type == NULL)
		return false;
	n = strcspn(type, "; ");
	return span_eq_case((struct span){ (const uint8_t *)type, n },
	    span_of(t->want_type));
}

enum mint_fault
fetch_fault_of_code(const struct fetch *t, CURLcode code)
{
	if (t->is_late)
		return MINT_TIMEOUT;
	if (t->is_too_large || code == CURLE_FILESIZE_EXCEEDED)
		return MINT_ANSWER;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return MINT_TIMEOUT;
	if (code == CURLE_OUT_OF_MEMORY)
		return MINT_LOCAL;
	if (code == CURLE_WEIRD_SERVER_REPLY ||
	    code == CURLE_UNSUPPORTED_PROTOCOL ||
	    code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_RECV_ERROR ||
	    code == CURLE_PARTIAL_FILE || code == CURLE_GOT_NOTHING)
		return MINT_ANSWER;
	return MINT_UNREACHABLE;
}

enum mint_fault
fetch_fault_of_status(const struct fetch *t, long status)
{
	if (status >= 200 && status < 300)
		return status == 204 || t->answer_len == 0 ||
			fetch_has_wanted_type(t)
		    ? MINT_OK
		    : MINT_ANSWER;
	if (status == 429)
		return MINT_RATE;
	if (status == 408)
		return MINT_TIMEOUT;
	if (status >= 500)
		return MINT_ISSUER;
	return status >= 400 ? MINT_REFUSED : MINT_ANSWER;
}
