"""``KIND[:key=value,...]``: how a draft is asked for; ``drafters.build`` makes it.

A KIND that is not in :data:`KINDS` is a model's folder or name (a folder that is called like a kind: ``./ngram``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minispec.drafters.ngram import NgramDrafter
from minispec.drafters.shapes import TreeShape, fixed_tree, sequoia_tree
from minispec.drafters.suffix import SuffixDrafter
from minispec.drafters.synthetic import check_options
from minispec.drafters.tables import TokenTable
from minispec.errors import OptionError, shown
from minispec.model.quantize import ROUNDED_DTYPES

MODEL = "model"
"""The kind of a draft that is a folder or a name."""

Value = int | float | bool | str
_Parse = Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class DraftSpec:
    """A draft, asked for and checked, but not built.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    options : mapping
        Every key of the kind with its value, defaults included; None where the default depends on the target.
    name : str
        The folder or name of a model draft.
    text : str
        As it was written.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    text: str = ""

    @property
    def is_tree(self) -> bool:
        """Whether its drafts are trees, which only a rule for trees can verify."""
        return self.kind == "tree"

    @property
    def can_couple(self) -> bool:
        """Whether it can draw with the noise of plain sampling; what draws nothing can as well."""
        return not self.is_tree


def _whole(text: str) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else _refuse("a whole number")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text] if text in ("true", "false") else _refuse("true or false")


def _dtype(text: str) -> str:
    return text if text in ROUNDED_DTYPES else _refuse(f"one of {', '.join(ROUNDED_DTYPES)}")


def _inner(text: str) -> str:
    return text if text in ("ngram", "suffix") else _refuse("ngram or suffix")


def _siblings(text: str) -> str:
    return text if text in ("without", "with", "likeliest") else _refuse("without, with or likeliest")


def _shape(text: str) -> str:
    known = text == "sequoia" or re.fullmatch(r"[0-9]{1,4}(x[0-9]{1,4})*", text)
    return text if known else _refuse("widths like 4x2x1, or sequoia")


def _acceptance(text: str) -> str:
    number = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
    return text if re.fullmatch(f"{number}(/{number})*", text) else _refuse("probabilities like 0.6/0.15/0.08")


def _refuse(rule: str) -> Any:
    raise ValueError(rule)


KINDS: Mapping[str, Mapping[str, tuple[_Parse, Value | None]]] = {
    "ngram": {"n": (_whole, 3), "min_n": (_whole, 1)},
    "suffix": {"min": (_whole, 1)},
    "layerskip": {"k": (_whole, None)},
    "self": {"dtype": (_dtype, "int8")},
    "unigram": {"text": (str, ""), "k": (_number, 1.0)},
    "bigram": {"text": (str, ""), "k": (_number, 1.0)},
    "synthetic": {"alpha": (_number, 0.8), "cost": (_number, None)},
    "cascade": {"draft": (str, None), "by": (_inner, "ngram"), "n": (_whole, 3)},
    "tree": {
        "draft": (str, None),
        "shape": (_shape, "4x2x1"),
        "siblings": (_siblings, "without"),
        "nodes": (_whole, 16),
        "depth": (_whole, None),
        "acceptance": (_acceptance, "0.6/0.15/0.08/0.04"),
    },
    MODEL: {"translate": (_flag, False)},
}
"""The kinds, their keys, how each is read, and its default."""

EXAMPLES = {
    "ngram": "ngram:n=3", "suffix": "suffix", "layerskip": "layerskip:k=2", "self": "self:dtype=int8",
    "unigram": "unigram:text=PATH", "bigram": "bigram:text=PATH", "synthetic": "synthetic:alpha=0.7,cost=0.05",
    "cascade": "cascade:by=ngram,n=3", "tree": "tree:shape=4x2x1", MODEL: "FOLDER:translate=true",
}  # fmt: skip
"""One that works, for each kind."""


def parse_draft(text: str) -> DraftSpec:
    """Read a draft as the command line writes it.

    Raises
    ------
    OptionError
        If a key is unknown or twice there, or a value is outside its range.

    Examples
    --------
    >>> parse_draft("ngram:n=4").options
    {'n': 4, 'min_n': 1}
    >>> parse_draft("some/folder").kind
    'model'
    """
    kind, _, rest = text.partition(":")
    name = ""
    if kind == MODEL or kind not in KINDS:
        # A folder's name may hold a colon; only a tail that looks like options is one.
        kind, match = MODEL, re.fullmatch(r"(.+?):(\w+=.*)", text)
        name, rest = (match[1], match[2]) if match else (text, "")
    keys = KINDS[kind]
    options: dict[str, Any] = {key: default for key, (_, default) in keys.items()}
    seen: set[str] = set()
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if key not in keys or not equals or key in seen:
            problem = "is there twice" if key in seen else "is none of its keys"
            hint = ", ".join(f"{known}=" for known in keys)
            raise OptionError(
                f"draft {shown(text)}: {shown(pair)} {problem}; {_whose(kind)} keys are {hint}. Try {EXAMPLES[kind]}"
            )
        seen.add(key)
        try:
            options[key] = keys[key][0](value)
        except ValueError as rule:
            raise OptionError(
                f"draft {shown(text)}: {key} is {shown(value)}; it must be {rule}. Try {EXAMPLES[kind]}"
            ) from None
    spec = DraftSpec(kind, options, name, text)
    _check(spec)
    return spec


def _whose(kind: str) -> str:
    if kind != MODEL:
        return f"{kind}'s"
    others = ", ".join(other for other in KINDS if other != MODEL)
    return f"the kinds with others are {others}; a model's"


def _check(spec: DraftSpec) -> None:
    """Refuse values out of range before any model is loaded, by building what needs no model."""
    options = spec.options
    if spec.kind in ("ngram", "cascade"):
        NgramDrafter(1, options["n"], options.get("min_n", 1))
    elif spec.kind == "suffix":
        SuffixDrafter(1, options["min"])
    elif spec.kind == "layerskip" and options["k"] is not None and options["k"] < 1:
        raise OptionError(f"layerskip: k is {options['k']}; it must be at least 1. Try layerskip:k=1")
    elif spec.kind in ("unigram", "bigram"):
        if not options["text"]:
            raise OptionError(f"{spec.kind}: text is missing; it names the file to count. Try {EXAMPLES[spec.kind]}")
        TokenTable([0], 1, 1, options["k"])
    elif spec.kind == "synthetic":
        check_options(options["alpha"], options["cost"])
    elif spec.kind == "tree":
        tree_shape(options)


def tree_shape(options: Mapping[str, Any]) -> TreeShape:
    """Return the shape that a tree's options name."""
    if options["shape"] != "sequoia":
        return fixed_tree([int(width) for width in options["shape"].split("x")])
    return sequoia_tree(
        [float(chance) for chance in options["acceptance"].split("/")], options["nodes"], options["depth"]
    )
