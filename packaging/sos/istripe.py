# SPDX-License-Identifier: GPL-2.0
"""istripe for sos report: https://github.com/sosreport/sos

Copy it to sos/report/plugins/ in Python's folder of modules. Tried with sos 4.0, which takes plugins
of its distribution only; later ones take an IndependentPlugin.
"""

from sos.report.plugins import (
    DebianPlugin,
    IndependentPlugin,
    Plugin,
    RedHatPlugin,
    UbuntuPlugin,
)


class Istripe(Plugin, IndependentPlugin, RedHatPlugin, DebianPlugin, UbuntuPlugin):
    """Volumes of istripe: how they are and how they are configured. Secrets are left out, by
    istripectl report and, in all that is collected here, once more below.
    """

    short_desc = "istripe, striping iSCSI initiator"
    plugin_name = "istripe"
    profiles = ("storage", "network")
    packages = ("istripe-tools",)
    commands = ("istripectl",)
    kernel_mods = ("istripe",)

    def setup(self):
        self.add_forbidden_path([
            "/etc/istripe/*secret*",
            "/sys/kernel/config/istripe/*/legs/*/paths/*/*secret",
        ])
        self.add_copy_spec([
            "/etc/istripe/*.conf",
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
        self.add_journal(units=["istripe@*", "istripe-monitor@*", "istripe-shutdown"])
        report = self.get_cmd_output_path(name="report", make=False)
        self.add_cmd_output(f"istripectl report --output {report}")

    def postproc(self):
        self.do_path_regex_sub(r"/etc/istripe/.*\.conf",
                               r"(?im)^(\s*#?\s*\w*secret\s*=\s*)[^@\s].*$", r"\1******")
        self.do_cmd_output_sub("istripectl", r"(?i)(\w*secret\s*=\s*)[^@\s,]+", r"\1******")
