"""Beside stop 13: a run is read as an iterator of events, to be left at any moment and taken up again."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from minispec.engine.backends.base import Array
from minispec.engine.generation.events import Event, Finished
from minispec.engine.generation.result import Generation
from minispec.engine.generation.run import Run
from minispec.engine.model.asks import Ask


class Stream(Run):
    """Iterate over it for events; leave the loop whenever you like, and iterate again to go on.

    Leaving (``break``, an exception, Ctrl-C, a notebook's stop button) loses nothing: what was committed stays, the
    caches are set back to it, and events that were due but not delivered come first when iteration resumes. A step
    that was interrupted is done again with the same noise, so the text is the same as without the interruption.

    The parameters are those of :class:`minispec.engine.generation.run.Run`.
    """

    _work: Generator[Ask | Event, Array | None, None] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        last = self._deliveries.last  # its reader has come back, so it was delivered
        try:
            happened = self.advance()
            while isinstance(happened, Ask):
                happened = self.advance(happened.answer())
            return happened
        except StopIteration:  # the end of the run, which nothing has interrupted
            raise
        except BaseException:
            self.close(delivered=self._deliveries.last is last)  # the next call starts a new generator
            raise

    def advance(self, logits: Array | None = None) -> Ask | Event:
        """Go on to the next event, or to the next logits that the run needs.

        Whoever calls this instead of iterating answers the asks: with a forward for each, or with one for many runs.

        Parameters
        ----------
        logits : ndarray, optional
            The answer to the ask that came last; without one, the run goes on from an event, or begins.
        """
        self._deliveries.note()
        if self._deliveries.finished:
            raise StopIteration
        if self._work is None:
            self._work = self.drive()
        happened = next(self._work) if logits is None else self._work.send(logits)
        if isinstance(happened, Finished):
            self._work = None  # suspended, it would hold this object in a cycle, and with it both caches
        self._deliveries.last = None if isinstance(happened, Ask) else happened
        return happened

    def close(self, *, delivered: bool = True) -> None:
        """Leave the run and set the caches back to the committed tokens; iterating again goes on from there.

        Parameters
        ----------
        delivered : bool
            Whether the last event reached its reader; if it did not, it comes again.
        """
        if not delivered:
            self._deliveries.last = None
        self._work = None
        self._set_back()

    @property
    def last_event(self) -> Event | None:
        """The event that was handed out last, until the next call asks for another."""
        return self._deliveries.last

    def run(self) -> Generation:
        """Run to the end and return the result."""
        for _ in self:
            pass
        return self.generation
