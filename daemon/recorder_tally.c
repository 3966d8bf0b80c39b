/* Tables of a fixed size, see recorder_tally.h. */
#include "daemon/recorder_tally.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "conf/verdict.h"

struct recorder_tally {
	LIST_ENTRY(recorder_tally) entry;
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	unsigned int refs;
	uint16_t refusal_count;
	struct message_refusal refusals[RECENT_REFUSALS_MAX];
	uint16_t host_count;
	struct message_recent_host hosts[RECENT_HOSTS_MAX];
};

struct recorder_tallies {
	LIST_HEAD(, recorder_tally) list;
};

struct recorder_tallies *
recorder_tallies_new(void)
{
	struct recorder_tallies *all = calloc(1, sizeof(*all));

	if (all != NULL)
		LIST_INIT(&all->list);
	return all;
}

void
recorder_tallies_free(struct recorder_tallies *all)
{
	free(all);
}

struct recorder_tally *
recorder_tally_ref(struct recorder_tallies *all,
    const struct message_recorder_sandbox *about)
{
	struct recorder_tally *t;

	LIST_FOREACH(t, &all->list, entry)
	if (t->generation == about->generation &&
	    strcmp(t->sandbox, about->sandbox) == 0) {
		t->refs++;
		return t;
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	memcpy(t->sandbox, about->sandbox, sizeof(t->sandbox));
	t->generation = about->generation;
	t->refs = 1;
	LIST_INSERT_HEAD(&all->list, t, entry);
	return t;
}

void
recorder_tally_unref(struct recorder_tally *t)
{
	if (t == NULL || --t->refs > 0)
		return;
	LIST_REMOVE(t, entry);
	free(t);
}

/* The name, else the address, of what was asked for. */
static void
host_text(char buf[HOST_NAME_SIZE], const struct audit_record *record)
{
	recent_text(buf, HOST_NAME_SIZE,
	    record->host.len != 0 ? record->host : span_of(record->address));
}

static void
describe(const struct recorder_tally *t, uint64_t wall_ms,
    const struct audit_record *record, struct message_refusal *ret)
{
	*ret = (struct message_refusal){
		.wall_ms = wall_ms,
		.count = 1,
		.event = (uint8_t)record->event,
		.reason = record->reason,
		.by_ceiling = record->by_ceiling,
		.port = record->port,
	};
	memcpy(ret->sandbox, t->sandbox, sizeof(ret->sandbox));
	recent_text(ret->rule, sizeof(ret->rule), span_of(record->rule));
	host_text(ret->host, record);
	recent_text(ret->method, sizeof(ret->method), record->method);
	recent_text(ret->path, sizeof(ret->path),
	    record->path.len != 0 ? record->path : record->detail);
}

/*
 * A guest asks for the same again and again, and its kernel tries IPv6 for as
 * long as it runs: of packets the reason is enough.
 */
static bool
is_same(const struct message_refusal *a, const struct message_refusal *b)
{
	if (a->event != b->event || a->reason != b->reason)
		return false;
	return a->event == AUDIT_PACKET ||
	    (a->by_ceiling == b->by_ceiling && a->port == b->port &&
		strcmp(a->rule, b->rule) == 0 &&
		strcmp(a->host, b->host) == 0 &&
		strcmp(a->method, b->method) == 0 &&
		strcmp(a->path, b->path) == 0);
}

/* In the place of the same, else of the one that was longest ago. */
static void
add_refusal(struct recorder_tally *t, uint64_t wall_ms,
    const struct audit_record *record)
{
	struct message_refusal *oldest = &t->refusals[0];
	struct message_refusal r;

	describe(t, wall_ms, record, &r);
	for (size_t i = 0; i < t->refusal_count; i++) {
		struct message_refusal *one = &t->refusals[i];

		if (is_same(one, &r)) {
			r.count = recent_add(one->count, 1);
			*one = r;
			return;
		}
		if (one->wall_ms < oldest->wall_ms)
			oldest = one;
	}
	if (t->refusal_count < RECENT_REFUSALS_MAX)
		oldest = &t->refusals[t->refusal_count++];
	*oldest = r;
}

/* Its row, or the one that was not used for longest. */
static struct message_recent_host *
host_row(struct recorder_tally *t, const char host[HOST_NAME_SIZE])
{
	struct message_recent_host *oldest = &t->hosts[0];

	for (size_t i = 0; i < t->host_count; i++) {
		if (strcmp(t->hosts[i].host, host) == 0)
			return &t->hosts[i];
		if (t->hosts[i].wall_ms < oldest->wall_ms)
			oldest = &t->hosts[i];
	}
	if (t->host_count < RECENT_HOSTS_MAX)
		oldest = &t->hosts[t->host_count++];
	*oldest = (struct message_recent_host){ 0 };
	memcpy(oldest->host, host, HOST_NAME_SIZE);
	return oldest;
}

/* That a name was looked up is no use of its host. */
static bool
is_use(const struct audit_record *record)
{
	return record->event == AUDIT_REQUEST || record->event == AUDIT_CONNECT;
}

void
recorder_tally_count(struct recorder_tally *t, uint64_t wall_ms,
    const struct audit_record *record)
{
	const bool is_denied =
	    record->verdict == ACTION_DENY && record->reason != REASON_NONE;
	char host[HOST_NAME_SIZE] = "";
	struct message_recent_host *row;

	if (is_denied)
		add_refusal(t, wall_ms, record);
	if (is_use(record))
		host_text(host, record);
	if (host[0] == '\0')
		return;
	row = host_row(t, host);
	row->wall_ms = wall_ms;
	if (is_denied)
		row->denied++;
	else
		row->allowed++;
	row->up = recent_add(row->up, record->up);
	row->down = recent_add(row->down, record->down);
}

static bool
is_wanted(const struct message_recent_wanted *wanted, uint64_t generation)
{
	size_t low = 0, high = wanted->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (wanted->generations[middle] == generation)
			return true;
		if (wanted->generations[middle] < generation)
			low = middle + 1;
		else
			high = middle;
	}
	return wanted->all;
}

/* Keeps the newest, in order. */
static void
tell_refusal(const struct message_refusal *r, struct message_recent *ret)
{
	uint16_t at = ret->refusal_count;

	while (at > 0 && ret->refusals[at - 1].wall_ms < r->wall_ms)
		at--;
	if (at == RECENT_REFUSALS_MAX)
		return;
	if (ret->refusal_count < RECENT_REFUSALS_MAX)
		ret->refusal_count++;
	memmove(&ret->refusals[at + 1], &ret->refusals[at],
	    (ret->refusal_count - 1u - at) * sizeof(*r));
	ret->refusals[at] = *r;
}

static int
by_use(const void *a, const void *b)
{
	const struct message_recent_host *x = a, *y = b;

	return (x->wall_ms < y->wall_ms) - (x->wall_ms > y->wall_ms);
}

void
recorder_tallies_tell(const struct recorder_tallies *all,
    const struct message_recent_wanted *wanted, struct message_recent *ret)
{
	const struct recorder_tally *t;

	ret->refusal_count = 0;
	ret->host_count = 0;
	LIST_FOREACH(t, &all->list, entry)
	{
		if (!is_wanted(wanted, t->generation))
			continue;
		for (size_t i = 0; i < t->refusal_count; i++)
			tell_refusal(&t->refusals[i], ret);
		if (wanted->all || wanted->count != 1)
			continue;
		ret->host_count = t->host_count;
		memcpy(ret->hosts, t->hosts, sizeof(ret->hosts));
		qsort(ret->hosts, ret->host_count, sizeof(ret->hosts[0]),
		    by_use);
	}
}
