"""The engine: many runs of the one loop, whose asks are answered together.

Nothing that a request emits depends on its company. Its noise has addresses of its own, the loop is the one that runs
alone, and rows of a forward do not see one another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Unpack

from minispec.engine.backends import BACKENDS
from minispec.engine.backends.formats import AUTO
from minispec.engine.batching.batch import Batch, Watch
from minispec.engine.batching.defaults import settle
from minispec.engine.batching.member import require_unshared
from minispec.engine.batching.models import Occupancy, SharedModels, count_request
from minispec.engine.batching.scheduler import Scheduler
from minispec.engine.drafters import Drafter
from minispec.engine.generation.api import open_stream
from minispec.engine.generation.events import Event
from minispec.engine.generation.options import RequestOptions, with_options
from minispec.engine.generation.prepare import Named, read_draft
from minispec.engine.generation.result import Generation
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model.cache import PAGE_SIZE
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.noise import Noise
from minispec.errors import OptionError


class Engine:
    """Decodes requests together: add them at any time, and call :meth:`step`, or iterate over what happens.

    Parameters
    ----------
    target : str, path or model
        A folder, a bundled name, a hub name, or a loaded model.
    backend, dtype, draft_dtype, kv_dtype : str
        For models given by name; ``draft_dtype`` is ``dtype`` unless given.
    max_running : int
        Requests that run at the same time; others wait.
    kv_memory : int, optional
        Bytes for keys and values of the target; by default enough for ``max_running`` whole contexts. Draft models and
        heads have as many pages (by default, room for a context of their own at least), which come on top.
    page_size : int
        Slots per page. With ``n_positions`` of them, each request has its whole context set aside.
    max_rows : int
        Rows of a forward beyond which no second prompt joins it.
    clock : callable
        Seconds.

    Raises
    ------
    InputError
        If a model or an option cannot be used, or the memory holds no page.

    Examples
    --------
    >>> from minispec.engine.model.toy import TableModel
    >>> engine = Engine(TableModel(4))
    >>> first = engine.add([0], draft=TableModel(4, seed=1), max_tokens=3)
    >>> second = engine.add([1, 2], draft=None, max_tokens=2)
    >>> [len(generation.token_ids) for generation in engine.run()]
    [3, 2]
    """

    def __init__(
        self,
        target: Named | LanguageModel = DEFAULT_TARGET,
        *,
        backend: str = BACKENDS[0],
        dtype: str = AUTO,
        draft_dtype: str | None = None,
        kv_dtype: str = AUTO,
        max_running: int = 16,
        kv_memory: int | None = None,
        page_size: int = PAGE_SIZE,
        max_rows: int = 256,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._scheduler = Scheduler(max_running, max_rows)
        formats = dtype, draft_dtype, kv_dtype
        self.models = SharedModels(  # those of all requests, and their pages
            target, backend, *formats, num_texts=max_running, kv_memory=kv_memory, page_size=page_size
        )
        self.target = self.models.target
        self._batch = Batch(self.models, self._scheduler, clock)
        self.load = self._batch.load  # what forwards cost now, and what speculation brings
        self._handed_out: tuple[int, Event] | None = None

    @with_options
    def add(
        self,
        prompt: str | Sequence[int],
        *,
        draft: Named | LanguageModel | Drafter | None = DEFAULT_DRAFT,
        noise: Noise | None = None,
        **options: Unpack[RequestOptions],
    ) -> int:
        """Add a request and return its number.

        Parameters
        ----------
        prompt : str or sequence of int
        draft : str, path, model, Drafter or None
            See :func:`minispec.stream`. Requests share a model that they name; a drafter or a policy object serves one.
        noise : Noise, optional
            By default Philox noise with ``seed``.
        **options
            See :class:`minispec.engine.generation.options.Options`. Here ``gamma`` may also be ``"load"`` or
            ``"budget"``. Left out with ``verify`` it is ``"load"``, by a rule that keeps the text of plain decoding:
            :mod:`minispec.engine.batching.defaults`.

        Raises
        ------
        InputError
            If the request cannot be served, by its options or because it needs more pages than there are.
        """
        require_unshared(self._batch.members.values(), draft=draft, gamma=options.get("gamma"))
        draft = read_draft(draft)
        settings = settle(options, draft, self._batch.load, batch_invariant=self.target.batch_invariant)
        found = self.models.find_draft(draft, settings)
        row = self._batch.num_added + 1  # 0 is the noise of those whose texts are their seeds'
        stream = open_stream(prompt, self.target, found, settings, load=self.models.load, noise=noise, row=row)
        slots = count_request(stream, settings.max_tokens)
        self.models.require_room(stream, slots)
        return self._batch.add(stream, min(self.target.n_positions, slots.target))

    def cancel(self, number: int) -> Generation:
        """End a request where it is, and return what it has generated.

        Raises
        ------
        OptionError
            If no request of this number is waiting or running.
        """
        return self._batch.cancel(number)

    def generation(self, number: int) -> Generation:
        """Return what a request has generated so far.

        Raises
        ------
        OptionError
            If there is none of this number, or it was forgotten.
        """
        ended = self._batch.ended
        return ended[number] if number in ended else self._batch.find(number).stream.generation

    def forget(self, number: int) -> None:
        """Drop what is kept of a request that has ended; an engine that runs for days would keep every text.

        Raises
        ------
        OptionError
            If no request of this number has ended, or it was forgotten before.
        """
        if self._batch.ended.pop(number, None) is None:
            raise OptionError(f"request {number} is none that has ended. Forget each once, when its last event came")

    @property
    def blamed(self) -> int | None:
        """The request that is to blame if the last step raised (sampling, drafter, memory); the others lost nothing."""
        return self._batch.blamed

    @property
    def num_forwards(self) -> int:
        """Forwards of the target as a whole."""
        return self._batch.num_forwards

    @property
    def num_rows(self) -> int:
        """Tokens fed in them."""
        return self._batch.num_rows

    @property
    def is_idle(self) -> bool:
        """Whether every request has ended, and all that happened was told."""
        return not self._batch.members and not self._batch.told

    @property
    def waiting(self) -> tuple[int, ...]:
        """Requests that wait for a place, the oldest first."""
        return tuple(self._scheduler.waiting)

    @property
    def running(self) -> tuple[int, ...]:
        """Requests that have a place, the oldest first."""
        return tuple(self._scheduler.running)

    def pages(self, number: int) -> tuple[int, ...]:
        """Return the target's pages that hold a request's text, in the order of the text."""
        return self._batch.find(number).pages

    def num_cached(self, number: int) -> int:
        """Return how many tokens of a request's prompt the target did not read, as another text begins like it."""
        return self._batch.find(number).stream.target.num_adopted

    @property
    def num_preemptions(self) -> int:
        """How often a request had to make room for others."""
        return self._scheduler.num_preemptions

    @property
    def occupancy(self) -> Occupancy:
        """How full the target's pages are."""
        return self._batch.occupancy

    def __iter__(self) -> Engine:
        return self

    def __next__(self) -> tuple[int, Event]:
        """Return what has happened next, and to which request; stop when all have ended."""
        self._forget_handed_out()
        told = self._batch.told
        try:
            while not told:
                if not self._batch.members:
                    raise StopIteration
                self._batch.step()
            self._handed_out = told[0]
            return self._handed_out
        except BaseException:
            self._handed_out = None  # nothing was: it comes again
            raise

    def run(self) -> list[Generation]:
        """Run until all requests have ended; return their results in the order of their numbers."""
        for _ in self:
            pass
        return [self._batch.ended[number] for number in sorted(self._batch.ended)]

    def step(self, watch: Watch | None = None) -> list[tuple[int, Event]]:
        """Take one step with every request that decodes, and feed prompts beside.

        An interruption (Ctrl-C) loses nothing: every run is set back to what it has committed, and goes on next time.

        Parameters
        ----------
        watch : callable, optional
            Is told of each event when it happens, of a draft before the target judges it.

        Returns
        -------
        list of (int, Event)
            What has happened, and to which request.
        """
        self._forget_handed_out()
        self._batch.step(watch)
        return self._batch.take_told()

    def _forget_handed_out(self) -> None:
        """Drop what iterating has handed out: the consumer has come back for the next."""
        told = self._batch.told
        if told and told[0] is self._handed_out:
            del told[0]
