"""Stop 14 of 14: the Python surface, ``stream`` and ``generate``: options and names in, a run that is ready to go out.

``stream`` resolves every part (target, draft, rule, policy, sampler, noise, limits) and hands them to
``generation/stream.py``, which drives the loop of stop 1: it answers what the loop asks and tells the caller what has
come of it.

Next: `docs/extending.md`, to add a drafter, a rule or a backend of your own.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ParamSpec

from minispec.backends import BACKENDS
from minispec.backends.formats import AUTO
from minispec.control import GammaPolicy, get_policy, recall_fallback
from minispec.drafters import Drafter, build_drafter
from minispec.generation.audit import AuditedSession
from minispec.generation.options import Options
from minispec.generation.prepare import (
    build_constraint,
    check_together,
    draft_model,
    encode_prompt,
    find_setting,
)
from minispec.generation.result import Generation
from minispec.generation.stopping import Limits
from minispec.generation.stream import Stream
from minispec.loading import load_model
from minispec.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.model.language_model import LanguageModel
from minispec.model.tree_session import TreeSession
from minispec.noise import Noise, PhiloxNoise
from minispec.sampling import Sampler
from minispec.verifiers import Verifier, Verify, get_verifier

_Parameters = ParamSpec("_Parameters")


def stream(
    prompt: str | Sequence[int],
    *,
    target: str | LanguageModel = DEFAULT_TARGET,
    draft: str | LanguageModel | Drafter | None = DEFAULT_DRAFT,
    gamma: int | str | GammaPolicy = Options.gamma,
    fallback: str = Options.fallback,
    verify: str | Verifier | Verify = Options.verify,
    temperature: float = Options.temperature,
    top_k: int = Options.top_k,
    top_p: float = Options.top_p,
    min_p: float = Options.min_p,
    repetition_penalty: float = Options.repetition_penalty,
    presence_penalty: float = Options.presence_penalty,
    frequency_penalty: float = Options.frequency_penalty,
    min_tokens: int = Options.min_tokens,
    regex: str | None = None,
    json_schema: str | None = None,
    max_tokens: int = Options.max_tokens,
    stop: str | Sequence[str] = (),
    seed: int = Options.seed,
    logprobs: bool = False,
    audit: bool = False,
    backend: str = BACKENDS[0],
    dtype: str = AUTO,
    draft_dtype: str | None = None,
    noise: Noise | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Stream:
    """Start a generation and return its events, one by one.

    Parameters
    ----------
    prompt : str or sequence of int
        Text, or token ids of the target's vocabulary.
    target : str or model
        A folder, a bundled name, a hub name, or a loaded model.
    draft : str, model, Drafter or None
        Likewise; ``KIND[:key=value,...]`` (see :mod:`minispec.drafters.spec`); or a drafter of your own. None decodes
        plainly.
    gamma, fallback, verify, regex, json_schema, max_tokens, stop, seed, logprobs, audit
        See :class:`minispec.generation.options.Options`.
    temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty, min_tokens
        See :class:`minispec.sampling.params.SamplingParams`.
    backend, dtype, draft_dtype : str
        For models given by name; ``draft_dtype`` is ``dtype`` unless given.
    noise : Noise, optional
        Randomness; by default Philox noise with ``seed``.
    clock : callable
        Seconds; a simulated one judges policies that react to time (see :mod:`minispec.analysis.judge`).

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
    >>> from minispec.model.toy import TableModel
    >>> events = stream([0], target=TableModel(4), draft=TableModel(4, seed=1), max_tokens=3)
    >>> len(events.run().token_ids)
    3
    """
    options = Options(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        min_tokens=min_tokens,
        gamma=gamma,
        fallback=fallback,
        verify=verify,
        regex=regex,
        json_schema=json_schema,
        max_tokens=max_tokens,
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        seed=seed,
        logprobs=logprobs,
        audit=audit,
    )
    if isinstance(draft, str):
        check_together(draft, options)
    model = load_model(target, backend, dtype) if isinstance(target, str) else target
    backend = find_setting(model, "backend", backend)  # a loaded target decides for the draft as well
    return open_stream(
        prompt,
        model,
        draft,
        options,
        load=lambda name: load_model(name, backend, draft_dtype or dtype),
        noise=noise,
        clock=clock,
        asked={"backend": backend, "dtype": dtype, "draft_dtype": draft_dtype or dtype},
    )


def open_stream(
    prompt: str | Sequence[int],
    model: LanguageModel,
    draft: str | LanguageModel | Drafter | None,
    options: Options,
    *,
    load: Callable[[str], LanguageModel],
    noise: Noise | None = None,
    clock: Callable[[], float] = time.perf_counter,
    asked: Mapping[str, str] = MappingProxyType({}),
) -> Stream:
    """Put the parts of a run together: what :func:`stream` does once options are checked and the target is loaded.

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
        See :func:`stream`.
    asked : mapping
        Number formats and backend asked for, to be recorded where a model does not know its own.
    """
    prompt_tokens = encode_prompt(prompt, model)
    verifier, policy = get_verifier(options.verify), get_policy(options.gamma)
    session = AuditedSession(model) if options.audit else TreeSession(model)
    sampler = Sampler(options, len(prompt_tokens), model.eos_token_id, build_constraint(options, model))
    drafter = None
    if draft is not None:
        drafter = build_drafter(draft, session, sampler, coupled=verifier.coupled, load_model=load)
    draft_name = draft if draft is None or isinstance(draft, str) else getattr(draft, "name", type(draft).__name__)
    if options.fallback != "off" and draft_name is not None:
        policy = recall_fallback(options.fallback, policy, (model.name, draft_name), model)
    return Stream(
        prompt_tokens,
        session,
        drafter,
        sampler,
        PhiloxNoise(options.seed) if noise is None else noise,
        Limits(options.max_tokens, model.n_positions, options.stop, model.eos_token_id),
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
            "draft_dtype": find_setting(draft_model(drafter), "dtype", asked.get("draft_dtype", "")),
            **options.to_dict(),
        },
    )


def _to_the_end(start: Callable[_Parameters, Stream]) -> Callable[_Parameters, Generation]:
    """Return :func:`generate`: what ``start`` does, run to the end, with the same parameters."""

    @functools.wraps(start)
    def generate(*args: _Parameters.args, **options: _Parameters.kwargs) -> Generation:
        return start(*args, **options).run()

    generate.__name__ = generate.__qualname__ = "generate"
    generate.__doc__ = """Generate to the end and return the result; the parameters are those of :func:`stream`.

    Examples
    --------
    >>> from minispec.model.toy import TableModel
    >>> generate([0], target=TableModel(4), draft=None, max_tokens=2, seed=1).sources
    ('plain', 'plain')
    """
    generate.__annotations__ = {**start.__annotations__, "return": "Generation"}
    generate.__signature__ = inspect.signature(start).replace(return_annotation="Generation")  # type: ignore[attr-defined]
    return generate


generate = _to_the_end(stream)
