"""A draft that is silently broken: the text stays right, only nothing of the draft is accepted, and nobody is told.

Two signs, each only where chance does not make it: hardly anything is accepted, or far less than the draft's own
confidence promises. q is the chance that a draft gave the token it drew. One that knows its target is
accepted at least about as often as it is sure of itself; one of another model is as sure, and wrong.

Acceptance that is *too good* says nothing: a rule that lets everything pass has the best figures of all. ``--audit``
and the laws are for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from minispec.engine.generation.events import Drafted, Emitted, Event
from minispec.theory import alpha_from_counts

NEAR_ZERO = 0.1
"""An α below which no draft pays that costs anything."""
FAR_BELOW = 0.3
"""Acceptance over promised confidence."""
_SURE = 0.999
_FADE_FROM = 4000

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

    @property
    def most(self) -> float:
        """The largest α that the counts do not refute (Wilson's interval of 99.9 %); 1 without any."""
        return alpha_from_counts(self.accepted, self.judged, confidence=_SURE).high if self.judged else 1.0

    def fade(self) -> None:
        """Halve what is known once there is much of it, so that a draft that breaks later is seen."""
        if self.judged > _FADE_FROM:
            self.judged, self.accepted = self.judged // 2, self.accepted // 2
            self.promised, self.num_promised = self.promised / 2, self.num_promised // 2

    def see(self, drafted: Drafted, emitted: Emitted) -> None:
        """Count a step by its events.

        A tree promises nothing: of its siblings one at most can stand.
        """
        accepted = emitted.sources.count("accepted")
        judged = accepted + emitted.sources.count("recovered")
        self.judged += judged
        self.accepted += accepted
        if drafted.parents is None:
            known = [q for q in drafted.probs[:judged] if q < 1.0]
            self.promised += sum(known)
            self.num_promised += len(known)

    def read(self, events: Iterable[Event]) -> None:
        """Count the steps of a whole run."""
        drafted: Drafted | None = None
        for event in events:
            if isinstance(event, Drafted):
                drafted = event
            elif isinstance(event, Emitted) and drafted is not None:
                self.see(drafted, event)
                drafted = None

    @property
    def warning(self) -> str | None:
        """One line on what is wrong and what usually causes it; None where nothing is, or too little is known.

        Examples
        --------
        >>> Watch(judged=1000, accepted=10).warning[:72]
        '10 of 1000 judged draft tokens were accepted (1.0 %): the draft is of no'
        >>> Watch(judged=1000, accepted=100, promised=600.0, num_promised=1000).warning[46:83]
        '(10.0 %), and the draft was 60 % sure'
        >>> Watch(judged=1000, accepted=600).warning
        """
        if not self.judged:
            return None
        rate, most = self.accepted / self.judged, self.most
        said = f"{self.accepted} of {self.judged} judged draft tokens were accepted ({100 * rate:.1f} %)"
        if most < NEAR_ZERO:
            return f"{said}: the draft is of no use. Usual causes: {CAUSES}"
        if 2 * self.num_promised > self.judged and most < FAR_BELOW * self.promised / self.num_promised:
            sure = 100 * self.promised / self.num_promised
            return f"{said}, and the draft was {sure:.0f} % sure of them. Usual causes: {CAUSES}"
        return None
