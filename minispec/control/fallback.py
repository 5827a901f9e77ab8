"""Stop drafting when it costs more than it saves; try again later, less and less often while it keeps losing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minispec.control.gamma import GammaPolicy
from minispec.errors import OptionError
from minispec.records import Step

SCOPES = ("request", "session", "process")
"""How long what was learned lives: one generation, one loaded pair in the caller's hands, or the whole process."""

_PLAIN_STEPS = 2  # measured first, so that there is something to compare with
_WINDOW = 8  # speculative steps judged together: one step's luck decides nothing
_LOSS_LIMIT = 3.0  # but a window that has lost this much, in plain tokens' time, is over at once
_FIRST_PAUSE = 48  # plain steps after losing a window
_LONGEST_PAUSE = 768
_MARGIN = 0.03  # hysteresis: stop above 1 + margin times plain cost, go on below 1 - margin
_KEEP = 0.8  # weight of the past in the estimate of plain cost


class Fallback:
    """Wraps a policy and compares measured seconds per emitted token with plain decoding's.

    While drafting, each window of eight speculative steps is compared with the plain cost. A window that loses switches
    drafting off for a pause; then one window probes. A probe must *win* by the margin to switch drafting on again;
    one that loses doubles the pause. On text where drafts are useless the loss is therefore a few plain tokens' time
    per window, and a few windows in hundreds of tokens.

    Parameters
    ----------
    policy : GammaPolicy
        Decides γ while drafting is on.
    """

    timed = True

    def __init__(self, policy: GammaPolicy) -> None:
        self.policy = policy
        self._plain_s: float | None = None
        self._plain_steps_left = _PLAIN_STEPS
        self._pause = _FIRST_PAUSE
        self._probing = False
        self._window: list[tuple[float, int]] = []  # time in plain tokens, and tokens, of each speculative step

    @property
    def drafting(self) -> bool:
        """Whether the next step may draft."""
        return self._plain_steps_left == 0

    def gamma(self) -> int:
        """Return the policy's γ, or 0 during a pause."""
        return self.policy.gamma() if self.drafting else 0

    def keep_drafting(self, probs: NDArray[np.float64]) -> bool:
        """Ask the policy."""
        return self.policy.keep_drafting(probs)

    def observe(self, step: Step) -> None:
        """Account a finished step and switch where a window is complete."""
        if not step.tokens:
            return
        if not self.drafting or not step.draft_tokens:
            self._plain(step)
            return
        self.policy.observe(step)
        assert self._plain_s is not None  # plain steps come first
        self._window.append((step.step_s / self._plain_s, len(step.tokens)))
        cost, tokens = map(sum, zip(*self._window, strict=True))
        if len(self._window) == _WINDOW or cost - tokens > _LOSS_LIMIT:
            self._window = []
            self._judge(cost / tokens)

    def _plain(self, step: Step) -> None:
        past = step.step_s if self._plain_s is None else self._plain_s
        self._plain_s = _KEEP * past + (1.0 - _KEEP) * step.step_s
        if not self.drafting:
            self._plain_steps_left -= 1

    def _judge(self, cost: float) -> None:
        """Switch on what a window cost per token, in units of plain decoding's."""
        if cost <= 1.0 - _MARGIN or (cost <= 1.0 + _MARGIN and not self._probing):
            self._probing, self._pause = False, _FIRST_PAUSE
            return
        self._pause = min(_LONGEST_PAUSE, 2 * self._pause) if self._probing else _FIRST_PAUSE
        self._plain_steps_left, self._probing = self._pause, True


class Scopes:
    """Keeps fallback states for as long as their scope says.

    Parameters
    ----------
    scope : {"request", "session", "process"}

    Raises
    ------
    OptionError
        If the scope is unknown.
    """

    _process: dict[tuple[str, str], Fallback] = {}  # noqa: RUF012  # shared on purpose: it is the process's memory

    def __init__(self, scope: str) -> None:
        if scope not in SCOPES:
            raise OptionError(f"fallback is {scope!r}; it must be one of {', '.join(SCOPES)}. Try --fallback request")
        self._states: dict[tuple[str, str], Fallback] = self._process if scope == "process" else {}
        self._keeps = scope != "request"

    def wrap(self, policy: GammaPolicy, pair: tuple[str, str]) -> Fallback:
        """Return the pair's state with ``policy`` in it; a new one where the scope keeps none."""
        if not self._keeps or pair not in self._states:
            self._states[pair] = Fallback(policy)
        self._states[pair].policy = policy
        return self._states[pair]
