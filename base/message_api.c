/* Bodies of the messages between api and supervisor. */
#include "base/message_api.h"

#include <string.h>

#include "base/message_field.h"

const char *
api_state_name(uint8_t state)
{
	static const char *const names[API_STATE_COUNT] = {
		[API_STATE_RUNNING] = "running",
		[API_STATE_DETACHED] = "detached",
		[API_STATE_RESTARTING] = "restarting",
	};

	return state < API_STATE_COUNT ? names[state] : "unknown";
}

const char *
api_device_name(uint8_t device)
{
	static const char *const names[API_DEVICE_COUNT] = {
		[API_DEVICE_TAP] = "tap",
		[API_DEVICE_VETH] = "veth",
	};

	return device < API_DEVICE_COUNT ? names[device] : "unknown";
}

const char *
api_ask_state_name(uint8_t state)
{
	static const char *const names[API_ASK_STATES] = {
		[API_ASK_WAITING] = "waiting",
		[API_ASK_ALLOWED] = "allowed",
		[API_ASK_DENIED] = "denied",
	};

	return state < API_ASK_STATES ? names[state] : "unknown";
}

void
message_api_request_encode(struct wr *w, const struct message_api_request *m)
{
	wr_u8(w, m->op);
	wr_u32(w, m->peer_uid);
	wr_u32(w, m->peer_gid);
	wr_str16(w, m->name);
	wr_str16(w, m->display_name);
	wr_u8(w, m->device);
	wr_u32(w, m->owner_uid);
	wr_str16(w, m->ca);
	wr_u32(w, m->ttl_s);
	field_bool_write(w, m->is_tied);
	field_bool_write(w, m->learns);
	wr_u8(w, m->driver);
	field_bool_write(w, m->needs_kvm);
	wr_u32(w, m->cpus);
	wr_u32(w, m->memory_mib);
	wr_u32(w, m->disk_mib);
	wr_u32(w, m->max_duration_s);
	wr_str16(w, m->image);
	wr_str16(w, m->commit);
	field_bool_write(w, m->in_netns);
	field_bool_write(w, m->denied_only);
	field_bool_write(w, m->follow);
	field_bool_write(w, m->is_allowed);
	wr_u32(w, m->for_s);
}

