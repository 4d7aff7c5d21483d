# SPDX-License-Identifier: GPL-2.0
"""What must hold when a machine with volumes of istripe boots and stops.

A scenario is a function that raises Failed, or returns figures for the table. It finds a machine
that is up, with both file systems mounted and all links as they should be; it leaves the links
that way, and the machine up or off.
"""

import contextlib
import re
import textwrap
import time

from lab import outside, pages
from machine import COMMAND_TIMEOUT_S
from place import (
    LATE_LUN,
    MUTE_PORTAL,
    OWN_LUN,
    SECOND,
    SECOND_PORTAL,
    SHARED_LUN,
    Failed,
)

#: Mount points: the first on LVM on a volume of two legs, the second on a volume itself.
MOUNTS = ("/srv/db", "/srv/log")
#: In /etc/fstab, as usage.rst says it.
OPTIONS = "_netdev,nofail,x-systemd.device-timeout=infinity"
WRITER = "/usr/bin/python3 -B /usr/local/lib/istripe-boot/writer.py"
INITIATOR = "iqn.2026-01.com.example:boot"
RECORDS_MIN = 20
#: Neither target has LUNs of these numbers until they are made.
FREE_LUN, MUTE_LUN = 5, 7
#: From systemctl reboot or poweroff to the kernel's last word, by the machine's clock, however the
#: network is: half of the time that systemd gives a unit (DefaultTimeoutStopSec), on an emulated
#: machine that needs 12 to 32 s.
STOP_S = 45
#: Until a machine that stops counts as hung: an emulated one on a busy host is slow.
END_S = 600
#: After the target is back.
RETURN_S = 60
#: To install the packages, and from the first command until all is mounted: the first hour of a stranger.
FIRST_MOUNT_S = 300
#: After multi-user.target, which waits for no file system with nofail.
MOUNT_S = 120
#: An attempt of a unit, which a login to a silent portal makes longer, and the machine is slow.
ATTEMPT_S = 300
#: From then on until what it held up is there.
GO_ON_S = 30
#: After network.target, by the machine's clock, whatever the NICs of others do: less than the two
#: minutes for which systemd-networkd-wait-online waits for them.
SOON_S = 90
#: systemd-networkd-wait-online has given up.
ONLINE_S = 180
USAGE = pages.TOP / "Documentation" / "usage.rst"


def create(name, *luns):
    """The command line that makes a volume and has it started at boot."""
    words = [f"istripectl create {name} --boot --initiator {INITIATOR} --chunk 64K"]
    for lun in luns:
        words.append(f"--leg target={outside.IQN},lun={lun},portal={outside.ADDRESS},nic=san0")
        words.append(f"--path portal={outside.SECOND_ADDRESS},nic=san1")
    return " ".join(words)


def mounted(machine, timeout_s=0):
    """Seconds until all is mounted."""
    return machine.until(" && ".join(f"mountpoint -q {place}" for place in MOUNTS), timeout_s)


def ready(lab):
    """A machine that is up and has all mounted; the one of the scenario before, if it may be."""
    lab.heal()
    if not lab.machine or lab.machine.ended():
        boot_whole(lab)
    mounted(lab.machine, RETURN_S)
    return lab.machine


def boot_whole(lab):
    """Boots, and looks at what must be there."""
    figures = {"boot": lab.boot_done()}
    figures["mounted after"] = mounted(lab.machine, MOUNT_S)
    first_record_check(lab.machine)
    return figures


def stop(machine, how="reboot"):
    """Seconds until the machine was off."""
    stop_s = machine.end(how, END_S)
    stop_check(stop_s)
    return stop_s


def stop_check(stop_s):
    if stop_s > STOP_S:
        raise Failed(f"stopped after {stop_s:.1f} s, not {STOP_S}")


def live_again(lab):
    """All links are there; seconds until all paths are."""
    lab.heal()
    return lab.machine.until("! grep -v live /sys/block/istripe*/istripe/state", RETURN_S)


def degraded_check(machine):
    state = machine.run("cat /sys/block/istripe*/istripe/state").split()
    if state != ["degraded", "degraded"]:
        raise Failed(f"the volumes are {state}")


