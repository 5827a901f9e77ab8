"""From ``--gamma`` to a policy: a number, or ``KIND[:key=value,...]``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minispec.engine.control.gamma import (
    ConfidenceGamma,
    FixedGamma,
    GammaPolicy,
    HeuristicGamma,
    ReplayedGamma,
)
from minispec.engine.sampling.params import is_whole
from minispec.engine.specs import Read, read_number, read_options, read_whole, split_spec
from minispec.errors import OptionError, quote, suggest

_KINDS: Mapping[str, Mapping[str, tuple[Read, Any]]] = {
    "heuristic": {"gamma": (read_whole, 5), "largest": (read_whole, 32)},
    "confidence": {"threshold": (read_number, 0.4), "gamma": (read_whole, 16)},
    "auto": {"largest": (read_whole, 16)},
    "replay": {"trace": (str, "")},
}
_EXAMPLES = {
    "heuristic": "--gamma heuristic",
    "confidence": "--gamma confidence:threshold=0.4",
    "auto": "--gamma auto",
    "replay": "--gamma replay:trace=FILE",
}


def get_policy(gamma: int | str | GammaPolicy) -> GammaPolicy:
    """Return the policy that ``gamma`` names, say ``5``, ``"5"``, ``"auto"`` or ``"confidence:threshold=0.4"``.

    A policy is returned as it is.

    Raises
    ------
    OptionError
        If it is neither a number >= 0 nor a kind that exists, or an option breaks its rule.

    Examples
    --------
    >>> get_policy("3").gamma()
    3
    """
    if is_whole(gamma):
        return FixedGamma(int(gamma))
    if not isinstance(gamma, str):
        if isinstance(gamma, int) or not hasattr(gamma, "observe"):
            raise OptionError(
                f"gamma is {quote(gamma)}; it must be a whole number, a policy or its name. Try --gamma 3"
            )
        return gamma
    text = gamma
    kind, rest = split_spec(text)
    if kind in ("load", "budget"):
        raise OptionError(
            f"gamma is {quote(text)}, which weighs requests that are decoded together: in `minispec batch`, `minispec "
            "serve` and an Engine. Try --gamma auto"
        )
    require_policy(text)
    if kind not in _KINDS:
        return FixedGamma(int(text))
    options = read_options("gamma", text, kind, rest, _KINDS[kind], _EXAMPLES[kind])
    match kind:
        case "heuristic":
            return HeuristicGamma(**options)
        case "confidence":
            return ConfidenceGamma(**options)
        case "auto":
            from minispec.engine.control.auto import AutoGamma

            return AutoGamma(**options)
    return ReplayedGamma(_read_lengths(options["trace"]))


def require_policy(text: str, *more: str) -> None:
    """Refuse a text that is no whole number and does not begin with the name of a policy.

    Parameters
    ----------
    text : str
    *more : str
        Names of policies that there are besides, for requests that are decoded together.

    Raises
    ------
    OptionError
    """
    kind, _ = split_spec(text)
    kinds = (*_KINDS, *more)
    if kind not in kinds:
        try:
            int(text)
        except ValueError:
            raise OptionError(
                f"gamma is {quote(text)}; it must be a number >= 0 or one of {', '.join(kinds)}. "
                + suggest(kind, kinds, "Try --gamma 3")
            ) from None


def find_trace(gamma: str) -> Path | None:
    """Return the file that a policy replays, if ``gamma`` names one that does."""
    kind, rest = split_spec(gamma)
    if kind != "replay":
        return None
    return Path(read_options("gamma", gamma, kind, rest, _KINDS[kind], _EXAMPLES[kind])["trace"])


def _read_lengths(trace: str) -> list[int]:
    """Read the draft lengths of a trace's ``drafted`` events."""
    if not trace:
        raise OptionError("gamma is 'replay'; it needs the trace to replay. Try --gamma replay:trace=FILE")
    try:
        # Not splitlines(): that also cuts at U+2028 and others, which a text may contain.
        lines = Path(trace).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        events = [json.loads(line) for line in lines]
        # by step: one that was interrupted and done again is there twice, and the last time counts
        lengths = {event["step"]: len(event["tokens"]) for event in events if event["event"] == "drafted"}
        if 0 not in lengths:
            return [lengths[step] for step in range(1, 1 + len(lengths))]
    except OSError as error:
        raise OptionError(f"trace {quote(trace)} cannot be read ({error.strerror}). Name a file of --trace") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise OptionError(
            f"{quote(trace)} is no trace: it must hold an event per line. Name a file of --trace"
        ) from None
    raise OptionError(f"{quote(trace)} is of an earlier version: its first token was drafted for. Make it again")
