/*
 * Reads HTTP/1.1 messages as plainly as can be: nothing is shared with the
 * parsers under test.
 */
#include "h1.h"

#include <stdlib.h>
#include <string.h>

static bool
is_bodyless(const struct h1 *h)
{
	const struct turn *t = h->t;

	return t->status == 204 || t->status == 304 || h->is_head_method;
}

static void
choose_body(struct h1 *h)
{
	struct turn *t = h->t;
	const char *coding = turn_field(t, "transfer-encoding");
	bool is_chunked = coding != NULL && strcmp(coding, "chunked") == 0;
	const char *length = turn_field(t, "content-length");

	h->left = length == NULL ? 0 : strtoull(length, NULL, 10);
	if (!h->l->is_origin && is_bodyless(h))
		h->state = H1_READ_DONE;
	else if (is_chunked)
		h->state = H1_READ_SIZE;
	else if (length != NULL)
		h->state = h->left > 0 ? H1_READ_LENGTH : H1_READ_DONE;
	else
		h->state = h->l->is_origin ? H1_READ_DONE : H1_READ_CLOSE;
	t->in.is_whole = h->state == H1_READ_DONE;
	pace_start(&t->in.pace);
}

static bool
take_request(struct h1 *h, char *line)
{
	char *method = strsep(&line, " "), *path = strsep(&line, " ");
	struct turn *t = h->t, *fresh;
	struct shape s;

	shape_init(&s);
	if (line == NULL || strlen(method) >= sizeof(s.method) ||
	    strlen(path) >= sizeof(s.path) || !shape_query(&s, path))
		return false;
	memcpy(s.method, method, strlen(method) + 1);
	memcpy(s.path, path, strlen(path) + 1);
	h->is_head_method = strcmp(method, "HEAD") == 0;
	fresh = turn_new(&s, true);
	memcpy(fresh->head, t->head, sizeof(t->head));
	fresh->head_len = t->head_len;
	turn_free(t);
	h->t = fresh;
	return true;
}

/* True: it is one of ours, or an interim one. */
static bool
take_start_line(struct h1 *h, char *line, bool *ret_is_interim)
{
	struct turn *t = h->t;

	*ret_is_interim = false;
	if (h->l->is_origin)
		return take_request(h, line);
	if (strncmp(line, "HTTP/1.1 ", 9) != 0)
		return false;
	t->status = (unsigned int)strtoul(line + 9, NULL, 10);
	*ret_is_interim = t->status < 200;
	if (*ret_is_interim && t->interim_count < PEER_INTERIMS_MAX)
		t->interims[t->interim_count++] = t->status;
	return t->status >= 100;
}

static void
take_field(struct turn *t, bool is_trailer, const char *line)
{
	const char *colon = strchr(line, ':'), *value;

	if (colon == NULL)
		return;
	for (value = colon + 1; *value == ' '; value++)
		continue;
	turn_add_field(t, is_trailer, line, (size_t)(colon - line), value,
	    strlen(value));
}

/* The head is whole, in h->text. */
static bool
take_head(struct h1 *h)
{
	char *rest = h->text, *start = strsep(&rest, "\n"), *line;
	bool is_interim;

	start[strcspn(start, "\r")] = '\0';
	h->t->head_len = 0;
	turn_add_field(h->t, false, "start", 5, start, strlen(start));
	while ((line = strsep(&rest, "\n")) != NULL) {
		line[strcspn(line, "\r")] = '\0';
		take_field(h->t, false, line);
	}
	h->t->head[h->t->head_len] = '\0';
	h->head_len = 0;
	if (!take_start_line(h, start, &is_interim))
		return false;
	if (is_interim)
		return true;
	h->t->has_head = true;
	choose_body(h);
	return true;
}

/* Takes bytes up to end, which is behind them then. */
static size_t
gather(struct h1 *h, const uint8_t *ptr, size_t len, const char *end,
    bool *ret_is_whole)
{
	size_t end_len = strlen(end), i = 0;

	*ret_is_whole = false;
	while (i < len && h->head_len < sizeof(h->text) - 1) {
		h->text[h->head_len++] = (char)ptr[i++];
		if (h->head_len < end_len ||
		    memcmp(h->text + h->head_len - end_len, end, end_len) != 0)
			continue;
		h->text[h->head_len] = '\0';
		*ret_is_whole = true;
		break;
	}
	return i;
}

static size_t
take_body(struct h1 *h, const uint8_t *ptr, size_t len, enum h1_read then)
{
	if (h->state != H1_READ_CLOSE && len > h->left)
		len = (size_t)h->left;
	turn_got(h->t, ptr, len);
	pace_spend(&h->t->in.pace, len);
	if (h->state == H1_READ_CLOSE)
		return len;
	h->left -= len;
	if (h->left == 0)
		h->state = then;
	h->t->in.is_whole = h->state == H1_READ_DONE;
	return len;
}

static void
take_line(struct h1 *h)
{
	h->text[h->head_len - 2] = '\0';
	h->head_len = 0;
	if (h->state == H1_READ_SIZE) {
		h->left = strtoull(h->text, NULL, 16);
		h->state = h->left > 0 ? H1_READ_CHUNK : H1_READ_TRAILERS;
	} else if (h->state == H1_READ_CHUNK_END) {
		h->state = H1_READ_SIZE;
	} else if (h->text[0] != '\0') {
		take_field(h->t, true, h->text);
	} else {
		h->state = H1_READ_DONE;
		h->t->in.is_whole = true;
	}
}

/* One step; how many bytes it took. */
static size_t
step(struct h1 *h, const uint8_t *ptr, size_t len, bool *ret_is_good)
{
	bool is_whole = false;
	size_t taken;

	switch (h->state) {
	case H1_READ_HEAD:
		taken = gather(h, ptr, len, "\r\n\r\n", &is_whole);
		*ret_is_good =
		    is_whole ? take_head(h) : h->head_len < sizeof(h->text) - 1;
		return taken;
	case H1_READ_LENGTH:
		return take_body(h, ptr, len, H1_READ_DONE);
	case H1_READ_CHUNK:
		return take_body(h, ptr, len, H1_READ_CHUNK_END);
	case H1_READ_CLOSE:
		return take_body(h, ptr, len, H1_READ_CLOSE);
	case H1_READ_SIZE:
	case H1_READ_CHUNK_END:
	case H1_READ_TRAILERS:
		taken = gather(h, ptr, len, "\r\n", &is_whole);
		if (is_whole)
			take_line(h);
		return taken;
	case H1_READ_DONE:
		break;
	}
	/* Nobody asked for it. */
	*ret_is_good = false;
	return len;
}

bool
h1_input(void *state, const uint8_t *ptr, size_t len)
{
	struct h1 *h = state;
	bool is_good = true;

	while (len > 0 && is_good) {
		size_t taken = step(h, ptr, len, &is_good);

		ptr += taken;
		len -= taken;
	}
	if (!is_good)
		h1_finish(h, TURN_RESET);
	return is_good;
}
