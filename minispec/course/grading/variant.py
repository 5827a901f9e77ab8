"""Variants of an assignment, one per term: other names, other constants, the questions in another order.

A variant is a folder like the assignment's own, written by a rule from the assignment and the variant's name. So
everything that is done with assignments is done with variants: solution, checks, catalogues and handout follow. Which
names and constants may change is the author's to say (:mod:`minispec.course.grading.choices`); that the result still
grades as it should is what ``minispec assignment check --variant`` finds out.
"""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from minispec.course.grading.catalogue import Overlay, write_catalogue
from minispec.course.grading.manifest import CATALOGUES, Assignment, load_assignment, read_code
from minispec.course.grading.rename import find_identifiers, rename_in_code, rename_in_prose
from minispec.errors import InputError, quote

_HOLDER = "student"
"""What checks call a submission."""
TOLD = ("check", "each", "watch")
"""Who is told the name of a function as a text: the helper of some checks, and methods of a submission."""


@dataclass(frozen=True)
class Variant:
    """What is drawn for one variant.

    Parameters
    ----------
    names : mapping of str to str
        Of functions, old to new.
    constants : mapping
        New values by name.
    order : sequence of str
        Ids of the questions, in their new order.
    """

    names: Mapping[str, str]
    constants: Mapping[str, Any]
    order: Sequence[str]

    @property
    def numbers(self) -> dict[str, str]:
        """New numbers of the questions by old ones."""
        usual = sorted(self.order, key=_number)
        return {_number(name): _number(place) for name, place in zip(self.order, usual, strict=True)}


def draw_variant(assignment: Assignment, name: str, unlike: Sequence[str] = ()) -> Variant:
    """Draw names, constants and an order; the same for the same name.

    Parameters
    ----------
    assignment : Assignment
    name : str
    unlike : sequence of str
        Variants of earlier terms, the earliest first, each drawn unlike those before it: no name and no constant of
        theirs is drawn again.

    Raises
    ------
    InputError
        If a name is none, the assignment's author lets nothing vary, or the earlier terms leave nothing to draw.
    """
    if assignment.choices is None:
        raise InputError(f"{assignment.id} has no variants: its assignment.toml has no table [variants]; write one")
    drawn: list[Variant] = []
    if len({*unlike, name}) <= len(unlike):
        raise InputError(f"--unlike {quote(list(unlike))} and --variant {quote(name)} name a term twice; name it once")
    for term in (*unlike, name):
        if not re.fullmatch(r"\w{1,40}", term, re.ASCII):
            raise InputError(f"variant {quote(term)} is no name; give up to 40 letters and digits, such as 2027s")
        rng = random.Random(sha256(f"{assignment.id} {term}".encode()).digest())
        names = _draw(rng, assignment.choices.names, [variant.names for variant in drawn])
        constants = _draw(rng, assignment.choices.constants, [variant.constants for variant in drawn])
        drawn.append(Variant(names, constants, _draw_order(assignment, rng)))
    return drawn[-1]


