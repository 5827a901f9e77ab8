"""A page whose figures were made from something else than lies here says so, under its title.

It is asked when the site is built: a line in the page itself would have to be taken out again, and could be forgotten.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from minispec.lab.renew import ROOT, Repository

_TITLE = re.compile(r"\A(.*?^# [^\n]*\n)", re.DOTALL | re.MULTILINE)


def tell(app: Any, name: str, content: list[str]) -> None:
    """Put the line under the title of a page that is stale."""
    page = (Path(app.srcdir) / f"{name}.md").relative_to(ROOT).as_posix()
    if line := Repository().describe_page(page):
        content[0] = _TITLE.sub(lambda title: f"{title[1]}\n{line}\n", content[0], count=1)


def setup(app: Any) -> dict[str, bool]:
    """Listen to what is read."""
    app.connect("source-read", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
