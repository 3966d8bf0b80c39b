/*
 * Senders. What a record says of its sandbox comes from here, from what the
 * supervisor said when it handed the descriptor over.
 */
#include "daemon/recorder_sender.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/verdict.h"
#include "daemon/recorder_bucket.h"
#include "daemon/recorder_packet.h"
#include "daemon/recorder_tally.h"

struct sender {
	LIST_ENTRY(sender) entry;
	struct recorder_senders *all;
	struct message_recorder_sandbox about;
	struct recorder_tally *tally;
	struct bucket bucket;
	struct bucket gaps;
	struct chan *chan; /* one of these two */
	struct event *nflog;
	int nflog_fd;
	/* Packets by reason, of the one with the NFLOG socket. */
	struct {
		uint64_t counted; /* as the supervisor last said */
		uint64_t seen;    /* came by the socket */
		uint64_t told;    /* in a record of how many did not */
	} packets[REASON_PACKET_COUNT];
};

struct recorder_senders {
	struct event_base *base;
	struct recorder_senders_callbacks cb;
	struct event *overflow_event;
	struct recorder_tallies *tallies;
	LIST_HEAD(, sender) list;
	uint32_t count;
	uint8_t datagram[NFLOG_DATAGRAM_MAX];
};

/* Datagrams of one socket in one turn: the others have theirs too. */
#define NFLOG_TURN_MAX 16

static void
sender_free(struct sender *s)
{
	LIST_REMOVE(s, entry);
	s->all->count--;
	if (s->chan != NULL)
		chan_free(s->chan);
	if (s->nflog != NULL)
		event_free(s->nflog);
	fd_close(&s->nflog_fd);
	recorder_tally_unref(s->tally);
	free(s);
}

static void
sender_record(struct sender *s, const struct audit_record *record)
{
	struct bucket *b =
	    record->event == AUDIT_LIFECYCLE ? &s->gaps : &s->bucket;

	if (!bucket_take(b, clock_mono_ms()))
		return;
	recorder_tally_count(s->tally, clock_wall_ms(), record);
	s->all->cb.on_record(&s->about, record, s->all->cb.arg);
}

static void
sender_report_overflow(struct sender *s)
{
	struct audit_record r = audit_record_init(
	    s->nflog != NULL ? AUDIT_PACKET : AUDIT_LIFECYCLE);
	uint64_t refused =
	    bucket_take_refused(&s->bucket) + bucket_take_refused(&s->gaps);
	char detail[80];

	if (refused == 0)
		return;
	(void)snprintf(detail, sizeof(detail),
	    "overflow: %" PRIu64 " records above the rate", refused);
	r.verdict = ACTION_DENY;
	r.reason = s->nflog != NULL ? REASON_PACKET_OTHER : REASON_LIMIT_RATE;
	r.detail = span_of(detail);
	s->all->cb.on_record(&s->about, &r, s->all->cb.arg);
}

static void
on_overflow(evutil_socket_t fd, short what, void *arg)
{
	struct recorder_senders *all = arg;
	struct sender *s;

	(void)fd;
	(void)what;
	LIST_FOREACH(s, &all->list, entry)
	sender_report_overflow(s);
}

struct recorder_senders *
recorder_senders_new(struct event_base *base,
    const struct recorder_senders_callbacks *cb)
{
	const struct timeval every = {
		.tv_sec = RECORDER_OVERFLOW_MS / 1000,
	};
	struct recorder_senders *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->base = base;
	all->cb = *cb;
	LIST_INIT(&all->list);
	all->tallies = recorder_tallies_new();
	all->overflow_event = event_new(base, -1, EV_PERSIST, on_overflow, all);
	if (all->tallies == NULL || all->overflow_event == NULL ||
	    event_add(all->overflow_event, &every) == -1) {
		recorder_senders_free(all);
		return NULL;
	}
	return all;
}

void
recorder_senders_free(struct recorder_senders *all)
{
	if (all == NULL)
		return;
	while (!LIST_EMPTY(&all->list))
		sender_free(LIST_FIRST(&all->list));
	if (all->overflow_event != NULL)
		event_free(all->overflow_event);
	recorder_tallies_free(all->tallies);
	free(all);
}