int
message_api_request_decode(struct rd *r, struct message_api_request *ret)
{
	struct message_api_request m = { 0 };

	m.op = field_enum(r, API_OP_COUNT);
	m.peer_uid = rd_u32(r);
	m.peer_gid = rd_u32(r);
	field_sandbox(r, m.name, true);
	field_printable(r, m.display_name, sizeof(m.display_name));
	m.device = field_enum(r, API_DEVICE_COUNT);
	m.owner_uid = rd_u32(r);
	field_sandbox(r, m.ca, true);
	m.ttl_s = rd_u32(r);
	m.is_tied = field_bool(r);
	m.learns = field_bool(r);
	m.driver = field_enum(r, VM_DRIVER_COUNT);
	m.needs_kvm = field_bool(r);
	m.cpus = rd_u32(r);
	m.memory_mib = rd_u32(r);
	m.disk_mib = rd_u32(r);
	m.max_duration_s = rd_u32(r);
	field_digest(r, m.image);
	field_printable(r, m.commit, sizeof(m.commit));
	m.in_netns = field_bool(r);
	m.denied_only = field_bool(r);
	m.follow = field_bool(r);
	m.is_allowed = field_bool(r);
	m.for_s = rd_u32(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

static void
api_sandbox_encode(struct wr *w, const struct message_api_sandbox *m)
{
	wr_str16(w, m->name);
	wr_u8(w, m->state);
	wr_u8(w, m->device);
	wr_u32(w, m->owner_uid);
	wr_u64(w, m->generation);
	wr_str16(w, m->netns);
	wr_str16(w, m->device_name);
	wr_u32(w, m->guest_ip);
	wr_u32(w, m->gateway_ip);
	wr_u8(w, m->prefix);
	wr_bytes(w, m->guest_mac, sizeof(m->guest_mac));
	wr_u16(w, m->proxy_port);
	wr_str16(w, m->ca);
	wr_str16(w, m->ca_id);
	wr_str16(w, m->policy_file);
	wr_str16(w, m->policy_digest);
	wr_u64(w, m->created_wall_ms);
	wr_u64(w, m->ttl_end_wall_ms);
	wr_u32(w, (uint32_t)m->gate_pid);
	wr_u32(w, m->gate_restarts);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		wr_u64(w, m->dropped[i]);
	wr_u32(w, m->credential_count);
	for (uint32_t i = 0; i < m->credential_count; i++) {
		wr_str16(w, m->credentials[i].name);
		wr_str16(w, m->credentials[i].placeholder);
		wr_str16(w, m->credentials[i].region);
	}
	field_bool_write(w, m->is_tied);
	field_bool_write(w, m->learns);
	field_bool_write(w, m->has_vm);
	if (m->has_vm) {
		message_vm_state_encode(w, &m->vm.said);
		wr_u32(w, (uint32_t)m->vm.pid);
		wr_u8(w, m->vm.cgroup_version);
	}
}

static int32_t
api_pid(struct rd *r)
{
	uint32_t v = rd_u32(r);

	if (v > INT32_MAX) {
		rd_fail(r);
		return 0;
	}
	return (int32_t)v;
}

/* A count of at most max; 0 once the reader has failed. */
static uint32_t
api_count(struct rd *r, uint32_t max)
{
	uint32_t v = rd_u32(r);

	if (v > max) {
		rd_fail(r);
		return 0;
	}
	return v;
}

static void
api_sandbox_decode(struct rd *r, struct message_api_sandbox *m)
{
	struct span mac;

	field_sandbox(r, m->name, false);
	m->state = field_enum(r, API_STATE_COUNT);
	m->device = field_enum(r, API_DEVICE_COUNT);
	m->owner_uid = rd_u32(r);
	m->generation = rd_u64(r);
	field_printable(r, m->netns, sizeof(m->netns));
	field_printable(r, m->device_name, sizeof(m->device_name));
	m->guest_ip = rd_u32(r);
	m->gateway_ip = rd_u32(r);
	m->prefix = rd_u8(r);
	mac = rd_take(r, sizeof(m->guest_mac));
	if (mac.len == sizeof(m->guest_mac))
		memcpy(m->guest_mac, mac.ptr, sizeof(m->guest_mac));
	m->proxy_port = rd_u16(r);
	field_printable(r, m->ca, sizeof(m->ca));
	field_sandbox(r, m->ca_id, false);
	field_printable(r, m->policy_file, sizeof(m->policy_file));
	field_digest(r, m->policy_digest);
	m->created_wall_ms = rd_u64(r);
	m->ttl_end_wall_ms = rd_u64(r);
	m->gate_pid = api_pid(r);
	m->gate_restarts = rd_u32(r);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		m->dropped[i] = rd_u64(r);
	m->credential_count = api_count(r, API_CREDENTIALS_MAX);
	for (uint32_t i = 0; i < m->credential_count; i++) {
		struct message_api_credential *c = &m->credentials[i];

		field_printable(r, c->name, sizeof(c->name));
		field_printable(r, c->placeholder, sizeof(c->placeholder));
		field_printable(r, c->region, sizeof(c->region));
	}
	m->is_tied = field_bool(r);
	m->learns = field_bool(r);
	m->has_vm = field_bool(r);
	if (m->has_vm) {
		(void)message_vm_state_decode(r, &m->vm.said);
		m->vm.pid = api_pid(r);
		m->vm.cgroup_version = field_enum(r, 3);
	}
}

static void
api_page_encode(struct wr *w, const struct message_api_page *m)
{
	wr_u32(w, m->count);
	field_bool_write(w, m->has_more);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct message_api_entry *e = &m->entries[i];

		wr_str16(w, e->name);
		wr_u8(w, e->state);
		wr_u8(w, e->device);
		wr_u32(w, e->owner_uid);
		wr_u64(w, e->created_wall_ms);
		field_bool_write(w, e->learns);
	}
}

static void
api_page_decode(struct rd *r, struct message_api_page *m)
{
	m->count = api_count(r, API_PAGE_MAX);
	m->has_more = field_bool(r);
	for (uint32_t i = 0; i < m->count; i++) {
		struct message_api_entry *e = &m->entries[i];

		field_sandbox(r, e->name, false);
		e->state = field_enum(r, API_STATE_COUNT);
		e->device = field_enum(r, API_DEVICE_COUNT);
		e->owner_uid = rd_u32(r);
		e->created_wall_ms = rd_u64(r);
		e->learns = field_bool(r);
	}
}

static void
api_status_lists_encode(struct wr *w, const struct message_api_status *m)
{
	for (size_t i = 0; i < API_STATE_COUNT; i++)
		wr_u32(w, m->states[i]);
	wr_u32(w, m->machines);
	wr_u32(w, m->learning);
	wr_u32(w, m->credentials);
	wr_u32(w, m->resolver_count);
	for (uint32_t i = 0; i < m->resolver_count; i++) {
		wr_str16(w, m->resolvers[i]);
		message_resolver_state_encode(w, &m->resolver_states[i]);
		message_resolver_state_encode(w, &m->broker_states[i]);
	}
	field_bool_write(w, m->has_recorder);
	wr_u64(w, m->audit_seq);
	wr_u64(w, m->audit_lost);
	wr_str16(w, m->audit_head);
	wr_u32(w, m->policy_count);
	for (uint32_t i = 0; i < m->policy_count; i++) {
		wr_str16(w, m->policies[i].digest);
		wr_u32(w, m->policies[i].sandboxes);
	}
	wr_u32(w, m->other_policies);
	wr_u32(w, m->error_count);
	for (uint32_t i = 0; i < m->error_count; i++) {
		wr_u64(w, m->errors[i].wall_ms);
		wr_str16(w, m->errors[i].text);
	}
}

static void
api_status_lists_decode(struct rd *r, struct message_api_status *m)
{
	for (size_t i = 0; i < API_STATE_COUNT; i++)
		m->states[i] = rd_u32(r);
	m->machines = rd_u32(r);
	m->learning = rd_u32(r);
	m->credentials = rd_u32(r);
	m->resolver_count = api_count(r, API_RESOLVERS_MAX);
	for (uint32_t i = 0; i < m->resolver_count; i++) {
		field_printable(r, m->resolvers[i], sizeof(m->resolvers[i]));
		message_resolver_state_decode(r, &m->resolver_states[i]);
		message_resolver_state_decode(r, &m->broker_states[i]);
	}
	m->has_recorder = field_bool(r);
	m->audit_seq = rd_u64(r);
	m->audit_lost = rd_u64(r);
	field_digest(r, m->audit_head);
	m->policy_count = api_count(r, API_POLICIES_MAX);
	for (uint32_t i = 0; i < m->policy_count; i++) {
		field_digest(r, m->policies[i].digest);
		m->policies[i].sandboxes = rd_u32(r);
	}
	m->other_policies = rd_u32(r);
	m->error_count = api_count(r, API_ERRORS_MAX);
	for (uint32_t i = 0; i < m->error_count; i++) {
		m->errors[i].wall_ms = rd_u64(r);
		field_printable(r, m->errors[i].text,
		    sizeof(m->errors[i].text));
	}
}

static void
api_status_encode(struct wr *w, const struct message_api_status *m)
{
	wr_str16(w, m->version);
	wr_u32(w, (uint32_t)m->pid);
	wr_u64(w, m->started_wall_ms);
	wr_u32(w, m->sandboxes);
	wr_u32(w, m->pool_ready);
	wr_u32(w, m->pool_size);
	field_bool_write(w, m->has_ceiling);
	wr_str16(w, m->ceiling_file);
	wr_str16(w, m->ceiling_digest);
	field_bool_write(w, m->audit_can_write);
	wr_u32(w, m->roots);
	wr_str16(w, m->credential_fault);
	wr_u32(w, m->child_count);
	for (uint32_t i = 0; i < m->child_count; i++) {
		wr_str16(w, m->children[i].role);
		wr_u32(w, (uint32_t)m->children[i].pid);
		wr_u32(w, m->children[i].restarts);
	}
	api_status_lists_encode(w, m);
}

static void
api_status_decode(struct rd *r, struct message_api_status *m)
{
	field_printable(r, m->version, sizeof(m->version));
	m->pid = api_pid(r);
	m->started_wall_ms = rd_u64(r);
	m->sandboxes = rd_u32(r);
	m->pool_ready = rd_u32(r);
	m->pool_size = rd_u32(r);
	m->has_ceiling = field_bool(r);
	field_printable(r, m->ceiling_file, sizeof(m->ceiling_file));
	field_digest(r, m->ceiling_digest);
	m->audit_can_write = field_bool(r);
	m->roots = rd_u32(r);
	field_printable(r, m->credential_fault, sizeof(m->credential_fault));
	m->child_count = api_count(r, API_CHILDREN_MAX);
	for (uint32_t i = 0; i < m->child_count; i++) {
		struct message_api_child *c = &m->children[i];

		field_printable(r, c->role, sizeof(c->role));
		c->pid = api_pid(r);
		c->restarts = rd_u32(r);
	}
	api_status_lists_decode(r, m);
}

static void
api_asks_encode(struct wr *w, const struct message_api_asks *m)
{
	wr_u32(w, m->count);
	field_bool_write(w, m->has_more);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct message_api_ask *a = &m->asks[i];

		wr_u32(w, a->id);
		wr_u8(w, a->state);
		wr_str16(w, a->sandbox);
		wr_u32(w, a->owner_uid);
		wr_u64(w, a->since_wall_ms);
		wr_u64(w, a->until_wall_ms);
		wr_str16(w, a->by);
		message_ask_encode(w, &a->ask);
	}
}

