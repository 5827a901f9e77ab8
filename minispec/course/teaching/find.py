"""Where the lessons are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from minispec.errors import OptionError, quote

_PACKAGE = Path(__file__).resolve().parents[2]
ROOTS = (_PACKAGE.parent / "lessons", _PACKAGE / "_bundled" / "lessons")
_NOTEBOOK = re.compile(r"(\d\d)_(\w+)\.ipynb")
SOLUTIONS = "solutions.json"


@dataclass(frozen=True)
class Files:
    """The files of one lesson.

    Parameters
    ----------
    root : Path
        Holds ``notebooks`` and ``checks`` (and, in a checkout, ``source``).
    number, slug : str
    """

    root: Path
    number: str
    slug: str

    @property
    def notebook(self) -> Path:
        """The learner's notebook."""
        return self.root / "notebooks" / f"{self.number}_{self.slug}.ipynb"

    @property
    def source(self) -> Path:
        """What the notebook is generated from; only a checkout has it."""
        return self.root / "source" / f"{self.number}_{self.slug}.py"

    @property
    def title(self) -> str:
        """The notebook's first heading."""
        first = json.loads(self.notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
        return "".join(first).splitlines()[0].lstrip("# ")

    def checks(self) -> ModuleType:
        """Import the checks file: ``PREDICTIONS`` and ``STEPS``."""
        path = self.root / "checks" / f"lesson_{self.number}.py"
        spec = importlib.util.spec_from_file_location(f"minispec_lesson_{self.number}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def solution(self, name: str) -> str:
        """Return the solution of one step; what is stored is unreadable at a glance, and no more than that."""
        packed = json.loads((self.root / "checks" / SOLUTIONS).read_text(encoding="utf-8"))
        return unpack(packed[self.number][name])


def pack(text: str) -> str:
    """Make text unreadable at a glance.

    >>> unpack(pack("x = 1"))
    'x = 1'
    """
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(packed: str) -> str:
    """Undo :func:`pack`."""
    return zlib.decompress(base64.b64decode(packed)).decode()


def checkout() -> Path:
    """Return the lessons of the checkout, with sources and answers: beside the package, or else in the folder here."""
    here = Path("lessons")
    return here if (here / "source").is_dir() and not ROOTS[0].is_dir() else ROOTS[0]


def lessons() -> list[Files]:
    """List all lessons, in order.

    Raises
    ------
    OptionError
        If there are none: the package was installed in an unusual way.
    """
    for root in ROOTS:
        names = sorted(path.name for path in root.glob("notebooks/*.ipynb"))
        found = [Files(root, *match.groups()) for match in map(_NOTEBOOK.fullmatch, names) if match]
        if found:
            return found
    raise OptionError("no lessons are installed with this minispec; work in a clone of its repository instead")


def find(number: str) -> Files:
    """Return one lesson's files.

    Raises
    ------
    OptionError
        If there is no such lesson.
    """
    known = {files.number: files for files in lessons()}
    wanted = number.zfill(2) if number.isdigit() else number
    if wanted not in known:
        raise OptionError(f"there is no lesson {quote(number)}; there are {', '.join(known)}. Try: minispec lessons")
    return known[wanted]
