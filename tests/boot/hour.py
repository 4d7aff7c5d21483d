# SPDX-License-Identifier: GPL-2.0
"""The first hour of a stranger: README and guide are typed word for word (words.py), from bare Debian on.

It has a disk, targets and LUNs of its own; the scenarios after it find nothing of them.
"""

import contextlib
import time

import words
from lab import pages
from place import Failed
from scenarios import MOUNT_S, RETURN_S, first_mount, module_check, state_file, stop

#: Targets of the pages, and their numbers of tgt.
TARGETS = {2: "iqn.2026-01.com.example:array1", 3: "iqn.2026-01.com.example:array2"}
#: LUNs of each: one for the README, one for the guide.
README_LUN, GUIDE_LUN = 1, 2
#: The proof of sibling paths comes some seconds after them.
PROVEN_S = 120
#: An emulated dkms takes its time.
APT_S = 600
FSTAB = "sed -i '/istripe/d' /etc/fstab && systemctl daemon-reload"


class Typist:
    def __init__(self, machine, lun):
        self.machine = machine
        self.lun = lun
        self.typed = set()

    def type(self, page, mark, begin=""):
        """Types the block that has the mark, from some word on; returns what it prints."""
        self.typed.add((page, mark))
        text = pages.block(mark, page)
        text = text[text.index(begin):]
        return self.machine.run(words.in_the_machine(text, self.lun))

    def literal(self, begin, more=""):
        return self.machine.run(words.in_the_machine(words.literal(begin) + more, self.lun), APT_S)

    def says(self, out, *wanted):
        for what in wanted:
            if what not in out:
                raise Failed(f"'{what}' is not in\n{out}")


@contextlib.contextmanager
def targets(lab):
    for tid, name in TARGETS.items():
        lab.admin("new", "target", "--tid", tid, "-T", name)
        for lun in (README_LUN, GUIDE_LUN):
            lab.lun(lun, daemon=0, tid=tid)
        lab.admin("bind", "target", "--tid", tid, "--initiator-address", "ALL")
    try:
        yield
    finally:
        for tid in TARGETS:
            lab.admin("delete", "target", "--force", "--tid", tid)


@contextlib.contextmanager
def chap(lab):
    """As of now the targets want it, as the guide sets them up."""
    lab.admin("new", "account", "--user", "dbhost", "--password", words.SECRET)
    for tid in TARGETS:
        lab.admin("bind", "account", "--tid", tid, "--user", "dbhost")
    try:
        yield
    finally:
        lab.admin("delete", "account", "--user", "dbhost")


def readme(typist):
    """Seconds until the disk is mounted; then all else that the README says."""
    machine = typist.machine
    begin = time.monotonic()
    out = typist.type(words.README, "istripectl create db --save")
    typist.says(out, "(link: /dev/istripe/db)", " live ")
    typist.type(words.README, "systemctl enable --now istripe@db")
    typist.type(words.TARGETS, "mkfs.xfs -d su=64k", begin="mkdir -p /srv/db")
    made_s = time.monotonic() - begin
    machine.run("mountpoint -q /srv/db && echo README >/srv/db/file")
    typist.type(words.README, "istripectl path add db 0")
    machine.run(f"grep -x live {state_file('db')}")
    out = typist.type(words.README, "istripectl status db")
    typist.says(out, " live ", "istripe: db")
    machine.run("umount /srv/db")
    typist.type(words.README, "istripectl down db")
    machine.run(f"grep -x live {state_file('db')} && mount /srv/db && grep -x README /srv/db/file")
    return made_s


def remove_volume(typist):
    """As usage.rst says it below Removal."""
    typist.machine.run(f"umount /srv/db && {FSTAB}")
    typist.literal("systemctl disable --now istripe@db")
    typist.literal("istripectl delete db")


def live(machine):
    machine.until(f"grep -x live {state_file('db')}", RETURN_S)


def guide(typist):
    """The database host of targets.rst."""
    machine = typist.machine
    typist.says(typist.type(words.TARGETS, "istripectl discover"), *TARGETS.values())
    typist.type(words.TARGETS, "istripectl create db --boot")
    machine.until("istripectl status db | grep -w live && ! istripectl status db | grep unproven",
                  PROVEN_S)
    machine.run("systemctl -q is-enabled istripe@db && systemctl -q is-active istripe@db")
    typist.type(words.TARGETS, "mkfs.xfs -d su=64k")
    machine.run("mountpoint -q /srv/db && echo guide >/srv/db/file")


def guide_again(typist):
    """It says: reboot once, then unplug a cable."""
    machine = typist.machine
    seconds = machine.until("grep -x guide /srv/db/file", MOUNT_S)
    live(machine)
    machine.link_set(0, False)
    machine.until(f"grep -x degraded {state_file('db')}", RETURN_S)
    machine.run("echo 3 >/proc/sys/vm/drop_caches && grep -x guide /srv/db/file")
    machine.link_set(0, True)
    live(machine)
    return seconds


def remove_packages(typist):
    """Seconds that it takes."""
    begin = time.monotonic()
    typist.literal("modprobe -r istripe")
    typist.literal("apt remove")
    typist.machine.run("[ -d /etc/istripe ] && ! command -v istripectl && ! modinfo istripe")
    typist.literal("apt purge", " istripe-dkms istripe-tools")
    typist.machine.run("[ ! -e /etc/istripe ]")
    return time.monotonic() - begin


def booted(lab, typist=None, lun=README_LUN):
    """Boots; the one who types goes on."""
    seconds = lab.boot_done()
    typist = typist or Typist(lab.machine, lun)
    typist.machine = lab.machine
    lab.machine.run("/lib/systemd/systemd-networkd-wait-online")
    return seconds, typist


def type_all(lab):
    lab.fresh()
    first_s, typist = booted(lab)
    # README and usage.rst have the lines before this one, which tests/boot/image types.
    typist.machine.run(words.lines(pages.block("make deb", words.USAGE))[-1])
    module_check(typist.machine, by_dkms=True)
    made_s = readme(typist)
    remove_volume(typist)
    typist.lun = GUIDE_LUN
    figures = {"first boot": first_s, "created and mounted": made_s}
    with chap(lab):
        guide(typist)
        figures["stop"] = stop(lab.machine)
        figures["boot"], typist = booted(lab, typist)
        figures["mounted after"] = guide_again(typist)
        remove_volume(typist)
        figures["packages removed"] = remove_packages(typist)
    return {**figures, **first_mount(lab.installed_s(), made_s)}, typist.typed


def first_hour(lab):
    """README and guide, word for word, from bare Debian to the removal of the packages."""
    if lab.installed_s() is None:
        return {"not run": "without BOOT_PACKAGES"}
    if words.missing():
        raise Failed("neither typed nor among the exceptions of words.py:\n"
                     + "\n".join(words.missing()))
    lab.heal()
    with targets(lab):
        figures, typed = type_all(lab)
        lab.machine.kill()
    left = {(page, mark) for page, marks in words.TYPED.items() for mark in marks} - typed
    if left:
        raise Failed(f"not typed: {left}")
    return figures
