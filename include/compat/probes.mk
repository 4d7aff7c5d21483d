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
	$(call istripe-has-header,IPV6_STUBS,net/ipv6_stubs.h) \
	$(call istripe-has-header,LINUX_HEX_H,linux/hex.h) \
	$(call istripe-has-header,LINUX_UNALIGNED_H,linux/unaligned.h)

istripe-probes += \
	$(call istripe-has-text,SK_USE_TASK_FRAG,net/sock.h,sk_use_task_frag) \
	$(call istripe-has-text,ECMP_SET_MP_HASH,net/ipv6.h,ip6_ecmp_set_mp_hash) \
	$(call istripe-has-text,INET_SET_BIT,net/inet_sock.h,define inet_set_bit) \
	$(call istripe-has-text,UBUF_INFO_OPS,linux/skbuff.h,struct ubuf_info_ops) \
	$(call istripe-has-text,SG_FROM_ITER_SK,linux/socket.h,sg_from_iter.*struct sock ) \
	$(call istripe-has-text,SOCKADDR_UNSIZED,linux/socket.h,struct sockaddr_unsized) \
	$(call istripe-has-text,ASSIGN_STR_ONE,trace/stages/stage6_event_callback.h,define __assign_str\(dst\)) \
	$(call istripe-has-text,KTHREAD_RUN_WORKER,linux/kthread.h,define kthread_run_worker) \
	$(call istripe-has-text,SYSTEM_DFL_WQ,linux/workqueue.h,extern.*system_dfl_wq) \
	$(call istripe-has-text,HRTIMER_SETUP,linux/hrtimer.h,extern void hrtimer_setup)

istripe-probes += \
	$(call istripe-has-text,SHOULD_MERGE,linux/blk-mq.h,BLK_MQ_F_SHOULD_MERGE) \
	$(call istripe-has-text,QUEUE_LIMITS_FEATURES,linux/blkdev.h,BLK_FEAT_WRITE_CACHE) \
	$(call istripe-has-text,ATOMIC_WRITES,linux/blkdev.h,atomic_write_hw_max) \
	$(call istripe-has-text,PR_READ_KEYS,linux/pr.h,\*pr_read_keys) \
	$(call istripe-has-text,BDEV_FPUT,linux/blkdev.h,bdev_fput) \
	$(call istripe-has-text,ADD_DEV_INTERFACE,linux/device/class.h,add_dev.*class_interface) \
	$(call istripe-has-text,OPEN_GENDISK,linux/blkdev.h,.\*open. ?.struct gendisk) \
	$(call istripe-has-text,GETGEO_GENDISK,linux/blkdev.h,.\*getgeo. ?.struct gendisk) \
	$(call istripe-has-text,WZEROES_UNMAP,linux/blkdev.h,max_hw_wzeroes_unmap_sectors)
