"""Beside stop 2: from ``NAME[:key=value,...]`` to a rule and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from minispec.engine.specs import Read, read_number, read_options, split_spec
from minispec.engine.verifiers import block, gumbel, kseq, lenient, match, rejection, traversal, tree, typical
from minispec.engine.verifiers.base import Verifier, Verify
from minispec.errors import OptionError, quote

_PLAIN = {
    "rejection": Verifier("rejection", rejection.verify, survival=rejection.survival),
    "match": Verifier("match", match.verify, same_seed=True, trees=True, survival=match.survival),
    "gumbel": Verifier("gumbel", gumbel.verify, same_seed=True, coupled=True, survival=gumbel.survival),
    "block": Verifier("block", block.verify, survival=block.survival),
    "tree": Verifier("tree", tree.verify, trees=True, survival=rejection.survival),
    "traversal": Verifier("traversal", traversal.verify, trees=True, survival=block.survival),
    "kseq": Verifier("kseq", kseq.verify, trees=True, counts_siblings=True, survival=rejection.survival),
}
"""Rules without options."""

_KEYS: Mapping[str, Mapping[str, tuple[Read, float]]] = {
    "lenient": {"lenience": (read_number, 0.5)},
    "typical": {"epsilon": (read_number, 0.09), "delta": (read_number, 0.3)},
}
"""Rules with options, how each is read, and its default."""

VERIFIER_NAMES = (*_PLAIN, *_KEYS)


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
            raise OptionError(f"verifier is {quote(spec)}; it must be a rule or its name. Try --verify block")
        return Verifier(getattr(spec, "__name__", type(spec).__name__), spec, lossless=False)
    name, rest = split_spec(spec)
    if name not in VERIFIER_NAMES:
        raise OptionError(
            f"verifier is {quote(spec)}; it must be one of {', '.join(VERIFIER_NAMES)}. Try --verify block"
        )
    keys = _KEYS.get(name, {})
    example = ",".join(f"{key}={default:g}" for key, (_, default) in keys.items())
    options = read_options("verifier", spec, name, rest, keys, f"--verify {name}" + (f":{example}" if example else ""))
    if name in _PLAIN:
        return _PLAIN[name]
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


def _check_lenience(lenience: float) -> None:
    if not 0.0 < lenience <= 1.0:
        raise OptionError(
            f"lenience is {lenience}; it must be in (0, 1] (1 is rejection sampling). Try --verify lenient:lenience=0.5"
        )


def _check_typical(epsilon: float, delta: float) -> None:
    for key, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise OptionError(f"{key} is {value}; it must be in (0, 1). Try --verify typical:epsilon=0.09,delta=0.3")
