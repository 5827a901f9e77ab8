"""A draft that is silently broken: the text stays right, only nothing of the draft is accepted, and nobody is told.

Two signs, each over enough tokens that chance does not make them: hardly anything is accepted, or far less than the
draft's own confidence promises. q is the chance that a draft gave the token it drew. One that knows its target is
accepted about as often as it is sure of itself; one of another model is as sure, and wrong.

Acceptance that is *too good* says nothing: a rule that lets everything pass has the best figures of all. ``--audit``
and the laws are for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minispec.engine.generation.events import Drafted, Emitted, Event
from minispec.engine.records import Step

ENOUGH = 400
"""Judged tokens before anything is said: at an α of 0.1, 5 % or less is seen once in 5,000 runs."""
NEAR_ZERO = 0.05
FAR_BELOW = 0.25
"""Acceptance over promised confidence."""

CAUSES = (
    "another tokenizer, a draft or head trained for another model, another chat format, a temperature that the draft "
    "does not know; of a lookup, text that does not repeat itself"
)


@dataclass
class Watch:
    """Counts of one target, draft and arm, as they come.

    Attributes
    ----------
    judged, accepted : int
        Draft tokens that the target judged, and those that stand.
    promised, num_promised : float, int
        Sum of q over the judged tokens that a draft was not simply certain of (a lookup and a greedy draft have q = 1,
        which is no confidence), and their number.
    """

    judged: int = 0
    accepted: int = 0
    promised: float = 0.0
    num_promised: int = 0

    def add(self, steps: Sequence[Step]) -> None:
        """Count the steps of a run."""
        self.judged += sum(step.num_evaluated for step in steps)
        self.accepted += sum(step.num_accepted for step in steps)

    def promise(self, events: Sequence[Event]) -> None:
        """Count what the drafts of a run's events were sure of; those of trees promise nothing."""
        drafted: Drafted | None = None
        for event in events:
            if isinstance(event, Drafted):
                drafted = event
            elif isinstance(event, Emitted) and drafted is not None and drafted.parents is None:
                judged = sum(source in ("accepted", "recovered") for source in event.sources)
                known = [q for q in drafted.probs[:judged] if q < 1.0]
                self.promised += sum(known)
                self.num_promised += len(known)
                drafted = None

    @property
    def warning(self) -> str | None:
        """One line on what is wrong and what usually causes it; None where nothing is, or too little is known.

        Examples
        --------
        >>> Watch(judged=1000, accepted=10).warning[:72]
        '10 of 1000 judged draft tokens were accepted (1.0 %): the draft is of no'
        >>> Watch(judged=1000, accepted=100, promised=600.0, num_promised=1000).warning[:66]
        '100 of 1000 judged draft tokens were accepted (10.0 %), and the dr'
        >>> Watch(judged=1000, accepted=600).warning
        """
        if self.judged < ENOUGH:
            return None
        rate = self.accepted / self.judged
        said = f"{self.accepted} of {self.judged} judged draft tokens were accepted ({100 * rate:.1f} %)"
        if rate <= NEAR_ZERO:
            return f"{said}: the draft is of no use. Usual causes: {CAUSES}"
        if self.num_promised >= ENOUGH and rate < FAR_BELOW * self.promised / self.num_promised:
            sure = 100 * self.promised / self.num_promised
            return f"{said}, and the draft was {sure:.0f} % sure of them. Usual causes: {CAUSES}"
        return None
