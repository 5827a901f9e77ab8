"""The seconds of a step; a consumer's own time between two events is in none of them."""

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
        Of the present step, as far as it has come.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self.draft_s = self.target_s = self.step_s = 0.0
        self.resume()

    def resume(self) -> None:
        """Go on after a pause, and remember this moment as the beginning of what follows."""
        self._since = self._clock()

    def note_draft(self) -> None:
        """Note that the draft is made, and pause."""
        self.draft_s = self._clock() - self._since

    def note_forward(self) -> None:
        """Note that a forward is through."""
        self.target_s = self._clock() - self._since

    def stop(self) -> None:
        """End the step."""
        self.step_s = self.draft_s + self._clock() - self._since
