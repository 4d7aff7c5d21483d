# SPDX-License-Identifier: GPL-2.0
"""Each command line of README and guide is typed by tests/boot, or there is a reason why not."""

import os
import subprocess
import sys

from conftest import TOP


def test_all_lines_are_typed():
    done = subprocess.run([sys.executable, "-B", TOP / "tests/boot/words.py"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": TOP / "tests/system"}, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
