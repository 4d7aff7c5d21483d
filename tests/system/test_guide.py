# SPDX-License-Identifier: GPL-2.0
"""What the pages of the guide and usage.rst tell to type is typed, word for word.

Where a page has a name that this machine cannot have, it is put in by replace(), in plain sight.
"""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from lab import istripe, lio, md, network, pages, stacking, storage
from lab.desk import Desk
from lab.pages import GUIDE, TOP, block
from lab.shell import read, run, status, udev_settle, wait_for

#: On a busy machine the programs take their time: all of them are others, read anew for each test.
pytestmark = pytest.mark.timeout_s(600)
MIB, GIB = 1 << 20, 1 << 30
TARGETS, RECIPES = GUIDE / "targets.rst", GUIDE / "recipes.rst"
MIGRATION, TUNING = GUIDE / "migration.rst", GUIDE / "tuning.rst"
METADATA, USAGE = TOP / "Documentation" / "metadata.rst", TOP / "Documentation" / "usage.rst"
SECRET = "a-secret-of-20-bytes"
#: The second target has these.
SECOND = (("eth1", "192.0.2.11"), ("eth2", "198.51.100.11"))


@pytest.fixture
def nics(laboratory):
    with pages.nics(SECOND) as made:
        yield made


@pytest.fixture
def desk(nics, module, udev_rules, tmp_path):
    """Volumes go before all that they use; fstab and mounts are as before."""
    folder = tmp_path / "desk"
    folder.mkdir()
    shutil.rmtree("/etc/istripe", ignore_errors=True)
    fstab = Path("/etc/fstab")
    before = fstab.read_bytes() if fstab.exists() else b""
    its = Desk(folder)
    yield its
    run("umount", "/srv/db", check=False)
    run("udevadm", "settle", check=False)
    istripe.delete_all()
    fstab.write_bytes(before)
    its.end()


@pytest.fixture
def logical_volume(laboratory):
    """/dev/vg/db0 of the first target."""
    device = Path("/dev/vg/db0")
    run("modprobe", "loop")
    file = storage.image("db0", GIB)
    loop = run("losetup", "--find", "--show", file).strip()
    device.parent.mkdir()
    device.symlink_to(loop)
    yield device
    shutil.rmtree(device.parent)
    run("losetup", "-d", loop)
    file.unlink()


@pytest.fixture
def by_targetcli(desk, logical_volume):
    """What targetcli has made goes after the volumes."""
    desk.targetcli_prepare()
    yield
    istripe.delete_all()
    desk.type("targetcli clearconfig confirm=True", at_target=True)
    lio.prepare()


def with_secret(text):
    return text.replace("SECRET", SECRET)


#: Blocks that are not typed: the words that tell them, and why not.
EXCEPTIONS = {
    "dbcrypt /dev/istripe/db /etc/keys/db.key": "a line of crypttab, which only systemd reads",
    "/opt/mssql/bin/mssql-conf": "SQL Server is not in Debian",
    "apt install ./build/deb/istripe": "no network in the machine; make packages-test does it",
    "apt install build-essential": "no network in the machine; tests/host/dkms builds and installs so",
    "mokutil --import": "no Secure Boot in the machine",
    "node.conn[0].timeo.noop_out_interval -v 3": "test_import.py types it, with other names",
    "istripectl import db --leg": "test_import.py types it, with other names",
    "from_node = yes": "lines of a configuration file; test_import.py has them",
    "istripectl create db --boot --initiator ...": "not whole; make boot-test has both commands",
    "/srv/data  xfs  _netdev": "lines of fstab; make boot-test has such lines",
    "Requires=istripe@db.service": "a unit of systemd; make boot-test types it",
    "Where=/srv/db": "a unit of systemd; make boot-test types it",
    "WantedBy=remote-fs.target": "a unit of systemd; make boot-test types it",
    "safe  /dev/istripe/db": "a line of crypttab, which only systemd reads",
    "Conflicts=umount.target": "a unit of systemd; nothing types it",
    "What=/dev/istripe/db\n\tTimeoutSec": "a unit of systemd; nothing types it",
    "WantedBy=multi-user.target": "a unit of systemd; nothing types it",
    "JobRunningTimeoutSec": "a unit of systemd; nothing types it",
    "RESUME=none": "no initial RAM disk in the machine",
    "istripectl reconnect db 0 1": "no path is dead; test_reconnect_paths.py of the tools types it",
    "systemd-networkd-wait-online": "a unit of systemd; make boot-test types it",
    "pcs resource create": "no Pacemaker in the machine; test_left.py runs its agent",
    "pcs stonith update": "no Pacemaker in the machine",
    "Wants=istripe@sbd.service": "a unit of systemd; nothing types it",
    "mkdir log log/legs/0": "test_readme.py types it",
    "rmdir log/legs/0/paths/0": "test_readme.py types it",
    "- {alert: IstripeVolumeDown": "rules of Prometheus; test_metrics.py of the tools reads them",
    "- alert: IstripeNowhereUp": "rules of Prometheus; test_metrics.py of the tools reads them",
    "WRITES_FAILED | LEG_WAITING | VOLUME_*)": "a program of the reader's; nobody has mail here",
    'ENV{ISTRIPE_ACTION}=="PATH_FAILED': "a rule of udev for a program of the reader's",
    'ENV{ISTRIPE_VOLUME}=="db"': "a rule of udev for an owner that the machine does not have",
}
ALL_PAGES = (*sorted(GUIDE.glob("*.rst")), USAGE)


