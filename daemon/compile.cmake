# tapward-compile: reads policies, so it has the parsers and nothing else.

tapward_program(tapward-compile
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES compile_main.c
	LINK tapward_compile_lib tapward_presets)
tapward_root_test(compile_program LINK tapward_conf)
target_compile_definitions(test_compile_program PRIVATE
	TEST_COMPILE="$<TARGET_FILE:tapward-compile>")
add_dependencies(test_compile_program tapward-compile)
