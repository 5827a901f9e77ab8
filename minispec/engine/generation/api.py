"""Stop 13 of 13: the Python surface, ``stream`` and ``generate``: options and names in, a ready-to-run stream out.

``stream`` writes the options down once and loads the models. ``open_stream`` builds every other part from them
(rule, policy, drafter, sampler, noise, limits). ``generation/run.py`` then drives the loop of stop 1: it passes on what
the loop asks, and tells the caller what has come of it.

Next: `docs/extend.md`, to add a drafter, a rule or a backend of your own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Unpack

from minispec.engine.backends import BACKENDS
from minispec.engine.backends.formats import AUTO
from minispec.engine.control import get_policy, recall_fallback
from minispec.engine.drafters import Drafter, build_drafter
from minispec.engine.generation.options import Options, RequestOptions, with_options
from minispec.engine.generation.prepare import (
    Named,
    build_constraint,
    check_together,
    check_tree,
    encode_prompt,
    find_draft_model,
    find_setting,
    read_draft,
    read_target,
)
from minispec.engine.generation.result import Generation, find_guarantee, is_reproducible
from minispec.engine.generation.run import Stream
from minispec.engine.generation.stopping import Limits
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.loading.kept import recall_model
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.noise import Noise
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import Sampler
from minispec.engine.verifiers import get_verifier


@with_options
def stream(
    prompt: str | Sequence[int],
    *,
    target: Named | LanguageModel = DEFAULT_TARGET,
    draft: Named | LanguageModel | Drafter | None = DEFAULT_DRAFT,
    backend: str = BACKENDS[0],
    dtype: str = AUTO,
    draft_dtype: str | None = None,
    kv_dtype: str = AUTO,
    noise: Noise | None = None,
    clock: Callable[[], float] = time.perf_counter,
    **options: Unpack[RequestOptions],
) -> Stream:
    """Start a generation and return its events, one by one.

    Parameters
    ----------
    prompt : str or sequence of int
        Text, or token ids of the target's vocabulary.
    target : str, path or model
        A folder, a bundled name, a hub name, or a loaded model.
    draft : str, path, model, Drafter or None
        Likewise; ``KIND[:key=value,...]`` (see :mod:`minispec.engine.drafters.spec`); or a drafter of your own. None,
        or ``"none"``, decodes plainly.
    backend, dtype, draft_dtype, kv_dtype : str
        For models given by name (see :func:`minispec.load_model`); ``draft_dtype`` is ``dtype`` unless given. The last
        four are kept for the next call, while their files are unchanged and have 1 GiB together.
    noise : Noise, optional
        Randomness; by default Philox noise with ``seed``.
    clock : callable
        Seconds; a simulated one judges policies that react to time (see :mod:`minispec.lab.simulate`).
    **options
        Those of :class:`minispec.engine.generation.options.Options`.

    Returns
    -------
    Stream
        Yields ``Prefilled``, then ``Drafted``, ``Verified``, ``Emitted`` per step, then ``Finished``.

    Raises
    ------
    InputError
        Before anything is computed, if the prompt, a model or an option cannot be used.

    Examples
    --------
    >>> from minispec.engine.model.toy import TableModel
    >>> events = stream([0], target=TableModel(4), draft=TableModel(4, seed=1), max_tokens=3)
    >>> len(events.run().token_ids)
    3
    """
    settings = Options.read(options)
    named, drafts = read_target(target), read_draft(draft)
    if isinstance(drafts, str):
        check_together(drafts, settings)
    model: LanguageModel = recall_model(named, backend, dtype, kv_dtype) if isinstance(named, str) else named
    backend = find_setting(model, "backend", backend)  # a loaded target decides for the draft as well
    asked = {"backend": backend, "dtype": dtype, "draft_dtype": draft_dtype or dtype, "kv_dtype": kv_dtype}

    def load(name: str) -> LanguageModel:
        return recall_model(name, backend, asked["draft_dtype"], kv_dtype)

    return open_stream(prompt, model, drafts, settings, load=load, noise=noise, clock=clock, asked=asked)


@with_options
def generate(
    prompt: str | Sequence[int],
    *,
    target: Named | LanguageModel = DEFAULT_TARGET,
    draft: Named | LanguageModel | Drafter | None = DEFAULT_DRAFT,
    backend: str = BACKENDS[0],
    dtype: str = AUTO,
    draft_dtype: str | None = None,
    kv_dtype: str = AUTO,
    noise: Noise | None = None,
    clock: Callable[[], float] = time.perf_counter,
    **options: Unpack[RequestOptions],
) -> Generation:
    """Generate to the end and return the result: :func:`stream`, run.

    Parameters
    ----------
    prompt : str or sequence of int
    target, draft, backend, dtype, draft_dtype, kv_dtype, noise, clock
        See :func:`stream`.
    **options
        Those of :class:`minispec.engine.generation.options.Options`.

    Raises
    ------
    InputError
        Before anything is computed, if the prompt, a model or an option cannot be used.

    Examples
    --------
    >>> from minispec.engine.model.toy import TableModel
    >>> generate([0], target=TableModel(4), draft=None, max_tokens=2, seed=1).sources
    ('plain', 'plain')
    """
    started = stream(
        prompt,
        target=target,
        draft=draft,
        backend=backend,
        dtype=dtype,
        draft_dtype=draft_dtype,
        kv_dtype=kv_dtype,
        noise=noise,
        clock=clock,
        **options,
    )
    return started.run()


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
    session = TreeSession(model)
    if options.audit:
        from minispec.engine.generation.audit import AuditedSession

        session = AuditedSession(model)
    sampler = Sampler(options, len(prompt_tokens), model.eos_token_id, build_constraint(options, model))
    draft_name = draft if draft is None or isinstance(draft, str) else getattr(draft, "name", type(draft).__name__)
    drafter = None
    if draft is not None:
        drafter = build_drafter(draft, session, sampler, coupled=verifier.coupled, load_model=load)
        check_tree(drafter, options, str(draft_name))
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
