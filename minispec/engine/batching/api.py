"""The Python surface: many prompts in, their generations out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Unpack

from minispec.engine.batching.engine import Engine
from minispec.engine.drafters import Drafter
from minispec.engine.generation.options import Options, RequestOptions, require_whole, with_options
from minispec.engine.generation.prepare import Named
from minispec.engine.generation.result import Generation
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.engine.model.language_model import LanguageModel
from minispec.errors import OptionError, PromptError, quote


@with_options
def generate_many(
    prompts: Sequence[str | Sequence[int]],
    *,
    target: Named | LanguageModel = DEFAULT_TARGET,
    draft: Named | LanguageModel | Drafter | None = DEFAULT_DRAFT,
    concurrency: int = 16,
    kv_memory: int | None = None,
    **options: Unpack[RequestOptions],
) -> list[Generation]:
    """Generate from many prompts at once; each text is the one that its prompt has alone, by the same options.

    Without ``gamma`` and ``verify`` these are not those of :func:`minispec.generate`: drafts follow the load, and the
    rule keeps the text of plain decoding (:mod:`minispec.engine.batching.defaults`).

    Parameters
    ----------
    prompts : sequence of str or of sequence of int
        Texts, or token ids.
    target, draft : str or model
        See :func:`minispec.stream`. A drafter has the state of one text, and so has a policy that is an object: each
        can be given for one prompt only.
    concurrency : int
        Prompts that are decoded at the same time.
    kv_memory : int, optional
        Bytes for the target's keys and values; by default enough for ``concurrency`` whole contexts.
    **options
        Those of :class:`minispec.engine.generation.options.Options`; ``seed`` is the first prompt's, and the next one
        has the next seed.

    Returns
    -------
    list of Generation
        In the order of the prompts.

    Raises
    ------
    InputError
        Before anything is generated, if a prompt, a model or an option cannot be used.

    Examples
    --------
    >>> from minispec.engine.model.toy import TableModel
    >>> models = {"target": TableModel(4), "draft": TableModel(4, seed=1)}
    >>> [len(each.token_ids) for each in generate_many([[0], [1, 2]], max_tokens=3, **models)]
    [3, 3]
    """
    if isinstance(prompts, str) or not isinstance(prompts, Collection):
        raise PromptError(f"prompts is {quote(prompts)}; it must be a list of texts. Put one text into brackets")
    for what, given, instead in (
        ("draft", draft, "Name a draft or give a model, or add each prompt to an Engine with a drafter of its own"),
        ("gamma", options.get("gamma"), "Name a policy, or add each prompt to an Engine with a policy of its own"),
    ):
        if len(prompts) > 1 and (hasattr(given, "propose") or hasattr(given, "observe")):
            raise OptionError(
                f"{what} is a {type(given).__name__}, whose state is that of one text, and there are {len(prompts)} "
                f"prompts. {instead}"
            )
    first = options.get("seed", Options.seed)
    require_whole("seed", first)
    require_whole("concurrency", concurrency, 1)
    engine = Engine(target, max_running=concurrency, kv_memory=kv_memory)
    for i, prompt in enumerate(prompts):
        request: RequestOptions = {**options, "seed": int(first) + i}
        engine.add(prompt, draft=draft, **request)
    return engine.run()
