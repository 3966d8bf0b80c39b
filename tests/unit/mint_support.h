/*
 * A broker of which one credential, `free`, is minted by an issuer on the same
 * event loop.
 */
#ifndef TAPWARD_TESTS_UNIT_MINT_SUPPORT_H
#define TAPWARD_TESTS_UNIT_MINT_SUPPORT_H

#include "tests/unit/broker_support.h"
#include "tests/unit/issuer.h"

#include "base/fd.h"
#include "base/message_dialler.h"

#define JSON                                                                   \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                \
	"Connection: close\r\n\r\n"
#define TOKEN(value, life)                                                     \
	JSON "{\"access_token\":\"" value "\",\"token_type\":\"Bearer\","      \
	     "\"expires_in\":" life "}"
#define SECRET "canary-secret+/:%"

static inline void
set(struct message_broker_credential *m, const char *name, const char *text,
    bool is_source)
{
	struct message_broker_setting *s = &m->settings[m->setting_count++];

	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	(void)snprintf(s->text, sizeof(s->text), "%s", text);
	s->is_source = s->is_open = is_source;
}

/* A key of a definition; source: what lies there, NULL: it is no secret. */
struct setting {
	const char *name, *text, *source;
};

/* Up to one without a name. */
static inline void
set_all(struct message_broker_credential *m, const struct setting *more)
{
	for (; more->name != NULL; more++)
		set(m, more->name, more->text, more->source != NULL);
}

/* A URL of the issuer. */
static inline void
set_url(struct message_broker_credential *m, const char *name,
    const struct issuer *i, const char *path)
{
	char url[128];

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s",
	    (unsigned int)i->port, path);
	set(m, name, url, false);
}

/* `free`, of a kind that takes no value; the caller's set()s follow. */
static inline struct message_broker_credential *
free_of(struct message_broker_credential *m, uint8_t kind)
{
	bind_to_host(m, "free", "free.acme.example");
	m->kind = kind;
	m->source[0] = '\0';
	set(m, "cleartext", "yes", false);
	return m;
}

/* `free` is minted by this issuer. */
static inline struct message_broker_credential *
minted(const struct issuer *i)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_OAUTH2);
	set_url(&m, "token-url", i, "/token");
	set_url(&m, "revoke-url", i, "/revoke");
	set(&m, "client-id", "svc", false);
	set(&m, "client-secret", "file:/secret/free", true);
	set(&m, "scope", "read", false);
	set(&m, "scope", "write", false);
	return &m;
}

/* m, and what lies at its sources, in their order. */
static inline void
send_with_sources(struct world *w, const struct message_broker_credential *m,
    const struct setting *more)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	int fds[BROKER_SOURCES_MAX];
	unsigned int count = 0;

	for (; more->name != NULL; more++)
		if (more->source != NULL)
			fds[count++] =
			    source(more->source, strlen(more->source));
	message_broker_credential_encode(&body, m);
	assert_int_equal(chan_send(w->supervisor, MSG_BROKER_CREDENTIAL, 0,
			     &body, fds, count),
	    0);
	while (count > 0)
		(void)close(fds[--count]);
}

/* Two files as the supervisor would open them; the caller's to close. */
static inline void
journal_files(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		fds[i] = memfd_create("journal", MFD_CLOEXEC);
		assert_true(fds[i] != -1);
	}
}

static inline void
send_journal(struct world *w, const int fds[2])
{
	struct wr body = wr_init(NULL, 0);

	assert_int_equal(chan_send(w->supervisor, MSG_BROKER_JOURNAL, 0, &body,
			     fds, 2),
	    0);
}

static inline void
send_new_journal(struct world *w)
{
	int fds[2];

	journal_files(fds);
	send_journal(w, fds);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static inline void
send_upstream(struct world *w)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct message_dialler_config *m = calloc(1, sizeof(*m));
	struct wr body = wr_init(buf, sizeof(buf));

	assert_non_null(m);
	m->limits =
	    (struct message_dialler_limits){ 1000, 1000, 8, 64, 1, 60, 5 };
	message_dialler_config_encode(&body, m);
	assert_int_equal(chan_send(w->supervisor, MSG_BROKER_UPSTREAM, 0, &body,
			     NULL, 0),
	    0);
	free(m);
}

/* A broker beside an issuer that follows the script. */
static inline struct world *
world_at(struct issuer *i, const char *const *script)
{
	struct world *w = world_new();

	issuer_init(i, w->base, script);
	send_new_journal(w);
	send_upstream(w);
	return w;
}

/* What was sent comes into force, and there is a sandbox. */
static inline void
begin_sandbox(struct world *w)
{
	send_configured(w, 1);
	/* A text says what is amiss with one of them. */
	if (!w->done.ok || w->done.text[0] != '\0')
		fail_msg("%s", w->done.text);
	attach(w, "ci-one");
}

static inline void
begin_with(struct world *w, const struct message_broker_credential *m,
    const char *secret)
{
	send_definition(w, m, secret);
	begin_sandbox(w);
}

/* An origin did not take the value of this lease. */
static inline void
reject(struct world *w, uint64_t lease_id)
{
	const struct message_lease_rejected m = { .lease_id = lease_id };
	uint8_t buf[16];
	struct wr body = wr_init(buf, sizeof(buf));

	message_lease_rejected_encode(&body, &m);
	assert_int_equal(chan_send(w->gate, MSG_LEASE_REJECTED, 0, &body, NULL,
			     0),
	    0);
}

/* `free` goes to none of these, and nobody is asked for it. */
static inline void
must_keep_from(struct world *w, const struct issuer *i,
    const char *const *paths, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (ask(w, "free", "free.acme.example", paths[n])->reason !=
		    REASON_CREDENTIAL_MISUSE)
			fail_msg("%s", paths[n]);
	assert_int_equal(i->count, 0);
}

static inline void
world_end(struct world *w, struct issuer *i)
{
	issuer_done(i);
	world_free(w);
}

#endif
