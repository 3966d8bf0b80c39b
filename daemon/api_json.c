/*
 * The members of each request are rows of a table, so that what is not in it
 * is an error and not ignored: a misspelt "ttl" must not make a sandbox that
 * lives for ever.
 */
#include "daemon/api_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "conf/policy.h"

/* Longest life of a sandbox: a year. */
#define API_TTL_MAX_S (366u * 24 * 3600)
/* Longest time that an answer stands: 30 days. */
#define API_FOR_MAX_S (30u * 24 * 3600)

struct api_reading {
	struct message_api_request *req;
	struct api_body *body;
	struct err *err;
};

static int
api_take_text(const struct api_reading *rd, const char *key, json_t *value,
    char *buf, size_t size)
{
	size_t len = json_string_length(value);
	const char *text = json_string_value(value);

	if (len >= size)
		return err_at(rd->err, NULL, 0,
		    "\"%s\" is too long: at most %zu bytes", key, size - 1);
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return err_at(rd->err, NULL, 0,
			    "\"%s\" must be printable ASCII", key);
	memcpy(buf, text, len);
	buf[len] = '\0';
	return 0;
}

/*
 * The supervisor ends whoever sends it a name that is none, and all callers'
 * connections with it: a caller's is judged here. "" stands for no name.
 */
static int
api_take_sandbox(const struct api_reading *rd, const char *key, json_t *value,
    char buf[SANDBOX_NAME_SIZE])
{
	int rc = api_take_text(rd, key, value, buf, SANDBOX_NAME_SIZE);

	if (rc != 0 || buf[0] == '\0' || sandbox_name_is_valid(buf))
		return rc;
	return err_at(rd->err, NULL, 0,
	    "\"%s\" is made of a to z, 0 to 9 and -, and does not begin "
	    "with -",
	    key);
}

static int
api_take_name(const struct api_reading *rd, json_t *value)
{
	return api_take_sandbox(rd, "name", value, rd->req->name);
}

static int
api_take_ca(const struct api_reading *rd, json_t *value)
{
	return api_take_sandbox(rd, "ca", value, rd->req->ca);
}

static int
api_take_policy_name(const struct api_reading *rd, json_t *value)
{
	return api_take_text(rd, "policy_name", value, rd->req->display_name,
	    sizeof(rd->req->display_name));
}

static int
api_take_policy(const struct api_reading *rd, json_t *value)
{
	size_t len = json_string_length(value);

	if (len > POLICY_TEXT_MAX_BYTES)
		return err_at(rd->err, NULL, 0,
		    "the policy has %zu bytes; at most %d are read", len,
		    POLICY_TEXT_MAX_BYTES);
	rd->body->policy = malloc(len + 1);
	if (rd->body->policy == NULL)
		return err_os(rd->err, -ENOMEM, "the policy's text");
	memcpy(rd->body->policy, json_string_value(value), len + 1);
	rd->body->policy_len = len;
	return 0;
}

static int
api_take_device(const struct api_reading *rd, json_t *value)
{
	const char *text = json_string_value(value);

	for (unsigned int i = 0; i < API_DEVICE_COUNT; i++) {
		if (strcmp(text, api_device_name((uint8_t)i)) == 0) {
			rd->req->device = (uint8_t)i;
			return 0;
		}
	}
	return err_at(rd->err, NULL, 0, "\"device\" is \"tap\" or \"veth\"");
}

static int
api_take_number(const struct api_reading *rd, const char *key, json_t *value,
    uint32_t max, uint32_t *ret)
{
	json_int_t v = json_integer_value(value);

	if (v < 0 || (uint64_t)v > max)
		return err_at(rd->err, NULL, 0,
		    "\"%s\" is a number from 0 to %u", key, max);
	*ret = (uint32_t)v;
	return 0;
}

static int
api_take_owner(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "owner", value, API_OWNER_PEER - 1,
	    &rd->req->owner_uid);
}

static int
api_take_ttl(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "ttl", value, API_TTL_MAX_S,
	    &rd->req->ttl_s);
}

static int
api_take_tied(const struct api_reading *rd, json_t *value)
{
	rd->req->is_tied = json_is_true(value);
	return 0;
}

static int
api_take_learn(const struct api_reading *rd, json_t *value)
{
	rd->req->learns = json_is_true(value);
	return 0;
}

static int
api_take_driver(const struct api_reading *rd, json_t *value)
{
	if (vm_driver_find(json_string_value(value), &rd->req->driver))
		return 0;
	return err_at(rd->err, NULL, 0,
	    "\"driver\" is \"qemu\", \"firecracker\" or "
	    "\"cloud-hypervisor\"");
}

