# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that install packages with the real dkms in roots of Debian 12 and 13: a root is a
# chroot without network in which no service starts. It is made once, as
# build/packages/root-<name>-<digest>.tar, and unpacked for each run. To be sourced, at the top of the
# project, by a script that has say and die; wants the version of the packages in version, sets root.

roots=$PWD/build/packages
debs=$PWD/build/kernels/debs
root_common=dkms,openssl,kmod,udev,gcc,libc6-dev,make
# What dkms needs, with the packages that the headers from build/kernels depend on.
# shellcheck disable=SC2034 # for the scripts
declare -A root_packages=(
	[bookworm]="$root_common,linux-compiler-gcc-12-x86,linux-base,pahole,libelf1,systemd"
	[trixie]="$root_common"
)
# Inside of roots: no manual pages' index, no sync() for each file.
dpkg=(dpkg --force-unsafe-io --force-depends)
# What installs packages; a script may have another one.
installer=("${dpkg[@]}" -i)

# Runs a command in the root, without network.
in_root() {
	unshare --mount --pid --net --fork --kill-child --mount-proc --root "$root" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# $1: folder, $2: suite, $3: packages, $4: the tar for it. Packages of the backports come after
# debootstrap, which knows one suite. Runs in a shell of its own, which ends with the first command that fails.
root_make() {
	local mirror

	mirror=$(tests/vm/kernels mirror)
	debootstrap --variant=minbase --include="$3" "$2" "$1" "$mirror"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
	if [ "$2" = trixie ]; then
		echo "deb $mirror $2-backports main" >>"$1/etc/apt/sources.list"
		chroot "$1" apt-get -qq update
		DEBIAN_FRONTEND=noninteractive chroot "$1" apt-get -qq install \
			--no-install-recommends -t "$2-backports" linux-headers-amd64 linux-base
	fi
	chroot "$1" apt-get clean
	rm -rf "$1"/var/lib/apt/lists/*
	tar -c -C "$1" . >"$4.new"
	mv "$4.new" "$4"
}

# $1: name, $2: suite, $3: packages. Prints the file that has this root.
root_tar() {
	local digest

	digest=$({
		echo "$2 $3"
		declare -f root_make
	} | sha256sum | cut -c 1-12)
	echo "$roots/root-$1-$digest.tar"
}

# The same arguments. A root that nothing has been done to, in build/packages/<name>.
root_fresh() {
	local log=$roots/root-$1.log tar

	root=$roots/$1
	tar=$(root_tar "$@")
	mkdir -p "$roots"
	rm -rf "$root"
	if [ ! -e "$tar" ]; then
		say "making the root $1, some minutes ($log)"
		rm -f "$roots/root-$1"-*.tar
		bash -euc "$(declare -f root_make); root_make \"\$@\"" root_make \
			"$root" "$2" "$3" "$tar" >"$log" 2>&1 || {
			tail -n 20 "$log" >&2
			die "debootstrap of $2 failed"
		}
		return
	fi
	mkdir -p "$root"
	tar -x -C "$root" <"$tar"
}

# Prints the newest package $1 that tests/vm/kernels has fetched.
fetched() {
	find "$debs" -name "$1_*.deb" | sort -V | tail -n 1 | grep . || die "no package $1 in $debs"
}

# $1: package of a kernel. Prints its file, and those of the packages of that kernel that it needs,
# but for the image, which the headers of 6.12 want, too: it is not needed to build.
kernel_debs() {
	local file package

	file=$(fetched "$1")
	echo "$file"
	dpkg-deb -f "$file" Depends | tr ',' '\n' |
		sed -nE 's/^ *(linux-(headers|kbuild|base|binary|modules)-[^ ]*).*/\1/p' |
		while read -r package; do
			kernel_debs "$package"
		done
}

debs_install() {
	local names=("${@##*/}")

	mkdir -p "$root/tmp/debs"
	cp "$@" "$root/tmp/debs/"
	in_root "${installer[@]}" "${names[@]/#//tmp/debs/}"
}

# $1: kernel release
headers_install() {
	local files

	mapfile -t files < <(kernel_debs "linux-headers-$1" | sort -u)
	debs_install "${files[@]}"
}

# $1: kernel release: the kernel alone, as a bare Debian has it.
kernel_install() {
	local files

	mapfile -t files < <(kernel_debs "linux-image-$1" | sort -u)
	debs_install "${files[@]}"
}

# $1: folder with the packages
ours_install() {
	debs_install "$1"/istripe-*.deb
}

# $1: kernel release. Prints the module's file, if there is one.
module_file() {
	(cd "$root" && find lib/modules/ -path "lib/modules/$1/*" -name 'istripe.ko*')
}

# $1: kernel release: there is one module, of this version and for this kernel, that is signed.
module_check() {
	local file

	file=$(module_file "$1")
	[ -n "$file" ] || die "no module for $1"
	[ "$(in_root modinfo -F version "/$file")" = "$version" ] || die "/$file: not version $version"
	in_root modinfo -F vermagic "/$file" | grep -F "$1 " >/dev/null || die "/$file: vermagic is not $1"
	in_root modinfo -F signer "/$file" | grep . >/dev/null || die "/$file: not signed"
	# dkms runs readelf, which warns of the vmlinux among the headers.
	in_root dkms status -m istripe -v "$version" -k "$1" 2>/dev/null | grep installed >/dev/null ||
		die "dkms does not say that istripe is installed for $1"
	say "module for $1: /$file"
}
