# SPDX-License-Identifier: GPL-2.0
"""The host of host.py with a real network: its volume is files, its NICs and TCP are the kernel's.

istripectl runs in the namespaces of the host, with the files of the test as root directory: so the
commands that it proposes can be run there as they are.
"""

import copy
import os
import select
import shutil
import socket
import subprocess

from conftest import OUT, Tool
from host import NICS, Host, portal
from namespaces import Line, Namespace

PORT = 3260
LINK = """
ip link add {nic} type veth peer name {other} netns {namespace}
ethtool -K {nic} gro on
"""
HOST = """
ip link set lo up
ip addr add 192.0.{subnet}.1/24 dev {nic}
ip link set {nic} mtu 9000 up
echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle
echo 4096 131072 67108864 > /proc/sys/net/ipv4/tcp_rmem
echo 4096 131072 67108864 > /proc/sys/net/ipv4/tcp_wmem
for name in rp_filter arp_ignore arp_announce; do
    echo 0 > /proc/sys/net/ipv4/conf/all/$name
    echo 0 > /proc/sys/net/ipv4/conf/{nic}/$name
done
"""
ARRAY = """
ip link set lo up
ip addr add 192.0.{subnet}.10/24 dev {nic}
ip addr add 192.0.{subnet}.11/24 dev {nic}
ip link set {nic} mtu 9000 up
"""
#: The directories of the test as they are seen by programs that run in it; $1 is the root.
MOUNTS = """
cd "$1"
mount -t sysfs sysfs real
mount --bind real/class/net sys/class/net
mount --bind real/devices/virtual sys/devices/virtual
mount --rbind /proc proc
mount --bind /usr usr
mount --bind "$2" tools
mount --bind /dev/null dev/null
exec chroot . sh -c 'echo; read -r line'
"""
DIRS = ("real", "sys/class/net", "sys/devices/virtual", "proc", "usr", "tools", "tmp")


def make_template(root):
    """A host where all is files, without those that the kernel is to stand in for."""
    host = Host(Tool(OUT / "istripectl-test", root))
    for place in ("proc", "sys/class/net", "fake"):
        shutil.rmtree(root / place)
    (root / "bin").rename(root / "doubles")
    host.tool.put("fake/clock", "0")
    host.tool.put("dev/null", "")
    for place in DIRS:
        (root / place).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.lexists(f"/{name}"):
            (root / name).symlink_to(f"usr/{name}")
    (root / "doubles/istripectl").symlink_to("/tools/istripectl-test")
    return host


class Network(Tool):
    """istripectl in the namespaces of a host."""

    def __init__(self, template, root, delay_ms=None):
        shutil.copytree(template.tool.root, root, symlinks=True)
        self.root, self.tree = root, root / "sys/kernel/config/istripe"
        self.env = {"PATH": "/doubles:/usr/sbin:/usr/bin", "ISTRIPECTL_ROOT": "",
                    "LANG": "C.UTF-8"}
        self.host = copy.copy(template)
        self.host.tool = self
        self.here, self.array = Namespace(), Namespace()
        self.lines = {}
        self.between = None if delay_ms is None else Namespace()
        self.delay_s = (delay_ms or 0) / 1000
        self.sockets, self.holder = [], None
        for index, nic in enumerate(NICS):
            self._link(nic, f"peer{index + 1}", index + 2)
        self._enter()
        for path in range(len(NICS)):
            self.listen(path)
        self.connect()

    def _link(self, nic, peer, subnet):
        middle = self.between or self.array
        self.here.shell(LINK.format(nic=nic, other=f"{nic}-a" if self.between else peer,
                                    namespace=middle.name))
        if self.between:
            middle.shell(LINK.format(nic=f"{nic}-b", other=peer, namespace=self.array.name) +
                         "".join(f"ip link set {nic}-{end} mtu 9000 up\n" for end in "ab"))
        self.array.shell(ARRAY.format(nic=peer, subnet=subnet))
        self.here.shell(HOST.format(nic=nic, subnet=subnet))
        if self.between:
            self.lines[nic] = Line(self.between, f"{nic}-b", f"{nic}-a", self.delay_s)

    def _enter(self):
        self.holder = subprocess.Popen(
            ["nsenter", f"--net={self.here.name}", "unshare", "-m", "--propagation", "private",
             "sh", "-ec", MOUNTS, "sh", self.root, OUT], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline(), self.holder.stderr.read()

    # What runs in it

    def _words(self, *words):
        return ["nsenter", f"--target={self.holder.pid}", "--mount", "--net", "--root",
                *map(str, words)]

    def start(self, *words, stdin=subprocess.PIPE, **env):
        return subprocess.Popen(self._words("/tools/istripectl-test", *words),
                                env={**self.env, **env}, stdin=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="surrogateescape")

    def shell(self, script):
        done = subprocess.run(self._words("/bin/sh", "-ec", script), env=self.env, text=True,
                              capture_output=True, check=False)
        assert not done.returncode, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def over(self, path, text):
        """A file of sysfs with another text."""
        (self.root / "tmp/over").write_text(f"{text}\n")
        self.shell(f"cp /tmp/over /tmp/{path.replace('/', '-')} && "
                   f"mount --bind /tmp/{path.replace('/', '-')} {path}")

    def gone(self, leg, path):
        """The volume does not have this path yet."""
        shutil.rmtree(self.root / self.host.path(leg, path, "."))

    # Portals and connections

    def listen(self, path):
        for leg in range(self.host.legs):
            def serve(leg=leg):
                return socket.create_server((portal(leg, path), PORT))
            self.sockets.append(self.array.inside(serve))

    def refuse(self, leg, path):
        """Nobody listens at this portal any more."""
        for server in self.sockets:
            if server.fileno() >= 0 and server.getsockname() == (portal(leg, path), PORT):
                server.close()

    def _connection(self, leg, path):
        def connect():
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, NICS[path].encode())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            client.bind((f"192.0.{path + 2}.1", 40000 + leg))
            client.connect((portal(leg, path), PORT))
            return client
        return self.here.inside(connect)

    def connect(self):
        """The connections of the volume; {(leg, path): (here, there)}."""
        servers = {server.getsockname()[0]: server for server in self.sockets}
        self.ends = {}
        for leg in range(self.host.legs):
            for path in range(self.host.paths):
                client = self._connection(leg, path)
                server, _ = servers[portal(leg, path)].accept()
                self.ends[leg, path] = client, server
                self.sockets += client, server
                for _ in range(5 if self.between else 1):
                    self.transfer(leg, path, 1)

    def transfer(self, leg, path, count):
        """Sends bytes to the array, which answers with one when it has them all."""
        client, server = self.ends[leg, path]
        client.settimeout(30)
        server.settimeout(30)
        left, data = count, b"x" * (1 << 20)
        while left:
            left -= client.send(data[:left], socket.MSG_DONTWAIT) if self._room(client) else 0
            count -= self._take(server)
        while count:
            count -= len(server.recv(1 << 20))
        server.sendall(b"y")
        client.recv(1)

    @staticmethod
    def _room(client):
        return bool(select.select([], [client], [], 0.01)[1])

    @staticmethod
    def _take(server):
        if not select.select([server], [], [], 0)[0]:
            return 0
        return len(server.recv(1 << 20))

    def close(self):
        for line in self.lines.values():
            line.close()
        for one in self.sockets:
            one.close()
        if self.holder:
            self.holder.communicate("\n")
        for namespace in (self.here, self.array, self.between):
            if namespace:
                namespace.close()
