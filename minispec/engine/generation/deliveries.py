"""Beside stop 13: what of a run has reached its reader."""

from __future__ import annotations

from minispec.engine.generation.events import Emitted, Event, Finished, Verified


class Deliveries:
    """Which events were delivered: handed out to a reader that has come back for the next.

    Attributes
    ----------
    last : Event or None
        What was handed out last.
    num_verified, num_emitted : int
        Steps whose Verified, whose Emitted event was delivered.
    finished : bool
        Whether the last event of the run was.
    """

    def __init__(self) -> None:
        self.last: Event | None = None
        self.num_verified = self.num_emitted = 0
        self.finished = False

    def note(self) -> None:
        """Count the last event as delivered: its reader has come back. To do so again changes nothing."""
        match self.last:
            case Verified(step=step):
                self.num_verified = step + 1
            case Emitted(step=step):
                self.num_emitted = step + 1
            case Finished():
                self.finished = True
