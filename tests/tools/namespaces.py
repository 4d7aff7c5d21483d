# SPDX-License-Identifier: GPL-2.0
"""Two hosts as network namespaces on one kernel, joined by two links: what istripectl sees is real.

    eth1 192.0.2.1 -------------- peer1 192.0.2.10, .11
    eth2 192.0.3.1 -------------- peer2 192.0.3.10, .11

The first namespace is the host, the second one the array, whose portals are listening sockets of
the test. Nothing has a name outside, so nothing is left when the test ends. A Line in the middle of
a link delays or drops packets; netem would do so, too, but many kernels do not have it.
"""

import contextlib
import ctypes
import heapq
import os
import select
import shutil
import socket
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
PROGRAMS = ("ip", "ethtool", "sysctl", "nsenter", "unshare", "mount", "chroot")
#: linux/if_packet.h, linux/if_ether.h and linux/virtio_net.h
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
SO_RCVBUFFORCE = 33
ETH_P_ALL, FRAME_BYTES, VNET_BYTES = 3, 70000, 10
LIBC = ctypes.CDLL(None, use_errno=True)


def call(function, *words):
    if function(*words):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class Namespace:
    """A network namespace, for as long as there is this object."""

    def __init__(self):
        self.fd = None
        self._thread(lambda: call(LIBC.unshare, CLONE_NEWNET), self._open)
        self.name = f"/proc/{os.getpid()}/fd/{self.fd}"

    def _open(self):
        self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    @staticmethod
    def _thread(*functions):
        """A namespace is a thread's own: the others stay where they are."""
        results, errors = [], []

        def body():
            try:
                results.extend([function() for function in functions])
            except OSError as error:
                errors.append(error)
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[-1]

    def inside(self, function):
        """Calls a function in it: sockets that it opens stay there."""
        return self._thread(lambda: call(LIBC.setns, self.fd, CLONE_NEWNET), function)

    def shell(self, script, check=True):
        done = subprocess.run(["nsenter", f"--net={self.name}", "sh", "-ec", script], text=True,
                              capture_output=True, check=False)
        assert not check or not done.returncode, f"{script}\n{done.stderr}"
        return done

    def close(self):
        os.close(self.fd)


def why_not():
    """Why this machine cannot make namespaces, or None."""
    if os.geteuid():
        return "network namespaces are for root"
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if not all(os.path.islink(f"/{name}") for name in ("bin", "sbin", "lib")):
        return "/bin, /sbin and /lib are no links to /usr"
    try:
        namespace = Namespace()
    except OSError as error:
        return f"no network namespaces here: {error.strerror}"
    done = namespace.shell("ip link add eth1 type veth peer name eth2; "
                           "unshare -m mount -t sysfs sysfs /sys", check=False)
    namespace.close()
    return done.stderr.strip() or None


class Line:
    """Carries frames between two interfaces: those to the right later, and not all of them."""

    def __init__(self, namespace, left, right, delay_s=0):
        self.delay_s, self.lose = delay_s, lambda frame: False
        self.ends = [namespace.inside(lambda nic=nic: self._socket(nic)) for nic in (left, right)]
        self.stop, self.stopped = os.pipe()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @staticmethod
    def _socket(nic):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        # Before each frame is what offloads have left undone, so that these stay on.
        end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        end.bind((nic, ETH_P_ALL))
        return end

    def _run(self):
        waiting, number = [], 0
        while True:
            left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
            ready, _, _ = select.select([*self.ends, self.stop], [], [], left)
            if self.stop in ready:
                return
            for end in ready:
                frame, other = end.recv(FRAME_BYTES), self.ends[end is self.ends[0]]
                number += 1
                if not self.lose(frame[VNET_BYTES:]):
                    when = time.monotonic() + (self.delay_s if end is self.ends[0] else 0)
                    heapq.heappush(waiting, (when, number, other, frame))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, other, frame = heapq.heappop(waiting)
                with contextlib.suppress(OSError):
                    other.send(frame)

    def close(self):
        os.close(self.stopped)
        self.thread.join()
        for end in self.ends:
            end.close()
        os.close(self.stop)