def test_all_blocks_are_typed():
    """By a call of block() in this file, or they are among the exceptions."""
    typed = re.findall(r'block\("([^"]+)", [A-Z]', Path(__file__).read_text(encoding="ascii"))
    missing = [text for page in ALL_PAGES for text in pages.blocks(page)
               if not any(words in text for words in (*typed, *EXCEPTIONS))]
    assert not missing
    for words in EXCEPTIONS:
        assert block(words, *ALL_PAGES)


def wait_live(volume):
    """All paths; by default one is lost soon when the machine stands still."""
    wait_for("all of it to be live", lambda: read(volume.sysfs() / "state") == "live", 60)


def first_hour(desk, more=""):
    """From the targets to the mounted disk. more: what is in the lists of --leg, too."""
    desk.text.write_text(f"{SECRET}\n", encoding="ascii")
    out = desk.type(block("istripectl discover", TARGETS))
    assert "iqn.2026-01.com.example:array1" in out
    out = desk.type(block("istripectl create db --boot", TARGETS)
                    .replace(",portal=192", f"{more},portal=192"))
    assert "enable istripe@db.service" in desk.systemctl()
    volume = istripe.Volume("db")
    wait_live(volume)
    desk.type(block("mkfs.xfs -d su=64k", TARGETS))
    return volume


@pytest.mark.timeout_s(900)
def test_targetcli(desk, nics, targets, by_targetcli, stock, conf):
    begin = time.monotonic()
    desk.type(with_secret(block("targetcli /backstores/block create", TARGETS)), at_target=True)
    # The second target: the same, but not typed.
    other, = at("array1", "array2", chap=("dbhost", SECRET))[1:]
    targets(other)
    volume = first_hour(desk)
    print(f"mounted after {time.monotonic() - begin:.0f} s")
    file = "/srv/db/data"
    written = compare(file)
    volume.wait_proven()
    assert "unproven" not in desk.type("istripectl status db")
    nics["eth1"].set_up(False)
    wait_for("the loss", lambda: read(volume.sysfs() / "state") == "degraded")
    storage.drop_caches()
    assert storage.sha256(file) == written
    nics["eth1"].set_up(True)
    wait_live(volume)


@pytest.fixture
def tgtd(desk, logical_volume):
    """The daemon, as the package starts it, and a file for the second target."""
    Path("/run/tgtd").mkdir(exist_ok=True)
    other = storage.image("db1", GIB)
    with open(desk.folder / "tgtd.log", "wb") as log:
        daemon = subprocess.Popen(["nsenter", f"--net=/run/netns/{network.NETNS}", "--", "tgtd", "-f"],
                                  stdout=log, stderr=log, start_new_session=True)
    wait_for("tgtd", lambda: status("tgtadm", "--op", "show", "--mode", "sys")[0] == 0)
    conf = Path("/etc/tgt/conf.d/db.conf")
    conf.parent.mkdir(exist_ok=True)
    text = with_secret(block("<target iqn", TARGETS))
    conf.write_text(text + text.replace("array1", "array2").replace("/dev/vg/db0", str(other)),
                    encoding="ascii")
    yield
    run("umount", "/srv/db", check=False)
    istripe.delete_all()
    daemon.kill()
    daemon.wait()
    conf.unlink()
    other.unlink()


