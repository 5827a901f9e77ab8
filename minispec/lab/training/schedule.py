"""The learning rate: warm up, stay flat, fall linearly; and move the end when the clock says so.

A run may have to end at a given time on a machine whose speed varies. Because the fall is linear *from wherever the
rate is now*, the end can be moved at any step without a jump, and a run cut short still finishes with a rate near zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Schedule:
    """Share of the peak learning rate at each step.

    Attributes
    ----------
    warmup, decay_from, end : int
        Steps of linear warm-up; the step the fall begins; the number of steps in all.
    flat_share : float
        Where the fall begins, as a share of `end`, whenever `end` moves before it began.
    level, final : float
        Share of the peak where the fall begins, and where it ends.
    """

    warmup: int
    decay_from: int
    end: int
    flat_share: float
    level: float = 1.0
    final: float = 0.02

    def scale(self, step: int) -> float:
        """Return the share of the peak learning rate that `step` uses."""
        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        if step < self.decay_from:
            return warm * self.level
        left = (self.end - step) / max(1, self.end - self.decay_from)
        return warm * (self.final + (self.level - self.final) * max(0.0, left))

    def move_end(self, step: int, end: int) -> Schedule:
        """Return the schedule with another end, continuous at `step`."""
        end = max(end, step + 1)
        decay_from = int(self.flat_share * end)
        if step < self.decay_from:
            return replace(self, decay_from=max(step, decay_from), end=end)
        # already falling (warm-up is over by then): fall on from here
        return replace(self, decay_from=step, level=self.scale(step), end=end)


def new_schedule(steps: int, warmup: int, flat_share: float) -> Schedule:
    """Return the schedule of a fresh run of `steps` steps."""
    return Schedule(min(warmup, steps // 4), int(flat_share * steps), steps, flat_share)
