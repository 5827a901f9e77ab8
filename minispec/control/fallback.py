"""Stop drafting when it costs more than it saves; try again later, less and less often while it keeps losing."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from minispec.control.gamma import GammaPolicy
from minispec.errors import OptionError
from minispec.records import Step

SCOPES = ("request", "session", "process")
"""How long what was learned lives: one generation, one loaded target, or the whole process."""

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


_process: dict[tuple[str, str], Fallback] = {}
_sessions: weakref.WeakKeyDictionary[object, dict[tuple[str, str], Fallback]] = weakref.WeakKeyDictionary()


def remembered(scope: str, policy: GammaPolicy, pair: tuple[str, str], session: object) -> Fallback:
    """Return the fallback of a pair with ``policy`` in it, as far as ``scope`` remembers one.

    Parameters
    ----------
    scope : {"request", "session", "process"}
        Remember nothing; as long as the object ``session`` lives; as long as the process does.
    policy : GammaPolicy
    pair : tuple of str
        Names of target and draft: what one draft cost says nothing about another.
    session : object
        Usually the loaded target.

    Raises
    ------
    OptionError
        If the scope is unknown.
    """
    if scope not in SCOPES:
        raise OptionError(f"fallback is {scope!r}; it must be one of {', '.join(SCOPES)}. Try --fallback request")
    if scope == "request":
        return Fallback(policy)
    states = _process if scope == "process" else _sessions.setdefault(session, {})
    state = states.setdefault(pair, Fallback(policy))
    state.policy = policy
    return state