static int
api_take_kvm(const struct api_reading *rd, json_t *value)
{
	rd->req->needs_kvm = json_is_true(value);
	return 0;
}

static int
api_take_cpus(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "cpus", value, VM_CPUS_MAX, &rd->req->cpus);
}

static int
api_take_memory(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "memory_mib", value, VM_MEMORY_MAX_MIB,
	    &rd->req->memory_mib);
}

static int
api_take_disk(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "disk_mib", value, VM_DISK_MAX_MIB,
	    &rd->req->disk_mib);
}

static int
api_take_duration(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "max_duration", value, API_TTL_MAX_S,
	    &rd->req->max_duration_s);
}

/* So many lower-case hexadecimal digits; the supervisor ends who sends less. */
static int
api_take_hex(const struct api_reading *rd, const char *key, json_t *value,
    char *buf, size_t size)
{
	int rc = api_take_text(rd, key, value, buf, size);
	size_t len = strlen(buf);
	bool is_hex = rc == 0;

	for (size_t i = 0; is_hex && i < len; i++)
		is_hex = ascii_hex((uint8_t)buf[i]) != -1 &&
		    ascii_lower((uint8_t)buf[i]) == (uint8_t)buf[i];
	if (is_hex && (len == 64 || len == 40 || len == 0))
		return 0;
	buf[0] = '\0';
	return err_at(rd->err, NULL, 0,
	    "\"%s\" is a digest in lower-case "
	    "hexadecimal",
	    key);
}

static int
api_take_image(const struct api_reading *rd, json_t *value)
{
	int rc = api_take_hex(rd, "image", value, rd->req->image,
	    sizeof(rd->req->image));

	if (rc != 0 || strlen(rd->req->image) != 40)
		return rc;
	return err_at(rd->err, NULL, 0, "\"image\" is a SHA-256");
}

static int
api_take_commit(const struct api_reading *rd, json_t *value)
{
	return api_take_hex(rd, "commit", value, rd->req->commit,
	    sizeof(rd->req->commit));
}

static int
api_take_answer(const struct api_reading *rd, json_t *value)
{
	const char *text = json_string_value(value);

	rd->req->is_allowed = strcmp(text, "allow") == 0;
	if (rd->req->is_allowed || strcmp(text, "deny") == 0)
		return 0;
	return err_at(rd->err, NULL, 0, "\"answer\" is \"allow\" or \"deny\"");
}

static int
api_take_for(const struct api_reading *rd, json_t *value)
{
	return api_take_number(rd, "for", value, API_FOR_MAX_S,
	    &rd->req->for_s);
}

static int
api_take_netns(const struct api_reading *rd, json_t *value)
{
	rd->req->in_netns = json_is_true(value);
	return 0;
}

enum api_type { API_TYPE_STRING, API_TYPE_INTEGER, API_TYPE_BOOL };

static const char *const api_type_names[] = {
	[API_TYPE_STRING] = "a string",
	[API_TYPE_INTEGER] = "a whole number",
	[API_TYPE_BOOL] = "true or false",
};

#define OP(op) (1u << (op))

static const struct api_member {
	const char *key;
	unsigned int ops;
	enum api_type type;
	int (*take)(const struct api_reading *rd, json_t *value);
} api_members[] = {
	{ "name", OP(API_CREATE), API_TYPE_STRING, api_take_name },
	{ "ca", OP(API_CREATE), API_TYPE_STRING, api_take_ca },
	{ "device", OP(API_CREATE), API_TYPE_STRING, api_take_device },
	{ "owner", OP(API_CREATE), API_TYPE_INTEGER, api_take_owner },
	{ "ttl", OP(API_CREATE), API_TYPE_INTEGER, api_take_ttl },
	{ "policy", OP(API_CREATE) | OP(API_RELOAD), API_TYPE_STRING,
	    api_take_policy },
	{ "policy_name", OP(API_CREATE) | OP(API_RELOAD), API_TYPE_STRING,
	    api_take_policy_name },
	{ "netns", OP(API_ATTACH), API_TYPE_BOOL, api_take_netns },
	{ "tied", OP(API_CREATE), API_TYPE_BOOL, api_take_tied },
	{ "learn", OP(API_CREATE), API_TYPE_BOOL, api_take_learn },
	{ "driver", OP(API_VM_START), API_TYPE_STRING, api_take_driver },
	{ "require_kvm", OP(API_VM_START), API_TYPE_BOOL, api_take_kvm },
	{ "cpus", OP(API_VM_START), API_TYPE_INTEGER, api_take_cpus },
	{ "memory_mib", OP(API_VM_START), API_TYPE_INTEGER, api_take_memory },
	{ "disk_mib", OP(API_VM_START), API_TYPE_INTEGER, api_take_disk },
	{ "image", OP(API_VM_START), API_TYPE_STRING, api_take_image },
	{ "commit", OP(API_VM_START), API_TYPE_STRING, api_take_commit },
	{ "answer", OP(API_ANSWER), API_TYPE_STRING, api_take_answer },
	{ "for", OP(API_ANSWER), API_TYPE_INTEGER, api_take_for },
	{ "max_duration", OP(API_VM_START), API_TYPE_INTEGER,
	    api_take_duration },
};

