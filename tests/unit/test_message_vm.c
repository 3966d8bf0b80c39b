/*
 * What supervisor and tapward-vm say to each other: read back as written, and
 * nothing that no honest sender writes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/message.h"
#include "base/message_vm.h"

static const struct message_vm_spec spec = {
	.driver = VM_DRIVER_FIRECRACKER,
	.needs_kvm = true,
	.has_hold = true,
	.cpus = 2,
	.memory_mib = 1024,
	.max_duration_s = 3600,
	.console_bytes = 65536,
	.disk_mib = 10240,
	.io_bytes = 1ull << 33,
	.io_operations = 5000,
	.processes = 512,
	.name = "one",
	.guest_ip = 0x64400002,
	.gateway_ip = 0x64400001,
	.prefix_len = 30,
	.guest_mac = { 2, 0, 0, 0, 0, 1 },
};

static int
through_spec(const struct message_vm_spec *m, struct message_vm_spec *ret)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	message_vm_spec_encode(&w, m);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	return message_vm_spec_decode(&r, ret);
}

static void
a_spec_is_read_back_as_it_was_written(void **state)
{
	struct message_vm_spec got;

	(void)state;
	assert_int_equal(through_spec(&spec, &got), 0);
	assert_memory_equal(&got, &spec, sizeof(got));
}

static void
a_spec_of_nothing_that_can_run_is_refused(void **state)
{
	struct message_vm_spec bad, got;

	(void)state;
	bad = spec;
	bad.cpus = 0;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.cpus = VM_CPUS_MAX + 1;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.memory_mib = VM_MEMORY_MIN_MIB - 1;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.driver = VM_DRIVER_COUNT;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.name[0] = '/';
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.prefix_len = 33;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.console_bytes = 0;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.io_bytes = 0;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.io_operations = 0;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
	bad = spec;
	bad.processes = 0;
	assert_int_equal(through_spec(&bad, &got), -EBADMSG);
}

static void
a_message_that_is_cut_is_refused(void **state)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct message_vm_state m = { .spec = spec,
		.state = VM_STATE_ENDED,
		.text = "the guest powered off",
		.console = "a line\nanother\n" };
	struct message_vm_state got;
	struct rd r;

	(void)state;
	message_vm_state_encode(&w, &m);
	for (size_t len = 0; len < w.len; len++) {
		r = rd_init(buf, len);
		assert_int_equal(message_vm_state_decode(&r, &got), -EBADMSG);
	}
	r = rd_init(buf, w.len);
	assert_int_equal(message_vm_state_decode(&r, &got), 0);
	assert_string_equal(got.text, m.text);
	assert_string_equal(got.console, m.console);
	assert_int_equal(got.state, VM_STATE_ENDED);
}

/* Both go to terminals and into the audit log. */
static void
text_that_is_not_printable_is_refused(void **state)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct message_vm_state m = { .spec = spec, .text = "a\033[31mb" };
	struct message_vm_state got;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_vm_state_encode(&w, &m);
	r = rd_init(buf, w.len);
	assert_int_equal(message_vm_state_decode(&r, &got), -EBADMSG);
	m.text[0] = '\0';
	memcpy(m.console, "a\rb", 4);
	w = wr_init(buf, sizeof(buf));
	message_vm_state_encode(&w, &m);
	r = rd_init(buf, w.len);
	assert_int_equal(message_vm_state_decode(&r, &got), -EBADMSG);
}

static void
drivers_have_names(void **state)
{
	uint8_t driver;

	(void)state;
	for (uint8_t i = 0; i < VM_DRIVER_COUNT; i++) {
		assert_true(vm_driver_find(vm_driver_name(i), &driver));
		assert_int_equal(driver, i);
	}
	assert_false(vm_driver_find("vmware", &driver));
	assert_null(vm_driver_name(VM_DRIVER_COUNT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spec_is_read_back_as_it_was_written),
		cmocka_unit_test(a_spec_of_nothing_that_can_run_is_refused),
		cmocka_unit_test(a_message_that_is_cut_is_refused),
		cmocka_unit_test(text_that_is_not_printable_is_refused),
		cmocka_unit_test(drivers_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