DB_CONF = "/etc/istripe/db.conf"
#: A change that needs the volume down, and a file that cannot be read.
EDITS = (f"sed -i 's/^\\[volume\\]/&\\nqueue_depth = 7/' {DB_CONF}", f"echo nonsense >>{DB_CONF}")


def stop_refused(machine):
    """Of a volume in use: its unit is active again."""
    for act in ("stop", "restart"):
        code, out = machine.agent.run(f"systemctl {act} istripe@db", COMMAND_TIMEOUT_S)
        if code == 0:
            raise Failed(f"systemctl {act} of a volume in use succeeds: {out}")
        machine.until("systemctl -q is-active istripe@db", RETURN_S)
        machine.run("mountpoint -q /srv/db && [ -e /dev/istripe/db ]")


def stopped(machine):
    """The disk of a volume goes when its unit stops, also from below LVM; it comes back.

    While its file system is mounted all stays as it is, and systemctl and the journal say so.
    """
    # Another file system that was unmounted before stays so: it would be in use again.
    machine.run("umount /srv/log")
    stop_refused(machine)
    machine.run("sleep 1 && ! mountpoint -q /srv/log && systemctl start srv-log.mount")
    for edit in EDITS:
        machine.run(f"cp {DB_CONF} /root/ && {edit} && ! cmp -s {DB_CONF} /root/db.conf")
        stop_refused(machine)
        # As long as a unit that has failed takes until it starts again.
        machine.run("sleep 6 && systemctl -q is-active istripe@db && "
                    "systemctl show -p NRestarts --value istripe@db | grep -x 0 && "
                    f"mv /root/db.conf {DB_CONF}")
    machine.run("istripectl path remove db 0 1")
    stop_refused(machine)
    machine.run("[ ! -e /sys/kernel/config/istripe/db/legs/0/paths/1 ] && istripectl apply db && "
                "[ -e /sys/kernel/config/istripe/db/legs/0/paths/1 ]")
    machine.until(f"grep -x live {state_file('db')}", RETURN_S)
    machine.run("journalctl -b --no-pager -u istripe@db | grep 'is mounted at /srv/db'")
    machine.run("umount /srv/db && systemctl stop istripe@db && udevadm settle && "
                "[ ! -e /dev/istripe/db ]")
    machine.run("systemctl start istripe@db && systemctl start srv-db.mount")
    renumbered(machine)


def renumbered(machine):
    """LVM takes its disk also when that comes back as another one of the kernel's."""
    before = {name: machine.run(f"readlink -f /dev/istripe/{name}") for name in ("db", "log")}
    machine.run("umount /srv/db /srv/log && systemctl stop istripe@db istripe@log && udevadm settle")
    for name in sorted(before, key=before.get, reverse=True):
        machine.run(f"systemctl start istripe@{name} && systemctl start srv-{name}.mount")
    if machine.run("readlink -f /dev/istripe/db") == before["db"]:
        raise Failed(f"the disk of db is {before['db'].strip()} again")


def load_start(machine, path):
    """Records are written to this file until the machine stops the writer."""
    machine.run(f"systemd-run --quiet --unit=writer -p RequiresMountsFor={path} "
                f"{WRITER} write {path}")
    end = time.monotonic() + RETURN_S
    while machine.records.acknowledged < RECORDS_MIN:
        if time.monotonic() > end:
            raise Failed("no records are written\n" + machine.run("systemctl status writer"))
        time.sleep(0.1)


def lost(machine, path, acknowledged):
    """How many of the acknowledged records are not there."""
    return max(0, acknowledged - int(machine.run(f"{WRITER} count {path}")))


def first_record_check(machine):
    for place in MOUNTS:
        if machine.run(f"cat {place}/first").strip() != f"first record of {place}":
            raise Failed(f"{place}/first is not what was written")


