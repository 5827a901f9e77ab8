"""How requests that are decoded together speculate where they do not say.

A length that is right alone wastes rows in a crowd, so it follows the load (:mod:`minispec.engine.control.load`). That
depends on time, and a text must not: the rule is one whose text is that of plain decoding, whatever is drafted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minispec.engine.control.budget import BudgetGamma
from minispec.engine.control.load import Load, LoadGamma
from minispec.engine.control.registry import require_policy
from minispec.engine.drafters import parse_draft
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import NO_DRAFT
from minispec.engine.generation.result import find_guarantee, is_reproducible
from minispec.engine.specs import read_options, split_spec
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError

COUPLED = "gumbel"
"""The rule of a draft that can be drawn with the target's own noise."""
FOLLOWING = {policy.name: policy for policy in (LoadGamma, BudgetGamma)}
"""Policies of requests that are decoded together, by what ``gamma`` calls them."""


def rule_for(draft: object) -> str:
    """Return the rule that judges a draft where neither a rule nor a length is named.

    Parameters
    ----------
    draft : str, model, Drafter or None
        A drafter of the caller's draws with noise of its own choice: its rule is that of a run alone.
    """
    if not isinstance(draft, str):
        return str(Options.verify) if draft is None or hasattr(draft, "propose") else COUPLED
    if draft == NO_DRAFT:
        return str(Options.verify)
    spec = parse_draft(draft)
    return "tree" if spec.is_tree else COUPLED if spec.can_couple else str(Options.verify)


def settle(given: Mapping[str, Any], draft: object, load: Load, *, batch_invariant: bool) -> Options:
    """Return the options of a request, what it leaves out filled in.

    Without ``gamma`` and ``verify`` the rule is :func:`rule_for`'s. Without ``gamma`` the length follows the load
    wherever nothing that is promised depends on it: neither the text nor the details that ``logprobs`` asks for.

    Parameters
    ----------
    given : mapping
        Options of :class:`minispec.engine.generation.options.Options` by name.
    draft : str, model, Drafter or None
    load : Load
        That of the engine.
    batch_invariant : bool
        Of the target.

    Raises
    ------
    OptionError
        If a value breaks its rule.
    """
    named = dict(given)
    if isinstance(gamma := named.get("gamma"), str):
        require_policy(gamma, *FOLLOWING)
        kind, rest = split_spec(gamma)
        if kind in FOLLOWING:
            read_options("gamma", gamma, kind, rest, {}, f"--gamma {kind}")
            named["gamma"] = FOLLOWING[kind](load)
    elif "gamma" not in named and "verify" not in named:
        named["verify"] = rule_for(draft)
    settings = Options.read(named)
    if isinstance(settings.gamma, LoadGamma) and settings.fallback != "off":
        raise OptionError(
            f"gamma is {settings.gamma.name!r} and fallback {settings.fallback!r}; the first stops drafting by itself "
            "where that does not pay. Try --fallback off"
        )
    if "gamma" in named or draft is None or not _has_free_length(settings, draft):
        return settings
    verifier, temperature = get_verifier(settings.verify), settings.temperature
    promised = find_guarantee(verifier, temperature=temperature, batch_invariant=batch_invariant)
    return replace(settings, gamma=LoadGamma(load)) if is_reproducible(promised, timed=True) else settings


def _has_free_length(settings: Options, draft: object) -> bool:
    is_tree = parse_draft(draft).is_tree if isinstance(draft, str) else hasattr(draft, "num_nodes")
    return not (is_tree or settings.logprobs or settings.fallback != "off")