def test_tgt(desk, tgtd, stock, conf):
    desk.type(block("tgt-admin --update ALL", TARGETS), at_target=True)
    volume = first_hour(desk, more=",lun=1")
    assert volume.negotiated("InitialR2T") == "No"
    assert volume.negotiated("FirstBurstLength") == "262144"
    compare("/srv/db/data")


def compare(name):
    """Writes a file or a disk, and reads it back from the target."""
    Path(name).touch()
    written = storage.fill_pattern(name, 32 * MIB, seed=1)
    storage.drop_caches()
    assert storage.sha256(name, 32 * MIB) == written
    return written


def at(*names, size=GIB, addresses=None, chap=None):
    """Targets of the lab with the names, one portal on each of the first two NICs."""
    both = ("192.0.2.10", "198.51.100.10"), ("192.0.2.11", "198.51.100.11")
    return [lio.Target([(address, network.ISCSI_PORT) for address in (addresses or both)[number]],
                       [lio.Lun(size, unmap=False, write_same=False)],
                       iqn=f"iqn.2026-01.com.example:{name}", chap=chap)
            for number, name in enumerate(names)]


@pytest.fixture
def four_paths(desk, targets, conf):
    """The volume of targets.rst over targets of the lab, without CHAP."""
    for target in at("array1", "array2"):
        targets(target)
    text = block("istripectl create db --boot", TARGETS)
    desk.type("".join(line for line in text.splitlines(keepends=True) if "--all-paths" not in line))
    volume = istripe.Volume("db")
    assert volume.device() == "istripe0"
    yield volume
    udev_settle()
    istripe.delete_all()


def test_tuning(desk, four_paths):
    leg, paths = four_paths.leg, four_paths.leg / "paths"
    desk.type(block("policy=interleave", TUNING))
    assert read(leg / "policy") == "interleave"
    assert four_paths.queue("max_sectors_kb") == "1024"
    desk.type(block("weight=10", TUNING))
    assert [read(paths / number / "weight") for number in "01"] == ["10", "1"]
    desk.type(block("poll_queues=2", TUNING))
    assert read(four_paths.config / "poll_queues") == "2"
    desk.type(block("congestion_control=bbr", TUNING))
    assert read(paths / "0" / "congestion_control") == "bbr"
    desk.type(block("queue_depth=256", TUNING))
    assert four_paths.queue("nr_requests") == "256"
    desk.type(block("connections=4", TUNING))
    connections = four_paths.path_sysfs() / "connections"
    wait_for("four connections", lambda: len(list(connections.iterdir())) == 4)
    desk.type(block("connections=2", TUNING))
    wait_for("two connections", lambda: len(list(connections.iterdir())) == 2)
    desk.type(block("ping_interval=1s,ping_timeout=2s", TUNING))
    assert read(paths / "0" / "ping_timeout_ms") == "2000"
    desk.type(block("recovery_timeout=5min", RECIPES))
    assert "recovery_timeout_ms = 300000" in Path("/etc/istripe/db.conf").read_text("ascii")
    # What the pages name among their words.
    desk.type("""istripectl doctor db
        istripectl status --json db
        sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_slow_start_after_idle
        cat /sys/block/istripe0/queue/fua
        blockdev --setra 4096 /dev/istripe/db""")
    assert four_paths.queue("read_ahead_kb") == "2048"
    compare("/dev/istripe/db")


def test_usage(desk, four_paths):
    """In the order of the page."""
    leg, sysfs = four_paths.leg, f"cd {four_paths.sysfs()}\n"
    desk.type(block("--path 0 connections=4", USAGE))
    wait_for("four connections",
             lambda: len(list((four_paths.path_sysfs() / "connections").iterdir())) == 4)
    desk.type("cd /sys/kernel/config/istripe; mkdir log log/legs/0 log/legs/0/paths/0\n" +
              block("read -rs secret", USAGE), answers=f"{SECRET}\nanother-{SECRET}\n")
    chap = istripe.CONFIG / "log/legs/0/paths/0"
    assert [read(chap / name) for name in ("chap_user", "chap_mutual_user")] == ["dbhost", "array1"]
    assert '"volume"' in desk.type(block("> /run/doctor ||", USAGE))
    wait_live(four_paths)
    said = desk.type(block("cd /sys/block/istripe0", USAGE)).splitlines()
    assert said[:2] == ["live", "live"] and "120000" in said and "istripe: db" in said[-1]
    four_paths.wait_proven()
    assert desk.type(sysfs + block("cat legs/0/paths/0/fenced_through", USAGE)).split() == ["1"]
    desk.type(block("fence=session", USAGE))
    desk.type(block("alua=off", USAGE))
    assert [read(leg / name) for name in ("fence", "alua")] == ["session", "off"]
    desk.type(block("legs/0/paths/1/enable", USAGE))
    wait_for("the path", lambda: read(four_paths.path_sysfs(0, 1) / "state") == "live", 60)
    desk.type(block("dscp=26,congestion_control=bbr", USAGE))
    assert read(leg / "paths/0/dscp") == "26"


