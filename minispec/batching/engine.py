"""The engine: many runs of the one loop, whose asks are answered together.

A step of the engine is a step of every request that decodes. Drafts grow first, token by token, with one forward of a
draft model for all who ask it. Then the target answers everyone with one forward: each has a draft, an acceptance and
a length of its own. Requests join and leave between steps (Yu et al. 2022, "Orca").

Nothing that a request emits depends on its company. Its noise has addresses of its own, the loop is the one that runs
alone, and rows of a forward do not see one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from minispec.backends import BACKENDS
from minispec.backends.base import Array
from minispec.backends.formats import AUTO
from minispec.batching.scheduler import Scheduler
from minispec.drafters import Drafter
from minispec.drafters.build import load_draft
from minispec.drafters.layerskip import AskLayers
from minispec.errors import OptionError
from minispec.generation.api import open_stream
from minispec.generation.events import Event, Finished, Prefilled
from minispec.generation.options import Options
from minispec.generation.prepare import check_together, find_setting
from minispec.generation.result import Generation
from minispec.generation.stream import Stream
from minispec.loading import load_model
from minispec.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.model.language_model import LanguageModel
from minispec.model.paged import PAGE_SIZE, OutOfPagesError, PagedModel
from minispec.model.session import Ask, Session, count_shared
from minispec.model.together import answer_together
from minispec.noise import Noise


@dataclass
class _Run:
    """A request: its stream, and the logits that it waits for while it runs."""

    number: int
    stream: Stream
    ask: Ask | None = None

    @property
    def sessions(self) -> list[Session]:
        """The sessions whose caches hold its text."""
        drafts: Session | None = getattr(self.stream.drafter, "session", None)
        return [self.stream.target] if drafts is None else [self.stream.target, drafts]

    @property
    def prefills(self) -> bool:
        """Whether it waits for a chunk of its prompt to be fed."""
        return self.ask is not None and self.ask.num_logits == 0

    @property
    def verifies(self) -> bool:
        """Whether it waits for the target as a whole."""
        return self.ask is not None and self.ask.session is self.stream.target and not isinstance(self.ask, AskLayers)


class Engine:
    """Decodes requests together: add them at any time, and call :meth:`step`, or iterate over what happens.

    Parameters
    ----------
    target : str or model
        A folder, a bundled name, a hub name, or a loaded model.
    backend, dtype, draft_dtype : str
        For models given by name; ``draft_dtype`` is ``dtype`` unless given.
    max_running : int
        Requests that run at the same time; others wait.
    kv_memory : int, optional
        Bytes for keys and values of the target; by default enough for ``max_running`` whole contexts. Draft models have
        as many pages, which come on top.
    page_size : int
        Slots per page. With ``n_positions`` of them, each request has its whole context set aside.
    max_rows : int
        Rows of a forward beyond which no second prompt joins it.

    Attributes
    ----------
    num_forwards, num_rows : int
        Forwards of the target as a whole, and the tokens fed in them.

    Raises
    ------
    InputError
        If a model or an option cannot be used, or the memory holds no page.

    Examples
    --------
    >>> from minispec.model.toy import TableModel
    >>> engine = Engine(TableModel(4))
    >>> first = engine.add([0], draft=TableModel(4, seed=1), max_tokens=3)
    >>> second = engine.add([1, 2], draft=None, max_tokens=2)
    >>> [len(generation.token_ids) for generation in engine.run()]
    [3, 2]
    """

    def __init__(
        self,
        target: str | LanguageModel = DEFAULT_TARGET,
        *,
        backend: str = BACKENDS[0],
        dtype: str = AUTO,
        draft_dtype: str | None = None,
        max_running: int = 16,
        kv_memory: int | None = None,
        page_size: int = PAGE_SIZE,
        max_rows: int = 256,
    ) -> None:
        for name, count in (("max_running", max_running), ("page_size", page_size), ("max_rows", max_rows)):
            if count < 1:
                raise OptionError(f"{name} is {count}; it must be at least 1")
        model = load_model(target, backend, dtype) if isinstance(target, str) else target
        self._load_settings = find_setting(model, "backend", backend), draft_dtype or dtype
        self._page_size = min(page_size, model.n_positions)
        self._num_pages = max_running * self._count_pages(model.n_positions)
        if kv_memory is not None:
            self._num_pages = self._count_affordable(model, kv_memory)
        self._shared: dict[str | LanguageModel, PagedModel] = {}  # by the name or the model that a caller gives
        self.target = self._share(model)
        self._scheduler = Scheduler(max_running, max_rows)
        self._runs: dict[int, _Run] = {}
        self._ended: dict[int, Generation] = {}
        self._told: list[tuple[int, Event]] = []
        self._handed_out: tuple[int, Event] | None = None
        self._num_added = 0
        self.num_forwards = 0
        self.num_rows = 0

    def add(
        self,
        prompt: str | Sequence[int],
        *,
        draft: str | LanguageModel | Drafter | None = DEFAULT_DRAFT,
        noise: Noise | None = None,
        stop: str | Sequence[str] = (),
        **options: Any,
    ) -> int:
        """Add a request and return its number.

        Parameters
        ----------
        prompt : str or sequence of int
        draft : str, model, Drafter or None
            See :func:`minispec.stream`. Requests that name the same model share it; a drafter serves one request.
        noise : Noise, optional
        stop : str or sequence of str
        **options
            See :class:`minispec.generation.options.Options`.

        Raises
        ------
        InputError
            If the request cannot be served, by its options or because it needs more pages than there are.
        """
        settings = Options(stop=(stop,) if isinstance(stop, str) else tuple(stop), **options)
        if isinstance(draft, str):
            check_together(draft, settings)
            draft = load_draft(draft, self._load)
        if hasattr(draft, "paged"):
            draft = self._share(cast("LanguageModel", draft))
        stream = open_stream(prompt, self.target, draft, settings, load=self._load, noise=noise)
        needed = self._count_pages(min(self.target.n_positions, len(stream.tokens) + settings.max_tokens))
        if needed > self._num_pages:
            raise OptionError(
                f"the request may need {needed} pages of {self._page_size} slots, and the memory for keys and values "
                f"holds {self._num_pages}. Give it more, or ask for fewer tokens"
            )
        number, self._num_added = self._num_added, self._num_added + 1
        self._runs[number] = _Run(number, stream)
        self._scheduler.add(number)
        return number

    def cancel(self, number: int) -> Generation:
        """End a request where it is, and return what it has generated."""
        self._leave(self._runs[number])
        return self._end(self._runs[number])

    def generation(self, number: int) -> Generation:
        """Return what a request has generated so far."""
        return self._ended[number] if number in self._ended else self._runs[number].stream.generation

    @property
    def is_idle(self) -> bool:
        """Whether every request has ended, and all that happened was told."""
        return not self._runs and not self._told

    @property
    def num_preemptions(self) -> int:
        """How often a request had to make room for others."""
        return self._scheduler.num_preemptions

    def __iter__(self) -> Engine:
        return self

    def __next__(self) -> tuple[int, Event]:
        """Return what has happened next, and to which request; stop when all have ended."""
        if self._told and self._told[0] is self._handed_out:  # the consumer has come back for the next
            del self._told[0]
        try:
            while not self._told:
                if not self._runs:
                    raise StopIteration
                self._step()
            self._handed_out = self._told[0]
            return self._handed_out
        except BaseException:
            self._handed_out = None  # nothing was: it comes again
            raise

    def run(self) -> list[Generation]:
        """Run until all requests have ended; return their results in the order of their numbers."""
        for _ in self:
            pass
        return [self._ended[number] for number in sorted(self._ended)]

    def step(self) -> list[tuple[int, Event]]:
        """Take one step with every request that decodes, and feed prompts beside.

        An interruption (Ctrl-C) loses nothing: every run is set back to what it has committed, and goes on next time.

        Returns
        -------
        list of (int, Event)
            What has happened, and to which request.
        """
        self._step()
        told, self._told = self._told, []
        return told

    def _step(self) -> None:
        try:
            while self._scheduler.admit(self._fits) is not None:
                pass
            for number in list(self._scheduler.running):
                if self._runs[number].ask is None:
                    self._advance(self._runs[number])
            self._answer_all()
        except BaseException:
            for run in self._runs.values():
                self._leave(run)
            for model in self._shared.values():  # a page may have been taken and not yet noted
                if model.pool is not None:
                    model.pool.clear()
            raise

    def _answer_all(self) -> None:
        """Answer each run until it has taken a step, or a chunk of its prompt is fed."""
        asking = [run for run in self._runs.values() if run.ask is not None]
        prompts = [(run.number, len(run.ask.tokens)) for run in asking if run.ask is not None and run.prefills]
        chosen = self._scheduler.choose_prefills(prompts, len(asking) - len(prompts))
        active = [run for run in asking if not run.prefills or run.number in chosen]
        while drafting := [run for run in active if run.ask is not None and not run.verifies]:
            fed_prompt = [run for run in drafting if run.prefills]
            self._answer(drafting)
            active = [run for run in active if not (run in fed_prompt and run.prefills)]
        verifying = [run for run in active if run.ask is not None]
        if verifying:
            self.num_rows += self._answer(verifying)
            self.num_forwards += 1

    def _answer(self, runs: list[_Run]) -> int:
        """Answer what these runs ask, as far as memory allows; return how many tokens were fed."""
        answers: list[Array] = []
        while runs and not answers:
            try:
                answers = answer_together([run.ask for run in runs if run.ask is not None])
            except OutOfPagesError:
                victim = self._make_room()
                runs = [run for run in runs if run is not victim]
        num_tokens = sum(len(run.ask.tokens) for run in runs if run.ask is not None)
        for run, logits in zip(runs, answers, strict=True):
            self._advance(run, logits)
        return num_tokens

    def _make_room(self) -> _Run:
        """Take the pages of the youngest run; it will feed its text again."""
        running = self._scheduler.running
        if len(running) == 1:
            raise OptionError(
                f"request {running[0]} needs more than the {self._num_pages} pages of {self._page_size} slots that the "
                "memory for keys and values holds. Give it more, or ask for fewer tokens"
            )
        victim = self._runs[self._scheduler.preempt()]
        self._leave(victim)
        return victim

    def _advance(self, run: _Run, logits: Array | None = None) -> None:
        """Go on until the run waits for logits again, or ends; note what happens on the way."""
        run.ask = None
        while run.ask is None:
            try:
                happened = run.stream.advance(logits)
            except StopIteration:
                self._end(run)
                return
            logits = None
            if isinstance(happened, Ask):
                run.ask = happened
                return
            self._told.append((run.number, happened))
            if isinstance(happened, (Prefilled, Finished)):
                self._publish(run)
            if isinstance(happened, Finished):
                self._leave(run)

    def _end(self, run: _Run) -> Generation:
        self._ended[run.number] = run.stream.generation
        self._scheduler.remove(run.number)
        del self._runs[run.number]
        return self._ended[run.number]

    def _leave(self, run: _Run) -> None:
        """Set a run back to what it has committed, and give its pages back."""
        run.ask = None
        run.stream.close(delivered=any(event is run.stream.last_event for _, event in self._told))
        for session in run.sessions:
            session.rollback(0)

    def _publish(self, run: _Run) -> None:
        """Let others that begin alike share what the caches hold of the committed text."""
        committed = run.stream.tokens
        for session in run.sessions:
            session.cache.publish(committed[: count_shared(session.tokens, committed)])

    def _fits(self, number: int) -> bool:
        """Return whether the pages for a request's text are free, and one more if it is not alone."""
        pool = self.target.pool
        needed = self._count_pages(len(self._runs[number].stream.tokens)) + bool(self._scheduler.running)
        return pool is not None and pool.num_free >= min(needed, self._num_pages)

    def _count_pages(self, num_slots: int) -> int:
        return -(-num_slots // self._page_size)

    def _count_affordable(self, model: LanguageModel, kv_memory: int) -> int:
        cache = model.new_cache(capacity=self._page_size)
        page = int(cache.keys.nbytes + cache.values.nbytes)
        if kv_memory < page:
            raise OptionError(
                f"kv_memory is {kv_memory} bytes; one page of {self._page_size} slots of {model.name} takes {page}. "
                "Give it more"
            )
        return kv_memory // page

    def _share(self, model: LanguageModel) -> PagedModel:
        """Return a model whose caches share pages, the same for all who give this one."""
        if not hasattr(model, "paged"):
            raise OptionError(f"{model.name} has no pages; give a GPT-2 or a table")
        if model not in self._shared:
            self._shared[model] = cast("PagedModel", model).paged(self._num_pages, self._page_size)
        return self._shared[model]

    def _load(self, name: str) -> PagedModel:
        """Load a draft model, once for all requests."""
        if name not in self._shared:
            self._shared[name] = self._share(load_model(name, *self._load_settings))
        return self._shared[name]
