"""The drafter protocol: propose a few tokens, say what they were drawn from, go back when told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from minispec.noise import Noise
from minispec.records import Draft


class Drafter(Protocol):
    """Proposes what may come next.

    A drafter may never shorten or change the text: when it has nothing to offer (its window is full, say) it returns
    an empty draft and decoding goes on plainly.
    """

    def prefill(self, tokens: Sequence[int]) -> None:
        """Take in a prompt of committed tokens before the clock of the first step starts."""
        ...

    def propose(self, tokens: Sequence[int], gamma: int, noise: Noise, *, step: int, row: int = 0) -> Draft:
        """Draft at most ``gamma`` tokens that could follow the committed ``tokens``.

        ``Draft.probs[i]`` must be the distribution that ``Draft.tokens[i]`` was really drawn from.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget whatever lies beyond the first ``length`` tokens."""
        ...
