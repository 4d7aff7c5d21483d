# SPDX-License-Identifier: GPL-2.0
"""Sphinx: make docs. Pages stay readable as text; links are made from their plain references."""

import os
import re
import subprocess
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

HERE = Path(__file__).resolve().parent
TOP = HERE.parent

project = "istripe"
release = re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text()).group(1)
version = release
extensions = ["sphinx.ext.graphviz"]
graphviz_output_format = "svg"
exclude_patterns = ["ABI"]
highlight_language = "none"
#: Words of the kernel that are no part of C.
c_id_attributes = ["__percpu"]
smartquotes = False
html_theme = "alabaster"
html_theme_options = {"description": "Striping iSCSI initiator for Linux", "page_width": "64em",
                      "sidebar_width": "17em", "show_powered_by": False}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_show_copyright = False
html_copy_source = False
#: The same sources give the same bytes.
html_last_updated_fmt = None

#: usage.rst; Documentation/usage.rst; usage.rst, Start at boot; istripe.conf(5).
PAGE = re.compile(r"(?<![\w/.-])(?:Documentation/)?([\w/-]+)\.rst\b(?:, (?=[A-Z]))?")
MANUAL = re.compile(r"\b(istripectl-messages|istripectl|istripe\.conf|istripe)\((\d)\)")


class Links(SphinxPostTransform):
    """Makes links of references to pages, their sections, and manual pages."""

    default_priority = 5

    def run(self, **_kwargs):
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, (nodes.reference, nodes.title, nodes.literal_block)):
                self.replace(text)

    def replace(self, text):
        # In a literal only what is the whole of it.
        node = text.parent if isinstance(text.parent, nodes.literal) else text
        source, parts, end = text.astext(), [], 0
        for start, stop, page, label in self.found(source):
            if node is text or stop - start == len(source):
                parts += [nodes.Text(source[end:start]), self.link(page, label, source[start:stop])]
                end = stop
        if parts:
            node.parent.replace(node, [part for part in parts if part.astext()] +
                                [nodes.Text(source[end:])] * (end < len(source)))

    def found(self, source):
        """(start, end, page, section or "") of each reference."""
        for match in PAGE.finditer(source):
            page = self.page(match.group(1))
            if page:
                title = self.section(page, source[match.end():])
                end = match.end() + len(title) if title else match.end(1) + len(".rst")
                yield match.start(), end, page, title
        for match in MANUAL.finditer(source):
            page = f"man/{match.group(1)}.{match.group(2)}"
            if page in self.env.found_docs:
                yield match.start(), match.end(), page, ""

    def page(self, name):
        names = [name, *(page for page in self.env.found_docs if page.endswith(f"/{name}"))]
        return next((page for page in names if page in self.env.found_docs), None)

    def section(self, page, rest):
        titles = [title.astext() for title in self.env.tocs[page].findall(nodes.reference)]
        return max((title for title in titles if rest.startswith(title)), key=len, default="")

    def link(self, page, title, text):
        anchor = ""
        for reference in self.env.tocs[page].findall(nodes.reference):
            if title and reference.astext() == title:
                anchor = reference["anchorname"].lstrip("#")
        return make_refnode(self.app.builder, self.env.docname, page, anchor, nodes.Text(text))


class ManualPage(Directive):
    """.. manual-page:: FILE: a manual page, by mandoc."""

    required_arguments = 1

    def run(self):
        file = TOP / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(file))
        done = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file], check=True,
                              capture_output=True, text=True, env={**os.environ, "TZ": "UTC"})
        return [nodes.raw("", done.stdout, format="html")]


class Interfaces(Directive):
    """.. interfaces:: PATTERN: kernel-doc of the files, by the kernel's script, where it is there."""

    required_arguments = 1
    script = TOP / "build/kernels/source-6.12/scripts/kernel-doc"

    def run(self):
        if not self.script.exists():
            return [nodes.paragraph(text="Left out: make lint fetches the kernel's source, whose "
                                         "kernel-doc makes this section.")]
        files = sorted(TOP.glob(self.arguments[0]))
        for file in files:
            self.state.document.settings.env.note_dependency(str(file))
        done = subprocess.run(["perl", self.script, "-rst", *files], check=True,
                              capture_output=True, text=True)
        # SCSI_ACCESS_STATE_* is no reference.
        text = re.sub(r"(?<=[A-Z0-9])_(?!\w)", r"\\_", done.stdout)
        container = nodes.container()
        self.state.nested_parse(StringList(text.split("\n"), self.arguments[0]), 0, container)
        return [container]


def setup(app):
    app.add_post_transform(Links)
    app.add_directive("manual-page", ManualPage)
    app.add_directive("interfaces", Interfaces)
