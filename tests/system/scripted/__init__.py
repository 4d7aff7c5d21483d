# SPDX-License-Identifier: GPL-2.0
"""An iSCSI target whose behaviour is written down, scenario by scenario.

Honest by default: a disk in memory behind a target that follows RFC 7143, and that
checks every PDU it is sent. A scenario overrides single steps of it.

pdu        header fields of all PDUs, one table for encoding, decoding and reserved fields
checks     what an initiator may send: violations, each with its section
login      the target's half of the login phase, CHAP included
scsi       the disk
registrations   a disk with persistent reservations
conn       one TCP connection: reading, writing, StatSN
target     sessions, command order and window, the tasks' data, answers
server     the target in a thread of its own, with calls for tests
scenario   what a scenario consists of: hooks, keys, expected outcome
scenarios_*   the tables

By itself: python3 -m scripted --portal 127.0.0.1:3260 --size 64M
"""
