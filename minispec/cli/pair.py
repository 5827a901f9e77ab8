"""A target and its draft, loaded once by a command and started as often as it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rich.console import Console

from minispec.engine.drafters import load_draft
from minispec.engine.generation import Options, Stream, stream
from minispec.engine.generation.prepare import check_together
from minispec.engine.generation.ready import make_ready
from minispec.engine.loading import load_model
from minispec.engine.model import GPT2


@dataclass(frozen=True)
class Pair:
    """What a command's options name, ready to run.

    Parameters
    ----------
    target : GPT2
    draft : GPT2, str or None
        A loaded draft model; a kind of draft that is built for each run; or none.
    options : mapping
        The rest of the options.
    """

    target: GPT2
    draft: GPT2 | str | None
    options: Mapping[str, Any]

    @classmethod
    def load(cls, options: Mapping[str, Any], notes: Console, *, logprobs: bool = False) -> Pair:
        """Check the options, load the models and compile what is not compiled yet, saying so on ``notes``."""
        rest = {**options, "logprobs": logprobs}
        target, draft = rest.pop("target"), rest.pop("draft")
        backend, dtype, draft_dtype, kv_dtype = (
            rest.pop(name) for name in ("backend", "dtype", "draft_dtype", "kv_dtype")
        )
        checked = Options(**rest)  # a nonsense flag is refused before anything is loaded
        if draft != "none":
            check_together(draft, checked)
        with notes.status("loading models …"):
            target_model = load_model(target, backend, dtype, kv_dtype)
            drafting = None
            if draft != "none":
                drafting = load_draft(draft, lambda name: load_model(name, backend, draft_dtype or dtype, kv_dtype))
        draft_model = cast("GPT2 | str | None", drafting)
        make_ready([target_model, draft_model], notes)
        rest |= {"backend": backend, "dtype": dtype, "draft_dtype": draft_dtype, "kv_dtype": kv_dtype}
        return cls(target_model, draft_model, rest)

    @property
    def speculates(self) -> bool:
        """Whether anything drafts."""
        return self.draft is not None

    def start(self, prompt: str, *, plain: bool = False) -> Stream:
        """Start a generation with fresh caches, plainly if asked to."""
        return stream(prompt, target=self.target, draft=None if plain else self.draft, **self.options)
