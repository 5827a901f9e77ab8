r"""Mathematics as MathML: no network, no script, no LaTeX installation.

latex2mathml does the work. It shows a command that it does not know as text; here that is a warning, and so ends a
build with ``-W``.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)


def mathml(node: nodes.Element, display: str) -> str:
    """Return the markup of one formula."""
    try:
        made = convert(node.astext(), display=display)
    except Exception as error:  # whatever the converter stumbles over
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return ""
    if "\\" in made or "&#x0005C;" in made:
        logger.warning("formula %r has a command that latex2mathml does not know", node.astext(), location=node)
    return made


def inline(writer: Any, node: nodes.Element) -> None:
    """Write a formula within a line."""
    writer.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.Element) -> None:
    """Write a formula on a line of its own, which scrolls where it is too wide."""
    writer.body.append(f'<div class="formula">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.connect("config-inited", lambda _app, config: setattr(config, "html_math_renderer", "mathml"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
