"""The sampling options, checked once, where they enter."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeGuard

from minispec.errors import OptionError, quote

_MOST = 1e6


def option(default: Any, meaning: str) -> Any:
    """Return a field of a dataclass that says what it means, to ``help()`` and to the command's ``--help``."""
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class SamplingParams:
    """How to make a distribution from logits.

    Applied in this order: repetition, presence and frequency penalties, minimum length, temperature, top-k, top-p,
    min-p. A constraint, where there is one, comes between the penalties and the minimum length.

    Parameters
    ----------
    temperature : float
        >= 0; 0 is greedy, an exact one-hot at the argmax (the lowest id on ties).
    top_k : int
        Keep the k likeliest tokens; 0 keeps all.
    top_p : float
        In (0, 1]; keep the smallest set of likeliest tokens whose mass reaches top_p.
    min_p : float
        In [0, 1]; keep tokens at least min_p times as likely as the likeliest.
    repetition_penalty : float
        In [1e-6, 1e6]; divides the positive logits of tokens that occurred and multiplies the negative ones. 1 changes
        nothing.
    presence_penalty, frequency_penalty : float
        In [-1e6, 1e6]; subtracted from the logits of generated tokens, once and per occurrence. 0 changes nothing.
    min_tokens : int
        The end-of-text token is impossible before this many tokens, and no stop string counts that is complete within
        them. A form that allows nothing but the end then does end the text: there is no longer one.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    temperature: float = option(0.8, "0 is greedy.")
    top_k: int = option(0, "Keep the k likeliest tokens; 0 keeps all.")
    top_p: float = option(0.95, "Keep the likeliest tokens until their probabilities sum to this.")
    min_p: float = option(0.0, "Keep tokens whose probability is at least this share of the likeliest's.")
    repetition_penalty: float = option(1.0, "Make tokens that already occur less likely; 1 changes nothing.")
    presence_penalty: float = option(0.0, "Subtract this from the logit of each token already generated.")
    frequency_penalty: float = option(0.0, "Subtract this from a token's logit once for each time it was generated.")
    min_tokens: int = option(
        0, "Let neither end-of-text token nor stop string end the text within this many tokens; a complete form does."
    )

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"):
            object.__setattr__(self, name, _read_number(name.replace("_", "-"), getattr(self, name)))
        if not 0.0 <= self.temperature <= sys.float_info.max:
            raise OptionError(
                f"temperature is {self.temperature}; it must be a number >= 0 (0 is greedy). Try --temperature 0.8"
            )
        if not is_whole(self.top_k) or not 0 <= self.top_k < 2**63:
            raise OptionError(
                f"top-k is {quote(self.top_k)}; it must be a whole number from 0 (all tokens) to 2**63 - 1. "
                "Try --top-k 40"
            )
        if not 0.0 < self.top_p <= 1.0:
            raise OptionError(f"top-p is {self.top_p}; it must be in (0, 1] (1 keeps all tokens). Try --top-p 0.95")
        if not 0.0 <= self.min_p <= 1.0:
            raise OptionError(f"min-p is {self.min_p}; it must be in [0, 1] (0 keeps all tokens). Try --min-p 0.05")
        if not 1.0 / _MOST <= self.repetition_penalty <= _MOST:  # more would make logits overflow
            raise OptionError(
                f"repetition-penalty is {self.repetition_penalty}; it must be from {1.0 / _MOST:g} to {_MOST:g} "
                "(1 changes nothing). Try --repetition-penalty 1.1"
            )
        for name in ("presence_penalty", "frequency_penalty"):
            if not abs(getattr(self, name)) <= _MOST:
                raise OptionError(
                    f"{name.replace('_', '-')} is {getattr(self, name)}; it must be from {-_MOST:g} to {_MOST:g} "
                    "(0 changes nothing)"
                )
        object.__setattr__(self, "top_k", int(self.top_k))
        if not is_whole(self.min_tokens) or not 0 <= self.min_tokens < 2**63:
            raise OptionError(
                f"min-tokens is {quote(self.min_tokens)}; it must be a whole number >= 0. Try --min-tokens 0"
            )
        object.__setattr__(self, "min_tokens", int(self.min_tokens))


def _read_number(name: str, value: Any) -> float:
    """Return a number as Python's own, which JSON and kernels take: NumPy's, a fraction, an integer of any size."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise OptionError(f"{name} is {quote(value)}; it must be a number")
    if isinstance(value, int) and abs(value) <= 2**53:
        return value
    number: Any = value
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it counts something; True and False do not."""
    return isinstance(value, Integral) and not isinstance(value, bool)
