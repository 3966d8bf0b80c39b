# The dialler: a library for its tests and the program. c-ares is linked here
# and nowhere else; the broker finds its issuers by the same resolver, in the
# clear or by TLS.

tapward_library(tapward_resolver_lib
	SOURCES
		dialler_address.c
		dialler_answer.c
		dialler_ares.c
		dialler_cache.c
		dialler_connect.c
		dialler_health.c
		dialler_lane.c
		dialler_proxy.c
		dialler_query.c
		dialler_resolve.c
		dialler_tls.c
		dialler_tls_conn.c
		dialler_tls_query.c
	LINK tapward_stream tapward_roots tapward_conf tapward_wire
		tapward_base PkgConfig::EVENT PkgConfig::CARES PkgConfig::SSL
		PkgConfig::CRYPTO)

tapward_library(tapward_dialler_lib
	SOURCES
		dialler.c
		dialler_dial.c
		dialler_sandbox.c
		dialler_tunnel.c
	LINK tapward_resolver_lib tapward_conf tapward_wire tapward_base
		PkgConfig::EVENT)

tapward_program(tapward-dialler
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES dialler_main.c
	LINK tapward_dialler_lib)

tapward_library(tapward_test_nameserver
	SOURCES ${PROJECT_SOURCE_DIR}/tests/unit/nameserver.c
	LINK tapward_wire tapward_base PkgConfig::EVENT PkgConfig::CMOCKA)
tapward_library(tapward_test_dot_peer
	SOURCES ${PROJECT_SOURCE_DIR}/tests/unit/dot_peer.c
	LINK tapward_test_nameserver tapward_fix_cert tapward_stream
		PkgConfig::SSL PkgConfig::CMOCKA)
tapward_unit_test(dialler_tls
	LINK tapward_dialler_lib tapward_compile_lib tapward_ca_make
		tapward_test_dot_peer)
tapward_unit_test(dialler
	LINK tapward_dialler_lib tapward_compile_lib tapward_test_nameserver)
tapward_unit_test(dialler_bounds
	LINK tapward_dialler_lib tapward_compile_lib tapward_test_nameserver)
tapward_unit_test(dialler_failover
	LINK tapward_dialler_lib tapward_compile_lib tapward_test_nameserver)
tapward_unit_test(dialler_health
	LINK tapward_dialler_lib tapward_compile_lib tapward_test_nameserver)
tapward_unit_test(dialler_proxy
	LINK tapward_dialler_lib tapward_compile_lib tapward_test_nameserver)
tapward_unit_test(dialler_address LINK tapward_dialler_lib)
tapward_unit_test(dialler_cache LINK tapward_dialler_lib)
tapward_unit_test(dialler_connect LINK tapward_dialler_lib)
tapward_unit_test(dialler_answer LINK tapward_dialler_lib)
tapward_fuzz_target(dialler_answer LINK tapward_dialler_lib)

tapward_root_test(dialler_program
	LINK tapward_dialler_lib tapward_compile_lib tapward_ca_make
		tapward_test_dot_peer)
target_compile_definitions(test_dialler_program PRIVATE
	TAPWARD_DIALLER_PROGRAM="$<TARGET_FILE:tapward-dialler>")
add_dependencies(test_dialler_program tapward-dialler)
