/*
 * Any text as the host's configuration: refused with its place, or whole: each
 * credential bound and granted, each limit within its bounds.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/hostconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

static void
check_credential(const struct hostconf_credential *cr)
{
	const struct message_broker_credential *d = cr->def;

	must(d->name[0] != '\0' && d->port != 0);
	must(d->host_count > 0 && d->host_count <= BROKER_HOSTS_MAX);
	must(d->grant_count > 0 && d->grant_count <= BROKER_GRANTS_MAX);
	must(d->strip_count > 0 && d->strip_count <= LEASE_STRIP_MAX);
	must(d->strip_response_count <= LEASE_STRIP_MAX);
	must(d->apply < LEASE_APPLY_COUNT);
	must(strchr(d->hosts[0], '*') == NULL);
	must(d->kind != BROKER_KIND_STATIC || d->source[0] != '\0');
	must(d->kind == BROKER_KIND_STATIC || d->kind == BROKER_KIND_AWS ||
	    d->source[0] == '\0');
	must(d->setting_count <= BROKER_SETTINGS_MAX);
	for (unsigned int i = 0; i < d->setting_count; i++)
		must(d->settings[i].text[0] != '\0' &&
		    cr->setting_lines[i] > cr->line);
}

static void
check(const struct hostconf *c)
{
	for (size_t i = 0; i < c->credential_count; i++)
		check_credential(&c->credentials[i]);
	for (size_t i = 0; i < c->address_count; i++)
		must(c->addresses[i].exception.host_count > 0 &&
		    c->addresses[i].exception.range_count > 0);
	for (size_t i = 0; i < c->ca_count; i++)
		must(c->cas[i].set.host_count > 0 &&
		    c->cas[i].set.file[0] == '/' &&
		    c->cas[i].set.at[0] != '\0');
	for (int i = 0; i < LIMIT_COUNT; i++)
		must(c->limits[i] >= limit_rows[i].min &&
		    c->limits[i] <= limit_rows[i].max);
	must(c->run_dir[0] == '/' && c->state_dir[0] == '/' &&
	    c->log_dir[0] == '/' && c->ca_file[0] == '/');
	must(c->has_ceiling == (c->ceiling_file[0] == '/'));
	must(c->guest_ip != c->gateway_ip && c->uid_first <= c->uid_last);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hostconf *c = NULL;
	struct err err = { "" };
	int rc = hostconf_parse("h.ini", (struct span){ data, size }, &c, &err);

	if (rc == 0)
		check(c);
	else
		must(rc == -EINVAL && strncmp(err.text, "h.ini:", 6) == 0 &&
		    c == NULL);
	hostconf_free(c);
	return 0;
}
