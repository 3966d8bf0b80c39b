/*
 * The way to tapward-ca, and the folder of keys: state-dir/ca/ID holds key
 * and certificate (0600 root), state-dir/ca/ID.pem the certificate. A key goes
 * from the one process to the file to the gate; no byte of it is read here.
 */
#ifndef TAPWARD_DAEMON_LINK_CA_H
#define TAPWARD_DAEMON_LINK_CA_H

#include "daemon/service.h"

struct sandbox;

extern const struct service_spec link_ca_spec;

/* Asks for a CA; done hands the answer to link_ca_keep(). */
int link_ca_make(struct sandbox *s, ask_done *done, void *arg);
/* Writes the files of s->state.ca_id. 0 or -errno. */
int link_ca_keep(struct sandbox *s, const struct answer *a);
/* Opens the key for one gate. 0 or -errno. */
int link_ca_open_key(const struct sandbox *s, int *ret_fd);
/* Copies the certificate to where its owner finds it. 0 or -errno. */
int link_ca_give_certificate(const struct sandbox *s);
/* Takes the files away. */
void link_ca_remove(struct supervisor *sv, const char *id);
/* Takes away what no sandbox in the list has. */
void link_ca_sweep(struct supervisor *sv);

/*
 * Makes the index of `[upstream] ca-file` and all [ca NAME]; gates and broker
 * are told, done hears, sv->roots_fd is set.
 */
int link_ca_roots(struct supervisor *sv, ask_done *done, void *arg);

#endif
