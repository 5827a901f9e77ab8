"""Stop 12 of 12 · the Python surface. Before: generation/speculative."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from minispec.backends import BACKENDS, DTYPES
from minispec.control import FixedGamma, get_policy, remembered
from minispec.drafters import Drafter, ModelDrafter
from minispec.drafters.build import build_drafter
from minispec.drafters.spec import DraftSpec, parse_draft
from minispec.errors import OptionError, PromptError, VocabularyError
from minispec.generation.audit import AuditedSession
from minispec.generation.options import DEFAULT_DRAFT, DEFAULT_TARGET, Options
from minispec.generation.result import Generation
from minispec.generation.stopping import Limits
from minispec.generation.stream import Stream
from minispec.loading import load_model
from minispec.model.session import LanguageModel, Session
from minispec.model.tree_session import TreeSession
from minispec.noise import Noise, PhiloxNoise
from minispec.sampling import Constraint, Sampler
from minispec.tokenizer import Tokenizer, describe_difference
from minispec.verifiers import Verifier, get_verifier


def stream(
    prompt: str | Sequence[int],
    *,
    target: str | LanguageModel = DEFAULT_TARGET,
    draft: str | LanguageModel | None = DEFAULT_DRAFT,
    backend: str = BACKENDS[0],
    dtype: str = DTYPES[0],
    draft_dtype: str | None = None,
    noise: Noise | None = None,
    clock: Callable[[], float] = time.perf_counter,
    **options: Any,
) -> Stream:
    """Start a generation and return its events, one by one.

    Parameters
    ----------
    prompt : str or sequence of int
        Text, or token ids of the target's vocabulary.
    target : str or model
        A folder, a bundled name, a hub name, or a loaded model.
    draft : str, model or None
        Likewise, or ``KIND[:key=value,...]`` (see :mod:`minispec.drafters.spec`). None decodes plainly.
    backend, dtype, draft_dtype : str
        For models given by name; ``draft_dtype`` is ``dtype`` unless given.
    noise : Noise, optional
        Randomness; by default Philox noise with ``options["seed"]``.
    clock : callable
        Seconds; a simulated one judges policies that react to time (see :mod:`minispec.analysis.judge`).
    **options
        Those of :class:`minispec.generation.options.Options`: gamma, verify, temperature, max_tokens, stop, seed and
        others. An unknown one is an error.

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
    checked = _options(options)
    verifier = get_verifier(checked.verify)
    spec = parse_draft(draft) if isinstance(draft, str) else None
    if spec is not None:
        check_together(spec, verifier, checked)

    target_model = load_model(target, backend, dtype) if isinstance(target, str) else target
    tokenizer: Tokenizer | None = getattr(target_model, "tokenizer", None)
    prompt_tokens = _encode(prompt, target_model, tokenizer)
    limits = Limits(checked.max_tokens, target_model.n_positions, checked.stop, target_model.eos_token_id)
    session = AuditedSession(target_model) if checked.audit else TreeSession(target_model)
    sampler = Sampler(
        checked.sampling, len(prompt_tokens), target_model.eos_token_id, _constraint(checked, target_model, tokenizer)
    )
    backend = _told(target_model, "backend", backend)  # a loaded target decides for the draft as well

    def load_draft(name: str) -> LanguageModel:
        return load_model(name, backend, draft_dtype or dtype)

    drafter: Drafter | None = None
    if spec is not None:
        drafter = build_drafter(
            spec, session, sampler, load_model=load_draft, check_vocabularies=check_vocabularies,
            default_draft=DEFAULT_DRAFT, coupled=verifier.coupled,
        )  # fmt: skip
    elif draft is not None:
        assert not isinstance(draft, str)
        check_vocabularies(target_model, draft)
        drafter = ModelDrafter(Session(draft), sampler, coupled=verifier.coupled)
    draft_name = draft if isinstance(draft, str) else None if draft is None else draft.name
    policy = get_policy(checked.gamma)
    if checked.fallback != "off" and draft_name is not None:
        policy = remembered(checked.fallback, policy, (target_model.name, draft_name), target_model)
    return Stream(
        prompt_tokens,
        session,
        drafter,
        sampler,
        PhiloxNoise(checked.seed) if noise is None else noise,
        limits,
        policy=policy,
        tokenizer=tokenizer,
        verifier=verifier,
        logprobs=checked.logprobs,
        audit=checked.audit,
        clock=clock,
        prompt=prompt if isinstance(prompt, str) else "",
        options={
            "target": target_model.name,
            "draft": draft_name,
            "backend": backend,
            "dtype": _told(target_model, "dtype", dtype),
            "draft_dtype": draft_dtype or dtype,
            **asdict(checked),
        },
    )


