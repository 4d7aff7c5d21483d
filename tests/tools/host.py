# SPDX-License-Identifier: GPL-2.0
"""A host in files, with a volume in use on it, where nothing is to be mended."""

NICS = ("eth1", "eth2")
FEATURES = ("tx-scatter-gather", "tx-checksum-ipv4", "tx-checksum-ip-generic", "rx-checksum",
            "tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro")
NEGOTIATED = {
    "HeaderDigest": "None", "DataDigest": "None", "ImmediateData": "Yes", "InitialR2T": "No",
    "MaxOutstandingR2T": "16", "MaxBurstLength": "1048576", "FirstBurstLength": "262144",
    "MaxXmitDataSegmentLength": "262144", "MaxRecvDataSegmentLength": "262144",
}
TCP = {"tcp_sack": "1", "tcp_timestamps": "1", "tcp_window_scaling": "1", "tcp_ecn": "2",
       "tcp_slow_start_after_idle": "0", "tcp_congestion_control": "cubic",
       "tcp_rmem": "4096\t131072\t6291456", "tcp_wmem": "4096\t16384\t4194304",
       "tcp_mem": "190000\t250000\t380000"}


#: Commands of a kind, most of which take 0.3 ms.
COMMANDS = {"read": 100000, "write": 50000, "other": 10}


def latency(counts):
    """A file of how long commands took, by {ms: how many}."""
    buckets = [0] * 26
    for ms, count in counts.items():
        buckets[min(int(ms * 1e6 / 1024).bit_length(), 25)] += count
    return " ".join(map(str, [sum(int(ms * 1e6) * count for ms, count in counts.items()), *buckets]))


def portal(leg, path):
    return f"192.0.{path + 2}.{leg + 10}"


