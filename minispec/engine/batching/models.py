"""The models of an engine: each loaded once, the caches of each with pages in one memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple, cast

from minispec.engine.control.gamma import find_largest
from minispec.engine.control.registry import find_trace
from minispec.engine.drafters import Drafter
from minispec.engine.drafters.base import Slots, count_slots
from minispec.engine.drafters.build import load_draft
from minispec.engine.drafters.files import hash_files, model_files, named_files
from minispec.engine.drafters.heads.folder import compute_fingerprint
from minispec.engine.drafters.spec import MODEL, parse_draft
from minispec.engine.generation.options import Options, require_whole
from minispec.engine.generation.prepare import Named, check_together, find_setting, read_draft, read_target
from minispec.engine.generation.run import Stream
from minispec.engine.loading.kept import recall_model
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.paged import PagedCache, PagedModel
from minispec.engine.model.pages import PagePool
from minispec.engine.model.session import Session
from minispec.errors import OptionError

TARGET = "target"
"""The target's name among the fingerprints."""


class Occupancy(NamedTuple):
    """Slots of a target's pages: all, those of pages that somebody holds, and tokens in the caches of running texts.

    A token that two texts share counts twice.
    """

    num_slots: int
    num_held: int
    num_used: int


def count_request(stream: Stream, max_tokens: int) -> Slots:
    """Return the most slots that a new request fills at a time, in the caches of its target and of its drafter."""
    tokens = stream.tokens
    length = min(stream.target.model.n_positions, len(tokens) + max_tokens)
    gamma = min(find_largest(stream.policy), max(length - len(tokens) - 2, 0))  # none for the first token and the last
    return count_slots(stream.drafter, tokens, length, gamma)


