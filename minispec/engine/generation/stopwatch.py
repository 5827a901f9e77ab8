"""The seconds of a step, without the time that the consumer takes between two events."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Times one step after the other: its drafting, its last forward (which is the target's), and all of it.

    Parameters
    ----------
    clock : callable
        Seconds.

    Attributes
    ----------
    draft_s, target_s, step_s : float
        The seconds of the present step so far.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self.draft_s = self.target_s = self.step_s = 0.0
        self.resume()

    def resume(self) -> None:
        """Go on after a pause."""
        self._since = self._clock()

    def note_draft(self) -> None:
        """Note that the draft is finished, and pause."""
        self.draft_s = self._clock() - self._since

    def note_forward(self) -> None:
        """Note that a forward has finished."""
        self.target_s = self._clock() - self._since

    def stop(self) -> None:
        """End the step."""
        self.step_s = self.draft_s + self._clock() - self._since
