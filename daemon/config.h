/*
 * The host's configuration as the supervisor uses it: what conf/hostconf.h
 * read, with names looked up and in the shapes that are handed on.
 */
#ifndef TAPWARD_DAEMON_CONFIG_H
#define TAPWARD_DAEMON_CONFIG_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/message_api.h"
#include "conf/hostconf.h"
#include "netfilter/plan.h"

struct config {
	struct hostconf *host;
	gid_t group;
	struct net_plan plan;
	/* no resolvers: those of the host's resolv.conf are put in */
	struct message_dialler_config *dialler;
	struct process_limits gate_process;
	struct process_limits service_process;
};

/* Reads path. 0, or -EINVAL or another -errno with a text. */
int config_load(const char *path, struct config **ret, struct err *err);
void config_free(struct config *c); /* NULL is fine */
/*
 * What a guest is told of the credential of ret's name; of one that is not
 * defined nothing.
 */
void config_tell_credential(const struct config *c,
    struct message_api_credential *ret);
/* A listening TCP socket at metrics-listen. 0 or -errno. */
int config_listen_metrics(const struct config *c, int *ret_fd);
/*
 * Where the configuration says that a secret lies ("file:/PATH"): opened, not
 * read. 0 or -errno.
 */
int config_open_source(const char *text, int *ret_fd);
/* Where such a file is. 0; -ENOENT for what is in none, or -ENAMETOOLONG. */
int config_source_path(const char *text, char *buf, size_t size);

#endif
