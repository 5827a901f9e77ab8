"""Beside stop 2: from ``NAME[:key=value,...]`` to a rule and what it promises."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from minispec.engine.specs import Read, read_number, read_options, split_spec
from minispec.engine.verifiers.base import Verifier, Verify
from minispec.errors import OptionError, quote, suggest

_PROMISES: Mapping[str, tuple[str, Mapping[str, bool]]] = {
    "rejection": ("rejection", {}),
    "match": ("match", {"same_seed": True, "trees": True}),
    "gumbel": ("gumbel", {"same_seed": True, "coupled": True}),
    "block": ("block", {}),
    "tree": ("rejection", {"trees": True}),
    "traversal": ("block", {"trees": True}),
    "kseq": ("rejection", {"trees": True, "counts_siblings": True}),
}
"""Rules without options: on a chain each accepts as far as this rule does, and what it promises besides."""


class _Rules(dict[str, Verifier]):
    """The rules of :data:`_PROMISES`, each imported when it is first asked for."""

    def __missing__(self, name: str) -> Verifier:
        survives_as, promises = _PROMISES[name]
        verify, survival = _import_rule(name).verify, _import_rule(survives_as).survival
        self[name] = Verifier(name, verify, survival=survival, **promises)
        return self[name]


def _import_rule(name: str) -> Any:
    return importlib.import_module(f"minispec.engine.verifiers.{name}")


_PLAIN = _Rules()

_KEYS: Mapping[str, Mapping[str, tuple[Read, float]]] = {
    "lenient": {"lenience": (read_number, 0.5)},
    "typical": {"epsilon": (read_number, 0.09), "delta": (read_number, 0.3)},
}
"""Rules with options, how each is read, and its default."""

VERIFIER_NAMES = (*_PROMISES, *_KEYS)


def get_verifier(spec: str | Verifier | Verify) -> Verifier:
    """Return the rule that ``spec`` names, say ``"rejection"`` or ``"typical:epsilon=0.09,delta=0.3"``.

    A :class:`Verifier` is returned as it is. A bare rule promises nothing, so it counts as lossy.

    Raises
    ------
    OptionError
        If the name, a key or a value is not one of those that exist.

    Examples
    --------
    >>> get_verifier("match").same_seed
    True
    >>> get_verifier("lenient:lenience=0.25").name
    'lenient:lenience=0.25'
    """
    if isinstance(spec, Verifier):
        return spec
    if not isinstance(spec, str):
        if not callable(spec):
            raise OptionError(f"verify is {quote(spec)}; it must be a rule or its name. Try --verify block")
        return Verifier(getattr(spec, "__name__", type(spec).__name__), spec, lossless=False)
    name, rest = split_spec(spec)
    if name not in VERIFIER_NAMES:
        raise OptionError(
            f"verify is {quote(spec)}; it must be one of {', '.join(VERIFIER_NAMES)}. "
            + suggest(name, VERIFIER_NAMES, "Try --verify block")
        )
    keys = _KEYS.get(name, {})
    example = ",".join(f"{key}={default:g}" for key, (_, default) in keys.items())
    options = read_options("verifier", spec, name, rest, keys, f"--verify {name}" + (f":{example}" if example else ""))
    if name in _PROMISES:
        return _PLAIN[name]
    full = f"{name}:" + ",".join(f"{key}={value}" for key, value in options.items())
    rule = _import_rule(name)
    if name == "lenient":
        lenience = options["lenience"]
        _check_lenience(lenience)
        return Verifier(
            full,
            partial(rule.verify, lenience=lenience),
            lossless=False,
            survival=partial(rule.survival, lenience=lenience),
        )
    epsilon, delta = options["epsilon"], options["delta"]
    _check_typical(epsilon, delta)
    return Verifier(
        full,
        partial(rule.verify, epsilon=epsilon, delta=delta),
        lossless=False,
        survival=partial(rule.survival, epsilon=epsilon, delta=delta),
    )


def _check_lenience(lenience: float) -> None:
    if not 0.0 < lenience <= 1.0:
        raise OptionError(
            f"lenience is {lenience}; it must be in (0, 1] (1 is rejection sampling). Try --verify lenient:lenience=0.5"
        )


def _check_typical(epsilon: float, delta: float) -> None:
    for key, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise OptionError(f"{key} is {value}; it must be in (0, 1). Try --verify typical:epsilon=0.09,delta=0.3")
