"""``KIND[:key=value,...]``: how a user asks for a draft; ``drafters.build`` builds it.

A KIND that is not in :data:`KINDS` is one that another package brings (``drafters.plugins``), or else a model's name or
folder (a folder that is called like a kind: ``./ngram``).
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minispec.engine.backends.formats import ROUNDED_DTYPES
from minispec.engine.loading.bundled import bundled_folders
from minispec.engine.specs import (
    Read,
    expect_match,
    expect_one_of,
    read_flag,
    read_number,
    read_options,
    read_whole,
    split_spec,
)
from minispec.errors import OptionError, quote

if TYPE_CHECKING:
    from minispec.engine.drafters.trees.shapes import TreeShape

MODEL = "model"
"""The kind of a draft that is a model's folder or name."""


@dataclass(frozen=True, slots=True)
class DraftSpec:
    """What a user asked for, checked, and not yet built.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`, or a plug-in's.
    options : mapping
        Every key of the kind with its value, defaults included; None where the default depends on the target. A
        plug-in's are as they were written.
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
    def has_independent_siblings(self) -> bool:
        """Of a tree: whether siblings are drawn independently, and none is there or not by what another one drew."""
        return bool(self.options["siblings"] == "with" and self.options["shape"] != "dynamic")

    @property
    def can_couple(self) -> bool:
        """Whether it can draw with the noise of plain sampling; what draws nothing can as well."""
        return not self.is_tree


_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_shape = expect_match(r"sequoia|dynamic|[0-9]{1,4}(x[0-9]{1,4})*", "widths like 4x2x1, sequoia or dynamic")
_acceptance = expect_match(f"{_NUMBER}(/{_NUMBER})*", "probabilities like 0.6/0.15/0.08")

KINDS: Mapping[str, Mapping[str, tuple[Read, Any]]] = {
    "ngram": {"n": (read_whole, 3), "min_n": (read_whole, 1)},
    "suffix": {"min": (read_whole, 1), "corpus": (str, None)},
    "layerskip": {"k": (read_whole, None)},
    "self": {"dtype": (expect_one_of(*ROUNDED_DTYPES), "int8")},
    "unigram": {"text": (str, ""), "k": (read_number, 1.0)},
    "bigram": {"text": (str, ""), "k": (read_number, 1.0)},
    "synthetic": {"alpha": (read_number, 0.8), "cost": (read_number, None)},
    "cascade": {"draft": (str, None), "by": (expect_one_of("ngram", "suffix"), "ngram"), "n": (read_whole, 3)},
    "forced": {"draft": (str, None)},
    "medusa": {"head": (str, None)},
    "eagle": {"head": (str, None)},
    "block": {"head": (str, None)},
    "tree": {
        "draft": (str, None),
        "shape": (_shape, "4x2x1"),
        "siblings": (expect_one_of("without", "with", "likeliest"), "without"),
        "nodes": (read_whole, 16),
        "depth": (read_whole, None),
        "acceptance": (_acceptance, "0.6/0.15/0.08/0.04"),
    },
    MODEL: {"translate": (read_flag, False), "words": (read_whole, None)},
}
"""The kinds, their keys, how each is read, and its default."""

HEADS = ("medusa", "eagle", "block")
"""Those that read the target's hidden states: see :mod:`minispec.engine.drafters.heads`."""

EXAMPLES = {
    "ngram": "ngram:n=3",
    "suffix": "suffix",
    "layerskip": "layerskip:k=2",
    "self": "self:dtype=int8",
    "unigram": "unigram:text=PATH",
    "bigram": "bigram:text=PATH",
    "synthetic": "synthetic:alpha=0.7,cost=0.05",
    "cascade": "cascade:by=ngram,n=3",
    "forced": "forced:draft=ngram",
    "medusa": "medusa:head=FOLDER",
    "eagle": "eagle:head=FOLDER",
    "block": "block:head=FOLDER",
    "tree": "tree:shape=4x2x1",
    MODEL: "FOLDER:translate=true",
}
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
    kind, rest = split_spec(text)
    name = ""
    if kind not in KINDS and kind not in bundled_folders():
        from minispec.engine.drafters.plugins import find_plugin, read_pairs

        if find_plugin(kind) is not None:
            return DraftSpec(kind, read_pairs(text, rest), text=text)
    if kind == MODEL or kind not in KINDS:
        # A folder's name may hold a colon; only a tail that looks like options is one.
        kind, match = MODEL, re.fullmatch(r"(.+?):(\w+=.*)", text)
        name, rest = (match[1], match[2]) if match else (text, None)
        _refuse_misspelt(name)
    example = EXAMPLES[kind]
    if kind == MODEL:
        example += f"; the kinds with other options are {', '.join(other for other in KINDS if other != MODEL)}"
    options = read_options("draft", text, kind, rest, KINDS[kind], example)
    spec = DraftSpec(kind, options, name, text)
    _check(spec)
    return spec


