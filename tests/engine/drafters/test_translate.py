"""A draft model with another tokenizer: lossless because its proposal is a function of its own noise alone."""

from __future__ import annotations

from minispec.engine.drafters import ModelDrafter, TranslatingDrafter
from minispec.engine.drafters.base import allow_all
from minispec.engine.laws import Enumerator
from minispec.engine.model import Session
from minispec.engine.model.asks import answer
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Coins
from minispec.engine.noise.philox import PhiloxNoise
from tests.engine.generation.tiny import byte_tokenizer

from .laws import PLAIN, drafted_run, propose


class Greedy:
    """A tokenizer that takes the longest token that fits: merges without a merge list."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def encode(self, text):
        content, tokens = text.encode(), []
        while content:
            token = max((t for t in self.vocabulary if t and content.startswith(t)), key=len)
            tokens.append(self.vocabulary.index(token))
            content = content[len(token) :]
        return tokens

    def token_bytes(self, token):
        return self.vocabulary[token]


TARGET = Greedy([b"a", b"b", b"ab"])
DRAFT = Greedy([b"b", b"a", b"ba", b"aa"])


def new_drafter(seed=2, window=64, params=PLAIN):
    return TranslatingDrafter(Session(TableModel(4, window, seed=seed)), params, DRAFT, TARGET, 3)


def test_proposals_do_vary_with_the_noise():
    """Else its law, which `tests/engine/laws` enumerates, would say nothing new."""
    law = Enumerator(lambda noise: propose(new_drafter(), [0, 1], 2, noise).tokens).law()
    assert len(law) > 3


def test_what_is_proposed_spells_the_drafts_text():
    for seed in range(20):
        draft = propose(new_drafter(seed), [0, 1, 2], 3, PhiloxNoise(seed))
        assert 1 <= len(draft) <= 3
        assert draft.probs.shape == (len(draft), 3)
        assert all(draft.probs[i, token] == 1.0 for i, token in enumerate(draft.tokens))
        inner = propose_inner(seed)
        text = b"".join(map(DRAFT.token_bytes, inner.tokens))
        assert text.startswith(b"".join(map(TARGET.token_bytes, draft.tokens)))


def propose_inner(seed):
    context = DRAFT.encode("abab")
    return propose(ModelDrafter(Session(TableModel(4, 64, seed=seed)), PLAIN), context, 3, PhiloxNoise(seed))


def test_a_text_that_is_spelt_differently_as_it_grows_leaves_nothing_stale():
    """ "a" + "b" + "a" is a, ba in draft tokens, but "aab" begins with aa: the cache must follow."""
    for seed in range(10):
        drafter = new_drafter(seed)
        for step, tokens in enumerate([[0], [0, 0], [0, 1], [0, 2, 0], [0, 2, 0, 1], [2, 2]]):
            coins = Coins(PhiloxNoise(seed), position=len(tokens), step=step)
            again, fresh = (answer(each.propose(tokens, 3, coins, allow_all)) for each in (drafter, new_drafter(seed)))
            assert again.tokens == fresh.tokens
            context = DRAFT.encode(b"".join(map(TARGET.token_bytes, tokens)).decode())
            assert drafter.session.tokens[: len(context)] == context


def test_a_perfect_translation_is_accepted():
    """Two tokenizers that differ in the order of their ids, and two models that say the same: all is accepted."""
    mirrored = Greedy([b"b", b"a"])
    target = TableModel(2, table={p: (1.0, 0.0) if len(p) % 2 else (0.0, 1.0) for p in _prefixes(2, 12)})
    draft = TableModel(2, table={p: (0.0, 1.0) if len(p) % 2 else (1.0, 0.0) for p in _prefixes(2, 12)})
    drafter = TranslatingDrafter(Session(draft), PLAIN, mirrored, Greedy([b"a", b"b"]), 2)
    generation = drafted_run(target, lambda _: drafter, (0,), PLAIN, 10)
    assert generation.metrics.draft_acceptance_rate == 1.0


def _prefixes(vocab_size, length):
    words = [()]
    for _ in range(length):
        words = [*words, *((*word, x) for word in words if len(word) == len(words[-1]) for x in range(vocab_size))]
    return words


def test_text_inside_a_character_is_left_alone():
    euro = Greedy([b"\xe2", b"\x82\xac", b"a"])
    drafter = TranslatingDrafter(Session(TableModel(4)), PLAIN, DRAFT, euro, 3)
    assert propose(drafter, [2, 0], 3).tokens == ()


def test_an_unfinished_character_is_not_proposed():
    halves = Greedy([b"\xc3", b"a"])
    row = dict.fromkeys([(1,), (1, 0), (1, 0, 0)], (1.0, 0.0))
    drafter = TranslatingDrafter(Session(TableModel(2, table=row)), PLAIN, halves, Greedy([b"a"]), 1)
    assert propose(drafter, [0], 2).tokens == ()


def test_edges():
    assert propose(new_drafter(), [0, 1], 0).probs.shape == (0, 3)
    assert propose(new_drafter(window=1), [0, 1, 0], 3).tokens == ()
    special = TranslatingDrafter(Session(TableModel(4)), PLAIN, DRAFT, byte_tokenizer([b"a"], ["<|endoftext|>"]), 2)
    assert propose(special, [1], 3).tokens == ()  # no text to go on from
    assert len(propose(new_drafter(), [0, 1], 3, more=lambda row: 0)) == 0