class Host:
    """Two legs with two paths each, over two NICs. leg()/path() are their directories in sysfs."""

    def __init__(self, tool, legs=2, paths=2):
        self.tool, self.legs, self.paths = tool, legs, paths
        self.disk = "sys/block/istripe0"
        self.configure()
        self.links()
        self.network()
        self.live()
        self.kernel()
        self.boot()

    def put(self, path, text):
        file = self.tool.put(path, text)
        # A fault of a setting is not one of its file as well.
        if path.startswith("sys/kernel/config/istripe/db/"):
            self.save()
        return file

    def save(self):
        """The configuration file, which names a file for a secret."""
        text, _ = self.tool.run("show", "--conf", "db")
        self.tool.put("etc/istripe/db.conf", text.rstrip("\n") + "\nchap_secret = @db.secret")

    def configure(self):
        words = []
        for leg in range(self.legs):
            for path in range(self.paths):
                target = f"target=iqn.2026-01.a:t{leg}"
                words += ["--path" if path else "--leg",
                          f"portal={portal(leg, path)},nic={NICS[path]},{target}"]
        self.tool.run("create", "db", "--initiator", "iqn.2026-01.a:host", *words)

    def switches(self, **names):
        """What LLDP tells: the switch of each NIC."""
        program = self.tool.root / "bin/lldpctl"
        program.write_text('#!/bin/sh\ncat "$ISTRIPECTL_ROOT/lldp"\n')
        program.chmod(0o755)
        self.put("lldp", "\n".join(f"lldp.{nic}.chassis.mac={mac}\nlldp.{nic}.chassis.name=sw-{mac[-1]}"
                                   for nic, mac in names.items()))

    def path(self, leg, path, file):
        return f"{self.disk}/istripe/legs/{leg}/paths/{path}/{file}"

    def config(self, leg, path, file):
        return f"sys/kernel/config/istripe/db/legs/{leg}/paths/{path}/{file}"

    def links(self):
        for nic in NICS:
            net = f"sys/class/net/{nic}"
            for file, text in {"operstate": "up", "carrier": "1", "duplex": "full", "mtu": "9000",
                               "speed": "10000", "statistics/rx_packets": "5000000",
                               "statistics/rx_crc_errors": "0", "statistics/rx_missed_errors": "3",
                               "statistics/rx_fifo_errors": "0"}.items():
                self.put(f"{net}/{file}", text)
            for queue in range(2):
                (self.tool.root / net / f"queues/rx-{queue}").mkdir(parents=True)
                irq = 30 + queue + 10 * NICS.index(nic)
                self.put(f"{net}/device/msi_irqs/{irq}", "msix")
                self.put(f"proc/irq/{irq}/effective_affinity_list", queue)
            self.driver(nic)
        self.put("sys/devices/system/cpu/online", "0-3")

    def driver(self, nic, pause="1 1", rings="4096 4096 4096 4096", off=(), fixed=()):
        lines = [f"pause {pause}", f"rings {rings}"]
        lines += [f"feature {name} {int(name not in off + fixed)} {int(name not in fixed)}"
                  for name in FEATURES]
        self.put(f"fake/ethtool/{nic}", "\n".join(lines))

    def network(self, mtu=9000, tcp="{local} {remote} 150 9000 200000 1 cubic"):
        routes, connections = [], []
        for leg in range(self.legs):
            for path in range(self.paths):
                to, source = portal(leg, path), f"192.0.{path + 2}.1"
                routes.append(f"{to} {NICS[path]} {NICS[path]} {source} {mtu}")
                connections.append(tcp.format(local=f"{source}:{40000 + leg}",
                                              remote=f"{to}:3260"))
        self.put("fake/routes", "\n".join(routes))
        self.put("fake/tcp", "\n".join(connections))
        self.put("fake/addresses", "\n".join(f"{nic} 192.0.{i + 2}.1 24"
                                             for i, nic in enumerate(NICS)))
        self.put("fake/clock", "0")
        self.put("fake/reach", "\n".join(f"{portal(leg, path)} {NICS[path]} 0"
                                         for leg in range(self.legs)
                                         for path in range(self.paths)))
        self.ping(9000)
        self.switches(eth1="00:53:00:00:00:01", eth2="00:53:00:00:00:02")

    def ping(self, largest):
        """What portals answer."""
        self.put("fake/ping", "\n".join(f"{portal(leg, path)} {largest}" for leg in range(self.legs)
                                        for path in range(self.paths)))

    def live(self):
        top = f"{self.disk}/istripe"
        for file, text in {"state": "live", "name": "db", "initiator_name": "iqn.2026-01.a:host",
                           "chunk_bytes": "65536", "command_timeout_ms": "30000",
                           "recovery_timeout_ms": "120000"}.items():
            self.put(f"{top}/{file}", text)
        for leg in range(self.legs):
            self.put(f"{top}/legs/{leg}/state", "live")
            self.latency(f"{top}/legs/{leg}")
            for path in range(self.paths):
                self.live_path(leg, path)

    def latency(self, place, ms=0.3):
        for kind, count in COMMANDS.items():
            self.put(f"{place}/latency_{kind}", latency({ms: count, 2 * ms: count // 10}))

    def live_path(self, leg, path):
        self.latency(self.path(leg, path, "."))
        others = " ".join(str(other) for other in range(self.paths) if other != path)
        for file, text in {
                "state": "live", "last_error": "", "unproven": "", "fenced_through": others,
                "session/state": "logged-in", "session/isid": f"80000000{leg:02}{path:02}",
                "session/target_portal_group_tag": "1",
                "connections/0/local_address": f"192.0.{path + 2}.1:{40000 + leg}",
                "connections/0/remote_address": f"{portal(leg, path)}:3260",
                "connections/0/ping_rtt_us": "400"}.items():
            self.put(self.path(leg, path, file), text)
        for key, value in NEGOTIATED.items():
            self.put(self.path(leg, path, f"session/offered/{key}"), value)
            self.put(self.path(leg, path, f"session/negotiated/{key}"), value)

    def kernel(self):
        for name, text in TCP.items():
            self.put(f"proc/sys/net/ipv4/{name}", text)
        self.put("proc/net/sockstat", "sockets: used 9\nTCP: inuse 5 orphan 0 tw 0 alloc 7 mem 3")
        self.put("proc/net/netstat", "TcpExt: SyncookiesSent TCPMemoryPressures TCPx\n"
                                     "TcpExt: 7 0 9\nIpExt: InNoRoutes\nIpExt: 4")
        self.put("proc/crypto", "name         : crc32c\ndriver       : crc32c-generic\n\n"
                                "name         : crc32c\ndriver       : crc32c-intel")
        for policy in range(4):
            self.put(f"sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor",
                     "performance")
        for file, text in {"scheduler": "[none] mq-deadline", "read_ahead_kb": "256",
                           "max_sectors_kb": "1280", "max_hw_sectors_kb": "4096",
                           "write_cache": "write back"}.items():
            self.put(f"{self.disk}/queue/{file}", text)
        self.put(f"{self.disk}/stat", "900000 0 28800000 0 100000 0 3200000 0 0 1000 8000")
        self.put("proc/77/comm", "multipathd")

    def boot(self):
        self.save()
        self.put("etc/istripe/db.secret", "not for others").chmod(0o600)
        (self.tool.root / "run/systemd/system").mkdir(parents=True)
        self.put("etc/systemd/system/multi-user.target.wants/istripe@db.service", "")
        self.put("etc/fstab", "# a comment\nUUID=1 / ext4 defaults 0 1\n"
                              "/dev/istripe/db /srv xfs _netdev,nofail,"
                              "x-systemd.device-timeout=infinity 0 0")
        self.put("etc/crypttab", "safe /dev/istripe/db none luks,_netdev")
        self.put("etc/multipath.conf", "blacklist {\n\tdevnode \"^sda\"\n}")
        self.put("etc/iscsi/send_targets/192.0.2.99,3260/st_config",
                 "discovery.sendtargets.use_discoveryd = Yes")
        self.put("etc/iscsi/nodes/iqn.2026-01.b:other/192.0.2.99,3260,1/default",
                 "node.startup = automatic")
