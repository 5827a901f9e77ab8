"""Builds the drafter that a user asks for: the only module that lists every kind, and it imports only that one."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from minispec.engine import drafters
from minispec.engine.drafters.base import Drafter, NoDrafter
from minispec.engine.drafters.model import ModelDrafter
from minispec.engine.drafters.spec import MODEL, DraftSpec, parse_draft, tree_shape
from minispec.engine.loading.bundled import DEFAULT_DRAFT
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.engine.model.tree_session import TreeSession
from minispec.engine.sampling import Sampler
from minispec.engine.tokenizer import Tokenizer, describe_difference
from minispec.errors import OptionError, VocabularyError, quote

if TYPE_CHECKING:
    from minispec.engine.drafters.suffix import SuffixAutomaton
    from minispec.engine.drafters.tables import TokenTable
    from minispec.engine.drafters.trees import Siblings, TreeDrafter, TreeSource

_SIBLINGS: dict[str, Siblings] = {
    "with": "with replacement",
    "without": "without replacement",
    "likeliest": "likeliest",
}


def load_draft(draft: str, load_model: Callable[[str], LanguageModel]) -> LanguageModel | str:
    """Load the draft model that a name stands for; any other kind of draft is built anew for every run.

    Parameters
    ----------
    draft : str
        As the command line writes it.
    load_model : callable
        Maps a folder or name to a model.

    Returns
    -------
    LanguageModel or str
        What :func:`build_drafter` takes.
    """
    spec = parse_draft(draft)
    return _load(spec, load_model) if spec.kind == MODEL and not spec.options["translate"] else draft


def _load(spec: DraftSpec, load_model: Callable[[str], LanguageModel]) -> LanguageModel:
    """Load the model of a draft that is one."""
    model, num_words = load_model(spec.name), spec.options["words"]
    if num_words is None:
        return model
    from minispec.engine.model.trim import TrimmedGPT2, trim_words

    if not isinstance(model, GPT2) or isinstance(model, TrimmedGPT2):
        raise OptionError(f"{model.name} has no head to be trimmed; leave words={num_words} out")
    return trim_words(model, num_words)


def build_drafter(
    draft: str | LanguageModel | Drafter,
    target: TreeSession,
    sampler: Sampler,
    *,
    load_model: Callable[[str], LanguageModel],
    coupled: bool = False,
) -> Drafter:
    """Build the drafter of one run.

    Parameters
    ----------
    draft : str, LanguageModel or Drafter
        As the command line writes it; a loaded draft model; or a drafter, which is returned as it is.
    target : TreeSession
        The session that verifies; only ``layerskip`` works in it.
    sampler : Sampler
    load_model : callable
        Maps a folder or name to a model; called for kinds that have a model of their own.
    coupled : bool
        Draw with the noise of plain sampling.

    Raises
    ------
    InputError
        If the target and the draft do not go together.
    """
    if isinstance(draft, str):
        return _build(parse_draft(draft), target, sampler, load_model, coupled=coupled)
    if hasattr(draft, "propose"):
        return cast("Drafter", draft)
    return ModelDrafter(Session(match_vocabulary(target.model, draft)), sampler, coupled=coupled)


def _build(
    spec: DraftSpec, target: TreeSession, sampler: Sampler, load: Callable[[str], LanguageModel], *, coupled: bool
) -> Drafter:
    model, options = target.model, spec.options
    if coupled and not spec.can_couple:
        raise OptionError(f"draft {quote(spec.text)} is a tree; a coupled rule verifies chains. Try --draft ngram")

    def load_model(written: str | None) -> LanguageModel:
        inner = parse_draft(written or DEFAULT_DRAFT)
        if inner.options["translate"]:
            raise OptionError(
                f"draft {quote(inner.text)} translates; a {spec.kind} needs a model with the target's vocabulary. "
                f"Try --draft {shlex.quote(inner.text)}"
            )
        return match_vocabulary(model, _load(inner, load))

    inner: Drafter
    match spec.kind:
        case "ngram":
            return drafters.NgramDrafter(model.vocab_size, options["n"], options["min_n"])
        case "suffix":
            corpus = None if options["corpus"] is None else _read_corpus(spec, model)
            return drafters.SuffixDrafter(model.vocab_size, options["min"], corpus)
        case "layerskip":
            return drafters.LayerSkipDrafter(target, sampler, options["k"], coupled=coupled)
        case "self":
            return drafters.SelfDrafter(model, sampler, options["dtype"], coupled=coupled)
        case "unigram" | "bigram":
            return drafters.TableDrafter(_table(spec, model), sampler, coupled=coupled)
        case "synthetic":
            return drafters.SyntheticDrafter(
                Session(model), sampler, options["alpha"], options["cost"], coupled=coupled
            )
        case "cascade":
            inner = drafters.NgramDrafter(model.vocab_size, options["n"])
            if options["by"] == "suffix":
                inner = drafters.SuffixDrafter(model.vocab_size)
            return drafters.CascadeDrafter(Session(load_model(options["draft"])), sampler, inner, coupled=coupled)
        case "forced":
            inner = NoDrafter()
            if options["draft"] != "none":
                inner = _build(parse_draft(options["draft"] or DEFAULT_DRAFT), target, sampler, load, coupled=coupled)
            return drafters.ForcedDrafter(inner, sampler, model.vocab_size)
        case "medusa" | "eagle" | "block":
            from minispec.engine.drafters.heads import BlockDrafter, EagleDrafter, MedusaDrafter, load_head

            head = load_head(options["head"], spec.kind, model)
            kinds: Mapping[str, type[MedusaDrafter | EagleDrafter | BlockDrafter]]
            kinds = {"medusa": MedusaDrafter, "eagle": EagleDrafter, "block": BlockDrafter}
            return kinds[spec.kind](target, sampler, head, coupled=coupled)
        case "tree":
            return _build_tree(options, target, sampler, load_model)
    if spec.kind != MODEL:
        from minispec.engine.drafters.plugins import build_plugin

        return build_plugin(spec.kind, target, sampler, options, coupled=coupled)
    if options["translate"]:
        return _build_translating(_load(spec, load), model, sampler)
    return ModelDrafter(Session(load_model(spec.text)), sampler, coupled=coupled)


def _build_translating(foreign: LanguageModel, model: LanguageModel, sampler: Sampler) -> Drafter:
    """Build the drafter that a model with a vocabulary of its own is."""
    ours, theirs = getattr(model, "tokenizer", None), getattr(foreign, "tokenizer", None)
    if ours is None or theirs is None:
        lacking = model.name if ours is None else foreign.name
        raise OptionError(f"translate needs two tokenizers, and {lacking} has none. Try --draft ngram")
    return drafters.TranslatingDrafter(Session(foreign), sampler.params, theirs, ours, model.vocab_size)


def _build_tree(
    options: Mapping[str, Any], target: TreeSession, sampler: Sampler, load_model: Callable[[str | None], LanguageModel]
) -> TreeDrafter:
    """Build the drafter of a tree, over a draft model or over a head of the target."""
    siblings, num_slots = _SIBLINGS[options["siblings"]], target.cache.capacity
    shape = tree_shape(options)
    num_nodes = options["nodes"] - 1 if shape is None else len(shape)
    if num_nodes >= num_slots:
        raise OptionError(
            f"tree: it has {num_nodes + 1} nodes, and {target.model.name} holds {num_slots} tokens. "
            "Try tree:shape=4x2x1"
        )
    source: TreeSource
    inner = None if options["draft"] is None else parse_draft(options["draft"])
    if inner is None or inner.kind == MODEL:
        source = drafters.ModelSource(load_model(options["draft"]))
    else:
        from minispec.engine.drafters.heads import BlockDrafter, EagleSource, MedusaDrafter, ParallelSource, load_head

        head = load_head(inner.options["head"], inner.kind, target.model)
        if inner.kind == "eagle":
            source = EagleSource(target, head)
        else:
            parallel = MedusaDrafter if inner.kind == "medusa" else BlockDrafter
            source = ParallelSource(parallel(target, sampler, head))
    if shape is None:
        return drafters.DynamicTreeDrafter(
            source, sampler, num_nodes, siblings, depth=options["depth"], num_slots=num_slots
        )
    return drafters.FixedTreeDrafter(source, sampler, shape, siblings, num_slots=num_slots)


def match_vocabulary(target: LanguageModel, draft: LanguageModel) -> LanguageModel:
    """Return the draft with as many rows as the target, if a token id means the same to both.

    Rows without a token do not count: some pad their vocabulary with them.

    Raises
    ------
    VocabularyError
        If sizes or contents differ.
    """
    difference, sizes = None, (target.vocab_size, draft.vocab_size)
    ours, theirs = getattr(target, "tokenizer", None), getattr(draft, "tokenizer", None)
    if ours is not None and theirs is not None:
        difference = describe_difference(ours, theirs, *sizes)
    elif sizes[0] != sizes[1]:
        difference = f"the target has {target.vocab_size} tokens, the draft {draft.vocab_size}"
    if difference is not None:
        translating = shlex.quote(f"{draft.name}:translate=true")
        raise VocabularyError(
            f"target {target.name} and draft {draft.name} have different vocabularies ({difference}); they "
            f"must share one. Try --draft none, or --draft {translating}"
        )
    if sizes[0] == sizes[1] or not isinstance(draft, GPT2):
        return draft
    from minispec.engine.model.trim import fit_vocabulary

    return fit_vocabulary(draft, target.vocab_size)


def _read_corpus(spec: DraftSpec, model: LanguageModel) -> SuffixAutomaton:
    from minispec.engine.drafters.tables import read_text

    return _index_text(read_text(spec.options["corpus"], "corpus"), _require_tokenizer(spec, model), model.vocab_size)


def _table(spec: DraftSpec, model: LanguageModel) -> TokenTable:
    from minispec.engine.drafters.tables import read_text

    tokenizer = _require_tokenizer(spec, model)
    tokens = _encode(read_text(spec.options["text"]), tokenizer, model.vocab_size)
    return drafters.TokenTable(tokens, model.vocab_size, 1 if spec.kind == "unigram" else 2, spec.options["k"])


def _require_tokenizer(spec: DraftSpec, model: LanguageModel) -> Tokenizer:
    tokenizer: Tokenizer | None = getattr(model, "tokenizer", None)
    if tokenizer is None:
        raise OptionError(f"{spec.kind} reads tokens of a text, and {model.name} has no tokenizer. Try --draft ngram")
    return tokenizer


@functools.lru_cache(maxsize=4)  # requests of a batch share it; by its content, so that a file may change
def _index_text(text: str, tokenizer: Tokenizer, vocab_size: int) -> SuffixAutomaton:
    from minispec.engine.drafters.suffix import index_tokens

    return index_tokens(_encode(text, tokenizer, vocab_size))


def _encode(text: str, tokenizer: Tokenizer, vocab_size: int) -> list[int]:
    """Return a text's tokens, but for added ones that the model has no row for."""
    return [token for token in tokenizer.encode(text) if token < vocab_size]
