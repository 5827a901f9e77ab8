"""What speculation has brought a batch, from the forwards of the batch itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

_NOISE = 0.1
"""By how much a measured time may be off."""


class Gain:
    """Seconds that steps took, beside those that plain decoding of the same tokens would have.

    A plain step of B requests emits B tokens and takes T(B), which is known where forwards of about so many rows were
    measured; so tokens are counted by B, and the comparison is made in the end. A step without drafts counts as itself:
    another program that delays it is no loss of speculation's. Steps that feed prompts are left out.

    Examples
    --------
    >>> gain = Gain()
    >>> gain.note(2, 6, 2.0, has_drafted=True)
    >>> gain.speedup(lambda rows: 1.0)
    1.5
    >>> gain.note(2, 2, 9.0, has_drafted=False)
    >>> round(gain.speedup(lambda rows: 1.0), 2)
    1.09
    >>> gain.speedup(lambda rows: 9.0) is None  # a step of two seconds has a forward of nine in it
    True
    """

    def __init__(self) -> None:
        self._tokens: dict[int, int] = defaultdict(int)
        self._steps: dict[int, int] = defaultdict(int)
        self._seconds = self._plain_s = 0.0

    def note(self, num_requests: int, num_tokens: int, seconds: float, *, has_drafted: bool) -> None:
        """Take in a step of requests that all decode."""
        self._seconds += seconds
        if has_drafted:
            self._tokens[num_requests] += num_tokens
            self._steps[num_requests] += 1
        else:
            self._plain_s += seconds

    def speedup(self, plain_s: Callable[[int], float]) -> float | None:
        """Return how many times as fast as plain decoding the steps were, estimated.

        None before any, and where it cannot be: each step had a forward, which takes T at least, up to noise. Another
        thread may take in a step meanwhile.

        Parameters
        ----------
        plain_s : callable
            T: seconds of a target forward by its rows.
        """
        least_s = sum(count * plain_s(size) for size, count in list(self._steps.items()))
        if self._seconds <= 0.0 or least_s > (1.0 + _NOISE) * (self._seconds - self._plain_s):
            return None
        drafted_s = sum(count / size * plain_s(size) for size, count in list(self._tokens.items()))
        return (self._plain_s + drafted_s) / self._seconds
