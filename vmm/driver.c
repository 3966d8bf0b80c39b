/* See driver.h. A new monitor is a row here and a file beside this one. */
#include "vmm/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

static const struct driver *const drivers[VM_DRIVER_COUNT] = {
	[VM_DRIVER_QEMU] = &driver_qemu,
	[VM_DRIVER_FIRECRACKER] = &driver_firecracker,
	[VM_DRIVER_CLOUD_HYPERVISOR] = &driver_cloud_hypervisor,
};

const struct driver *
driver_find(uint8_t which)
{
	return which < VM_DRIVER_COUNT ? drivers[which] : NULL;
}

bool
driver_has_kvm(void)
{
	AUTO_CLOSE int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd != -1;
}

const char *
driver_program(const char *const *paths)
{
	for (; *paths != NULL; paths++)
		if (access(*paths, X_OK) == 0)
			return *paths;
	return NULL;
}

int
driver_needs_kvm(const char *program, const char *name, struct err *err)
{
	if (program == NULL) {
		(void)err_at(err, NULL, 0,
		    "%s is not installed in /usr/bin or /usr/local/bin; "
		    "--driver qemu needs neither it nor KVM",
		    name);
		return -ENOENT;
	}
	if (driver_has_kvm())
		return 0;
	(void)err_at(err, NULL, 0,
	    "%s needs KVM, and this host has no /dev/kvm that can be used; "
	    "--driver qemu can do without",
	    name);
	return -ENODEV;
}
