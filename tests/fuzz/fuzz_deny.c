/*
 * What a guest is shown, made of bytes that it sent itself. Whatever those
 * are: a status line and fields stay one line each; the body is one line of
 * bounded length that ends with the code, or whole JSON that says the same
 * line in every field; no form of it is a success; and of the ceiling nothing
 * shows but that it was it.
 */
#include "fuzz_wire.h"

#include <string.h>

#include <jansson.h>

#include "proxy/deny.h"

/* The strings of a denial, as the input has them. */
struct texts {
	char host[300], say[128], detail[128], credential[64], file[128];
};

static void
take_text(struct rd *r, char *buf, size_t size)
{
	size_t len = rd_u8(r);
	struct span s;

	if (len > rd_left(r))
		len = rd_left(r);
	if (len > size - 1)
		len = size - 1;
	memset(buf, 0, size);
	s = rd_take(r, len);
	if (s.len > 0)
		memcpy(buf, s.ptr, s.len);
}

static void
is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		HOLDS(*text >= 0x20 && *text <= 0x7e);
}

static void
is_the_line(const char *line, const char *code)
{
	size_t len = strlen(line);

	is_printable(line);
	HOLDS(len > 0 && len <= DENY_TEXT_MAX && line[len - 1] == ')');
	HOLDS(strstr(line, code) != NULL);
}

static void
is_json(const struct deny_answer *a)
{
	json_t *j =
	    json_loadb(a->body, a->body_len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *first = json_array_get(json_object_get(j, "errors"), 0);
	const char *line = json_string_value(json_object_get(j, "error"));

	HOLDS(j != NULL && line != NULL);
	is_the_line(line, a->code);
	HOLDS(json_equal(json_object_get(j, "message"),
	    json_object_get(j, "error")));
	HOLDS(json_equal(json_object_get(j, "warning"),
	    json_object_get(j, "error")));
	HOLDS(json_equal(json_object_get(first, "message"),
	    json_object_get(j, "error")));
	HOLDS(json_equal(json_object_get(first, "detail"),
	    json_object_get(j, "error")));
	json_decref(j);
}

/* A field's value: printable, and at most one string, which ends it. */
static void
is_type(const struct deny_answer *a)
{
	const char *quote = strchr(a->content_type, '"');
	size_t len = strlen(a->content_type);

	is_printable(a->content_type);
	HOLDS(quote == NULL ||
	    strchr(quote + 1, '"') == a->content_type + len - 1);
	HOLDS(strchr(a->content_type, '\\') == NULL);
}

static void
is_sound(const struct deny *d, struct deny_answer *a)
{
	HOLDS((a->status >= 400 && a->status <= 599) ||
	    (a->status == 300 && d->form == DENY_FORM_TYPE));
	HOLDS(a->phrase[0] != '\0');
	is_printable(a->phrase);
	is_printable(a->code);
	is_printable(a->proxy_status);
	HOLDS(
	    a->body_len == strlen(a->body) && a->body[a->body_len - 1] == '\n');
	is_type(a);
	if (a->content_type == a->type)
		HOLDS(a->status == 300);
	if (d->form == DENY_FORM_JSON || d->form == DENY_FORM_PING) {
		is_json(a);
	} else {
		a->body[a->body_len - 1] = '\0';
		is_the_line(a->body, a->code);
	}
}

static void
hides_the_ceiling(struct deny d, const struct deny_answer *a)
{
	static struct deny_answer b;

	d.file = "another";
	d.line = d.line == 1 ? 2 : 1;
	deny_answer(&d, &b);
	HOLDS(strcmp(a->phrase, b.phrase) == 0);
	HOLDS(strcmp(a->body, b.body) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct deny_answer answer;
	static struct texts t;
	struct rd r = rd_init(data, size);
	struct deny d = deny_init((enum reason)(rd_u8(&r) % REASON_COUNT));
	uint8_t how = rd_u8(&r);

	d.by_ceiling = (how & 1) != 0;
	d.form = (how & 2) != 0 ? DENY_FORM_JSON
	    : (how & 8) != 0    ? DENY_FORM_TYPE
	    : (how & 16) != 0   ? DENY_FORM_PING
				: DENY_FORM_TEXT;
	d.scheme = (how & 4) != 0 ? SCHEME_HTTP : SCHEME_HTTPS;
	d.port = rd_u16(&r);
	d.line = rd_u32(&r);
	take_text(&r, t.host, sizeof(t.host));
	take_text(&r, t.say, sizeof(t.say));
	take_text(&r, t.detail, sizeof(t.detail));
	take_text(&r, t.credential, sizeof(t.credential));
	take_text(&r, t.file, sizeof(t.file));
	d.host = t.host;
	d.say = t.say;
	d.detail = t.detail;
	d.credential = t.credential;
	d.file = t.file;
	d.method = rd_str16(&r, size);
	d.path = rd_take(&r, rd_left(&r));
	/* Nothing was refused, so there is no answer to make. */
	if (!rd_ok(&r) || d.reason == REASON_NONE ||
	    d.reason >= REASON_PACKET_FIRST)
		return 0;
	deny_answer(&d, &answer);
	if (d.by_ceiling)
		hides_the_ceiling(d, &answer);
	is_sound(&d, &answer);
	return 0;
}
