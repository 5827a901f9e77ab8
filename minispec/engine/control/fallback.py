"""Stop drafting when it costs more than it saves; try again later, less and less often while it keeps losing."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.control.gamma import GammaPolicy, find_largest
from minispec.engine.records import Step
from minispec.errors import OptionError

SCOPES = ("request", "session", "process")
"""How long a fallback remembers: for one generation, while the target is loaded, or while the process runs."""

_PLAIN_STEPS = 2  # measured first, so that there is something to compare with
_WINDOW = 16  # speculative steps judged together: a few steps' luck decides nothing
_LOSS_LIMIT = 2.0  # but a window that has lost this much, in plain tokens' time, is over at once
_FIRST_PAUSE = 24  # plain steps after losing a window
_LONGEST_PAUSE = 768
_MARGIN = 0.03  # hysteresis: stop above 1 + margin times plain cost, go on below 1 - margin
_FREE = 0.01  # of plain cost: trying to draft for less counts as nothing
_KEEP = 0.8  # weight of the past in the estimate of plain cost


class Fallback:
    """Wraps a policy and compares measured seconds per emitted token with plain decoding's.

    While drafting, each window of sixteen speculative steps is compared with the plain cost. A window that loses
    switches drafting off for a pause; then one window probes. A probe must *win* by the margin to switch drafting on
    again; one that loses doubles the pause. On text where drafts are useless the loss is therefore a few plain tokens'
    time per window, and a few windows in hundreds of tokens.

    Parameters
    ----------
    policy : GammaPolicy
        Decides γ while drafting is on.
    memory : Memory, optional
        What other requests have found: this one begins with it, and adds to it.
    seed : int
        Of the request's coins.
    bends : bool
        Whether the text depends on what is drafted. Then it does not begin with what its own coins have decided before.
    """

    timed = True

    def __init__(self, policy: GammaPolicy, memory: Memory | None = None, seed: int = 0, *, bends: bool = True) -> None:
        self.policy = policy
        self._memory = memory
        self._seed = seed
        self._bends = bends
        self._plain_s: float | None = None
        self._plain_steps_left = _PLAIN_STEPS
        self._pause = _FIRST_PAUSE
        self._probing = False
        self._resuming = False
        self._usual_draft_s: float | None = None  # seconds per drafted token
        self._window: list[tuple[float, int]] = []  # time in plain tokens, and tokens, of each speculative step
        self._has_begun = False

    @property
    def drafting(self) -> bool:
        """Whether the next step may draft."""
        return self._plain_steps_left == 0

    @property
    def largest(self) -> int:
        """The policy's."""
        return find_largest(self.policy)

    def gamma(self) -> int:
        """Return the policy's γ, or 0 during a pause."""
        if self._memory is not None and not self._has_begun:  # here, since a request may have waited for its turn
            vars(self).update(self._memory.recall(self._seed if self._bends else None), _has_begun=True)
        return self.policy.gamma() if self.drafting else 0

    def more(self, probs: NDArray[np.float64]) -> int:
        """Ask the policy."""
        return self.policy.more(probs)

    def observe(self, step: Step) -> None:
        """Account a finished step and switch where a window is complete."""
        self.policy.observe(step)
        if step.tokens:
            self._account(step)
            if self._memory is not None:
                self._memory.keep({name: getattr(self, name) for name in _REMEMBERED}, self._seed)

    def _account(self, step: Step) -> None:
        drafting = self.drafting
        if not step.draft_tokens:  # its target forward is a plain one, whatever came before it
            self._learn_plain(step.step_s - step.draft_s)
        if not drafting:
            self._plain_steps_left -= 1
            self._resuming = True
            return
        assert self._plain_s is not None  # plain steps come first
        if not step.draft_tokens and step.draft_s <= _FREE * self._plain_s:
            return  # nothing was drafted and nothing was spent on trying: neither won nor lost
        cost = (step.step_s - self._measure_catching_up(step)) / self._plain_s
        self._window = [*self._window, (cost, len(step.tokens))]
        cost, tokens = map(sum, zip(*self._window, strict=True))
        if len(self._window) == _WINDOW or cost - tokens > _LOSS_LIMIT:
            self._window = []
            self._judge(cost / tokens)

    def _measure_catching_up(self, step: Step) -> float:
        """Return the seconds that the first draft after a pause spent on the text it had missed: a cost paid once."""
        resuming, self._resuming = self._resuming, False
        if resuming and self._usual_draft_s is not None:
            return max(0.0, step.draft_s - self._usual_draft_s * len(step.draft_tokens))
        if step.draft_tokens:
            self._usual_draft_s = step.draft_s / len(step.draft_tokens)
        return 0.0

    def _learn_plain(self, seconds: float) -> None:
        past = seconds if self._plain_s is None else self._plain_s
        self._plain_s = _KEEP * past + (1.0 - _KEEP) * seconds

    def _judge(self, cost: float) -> None:
        """Switch drafting on or off, given what a window cost per token in units of plain decoding's cost."""
        if cost <= 1.0 - _MARGIN or (cost <= 1.0 + _MARGIN and not self._probing):
            self._probing = False
            return
        self._pause = min(_LONGEST_PAUSE, 2 * self._pause) if self._probing else _FIRST_PAUSE
        self._plain_steps_left, self._probing = self._pause, True


class Memory:
    """What the requests of a pair have found, for those that begin later.

    Requests that run side by side judge for themselves; whoever observes a step says how things stand.
    """

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._seeds: set[int] = set()  # of all coins that may have had a part in it

    def recall(self, seed: int | None) -> dict[str, Any]:
        """Return what to begin with: nothing if it may come of the coins of this seed, which are yet to decide a text.

        A draft that is made where the coins will accept it, and not where they will reject it, bends the law.
        """
        return {} if seed in self._seeds else self._found

    def keep(self, found: dict[str, Any], seed: int) -> None:
        """Take in what a request has found."""
        self._seeds.add(seed)
        self._found = found


_REMEMBERED = ("_plain_s", "_plain_steps_left", "_pause", "_probing", "_resuming", "_usual_draft_s", "_window")
_process: dict[tuple[str, str], Memory] = {}
_sessions: weakref.WeakKeyDictionary[object, dict[tuple[str, str], Memory]] = weakref.WeakKeyDictionary()


def recall_fallback(
    scope: str, policy: GammaPolicy, pair: tuple[str, str], session: object, seed: int = 0, *, bends: bool = True
) -> Fallback:
    """Return a request's fallback with ``policy`` in it, which remembers the pair as far as ``scope`` says.

    Parameters
    ----------
    scope : {"request", "session", "process"}
        Remember nothing; as long as the object ``session`` lives; as long as the process does.
    policy : GammaPolicy
    pair : tuple of str
        Names of target and draft: what one draft cost says nothing about another.
    session : object
        Usually the loaded target.
    seed, bends
        See :class:`Fallback`.

    Raises
    ------
    OptionError
        If the scope is unknown.
    """
    if scope not in SCOPES:
        raise OptionError(f"fallback is {scope!r}; it must be one of {', '.join(SCOPES)}. Try --fallback request")
    if scope == "request":
        return Fallback(policy)
    memories = _process if scope == "process" else _sessions.setdefault(session, {})
    return Fallback(policy, memories.setdefault(pair, Memory()), seed, bends=bends)