static struct sender *
sender_new(struct recorder_senders *all,
    const struct message_recorder_sandbox *about, uint32_t rate, uint32_t burst)
{
	struct sender *s;

	if (all->count >= RECORDER_SENDERS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->tally = recorder_tally_ref(all->tallies, about);
	if (s->tally == NULL) {
		free(s);
		return NULL;
	}
	s->all = all;
	s->about = *about;
	s->nflog_fd = -1;
	bucket_init(&s->bucket, rate, burst, clock_mono_ms());
	bucket_init(&s->gaps, RECORDER_RATE_GAPS, RECORDER_BURST_GAPS,
	    clock_mono_ms());
	LIST_INSERT_HEAD(&all->list, s, entry);
	all->count++;
	return s;
}

static int
on_audit(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct sender *s = arg;
	struct audit_text text;
	struct audit_record record;
	int rc = message_audit_decode(&msg->body, &text, &record);

	(void)c;
	/*
	 * Life cycles and commands are the supervisor's, on its own channel; a
	 * sender may only own up to what it lost.
	 */
	if (rc == 0 &&
	    (record.event == AUDIT_RUN || record.event == AUDIT_ASK ||
		(record.event == AUDIT_LIFECYCLE &&
		    record.reason != REASON_AUDIT_UNAVAILABLE)))
		rc = -EBADMSG;
	if (rc == 0)
		sender_record(s, &record);
	return rc;
}

static const struct chan_rule sender_rules[] = {
	{ MSG_AUDIT, AUDIT_BODY_MAX_BYTES, 0, 0, on_audit },
};

static void
on_sender_closed(struct chan *c, void *arg)
{
	struct sender *s = arg;

	(void)c;
	sender_report_overflow(s);
	sender_free(s);
}

static void
sender_tell(struct sender *s, bool can_write)
{
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->chan == NULL)
		return;
	message_audit_state_encode(&w, can_write);
	/* One that cannot hear it is on its way to on_sender_closed(). */
	(void)chan_send(s->chan, MSG_AUDIT_STATE, 0, &w, NULL, 0);
}

int
recorder_senders_attach(struct recorder_senders *all,
    const struct message_recorder_sandbox *about, int fd, bool can_write)
{
	AUTO_CLOSE int owned = fd;
	struct sender *s = sender_new(all, about, RECORDER_RATE_DECISIONS,
	    RECORDER_BURST_DECISIONS);

	if (s == NULL)
		return -ENOMEM;
	s->chan = chan_new(all->base, steal_fd(&owned), sender_rules, 1,
	    on_sender_closed, s);
	if (s->chan == NULL) {
		sender_free(s);
		return -ENOMEM;
	}
	chan_take_many(s->chan);
	sender_tell(s, can_write);
	return 0;
}

static void
take_packets(struct sender *s, struct rd datagram)
{
	struct recorder_packet described;
	struct nflog_packet packet;

	for (;;) {
		switch (nflog_next(&datagram, &packet)) {
		case NFLOG_OK:
			recorder_packet_describe(&packet, &described);
			if (packet.reason >= REASON_PACKET_FIRST)
				s->packets[packet.reason - REASON_PACKET_FIRST]
				    .seen++;
			sender_record(s, &described.record);
			break;
		case NFLOG_SKIPPED:
			break;
		case NFLOG_END:
		case NFLOG_MALFORMED:
			return;
		}
	}
}

static void
on_nflog(evutil_socket_t fd, short what, void *arg)
{
	struct sender *s = arg;
	uint8_t *buf = s->all->datagram;

	(void)what;
	for (int i = 0; i < NFLOG_TURN_MAX; i++) {
		ssize_t n =
		    recv(fd, buf, sizeof(s->all->datagram), MSG_DONTWAIT);

		/* The kernel dropped some; its counters know them. */
		if (n == -1 && errno == ENOBUFS)
			continue;
		if (n <= 0)
			return;
		take_packets(s, rd_init(buf, (size_t)n));
	}
}

