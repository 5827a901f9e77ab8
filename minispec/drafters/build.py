"""From a :class:`DraftSpec` to a drafter: the one place that knows every kind."""

from __future__ import annotations

from collections.abc import Callable

from minispec.drafters.base import Drafter, Params, as_sampler
from minispec.drafters.cascade import CascadeDrafter
from minispec.drafters.layerskip import LayerSkipDrafter
from minispec.drafters.model import ModelDrafter
from minispec.drafters.ngram import NgramDrafter
from minispec.drafters.selfdraft import SelfDrafter
from minispec.drafters.spec import DraftSpec, tree_shape
from minispec.drafters.suffix import SuffixDrafter
from minispec.drafters.synthetic import SyntheticDrafter
from minispec.drafters.tables import TableDrafter, TokenTable, read_text
from minispec.drafters.translate import TranslatingDrafter
from minispec.drafters.tree import Siblings, TreeDrafter
from minispec.errors import OptionError, shown
from minispec.model.session import LanguageModel, Session
from minispec.model.tree_session import TreeSession

_SIBLINGS: dict[str, Siblings] = {
    "with": "with replacement",
    "without": "without replacement",
    "likeliest": "likeliest",
}


def build_drafter(
    spec: DraftSpec,
    target: Session,
    params: Params,
    *,
    load_model: Callable[[str], LanguageModel],
    check_vocabularies: Callable[[LanguageModel, LanguageModel], None],
    default_draft: str,
    coupled: bool = False,
) -> Drafter:
    """Build what a spec asks for.

    Parameters
    ----------
    spec : DraftSpec
    target : Session
        The session that verifies; only ``layerskip`` works in it.
    params : SamplingParams or Sampler
    load_model : callable
        Maps a folder or name to a model; called for kinds that have a model of their own.
    check_vocabularies : callable
        Raises if (target, draft) do not share one vocabulary.
    default_draft : str
        The draft model of a cascade or a tree that names none.
    coupled : bool
        Draw with the noise of plain sampling.

    Raises
    ------
    InputError
        If the target and the draft do not go together.
    """
    model, options = target.model, spec.options
    if coupled and not spec.can_couple:
        raise OptionError(f"draft {shown(spec.text)} is a tree; a coupled rule verifies chains. Try --draft ngram")

    def load_draft(name: str | None) -> LanguageModel:
        draft = load_model(name or default_draft)
        check_vocabularies(model, draft)
        return draft

    match spec.kind:
        case "ngram":
            return NgramDrafter(model.vocab_size, options["n"], options["min_n"])
        case "suffix":
            return SuffixDrafter(model.vocab_size, options["min"])
        case "layerskip":
            return LayerSkipDrafter(target, params, options["k"], coupled=coupled)
        case "self":
            return SelfDrafter(model, params, options["dtype"], coupled=coupled)
        case "unigram" | "bigram":
            return TableDrafter(_table(spec, model), params, coupled=coupled)
        case "synthetic":
            return SyntheticDrafter(Session(model), params, options["alpha"], options["cost"], coupled=coupled)
        case "cascade":
            inner: Drafter = NgramDrafter(model.vocab_size, options["n"])
            if options["by"] == "suffix":
                inner = SuffixDrafter(model.vocab_size)
            return CascadeDrafter(Session(load_draft(options["draft"])), params, inner, coupled=coupled)
        case "tree":
            shape = tree_shape(options)
            session = TreeSession(load_draft(options["draft"]))
            return TreeDrafter(session, params, shape, _SIBLINGS[options["siblings"]], num_slots=target.cache.capacity)
    if options["translate"]:
        draft = load_model(spec.name)
        ours, theirs = getattr(model, "tokenizer", None), getattr(draft, "tokenizer", None)
        if ours is None or theirs is None:
            lacking = model.name if ours is None else draft.name
            raise OptionError(f"translate needs two tokenizers, and {lacking} has none. Try --draft ngram")
        return TranslatingDrafter(Session(draft), as_sampler(params).params, theirs, ours, model.vocab_size)
    return ModelDrafter(Session(load_draft(spec.name)), params, coupled=coupled)


def _table(spec: DraftSpec, model: LanguageModel) -> TokenTable:
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        raise OptionError(f"{spec.kind} counts tokens of a text, and {model.name} has no tokenizer. Try --draft ngram")
    tokens = tokenizer.encode(read_text(spec.options["text"]))
    return TokenTable(tokens, model.vocab_size, 1 if spec.kind == "unigram" else 2, spec.options["k"])
