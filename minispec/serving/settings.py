"""What a server serves, and the limits it holds requests to."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minispec.engine.batching.defaults import rule_for
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.control.load import LoadGamma
from minispec.engine.drafters import parse_draft
from minispec.engine.generation.options import Options
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError, quote

PLAIN = "none"
"""How a request or a flag asks for plain decoding."""

POLICIES = ("heuristic", "confidence", "auto", "load", "budget")
"""Policies that a request may name; what reads a file is the command line's alone."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server serves, and the limits it holds requests to.

    Parameters
    ----------
    model : str
        The id of the target.
    context, longest_token : int
        Tokens that the target holds; bytes of the longest one. A longer prompt than their product is refused unread.
    drafts : mapping of str to str
        What a request may draft with: a name, and what ``--draft`` says for it. The first is what a request gets that
        does not say. Names are told to everyone, so they hold no folder of this machine.
    begins_plain : bool
        Whether such a request is decoded plainly instead, though there are drafts.
    gamma, verify : int or str, str; or None
        Likewise; None is what an engine takes (:mod:`minispec.engine.batching.defaults`). A policy is not for trees,
        unless a tree is what a request gets that does not say.
    canary : float or None
        Share of the requests that do not say how to speculate which get the first draft; the others get the
        baseline. None is no rollout.
    baseline : str
        A name of ``drafts``, or "none".
    shadow : float
        Share of the greedy texts that are decoded a second time, plainly, to see whether they are equal.
    max_running, max_waiting : int
        Choices decoded at the same time; others that wait for their turn.
    max_choices : int
        Choices of one request; see :attr:`most_choices`.
    max_gamma : int
    max_body : int
        Bytes.
    body_s, header_s, stall_s : float
        Seconds for a body, or for the headers of a request, to arrive; seconds for which a reader may take nothing.
    max_s : float
        Seconds after which a request ends where it is.
    drain_s : float
        Seconds that requests have left when the server is told to stop.
    api_key : str or None
    origins, hosts : tuple of str
        Other origins whose pages may ask; names that a ``Host`` header may have, all of them if there are none.
    """

    model: str
    context: int
    longest_token: int
    drafts: Mapping[str, str] = field(default_factory=dict)
    begins_plain: bool = False
    gamma: int | str | None = None
    verify: str | None = None
    canary: float | None = None
    baseline: str = PLAIN
    shadow: float = 0.0
    max_running: int = 16
    max_waiting: int = 256
    max_choices: int = 32
    max_gamma: int = 32
    max_body: int = 1 << 20
    body_s: float = 20.0
    header_s: float = 20.0
    stall_s: float = 30.0
    max_s: float = 600.0
    drain_s: float = 30.0
    api_key: str | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.shadow <= 1.0:
            raise OptionError(f"shadow is {self.shadow}; it is a share of the texts, from 0 to 1. Try --shadow 0.01")
        if self.baseline not in (*self.drafts, PLAIN):
            there = ", ".join((*self.drafts, PLAIN))
            raise OptionError(f"baseline is {quote(self.baseline)}; it must be one of the drafts: {there}")
        if self.canary is not None and self.baseline == self.default_draft:
            raise OptionError(f"canary and baseline both draft with {quote(self.baseline)}. Name another --baseline")
        if isinstance(self.gamma, int) and self.gamma > self.max_gamma:
            raise OptionError(
                f"gamma is {self.gamma}; a server drafts up to {self.max_gamma} tokens. Try --gamma {self.max_gamma}"
            )
        for origin in self.origins:
            if not re.fullmatch(r"\*|null|[a-z][a-z0-9+.-]*://[^\s/?#@A-Z]+", origin):
                raise OptionError(
                    f"allow-origin is {quote(origin)}; an origin is what browsers say: scheme, host in lower case and "
                    "port, and nothing behind. Try --allow-origin https://example.org"
                )
        for name in ("max_running", "max_waiting", "max_choices", "max_gamma", "max_body"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("body_s", "header_s", "stall_s", "max_s", "drain_s"):
            value, called = getattr(self, name), {"max_s": "max-seconds", "drain_s": "drain-seconds"}.get(name, name)
            if not 0.0 < value < math.inf:
                way_out = "" if called == name else f". Try --{called} {Settings.__dataclass_fields__[name].default:g}"
                raise OptionError(f"{called} is {value}; it must be a number of seconds, more than 0{way_out}")

    @property
    def most_choices(self) -> int:
        """How many choices a request may have: what there is never room for is not waited for."""
        return min(self.max_choices, self.max_running + self.max_waiting)

    @property
    def max_prompt_bytes(self) -> int:
        """Bytes that a prompt which fits can have at most."""
        return self.context * self.longest_token

    @property
    def default_draft(self) -> str:
        """The name of what a request drafts with that does not say."""
        return PLAIN if self.begins_plain else next(iter(self.drafts), PLAIN)

    def is_tree(self, name: str) -> bool:
        """Whether a draft proposes trees, which only some rules judge."""
        return name in self.drafts and parse_draft(self.drafts[name]).is_tree

    def rule_for(self, name: str, gamma: int | str | None = None) -> str:
        """Return the rule that judges a draft where a request names none, but perhaps a length."""
        if self.is_tree(name):
            return "tree"
        if self.verify is not None:
            return self.verify
        is_free = self.gamma is None and gamma is None and name in self.drafts
        return rule_for(self.drafts[name]) if is_free else str(Options.verify)

    def gamma_for(self, name: str, rule: str) -> int | str:
        """Return how far to draft where a request does not say: as the load allows, if no text depends on it."""
        has_shape = self.is_tree(name) and name != self.default_draft and isinstance(self.gamma, str)
        if self.gamma is not None and not has_shape:
            return self.gamma
        follows = name in self.drafts and not self.is_tree(name) and get_verifier(rule).same_seed
        return LoadGamma.name if follows else DEFAULT_GAMMA


def name_drafts(specs: Sequence[str]) -> dict[str, str]:
    """Return drafts by the names that everyone may know: without the folders that models lie in.

    Raises
    ------
    OptionError
        If two of them get the same name.

    Examples
    --------
    >>> name_drafts(["models/small", "tree:draft=models/small,shape=2x1", "none"])
    {'small': 'models/small', 'tree:draft=small,shape=2x1': 'tree:draft=models/small,shape=2x1'}
    """
    named: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        name = hide_folders(spec)
        if name in named:
            raise OptionError(f"drafts {named[name]!r} and {spec!r} would both be called {name!r}. Leave one out")
        if spec != PLAIN:
            named[name] = spec
    return named


def hide_folders(spec: str) -> str:
    """Return the name of a model or a draft without the folders that models lie in."""
    return re.sub(r"[^:=,]*[/\\](?=[^:=,])", "", spec.rstrip("/\\"))
