# SPDX-License-Identifier: GPL-2.0
"""istripe for sos report: https://github.com/sosreport/sos

Copy it to sos/report/plugins/ in Python's folder of modules. tests/tools/test_sos.py and
tests/host/packages run it in the sos of Debian. sos 4.0 takes plugins of its distribution only; later
ones take an IndependentPlugin.
"""

from sos.report.plugins import (
    DebianPlugin,
    IndependentPlugin,
    Plugin,
    RedHatPlugin,
    UbuntuPlugin,
)


class Istripe(Plugin, IndependentPlugin, RedHatPlugin, DebianPlugin, UbuntuPlugin):
    """Volumes of istripe: how they are and how they are configured. Files below /etc/istripe may
    have secrets: only istripectl report reads them, which leaves those out. Not all versions of sos
    mend a file that they have copied from another root directory.
    """

    short_desc = "istripe, striping iSCSI initiator"
    plugin_name = "istripe"
    profiles = ("storage", "network")
    packages = ("istripe-tools",)
    commands = ("istripectl",)
    kernel_mods = ("istripe",)

    def setup(self):
        self.add_forbidden_path(["/sys/kernel/config/istripe/*/legs/*/paths/*/*secret"])
        self.add_copy_spec([
            "/sys/kernel/config/istripe",
            "/sys/block/istripe*/istripe",
        ])
        self.add_cmd_output([
            "istripectl --version",
            "istripectl list",
            "istripectl status",
            "istripectl status --json",
            "istripectl show --conf",
            "istripectl top --once",
            "istripectl doctor",
        ])
        self.add_journal(units=["istripe@*", "istripe-monitor@*", "istripe-shutdown",
                                "istripe-soft-reboot"])
        report = self.get_cmd_output_path(name="report", make=False)
        self.add_cmd_output(f"istripectl report --output {report}")

    def postproc(self):
        self.do_cmd_output_sub("istripectl", r"(?i)(\w*secret\s*=\s*)[^@\s,]+", r"\1******")
