"""A draft model with another tokenizer: its text is what it proposes.

The committed tokens become text, the draft model continues the text in its own tokens, and its continuation is encoded
again with the target's tokenizer (as in Timor et al. 2025, "string-level exact match"). The result is proposed with
**one-hot rows**. That is lossless under every lossless rule: given the committed text, the proposal is a function of
the draft's own noise, which no random draw of the verification shares; for each value of that noise the drafter is a
deterministic one, for which the rule is exact; and an average of exact distributions is exact.

What it costs: an acceptance of sum p q instead of sum min(p, q), because the probability with which a string of target
tokens was drawn is a sum over all its spellings in draft tokens, which would be expensive. A proposal may also end
early, at an incomplete character, or differ from the target's own spelling of the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from minispec.engine.drafters.base import MoreTokens, Slots
from minispec.engine.drafters.model import ModelDrafter
from minispec.engine.drafters.ngram import copy_draft
from minispec.engine.model.asks import Asks
from minispec.engine.model.session import Session, count_shared
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.engine.sampling import SamplingParams


class Spelling(Protocol):
    """What this needs of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token."""
        ...

    @property
    def longest_token(self) -> int:
        """Bytes of the longest token."""
        ...

    def count_most(self, num_bytes: int) -> int:
        """Return the most tokens that a text of so many bytes has."""
        ...


class TranslatingDrafter:
    """Proposes the text of a draft model that has a tokenizer of its own.

    Parameters
    ----------
    session : Session
        The draft model's own session, in its own tokens.
    params : SamplingParams
        Penalties and constraints speak of the target's tokens and are left to the verification.
    draft_tokenizer, target_tokenizer : Spelling
    vocab_size : int
        The target's.
    """

    def __init__(
        self,
        session: Session,
        params: SamplingParams,
        draft_tokenizer: Spelling,
        target_tokenizer: Spelling,
        vocab_size: int,
    ) -> None:
        self._drafter = ModelDrafter(session, params)
        self._draft_tokenizer = draft_tokenizer
        self._target_tokenizer = target_tokenizer
        self._vocab_size = vocab_size

    @property
    def session(self) -> Session:
        """The draft model's session."""
        return self._drafter.session

    def count_slots(self, tokens: Sequence[int], length: int, gamma: int) -> Slots:
        """Return the slots of the text, and those of the longest that it may be in tokens of the draft model's."""
        ours = self._target_tokenizer
        num_bytes = sum(len(ours.token_bytes(token)) for token in tokens) + (length - len(tokens)) * ours.longest_token
        return Slots(length, self._draft_tokenizer.count_most(num_bytes) + gamma)

    def prefill(self, tokens: Sequence[int]) -> Asks[None]:
        """Feed the draft model the prompt in its own tokens."""
        text = self._text(tokens)
        if text is not None:
            yield from self._drafter.prefill(self._draft_tokenizer.encode(text)[:-1])

    def propose(self, tokens: Sequence[int], gamma: int, coins: Coins, more: MoreTokens) -> Asks[Draft]:
        """Draft ``gamma`` tokens of the draft model and propose at most ``gamma`` tokens of their text."""
        text = self._text(tokens)
        context = [] if text is None else self._draft_tokenizer.encode(text)
        if text is None or not context:
            return copy_draft([], self._vocab_size)
        # The text may be spelt differently as it grows: keep what agrees, and one token pending.
        session = self._drafter.session
        session.rollback(min(count_shared(session.tokens, context), len(context) - 1))
        own = replace(coins, position=len(context))  # the draft model counts in tokens of its own
        drafted = yield from self._drafter.propose(context, gamma, own, more)
        continuation = _decode_complete(b"".join(map(self._draft_tokenizer.token_bytes, drafted.tokens)))
        return copy_draft(self._respell(tokens, text, continuation)[:gamma], self._vocab_size)

    def rollback(self, length: int) -> None:
        """Nothing to do: each proposal finds what its cache shares with the text."""

    def _text(self, tokens: Sequence[int]) -> str | None:
        """Return the text of target tokens, or None where it ends inside a character."""
        content = b"".join(map(self._target_tokenizer.token_bytes, tokens))
        text = _decode_complete(content)
        return None if len(text.encode()) != len(content) else text

    def _respell(self, tokens: Sequence[int], text: str, continuation: str) -> list[int]:
        """Return target tokens for the continuation: as the whole text is spelt if that extends what is committed."""
        if not continuation:
            return []
        whole = self._target_tokenizer.encode(text + continuation)
        if whole[: len(tokens)] == list(tokens):
            return whole[len(tokens) :]
        return self._target_tokenizer.encode(continuation)


def _decode_complete(content: bytes) -> str:
    """Decode up to the first byte that is not part of a complete UTF-8 character."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content[: error.start].decode("utf-8")
