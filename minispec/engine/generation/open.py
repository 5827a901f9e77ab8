"""Beside stop 13: the parts of a run are built and put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from minispec.engine.control import get_policy, recall_fallback
from minispec.engine.drafters import Drafter, build_drafter
from minispec.engine.generation.audit import AuditedSession
from minispec.engine.generation.guarantee import find_guarantee, is_reproducible
from minispec.engine.generation.limits import Limits
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import (
    build_constraint,
    check_tree,
    encode_prompt,
    find_draft_model,
    find_setting,
)
from minispec.engine.generation.stream import Stream
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Noise
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import get_verifier


def open_stream(
    prompt: str | Sequence[int],
    model: LanguageModel,
    draft: str | LanguageModel | Drafter | None,
    options: Options,
    *,
    load: Callable[[str], LanguageModel],
    noise: Noise | None = None,
    row: int = 0,
    clock: Callable[[], float] = time.perf_counter,
    asked: Mapping[str, str] = MappingProxyType({}),
) -> Stream:
    """Put the parts of a run together, once its options are checked and its target is loaded.

    Parameters
    ----------
    prompt : str or sequence of int
    model : LanguageModel
        The target.
    draft : str, model, Drafter or None
    options : Options
    load : callable
        Maps the name of a draft model to the model.
    noise, clock
        See :func:`minispec.stream`.
    row : int
        Tells it apart from the requests that its policy may depend on, which may have its seed. The noise is that of
        the seed alone wherever the text is to be the seed's: see :mod:`minispec.engine.control.gamma`.
    asked : mapping
        Number formats and backend asked for, to be recorded where a model does not know its own.
    """
    prompt_tokens = encode_prompt(prompt, model)
    verifier, policy = get_verifier(options.verify), get_policy(options.gamma)
    session = AuditedSession(model) if options.audit else TreeSession(model)
    sampler = Sampler(options, len(prompt_tokens), model.eos_token_id, build_constraint(options, model))
    draft_name = draft if draft is None or isinstance(draft, str) else getattr(draft, "name", type(draft).__name__)
    drafter = None
    if draft is not None:
        drafter = build_drafter(draft, session, sampler, coupled=verifier.coupled, load_model=load)
        check_tree(drafter, verifier, str(draft_name))
    if options.fallback != "off" and draft_name is not None:
        promise = find_guarantee(verifier, temperature=options.temperature, batch_invariant=model.batch_invariant)
        bends = not is_reproducible(promise, timed=True)
        pair = model.name, draft_name
        policy = recall_fallback(options.fallback, policy, pair, model, options.seed, bends=bends)
    follows_seed = draft is None or verifier.same_seed or not policy.timed
    return Stream(
        prompt_tokens,
        target=session,
        drafter=drafter,
        sampler=sampler,
        noise=PhiloxNoise(options.seed, 0 if follows_seed else row) if noise is None else noise,
        limits=Limits(options.max_tokens, model.n_positions, options.stop, model.eos_token_id, options.min_tokens),
        policy=policy,
        tokenizer=getattr(model, "tokenizer", None),
        verifier=verifier,
        logprobs=options.logprobs,
        audit=options.audit,
        clock=clock,
        prompt=prompt if isinstance(prompt, str) else "",
        options={
            "target": model.name,
            "draft": draft_name,
            "backend": find_setting(model, "backend", asked.get("backend", "")),
            "dtype": find_setting(model, "dtype", asked.get("dtype", "")),
            "draft_dtype": find_setting(find_draft_model(drafter), "dtype", asked.get("draft_dtype", "")),
            "kv_dtype": find_setting(model, "kv_dtype", asked.get("kv_dtype", "")),
            **options.to_dict(),
        },
    )
