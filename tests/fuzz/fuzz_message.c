/*
 * The body of a message from a sender that we do not trust. The first byte
 * says which message it is meant to be, the rest is the body.
 *
 * Holds: a body that is read is written again to the very same bytes, so that
 * each message has one spelling and nothing of it is lost on the way.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/message_api.h"
#include "base/message_ask.h"
#include "base/message_audit.h"
#include "base/message_broker.h"
#include "base/message_ca.h"
#include "base/message_compile.h"
#include "base/message_dial.h"
#include "base/message_dialler.h"
#include "base/message_done.h"
#include "base/message_gate.h"
#include "base/message_helper.h"
#include "base/message_lease.h"
#include "base/message_recent.h"
#include "base/message_recorder.h"
#include "base/message_sign.h"
#include "base/message_top.h"
#include "base/message_vm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 131072
/* What lies where a body is read to: decoding leaves nothing of it. */
#define STALE 0xa5

/* Reads a body and writes it again; false when it was refused. */
typedef bool again(struct rd *r, struct wr *w);

#define AGAIN(name)                                                            \
	static bool again_##name(struct rd *r, struct wr *w)                   \
	{                                                                      \
		static struct message_##name m;                                \
                                                                               \
		memset(&m, STALE, sizeof(m));                                  \
		if (message_##name##_decode(r, &m) != 0)                       \
			return false;                                          \
		message_##name##_encode(w, &m);                                \
		return true;                                                   \
	}

AGAIN(dial)
AGAIN(dialed)
AGAIN(lease_request)
AGAIN(lease_revoked)
AGAIN(grant)
AGAIN(grants_whole)
AGAIN(gate_net)
AGAIN(gate_start)
AGAIN(gate_policy)
AGAIN(gate_policy_ack)
AGAIN(gate_peer)
AGAIN(gate_status)
AGAIN(hello)
AGAIN(done)
AGAIN(ca_make)
AGAIN(ca_result)
AGAIN(ca_set)
AGAIN(ca_roots)
AGAIN(sign)
AGAIN(signed)
AGAIN(compile)
AGAIN(compiled)
AGAIN(dialler_config)
AGAIN(dialler_addresses)
AGAIN(dialler_sandbox)
AGAIN(dialler_detach)
AGAIN(broker_credential)
AGAIN(broker_configured)
AGAIN(broker_attach)
AGAIN(broker_policy)
AGAIN(broker_detach)
AGAIN(recorder_read)
AGAIN(recorder_status)
AGAIN(recorder_older)
AGAIN(recorder_counters)
AGAIN(api_request)
AGAIN(api_event)
AGAIN(vm_spec)
AGAIN(vm_state)
AGAIN(vm_record)
AGAIN(lease_rejected)
AGAIN(helper_run)
AGAIN(helper_ran)

static bool
again_lease(struct rd *r, struct wr *w)
{
	struct message_lease m;

	if (message_lease_decode(r, &m) != 0)
		return false;
	message_lease_encode(w, &m);
	secret_done(&m.value);
	return true;
}

static bool
again_audit(struct rd *r, struct wr *w)
{
	struct audit_text text;
	struct audit_record m;

	if (message_audit_decode(r, &text, &m) != 0)
		return false;
	message_audit_encode(w, &m);
	return true;
}

static bool
again_audit_state(struct rd *r, struct wr *w)
{
	bool can_write;

	if (message_audit_state_decode(r, &can_write) != 0)
		return false;
	message_audit_state_encode(w, can_write);
	return true;
}

static bool
again_recorder_sandbox(struct rd *r, struct wr *w)
{
	struct message_recorder_sandbox m;

	if (message_recorder_sandbox_decode(r, true, &m) != 0)
		return false;
	message_recorder_sandbox_encode(w, &m);
	return true;
}

static bool
again_recorder_event(struct rd *r, struct wr *w)
{
	struct audit_text text;
	struct message_recorder_event m;

	if (message_recorder_event_decode(r, &text, &m) != 0)
		return false;
	message_recorder_event_encode(w, &m);
	return true;
}

static bool
again_api_answer(struct rd *r, struct wr *w)
{
	static char text[API_TEXT_SIZE];
	static struct message_api_entry entries[API_PAGE_MAX];
	static struct message_api_sandbox sandbox;
	static struct message_api_status status;
	static struct message_api_asks asks;
	static struct message_top top;
	struct message_api_page page = { .entries = entries };
	struct message_api_answer m = { .sandbox = &sandbox,
		.page = &page,
		.status = &status,
		.asks = &asks,
		.top = &top };

	if (message_api_answer_decode(r, text, &m) != 0)
		return false;
	message_api_answer_encode(w, &m);
	return true;
}

/* A part of two messages. */
static bool
again_resolver_state(struct rd *r, struct wr *w)
{
	struct message_resolver_state m = { .state = 0 };

	message_resolver_state_decode(r, &m);
	if (!rd_ok(r))
		return false;
	message_resolver_state_encode(w, &m);
	return true;
}

AGAIN(dialler_status)
AGAIN(ask)
AGAIN(asked)
AGAIN(ask_allowed)
AGAIN(recent)
AGAIN(top)

static bool
again_recent_wanted(struct rd *r, struct wr *w)
{
	uint64_t room[RECENT_NAMED_MAX];
	struct message_recent_wanted m;

	if (message_recent_wanted_decode(r, room, &m) != 0)
		return false;
	message_recent_wanted_encode(w, &m);
	return true;
}

/* The order is that of the corpus: append only. */
static again *const kinds[] = {
	again_dial,
	again_dialed,
	again_lease_request,
	again_lease,
	again_lease_revoked,
	again_audit,
	again_audit_state,
	again_gate_net,
	again_gate_start,
	again_gate_policy,
	again_gate_policy_ack,
	again_gate_peer,
	again_gate_status,
	again_hello,
	again_done,
	again_ca_make,
	again_ca_result,
	again_compile,
	again_compiled,
	again_dialler_config,
	again_dialler_addresses,
	again_dialler_sandbox,
	again_dialler_detach,
	again_broker_credential,
	again_broker_configured,
	again_broker_attach,
	again_broker_policy,
	again_broker_detach,
	again_recorder_sandbox,
	again_recorder_event,
	again_recorder_read,
	again_recorder_status,
	again_api_request,
	again_api_answer,
	again_api_event,
	again_grant,
	again_grants_whole,
	again_recorder_counters,
	again_vm_spec,
	again_vm_state,
	again_vm_record,
	again_lease_rejected,
	again_helper_run,
	again_helper_ran,
	again_ask,
	again_asked,
	again_ask_allowed,
	again_ca_set,
	again_ca_roots,
	again_recent,
	again_recent_wanted,
	again_top,
	again_dialler_status,
	again_resolver_state,
	again_sign,
	again_signed,
	again_recorder_older,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[BODY_MAX];
	struct wr w = wr_init(out, sizeof(out));
	struct rd r;

	if (size == 0 || size - 1 > BODY_MAX ||
	    data[0] >= sizeof(kinds) / sizeof(kinds[0]))
		return 0;
	r = rd_init(data + 1, size - 1);
	if (!kinds[data[0]](&r, &w))
		return 0;
	if (!wr_ok(&w) || w.len != size - 1 - rd_left(&r) ||
	    memcmp(out, data + 1, w.len) != 0)
		abort();
	return 0;
}
