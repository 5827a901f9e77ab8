"""What the pages say about files of the repository leads to the page of the site that shows the file.

The pages are written for the plain view of a hosting site: links are relative, and a module is named by its path. Here
``minispec/engine/model/forward.py`` becomes a link to its highlighted source, and links that leave ``docs`` are
turn_link to the page made from that file.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

_MODULE = re.compile(r"minispec(?:/\w+)+\.py")
_OUTWARD = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)(#[^)]*)?\)")
_FURTHER_OUTWARD = re.compile(_OUTWARD.pattern.replace(r"\.\./", r"\.\./\.\./"))
_ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
_PAGES = [
    (re.compile(r"README\.md"), "/index.md"),
    (re.compile(r"lessons/README\.md"), "/_generated/lessons/index.md"),
    (re.compile(r"lessons/assignments/README\.md"), "/_generated/lessons/assignments.md"),
    (re.compile(r"lessons/notebooks/(\w+\.ipynb)"), r"/_generated/lessons/\1"),
    (re.compile(r"lessons/assignments/(\w+)/HANDOUT\.md"), r"/_generated/lessons/\1.md"),
]


def turn_link(link: re.Match[str]) -> str:
    """Return what a link out of ``docs`` becomes: a link to the page made from that file, or else the file's name."""
    text, path, _ = link.groups()
    for pattern, page in _PAGES:
        if found := pattern.fullmatch(path):
            return f"[{text}]({found.expand(page)})"
    name = f"`{path}`"
    return name if text.strip("`") in path else f"{text} ({name})"


def turn(_app: Any, docname: str, content: list[str]) -> None:
    """Turn the links of a page that leave ``docs``, and its anchors, which MyST writes in its own way."""
    outward = _FURTHER_OUTWARD if docname.startswith("lab-notes/") else _OUTWARD
    content[0] = _ANCHOR.sub(r"(\1)=", outward.sub(turn_link, content[0]))


def link(app: Any, doctree: nodes.document, docname: str) -> None:
    """Make each named module a link."""
    for literal in list(doctree.findall(nodes.literal)):
        path = literal.astext()
        if _MODULE.fullmatch(path) and not isinstance(literal.parent, nodes.reference):
            target = "_modules/" + path.removesuffix(".py").removesuffix("/__init__")
            uri = app.builder.get_relative_uri(docname, target)
            reference = nodes.reference("", "", literal.deepcopy(), internal=True, refuri=uri)
            literal.replace_self(reference)


def forget(_app: Any, env: Any) -> None:
    """Take out of viewcode's index what it found no source for (``builtins``): it would link to no page."""
    modules: dict[str, Any] = env._viewcode_modules
    for name in [name for name, entry in modules.items() if not entry]:
        del modules[name]


def setup(app: Any) -> dict[str, bool]:
    """Listen to what is read and to what will be written."""
    app.connect("source-read", turn)
    app.connect("doctree-resolved", link)
    app.connect("env-check-consistency", forget)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
