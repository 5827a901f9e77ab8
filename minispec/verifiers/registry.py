"""From ``NAME[:key=value,...]`` to a rule and what it promises."""

from __future__ import annotations

import math
from functools import partial

from minispec.errors import OptionError, shown
from minispec.verifiers import block, gumbel, lenient, match, rejection, tree, typical
from minispec.verifiers.base import Verifier

_PLAIN = {
    "rejection": Verifier("rejection", rejection.verify, survival=rejection.survival),
    "match": Verifier("match", match.verify, same_seed=True, trees=True, survival=match.survival),
    "gumbel": Verifier("gumbel", gumbel.verify, same_seed=True, coupled=True, survival=gumbel.survival),
    "block": Verifier("block", block.verify, survival=block.survival),
    "tree": Verifier("tree", tree.verify, trees=True, survival=rejection.survival),
}
"""Rules without options."""

_DEFAULTS: dict[str, dict[str, float]] = {
    "lenient": {"lenience": 0.5},
    "typical": {"epsilon": 0.09, "delta": 0.3},
}
"""Rules with options, and the options' defaults."""

VERIFIER_NAMES = (*_PLAIN, *_DEFAULTS)


def get_verifier(spec: str) -> Verifier:
    """Return the rule that ``spec`` names, say ``"rejection"`` or ``"typical:epsilon=0.09,delta=0.3"``.

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
    name, colon, rest = spec.partition(":")
    if name not in VERIFIER_NAMES:
        raise OptionError(
            f"verifier is {shown(spec)}; it must be one of {', '.join(VERIFIER_NAMES)}. Try --verify block"
        )
    if name in _PLAIN:
        if colon:
            raise OptionError(f"verifier is {shown(spec)}; {name} takes no options. Try --verify {name}")
        return _PLAIN[name]
    options = _options(spec, name, rest if colon else None)
    full = f"{name}:" + ",".join(f"{key}={value}" for key, value in options.items())
    if name == "lenient":
        lenience = options["lenience"]
        _check_lenience(lenience)
        return Verifier(
            full,
            partial(lenient.verify, lenience=lenience),
            lossless=False,
            survival=partial(lenient.survival, lenience=lenience),
        )
    epsilon, delta = options["epsilon"], options["delta"]
    _check_typical(epsilon, delta)
    return Verifier(
        full,
        partial(typical.verify, epsilon=epsilon, delta=delta),
        lossless=False,
        survival=partial(typical.survival, epsilon=epsilon, delta=delta),
    )


def _options(spec: str, name: str, rest: str | None) -> dict[str, float]:
    """Read ``key=value,...``; what is not given has its default."""
    options = dict(_DEFAULTS[name])
    example = f"Try --verify {name}:" + ",".join(f"{key}={value:g}" for key, value in options.items())
    given: set[str] = set()
    for item in [] if rest is None else rest.split(","):
        key, equals, text = item.partition("=")
        if key not in options or not equals:
            raise OptionError(f"verifier is {shown(spec)}; {name}'s options are {', '.join(options)}. {example}")
        if key in given:
            raise OptionError(f"verifier is {shown(spec)}; {key} is given twice. {example}")
        given.add(key)
        try:
            options[key] = float(text)
        except ValueError:
            options[key] = math.nan
        if not math.isfinite(options[key]):
            raise OptionError(f"verifier is {shown(spec)}; {key} must be a number. {example}")
    return options


def _check_lenience(lenience: float) -> None:
    if not 0.0 < lenience <= 1.0:
        raise OptionError(
            f"lenience is {lenience}; it must be in (0, 1] (1 is rejection sampling). Try --verify lenient:lenience=0.5"
        )


def _check_typical(epsilon: float, delta: float) -> None:
    for key, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise OptionError(f"{key} is {value}; it must be in (0, 1). Try --verify typical:epsilon=0.09,delta=0.3")
