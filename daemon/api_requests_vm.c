/* Requests about virtual machines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "daemon/api_requests_private.h"
#include "daemon/supervisor.h"

/* Within the host's [limits]; refuses otherwise. */
static bool
check_size(const struct request *r)
{
	const uint64_t *limits = r->sv->config->host->limits;
	const struct {
		uint64_t asked;
		enum limit most;
	} rows[] = {
		{ r->m->cpus, LIMIT_VM_CPUS },
		{ (uint64_t)r->m->memory_mib << 20, LIMIT_VM_MEMORY },
		{ (uint64_t)r->m->disk_mib << 20, LIMIT_VM_DISK },
	};
	char text[API_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].asked <= limits[rows[i].most])
			continue;
		(void)snprintf(text, sizeof(text),
		    "this host gives one guest at most %" PRIu64
		    " ([limits] %s); ask for less",
		    limits[rows[i].most], limit_rows[rows[i].most].name);
		request_refuse(r, API_INVALID, text);
		return false;
	}
	if (r->m->cpus > 0 && r->m->memory_mib >= VM_MEMORY_MIN_MIB)
		return true;
	request_refuse(r, API_INVALID,
	    "a guest has at least one CPU and 128 MiB of memory");
	return false;
}

/* Three files that the caller opened, to be read only. */
static bool
check_files(const struct request *r)
{
	struct stat st;

	for (unsigned int i = 0; i < API_VM_FILES; i++)
		if (i >= r->fd_count || fstat(r->fds[i], &st) == -1 ||
		    !S_ISREG(st.st_mode)) {
			request_refuse(r, API_INVALID,
			    "a guest is started from three files: kernel, "
			    "modules and root image");
			return false;
		}
	return true;
}

static bool
check_startable(const struct request *r)
{
	const struct sandbox *s = r->sandbox;

	if (s->state.device != API_DEVICE_TAP) {
		request_refuse(r, API_INVALID,
		    "it has a veth; a virtual machine needs --device tap");
		return false;
	}
	if (s->vm != NULL) {
		request_refuse(r, API_EXISTS,
		    "a virtual machine runs in it already");
		return false;
	}
	/* Nothing starts before its gate serves the policy. */
	if (s->phase != SANDBOX_RUNNING || !sandbox_has_gate(s)) {
		request_refuse(r, API_UNAVAILABLE,
		    "its gate is being replaced; try again");
		return false;
	}
	return true;
}

void
request_vm_start(struct request *r)
{
	const struct net_plan *plan = &r->sv->plan;
	const uint64_t *limits = r->sv->config->host->limits;
	struct message_vm_spec spec = {
		.driver = r->m->driver,
		.needs_kvm = r->m->needs_kvm,
		.avoids_kvm = r->sv->config->host->has_no_kvm ||
		    (r->sv->is_kvm_broken && !r->m->needs_kvm),
		.has_hold = r->sandbox->hold_fd != -1,
		.cpus = r->m->cpus,
		.memory_mib = r->m->memory_mib,
		.disk_mib = r->m->disk_mib,
		.max_duration_s = r->m->max_duration_s,
		.console_bytes = (uint32_t)limits[LIMIT_VM_CONSOLE],
		.io_bytes = limits[LIMIT_VM_IO_RATE],
		.io_operations = (uint32_t)limits[LIMIT_VM_IO_OPERATIONS],
		.processes = (uint32_t)limits[LIMIT_VM_PROCESSES],
		.guest_ip = plan->guest_ip,
		.gateway_ip = plan->gateway_ip,
		.prefix_len = plan->prefix_len,
	};
	struct vm_files files;

	if (!check_files(r) || !check_size(r) || !check_startable(r))
		return;
	memcpy(spec.name, r->sandbox->state.name, sizeof(spec.name));
	(void)snprintf(spec.tap, sizeof(spec.tap), "%s",
	    sandbox_net_device(r->sandbox->net));
	memcpy(spec.image, r->m->image, sizeof(spec.image));
	memcpy(spec.commit, r->m->commit, sizeof(spec.commit));
	memcpy(spec.guest_mac, plan->guest_mac, sizeof(spec.guest_mac));
	files.kernel = steal_fd(&r->fds[API_VM_KERNEL]);
	files.modules = steal_fd(&r->fds[API_VM_MODULES]);
	files.root = steal_fd(&r->fds[API_VM_ROOT]);
	vm_start(r->sandbox, &spec, &r->to, &files);
}

static bool
check_runs(const struct request *r)
{
	if (vm_is_up(r->sandbox->vm))
		return true;
	request_refuse(r,
	    r->sandbox->vm == NULL ? API_NOT_FOUND : API_UNAVAILABLE,
	    r->sandbox->vm == NULL
		? "no virtual machine of ours runs in it; tapward create "
		  "--image starts one"
		: "its virtual machine is starting or ending; try again");
	return false;
}

void
request_vm_stop(struct request *r)
{
	if (!check_runs(r))
		return;
	if (vm_stop(r->sandbox->vm) == 0)
		request_answer_ok(r, -1);
	else
		request_refuse(r, API_UNAVAILABLE, "it is ending");
}

void
request_session(struct request *r)
{
	AUTO_CLOSE int fd = -1;

	if (!check_runs(r))
		return;
	if (vm_open_session(r->sandbox->vm, &fd) == 0)
		request_answer_ok(r, fd);
	else
		request_refuse(r, API_UNAVAILABLE, "it is ending");
}
