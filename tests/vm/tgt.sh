# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts of this folder that have tgtd outside of the virtual machine: namespaces that end with
# the script, taps, tgtd in them. To be sourced; wants the script's name in self, and the place of
# tgtd's log in tgtd_log.

die()
{
	# shellcheck disable=SC2154
	echo "$self: $*" >&2
	exit 1
}

# Runs a command in namespaces of its own. When this script ends, in whatever way, the kernel kills
# all that is in them, and with the last of it namespaces, taps and tmpfs are gone.
namespaces_run()
{
	setpriv --pdeathsig KILL unshare --net --mount --pid --kill-child --mount-proc \
		"$@" </dev/null &
	namespace=$!
	trap 'kill -KILL "$namespace" 2>/dev/null || true' EXIT
	trap 'exit 143' INT TERM HUP
	wait "$namespace"
}

namespace_tools=(unshare setpriv ip tgtd tgtadm qemu-system-x86_64)

# Whether all tools that are named are there, and may do what they must
tools_check()
{
	local tool

	[ "$(id -u)" = 0 ] || die "needs root, for namespaces and a tap"
	for tool; do
		command -v "$tool" >/dev/null || die "no $tool: run tests/vm/install vm"
	done
}

# What follows runs in the namespaces.

# As process 1 of the namespace only signals with a handler are seen.
namespaces_enter()
{
	trap 'exit 143' INT TERM HUP
	ip link set lo up
}

# $1: device, $2: its address with the length of the prefix
tap_create()
{
	ip tuntap add dev "$1" mode tap || die "no tap device: is the tun module there?"
	ip link set "$1" addrgenmode none
	ip addr add "$2" dev "$1"
	ip link set "$1" up
}

adm()
{
	local out

	out=$(tgtadm --lld iscsi "$@" 2>&1) || die "tgtadm $*: $out"
}

tgtd_tell()
{
	tail -n 20 "$tgtd_log" >&2
	die "$* ($tgtd_log)"
}

tgtd_wait()
{
	local i

	for ((i = 0; i < 100; i++)); do
		tgtadm --lld iscsi --op show --mode sys >/dev/null 2>&1 && return
		kill -0 "$tgtd" 2>/dev/null || break
		sleep 0.1
	done
	tgtd_tell "tgtd does not answer"
}

# tgtd for portals, with room for the files of LUNs in /run, which is memory; its process in tgtd
tgtd_start()
{
	local portals

	portals=$(printf ',portal=%s' "$@")
	mount -t tmpfs -o mode=0755 tgtd /run
	mkdir /run/tgtd
	# Of several options --iscsi the last one counts.
	tgtd -f --iscsi "${portals#,}" >"$tgtd_log" 2>&1 &
	tgtd=$!
	tgtd_wait
}
