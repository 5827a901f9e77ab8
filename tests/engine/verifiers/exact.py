"""The exact output law of one step of a rule: draft, verify, continue from the target. No sampling anywhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispec.engine.laws.enumerator import Enumerator
from minispec.engine.noise import Coins, Noise
from minispec.engine.records import Draft, Verdict
from minispec.engine.verifiers import Verify

Row = NDArray[np.float64]
ChainLaw = Callable[[tuple[int, ...]], Row]
Propose = Callable[[Coins], tuple[Draft, list[tuple[int, ...]]]]
"""Draws a draft; returns it with the drafted prefix that each target row follows."""

POSITION, STEP, LEVEL = 7, 3, 2


def frozen(values: object) -> Row:
    array = np.array(values, np.float64)
    array.flags.writeable = False
    return array


def always(*probs: float) -> ChainLaw:
    """The same law after every prefix."""
    row = frozen(probs)
    return lambda prefix: row


def random_laws(seed: int, vocab: int, zeros: float = 0.0) -> ChainLaw:
    """Another law after every prefix; each token is impossible with probability ``zeros``."""

    def law(prefix: tuple[int, ...]) -> Row:
        rng = np.random.default_rng([seed, len(prefix), *prefix])
        weights = rng.gamma(0.7, size=vocab) * (rng.random(vocab) >= zeros)
        if not weights.sum() > 0:
            weights[rng.integers(vocab)] = 1.0
        return frozen(weights / weights.sum())

    return law


# ── drafts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def chain(draft_law: ChainLaw, gamma: int, stop: Callable[[tuple[int, ...]], bool] = lambda prefix: False) -> Propose:
    """Draw up to ``gamma`` tokens, fewer where ``stop`` says so about the prefix drawn so far."""

    def propose(coins: Coins) -> tuple[Draft, list[tuple[int, ...]]]:
        tokens: tuple[int, ...] = ()
        rows: list[Row] = []
        while len(tokens) < gamma and not stop(tokens):
            rows.append(draft_law(tokens))
            tokens += (coins.draft(len(tokens), rows[-1]),)
        probs = frozen(rows if rows else np.empty((0, len(draft_law(())))))
        return Draft(tokens, probs), [tokens[:i] for i in range(len(tokens) + 1)]

    return propose


Siblings = Callable[[Row, list[int]], Row]
"""What the next sibling is drawn from, given the draft's law and the siblings drawn before."""


def independent(law: Row, before: list[int]) -> Row:
    return law


def without_replacement(law: Row, before: list[int]) -> Row:
    """Sequoia: the renormalised rest; uniform over untried tokens where nothing is left."""
    rest = np.array(law)
    rest[before] = 0.0
    if rest.sum() == 0.0:
        rest[[x for x in range(len(law)) if x not in before]] = 1.0
    return frozen(rest / rest.sum())


def likeliest(law: Row, before: list[int]) -> Row:
    """Deterministic: the k-th sibling is the k-th likeliest token."""
    return frozen(np.eye(len(law))[np.argsort(-law, kind="stable")[len(before)]])


def tree(draft_law: ChainLaw, parents: tuple[int, ...], siblings: Siblings) -> Propose:
    def propose(coins: Coins) -> tuple[Draft, list[tuple[int, ...]]]:
        prefixes: list[tuple[int, ...]] = [()]
        tokens: list[int] = []
        rows: list[Row] = []
        for node, parent in enumerate(parents):
            before = [tokens[i] for i in range(node) if parents[i] == parent]
            prefix = prefixes[parent + 1]
            rows.append(siblings(draft_law(prefix), before))
            tokens.append(coins.draft(len(prefix), rows[-1], node=node))
            prefixes.append((*prefix, tokens[-1]))
        return Draft(tuple(tokens), frozen(rows), parents), prefixes

    return propose


# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge(verify: Verify, target: ChainLaw, propose: Propose, noise: Noise) -> tuple[tuple[int, ...], Verdict]:
    """One step: what it emits, and the verdict."""
    coins = Coins(noise, position=POSITION, step=STEP, level=LEVEL)
    draft, prefixes = propose(coins)
    target_probs = frozen([target(prefix) for prefix in prefixes])
    verdict = verify(draft, target_probs, coins)
    assert len(verdict.accepted) == verdict.num_accepted
    return (*(draft.tokens[i] for i in verdict.accepted), verdict.next_token), verdict


def emitted_law(verify: Verify, target: ChainLaw, propose: Propose) -> dict[tuple[int, ...], float]:
    return Enumerator(lambda noise: judge(verify, target, propose, noise)[0]).law()


def expected_length(verify: Verify, target: ChainLaw, propose: Propose) -> float:
    """E[number of accepted drafts] of the rule as it runs."""
    return sum(prob * (len(tokens) - 1) for tokens, prob in emitted_law(verify, target, propose).items())


def target_joint(target: ChainLaw, length: int, prefix: tuple[int, ...] = ()) -> dict[tuple[int, ...], float]:
    """The target's law of the ``length`` tokens after ``prefix``."""
    vocab = range(len(target(())))
    joint = {}
    for tokens in itertools.product(vocab, repeat=length):
        factors = (target((*prefix, *tokens[:i]))[token] for i, token in enumerate(tokens))
        joint[tokens] = float(np.prod([*factors, 1.0]))
    return joint


def output_joint(verify: Verify, target: ChainLaw, propose: Propose, length: int) -> dict[tuple[int, ...], float]:
    """The law of the first ``length`` tokens: one step of the rule, then exactly from the target."""
    joint: dict[tuple[int, ...], float] = {}
    for tokens, prob in emitted_law(verify, target, propose).items():
        assert len(tokens) <= length
        for rest, rest_prob in target_joint(target, length - len(tokens), tokens).items():
            joint[tokens + rest] = joint.get(tokens + rest, 0.0) + prob * rest_prob
    return joint


def distance(verify: Verify, target: ChainLaw, propose: Propose, length: int) -> float:
    """Total variation between the rule's law of ``length`` tokens and the target's."""
    output, exact = output_joint(verify, target, propose, length), target_joint(target, length)
    return 0.5 * sum(abs(output.get(tokens, 0.0) - prob) for tokens, prob in exact.items())


# ── hypothesis ──────────────────────────────────────────────────────────────────────────────────────────────────────

_EDGES = st.sampled_from([0.0, 0.0, 5e-324, 1e-310, 1e-200, 1e-17, 1e-8, 0.25, 0.5, 1.0])


def rows(vocab: int) -> st.SearchStrategy[Row]:
    """Distributions with zeros, ties, one-hots and probabilities down to the smallest subnormal."""
    weights = st.lists(_EDGES | st.floats(0.0, 1.0), min_size=vocab, max_size=vocab).filter(lambda w: sum(w) > 0.0)
    one_hot = st.integers(0, vocab - 1).map(lambda x: [float(i == x) for i in range(vocab)])
    return (weights | one_hot).map(lambda w: frozen(np.array(w) / sum(w)))


@st.composite
def laws(draw: st.DrawFn, vocab: int, depth: int) -> ChainLaw:
    """A law after every prefix of at most ``depth`` tokens."""
    prefixes = [prefix for n in range(depth + 1) for prefix in itertools.product(range(vocab), repeat=n)]
    table = {prefix: draw(rows(vocab)) for prefix in prefixes}
    return table.__getitem__


@st.composite
def pairs(draw: st.DrawFn, max_vocab: int = 3, max_gamma: int = 2) -> tuple[ChainLaw, ChainLaw, int]:
    """A target, a draft (now and then the same one), and gamma."""
    vocab, gamma = draw(st.integers(1, max_vocab)), draw(st.integers(0, max_gamma))
    target = draw(laws(vocab, gamma))
    return target, draw(st.just(target) | laws(vocab, gamma)), gamma
