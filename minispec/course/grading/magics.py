"""A notebook's code as plain Python: what only IPython understands is taken out, line by line.

A line is touched only where Python stumbles over it, so a ``%`` that continues an expression stays what it is.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

_TIMING = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3")
"""Cell magics whose cell is Python."""
_MAGIC = re.compile(r"(?P<indent>\s*)(?P<name>[\w.,\s]+=\s*)?(?P<rest>[%!].*|\?.*|.*\?)\s*")
_TIMED = re.compile(r"%(time|prun)\s+(?P<code>.+)")
_OURS = re.compile(r"\s*(grader\.(check|export|check_all)\(|import otter\b|grader\s*=\s*otter\.)")


def code_of(text: str) -> tuple[str, list[int]]:
    """Join the code cells of a notebook; cells that are tests of ours are left out.

    Parameters
    ----------
    text : str
        The notebook's file.

    Returns
    -------
    (str, list of int)
        The code, and the lines at which its cells begin.

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError, RecursionError
        If it is no notebook.
    """
    told = json.loads(text)
    cells = told["cells"] if "cells" in told else told["worksheets"][0]["cells"]
    lines: list[str] = []
    starts: list[int] = []
    for cell in cells:
        if cell["cell_type"] == "code" and not _is_test(cell):
            starts.append(len(lines) + 1)
            source = cell["source"] if "source" in cell else cell["input"]
            lines += [*without_magics(source if isinstance(source, str) else "".join(source)).split("\n"), ""]
    return "\n".join(lines), starts


def _is_test(cell: dict[str, Any]) -> bool:
    metadata = cell.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(ours, dict) and ours.get("grade") and not ours.get("solution"):
        return True
    source = cell.get("source", "")
    source = source if isinstance(source, str) else "".join(source)
    code = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(code) and all(_OURS.match(line) for line in code)


def without_magics(cell: str) -> str:
    r"""Return a cell's code with its magics taken out, line for line.

    Examples
    --------
    >>> without_magics("%matplotlib inline\nx = (7\n  % 4)")
    'pass\nx = (7\n  % 4)'
    >>> without_magics("files = !ls\nx?")
    'files = None\npass'
    """
    lines = cell.replace("\r\n", "\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        if first.split()[0] not in _TIMING:
            return "\n" * (len(lines) - 1)
        lines[lines.index(first)] = ""
    for _ in range(len(lines)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the submission's own
                ast.parse("\n".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            at = getattr(error, "lineno", None) or 0
            # Python may notice at the next line only: what begins with an operator continues nothing
            number = next((n for n in (at, at - 1) if 0 < n <= len(lines) and _MAGIC.fullmatch(lines[n - 1])), None)
            if number is None:
                break  # no magic: the submission's own mistake, told when it is run
            lines[number - 1] = _plain(lines[number - 1])
        else:
            break
    return "\n".join(lines)


def _plain(line: str) -> str:
    """Return what stands for a magic: the code it times, None for what it would give, or nothing."""
    found = _MAGIC.fullmatch(line)
    assert found is not None
    timed = _TIMED.fullmatch(found["rest"])
    if timed and not found["name"]:
        return found["indent"] + timed["code"]
    return found["indent"] + (f"{found['name']}None" if found["name"] else "pass")
