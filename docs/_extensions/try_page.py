"""The page that runs the engine in the reader's browser, as a folder of the site: ``docs/try.md`` links it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from minispec.serving.static import write_page

FOLDER = "page"


def write(app: Any, exception: Exception | None) -> None:
    """Write the folder into a site of HTML, once it is built."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    write_page(folder)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
