# tapward-compile: reads policies, so it has the parsers and nothing else.

tapward_program(tapward-compile
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES compile_main.c
	LINK tapward_compile_lib tapward_presets)
