# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One virtual machine of a name at a time: the first one would carry out the command of the second.
# To be sourced; wants the top of the sources in top.

# $1: the name. The script that has started this one may have taken it. It is held until that
# script ends: what may outlive it closes file 7.
machine_lock()
{
	[ "${ISTRIPE_VM_LOCKED:-}" != "$1" ] || return 0
	# shellcheck disable=SC2154
	mkdir -p "$top/build/vm/$1"
	exec 7>"$top/build/vm/$1/boot.lock"
	# No exit code of pytest.
	flock -n 7 || {
		echo "tests/vm/${0##*/}: another machine is named $1: set ISTRIPE_VM_NAME" >&2
		exit 75
	}
	export ISTRIPE_VM_LOCKED=$1
}
