/* Reloading, see reloading.h. */
#include "daemon/reloading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/log_event.h"
#include "daemon/ceiling.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/rotate.h"
#include "daemon/supervisor.h"

/* What cannot change while sandboxes run under it. */
static bool
is_compatible(const struct config *a, const struct config *b)
{
	const struct hostconf *x = a->host, *y = b->host;

	return strcmp(x->run_dir, y->run_dir) == 0 &&
	    strcmp(x->state_dir, y->state_dir) == 0 &&
	    strcmp(x->log_dir, y->log_dir) == 0 && a->group == b->group &&
	    x->uid_first == y->uid_first && x->uid_last == y->uid_last &&
	    x->guest_ip == y->guest_ip && x->gateway_ip == y->gateway_ip &&
	    x->prefix_len == y->prefix_len &&
	    x->synthetic_net == y->synthetic_net &&
	    x->synthetic_prefix_len == y->synthetic_prefix_len &&
	    x->has_metrics == y->has_metrics &&
	    x->metrics_port == y->metrics_port;
}

static void
note(struct supervisor *sv, const char *text)
{
	log_event(LOG_EVENT_RELOAD_REFUSED, NULL, "reload", "%s", text);
	if (sv->reloading.text[0] == '\0')
		(void)snprintf(sv->reloading.text, sizeof(sv->reloading.text),
		    "%s", text);
}

static void
answer(struct supervisor *sv, const char *what)
{
	struct reloading *r = &sv->reloading;
	const struct message_api_answer a = {
		.result = r->text[0] == '\0' ? API_OK : API_INVALID,
		.text = r->text,
	};

	if (a.result == API_OK)
		log_event(LOG_EVENT_RELOADED, NULL, "reload", "%s", what);
	link_api_answer(sv, &r->request, &a, -1);
	r->request = (struct sandbox_request){ 0 };
	link_recorder_event(sv, NULL, what, REASON_NONE);
}

void
reloading_part_done(struct supervisor *sv, enum reloading_part part,
    const char *text)
{
	struct reloading *r = &sv->reloading;

	if ((r->open & part) == 0)
		return;
	r->open &= ~(unsigned int)part;
	if (text[0] != '\0')
		note(sv, text);
	if (r->open == 0)
		answer(sv,
		    r->text[0] == '\0' ? "configuration reloaded"
				       : "configuration reloaded in part");
}

static void
part_failed(struct supervisor *sv, enum reloading_part part, const char *what,
    const char *why)
{
	char text[ERR_TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%s before stays: %s", what, why);
	reloading_part_done(sv, part, text);
}

static void
on_new_ceiling(void *arg, int rc, const char *text)
{
	struct supervisor *sv = arg;
	struct sandbox *s, *next;

	/* Who may learn is the configuration's to say, which is a new one. */
	for (s = LIST_FIRST(&sv->sandboxes); s != NULL; s = next) {
		next = LIST_NEXT(s, entry);
		if (rc == 0 || s->learns)
			jobs_on_ceiling(s);
	}
	if (rc != 0)
		part_failed(sv, RELOADING_CEILING, "the ceiling", text);
	else
		reloading_part_done(sv, RELOADING_CEILING, "");
}

static void
on_new_roots(void *arg, int rc, const struct answer *a)
{
	struct supervisor *sv = arg;

	if (rc != 0)
		part_failed(sv, RELOADING_ROOTS, "the CA bundle", a->text);
	else
		reloading_part_done(sv, RELOADING_ROOTS, "");
}

static int
load(struct supervisor *sv, struct err *err)
{
	struct config *config;
	int rc = config_load(sv->config_path, &config, err);

	if (rc != 0)
		return rc;
	if (!is_compatible(sv->config, config)) {
		config_free(config);
		return err_at(err, sv->config_path, 0,
		    "[network] and all of [daemon] need a restart: systemctl "
		    "restart tapward, which leaves sandboxes running");
	}
	config_free(sv->config);
	sv->config = config;
	return 0;
}

/* The configuration is the new one; what it names is looked at. */
static void
hand_on(struct supervisor *sv)
{
	int rc = link_recorder_open_log(sv);

	if (rc != 0)
		log_err("reload", "audit log: %s", strerror(-rc));
	link_recorder_anchor(sv);
	rotate_check(sv);
	sv->reloading.open =
	    RELOADING_CREDENTIALS | RELOADING_ROOTS | RELOADING_CEILING;
	link_broker_upstream(sv);
	link_broker_configure(sv);
	link_dialler_configure(sv);
	rc = link_ca_roots(sv, on_new_roots, sv);
	if (rc != 0)
		part_failed(sv, RELOADING_ROOTS, "the CA bundle",
		    strerror(-rc));
	ceiling_load(sv, on_new_ceiling, sv);
	pool_fill(&sv->pool);
}

void
reloading_start(struct supervisor *sv, const struct sandbox_request *to)
{
	struct reloading *r = &sv->reloading;
	struct err err;

	if (r->open != 0) {
		link_api_refuse(sv, to, API_UNAVAILABLE,
		    "a reload is on its way; try again");
		return;
	}
	*r = (struct reloading){ .request = *to };
	if (load(sv, &err) == 0) {
		hand_on(sv);
		return;
	}
	note(sv, err.text);
	answer(sv, "configuration refused");
}