def test_usage_finds_it_all(desk, targets, stock, conf):
    """Nobody is there to be asked: --yes."""
    for target in at("array1", "array2"):
        targets(target)
    assert "iqn.2026-01.com.example:array1" in desk.type(block("istripectl discover 192", USAGE))
    begin = time.monotonic()
    desk.type(block("--nics eth1,eth2", USAGE).replace("--discover", "--yes --discover"))
    print(f"a volume after {time.monotonic() - begin:.0f} s")
    assert "enable istripe@db.service" in desk.systemctl()
    wait_live(istripe.Volume("db"))


@pytest.fixture
def loop(laboratory):
    """A disk of the host: /dev/nvme0n1 of the page."""
    run("modprobe", "loop")
    file = storage.image("ssd", 256 * MIB)
    device = run("losetup", "--find", "--show", file).strip()
    yield device
    run("udevadm", "settle", check=False)
    run("losetup", "-d", device)
    file.unlink()


@pytest.fixture
def one_lun_each(desk, targets, conf):
    """Targets of one LUN each, and the volume of README over them."""
    made = [targets(target) for target in at("array1", "array2", size=320 * MIB,
                                             addresses=(("192.0.2.10",), ("198.51.100.10",)))]
    yield made
    udev_settle()
    istripe.delete_all()


def create(desk):
    out = block("istripectl create db --save", TOP / "README")
    desk.type(out[:out.index("\tmkfs.xfs")])


def smaller(text):
    """A machine of the lab has megabytes where a host has gigabytes."""
    return re.sub(r"\b(\d+)G\b", r"\1M", text)


def test_lvm_and_cache(desk, one_lun_each, loop, mount_point):
    create(desk)
    desk.type(smaller(block("vgcreate vg /dev/istripe/db", RECIPES)))
    run("mount", "/dev/vg/data", mount_point)
    written = compare(mount_point / "data")
    lio.resize(one_lun_each[0], 400 * MIB)
    lio.resize(one_lun_each[1], 400 * MIB)
    desk.type(smaller(block("pvresize /dev/istripe/db", RECIPES)))
    assert md.size_bytes("/dev/vg/data") == 600 * MIB
    text = smaller(block("lvconvert --type cache", RECIPES)).replace("/dev/nvme0n1", loop)
    cached, back, _ = re.split(r"(?=\tlvconvert --uncache)|\Z", text)
    desk.type(cached, answers="y\ny\ny\n")
    assert " cache " in run("dmsetup", "table", "vg-data")
    storage.drop_caches()
    assert storage.sha256(mount_point / "data") == written
    desk.type(back, answers="y\ny\n")
    storage.drop_caches()
    assert storage.sha256(mount_point / "data") == written
    run("umount", mount_point)
    udev_settle()
    desk.type("lvm vgchange -an vg")


def test_luks(desk, one_lun_each):
    create(desk)
    run("modprobe", "dm-crypt")
    desk.type(block("cryptsetup luksFormat", RECIPES), answers="a passphrase\na passphrase\n")
    try:
        compare("/dev/mapper/dbcrypt")
    finally:
        udev_settle()
        desk.type("cryptsetup close dbcrypt")


@pytest.fixture
def iscsi(stock, desk):
    """The stock initiator; what is typed with iscsiadm is gone after the test."""
    yield stock
    run("umount", "/srv/db", check=False)
    udev_settle()
    for words in ("lvm vgchange -an", "multipath -F", "mdadm --stop --scan", "dmsetup remove stripe"):
        desk.type(f"{words} || true")
    istripe.delete_all()
    stock.forget_all()


