/*
 * Signatures by the keys of client certificates, for gates that hold a lease of
 * one. What is signed is a proof of TLS (wire/tls_proof.h) and nothing else; in
 * TLS 1.2 it names the host of the lease. So a gate that was taken over can
 * make connections as whom its sandbox's policy lets it be, as long as it is
 * granted, and has nothing left of it afterwards.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_PROVE_H
#define TAPWARD_CREDENTIAL_BROKER_PROVE_H

#include "base/message_sign.h"
#include "credential-broker/sandbox.h"

/* Signatures of one sandbox: at once, and then one in so many ms. */
#define PROVE_BURST 64
#define PROVE_EVERY_MS 25

/* Answers by one MSG_SIGNED; an empty one is a refusal, written down. */
void prove(struct sandbox *s, uint32_t id, const struct message_sign *m);

#endif