def fresh(lab):
    """Nothing is there; two volumes are made, each by one command, and are there after a reboot."""
    lab.fresh()
    first_s = lab.boot_done()
    machine = lab.machine
    machine.run("/lib/systemd/systemd-networkd-wait-online && modprobe istripe")
    begin = time.monotonic()
    machine.run(create("db", *outside.WITH_CACHE))
    machine.run(create("log", outside.WITHOUT_CACHE[0]))
    machine.run("systemctl start istripe@db istripe@log")      # they are up already
    machine.run("udevadm settle && pvcreate -q /dev/istripe/db && vgcreate -q vg /dev/istripe/db && "
                "lvcreate -q -y -l 100%FREE -n data vg && "
                "mkfs.xfs -q /dev/vg/data && mkfs.xfs -q /dev/istripe/log")
    machine.run("cat >>/etc/fstab <<-'END'\n"
                f"/dev/vg/data /srv/db xfs {OPTIONS}\n"
                f"/dev/istripe/log /srv/log xfs {OPTIONS}\n"
                "END\n"
                "systemctl daemon-reload && mount /srv/db && mount /srv/log")
    made_s = time.monotonic() - begin
    for place in MOUNTS:
        machine.run(f"echo first record of {place} >{place}/first && sync -f {place}/first")
    module = module_check(machine, lab.installed_s() is not None)
    figures = {"module": module, "first boot": first_s, "created and mounted": made_s,
               "stop": stop(machine), **boot_whole(lab)}
    return {**figures, **first_mount(lab.installed_s(), made_s)}


def module_check(machine, by_dkms):
    """The file of the module that is loaded, which is for this kernel."""
    file = machine.run("modinfo -n istripe").strip()
    machine.run(f"[ $(modinfo -F vermagic {file} | cut -d' ' -f1) = $(uname -r) ] && "
                f"[ $(modinfo -F srcversion {file}) = $(cat /sys/module/istripe/srcversion) ]")
    if by_dkms != ("/dkms/" in file):
        raise Failed(f"the module is {file}, and dkms has {'' if by_dkms else 'not '}built one")
    return file


def first_mount(installed_s, made_s):
    """From a bare Debian to mounted volumes. Without packages there is no such figure."""
    if installed_s is None:
        return {}
    all_s = installed_s + made_s
    if all_s > FIRST_MOUNT_S:
        raise Failed(f"{all_s:.0f} s from a bare Debian to mounted volumes, not {FIRST_MOUNT_S}: "
                     f"{installed_s:.0f} s to install, {made_s:.0f} s to create and mount")
    return {"installed": installed_s, "bare Debian to mounted": all_s}


def one_dead(lab):
    """One path is silent during a reboot."""
    machine = ready(lab)
    lab.silence(1)
    figures = {"stop": stop(machine), **boot_whole(lab)}
    degraded_check(lab.machine)
    figures["live again"] = live_again(lab)
    return figures


def handed_over(machine):
    """The unit tries again: another host may have the volume only when that has ended."""
    machine.until("systemctl status --no-pager istripe@log | grep 'Status: .*Connection refused'",
                  RETURN_S)
    for command in ("down", "delete"):
        code, out = machine.agent.run(f"istripectl {command} log", COMMAND_TIMEOUT_S)
        if code != 1 or "istripe@log.service is just bringing it up" not in out:
            raise Failed(f"istripectl {command} between two attempts: exit code {code}: {out}")
    machine.run("systemctl stop istripe@log && istripectl down log && "
                "systemctl --no-block start istripe@log")


def all_dead(lab):
    """No portal is there during a boot; it goes on, and when they return, so does the volume."""
    stop(ready(lab))
    lab.refuse()
    figures = boot_without(lab, "Connection refused")
    machine = lab.machine
    figures["is-system-running"] = machine.run("systemctl is-system-running || true").strip()
    handed_over(machine)
    lab.heal()
    figures["mounted after"] = mounted(machine, RETURN_S)
    first_record_check(machine)
    figures["then"] = machine.run("systemctl is-system-running || true").strip()
    return figures


def boot_without(lab, why):
    """Boots although no volume comes up; systemctl status says why."""
    figures = {"boot": lab.boot_done()}
    lab.machine.run("systemctl is-active systemd-user-sessions.service && "
                    "systemctl is-active getty@tty1.service")
    # An attempt that has just begun has no reason yet.
    lab.machine.until(f"systemctl status --no-pager istripe@db | grep 'Status: .*{why}'", RETURN_S)
    figures["lines in the journal"] = int(lab.machine.run(
        "journalctl -b --no-pager -o cat | grep -ci istripe"))
    return figures