def stock_disks(targets, iscsi):
    """Disks of array1 and array2 of these names: /dev/sda is another one, as on most hosts."""
    other, = at("array3", size=8 * MIB)
    iscsi.login("192.0.2.10", targets(other).iqn)
    return [iscsi.login(portal, f"iqn.2026-01.com.example:{name}")
            for name, portal in (("array1", "192.0.2.10"), ("array2", "198.51.100.10"))]


@pytest.fixture
def multipath(laboratory):
    """Where its program looks for its parts and its settings; as before after the test."""
    parts, conf = Path("/lib/multipath"), Path("/etc/multipath.conf")
    parts.symlink_to(stacking.ROOT / "lib" / "multipath")
    conf.write_text("defaults {\n user_friendly_names yes\n find_multipaths no\n}\n",
                    encoding="ascii")
    run("modprobe", "-a", "dm-multipath", "dm-service-time")
    yield
    parts.unlink()
    conf.unlink()
    shutil.rmtree("/etc/multipath", ignore_errors=True)


@pytest.mark.allow_log(r"critical target error, dev (dm-\d+|sd[a-z]+), .*WRITE_ZEROES",
                       "mkfs.xfs: the stock driver tries a longer WRITE SAME than LIO takes, once")
def test_from_multipath_and_back(desk, targets, multipath, iscsi, conf):
    target, = at("array1", size=320 * MIB)
    targets(target)
    for address in ("192.0.2.10", "198.51.100.10"):
        iscsi.login(address, target.iqn)
    udev_settle()
    # multipathd would do so by itself.
    desk.type("multipath")
    Path("/srv/db").mkdir(exist_ok=True)
    run("mkfs.xfs", "-q", "/dev/mapper/mpatha")
    run("mount", "/dev/mapper/mpatha", "/srv/db")
    written = compare("/srv/db/data")
    desk.type(block("multipath -f mpatha", MIGRATION))
    desk.type(block("istripectl import db --metadata none", MIGRATION))
    assert storage.sha256("/srv/db/data") == written
    assert len(list((istripe.CONFIG / "db/legs/0/paths").iterdir())) == 2
    assert "enable istripe@db.service" in desk.systemctl()
    Path("/srv/db/more").write_text("more", encoding="ascii")
    desk.type(block("/etc/istripe/db-leg*.secret", MIGRATION))
    assert desk.systemctl()[-1] == "disable istripe@db"
    udev_settle()
    desk.type("multipath")
    run("mount", "/dev/mapper/mpatha", "/srv/db")
    assert storage.sha256("/srv/db/data") == written
    assert read("/srv/db/more") == "more"


def test_from_lvm_stripes_and_back(desk, targets, iscsi, conf):
    arrays = [targets(target) for target in
              at("array1", "array2", size=64 * MIB, addresses=(("192.0.2.10",), ("198.51.100.10",)))]
    disks = stock_disks(targets, iscsi)
    assert [str(disk) for disk in disks] == ["/dev/sdb", "/dev/sdc"]
    run("modprobe", "dm-mirror")
    desk.type("""pvcreate /dev/sdb /dev/sdc
        vgcreate vg /dev/sdb /dev/sdc
        lvcreate -y -W n -i 2 -l 100%FREE -n data vg""")
    written = compare("/dev/vg/data")
    for target in arrays:
        target.luns.append(lio.Lun(96 * MIB))
        target.luns[1].create()
        target.add_lun(1, target.luns[1])
    desk.type(block("pvmove --alloc anywhere /dev/sdb", MIGRATION))
    assert desk.type("pvs --noheadings -o pv_name -S vg_name=vg").split() in (
        ["/dev/istripe0"], ["/dev/istripe/db2"])
    assert storage.sha256("/dev/vg/data", 32 * MIB) == written
    desk.type("vgextend vg /dev/sdb /dev/sdc; pvmove --alloc anywhere /dev/istripe/db2")
    desk.type(block("pvremove /dev/istripe/db2", MIGRATION))
    assert storage.sha256("/dev/vg/data", 32 * MIB) == written


