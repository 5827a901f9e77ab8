"""Catalogues: a module of wrong submissions, or of other right ones, each written as what differs from the solution.

A cell has a name, the check that must fail because of it, and a sentence for the student. Then comes code, which is put
behind the solution's text, or what is replaced by what in one of the solution's functions::

    # %% batch_linear fails a3.q6.batch
    # You let v grow from the first row; below the ridge further rows are free.
    def roofline_verify_cost(batch, max_rows, ridge):
        return np.arange(1.0, max_rows + 1.0)


    # %% tau_linear fails a3.q2.tau in tau
    # You take alpha gamma + 1: a draft counts only if all before it were accepted.
    # - return float(sum(alpha**k for k in range(gamma + 1)))
    # + return 1.0 + alpha * gamma

A held-out submission also says what it ``is``: the name that is right for it, or ``nothing``; and ``also`` other names
that are true of it. The module is Python for editors and linters; it is read as text, and nothing in it is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from textwrap import dedent, indent

from minispec.errors import InputError, quote

_KEYS = ("fails", "is", "also", "in")
_NOTHING = "nothing"
_MARKER = re.compile(r"\s*# (BEGIN|END) SOLUTION\s*")


@dataclass(frozen=True)
class Overlay:
    """A cell of a catalogue.

    Parameters
    ----------
    name : str
    sentence : str
        What it does, for the student; in lines.
    fails : str
        The check that must fail because of it.
    mistake : str or None
        Of a held-out submission: the name that is right for it, or no name.
    also : tuple of str
        Of a held-out submission: other names that are true of it.
    code : str
        What is put behind the solution.
    solution : str
    """

    name: str
    sentence: str
    fails: str
    mistake: str | None
    also: tuple[str, ...]
    code: str
    solution: str

    @property
    def what(self) -> str:
        """The sentence, in one line."""
        return " ".join(self.sentence.split())

    @property
    def source(self) -> str:
        """The whole submission: its hidden cases are drawn from this text, the lines about it included."""
        about = [f'"""{self.sentence}' + ('\n"""' if "\n" in self.sentence else '"""')]
        settings = [f'FAILS = "{self.fails}"'] if self.fails else []
        settings += [] if self.mistake is None else [f'MISTAKE = "{self.mistake}"']
        settings += [f"ALSO = {self.also!r}".replace("'", '"')] if self.also else []
        about += ["\n".join(settings)] if settings else []
        gap = "\n\n\n" if self.code.startswith(("def ", "class ")) else "\n\n"
        return self.solution + "\n\n" + "\n\n".join(about) + gap + self.code + "\n"


def read_catalogue(text: str, solution: str) -> list[Overlay]:
    """Read a catalogue's text; its cells in the order of their names.

    Raises
    ------
    InputError
        If a cell is none, cannot be put into the solution, or has the name of another.
    """
    found: dict[str, Overlay] = {}
    for cell in re.split(r"^# %% ", text, flags=re.MULTILINE)[1:]:
        head, _, rest = cell.partition("\n")
        name = (head.split() or [""])[0]
        try:
            if name in found:
                raise InputError("is there twice; give one another name")
            found[name] = _read_cell(head, rest.splitlines(), solution)
        except InputError as error:
            raise InputError(f"{quote(name)} {error}") from None
    return [found[name] for name in sorted(found)]


def _read_cell(head: str, lines: list[str], solution: str) -> Overlay:
    name, *told = head.split() or [""]
    keys, values = told[::2], told[1::2]
    if not name.isidentifier() or len(keys) != len(values) or not set(keys) <= set(_KEYS):
        raise InputError(f"is no cell: a name, then pairs of {', '.join(_KEYS)} and what it is")
    said = {key: value for key, value in zip(keys, values, strict=True) if key != "also"}
    remarks = list(takewhile(lambda line: line.startswith("#"), lines))
    code = "\n".join(lines[len(remarks) :]).strip("\n")
    remarks = [line[2:] for line in remarks]
    if "in" in said:
        if code:
            raise InputError("has code, and says in what function to replace lines; leave one of them out")
        old, new = ([line[2:] for line in remarks if line.startswith(sign)] for sign in ("- ", "+ "))
        code = _replace(solution, said["in"], "\n".join(old), "\n".join(new))
        remarks = [line for line in remarks if not line.startswith(("- ", "+ "))]
    try:
        ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"is no Python: {error.msg}") from None
    mistake = said.get("is")
    return Overlay(
        name,
        "\n".join(remarks),
        said.get("fails", ""),
        "" if mistake == _NOTHING else mistake,
        tuple(value for key, value in zip(keys, values, strict=True) if key == "also"),
        code,
        solution,
    )


def _replace(solution: str, name: str, old: str, new: str) -> str:
    """Return a function of the solution, without its docstring, with lines of its body replaced."""
    head, body = read_function(solution, name)
    if f"\n{body}\n".count(f"\n{old}\n") != 1:
        raise InputError(f"replaces {quote(old)}, which {name} of the solution does not have once; give other lines")
    replaced = f"\n{body}\n".replace(f"\n{old}\n", f"\n{new}\n" if new else "\n").strip("\n")
    return f"{head}\n{indent(replaced, ' ' * 4)}"


@cache
def read_function(solution: str, name: str) -> tuple[str, str]:
    """Return the head of a function, and its body without docstring, markers and indentation.

    Raises
    ------
    InputError
        If the solution has no such function.
    """
    for node in ast.parse(solution).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = node.body[0]
            docstring = range(first.lineno, (first.end_lineno or 0) + 1) if ast.get_docstring(node) is not None else ()
            lines = enumerate(solution.splitlines()[node.lineno - 1 : node.end_lineno], node.lineno)
            kept = [(i, line) for i, line in lines if i not in docstring and not _MARKER.fullmatch(line)]
            head, body = (
                "\n".join(line for i, line in kept if (i < first.lineno) == is_head) for is_head in (True, False)
            )
            return head, dedent(body)
    raise InputError(f"is in {name}, which is no function of the solution; name one")


def write_catalogue(overlays: Iterable[Overlay]) -> str:
    """Return a catalogue's text, in which every cell is code."""
    return "\n\n\n".join(map(_write_cell, overlays)) + "\n"


def _write_cell(one: Overlay) -> str:
    told = [one.name]
    told += ["fails", one.fails] if one.fails else []
    told += [] if one.mistake is None else ["is", one.mistake or _NOTHING]
    told += [word for name in one.also for word in ("also", name)]
    sentence = "".join(f"# {line}\n" for line in one.sentence.splitlines())
    return f"# %% {' '.join(told)}\n{sentence}{one.code}"