def all_silent(lab):
    """The same without any answer; the machine also stops while the volume is tried again."""
    stop(ready(lab))
    lab.silence()
    figures = boot_without(lab, r"\(No route to host\|timed out\)")
    figures["stop"] = stop(lab.machine)
    figures["next boot"] = lab.boot_done()
    lab.heal()
    figures["mounted after"] = mounted(lab.machine, RETURN_S)
    first_record_check(lab.machine)
    return figures


#: A LUN behind two targets, and a stripe over both.
WITH_SECOND = {
    "twin": f"--leg target={outside.IQN},lun={SHARED_LUN},portal={outside.ADDRESS},nic=san0 "
            f"--path target={SECOND},lun={SHARED_LUN},portal={SECOND_PORTAL},nic=san1",
    "pair": f"--leg target={outside.IQN},lun={FREE_LUN},portal={outside.ADDRESS},nic=san0 "
            f"--leg target={SECOND},lun={OWN_LUN},portal={SECOND_PORTAL},nic=san1",
}


def state_file(volume):
    return f"/sys/block/$(cat /sys/kernel/config/istripe/{volume}/device)/istripe/state"


def add(machine, volumes):
    """The volumes, their file systems, and all of them in fstab."""
    for name, legs in volumes.items():
        machine.run(f"istripectl create {name} --boot --initiator {INITIATOR} --chunk 64K {legs}")
        machine.run(f"mkfs.ext4 -q /dev/istripe/{name} && mkdir -p /srv/{name} && "
                    f"echo /dev/istripe/{name} /srv/{name} ext4 {OPTIONS} >>/etc/fstab && "
                    f"systemctl daemon-reload && mount /srv/{name} && echo {name} >/srv/{name}/file")


def remove(machine, volumes):
    # The end of a start mounts what is not mounted, also what has just been unmounted.
    for name in volumes:
        machine.until(f"systemctl -q is-active istripe@{name}", RETURN_S)
    for name in volumes:
        machine.run(f"umount /srv/{name} && udevadm settle && sed -i '/{name}/d' /etc/fstab && "
                    f"systemctl daemon-reload && systemctl disable --now istripe@{name} && "
                    f"istripectl delete {name} && rm /etc/istripe/{name}.conf")


def target_dead(lab):
    """One of two targets is dead during a boot: what the other one has comes up, the rest later."""
    machine = ready(lab)
    lab.lun(FREE_LUN, daemon=0)
    lab.second_start()
    add(machine, WITH_SECOND)
    stop(machine)
    lab.second_kill()
    figures = {"boot": lab.boot_done()}
    machine = lab.machine
    figures["mounted after"] = mounted(machine, MOUNT_S)
    machine.until("grep -x twin /srv/twin/file", MOUNT_S)
    machine.run(f"grep -x degraded {state_file('twin')}")
    machine.until("systemctl status --no-pager istripe@pair | grep 'Status: .*Connection refused'",
                  RETURN_S)
    machine.run("! mountpoint -q /srv/pair")
    for unit in "systemd-user-sessions.service", "getty@tty1.service":
        machine.run(f"systemctl is-active {unit}")
    lab.second_start()
    figures["stripe mounted after"] = machine.until("grep -x pair /srv/pair/file", RETURN_S)
    for name in WITH_SECOND:
        machine.until(f"grep -x live {state_file(name)}", RETURN_S)
    remove(machine, WITH_SECOND)
    lab.second_kill()
    return figures


#: Volumes of one leg each: nobody listens at the target of one, no packet gets to that of the other.
TWO_AWAY = {
    "late": f"--leg target={SECOND},lun={LATE_LUN},portal={SECOND_PORTAL},nic=san1",
    "mute": f"--leg target={outside.IQN},lun={MUTE_LUN},portal={MUTE_PORTAL},nic=san0",
}
#: What a boot is held up for, but for the user sessions themselves.
HELD_UP = ("remote-fs-pre.target", "systemd-user-sessions.service", "srv-db.mount", "srv-log.mount",
           "multi-user.target")


