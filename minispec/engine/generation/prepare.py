"""Beside stop 13: what is checked, read and looked up before a run begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from minispec.engine.control import FixedGamma, get_policy
from minispec.engine.drafters import Drafter, DraftSpec, parse_draft
from minispec.engine.generation.options import Options
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.sampling.params import is_whole
from minispec.engine.tokenizer import Tokenizer
from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError, PromptError, quote

if TYPE_CHECKING:
    from minispec.engine.sampling.constraint import Constraint

Named = str | os.PathLike[str]
"""How a model is named: a folder as text or as a path; a bundled name, a hub name."""
NO_DRAFT = "none"
T = TypeVar("T")


def read_target(given: Named | T) -> str | T:
    """Return the name of a target that is given as a path; a name, or a loaded model, as it is.

    Raises
    ------
    OptionError
        If it is neither.
    """
    return _read_name("target", given, "a name, a folder or a loaded model", ("vocab_size",))


def read_draft(given: Named | T) -> str | T | None:
    """Likewise of a draft, which may also be a drafter; None for "none"."""
    if given is None or (isinstance(given, str) and given == NO_DRAFT):
        return None
    return _read_name("draft", given, "a name, a folder, a loaded model, a drafter or None", ("vocab_size", "propose"))


def _read_name(what: str, given: Named | T, rule: str, marks: Sequence[str]) -> str | T:
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if not isinstance(given, str) and not any(hasattr(given, mark) for mark in marks):
        raise OptionError(f"{what} is {quote(given)}; it must be {rule}. `minispec models` lists what is bundled")
    return given


def check_together(draft: str, options: Options) -> None:
    """Refuse a draft that is none, or cannot work with the options, before anything is loaded.

    Raises
    ------
    OptionError
        Naming a combination that does.
    """
    spec = parse_draft(draft)
    check_tree(spec, options, spec.text)


def check_tree(draft: DraftSpec | Drafter, options: Options, name: str) -> None:
    """Refuse a tree with options that are for chains; a drafter that says nothing of trees is taken for a chain.

    Raises
    ------
    OptionError
        Naming a combination that works.
    """
    if not getattr(draft, "is_tree", False):
        return
    verifier = get_verifier(options.verify)
    if not verifier.trees:
        raise OptionError(
            f"draft {name!r} proposes a tree, and the rule {verifier.name!r} judges chains. Try --verify tree"
        )
    if verifier.counts_siblings and not getattr(draft, "has_independent_siblings", True):
        raise OptionError(
            f"draft {name!r} has siblings that depend on each other, and the rule {verifier.name!r} judges "
            "independent ones. Try --draft tree:shape=4x2x1,siblings=with, or --verify tree"
        )
    shaped = f"draft {name!r} has a shape of its own, which"
    if type(get_policy(options.gamma)) is not FixedGamma:  # those that extend it ask for more or less
        gamma = options.gamma if isinstance(options.gamma, str) else getattr(options.gamma, "name", "of an object")
        raise OptionError(f"{shaped} gamma {gamma!r} cannot change. Try --gamma 3")
    if options.fallback != "off":
        raise OptionError(f"{shaped} fallback {options.fallback!r} cannot change. Try --fallback off")


def build_constraint(options: Options, target: LanguageModel) -> Constraint | None:
    """Return what the options say about the form of the text, or None.

    Raises
    ------
    OptionError
        If the target lacks what a form needs.
    """
    if options.regex is None and options.json_schema is None:
        return None
    tokenizer: Tokenizer | None = getattr(target, "tokenizer", None)
    if tokenizer is None or not target.eos_token_id:
        raise OptionError(
            f"a regex or JSON schema needs a tokenizer and an end-of-text token, and {target.name} lacks one of them"
        )
    from minispec.engine.sampling.constraint import Constraint

    kind = "json_schema" if options.regex is None else "regex"
    form = options.regex or options.json_schema or ""
    return Constraint(
        form=form, kind=kind, tokenizer=tokenizer, eos_token_id=target.eos_token_id, vocab_size=target.vocab_size
    )


def find_draft_model(drafter: Drafter | None) -> LanguageModel | None:
    """Return the model of a drafter that has one."""
    session = getattr(drafter, "session", None)
    return None if session is None else session.model


def find_setting(model: LanguageModel | None, what: str, asked: str) -> str:
    """Return the ``what`` that a model really runs with: a loaded one may differ from what the options ask for."""
    value = getattr(model, what, asked)
    return str(getattr(value, "name", value))


def encode_prompt(prompt: str | Sequence[int], target: LanguageModel) -> list[int]:
    """Return the prompt's token ids.

    Raises
    ------
    PromptError
        If there is none, one is not of the target's vocabulary, or they fill its context.
    """
    if isinstance(prompt, (bytes, bytearray)) or not isinstance(prompt, Iterable):
        raise PromptError(f"the prompt is {quote(prompt)}; it must be a text or a list of token ids")
    if isinstance(prompt, str):
        tokenizer: Tokenizer | None = getattr(target, "tokenizer", None)
        if tokenizer is None:
            raise PromptError(f"the prompt is text, but {target.name} has no tokenizer. Give token ids")
        tokens = tokenizer.encode_prompt(prompt)
    else:
        tokens = [_read_token(token) for token in prompt]
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
            f"token id {quote(outside)} is outside the vocabulary of {target.name}; ids go from 0 to "
            f"{target.vocab_size - 1}"
        )
    return tokens


def _read_token(token: object) -> int:
    if not is_whole(token):
        raise PromptError(f"a token id of the prompt is {quote(token)}; it must be a whole number")
    return int(token)
