# SPDX-License-Identifier: GPL-2.0
"""Runs in the machine of tests/boot and does what tests/boot/machine.py says, line by line.

The lines go over a virtio port: it needs no network, which some tests take away. Each line is a
JSON object: {"id", "run", "timeout_s"} is answered by {"id", "code", "out"}.
"""

import json
import os
import subprocess
import sys
import time

PORT = "/dev/virtio-ports/istripe.agent"


def run(order):
    try:
        done = subprocess.run(["/bin/bash", "-c", order["run"]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=order["timeout_s"], check=False)
    except subprocess.TimeoutExpired as late:
        return {"id": order["id"], "code": None, "out": str(late)}
    return {"id": order["id"], "code": done.returncode, "out": done.stdout}


def main():
    while not os.path.exists(PORT):
        time.sleep(0.1)
    fd = os.open(PORT, os.O_RDWR)

    def tell(what):
        data = json.dumps(what).encode() + b"\n"
        while data:
            data = data[os.write(fd, data):]

    tell({"hello": time.clock_gettime(time.CLOCK_BOOTTIME)})
    rest = b""
    while True:
        data = os.read(fd, 1 << 16)
        if not data:        # nobody is at the other end yet
            time.sleep(0.1)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            tell(run(json.loads(line)))


sys.exit(main())