def not_held_up(machine):
    """Both volumes have failed, and nothing waits for their next attempts, which begin at once."""
    for name in TWO_AWAY:
        machine.until(f"journalctl -b --no-pager -u istripe@{name} | grep 'Failed with result'",
                      ATTEMPT_S)
    # is-active succeeds when any of them is.
    machine.until(f"! systemctl is-active {' '.join(HELD_UP)} | grep -vx active", GO_ON_S)
    # From now on without a break.
    for name in TWO_AWAY:
        machine.until(f"[ $(systemctl is-active istripe@{name}) = activating ] && "
                      f"[ $(systemctl show -p NRestarts --value istripe@{name}) -gt 0 ]", RETURN_S)
    machine.run("! mountpoint -q /srv/late && ! mountpoint -q /srv/mute && ! systemctl list-jobs | "
                "grep -w remote-fs-pre.target")
    failed_s = [float(machine.run(
        f"journalctl -b --no-pager -o short-monotonic -u istripe@{name} | "
        "sed -n '/Failed with result/{s/^\\[ *\\([0-9.]*\\).*/\\1/p;q}'")) for name in TWO_AWAY]
    return {"second failure": max(failed_s), "remote-fs-pre": machine.active_s(HELD_UP[0]),
            "sessions": machine.active_s(HELD_UP[1])}


def unmounted_first(machine, name):
    """At the last shutdown: a file system goes before its volume."""
    lines = machine.run("journalctl -b -1 --no-pager -o cat "
                        f"-u istripe@{name} -u srv-{name}.mount").splitlines()
    begin = [at for at, line in enumerate(lines) if line.startswith("Stopping istripe")]
    ends = [at for at, line in enumerate(lines) if line.startswith("Unmounted ")]
    if not begin or not ends or begin[-1] < ends[-1]:
        raise Failed(f"{name} is not unmounted before its volume stops:\n" + "\n".join(lines[-20:]))


def two_away(lab):
    """Two volumes fail, each for a reason of its own and after another time; a third one is well.

    The boot waits for the first attempt of each, and not until by chance neither is tried.
    """
    machine = ready(lab)
    lab.lun(MUTE_LUN, daemon=0)
    lab.mute_portal("new")
    lab.second_start()
    add(machine, TWO_AWAY)
    stop(machine)
    lab.second_kill()
    lab.mute()
    lab.boot()
    machine = lab.machine
    figures = not_held_up(machine)
    lab.second_start()
    figures["one mounted after"] = machine.until("grep -x late /srv/late/file", RETURN_S)
    lab.heal()
    figures["both mounted after"] = machine.until("grep -x mute /srv/mute/file", ATTEMPT_S)
    figures["stop"] = stop(machine)
    figures |= boot_whole(lab)
    machine = lab.machine
    for name in ("late", "log"):
        unmounted_first(machine, name)
    machine.until("grep -x late /srv/late/file && grep -x mute /srv/mute/file", RETURN_S)
    remove(machine, TWO_AWAY)
    lab.second_kill()
    lab.mute_portal("delete")
    return figures


def network_gone(lab):
    """The network is gone, under load, when the machine is switched off."""
    machine = ready(lab)
    path = f"{MOUNTS[0]}/gone"
    load_start(machine, path)
    lab.silence()
    time.sleep(2)
    stop_s = machine.end("poweroff", END_S)
    acknowledged = machine.records.acknowledged
    lab.heal()
    figures = {"stop": stop_s, **boot_whole(lab), "records": acknowledged}
    if lost(lab.machine, path, acknowledged):
        raise Failed(f"of {acknowledged} acknowledged records "
                     f"{lost(lab.machine, path, acknowledged)} are not there")
    stop_check(stop_s)
    return figures


#: As ifupdown does it: the addresses go when the network is stopped.
ADDRESSES_GO = """[Unit]
Before=network.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/sh -c 'for nic in san0 san1; do ip link set $nic down; done'
"""


