# The four kinds of target. Includes are written from the root of the tree
# ("base/bytes.h"), so that a folder's name shows in every #include; the test
# tests/check/layers holds who may include whom.

# tapward_library(NAME SOURCES a.c b.c LINK lib ...)
function(tapward_library name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
	add_library(${name} STATIC ${arg_SOURCES})
	target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
	target_link_libraries(${name}
		PUBLIC tapward_codegen ${arg_LINK}
		PRIVATE tapward_warnings)
endfunction()

# tapward_program(NAME DESTINATION dir SOURCES ... LINK ...)
function(tapward_program name)
	cmake_parse_arguments(arg "" "DESTINATION" "SOURCES;LINK" ${ARGN})
	add_executable(${name} ${arg_SOURCES})
	target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
	target_link_libraries(${name} PRIVATE ${arg_LINK} tapward_codegen
		tapward_warnings)
	# One tree that runs from anywhere, before installation too: a program
	# finds the others beside itself (base/paths.h).
	set_target_properties(${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY
		${PROJECT_BINARY_DIR}/tree/${arg_DESTINATION})
	install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
	# All of them, without the tests: what a package needs.
	if(NOT TARGET programs)
		add_custom_target(programs)
	endif()
	add_dependencies(programs ${name})
endfunction()

# The program of a unit test or a root test.
function(tapward_test_program module)
	cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
	add_executable(test_${module}
		${PROJECT_SOURCE_DIR}/tests/unit/test_${module}.c)
	target_link_libraries(test_${module} PRIVATE ${arg_LINK}
		PkgConfig::CMOCKA tapward_codegen tapward_warnings)
	target_include_directories(test_${module} PRIVATE ${PROJECT_SOURCE_DIR})
	# What fuzzing wants fast is the product: a test is compiled sooner.
	if(TAPWARD_FUZZ)
		target_compile_options(test_${module} PRIVATE -O0)
	endif()
endfunction()

# tapward_unit_test(MODULE LINK ...): tests/unit/test_MODULE.c. Wants no root
# and no network.
function(tapward_unit_test module)
	tapward_test_program(${module} ${ARGN})
	add_test(NAME unit.${module} COMMAND test_${module})
	set_tests_properties(unit.${module} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# tapward_root_test(MODULE LINK ...): as a unit test, for one that needs root
# (namespaces, devices); labelled so that a plain user can leave it out.
function(tapward_root_test module)
	tapward_test_program(${module} ${ARGN})
	add_test(NAME root.${module} COMMAND test_${module})
	set_tests_properties(root.${module} PROPERTIES LABELS root TIMEOUT 120
		RUN_SERIAL ON)
endfunction()

# tapward_fuzz_target(MODULE LINK ...): tests/fuzz/fuzz_MODULE.c with the corpus
# tests/corpus/MODULE/ and, for some, with what tools/payloads makes of the
# end-to-end tests' payloads. With TAPWARD_FUZZ it is a libFuzzer program; else a
# main() replays the corpus, so that plain ctest holds what fuzzing found.
function(tapward_fuzz_target module)
	cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
	set(sources ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_${module}.c)
	set(corpus ${PROJECT_SOURCE_DIR}/tests/corpus/${module})
	if(module MATCHES "^(http_request|http_response|chunked|exchange)$")
		set(fixture payloads)
		list(APPEND corpus ${PROJECT_BINARY_DIR}/payloads/${module})
	endif()
	if(NOT TAPWARD_FUZZ)
		list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.c)
	endif()
	add_executable(fuzz_${module} ${sources})
	if(NOT TARGET fuzzers)
		add_custom_target(fuzzers)
	endif()
	add_dependencies(fuzzers fuzz_${module})
	target_link_libraries(fuzz_${module} PRIVATE ${arg_LINK}
		tapward_codegen tapward_warnings)
	target_include_directories(fuzz_${module} PRIVATE ${PROJECT_SOURCE_DIR})
	# Where tools/fuzz looks, whichever folder a target is of.
	set_target_properties(fuzz_${module} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
	if(TAPWARD_FUZZ)
		target_link_options(fuzz_${module} PRIVATE -fsanitize=fuzzer)
		# libFuzzer writes what it finds into the first folder.
		set(scratch ${PROJECT_BINARY_DIR}/corpus/${module})
		file(MAKE_DIRECTORY ${scratch})
		add_test(NAME fuzz.${module}
			COMMAND fuzz_${module} -runs=20000 -max_total_time=30
			-timeout=5 -rss_limit_mb=2048 ${scratch} ${corpus})
	else()
		add_test(NAME fuzz.${module} COMMAND fuzz_${module} ${corpus})
	endif()
	set_tests_properties(fuzz.${module} PROPERTIES LABELS fuzz TIMEOUT 120
		FIXTURES_REQUIRED "${fixture}")
endfunction()
