# SPDX-License-Identifier: GPL-2.0
"""Settings: those that may be written while the volume is up, and all policies."""

import re
from pathlib import Path

TABLE = Path(__file__).resolve().parents[3] / "include/istripe/settings.h"
#: Of the table, so that the tests of policies go through a new one, too.
POLICIES = tuple(re.findall(r'_choice\(ISTRIPE_POLICY_\w+, "([^"]+)"\)',
                            TABLE.read_text(encoding="utf-8")))
assert "interleave" in POLICIES

#: All of them: (level, name, a value that is not the default, a bad one).
LIVE = [
    ("volume", "command_timeout_ms", "20000", "999"),
    ("volume", "recovery_timeout_ms", "-1", "-2"),
    ("leg", "policy", "failover", "random"),
    ("leg", "fence", "auto", "none"),
    ("leg", "fence_timeout_ms", "9000", "-2"),
    ("leg", "ghost_timeout_ms", "9000", "-2"),
    ("leg", "alua", "off", "explicit"),
    ("path", "weight", "7", "1001"),
    ("path", "login_timeout_ms", "9000", "99"),
    ("path", "ping_interval_ms", "1500", "3600001"),
    ("path", "ping_timeout_ms", "4000", "99"),
    ("path", "login_retry_max_ms", "5000", "999"),
    ("path", "dscp", "46", "64"),
    ("path", "priority", "5", "8"),
    ("path", "congestion_control", "reno", "nonesuch"),
    ("path", "user_timeout_ms", "60000", "-1"),
    ("path", "send_buffer_bytes", "262144", "4095"),
    ("path", "receive_buffer_bytes", "131072", "1"),
]
