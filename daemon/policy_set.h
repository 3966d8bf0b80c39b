/*
 * A policy as the supervisor holds it: the text it never reads, the image it
 * hands on, and what of the image the ruleset needs.
 */
#ifndef TAPWARD_DAEMON_POLICY_SET_H
#define TAPWARD_DAEMON_POLICY_SET_H

#include "base/err.h"
#include "base/message_api.h"
#include "base/names.h"
#include "conf/policy.h"
#include "netfilter/ruleset.h"

struct hostconf;

struct policy_set {
	int text_fd;  /* sealed memfd, -1: none */
	int image_fd; /* sealed memfd, -1: none */
	char digest[DIGEST_TEXT_SIZE];
	char display_name[API_DISPLAY_NAME_SIZE];
	struct policy *policy; /* image_fd, mapped and checked */
	uint16_t *ports;
	size_t port_count;
	struct net_reserved *reserved;
	size_t reserved_count; /* behind them: that of metadata */
};

#define POLICY_SET_NONE ((struct policy_set){ .text_fd = -1, .image_fd = -1 })

/*
 * Maps and checks image_fd and fills in what follows it: that hangs on the
 * ceiling (NULL: none) where the sandbox learns. 0 or -errno.
 */
int policy_set_map(struct policy_set *p, const struct policy *ceiling);
/* The latter anew, for another ceiling. 0, or -errno and all is as before. */
int policy_set_read(struct policy_set *p, const struct policy *ceiling);
/*
 * From now on it does not learn: another image takes the place of the one
 * that did. 0, or -errno and all is as before.
 */
int policy_set_unlearn(struct policy_set *p, const struct policy *ceiling);
/* False also while there is no image. */
bool policy_set_learns(const struct policy_set *p);
/*
 * Every credential that it names is one that the host defines. -EINVAL with
 * "file:line: ..." if not: each request would be refused, so say so now.
 */
int policy_set_check_credentials(const struct policy_set *p,
    const struct hostconf *host, struct err *err);
/* has_metadata: and the address of the clouds' metadata services. */
struct net_opening policy_set_opening(const struct policy_set *p,
    bool has_metadata);
/* Empty afterwards. */
void policy_set_done(struct policy_set *p);
/* Hands it over: p becomes empty. */
struct policy_set policy_set_steal(struct policy_set *p);

#endif
