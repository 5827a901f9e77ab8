"""A target and its draft, loaded once by a command and started as often as it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from minispec.cli.kernels import prepare
from minispec.drafters.spec import MODEL, parse_draft
from minispec.generation import Options, Stream, stream
from minispec.generation.api import check_together
from minispec.loading import load_model
from minispec.model import GPT2
from minispec.verifiers import get_verifier


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
        backend, dtype, draft_dtype = rest.pop("backend"), rest.pop("dtype"), rest.pop("draft_dtype")
        checked = Options(**rest)  # a nonsense flag is refused before anything is loaded
        draft_model: GPT2 | str | None = None
        spec = None if draft == "none" else parse_draft(draft)
        if spec is not None:
            check_together(spec, get_verifier(checked.verify), checked)
        with notes.status("loading models …"):
            target_model = load_model(target, backend, dtype)
            if spec is not None:
                is_model = spec.kind == MODEL and not spec.options["translate"]
                draft_model = load_model(spec.name, backend, draft_dtype or dtype) if is_model else draft
        prepare([target_model, draft_model], notes)
        rest |= {"backend": backend, "dtype": dtype, "draft_dtype": draft_dtype}
        return cls(target_model, draft_model, rest)

    @property
    def speculates(self) -> bool:
        """Whether anything drafts."""
        return self.draft is not None

    def start(self, prompt: str, *, plain: bool = False) -> Stream:
        """Start a generation with fresh caches, plainly if asked to."""
        return stream(prompt, target=self.target, draft=None if plain else self.draft, **self.options)
