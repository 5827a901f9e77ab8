"""What a policy is taught: each committed step once, whatever interrupts the run or the policy itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minispec.engine.control.fallback import Fallback
from minispec.engine.control.gamma import GammaPolicy
from minispec.engine.records import Step


class _Mark(NamedTuple):
    """Where a policy stood: the step that is next, whether it was being observed, and the policy's attributes."""

    next_step: int
    observing: bool
    attributes: list[dict[str, Any]]


class Learner:
    """Lets a policy observe the steps of one run.

    Its attributes are kept before and behind each observation. An interruption may fall anywhere: half an observation
    is undone and made again, and so is what the policy has noted of a draft that came to nothing.

    Parameters
    ----------
    policy : GammaPolicy
    """

    def __init__(self, policy: GammaPolicy) -> None:
        self._parts = list_policies(policy)
        self._mark: _Mark | None = None  # replaced as a whole, so that no interruption finds half of it

    def learn(self, steps: Sequence[Step]) -> None:
        """Let the policy observe the committed steps that it has not observed; the first was none of its."""
        number = 0 if self._mark is None else self._mark.next_step
        for step in steps[number:]:
            self._mark = _Mark(step.index, True, self._copy_attributes())
            if step.index:
                self._parts[0].observe(step)
            self._mark = _Mark(step.index + 1, False, self._copy_attributes())

    def set_back(self, steps: Sequence[Step]) -> None:
        """Undo what an interruption has left half done; :meth:`learn` then makes the policy agree with these steps.

        Nothing is observed here: a policy that raises must not keep its run from being left.
        """
        if self._mark is None:
            self._mark = _Mark(0, False, self._copy_attributes())
        elif self._mark.observing or self._mark.next_step == len(steps):
            # Else a step was committed whose draft the policy knows: that is what it learns from.
            for part, attributes in zip(self._parts, self._mark.attributes, strict=True):
                if attributes:
                    object.__setattr__(part, "__dict__", _copy(attributes))

    def _copy_attributes(self) -> list[dict[str, Any]]:
        return [_copy(getattr(part, "__dict__", {})) for part in self._parts]


def list_policies(policy: GammaPolicy) -> list[GammaPolicy]:
    """Return a policy and, behind a fallback, the one in it."""
    return [policy, *list_policies(policy.policy)] if isinstance(policy, Fallback) else [policy]


def _copy(attributes: dict[str, Any]) -> dict[str, Any]:
    """Copy attributes and what can be changed in them; what lies deeper must be replaced, not changed."""
    return {name: value.copy() if isinstance(value, (list, dict, set)) else value for name, value in attributes.items()}
