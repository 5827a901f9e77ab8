"""From options to a server that is ready: models loaded, every draft tried once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from minispec.engine.backends.formats import AUTO
from minispec.engine.batching import Engine
from minispec.engine.batching.defaults import FOLLOWING
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.model import GPT2
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError
from minispec.serving.app import build_app
from minispec.serving.metrics import Metrics
from minispec.serving.rollout import Rollout
from minispec.serving.service import Service
from minispec.serving.settings import PLAIN, Settings, hide_folders, name_drafts
from minispec.serving.worker import Worker

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


def build_server(
    target: GPT2,
    name: str,
    drafts: Sequence[str],
    *,
    kv_memory: int | None = None,
    draft_dtype: str = AUTO,
    kv_dtype: str = AUTO,
    canary_log: Callable[[], SupportsWrite[str] | None] = lambda: None,
    say: Callable[[str], None] = lambda what: None,
    **limits: Any,
) -> tuple[FastAPI, Service]:
    """Build a server.

    Parameters
    ----------
    target : GPT2
    name : str
        What it was loaded by.
    drafts : sequence of str
        What requests may draft with; the first is the default, also if it is "none".
    kv_memory : int, optional
        Bytes for keys and values of the target.
    draft_dtype, kv_dtype : str
        Of draft models.
    canary_log : callable
        Opens the file that gets what a rollout sees, once nothing is left that could be refused.
    say : callable
        Is told what goes on.
    **limits
        Of :class:`minispec.serving.settings.Settings`.

    Raises
    ------
    InputError
        If the target has no tokenizer, or a draft does not go with it.
    """
    tokenizer = target.tokenizer
    if tokenizer is None:
        raise OptionError(f"{name} has no tokenizer, and a server speaks of text. Name a model that has one")
    settings = Settings(
        model=hide_folders(name),
        context=target.n_positions,
        longest_token=tokenizer.longest_token,
        drafts=name_drafts(drafts),
        begins_plain=next(iter(drafts), PLAIN) == PLAIN,
        **limits,
    )
    target = replace(target, name=settings.model)  # messages name it
    engine = Engine(
        target, draft_dtype=draft_dtype, kv_dtype=kv_dtype, max_running=settings.max_running, kv_memory=kv_memory
    )
    for public in settings.drafts or (PLAIN,):
        say(f"loading and trying {public}")
        _try_draft(engine, public, settings)
    rollout = None
    if settings.canary is not None:
        lossless = get_verifier(settings.rule_for(settings.default_draft)).lossless
        rollout = Rollout(settings.canary, lossless=lossless, log=canary_log())
    service = Service(settings, target, Worker(engine), Metrics(settings.model, engine), rollout)
    return build_app(service, tokenizer), service


def _try_draft(engine: Engine, name: str, settings: Settings) -> None:
    """Make a few tokens, so that models are loaded, code is compiled, and what does not go together is said now."""
    rule, count = settings.rule_for(name), min(4, settings.context - 1)
    gamma = settings.gamma_for(name, rule)
    fixed = DEFAULT_GAMMA if gamma in FOLLOWING and not settings.is_tree(name) else gamma  # it is to draft
    number = engine.add([0], draft=settings.drafts.get(name), gamma=fixed, verify=rule, max_tokens=count)
    while not engine.is_idle:
        engine.step()
    engine.forget(number)