static bool
api_type_fits(enum api_type type, const json_t *value)
{
	switch (type) {
	case API_TYPE_STRING:
		return json_is_string(value);
	case API_TYPE_INTEGER:
		return json_is_integer(value);
	case API_TYPE_BOOL:
		return json_is_boolean(value);
	}
	return false;
}

static int
api_read_member(const struct api_reading *rd, const char *key, json_t *value)
{
	for (size_t i = 0; i < sizeof(api_members) / sizeof(*api_members);
	     i++) {
		const struct api_member *m = &api_members[i];

		if (strcmp(key, m->key) != 0 || !(m->ops & OP(rd->req->op)))
			continue;
		if (!api_type_fits(m->type, value))
			return err_at(rd->err, NULL, 0, "\"%s\" must be %s",
			    key, api_type_names[m->type]);
		return m->take(rd, value);
	}
	return err_at(rd->err, NULL, 0,
	    "this request has no member of that name; see tapward(1)");
}

int
api_json_read(struct span text, struct message_api_request *req,
    struct api_body *body, struct err *err)
{
	struct api_reading rd = { req, body, err };
	json_error_t fault;
	const char *key;
	json_t *value;
	int rc = 0;
	json_t *root = json_loadb((const char *)text.ptr, text.len,
	    JSON_REJECT_DUPLICATES, &fault);

	if (root == NULL)
		return err_at(err, NULL, 0, "the body is not JSON: line %d",
		    fault.line);
	if (!json_is_object(root)) {
		json_decref(root);
		return err_at(err, NULL, 0, "the body is not a JSON object");
	}
	json_object_foreach(root, key, value)
	{
		rc = api_read_member(&rd, key, value);
		if (rc != 0)
			break;
	}
	json_decref(root);
	return rc;
}

void
api_body_done(struct api_body *b)
{
	free(b->policy);
	*b = (struct api_body){ NULL, 0 };
}

static json_t *
api_json_address(uint32_t ip, unsigned int prefix)
{
	char text[24];
	struct wr w = wr_init(text, sizeof(text));

	wr_fmt(&w, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
	    ip & 255);
	if (prefix != 0)
		wr_fmt(&w, "/%u", prefix);
	return json_stringn(text, w.len);
}

static json_t *
api_json_mac(const uint8_t mac[6])
{
	char text[18];

	(void)snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x",
	    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return json_string(text);
}

json_t *
api_json_time(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	return wall_ms == 0 ? json_null()
			    : json_string(clock_text(wall_ms, text));
}

static json_t *
api_json_proxy(const struct message_api_sandbox *s)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "http://%u.%u.%u.%u:%u",
	    s->gateway_ip >> 24, s->gateway_ip >> 16 & 255,
	    s->gateway_ip >> 8 & 255, s->gateway_ip & 255, s->proxy_port);
	return json_string(text);
}

