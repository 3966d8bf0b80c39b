# Shared by the programs in tools/; sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'
else
	bold='' red='' plain=''
fi

say() {
	printf '%s==> %s%s\n' "$bold" "$*" "$plain"
}

fail() {
	printf '%s%s%s\n' "$red" "$*" "$plain" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] ||
		fail "tools/$(basename "$0") makes network namespaces and devices: run it as root (sudo tools/$(basename "$0"))"
}

# packages GROUP...: installs what tools/packages lists for these groups and
# the machine does not have.
packages() {
	local pattern missing
	pattern=$(IFS='|'; printf '%s' "$*")
	mapfile -t missing < <(grep -E "^($pattern)[[:space:]]" \
		"$root/tools/packages" | awk '{ print $2 }' | sort -u |
		while read -r package; do
			dpkg-query -W -f '${db:Status-Abbrev}' "$package" \
				2>/dev/null | grep -q '^ii' || echo "$package"
		done)
	[ "${#missing[@]}" -gt 0 ] || return 0
	say "installing: ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	if ! apt-get -qq -o DPkg::Lock::Timeout=300 update >/dev/null ||
		! apt-get -qq -y --no-install-recommends \
			-o DPkg::Lock::Timeout=300 install "${missing[@]}" >/dev/null; then
		fail "apt-get could not install: ${missing[*]}"
	fi
}

# A package's own service would take the ports that tests and demo use.
no_services() {
	[ -e /usr/sbin/policy-rc.d ] && return 0
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod 755 /usr/sbin/policy-rc.d
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

# build PRESET [OPTION...]: configures it, with further options, and builds it;
# of it the target that $only names, if it does.
build() {
	cmake -S "$root" --preset "$@" >"$root/build/.$1.log" 2>&1 &&
		cmake --build "$root/build/$1" ${only:+--target "$only"} \
			>>"$root/build/.$1.log" 2>&1 && return 0
	tail -40 "$root/build/.$1.log" >&2
	fail "the build of preset $1 failed; its whole log: build/.$1.log"
}

# guest_kernel: Debian's cloud kernel with its modules under build/kernel, not
# installed, for the QEMU guests of the tests.
guest_kernel() {
	local name
	ls "$root"/build/kernel/boot/vmlinuz-* >/dev/null 2>&1 && return 0
	name=$(apt-cache depends linux-image-cloud-amd64 |
		sed -n 's/^ *Depends: //p' | head -n 1)
	say "unpacking $name for QEMU guests"
	mkdir -p "$root/build/kernel"
	(cd "$root/build/kernel" && apt-get -qq download "$name" >/dev/null &&
		dpkg -x "$name"_*.deb . && rm -f "$name"_*.deb) ||
		fail "the kernel package $name could not be had"
}