class SharedModels:
    """A target and the draft models beside it, as many pages for each.

    Parameters
    ----------
    target : str or model
    backend, dtype, draft_dtype, kv_dtype : str
        For models given by name; ``draft_dtype`` is ``dtype`` unless given.
    num_texts : int
        Whole contexts that the pages hold, unless memory is limited.
    kv_memory : int, optional
        Bytes for the keys and values of the target.
    page_size : int
        Slots per page.

    Attributes
    ----------
    target : PagedModel
    page_size, num_pages : int

    Raises
    ------
    InputError
        If the target cannot be used, or the memory holds no page.
    """

    def __init__(
        self,
        target: Named | LanguageModel,
        backend: str,
        dtype: str,
        draft_dtype: str | None,
        kv_dtype: str,
        *,
        num_texts: int,
        kv_memory: int | None,
        page_size: int,
    ) -> None:
        require_whole("page-size", page_size, 1)
        if kv_memory is not None:
            require_whole("kv-memory", kv_memory, 1)
        named = read_target(target)
        model: LanguageModel = recall_model(named, backend, dtype, kv_dtype) if isinstance(named, str) else named
        self._load_settings = find_setting(model, "backend", backend), draft_dtype or dtype, kv_dtype
        self._shared: dict[str | LanguageModel, PagedModel] = {}  # by the name or the model that a caller gives
        self._drafts: set[str] = set()  # that requests have named
        self._lengths: set[str] = set()  # likewise, by gamma
        self.page_size = min(page_size, model.n_positions)
        self._is_limited = kv_memory is not None
        self.num_pages = num_texts * self.count_pages(model.n_positions)
        if kv_memory is not None:
            self.num_pages = self._count_affordable(model, kv_memory)
        self.target = self.share(model)

    @property
    def num_free(self) -> int:
        """Pages of the target that nobody holds."""
        return self.num_pages if self.target.pool is None else self.target.pool.num_free

    @property
    def num_slots(self) -> int:
        """Slots of the target's pages."""
        return self.num_pages * self.page_size

    @property
    def num_held_slots(self) -> int:
        """Slots of those that somebody holds."""
        return (self.num_pages - self.num_free) * self.page_size

    @property
    def all_free(self) -> bool:
        """Whether nobody holds a page of any model."""
        return all(model.pool is None or model.pool.all_free for model in self._shared.values())

    def share(self, model: LanguageModel) -> PagedModel:
        """Return a model whose caches share pages, the same for all who give this one.

        Raises
        ------
        OptionError
            If it has no pages.
        """
        if not hasattr(model, "with_pages"):
            raise OptionError(f"{model.name} has no pages; give a GPT-2 or a table")
        if model not in self._shared:
            self._shared[model] = self._give_pages(model)
        return self._shared[model]

    def _give_pages(self, model: LanguageModel) -> PagedModel:
        num_pages = self.num_pages if self._is_limited else max(self.num_pages, self.count_pages(model.n_positions))
        return cast("PagedModel", model).with_pages(num_pages, self.page_size)

    def find_draft(
        self, draft: Named | LanguageModel | Drafter | None, settings: Options
    ) -> str | LanguageModel | Drafter | None:
        """Return what a request names as its draft, models loaded and sharing pages."""
        found = read_draft(draft)
        if isinstance(found, str):
            check_together(found, settings)
            self._drafts.add(found)
            self._lengths |= {settings.gamma} if isinstance(settings.gamma, str) else set()
            return load_draft(found, self.load)
        return self.share(cast("LanguageModel", found)) if hasattr(found, "with_pages") else found

    def load(self, name: str) -> PagedModel:
        """Load a draft model, once for all requests, with pages of its own even if it is the target."""
        if name not in self._shared:
            self._shared[name] = self._give_pages(recall_model(name, *self._load_settings))
        return self._shared[name]

    @property
    def fingerprints(self) -> dict[str, str]:
        """What tells the target, and each model and file that a request has named, from others of that name.

        By the model's name, or by the draft or length that names files: a head, a text, a trace.
        """
        named = {name: model for name, model in self._shared.items() if isinstance(name, str)}
        models = {**named, TARGET: self.target}
        prints = {name: _hash_model(model) for name, model in models.items() if isinstance(model, GPT2)}
        return prints | {name: hash_files(paths) for name, paths in self._list_files().items() if paths}

    def _list_files(self) -> dict[str, list[Path]]:
        """Return the files that are read besides models, by the draft or the length that names them."""
        found = {gamma: [path] for gamma in self._lengths if (path := find_trace(gamma)) is not None}
        for draft in self._drafts:
            if (spec := parse_draft(draft)).kind != MODEL:
                found[draft] = [path for _, files in named_files(spec, self.target) for path in files]
        return found

    def count_pages(self, num_slots: int) -> int:
        """Return the pages of a text."""
        return -(-num_slots // self.page_size)

    def require_room(self, stream: Stream, slots: Slots) -> None:
        """Check that a request would fit if it were alone, with its target and with whatever drafts for it.

        Raises
        ------
        OptionError
            If it would not.
        """
        own: Session | None = getattr(stream.drafter, "session", None)
        caches = {"the request": (stream.target.cache, slots.target)}
        if own is not None:
            caches["drafting for the request"] = own.cache, slots.own
        needed: Counter[PagePool] = Counter()  # a draft may be the target itself, in whose pages both then lie
        for what, (cache, num_slots) in caches.items():
            if isinstance(cache, PagedCache):
                pool = cache.pool
                needed[pool] += -(-min(num_slots, cache.capacity) // pool.page_size)
                if needed[pool] > pool.num_pages:
                    raise OptionError(
                        f"{what} may need {needed[pool]} pages of {pool.page_size} slots, and the memory for keys and "
                        f"values holds {pool.num_pages}. Give it more, or ask for fewer tokens"
                    )

    def clear(self) -> None:
        """Take every page back, whoever held it."""
        for model in self._shared.values():
            if model.pool is not None:
                model.pool.clear()

    def _count_affordable(self, model: LanguageModel, kv_memory: int) -> int:
        cache = model.new_cache(capacity=self.page_size)
        page = int(cache.keys.nbytes + cache.values.nbytes)
        if kv_memory < page:
            raise OptionError(
                f"kv-memory is {kv_memory} bytes; one page of {self.page_size} slots of {model.name} takes {page}. "
                "Give it more"
            )
        return kv_memory // page


def _hash_model(model: GPT2) -> str:
    """Return a hash of a model's files; of one without files, what a head knows its target by."""
    return compute_fingerprint(model) if model.folder is None else hash_files(model_files(model.folder))
