# SPDX-License-Identifier: GPL-2.0
"""python3 -m scripted --portal 127.0.0.1:3260 --size 64M: the honest target, until interrupted.

Prints each violation of the initiators as it happens.
"""

import argparse
import time

from scripted.server import Server


def size(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    return int(text[:-1]) * factor if factor else int(text)


def main():
    parser = argparse.ArgumentParser(prog="scripted", description=__doc__)
    parser.add_argument("--portal", default="127.0.0.1:3260")
    parser.add_argument("--size", default="64M", type=size)
    parser.add_argument("--netns")
    options = parser.parse_args()
    address, _, port = options.portal.rpartition(":")
    server = Server(address, int(port), options.netns).start()
    server.load(server.target.run.scenario, size_bytes=options.size)
    print(f"{server.target.settings.name} at {server.portal}", flush=True)
    told = 0
    try:
        while True:
            time.sleep(0.2)
            for line in server.violations()[told:]:
                print(line, flush=True)
                told += 1
    except KeyboardInterrupt:
        server.stop()


main()
