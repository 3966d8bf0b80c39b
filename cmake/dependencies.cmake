# Every library we link, by its pkg-config name; the reason for each is in
# README.md, the Debian package that brings it in tools/packages.

find_package(PkgConfig REQUIRED)

function(tapward_dependency name module)
	pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
endfunction()

tapward_dependency(EVENT libevent_core)
tapward_dependency(CRYPTO libcrypto)
tapward_dependency(SSL libssl)
tapward_dependency(NGHTTP2 libnghttp2)
tapward_dependency(ZLIB zlib)
tapward_dependency(BROTLI libbrotlidec)
tapward_dependency(BROTLI_ENCODER libbrotlienc)
tapward_dependency(ZSTD libzstd)
tapward_dependency(CARES libcares)
tapward_dependency(CURL libcurl)
tapward_dependency(NFTNL libnftnl)
tapward_dependency(MNL libmnl)
tapward_dependency(INIH inih)
tapward_dependency(PSL libpsl)
tapward_dependency(JANSSON jansson)
tapward_dependency(SECCOMP libseccomp)
tapward_dependency(CMOCKA cmocka)