def test_from_dm_stripe_and_back(desk, targets, iscsi, conf):
    for target in at("array1", "array2", size=GIB,
                     addresses=(("192.0.2.10",), ("198.51.100.10",))):
        targets(target)
    disks = stock_disks(targets, iscsi)
    assert [str(disk) for disk in disks] == ["/dev/sdb", "/dev/sdc"]
    away = block("dmsetup remove stripe", MIGRATION)
    back = block("dmsetup create stripe", MIGRATION)
    desk.type(next(line for line in back.splitlines() if "dmsetup create" in line))
    written = compare("/dev/mapper/stripe")
    udev_settle()
    desk.type(away)
    udev_settle()
    assert md.size_bytes("/dev/istripe/db") == 4194304 * 512
    assert storage.sha256("/dev/istripe/db", 32 * MIB) == written
    desk.type("istripectl save --boot db")
    assert "enable istripe@db.service" in desk.systemctl()
    desk.type(back)
    assert storage.sha256("/dev/mapper/stripe", 32 * MIB) == written


def test_mdadm_takes_it_and_gives_it_back(desk, targets, one_lun_each, iscsi):
    """metadata.rst, Rescue with mdadm."""
    other, = at("array3", size=8 * MIB, addresses=(("203.0.113.10",),))
    iscsi.login("203.0.113.10", targets(other).iqn)
    md.prepare()
    create(desk)
    run("mkfs.xfs", "-q", "/dev/istripe/db")
    Path("/srv/db").mkdir(exist_ok=True)
    run("mount", "/dev/istripe/db", "/srv/db")
    written = compare("/srv/db/data")
    desk.type(block("cat /proc/mdstat", METADATA))
    wait_for("the disks", lambda: all(iscsi.disk(target.iqn, 0) for target in one_lun_each))
    udev_settle()
    desk.type(block("mdadm --examine /dev/sdb", METADATA))
    run("mount", "/dev/md100", "/srv/db")
    assert storage.sha256("/srv/db/data") == written
    run("umount", "/srv/db")
    udev_settle()
    desk.type(block("# or /dev/md100", METADATA).replace("md127", "md100"))
    run("mount", "/dev/istripe/db", "/srv/db")
    assert storage.sha256("/srv/db/data") == written


def test_an_array_of_mdadm_is_taken_over(desk, targets, one_lun_each, iscsi):
    """metadata.rst, Take over an array of mdadm."""
    stock_disks(targets, iscsi)
    md.prepare()
    run("mdadm", "--create", "/dev/md100", "--run", "--level=0", "--raid-devices=2", "/dev/sdb",
        "/dev/sdc")
    written = compare("/dev/md100")
    udev_settle()
    desk.type("""mdadm --stop /dev/md100
        istripectl examine /dev/sdb /dev/sdc
        iscsiadm -m node -T iqn.2026-01.com.example:array1 --logout
        iscsiadm -m node -T iqn.2026-01.com.example:array2 --logout
        istripectl assemble db --initiator iqn.2026-01.com.example:dbhost \\
            --leg target=iqn.2026-01.com.example:array1,portal=192.0.2.10 \\
            --leg target=iqn.2026-01.com.example:array2,portal=198.51.100.10""")
    udev_settle()
    assert storage.sha256("/dev/istripe/db", 32 * MIB) == written


@pytest.fixture
def bcache_rules():
    """What udev does on a host that has bcache-tools."""
    file = Path("/run/udev/rules.d/69-bcache.rules")
    file.write_text('SUBSYSTEM=="block", ACTION!="remove", ENV{ID_FS_TYPE}=="bcache", '
                    'RUN+="/bin/sh -c \'echo /dev/%k > /sys/fs/bcache/register\'"\n',
                    encoding="ascii")
    run("modprobe", "bcache")
    run("udevadm", "control", "--reload")
    yield
    file.unlink()
    run("udevadm", "control", "--reload")


def test_bcache(desk, one_lun_each, loop, bcache_rules):
    create(desk)
    desk.type(block("make-bcache -B", RECIPES).replace("/dev/nvme0n1", loop))
    try:
        assert "[writethrough]" in read("/sys/block/bcache0/bcache/cache_mode")
        compare("/dev/bcache0")
    finally:
        udev_settle()
        for file in ("/sys/block/bcache0/bcache/stop", *Path("/sys/fs/bcache").glob("*/stop")):
            Path(file).write_text("1", encoding="ascii")
        wait_for("bcache to stop", lambda: not Path("/dev/bcache0").exists()
                 and not list(Path("/sys/fs/bcache").glob("*-*")), 60)
