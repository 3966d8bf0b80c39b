/*
 * Supervisor and tapward-vm, see message_vm.h.
 */
#include "base/message_vm.h"

#include <string.h>

#include "base/message_field.h"

static const char *const drivers[VM_DRIVER_COUNT] = {
	[VM_DRIVER_QEMU] = "qemu",
	[VM_DRIVER_FIRECRACKER] = "firecracker",
	[VM_DRIVER_CLOUD_HYPERVISOR] = "cloud-hypervisor",
};

static const char *const states[VM_STATE_COUNT] = {
	[VM_STATE_STARTING] = "starting",
	[VM_STATE_BOOTING] = "booting",
	[VM_STATE_READY] = "ready",
	[VM_STATE_ENDED] = "ended",
};

const char *
vm_driver_name(uint8_t driver)
{
	return driver < VM_DRIVER_COUNT ? drivers[driver] : NULL;
}

bool
vm_driver_find(const char *name, uint8_t *ret)
{
	for (unsigned int i = 0; i < VM_DRIVER_COUNT; i++)
		if (strcmp(drivers[i], name) == 0) {
			*ret = (uint8_t)i;
			return true;
		}
	return false;
}

const char *
vm_state_name(uint8_t state)
{
	return state < VM_STATE_COUNT ? states[state] : "unknown";
}

void
message_vm_spec_encode(struct wr *w, const struct message_vm_spec *m)
{
	wr_u8(w, m->driver);
	field_bool_write(w, m->needs_kvm);
	field_bool_write(w, m->avoids_kvm);
	field_bool_write(w, m->has_hold);
	wr_u32(w, m->cpus);
	wr_u32(w, m->memory_mib);
	wr_u32(w, m->max_duration_s);
	wr_u32(w, m->console_bytes);
	wr_u32(w, m->disk_mib);
	wr_u64(w, m->io_bytes);
	wr_u32(w, m->io_operations);
	wr_u32(w, m->processes);
	wr_str16(w, m->name);
	wr_str16(w, m->image);
	wr_str16(w, m->commit);
	wr_str16(w, m->tap);
	wr_u32(w, m->guest_ip);
	wr_u32(w, m->gateway_ip);
	wr_u8(w, m->prefix_len);
	wr_bytes(w, m->guest_mac, sizeof(m->guest_mac));
}

/* As field_digest(), of 40 or 64 digits. */
static void
field_commit(struct rd *r, char buf[VM_COMMIT_SIZE])
{
	size_t len = rd_cstr16(r, buf, VM_COMMIT_SIZE);

	if (len != 0 && len != 40 && len != 64)
		rd_fail(r);
	for (size_t i = 0; i < len; i++)
		if (ascii_hex((uint8_t)buf[i]) == -1)
			rd_fail(r);
}

static void
take_mac(struct rd *r, uint8_t ret[6])
{
	struct span mac = rd_take(r, 6);

	if (rd_ok(r))
		memcpy(ret, mac.ptr, 6);
}

int
message_vm_spec_decode(struct rd *r, struct message_vm_spec *ret)
{
	struct message_vm_spec m = { .driver = 0 };

	m.driver = field_enum(r, VM_DRIVER_COUNT);
	m.needs_kvm = field_bool(r);
	m.avoids_kvm = field_bool(r);
	m.has_hold = field_bool(r);
	m.cpus = rd_u32(r);
	m.memory_mib = rd_u32(r);
	m.max_duration_s = rd_u32(r);
	m.console_bytes = rd_u32(r);
	m.disk_mib = rd_u32(r);
	m.io_bytes = rd_u64(r);
	m.io_operations = rd_u32(r);
	m.processes = rd_u32(r);
	field_sandbox(r, m.name, false);
	field_digest(r, m.image);
	field_commit(r, m.commit);
	field_printable(r, m.tap, sizeof(m.tap));
	m.guest_ip = rd_u32(r);
	m.gateway_ip = rd_u32(r);
	m.prefix_len = rd_u8(r);
	take_mac(r, m.guest_mac);
	if (m.cpus == 0 || m.cpus > VM_CPUS_MAX ||
	    m.memory_mib < VM_MEMORY_MIN_MIB ||
	    m.memory_mib > VM_MEMORY_MAX_MIB || m.disk_mib > VM_DISK_MAX_MIB ||
	    m.console_bytes == 0 || m.io_bytes == 0 || m.io_bytes > INT64_MAX ||
	    m.io_operations == 0 || m.processes == 0 || m.prefix_len > 32)
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_vm_state_encode(struct wr *w, const struct message_vm_state *m)
{
	message_vm_spec_encode(w, &m->spec);
	wr_u8(w, m->state);
	field_bool_write(w, m->has_kvm);
	wr_str16(w, m->text);
	wr_str16(w, m->console);
}

/* As field_printable(), of several lines. */
static void
take_lines(struct rd *r, char *buf, size_t size)
{
	size_t len = rd_cstr16(r, buf, size);

	for (size_t i = 0; i < len; i++)
		if (buf[i] != '\n' && (buf[i] < 0x20 || buf[i] > 0x7e))
			rd_fail(r);
}

int
message_vm_state_decode(struct rd *r, struct message_vm_state *ret)
{
	struct message_vm_state m = { .state = 0 };

	(void)message_vm_spec_decode(r, &m.spec);
	m.state = field_enum(r, VM_STATE_COUNT);
	m.has_kvm = field_bool(r);
	field_printable(r, m.text, sizeof(m.text));
	take_lines(r, m.console, sizeof(m.console));
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_vm_record_encode(struct wr *w, const struct message_vm_record *m)
{
	wr_u8(w, m->kind);
	wr_str16(w, m->how);
	wr_u32(w, m->ms);
	wr_u64(w, m->up);
	wr_u64(w, m->down);
	wr_span16(w, m->command);
}

int
message_vm_record_decode(struct rd *r, struct message_vm_record *ret)
{
	struct message_vm_record m = { .kind = 0 };

	m.kind = field_enum(r, VM_RECORD_KINDS);
	field_printable(r, m.how, sizeof(m.how));
	m.ms = rd_u32(r);
	m.up = rd_u64(r);
	m.down = rd_u64(r);
	m.command = rd_str16(r, VM_RECORD_COMMAND_MAX);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
