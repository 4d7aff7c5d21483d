# SPDX-License-Identifier: GPL-2.0
"""What README and guide tell to type, as it is typed in the machine of tests/boot.

As a program with an argument, the packages of the kernel's headers: prints the line of the README
that installs the packages, which tests/boot/image types. Without: prints the lines that nobody types.
"""

import re
import sys

from lab import outside, pages

README = pages.TOP / "README"
TARGETS = pages.GUIDE / "targets.rst"
USAGE = pages.TOP / "Documentation" / "usage.rst"
INSTALL = "apt install ./build/deb/istripe"
SECRET = "a-secret-of-20-bytes"

#: Blocks that are typed as a whole, by words in them.
TYPED = {
    README: ("istripectl create db --save", "systemctl enable --now istripe@db",
             "istripectl path add db 0", "istripectl down db", "istripectl status db"),
    TARGETS: ("istripectl discover", "istripectl create db --boot", "mkfs.xfs -d su=64k"),
}
#: Lines that are not, and why.
NOT_TYPED = {
    "make demo": "virtual machines; make demo is run by itself",
    "make check": "virtual machines; it is the CI",
    "make deb": "compilers and their packages; make boot-test is given what it builds",
    "apt install linux-headers-": "the machine has those of its kernel",
    INSTALL: "tests/boot/image types it, with the compiler at the speed of the host",
    "man istripe": "no program man there; tests/lint/manual reads the pages",
    "Documentation/": "a page, no command; tests/lint/references looks for it",
}
#: Blocks for the targets, which are no machines here: tests/system/test_guide.py types them.
AT_TARGET = ("targetcli /backstores/block create", "<target iqn", "tgt-admin --update ALL")
#: Names and addresses of the pages, and of the machine: it has two NICs. LUN 0 of tgt is no disk.
NAMES = (("192.0.2.10", outside.ADDRESS), ("192.0.2.11", outside.ADDRESS),
         ("198.51.100.10", outside.SECOND_ADDRESS), ("198.51.100.11", outside.SECOND_ADDRESS),
         ("203.0.113.10", outside.SECOND_ADDRESS),
         ("eth1", "san0"), ("eth2", "san1"), ("eth3", "san1"))
#: Programs whose work a person does or ends. Nobody still looks at a new disk when it is taken away;
#: doctor may find the machine wanting.
PERSON = f"""editor() {{ echo {SECRET} >"$1"; }}
istripectl() {{
    udevadm settle
    [ "$1" != top ] || set -- "$@" --once
    command istripectl "$@" || {{ code=$?; [ "$1 $code" = "doctor 1" ] || return $code; }}
}}
set -e
"""


def lines(text):
    """The command lines of a block."""
    return [line.strip() for line in re.sub(r"\\\n\s*", "", text).splitlines()]


def missing():
    """Lines of the pages that are neither typed nor among the exceptions."""
    return [line for page, typed in TYPED.items() for text in pages.blocks(page)
            if not any(words in text for words in (*typed, *AT_TARGET))
            for line in lines(text) if not any(words in line for words in NOT_TYPED)]


def in_the_machine(text, lun):
    """A block with the names of the machine, and LUNs of this number."""
    for theirs, ours in NAMES:
        text = text.replace(theirs, ours)
    return PERSON + text.replace(",portal=", f",lun={lun},portal=")


def literal(begin, page=USAGE):
    """The words of a page that begin so and are a literal of a sentence."""
    found = {" ".join(words.split()) for words in
             re.findall(r"``([^`]+)``", page.read_text(encoding="ascii"))}
    found, = [words for words in found if words.startswith(begin)]
    return found


def main():
    if len(sys.argv) == 1:
        sys.exit("\n".join(missing()) or 0)
    line, = [line for line in lines(pages.block(INSTALL, README)) if INSTALL in line]
    print(line.replace("linux-headers-amd64", sys.argv[1]))


if __name__ == "__main__":
    main()
