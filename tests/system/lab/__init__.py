# SPDX-License-Identifier: GPL-2.0
"""The laboratory inside the virtual machine.

::

     initial network namespace                       namespace "tgt"
    +--------------------------------+              +--------------------------------+
    |  istripe.ko   or   iscsi_tcp   |              |  LIO (kernel)  or  tgtd        |
    |                                |              |                                |
    |  ini0  10.55.0.1/24  ----------|---- veth ----|---------- tgt0  10.55.0.2/24   |
    |        fd55:0:0:0::1/64        |              |           fd55:0:0:0::2/64     |
    |  ini1  10.55.1.1/24  ----------|---- veth ----|---------- tgt1  10.55.1.2/24   |
    |        fd55:0:0:1::1/64        |              |           fd55:0:0:1::2/64     |
    +--------------------------------+              +---------------+----------------+
                                                                    |
                                              /run/lab/*.img on a tmpfs, the LUNs' data

All traffic stays on the veth pairs. The target's data is a plain file, so that a test can
compare what the initiator wrote with what has arrived.

shell       commands, files, waiting
network     the namespaces and links above, killing of TCP connections
storage     the files behind the LUNs
nbd         a disk behind a LUN that can hold a write
lio         the kernel's target, through configfs
tgt         the user-space target
array       ways to a LUN behind two target port groups, and LIO as such an array
openiscsi   the stock initiator
istripe     the module under test
connections what each connection of a path carries
istripectl  the tool
pages       the literal blocks of the pages
desk        where they are typed
outside     the target outside of the virtual machine, if there is one
memory      memory that is short
disk        a disk past the page cache
reservation persistent reservations of a disk
filesystems how file systems are made and checked
ghost       writes that a lost path has left, and ways to lose it
fio         workloads with verification
capture     packets, and what tshark says about them
kcore       variables of the running kernel
kernlog     the kernel's log as part of every verdict
tracing     the kernel's trace
journal     what has passed on a machine that died
leaks       what a loaded, used and unloaded module may leave behind: nothing
"""
