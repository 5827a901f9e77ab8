"""The reference: one page for each package, and on it each module with what its docstrings say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from _extensions.pages import write_pages

ROOT = Path(__file__).resolve().parents[2]
TOP = ROOT / "minispec"
_PROOF = re.compile(r"`minispec/engine/verifiers/(\w+)\.py`\n")


def packages() -> list[Path]:
    """List the packages, the top one first."""
    return sorted(path.parent for path in TOP.rglob("__init__.py"))


def module_name(path: Path) -> str:
    """Return the name of a module or package, from its path."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def page(package: Path) -> str:
    """Return the page of a package, in reStructuredText as docstrings are."""
    name = module_name(package)
    parts = [f"{name}\n{'=' * len(name)}\n", f".. automodule:: {name}\n"]
    for path in sorted(package.glob("*.py")):
        if path.stem not in ("__init__", "__main__"):
            module = module_name(path)
            parts.append(f"{module}\n{'-' * len(module)}\n\n.. automodule:: {module}\n")
    return "\n".join(parts)


def write(app: Any) -> None:
    """Write the pages of all packages."""
    pages = {f"{module_name(package)}.rst": page(package) for package in packages()}
    write_pages(Path(app.srcdir) / "_generated" / "api", pages)


def proofs(_app: Any, name: str, content: list[str]) -> None:
    """Print, on the page of proofs, the opening of each rule's module below its name."""
    if name == "proofs":
        block = "```{{eval-rst}}\n.. automodule:: minispec.engine.verifiers.{}\n   :no-members:\n   :no-index:\n```\n"
        content[0] = _PROOF.sub(lambda found: f"{found[0]}\n{block.format(found[1])}", content[0])


def formulas(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Keep the lines of formulas and tables that stand indented in a module's docstring, instead of running them on."""
    if what != "module":
        return
    for i in range(len(lines) - 1, 0, -1):
        before = next((line for line in reversed(lines[:i]) if line), "")
        begins = lines[i].startswith("    ") and not lines[i - 1] and not before.startswith((" ", "-", "*", ".."))
        if begins and not before.endswith("::"):
            lines[i:i] = ["::", ""]


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    app.connect("source-read", proofs)
    app.connect("autodoc-process-docstring", formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
