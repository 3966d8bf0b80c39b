/*
 * Between the files of the host configuration's parser: hostconf.c knows
 * sections and keys, hostconf_credential.c those of [credential NAME],
 * hostconf_network.c addresses, hostconf_upstream.c the way to origins,
 * hostconf_ca.c who signs for them.
 */
#ifndef TAPWARD_CONF_HOSTCONF_PARSE_H
#define TAPWARD_CONF_HOSTCONF_PARSE_H

#include "conf/hostconf.h"
#include "conf/vec.h"
#include "wire/address.h"

enum hostconf_section {
	HOSTCONF_NONE,
	HOSTCONF_DAEMON,
	HOSTCONF_NETWORK,
	HOSTCONF_UPSTREAM,
	HOSTCONF_ADDRESS,
	HOSTCONF_CA,
	HOSTCONF_CEILING,
	HOSTCONF_CREDENTIAL,
	HOSTCONF_LIMITS,
	HOSTCONF_VM,
	HOSTCONF_ASK,
	HOSTCONF_AUDIT,
	HOSTCONF_SECTIONS
};

struct hostconf_parse {
	const char *file;
	struct err *err;
	struct hostconf *c;
	struct vec addresses;   /* struct hostconf_address */
	struct vec cas;         /* struct hostconf_ca */
	struct vec credentials; /* struct hostconf_credential */
	enum hostconf_section section;
	unsigned int line; /* of the section's heading */
	unsigned int key;  /* line of the key being read */
	uint64_t seen;     /* keys of this section, a bit each row */
	unsigned int opened[HOSTCONF_SECTIONS]; /* line of each, 0: not yet */
	unsigned int guest_line;
	unsigned int proxy_line; /* of the last key about the proxy */
	bool has_ceiling_policy; /* the key was there */
};

/* Takes one value. NULL, or what is wrong with it. */
typedef const char *hostconf_take(struct hostconf_parse *p, struct span v);

/* hostconf_credential.c */
hostconf_take hostconf_take_kind, hostconf_take_value, hostconf_take_chost,
    hostconf_take_cport, hostconf_take_apply, hostconf_take_strip,
    hostconf_take_strip_response, hostconf_take_set_cookie,
    hostconf_take_placeholder, hostconf_take_method, hostconf_take_path,
    hostconf_take_deny_path, hostconf_take_websocket, hostconf_take_grant,
    hostconf_take_learn;
/* A new definition, and what must hold once its section has ended. */
int hostconf_open_credential(struct hostconf_parse *p, const char *name);
int hostconf_finish_credential(struct hostconf_parse *p);

/* hostconf_ask.c */
hostconf_take hostconf_take_hook, hostconf_take_hook_user,
    hostconf_take_hook_timeout;
int hostconf_finish_ask(struct hostconf_parse *p);

/* hostconf_audit.c */
hostconf_take hostconf_take_rotate_size, hostconf_take_rotate_age,
    hostconf_take_keep, hostconf_take_keep_age, hostconf_take_anchor;

/* hostconf_ca.c */
hostconf_take hostconf_take_ca_host, hostconf_take_ca_set_file,
    hostconf_take_only;
int hostconf_open_ca(struct hostconf_parse *p, const char *name);
int hostconf_finish_ca(struct hostconf_parse *p);

/* hostconf_network.c */
hostconf_take hostconf_take_guest, hostconf_take_gateway, hostconf_take_ahost,
    hostconf_take_range, hostconf_take_metrics;
/* ADDRESS, ADDRESS:PORT or [IPV6]:PORT. */
bool hostconf_parse_endpoint(struct span v, uint16_t default_port,
    struct address *ret, uint16_t *ret_port);
struct message_address hostconf_address(const struct address *a);
/* NULL and a pattern as dialler_pattern_matches() has it, or what is wrong. */
const char *hostconf_parse_pattern(struct span v,
    char ret[DIALLER_PATTERN_SIZE]);
int hostconf_open_address(struct hostconf_parse *p, const char *name);
int hostconf_finish_address(struct hostconf_parse *p);
int hostconf_finish_network(struct hostconf_parse *p);

/* hostconf_upstream.c */
hostconf_take hostconf_take_resolver, hostconf_take_proxy,
    hostconf_take_proxy_user, hostconf_take_proxy_password,
    hostconf_take_no_proxy;
int hostconf_finish_upstream(struct hostconf_parse *p);

/* An absolute path without `..`; NULL, or what is wrong with it. */
const char *hostconf_copy_path(char *buf, size_t size, struct span v);
/* Copies v with its NUL; false when it does not fit size bytes. */
bool hostconf_copy(char *buf, size_t size, struct span v);

#endif
