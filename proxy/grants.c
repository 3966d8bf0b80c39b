/*
 * What a sandbox is granted, see grants.h. A row is as small as its texts:
 * each idle gate holds them.
 */
#include "proxy/grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message_lease.h"
#include "wire/http.h"
#include "wire/query.h"

/* One credential. */
struct grant {
	struct grant *next;
	uint16_t port;
	unsigned int host_count;
	unsigned int name_count;
	uint8_t cloud; /* enum grant_cloud: it is handed out there */
	/*
	 * hosts, names, a parameter, a placeholder and the two texts of its
	 * metadata, a NUL after each
	 */
	char texts[];
};

struct grants {
	bool are_known;
	struct grant *first; /* in force */
	struct grant *sent;  /* being sent */
	unsigned int sent_count;
};

struct grants *
grants_new(void)
{
	return calloc(1, sizeof(struct grants));
}

static void
rows_free(struct grant *row)
{
	while (row != NULL) {
		struct grant *next = row->next;

		free(row);
		row = next;
	}
}

void
grants_free(struct grants *g)
{
	if (g == NULL)
		return;
	rows_free(g->first);
	rows_free(g->sent);
	free(g);
}

void
grants_forget_next(struct grants *g)
{
	rows_free(g->sent);
	g->sent = NULL;
	g->sent_count = 0;
}

static struct grant *
pack(const struct message_grant *m)
{
	size_t size = strlen(m->parameter) + strlen(m->placeholder) +
	    strlen(m->metadata.identity) + strlen(m->metadata.place) + 4;
	struct grant *row;
	struct wr w;

	for (unsigned int i = 0; i < m->host_count; i++)
		size += strlen(m->hosts[i]) + 1;
	for (unsigned int i = 0; i < m->name_count; i++)
		size += strlen(m->names[i]) + 1;
	row = malloc(sizeof(*row) + size);
	if (row == NULL)
		return NULL;
	row->next = NULL;
	row->port = m->port;
	row->host_count = m->host_count;
	row->name_count = m->name_count;
	row->cloud = m->metadata.cloud;
	w = wr_init(row->texts, size);
	for (unsigned int i = 0; i < m->host_count; i++)
		wr_bytes(&w, m->hosts[i], strlen(m->hosts[i]) + 1);
	for (unsigned int i = 0; i < m->name_count; i++)
		wr_bytes(&w, m->names[i], strlen(m->names[i]) + 1);
	wr_bytes(&w, m->parameter, strlen(m->parameter) + 1);
	wr_bytes(&w, m->placeholder, strlen(m->placeholder) + 1);
	wr_bytes(&w, m->metadata.identity, strlen(m->metadata.identity) + 1);
	wr_bytes(&w, m->metadata.place, strlen(m->metadata.place) + 1);
	return row;
}

int
grants_on_grant(struct grants *g, struct rd *body)
{
	struct message_grant m;
	struct grant *row;

	if (message_grant_decode(body, &m) != 0 || g->sent_count == GRANTS_MAX)
		return -EBADMSG;
	row = pack(&m);
	if (row == NULL)
		return -ENOMEM;
	row->next = g->sent;
	g->sent = row;
	g->sent_count++;
	return 0;
}

int
grants_on_whole(struct grants *g, struct rd *body)
{
	struct message_grants_whole m;

	if (message_grants_whole_decode(body, &m) != 0 ||
	    m.count != g->sent_count)
		return -EBADMSG;
	rows_free(g->first);
	g->first = g->sent;
	g->sent = NULL;
	g->sent_count = 0;
	g->are_known = true;
	return 0;
}

bool
grants_are_known(const struct grants *g)
{
	return g->are_known;
}

/* NULL, or where the names begin: the host is one of the row's. */
static const char *
find_host(const struct grant *row, const char *host)
{
	const char *at = row->texts;
	bool is_there = false;

	for (unsigned int i = 0; i < row->host_count; i++) {
		is_there = is_there || strcmp(at, host) == 0;
		at += strlen(at) + 1;
	}
	return is_there ? at : NULL;
}

bool
grants_have(const struct grants *g, const char *host, uint16_t port)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next)
		if (row->port == port && find_host(row, host) != NULL)
			return true;
	return false;
}

static const char *
parameter_of(const struct grant *row)
{
	const char *at = row->texts;

	for (unsigned int i = 0; i < row->host_count + row->name_count; i++)
		at += strlen(at) + 1;
	return at;
}

static const char *
placeholder_of(const struct grant *row)
{
	const char *parameter = parameter_of(row);

	return parameter + strlen(parameter) + 1;
}

bool
grants_metadata(const struct grants *g, uint8_t cloud,
    struct grants_metadata *ret)
{
	const struct grant *found = NULL;

	/* The last that was told is the first of the list. */
	for (const struct grant *row = g->first; row != NULL; row = row->next)
		if (row->cloud == cloud)
			found = row;
	if (found == NULL || cloud == GRANT_CLOUD_NONE)
		return false;
	ret->placeholder = placeholder_of(found);
	ret->identity = ret->placeholder + strlen(ret->placeholder) + 1;
	ret->place = ret->identity + strlen(ret->identity) + 1;
	return true;
}

bool
grants_have_metadata(const struct grants *g)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next)
		if (row->cloud != GRANT_CLOUD_NONE)
			return true;
	return false;
}

static bool
is_for(const struct grants *g, const char *host, uint16_t port,
    const char *placeholder)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next)
		if (row->port == port && find_host(row, host) != NULL &&
		    strcmp(placeholder_of(row), placeholder) == 0)
			return true;
	return false;
}

bool
grants_misplaced(const struct grants *g, const char *host, uint16_t port,
    struct span text)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next) {
		const char *placeholder = placeholder_of(row);
		size_t len = strlen(placeholder);

		if (len > 0 && len <= text.len &&
		    memmem(text.ptr, text.len, placeholder, len) != NULL &&
		    !is_for(g, host, port, placeholder))
			return true;
	}
	return false;
}

static bool
names(const struct grant *row, const char *at, struct span name)
{
	for (unsigned int i = 0; i < row->name_count; i++) {
		if (http_name_aliases(name, span_of(at)))
			return true;
		at += strlen(at) + 1;
	}
	return false;
}

bool
grants_strip(const struct grants *g, const char *host, uint16_t port,
    struct span name)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next) {
		const char *at =
		    row->port == port ? find_host(row, host) : NULL;

		if (at != NULL && names(row, at, name))
			return true;
	}
	return false;
}

bool
grants_strip_parameter(const struct grants *g, const char *host, uint16_t port,
    struct span name)
{
	for (const struct grant *row = g->first; row != NULL; row = row->next)
		if (row->port == port && find_host(row, host) != NULL &&
		    *parameter_of(row) != '\0' &&
		    query_is_named(name, parameter_of(row)))
			return true;
	return false;
}
