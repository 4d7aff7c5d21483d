# SPDX-License-Identifier: GPL-2.0
"""istripe.7 has the messages of the driver, and none that nobody prints; tests provoke them."""

import ast
import re

from conftest import TOP
from texts import STRING, covers, entries, general, pieces

PAGE = TOP / "tools/istripectl/istripe.7"
LOG = re.compile(rf"\bpr_(?:err|warn|notice|info)(?:_ratelimited)?\(\s*((?:{STRING}\s*)+)")


def sources():
    files = [*(TOP / "drivers/istripe").rglob("*.c"), *(TOP / "tools/istripectl").glob("*.c")]
    return [file.read_text(encoding="utf-8") for file in sorted(files)]


def printed():
    """All texts of the sources."""
    return [general(match.group()) for text in sources()
            for match in re.finditer(rf"(?:{STRING}\s*)+", text)]


def logged():
    """Those that go to the kernel's log as they are, without the name of what they are about."""
    texts = {general(match.group(1)) for text in sources() for match in LOG.finditer(text)}
    texts = {re.sub(r"^[./]+:? ", "", text) for text in texts}
    return {text for text in texts if re.search(r"\w{3}", text)}


def documented():
    """The messages of the page."""
    page = PAGE.read_text(encoding="utf-8")
    return entries(page.split(".SH TROUBLESHOOTING")[1].split(".SH FILES")[0])


def is_documented(text, messages):
    """As it is, or by its beginning: "LUN bring-up: ..."."""
    return any(covers(message, text) or
               (re.search(r"\w \.\.\.$|: \.\.\.$", message) and text.startswith(message[:-3]))
               for message in messages)


def test_every_message_of_the_page_is_printed():
    texts, messages = printed(), documented()
    assert len(messages) > 100
    missing = [message for message in messages
               if not any(covers(text, message) for text in texts)]
    assert missing == []


def test_every_message_of_the_log_is_in_the_page():
    messages, texts = documented(), logged()
    assert len(texts) > 40
    assert sorted(text for text in texts if not is_documented(text, messages)) == []


def test_space_that_has_run_out():
    """What sense 7/27/07 is called: only the administrator of the array can mend it."""
    assert "thin LUN out of space" in documented()


#: Parts of messages, what is done and not what is wrong, and reasons that name what allows them.
PARTS = re.compile(
    r"^[,;] |^over path|^overwrite its|^and |^until |^1 to 63 letters|^was lost again|^leg ... was lost"
    r"|^no other port serves|^refuses LOGICAL|^does not know LOGICAL"
    r"|once more$|^data offset in sectors|^logical block in bytes|is ..., on leg|^commands time out, and so do aborts"
    r"|^superblock was not read|^fence is set to (?:path|session)$|^I/O to the same blocks$"
    r"|^fence_timeout_ms is over, or$|^no answer to PERSISTENT|^another host has preempted"
    r"|^the LUN does not list it|^the LUN has more keys|^a number from 0 to")


def reasons():
    """Texts of four words and more, where reasons come from that an administrator can act on."""
    places = [*(TOP / "drivers/istripe/block").glob("*.c"), TOP / "drivers/istripe/layout/md.c",
              TOP / "drivers/istripe/control/path_change.c",
              *(TOP / "drivers/istripe/control").glob("[ce]*.c")]
    texts = {general(match.group()) for place in places for match in
             re.finditer(rf"(?:{STRING}\s*)+", place.read_text(encoding="utf-8"))}
    return {re.sub(r"^[./]+:? ", "", text) for text in texts
            if len(text.split()) >= 4 and '"' not in text and not PARTS.search(text)}


def test_every_reason_is_in_the_page():
    texts, messages = reasons(), documented()
    assert len(texts) > 150
    assert sorted(text for text in texts if not is_documented(text, messages)) == []


#: Messages and reasons that no test provokes, and why.
UNPROVOKED = {
    "a uevent (...) is not sent: ... (...)": "the kernel has no memory for it",
    "leg ... path ... has not all its files in sysfs: ... (...)": "the kernel has no memory for them",
    "ghost_timeout_ms is over: data for the blocks of lost writes cannot be kept in memory: "
    "writes of other data to them go on waiting": "more than 16 MiB of lost writes at a time",
    "... are not watched: ... (...)": "the kernel has no memory for the list of notifiers",
    "... cannot be set to ...: ... (...)": "the range of a setting has no value that TCP refuses",
    'congestion_control cannot be set to "...": ... (...)': "a name is tried before it is taken",
    "cannot add the disk: ... (...)": "the kernel has no memory for it",
    "cannot create the volume: ... (...)": "the kernel has no memory for it",
    "cannot make its files in sysfs: ... (...)": "the kernel has no memory for them",
    "interrupted at leg ...": "a signal between two superblocks",
    "interrupted while ... was connecting": "of a path: as with a volume, which a test interrupts",
    "it shows another LUN, ...": "another LUN between two logins through a sibling",
    "its directory is being removed": "a command and rmdir within microseconds",
    "its session is still being closed: try again": "a command within the end of a session",
    "its tasks take too long": "the target holds commands, and answers none of 30 s",
    "leg ...: no superblock fits: ... (...)": "the plan of the same legs has fitted",
    "leg ...: other commands over its path have no answer": "a question that has none while it goes",
    "leg ...: somebody else has just made an array of it": "within milliseconds of our own",
    "missing, no leg is given": "a volume has legs",
    "one of its directories is being made or removed": "a command and mkdir within microseconds",
    "sectors and chunks of ... bytes make no volume": "the legs are checked before",
    "the path, or a connection of it, is being removed": "two commands within microseconds",
    "the session before neither ends nor answers": "the target is lost within a trial login",
    "the session before was lost by itself": "the target is lost within a trial login",
}


def literals(file):
    """The strings of a test but for its docstrings, without the backslashes of expressions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and isinstance(node.body[0], ast.Expr)}
    return [re.sub(r"\\(\W)", r"\1", node.value) for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs]


def asked_for(text, strings):
    """Whether a test has three words of it, or its longest part if no part has so many."""
    parts = [" ".join(words[at:at + 3]).rstrip(",:") for words in map(str.split, pieces(text))
             for at in range(len(words) - 2)] or [max(pieces(text), key=len)]
    return any(part in string for part in parts for string in strings)


def test_messages_are_provoked():
    """By system tests, which look for them."""
    strings = [string for file in (TOP / "tests/system").rglob("*.py") for string in literals(file)]
    missing = {text for text in logged() | reasons() if not asked_for(text, strings)}
    wrong = [*(f"no test provokes: {text}" for text in sorted(missing - set(UNPROVOKED))),
             *(f"is provoked, or gone: {text}" for text in sorted(set(UNPROVOKED) - missing))]
    assert not wrong, "\n".join(wrong)