static json_t *
api_json_credentials(const struct message_api_sandbox *s)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < s->credential_count; i++) {
		const struct message_api_credential *c = &s->credentials[i];
		json_t *one = json_pack("{s:s, s:s, s:s*}", "name", c->name,
		    "placeholder", c->placeholder, "region",
		    c->region[0] == '\0' ? NULL : c->region);

		if (json_array_append_new(all, one) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

/* By reason, those that there are. */
static json_t *
api_json_dropped(const struct message_api_sandbox *s)
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < REASON_PACKET_COUNT; i++) {
		const char *code =
		    reason_code((enum reason)(REASON_PACKET_FIRST + i));

		if (s->dropped[i] != 0 &&
		    json_object_set_new(all, code,
			json_integer((json_int_t)s->dropped[i])) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *
api_json_lines(const char *text)
{
	json_t *all = json_array();
	struct rd r = rd_span(span_of(text));

	while (rd_left(&r) > 0) {
		const uint8_t *end = memchr(r.at, '\n', r.left);
		struct span line =
		    rd_take(&r, end == NULL ? r.left : (size_t)(end - r.at));

		rd_skip(&r, rd_left(&r) > 0 ? 1 : 0);
		if (json_array_append_new(all,
			json_stringn((const char *)line.ptr, line.len)) != 0)
			break;
	}
	return all;
}

static const char *
api_cgroup_name(uint8_t version)
{
	static const char *const names[] = { "none", "cgroup-v1", "cgroup-v2" };

	return version < 3 ? names[version] : names[0];
}

/* What runs in it, how, and within which limits; null without one. */
static json_t *
api_json_vm(const struct message_api_sandbox *s)
{
	const struct message_vm_state *said = &s->vm.said;

	if (!s->has_vm)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:i, s:i, s:i,"
			 " s:i, s:i, s:s, s:s, s:s, s:o}",
	    "state", vm_state_name(said->state), "driver",
	    vm_driver_name(said->spec.driver), "accelerator",
	    said->has_kvm ? "kvm" : "tcg", "cpus", (int)said->spec.cpus,
	    "memory_mib", (int)said->spec.memory_mib, "disk_mib",
	    (int)said->spec.disk_mib, "io_bytes",
	    (json_int_t)said->spec.io_bytes, "io_operations",
	    (int)said->spec.io_operations, "processes",
	    (int)said->spec.processes, "console_bytes",
	    (int)said->spec.console_bytes, "max_duration",
	    (int)said->spec.max_duration_s, "pid", (int)s->vm.pid, "limits",
	    api_cgroup_name(s->vm.cgroup_version), "image", said->spec.image,
	    "reason", said->text, "console", api_json_lines(said->console));
}

json_t *
api_json_sandbox(const struct message_api_sandbox *s)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:o, s:o, s:o,"
			 " s:o, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:i, s:i,"
			 " s:o, s:o, s:b, s:b, s:o}",
	    "name", s->name, "state", api_state_name(s->state), "kind",
	    api_device_name(s->device), "owner", (json_int_t)s->owner_uid,
	    "generation", (json_int_t)s->generation, "netns", s->netns,
	    "device", s->device_name, "guest_ip",
	    api_json_address(s->guest_ip, s->prefix), "guest_mac",
	    api_json_mac(s->guest_mac), "gateway",
	    api_json_address(s->gateway_ip, 0), "dns",
	    api_json_address(s->gateway_ip, 0), "ca", s->ca, "ca_id", s->ca_id,
	    "proxy", api_json_proxy(s), "policy", s->policy_file,
	    "policy_digest", s->policy_digest, "created",
	    api_json_time(s->created_wall_ms), "ttl_end",
	    api_json_time(s->ttl_end_wall_ms), "gate_pid", (int)s->gate_pid,
	    "gate_restarts", (int)s->gate_restarts, "dropped",
	    api_json_dropped(s), "credentials", api_json_credentials(s), "tied",
	    (int)s->is_tied, "learning", (int)s->learns, "vm", api_json_vm(s));
}

json_t *
api_json_entry(const struct message_api_entry *e)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:b}", "name", e->name,
	    "state", api_state_name(e->state), "kind",
	    api_device_name(e->device), "owner", (json_int_t)e->owner_uid,
	    "created", api_json_time(e->created_wall_ms), "learning",
	    (int)e->learns);
}

json_t *
api_json_event(const struct message_api_event *e)
{
	return json_pack("{s:o, s:s, s:I, s:s}", "time",
	    api_json_time(e->wall_ms), "sandbox", e->name, "generation",
	    (json_int_t)e->generation, "event", e->what);
}

/* One finding a line; jansson refuses what is not UTF-8, so bytes are cut. */
static int
api_json_findings(json_t *all, struct span findings)
{
	struct rd r = rd_span(findings);

	while (rd_left(&r) > 0) {
		const uint8_t *end = memchr(r.at, '\n', r.left);
		size_t len = end == NULL ? r.left : (size_t)(end - r.at);
		struct span line = rd_take(&r, len);

		rd_skip(&r, rd_left(&r) > 0 ? 1 : 0);
		if (line.len > 0 &&
		    json_array_append_new(all,
			json_stringn((const char *)line.ptr, line.len)) != 0)
			return -EINVAL;
	}
	return 0;
}

json_t *
api_json_error(const char *text, struct span findings)
{
	json_t *all = json_array();

	if (api_json_findings(all, findings) != 0)
		json_array_clear(all);
	return json_pack("{s:s, s:o}", "error", text, "findings", all);
}
