/*
 * See git_push.h.
 */
#include "wire/git_push.h"

#include "base/ascii.h"
#include "wire/pktline.h"
#include "wire/token.h"

#define SHA1_LEN 40
#define SHA256_LEN 64

/* --- one command --- */

static bool
is_oid(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is_digit(s.ptr[i]) &&
		    (s.ptr[i] < 'a' || s.ptr[i] > 'f'))
			return false;
	}
	return s.len == SHA1_LEN || s.len == SHA256_LEN;
}

/* Of no object: it is not there yet, or is to go. */
static bool
is_zero(struct span oid)
{
	for (size_t i = 0; i < oid.len; i++) {
		if (oid.ptr[i] != '0')
			return false;
	}
	return true;
}

/* Writers end a line with LF, or do not; readers take one off. */
static struct span
chomp(struct span line)
{
	if (line.len > 0 && line.ptr[line.len - 1] == '\n')
		line.len--;
	return line;
}

static bool
read_command(struct span line, struct git_push_command *ret)
{
	struct git_push_command c;
	bool is_new, is_gone;

	c.old_oid = token_cut(&line, ' ');
	c.new_oid = token_cut(&line, ' ');
	c.ref = line;
	if (!is_oid(c.old_oid) || !is_oid(c.new_oid) || c.ref.len == 0 ||
	    c.old_oid.len != c.new_oid.len ||
	    memchr(c.ref.ptr, '\0', c.ref.len) != NULL)
		return false;
	is_new = is_zero(c.old_oid);
	is_gone = is_zero(c.new_oid);
	c.deed = is_new ? GIT_PUSH_CREATE
	    : is_gone   ? GIT_PUSH_DELETE
			: GIT_PUSH_UPDATE;
	*ret = c;
	return !(is_new && is_gone);
}

/* --- capabilities --- */

static bool
begins(struct span s, const char *start)
{
	struct span b = span_of(start);

	return s.len > b.len && memcmp(s.ptr, b.ptr, b.len) == 0;
}

/* False: it is not known, or is not what the commands say. */
static bool
take_capability(struct git_push *p, struct span word)
{
	/* Those that say nothing of how to read what follows. */
	static const char *const words[] = { "quiet", "atomic", "ofs-delta",
		"delete-refs", "thin-pack", "no-thin" };

	if (span_is(word, "report-status") || span_is(word, "report-status-v2"))
		return p->wants_report = true;
	if (span_is(word, "side-band-64k"))
		return p->takes_sideband = true;
	if (span_is(word, "push-options"))
		return p->has_options = true;
	if (span_is(word, "object-format=sha1"))
		return p->oid_len == SHA1_LEN;
	if (span_is(word, "object-format=sha256"))
		return p->oid_len == SHA256_LEN;
	if (begins(word, "agent=") || begins(word, "session-id="))
		return token_is_visible(word);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (span_is(word, words[i]))
			return true;
	}
	return false;
}

static bool
take_capabilities(struct git_push *p, struct span list)
{
	bool is_known = true;

	while (list.len > 0) {
		struct span word = token_cut(&list, ' ');

		/* All of them, so that a refusal is told as it is asked. */
		if (word.len > 0)
			is_known = take_capability(p, word) && is_known;
	}
	return is_known;
}

/* --- lines --- */

static enum git_push_status
take_certificate(struct git_push *p, struct span line)
{
	(void)token_cut(&line, '\0');
	(void)take_capabilities(p, line);
	return GIT_PUSH_CERTIFICATE;
}

static enum git_push_status
take_shallow(struct git_push *p, struct span line)
{
	(void)token_cut(&line, ' ');
	p->is_shallow = true;
	return is_oid(line) ? GIT_PUSH_MORE : GIT_PUSH_SHALLOW;
}

static enum git_push_status
take_command(struct git_push *p, struct span line, bool is_first)
{
	struct git_push_command c;
	struct span text = line;

	if (is_first)
		text = token_cut(&line, '\0');
	if (!read_command(text, &c))
		return GIT_PUSH_COMMAND;
	if (is_first)
		p->oid_len = c.new_oid.len;
	if (c.new_oid.len != p->oid_len)
		return GIT_PUSH_COMMAND;
	p->commands++;
	p->has_pack = p->has_pack || c.deed != GIT_PUSH_DELETE;
	if (is_first && line.ptr != NULL && !take_capabilities(p, line))
		return GIT_PUSH_CAPABILITY;
	/* Without saying so, SHA-1. */
	return GIT_PUSH_MORE;
}

static enum git_push_status
take_first(struct git_push *p, struct span line, size_t at)
{
	if (begins(line, "push-cert"))
		return take_certificate(p, line);
	if (begins(line, "shallow "))
		return take_shallow(p, line);
	p->commands_at = at;
	p->phase = GIT_PUSH_COMMANDS;
	return take_command(p, line, true);
}

static enum git_push_status
take_line(struct git_push *p, struct span line, size_t at)
{
	line = chomp(line);
	switch (p->phase) {
	case GIT_PUSH_FIRST:
		return take_first(p, line, at);
	case GIT_PUSH_COMMANDS:
		return take_command(p, line, false);
	case GIT_PUSH_OPTIONS:
		p->options++;
		return GIT_PUSH_MORE;
	case GIT_PUSH_BODY:
		break;
	}
	return GIT_PUSH_TRAILING;
}