def by_hand(lab):
    """A file system that was mounted by hand, without _netdev: its data get there before the network
    goes, as open-iscsi.service sees to it.
    """
    machine = ready(lab)
    machine.run(f"cat >/run/systemd/system/addresses-go.service <<'END'\n{ADDRESSES_GO}END\n"
                "systemctl daemon-reload && systemctl start addresses-go && "
                "umount /srv/log && mkdir -p /mnt/hand && mount /dev/istripe/log /mnt/hand && "
                "echo 1000000 >/proc/sys/vm/dirty_writeback_centisecs && "
                "dd if=/dev/urandom of=/root/hand bs=1M count=48 conv=fsync && cp /root/hand /mnt/hand/ && "
                "for nic in san0 san1; do "
                "tc qdisc add dev $nic root tbf rate 4mbit burst 64k limit 1m || exit; done")
    # More than 48 s of them are to be written.
    figures = {"stop": machine.end("reboot", END_S), **boot_whole(lab)}
    lab.machine.run("cmp /root/hand /srv/log/hand && rm /srv/log/hand /root/hand && rmdir /mnt/hand")
    return figures


def reboots(lab):
    """Reboots under load."""
    machine = ready(lab)
    total, stops_s, boots_s = 0, [], []
    for boot in range(lab.boots):
        path = f"{MOUNTS[boot % 2]}/boot-{boot}"
        load_start(machine, path)
        stops_s.append(machine.end("reboot", END_S))
        acknowledged = machine.records.acknowledged
        boots_s.append(boot_whole(lab)["boot"])
        machine = lab.machine
        missing = lost(machine, path, acknowledged)
        if missing:
            raise Failed(f"boot {boot}: of {acknowledged} acknowledged records {missing} lost")
        total += acknowledged
    stop_check(max(stops_s))
    return {"boots": lab.boots, "records": total, "lost": 0, "longest stop": max(stops_s),
            "longest boot": max(boots_s)}


CONF = "/etc/istripe/log.conf"
SECRET = "/etc/istripe/log.secret"
RIGHT_SECRET = "the-right-secret"
# Of the algorithms tgt takes 7, SHA-256, for SHA-1.
WITH_CHAP = (f"cp {CONF} /root/ && sed -i 's/^\\[paths\\]/&\\nchap_user = boot\\n"
             f"chap_secret = @log.secret\\nchap_algorithms = MD5/' {CONF}")

#: What is wrong with a volume that is to start, how it comes about, and words of the reason that
#: systemctl status must show.
CASES = (
    ("no file", f"cp {CONF} /root/ && rm {CONF}", f"AssertPathExists={CONF}"),
    ("no secret", WITH_CHAP, f"{SECRET}: No such file or directory"),
    ("open secret", f"{WITH_CHAP} && echo not-the-right-one >{SECRET} && chmod 644 {SECRET}",
     "others may read it"),
    ("wrong secret", f"{WITH_CHAP} && echo not-the-right-one >{SECRET} && chmod 600 {SECRET}",
     "authentication failed"),
    ("bad value", f"cp {CONF} /root/ && echo 'chunk = 3' >>{CONF}", "belongs in [volume]"),
)


def chap(lab, op):
    """The target wants CHAP, or not; sessions that are there stay."""
    account = ("--user", "boot")
    if op == "bind":
        lab.admin("new", "account", *account, "--password", RIGHT_SECRET)
        lab.admin("bind", "account", "--tid", 1, *account)
    else:
        lab.admin("delete", "account", *account)


def reason(machine, what, words):
    """Starts the volume, which must fail; systemctl status must say why."""
    code, _ = machine.agent.run("systemctl start istripe@log", 180)
    status = machine.agent.run("systemctl status --no-pager --full istripe@log", 60)[1]
    if code == 0 or words not in status:
        raise Failed(f"{what}: started with code {code}, and there is no '{words}' in\n{status}")
    # Nothing else can be done about it than what the administrator does.
    state = machine.agent.run("systemctl is-active istripe@log", 60)[1].strip()
    if state not in ("failed", "inactive"):
        raise Failed(f"{what}: the unit is {state}, as if another start would help\n{status}")