def _refuse_misspelt(name: str) -> None:
    """Refuse a name that is nearly a kind and no model here: nobody meant to ask the hub for ``ngramm``."""
    kinds = [kind for kind in KINDS if kind != MODEL]
    close = difflib.get_close_matches(name.partition(":")[0], kinds, n=1, cutoff=0.75)
    if close and "/" not in name and name not in bundled_folders() and not os.path.isdir(name):
        raise OptionError(
            f"draft is {quote(name)}, which is no model here and no kind of draft. Did you mean {close[0]!r}? "
            f"The kinds are {', '.join(kinds)}"
        )


def _check(spec: DraftSpec) -> None:
    """Refuse values out of range before any model is loaded, by building what needs no model."""
    options = spec.options
    if spec.kind == "ngram":
        from minispec.engine.drafters.ngram import NgramDrafter

        NgramDrafter(1, options["n"], options["min_n"])
    elif spec.kind == "cascade":
        from minispec.engine.drafters.ngram import NgramDrafter

        NgramDrafter(1, options["n"])
        if options["draft"] is not None and parse_draft(options["draft"]).kind != MODEL:
            raise OptionError(
                f"cascade: draft is {quote(options['draft'])}; it must be a model, which judges the n-gram's tokens in "
                "one forward. Try cascade:draft=draft-1.6m"
            )
    elif spec.kind == MODEL and options["words"] is not None and options["words"] < 1:
        raise OptionError(
            f"draft {quote(spec.text)}: words is {options['words']}; it must be at least 1. Try {spec.name}:words=3072"
        )
    elif spec.kind == "suffix":
        from minispec.engine.drafters.suffix import SuffixDrafter

        SuffixDrafter(1, options["min"])
        if options["corpus"] == "":
            raise OptionError("suffix: corpus is empty; it names a text file. Try suffix:corpus=PATH")
    elif spec.kind == "layerskip" and options["k"] is not None and options["k"] < 1:
        raise OptionError(f"layerskip: k is {options['k']}; it must be at least 1. Try layerskip:k=1")
    elif spec.kind in ("unigram", "bigram"):
        if not options["text"]:
            raise OptionError(f"{spec.kind}: text is missing; it names the file to count. Try {EXAMPLES[spec.kind]}")
        from minispec.engine.drafters.tables import TokenTable

        TokenTable([0], 1, 1, options["k"])
    elif spec.kind in HEADS:
        if options["head"] == "":
            raise OptionError(
                f"{spec.kind}: head is empty; it names the folder of a head that was trained for the target. Try "
                f"{EXAMPLES[spec.kind]}, or {spec.kind} alone for the one that comes with the target"
            )
    elif spec.kind == "synthetic":
        from minispec.engine.drafters.synthetic import check_options

        check_options(options["alpha"], options["cost"])
    elif spec.kind == "forced":
        if options["draft"] is not None and parse_draft(options["draft"]).is_tree:
            raise OptionError(
                f"forced: draft is {quote(options['draft'])}; it must be a chain. Try {EXAMPLES['forced']}"
            )
    elif spec.kind == "tree":
        tree_shape(options)
        inner = options["draft"]
        if inner == "none" or (inner is not None and parse_draft(inner).kind not in (MODEL, *HEADS)):
            raise OptionError(
                f"tree: draft is {quote(inner)}; it must be a model or a head ({', '.join(HEADS)}). Try "
                f"tree:draft={EXAMPLES['eagle']},shape=dynamic"
            )


def tree_shape(options: Mapping[str, Any]) -> TreeShape | None:
    """Return the shape that a tree's options name; none is known of one that grows as it is drafted."""
    from minispec.engine.drafters.trees.shapes import check_size, fixed_tree, sequoia_tree

    if options["shape"] == "dynamic":
        check_size(options["nodes"], options["depth"])
        return None
    if options["shape"] != "sequoia":
        return fixed_tree([int(width) for width in options["shape"].split("x")])
    return sequoia_tree(
        [float(chance) for chance in options["acceptance"].split("/")], options["nodes"], options["depth"]
    )
