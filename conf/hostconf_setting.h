/*
 * The keys of [credential NAME] that only some kinds take, a row each. They go
 * to the broker as they are written; here is checked that they are well formed
 * and that what their kind needs is there.
 */
#ifndef TAPWARD_CONF_HOSTCONF_SETTING_H
#define TAPWARD_CONF_HOSTCONF_SETTING_H

#include "conf/hostconf_parse.h"
#include "conf/ini.h"

/* BROKER_KIND_COUNT without one. */
enum broker_kind hostconf_kind_of(struct span name);

/* Some kind has a key of this name. */
bool hostconf_is_setting(const char *key);
/*
 * Takes the key e of the section that is open. 0, or -EINVAL with err set as
 * by err_at().
 */
int hostconf_take_setting(struct hostconf_parse *p, const struct ini_entry *e);
/*
 * Once the section has ended: each key is one of its kind's, and all that the
 * kind needs are there. 0, or -EINVAL as above.
 */
int hostconf_finish_settings(struct hostconf_parse *p);
/* The first key of this name that d holds; NULL without one. */
const struct message_broker_setting *
hostconf_find_setting(const struct message_broker_credential *d,
    const char *name);

/*
 * file:/PATH, env:NAME or credential:NAME: where a secret lies. *ret_used is
 * how much of v comes before the place. NULL, or what is wrong.
 */
const char *hostconf_parse_source(struct span v, enum hostconf_source *ret,
    size_t *ret_used);

#endif
