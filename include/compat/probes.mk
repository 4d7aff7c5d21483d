# SPDX-License-Identifier: GPL-2.0
#
# What the headers of the kernel that is built for have, as -DISTRIPE_HAVE_...
# for include/compat/. Tests for features, not for versions: distribution
# kernels backport. Works with kbuild ($(srctree)) of a full tree and of
# headers packages.

# The folder with the include/ of the source, seen from kbuild.
istripe-kernel := $(if $(abs_srctree),$(abs_srctree),$(realpath $(srctree)))

# $(call istripe-has-header,NAME,header below include/)
istripe-has-header = $(if $(wildcard $(istripe-kernel)/include/$(2)),-DISTRIPE_HAVE_$(1))

# $(call istripe-has-text,NAME,header below include/,extended regular expression)
istripe-has-text = $(if $(shell grep -Eqs '$(3)' $(istripe-kernel)/include/$(2) && \
	echo y),-DISTRIPE_HAVE_$(1))

istripe-probes := \
	$(call istripe-has-header,LINUX_UNALIGNED_H,linux/unaligned.h)