def generate(prompt: str | Sequence[int], **options: Any) -> Generation:
    """Generate to the end and return the result; the parameters are those of :func:`stream`.

    Examples
    --------
    >>> from minispec.model.toy import TableModel
    >>> generate([0], target=TableModel(4), draft=None, max_tokens=2, seed=1).sources
    ('plain', 'plain')
    """
    return stream(prompt, **options).run()


def check_vocabularies(target: LanguageModel, draft: LanguageModel) -> None:
    """Check that a token id means the same to both models.

    Raises
    ------
    VocabularyError
        If sizes or contents differ.
    """
    difference = None
    if target.vocab_size != draft.vocab_size:
        difference = f"the target has {target.vocab_size} tokens, the draft {draft.vocab_size}"
    else:
        ours, theirs = getattr(target, "tokenizer", None), getattr(draft, "tokenizer", None)
        if ours is not None and theirs is not None:
            difference = describe_difference(ours, theirs)
    if difference is not None:
        raise VocabularyError(
            f"target {target.name} and draft {draft.name} have different vocabularies ({difference}); speculative "
            f"decoding needs one shared vocabulary. Try --draft none, or --draft {draft.name}:translate=true"
        )


def check_together(spec: DraftSpec, verifier: Verifier, options: Options) -> None:
    """Refuse combinations that cannot work, before anything is loaded.

    Raises
    ------
    OptionError
        Naming a combination that does.
    """
    if not spec.is_tree:
        return
    if not verifier.trees:
        raise OptionError(
            f"draft {spec.text!r} proposes a tree, and the rule {verifier.name!r} judges chains. Try --verify tree"
        )
    if not isinstance(get_policy(options.gamma), FixedGamma) or options.fallback != "off":
        raise OptionError(
            f"draft {spec.text!r} has a shape of its own, which gamma {options.gamma!r} and fallback "
            f"{options.fallback!r} cannot change. Try --gamma 5 --fallback off"
        )


def _options(options: dict[str, Any]) -> Options:
    known = Options.__dataclass_fields__
    for name in options:
        if name not in known:
            raise OptionError(f"unknown option {name!r}; the options are {', '.join(known)}")
    stop = options.get("stop", ())
    return Options(**{**options, "stop": (stop,) if isinstance(stop, str) else tuple(stop)})


def _constraint(options: Options, target: LanguageModel, tokenizer: Tokenizer | None) -> Constraint | None:
    if options.regex is None and options.json_schema is None:
        return None
    if tokenizer is None or not target.eos_token_id:
        raise OptionError(
            f"a regex or JSON schema needs a tokenizer and an end-of-text token, and {target.name} lacks one of them"
        )
    kind = "json_schema" if options.regex is None else "regex"
    form = options.regex or options.json_schema or ""
    return Constraint(form, kind, tokenizer, min(target.eos_token_id), target.vocab_size)


def _told(model: LanguageModel | None, what: str, asked: str) -> str:
    """Return what a model really runs with: a loaded one may differ from the options."""
    value = getattr(model, what, asked)
    return str(getattr(value, "name", value))


def _encode(prompt: str | Sequence[int], target: LanguageModel, tokenizer: Tokenizer | None) -> list[int]:
    if isinstance(prompt, str):
        if tokenizer is None:
            raise PromptError(f"the prompt is text, but {target.name} has no tokenizer. Give token ids")
        tokens = tokenizer.encode(prompt)
    else:
        tokens = [int(token) for token in prompt]
    if not tokens:
        raise PromptError(
            "the prompt is empty; a model continues at least one token. Try '<|endoftext|>' for a fresh text"
        )
    if len(tokens) >= target.n_positions:
        raise PromptError(
            f"the prompt has {len(tokens)} tokens; {target.name} holds {target.n_positions} with at least one new one. "
            f"Shorten it to {target.n_positions - 1} tokens"
        )
    outside = next((token for token in tokens if not 0 <= token < target.vocab_size), None)
    if outside is not None:
        raise PromptError(
            f"token id {outside} is outside the vocabulary of {target.name}; ids go from 0 to {target.vocab_size - 1}"
        )
    return tokens