def credential(machine):
    """The secret is a credential of the unit, and goes before a file in /etc/istripe."""
    folder = "/etc/systemd/system/istripe@log.service.d"
    machine.run(f"{WITH_CHAP} && echo {RIGHT_SECRET} >/root/secret && mkdir {folder} && "
                "printf '[Service]\nLoadCredential=log.secret:/root/secret\n' "
                f">{folder}/credential.conf && grep -vx {RIGHT_SECRET} {SECRET} && "
                "systemctl daemon-reload && systemctl start istripe@log && "
                f"grep -x live {state_file('log')}")
    # The unit starts the mount at its end, and a volume in use does not stop.
    machine.until("mountpoint -q /srv/log", MOUNT_S)
    machine.run(f"umount /srv/log && systemctl stop istripe@log && cp /root/log.conf {CONF} && "
                f"rm -r {folder} /root/secret && systemctl daemon-reload")


def reasons(lab):
    """A volume that cannot start says why, and starts when that is mended."""
    machine = ready(lab)
    verify = machine.run("cd /lib/systemd/system && systemd-analyze verify --man=no "
                         "istripe@db.service istripe-tried@db.target istripe-shutdown.service "
                         "istripe-soft-reboot.service 2>&1")
    if verify.strip():
        raise Failed(f"systemd-analyze verify: {verify}")
    stopped(machine)
    machine.run("umount /srv/log && systemctl stop istripe@log")
    chap(lab, "bind")
    try:
        for what, cause, words in CASES:
            machine.run(cause)
            reason(machine, what, words)
            machine.run(f"systemctl stop istripe@log; cp /root/log.conf {CONF}")
        credential(machine)
    finally:
        chap(lab, "delete")
    machine.run("systemctl start istripe@log")
    mounted(machine, RETURN_S)
    unit = "/lib/systemd/system/istripe@.service"
    code, out = machine.agent.run(f"mv {unit} /root/ && systemctl daemon-reload && "
                                  "istripectl save --boot log", 60)
    machine.run(f"mv /root/istripe@.service {unit} && systemctl daemon-reload")
    if code != 1 or "next: is the unit istripe@.service installed?" not in out:
        raise Failed(f"no unit: code {code}\n{out}")
    return {"cases": len(CASES) + 2}


def soon(machine, *units):
    """Seconds from network.target until all these units were active."""
    seconds = max(map(machine.active_s, units)) - machine.active_s("network.target")
    if seconds > SOON_S:
        raise Failed(f"{', '.join(units)}: {seconds:.1f} s after network.target, not {SOON_S}")
    return seconds


def cable(lab):
    """One NIC has no link: it holds up no volume, nor, with what usage.rst says, a file system."""
    stop(ready(lab))
    figures = {"boot": lab.boot_done(cables=(True, False))}
    machine = lab.machine
    figures["volumes"] = soon(machine, "istripe@db", "istripe@log")
    figures["mounted after"] = mounted(machine, ONLINE_S)
    degraded_check(machine)
    # Its address comes now.
    figures["live again"] = live_again(lab)
    folder = "/etc/systemd/system/systemd-networkd-wait-online.service.d"
    wait_for_one = textwrap.dedent(pages.block("systemd-networkd-wait-online --any", USAGE))
    machine.run(f"mkdir {folder} && cat >{folder}/override.conf <<'END'\n{wait_for_one}END")
    stop(machine)
    lab.boot_done(cables=(True, False))
    machine = lab.machine
    mounted(machine, MOUNT_S)
    figures["file systems"] = soon(machine, "srv-db.mount", "srv-log.mount")
    first_record_check(machine)
    machine.run(f"rm -r {folder} && systemctl daemon-reload")
    live_again(lab)
    return figures


