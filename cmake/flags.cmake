# Warnings, hardening and sanitizers as INTERFACE libraries: nothing in
# CMAKE_C_FLAGS. What each flag found, and which were refused, is in HACKING.md.

add_library(tapward_warnings INTERFACE)
target_compile_options(tapward_warnings INTERFACE
	-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith
	-Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla -Walloca
	-Wformat=2 -Wswitch-enum -Wimplicit-fallthrough -Wconversion
	-Wsign-conversion -Wnull-dereference -Wredundant-decls
	-Wnested-externs -Wdate-time -Wunused-macros
	-Wframe-larger-than=16384
	$<$<C_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond
	-Wduplicated-branches -Wformat-signedness -Wformat-truncation=2
	-Wformat-overflow=2 -Wcast-align=strict -Walloc-zero
	-Warith-conversion -Wtrampolines -Wjump-misses-init
	-Wuse-after-free=3>
	$<$<C_COMPILER_ID:Clang>:-Wcomma -Wassign-enum
	-Wimplicit-int-conversion -Wshorten-64-to-32
	-Wconditional-uninitialized -Wunreachable-code-aggressive
	-Wextra-semi -Wover-aligned>
	$<$<BOOL:${TAPWARD_WERROR}>:-Werror>)

add_library(tapward_codegen INTERFACE)
target_compile_definitions(tapward_codegen INTERFACE _GNU_SOURCE)
target_compile_options(tapward_codegen INTERFACE
	-fno-common -fno-strict-aliasing -fno-strict-overflow
	-fno-delete-null-pointer-checks -fvisibility=hidden -fPIE)
# A target with the property TAPWARD_STATIC needs no loader.
target_link_options(tapward_codegen INTERFACE
	$<IF:$<BOOL:$<TARGET_PROPERTY:TAPWARD_STATIC>>,-static-pie,-pie>
	-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
	-Wl,-z,separate-code -Wl,--as-needed -Wl,-z,defs)

if(TAPWARD_HARDEN)
	target_compile_options(tapward_codegen INTERFACE
		-fstack-protector-strong -fstack-clash-protection
		-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
		$<$<C_COMPILER_ID:GNU>:-ftrivial-auto-var-init=zero
		-fzero-call-used-regs=used-gpr>
		$<$<C_COMPILER_ID:Clang>:-ftrivial-auto-var-init=pattern>)
endif()

if(TAPWARD_SANITIZE)
	target_compile_options(tapward_codegen INTERFACE
		-fsanitize=${TAPWARD_SANITIZE} -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	# The sanitizers' runtimes leave symbols undefined until load time.
	target_link_options(tapward_codegen INTERFACE
		-fsanitize=${TAPWARD_SANITIZE} -Wl,-z,undefs)
endif()

if(TAPWARD_FUZZ)
	target_compile_options(tapward_codegen INTERFACE
		-fsanitize=fuzzer-no-link)
endif()
