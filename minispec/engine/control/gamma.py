"""Policies for γ, the number of tokens drafted per step.

A policy must not know too much, or it biases the text. The engine asks it before a step and reports to it after the
step (not so of the first token, which the prefill gives); while the draft grows the policy may look at the draft's next
distribution, *before* a token is drawn from it. It never sees the present step's target rows, coins or discarded
drafts: a γ that depended on those would decide which tokens get a second chance. The interface does not hand them over.

So what may a decision depend on? On whatever says nothing of the noise that the request has yet to read:

- its own finished steps; of the present one, the draft's rows, each before its token is drawn;
- whatever draws nothing: options, prompts, the machine;
- time, and other requests, if none of them reads the same noise. Noise is a function of seed and address, so requests
  with one seed draw alike at one place, and what the older one has drawn is what the younger one is about to draw. In a
  batch every forward takes as long as the drafts of all make it. Hence a request whose policy is ``timed`` has noise of
  its own there (``generation/api.py``), unless its text does not depend on γ.

And a decision stands until its step is finished, also if the step is interrupted and done again: to decide anew, with
the draft known, would be a second chance as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minispec.engine.records import Step
from minispec.errors import OptionError, quote

DEFAULT_GAMMA = 3
"""For drafts that are accepted with α = 0.6 to 0.7 and cost a tenth of a plain step, two to four tokens gain most; see
`docs/draft-length.md`. A longer draft loses more where it is rejected than it gains where it is not."""
_MOST = 1024
UNLIMITED = 1 << 30
"""More tokens than any γ: the answer of a policy that leaves the length to γ."""


class GammaPolicy(Protocol):
    """Decides how many tokens to draft."""

    @property
    def timed(self) -> bool:
        """Whether the decisions depend on time or on other requests: a run cannot be reproduced from its seed."""
        ...

    def gamma(self) -> int:
        """Return the largest number of tokens to draft in the next step.

        It is asked at any time until the step is observed, while the draft grows and behind it too: say the same each
        time, and change nothing.
        """
        ...

    def more(self, probs: NDArray[np.float64]) -> int:
        """Return how many more tokens may be drafted, given the distribution of the next one, shape (V,).

        0 ends the draft; 1 draws this token and says that nothing will follow, so that the draft need not compute what
        could.
        """
        ...

    def observe(self, step: Step) -> None:
        """Learn from a finished step.

        An interruption in it is as if it had not been called: the attributes are set back, lists, dicts and sets in
        them too, and it is called again. What lies deeper must be replaced, not changed.
        """
        ...


def find_largest(policy: GammaPolicy) -> int:
    """Return the most tokens that a policy ever drafts: its attribute ``largest``, where it has one."""
    return int(getattr(policy, "largest", UNLIMITED))


def require_largest(largest: int) -> int:
    """Return the most that a policy may draft, if it is one.

    Raises
    ------
    OptionError
    """
    if not 1 <= largest <= _MOST:
        raise OptionError(
            f"gamma: largest is {quote(largest)}; it must be from 1 to {_MOST}. Try --gamma auto:largest=16"
        )
    return largest


class FixedGamma:
    """Always the same γ.

    Parameters
    ----------
    gamma : int
        >= 0; 0 drafts nothing.
    """

    timed = False

    def __init__(self, gamma: int) -> None:
        if not 0 <= gamma < 2**63:
            raise OptionError(
                f"gamma is {quote(gamma)}; it must be from 0 (drafts nothing) to 2**63 - 1. Try --gamma 3"
            )
        self._gamma = gamma

    @property
    def largest(self) -> int:
        """γ."""
        return self._gamma

    def gamma(self) -> int:
        """Return γ."""
        return self._gamma

    def more(self, probs: NDArray[np.float64]) -> int:
        """Set no limit besides γ."""
        return UNLIMITED

    def observe(self, step: Step) -> None:
        """Learn nothing."""


class HeuristicGamma(FixedGamma):
    """Two more after a fully accepted draft, one less (down to 1) after any rejection.

    Hugging Face transformers calls this schedule "heuristic" (``num_assistant_tokens_schedule``).

    Parameters
    ----------
    gamma : int
        To begin with.
    largest : int
        Never more than this.
    """

    def __init__(self, gamma: int = 5, largest: int = 32) -> None:
        super().__init__(gamma)
        self._largest = require_largest(largest)

    @property
    def largest(self) -> int:
        """The most to draft; one to begin with may be more."""
        return max(self._gamma, self._largest)

    def observe(self, step: Step) -> None:
        """Adapt γ; a step without a draft teaches nothing."""
        if not step.draft_tokens:
            return
        if step.verdict.num_accepted == len(step.draft_tokens):
            self._gamma = min(self._largest, self._gamma + 2)
        else:
            self._gamma = max(1, self._gamma - 1)


class ConfidenceGamma(FixedGamma):
    """Stop drafting as soon as the draft model itself is unsure.

    The decision is made from the next distribution, before its token is drawn. Dropping a token *because of which
    token it is* would bias the text: then q is no longer what the remaining tokens were drawn from.

    Parameters
    ----------
    threshold : float
        In [0, 1]; the draft goes on while its likeliest next token has at least this probability.
    gamma : int
        The most to draft.
    """

    def __init__(self, threshold: float = 0.4, gamma: int = 16) -> None:
        super().__init__(gamma)
        if not 0.0 <= threshold <= 1.0:
            raise OptionError(f"confidence threshold is {threshold}; a probability lies in [0, 1]. Try threshold=0.4")
        self._threshold = threshold

    def more(self, probs: NDArray[np.float64]) -> int:
        """Go on while the draft is confident enough."""
        return UNLIMITED if probs.max() >= self._threshold else 0


class ReplayedGamma:
    """The draft lengths of an earlier run, step by step: a timed run made reproducible.

    Parameters
    ----------
    lengths : sequence of int
        Draft length of each step, the first token's left out; after the last one nothing is drafted.
    """

    timed = False

    def __init__(self, lengths: Sequence[int]) -> None:
        self._lengths = list(lengths)
        self._step = 0

    @property
    def largest(self) -> int:
        """The longest."""
        return max(self._lengths, default=0)

    def gamma(self) -> int:
        """Return the next recorded length."""
        return self._lengths[self._step] if self._step < len(self._lengths) else 0

    def more(self, probs: NDArray[np.float64]) -> int:
        """Set no limit: the recorded length is the whole decision."""
        return UNLIMITED

    def observe(self, step: Step) -> None:
        """Go on to the next step."""
        self._step = step.index
