# SPDX-License-Identifier: GPL-2.0
"""Runs in the machine of tests/boot: numbered records, durable one by one, and told one by one.

writer.py write FILE: writes until it is stopped, and tells each record that fsync() has made
durable over a virtio port. writer.py count FILE: prints how many records are there.
"""

import os
import sys

from records import Append

PORT = "/dev/virtio-ports/istripe.records"


def write(path):
    fd = os.open(PORT, os.O_WRONLY)
    writer = Append(path)
    writer.open()
    while True:
        os.write(fd, b"%d\n" % writer.step())


def main():
    act, path = sys.argv[1:]
    if act == "write":
        write(path)
    print(len(Append.found(path)))


main()
