# SPDX-License-Identifier: GPL-2.0
"""What zsh offers behind a command line that is not finished: a zsh of its own is asked."""

import os
import pty
import select
import subprocess
import time

import pytest
from conftest import TOP

START_S = 60
#: Its key completes the text of the file line, and writes all that was added to the file offered.
SETUP = r"""
fpath=($COMPLETION $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a added
	builtin compadd -A added "$@"
	print -rl -- $added >>$WORK/added
	builtin compadd "$@"
}
offer() {
	BUFFER=$(<$WORK/line)
	CURSOR=$#BUFFER
	: >$WORK/added
	zle list-choices
	BUFFER=
	mv $WORK/added $WORK/offered
}
zle -N offer
bindkey '^T' offer
print >$WORK/ready
"""
KEY = b"\x14"


class Zsh:
    """At a terminal, whose output is read and thrown away."""

    def __init__(self, work, **env):
        self.work = work
        (work / ".zshrc").write_text(SETUP)
        self.terminal, other = pty.openpty()
        self.process = subprocess.Popen(
            ["zsh", "-d", "-i"], stdin=other, stdout=other, stderr=other, start_new_session=True,
            env={"PATH": os.environ["PATH"], "TERM": "vt100", "LANG": "C.UTF-8", "HOME": str(work),
                 "ZDOTDIR": str(work), "WORK": str(work),
                 "COMPLETION": str(TOP / "tools/istripectl"), **env})
        os.close(other)
        self.wait("ready")

    def wait(self, name):
        """Until the file is there."""
        said, end = b"", time.monotonic() + START_S
        while not (self.work / name).exists():
            assert time.monotonic() < end and self.process.poll() is None, said
            if select.select([self.terminal], [], [], 0.01)[0]:
                said += os.read(self.terminal, 1 << 16)
        text = (self.work / name).read_text(encoding="utf-8")
        (self.work / name).unlink()
        return text

    def offered(self, line):
        (self.work / "line").write_text(line)
        os.write(self.terminal, KEY)
        return set(self.wait("offered").split())

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture(scope="module")
def zsh(tmp_path_factory):
    """Two volumes: db has three paths, log has none; old has a file only."""
    tree, conf, work = (tmp_path_factory.mktemp(name) for name in ("tree", "conf", "work"))
    for path in ("db/legs/0/paths/0", "db/legs/0/paths/1", "db/legs/1/paths/0", "log/legs/0"):
        (tree / path).mkdir(parents=True)
    for name in ("portal", "nic", "weight", "enable", "last_error"):
        (tree / "db/legs/0/paths/0" / name).touch()
    (tree / "db/legs/0/paths/0/target_name").write_text("iqn.2026-01.a\n")
    for name in ("designator", "policy", "unfenced"):
        (tree / "db/legs/0" / name).touch()
    (tree / "db/queue_depth").touch()
    for name in ("old.conf", "log.conf", "log.conf.new"):
        (conf / name).touch()
    asked = Zsh(work, _istripectl_tree=str(tree), _istripectl_conf=str(conf))
    yield asked
    asked.end()


@pytest.mark.parametrize("line, replies", [
    ("istripectl pa", {"path"}),
    ("istripectl do", {"down", "doctor"}),
    ("istripectl help me", {"metrics"}),
    ("istripectl path ", {"add", "remove", "confirm"}),
    ("istripectl path add ", {"db", "log"}),
    ("istripectl path add db ", {"0", "1"}),
    ("istripectl path add db 0 ", {"nic", "portal", "target_name", "weight"}),
    ("istripectl path add db 0 portal=192.0.2.1,wei", {"weight"}),
    ("istripectl path remove db 0 ", {"0", "1"}),
    ("istripectl path remove db 1 ", {"0"}),
    ("istripectl path confirm --", {"--yes", "--dry-run", "--help"}),
    ("istripectl create new --metadata ", {"md", "none"}),
    ("istripectl create new --chunk 1", {"16K", "1M"}),
    ("istripectl create new --leg po", {"portal", "policy"}),
    ("istripectl create new --leg un", set()),
    ("istripectl create new --leg fence=", {"auto", "session", "path"}),
    ("istripectl create new --leg multi=s", {"sessions"}),
    ("istripectl create new --leg lun=1,header_digest=C", {"CRC32C"}),
    ("istripectl create new --path initial_r2t=", {"Yes", "No"}),
    ("istripectl create new --all-paths congestion_control=cub", {"cubic"}),
    ("istripectl create new --leg nic=l", {"lo"}),
    ("istripectl create new --leg target=", {"iqn.2026-01.a"}),
    ("istripectl create new --set que", {"queue_depth"}),
    ("istripectl create new --set host_disks=c", {"claim"}),
    ("istripectl create new --leg fro", set()),
    ("istripectl create new --nics l", {"lo"}),
    ("istripectl create new --nics eth9,l", {"lo"}),
    ("istripectl create new --chap mutual_s", {"mutual_secret=@"}),
    ("istripectl create new --wait ", {"30", "5min", "forever"}),
    ("istripectl assemble new --nic", set()),
    ("istripectl import db --leg from_node=", {"yes", "no"}),
    ("istripectl import db --leg lun=1,fro", {"from_node"}),
    ("istripectl up ", {"old", "log", "db"}),
    ("istripectl up --", {"--wait", "--saved", "--all", "--create", "--dry-run"}),
    ("istripectl apply ", {"old", "log"}),
    ("istripectl down ", {"db", "log"}),
    ("istripectl down --", {"--force", "--all", "--dry-run"}),
    ("istripectl delete --", {"--force", "--dry-run"}),
    ("istripectl report ", {"db", "log", "old"}),
    ("istripectl create new --leg chap_algorithms=M", {"MD5"}),
    ("istripectl set ", {"db", "log"}),
    ("istripectl set db ", {"queue_depth"}),
    ("istripectl set db --leg ", {"0", "1"}),
    ("istripectl set db --leg 0 --path ", {"0", "1"}),
    ("istripectl set db --leg 0 po", {"policy"}),
    ("istripectl set db --leg 0 policy=f", {"failover"}),
    ("istripectl set db --leg 0 --path 0 wei", {"weight"}),
    ("istripectl reconnect db ", {"0", "1"}),
    ("istripectl reconnect --timeout 5 db 0 ", {"0", "1"}),
    ("istripectl reconnect db 1 ", {"0"}),
    ("istripectl discover 192.0.2.1 --l", {"--luns"}),
    ("istripectl doctor --l", {"--list"}),
    ("istripectl doctor ", {"db", "log"}),
    ("istripectl monitor --", {"--json", "--program", "--exec"}),
    ("istripectl examine /dev/nul", {"dev", "null"}),
    ("istripectl top --interval ", {"1", "5", "500ms", "1min"}),
    ("istripectl top -o R", {"READ_MB/s", "RETRIES", "RECONNECTS", "RETRANS"}),
    ("istripectl status --watch=", {"1", "2", "5"}),
    ("istripectl status -o NAME,W", {"WHERE"}),
    ("istripectl list ", {"db", "log", "old"}),
    ("istripectl list --output ", {"VOLUME", "DEVICE", "STATE", "SIZE", "LEGS", "PATHS"}),
])
def test_offered(zsh, line, replies):
    assert zsh.offered(line) == replies