static void
api_asks_decode(struct rd *r, struct message_api_asks *m)
{
	m->count = api_count(r, API_ASKS_MAX);
	m->has_more = field_bool(r);
	for (uint32_t i = 0; i < m->count; i++) {
		struct message_api_ask *a = &m->asks[i];

		a->id = rd_u32(r);
		a->state = field_enum(r, API_ASK_STATES);
		field_sandbox(r, a->sandbox, false);
		a->owner_uid = rd_u32(r);
		a->since_wall_ms = rd_u64(r);
		a->until_wall_ms = rd_u64(r);
		field_printable(r, a->by, sizeof(a->by));
		(void)message_ask_decode(r, &a->ask);
	}
}

void
message_api_answer_encode(struct wr *w, const struct message_api_answer *m)
{
	wr_u8(w, m->result);
	wr_u8(w, m->payload);
	wr_str16(w, m->text);
	wr_span16(w, m->findings);
	if (m->payload == API_PAYLOAD_SANDBOX)
		api_sandbox_encode(w, m->sandbox);
	else if (m->payload == API_PAYLOAD_LIST)
		api_page_encode(w, m->page);
	else if (m->payload == API_PAYLOAD_STATUS)
		api_status_encode(w, m->status);
	else if (m->payload == API_PAYLOAD_ASKS)
		api_asks_encode(w, m->asks);
	else if (m->payload == API_PAYLOAD_TOP) {
		api_status_encode(w, m->status);
		message_top_encode(w, m->top);
	}
}