def required(lab):
    """File systems that require their volume, one in fstab, one with a unit, as usage.rst has them."""
    machine = ready(lab)
    option = re.search(r"``(x-systemd\.requires=\S+)``", USAGE.read_text(encoding="ascii"))[1]
    unit = "\n".join(textwrap.dedent(pages.block(words, USAGE)) for words in (
        "Requires=istripe@db.service", "Where=/srv/db", "WantedBy=remote-fs.target"))
    # The page's volume has the file system; here it is the other one that has no LVM.
    unit = unit.replace("db", "log")
    machine.run(f"cp /etc/fstab /root/ && sed -i 's/{OPTIONS}/&,{option}/; /srv.log/d' /etc/fstab && "
                f"cat >/etc/systemd/system/srv-log.mount <<'END'\n{unit}END\n"
                "systemctl daemon-reload && systemctl enable srv-log.mount")
    stop(machine)
    lab.refuse()
    boot_without(lab, "Connection refused")
    machine = lab.machine
    for place in MOUNTS:
        machine.until(f"journalctl -b --no-pager | grep 'Dependency failed for .*{place}'", RETURN_S)
    lab.heal()
    figures = {"mounted after": mounted(machine, RETURN_S)}
    for name in ("db", "log"):
        machine.run(f"systemctl stop istripe@{name} && udevadm settle && "
                    f"! mountpoint -q /srv/{name} && [ ! -e /dev/istripe/{name} ]")
        machine.run(f"systemctl start srv-{name}.mount && mountpoint -q /srv/{name}")
    figures["stop"] = stop(machine)
    figures |= boot_whole(lab)
    lab.machine.run("systemctl disable srv-log.mount && rm /etc/systemd/system/srv-log.mount && "
                    "mv /root/fstab /etc/fstab && systemctl daemon-reload")
    return figures


#: A volume that can be lost alone, with a hardware queue for each processor.
ALONE = f"--leg target={SECOND},lun={OWN_LUN},portal={SECOND_PORTAL},nic=san1,connections=2"
UNDER_WAY = "/usr/bin/python3 -B /usr/local/lib/istripe-boot/under_way.py"
#: pm_test waits for 5 s before all comes back.
SUSPEND = ("state=disk; grep -qs '\\[deep\\]' /sys/power/mem_sleep && state=mem; "
           "echo 0 >/sys/power/sync_on_suspend && echo processors >/sys/power/pm_test && "
           "echo $state >/sys/power/state && echo none >/sys/power/pm_test && "
           "echo 1 >/sys/power/sync_on_suspend")


@contextlib.contextmanager
def lost_with_a_write(lab, machine, recovery_ms):
    """The target of a volume dies, and a write waits for it, which must end well; it comes back inside."""
    lab.second_start()
    machine.run(f"istripectl create alone --initiator {INITIATOR} {ALONE} && udevadm settle && "
                f"echo {recovery_ms} >/sys/kernel/config/istripe/alone/recovery_timeout_ms")
    lab.second_kill()
    machine.until(f"! grep -x live {state_file('alone')}", RETURN_S)
    machine.run("systemd-run --quiet --unit=under-way -p RemainAfterExit=yes "
                f"{UNDER_WAY} /dev/istripe/alone /run/sent")
    machine.until("[ -e /run/sent ]", RETURN_S)
    yield
    machine.until("[ $(systemctl show -p SubState --value under-way) = exited ]", RETURN_S)
    machine.run("systemctl stop under-way && rm /run/sent && udevadm settle && "
                "istripectl down alone && istripectl delete alone")
    lab.second_kill()


def suspended(lab):
    """Processors go off-line for a suspend while I/O of their queues waits for a lost target."""
    machine = ready(lab)
    for what, there in (("second processor", "/sys/devices/system/cpu/cpu1"),
                        ("pm_test", "/sys/power/pm_test")):
        if machine.agent.run(f"[ -e {there} ]", 60)[0]:
            return {"skipped": f"no {what}"}
    with lost_with_a_write(lab, machine, -1):
        begin = time.monotonic()
        machine.run(SUSPEND)
        figures = {"there and back": time.monotonic() - begin}
        machine.run("[ $(systemctl show -p SubState --value under-way) = running ]")
        lab.second_start()
    return figures


OF_VOLUMES = {function.__name__: function for function in (
    fresh, one_dead, target_dead, two_away, reasons, required, cable, suspended, all_dead, all_silent,
    network_gone, by_hand, reboots)}
SHORT = ("fresh", "one_dead")