int
recorder_senders_nflog(struct recorder_senders *all,
    const struct message_recorder_sandbox *about, int fd)
{
	AUTO_CLOSE int owned = fd;
	struct sender *s = sender_new(all, about, RECORDER_RATE_PACKETS,
	    RECORDER_BURST_PACKETS);

	if (s == NULL)
		return -ENOMEM;
	s->nflog_fd = steal_fd(&owned);
	s->nflog = event_new(all->base, s->nflog_fd, EV_READ | EV_PERSIST,
	    on_nflog, s);
	if (s->nflog == NULL || event_add(s->nflog, NULL) == -1) {
		sender_free(s);
		return -ENOMEM;
	}
	return 0;
}

static bool
is_of(const struct sender *s, const struct message_recorder_sandbox *about)
{
	return s->about.generation == about->generation &&
	    strcmp(s->about.sandbox, about->sandbox) == 0;
}

void
recorder_senders_policy(struct recorder_senders *all,
    const struct message_recorder_sandbox *about)
{
	struct sender *s;

	LIST_FOREACH(s, &all->list, entry)
	if (is_of(s, about))
		s->about = *about;
}

void
recorder_senders_detach(struct recorder_senders *all,
    const struct message_recorder_sandbox *about)
{
	struct sender *s = LIST_FIRST(&all->list);

	while (s != NULL) {
		struct sender *next = LIST_NEXT(s, entry);

		if (s->nflog != NULL && is_of(s, about)) {
			on_nflog(s->nflog_fd, EV_READ, s);
			sender_report_overflow(s);
			sender_free(s);
		}
		s = next;
	}
}

static struct sender *
nflog_sender(const struct recorder_senders *all,
    const struct message_recorder_sandbox *about)
{
	struct sender *s;

	LIST_FOREACH(s, &all->list, entry)
	if (s->nflog != NULL && is_of(s, about))
		return s;
	return NULL;
}

static void
tell_unseen(struct sender *s, size_t i, uint64_t counted)
{
	struct audit_record r = audit_record_init(AUDIT_PACKET);
	const uint64_t known = s->packets[i].seen + s->packets[i].told;
	char detail[96];

	if (counted <= known)
		return;
	(void)snprintf(detail, sizeof(detail),
	    "overflow: %" PRIu64 " packets without a record, %" PRIu64
	    " in all",
	    counted - known, counted);
	s->packets[i].told += counted - known;
	r.verdict = ACTION_DENY;
	r.reason = (enum reason)(REASON_PACKET_FIRST + i);
	r.detail = span_of(detail);
	s->all->cb.on_record(&s->about, &r, s->all->cb.arg);
}

/* Nothing of what was counted up to here is news. */
static void
begin_counting(struct sender *s, size_t i, uint64_t counted)
{
	s->packets[i].counted = counted;
	s->packets[i].told = counted;
	s->packets[i].seen = 0;
}

void
recorder_senders_counters(struct recorder_senders *all,
    const struct message_recorder_counters *m,
    uint64_t ret_growth[REASON_PACKET_COUNT])
{
	struct sender *s = nflog_sender(all, &m->about);

	memset(ret_growth, 0, REASON_PACKET_COUNT * sizeof(ret_growth[0]));
	if (s == NULL)
		return;
	on_nflog(s->nflog_fd, EV_READ, s);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++) {
		const uint64_t before = s->packets[i].counted;
		const uint64_t now = m->packets[i];

		/* Fewer: another supervisor counts from a later moment. */
		if (m->kind == RECORDER_COUNTERS_BASE || now < before) {
			begin_counting(s, i, now);
			continue;
		}
		ret_growth[i] = now - before;
		s->packets[i].counted = now;
		tell_unseen(s, i,
		    m->kind == RECORDER_COUNTERS_LAST ? now : before);
	}
}

int
recorder_senders_nflog_fd(const struct recorder_senders *all,
    const struct message_recorder_sandbox *about)
{
	const struct sender *s = nflog_sender(all, about);

	return s == NULL ? -1 : s->nflog_fd;
}

void
recorder_senders_state(struct recorder_senders *all, bool can_write)
{
	struct sender *s;

	LIST_FOREACH(s, &all->list, entry)
	sender_tell(s, can_write);
}

void
recorder_senders_recent(const struct recorder_senders *all,
    const struct message_recent_wanted *wanted, struct message_recent *ret)
{
	recorder_tallies_tell(all->tallies, wanted, ret);
}

uint32_t
recorder_senders_count(const struct recorder_senders *all)
{
	return all->count;
}