int
message_api_answer_decode(struct rd *r, char text_buf[API_TEXT_SIZE],
    struct message_api_answer *ret)
{
	ret->result = field_enum(r, API_RESULT_COUNT);
	ret->payload = field_enum(r, API_PAYLOAD_COUNT);
	field_printable(r, text_buf, API_TEXT_SIZE);
	ret->text = text_buf;
	ret->findings = rd_str16(r, API_FINDINGS_MAX_BYTES);
	if (!rd_ok(r))
		return -EBADMSG;
	if (ret->payload == API_PAYLOAD_SANDBOX)
		api_sandbox_decode(r, ret->sandbox);
	else if (ret->payload == API_PAYLOAD_LIST)
		api_page_decode(r, ret->page);
	else if (ret->payload == API_PAYLOAD_STATUS)
		api_status_decode(r, ret->status);
	else if (ret->payload == API_PAYLOAD_ASKS)
		api_asks_decode(r, ret->asks);
	else if (ret->payload == API_PAYLOAD_TOP) {
		api_status_decode(r, ret->status);
		(void)message_top_decode(r, ret->top);
	}
	return field_result(r);
}

void
message_api_event_encode(struct wr *w, const struct message_api_event *m)
{
	wr_u64(w, m->wall_ms);
	wr_str16(w, m->name);
	wr_u64(w, m->generation);
	wr_u32(w, m->owner_uid);
	wr_str16(w, m->what);
}

int
message_api_event_decode(struct rd *r, struct message_api_event *ret)
{
	struct message_api_event m = { 0 };

	m.wall_ms = rd_u64(r);
	field_sandbox(r, m.name, true);
	m.generation = rd_u64(r);
	m.owner_uid = rd_u32(r);
	field_printable(r, m.what, sizeof(m.what));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