def _draw(rng: random.Random, choices: Mapping[str, list[Any]], earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Draw one of each list that no earlier term has drawn."""
    drawn = {}
    for what, values in choices.items():
        taken = [variant[what] for variant in earlier]
        left = [value for value in values if value not in taken]
        if not left:
            raise InputError(
                f"--unlike names {len(earlier)} terms, and [variants] has only {len(values)} for {what}; "
                "leave the earliest out, or add some there"
            )
        drawn[what] = rng.choice(left)
    return drawn


def _draw_order(assignment: Assignment, rng: random.Random) -> list[str]:
    """Draw an order in which every question comes after those it depends on."""
    left, order = list(assignment.questions), list[str]()
    while left:
        ready = [question for question in left if set(question.depends_on) <= set(order)]
        question = rng.choice(ready)
        left.remove(question)
        order.append(question.id)
    return order


def make_variant(assignment: Assignment, name: str, into: Path, unlike: Sequence[str] = ()) -> Assignment:
    """Write a variant's folder below ``into``, and load it; see :func:`draw_variant`.

    Raises
    ------
    InputError
        If what the author lets vary is not there, or a new name is in use.
    """
    variant = draw_variant(assignment, name, unlike)
    _check_names(assignment)
    folder = into / assignment.id
    catalogues = {place: assignment.overlays(kind) for kind, place in CATALOGUES.items()}
    ignored = shutil.ignore_patterns("__pycache__", "make_*.py", *catalogues)
    shutil.copytree(assignment.folder, folder, ignore=ignored)
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".md", ".toml"):
            path.write_text(_rewrite(path, assignment, variant), encoding="utf-8")
    for place, overlays in catalogues.items():
        if overlays:
            text = write_catalogue(_rewrite_overlay(overlay, assignment, variant) for overlay in overlays)
            (folder / place).write_text(_renumber(text, assignment.id, variant.numbers), encoding="utf-8")
    _set_constants(folder, variant)
    manifest = folder / "assignment.toml"
    manifest.write_text(
        _order_manifest(manifest.read_text(encoding="utf-8"), assignment, variant, name), encoding="utf-8"
    )
    for path, order in ((folder / "solution.py", _order_functions), (folder / "HANDOUT.md", _order_handout)):
        if path.is_file():
            path.write_text(order(path.read_text(encoding="utf-8")), encoding="utf-8")
    return load_assignment(assignment.id, into)


def _check_names(assignment: Assignment) -> None:
    """Hold every name that any variant may draw to being free."""
    assert assignment.choices is not None
    written = _find_functions(assignment.solution)
    paths = [path for path in sorted(assignment.folder.rglob("*.py")) if path.name not in CATALOGUES.values()]
    taken_in = [(path.name, find_identifiers(read_code(path))) for path in paths]
    for kind, place in CATALOGUES.items():
        taken_in += [(f"{place}, {one.name}", find_identifiers(one.code)) for one in assignment.overlays(kind)]
    for name, choices in assignment.choices.names.items():
        if name not in written:
            raise InputError(f"[variants.names] {name} is no function of {assignment.id}'s solution.py; name one")
        for place, identifiers in taken_in:
            taken = set(choices) & identifiers
            if taken:
                raise InputError(f"[variants.names] {name} = {min(taken)!r} is in use in {place}; give another name")


def _find_functions(source: str) -> list[str]:
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def _rewrite(path: Path, assignment: Assignment, variant: Variant) -> str:
    text = read_code(path) if path.suffix == ".py" else path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = _rename(path.name, text, assignment, variant)
    elif path.suffix == ".md":
        text = rename_in_prose(text, variant.names)
    return _renumber(text, assignment.id, variant.numbers)


def _rewrite_overlay(overlay: Overlay, assignment: Assignment, variant: Variant) -> Overlay:
    return replace(
        overlay,
        sentence=rename_in_prose(overlay.sentence, variant.names),
        code=_rename(overlay.name, overlay.code, assignment, variant),
    )


def _rename(place: str, code: str, assignment: Assignment, variant: Variant) -> str:
    try:
        return rename_in_code(code, variant.names, holders=(_HOLDER, assignment.module), told_to=TOLD)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _number(question: str) -> str:
    return question.rpartition(".q")[2]


def _find_number(pattern: str, text: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise InputError(f"a question has no number where one was looked for, {pattern}; number questions as a3.q1")
    return int(found[1])


def _renumber(text: str, assignment: str, numbers: Mapping[str, str]) -> str:
    """Give questions their new numbers, in ids (``a3.q2.tau``) and in words (``Q2``)."""
    pattern = rf"(\b{re.escape(assignment)}\.q|\bQ)(\d+)\b"
    return re.sub(pattern, lambda found: found[1] + numbers.get(found[2], found[2]), text)


def _set_constants(folder: Path, variant: Variant) -> None:
    """Put new values where constants are set, and where the handout says so."""
    files = [path for name in ("solution.py", "checks.py", "HANDOUT.md") if (path := folder / name).is_file()]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for name, value in variant.constants.items():
        setting = re.compile(rf"^{re.escape(name)} = (.+?)(?: +#.*)?$", re.MULTILINE)
        set_to = [found for path, text in texts.items() if path.suffix == ".py" for found in setting.findall(text)]
        if len(set_to) != 1:
            raise InputError(
                f"[variants.constants] {name} is set {len(set_to)} times in solution.py and checks.py; set it once"
            )
        told = re.escape(f"{name} = {set_to[0]}")
        said = re.compile(rf"(?<!\w){told}(?!\w|\.\d)")  # not where it is the end of a longer name, nor 50 for 5
        new = f"{name} = {value!r}".replace("\\", r"\\")
        texts = {path: said.sub(new, text) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def _order_manifest(text: str, assignment: Assignment, variant: Variant, name: str) -> str:
    """Put the questions in order, the functions that are lent by their new names, and the variant into the version."""
    text = re.sub(r"^\[variants.*?(?=^\[(?!variants)|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    head, *blocks = re.split(r"(?=^\[\[questions\]\]$)", text, flags=re.MULTILINE)
    blocks.sort(key=lambda block: _find_number(r'^id = "\w+\.q(\d+)"', block))
    version = json.dumps(f"{assignment.version}+{name}")
    head = re.sub(r"^version = .*$", lambda _: f"version = {version}", head, count=1, flags=re.MULTILINE)
    lend = re.compile(r"^given = .*$", re.MULTILINE)
    return lend.sub(lambda found: _rename_texts(found[0], variant.names), head + "".join(blocks))


def _rename_texts(line: str, names: Mapping[str, str]) -> str:
    return re.sub(r'"(\w+)"', lambda found: f'"{names.get(found[1], found[1])}"', line)


def _order_functions(source: str) -> str:
    """Put the functions whose docstrings begin with a question's number in that order, each where one of them stood."""
    tree, lines = ast.parse(source), source.splitlines(keepends=True)
    starts = [node.lineno - 1 for node in tree.body]
    parts = ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    numbers = {i: int(found[1]) for i, node in enumerate(tree.body) if (found := _match_question(node))}
    moved = dict(zip(numbers, sorted(numbers, key=lambda i: (numbers[i], i)), strict=True))
    ordered = [parts[moved.get(i, i)].rstrip() + _take_gap(part) for i, part in enumerate(parts)]
    return "".join([*lines[: starts[0]], *ordered])


def _match_question(node: ast.stmt) -> re.Match[str] | None:
    return re.match(r"Q(\d+)\.", ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef) else None


def _take_gap(part: str) -> str:
    return part[len(part.rstrip()) :]


def _order_handout(text: str) -> str:
    """Put the paragraphs that begin with a question's number in that order; what follows a question stays with it."""
    pieces = re.split(r"(?=^\*\*Q\d+ )|(?=^## )", text, flags=re.MULTILINE)
    places = [i for i, piece in enumerate(pieces) if piece.startswith("**Q")]
    ordered = sorted((pieces[i] for i in places), key=lambda piece: _find_number(r"\*\*Q(\d+)", piece))
    for i, piece in zip(places, ordered, strict=True):
        pieces[i] = piece
    return "".join(pieces)
