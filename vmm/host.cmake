# tapward-vm: one virtual machine on the host.

tapward_library(tapward_machine
	SOURCES
		boot.c
		cloud_hypervisor.c
		console.c
		cpio.c
		disk.c
		driver.c
		firecracker.c
		machine.c
		monitor_api.c
		pair.c
		qemu.c
		tsc.c
		vsock.c
	LINK tapward_base tapward_mux PkgConfig::EVENT PkgConfig::JANSSON)
tapward_library(tapward_image
	SOURCES vm_image.c vm_image_build.c
	LINK tapward_base tapward_digest PkgConfig::JANSSON)

configure_file(image/tapward-image-build
	${PROJECT_BINARY_DIR}/tree/${TAPWARD_LIBEXECDIR}/tapward-image-build
	COPYONLY)
install(PROGRAMS image/tapward-image-build DESTINATION ${TAPWARD_LIBEXECDIR})

tapward_program(tapward-vm
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES vm_main.c
	LINK tapward_machine)

foreach(module console cpio)
	tapward_unit_test(${module} LINK tapward_machine)
endforeach()
tapward_unit_test(vm_image LINK tapward_image)
