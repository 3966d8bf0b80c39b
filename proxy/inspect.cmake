# What looks into a connection: TLS, HTTP, credentials. And tapward-ca.

tapward_library(tapward_roots
	SOURCES roots.c roots_store.c
	LINK tapward_conf tapward_base PkgConfig::CRYPTO)

# Streams of bytes, by TLS or not; what asks resolvers has them, too.
tapward_library(tapward_stream
	SOURCES
		buf.c
		stream.c
		stream_bio.c
		tls_context.c
	LINK tapward_base PkgConfig::EVENT PkgConfig::SSL PkgConfig::CRYPTO)

# For the core, which hears of them, and the exchange, which asks.
tapward_library(tapward_grants
	SOURCES grants.c
	LINK tapward_wire tapward_base)

# Leases as they are sent and looked for: the core keeps them.
tapward_library(tapward_inject
	SOURCES inject.c scan.c scan_forms.c
	LINK tapward_wire tapward_base PkgConfig::CRYPTO)

# The search of what comes back; the fuzzer drives it alone.
tapward_library(tapward_sieve
	SOURCES
		decode.c
		decode_brotli.c
		decode_zlib.c
		decode_zstd.c
		sieve.c
	LINK tapward_stream tapward_inject tapward_wire tapward_base PkgConfig::ZLIB
		PkgConfig::BROTLI PkgConfig::ZSTD)

# What SDKs of clouds find in a guest; the fuzzer drives it alone.
tapward_library(tapward_metadata
	SOURCES metadata.c
	LINK tapward_grants tapward_sigv4 tapward_digest tapward_wire
		tapward_base PkgConfig::CRYPTO)

tapward_library(tapward_x509
	SOURCES x509_make.c
	LINK PkgConfig::CRYPTO)

tapward_library(tapward_ca_make
	SOURCES ca_make.c roots_build.c
	LINK tapward_x509 tapward_conf tapward_base PkgConfig::CRYPTO)

tapward_library(tapward_inspect
	SOURCES
		blocks.c
		client_key.c
		deny.c
		exchange.c
		exchange_answer.c
		exchange_ask.c
		exchange_audit.c
		exchange_connect.c
		exchange_metadata.c
		exchange_meter.c
		exchange_lease.c
		exchange_lfs.c
		exchange_push.c
		exchange_push_judge.c
		exchange_query.c
		exchange_request.c
		exchange_search.c
		exchange_sign.c
		exchange_tunnel.c
		exchange_up.c
		h1_guest.c
		h1_guest_answer.c
		h1_guest_head.c
		h1_guest_look.c
		h1_guest_time.c
		h1_guest_tunnel.c
		h2_guest.c
		h2_guest_session.c
		h2_guest_stream.c
		h2_head.c
		h2_link.c
		h2_origin.c
		h2_origin_session.c
		h2_origin_stream.c
		h2_past.c
		inspect.c
		origin.c
		origin_answer.c
		origin_proof.c
		origin_send.c
		origin_tunnel.c
		pack_look.c
		pool.c
		resign.c
		resign_mint.c
		push_report.c
		tls_ca.c
		tls_guest.c
		tls_leaf.c
		tls_origin.c
		websocket_scan.c
	LINK tapward_grants tapward_hold tapward_inject tapward_metadata
		tapward_meter tapward_redirect
		tapward_sieve
		tapward_sigv4
		tapward_stream
		tapward_roots tapward_x509 tapward_conf tapward_wire tapward_base
		PkgConfig::EVENT PkgConfig::SSL PkgConfig::CRYPTO
		PkgConfig::NGHTTP2 PkgConfig::ZLIB)

tapward_program(tapward-ca
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES ca_main.c
	LINK tapward_ca_make tapward_base PkgConfig::CRYPTO)

tapward_library(tapward_fix_cert
	SOURCES ${PROJECT_SOURCE_DIR}/tests/unit/fix_cert.c
	LINK tapward_ca_make tapward_x509 PkgConfig::CRYPTO PkgConfig::CMOCKA)

# The inspected path in which the test plays everybody else.
tapward_library(tapward_inspect_fixture
	SOURCES
		${PROJECT_SOURCE_DIR}/tests/unit/h2_peer.c
		${PROJECT_SOURCE_DIR}/tests/unit/h2_raw.c
		${PROJECT_SOURCE_DIR}/tests/unit/inspect_fixture.c
		${PROJECT_SOURCE_DIR}/tests/unit/inspect_peer.c
		${PROJECT_SOURCE_DIR}/tests/unit/inspect_ports.c
		${PROJECT_SOURCE_DIR}/tests/unit/side_peer.c
	LINK tapward_inspect tapward_ca_make tapward_compile_lib
		tapward_fix_cert PkgConfig::CMOCKA)

# The search, without connections.
tapward_library(tapward_say
	SOURCES
		${PROJECT_SOURCE_DIR}/tests/unit/code.c
		${PROJECT_SOURCE_DIR}/tests/unit/say.c
	LINK tapward_sieve tapward_base PkgConfig::CRYPTO PkgConfig::ZLIB
		PkgConfig::BROTLI_ENCODER PkgConfig::ZSTD)

foreach(module decode scan sieve)
	tapward_unit_test(${module} LINK tapward_say)
endforeach()
tapward_fuzz_target(roots LINK tapward_roots)
tapward_fuzz_target(scan LINK tapward_say)

foreach(module blocks buf client_key deny exchange exchange_ask exchange_budget exchange_ends
		exchange_explicit
		exchange_lease exchange_search exchange_sign exchange_sign_body grants h2_ends h2_floods
		h2_link h2_matrix h2_origin h2_past h2_rows inject inspect pool redirect
		smuggling tls tls_leaf tls_origin tls_roots trailers tunnel tunnel_ends tunnel_scan
		websocket_scan)
	tapward_unit_test(${module} LINK tapward_inspect_fixture)
endforeach()
tapward_unit_test(leaks LINK tapward_inspect_fixture tapward_say)
tapward_unit_test(exchange_push LINK tapward_inspect_fixture tapward_say)
target_compile_definitions(test_exchange_push PRIVATE
	TEST_CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus/pack_look")

tapward_unit_test(stream LINK tapward_inspect)
tapward_unit_test(roots LINK tapward_ca_make tapward_roots tapward_hostconf)
tapward_fuzz_target(exchange LINK tapward_inspect_fixture)
tapward_fuzz_target(h2_guest LINK tapward_inspect_fixture)
tapward_fuzz_target(h2_origin LINK tapward_inspect_fixture)
tapward_fuzz_target(inject LINK tapward_inspect)
tapward_fuzz_target(metadata LINK tapward_metadata)
tapward_unit_test(metadata LINK tapward_inspect_fixture)
tapward_fuzz_target(redirect LINK tapward_redirect)
tapward_fuzz_target(deny LINK tapward_inspect PkgConfig::JANSSON)
tapward_fuzz_target(tls_agree
	LINK tapward_wire PkgConfig::SSL PkgConfig::CRYPTO)
tapward_fuzz_target(websocket_scan LINK tapward_inspect)
tapward_fuzz_target(pack_look LINK tapward_inspect)
tapward_unit_test(pack_look LINK tapward_inspect)
target_compile_definitions(test_pack_look PRIVATE
	TEST_CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus/pack_look")
