# SPDX-License-Identifier: GPL-2.0
"""istripe.7 has the messages of the driver, and none that nobody prints."""

import re

from conftest import TOP
from texts import STRING, covers, entries, general

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


#: Parts of messages, what is done and not what is wrong, and reasons that name what allows them.
PARTS = re.compile(
    r"^[,;] |^over path|^overwrite its|^and |^until |^1 to 63 letters|^was lost again|^leg ... was lost"
    r"|^no other port takes|^the access state of its port|^refuses LOGICAL|^does not know LOGICAL"
    r"|once more$|^data offset in sectors|is ..., on leg|^commands time out, and so do aborts"
    r"|^superblock was not read|^fence is set to path$|^I/O to the same blocks$"
    r"|^fence_timeout_ms is over, or$|^no answer to PERSISTENT|^another host has preempted"
    r"|^the LUN does not list it|^the LUN has more keys")


def test_every_reason_is_in_the_page():
    """Texts of four words and more, where reasons come from that an administrator can act on."""
    places = [*(TOP / "drivers/istripe/block").glob("*.c"), TOP / "drivers/istripe/layout/md.c",
              *(TOP / "drivers/istripe/control").glob("[ceh]*.c")]
    texts = {general(match.group()) for place in places for match in
             re.finditer(rf"(?:{STRING}\s*)+", place.read_text(encoding="utf-8"))}
    texts = {re.sub(r"^[./]+:? ", "", text) for text in texts
             if len(text.split()) >= 4 and '"' not in text and not PARTS.search(text)}
    messages = documented()
    assert len(texts) > 150
    assert sorted(text for text in texts if not is_documented(text, messages)) == []