static enum git_push_status
take_flush(struct git_push *p)
{
	switch (p->phase) {
	case GIT_PUSH_FIRST:
		/* git asks so, whether it will be let in: a flush, no more. */
		p->phase = GIT_PUSH_BODY;
		return p->is_shallow ? GIT_PUSH_SHALLOW : GIT_PUSH_MORE;
	case GIT_PUSH_COMMANDS:
		p->phase = p->has_options ? GIT_PUSH_OPTIONS : GIT_PUSH_BODY;
		return GIT_PUSH_MORE;
	case GIT_PUSH_OPTIONS:
		p->phase = GIT_PUSH_BODY;
		return GIT_PUSH_MORE;
	case GIT_PUSH_BODY:
		break;
	}
	return GIT_PUSH_TRAILING;
}

static enum git_push_status
take_next(struct git_push *p, struct span *left)
{
	size_t before = left->len, at = p->at;
	enum git_push_status s = GIT_PUSH_PKTLINE;
	struct span line;
	enum pktline_status read = pktline_read(left, &line);

	p->at += before - left->len;
	switch (read) {
	case PKTLINE_DATA:
		return take_line(p, line, at);
	case PKTLINE_FLUSH:
		s = take_flush(p);
		p->body_at = p->at;
		return s;
	case PKTLINE_MORE:
		return GIT_PUSH_MORE;
	case PKTLINE_DELIM:
	case PKTLINE_END:
	case PKTLINE_BAD:
	case PKTLINE_STATUS_COUNT:
		break;
	}
	return s;
}

/* A pack says what it is, its version and how many objects it holds. */
static enum git_push_status
look_at_body(const struct git_push *p, struct span body)
{
	static const uint8_t start[] = { 'P', 'A', 'C', 'K', 0, 0, 0 };
	size_t len = body.len < sizeof(start) ? body.len : sizeof(start);

	if (!p->has_pack)
		return body.len > 0 ? GIT_PUSH_TRAILING : GIT_PUSH_MORE;
	if (memcmp(body.ptr, start, len) != 0 ||
	    (body.len > len && body.ptr[len] != 2 && body.ptr[len] != 3))
		return GIT_PUSH_PACK;
	return body.len < 12 ? GIT_PUSH_MORE : GIT_PUSH_READ;
}

static struct span
after(struct span all, size_t at)
{
	return (struct span){ all.ptr + at, all.len - at };
}

enum git_push_status
git_push_read(struct git_push *p, struct span all)
{
	struct span left = after(all, p->at);
	enum git_push_status s = p->fault;
	size_t before;

	if (s != GIT_PUSH_MORE || all.len == 0)
		return s;
	do {
		before = p->at;
		if (p->phase != GIT_PUSH_BODY)
			s = take_next(p, &left);
	} while (s == GIT_PUSH_MORE && p->at != before);
	if (s == GIT_PUSH_MORE && p->phase == GIT_PUSH_BODY)
		s = look_at_body(p, after(all, p->body_at));
	if (s != GIT_PUSH_READ)
		p->fault = s;
	return s;
}

enum git_push_status
git_push_end(struct git_push *p, struct span all)
{
	enum git_push_status s = git_push_read(p, all);

	if (s == GIT_PUSH_MORE && p->phase == GIT_PUSH_BODY && !p->has_pack)
		return GIT_PUSH_READ;
	return s == GIT_PUSH_MORE ? GIT_PUSH_SHORT : s;
}

bool
git_push_next(const struct git_push *p, struct span all, size_t *at,
    struct git_push_command *ret)
{
	size_t from = *at == 0 ? p->commands_at : *at;
	struct span left, line;

	if (p->commands == 0 || from >= p->at)
		return false;
	left = (struct span){ all.ptr + from, p->at - from };
	if (pktline_read(&left, &line) != PKTLINE_DATA)
		return false;
	*at = p->at - left.len;
	line = chomp(line);
	if (from == p->commands_at)
		line = token_cut(&line, '\0');
	return read_command(line, ret);
}

const char *
git_push_status_text(enum git_push_status s)
{
	static const char *const texts[] = {
		[GIT_PUSH_MORE] = "the push is not whole",
		[GIT_PUSH_READ] = "the push is well-formed",
		[GIT_PUSH_PKTLINE] = "the push is no row of pkt-lines",
		[GIT_PUSH_COMMAND] = "a command of the push is malformed",
		[GIT_PUSH_CAPABILITY] =
		    "the push uses a capability that is not known here",
		[GIT_PUSH_CERTIFICATE] =
		    "signed pushes are not read: push without --signed",
		[GIT_PUSH_SHALLOW] = "a shallow line of the push is malformed",
		[GIT_PUSH_PACK] = "no pack follows the push's commands",
		[GIT_PUSH_TRAILING] = "something follows the push",
		[GIT_PUSH_SHORT] = "the push ended early",
	};

	return (unsigned int)s < GIT_PUSH_STATUS_COUNT ? texts[s] : "";
}
