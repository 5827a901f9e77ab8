"""Rules one step at a time: their coins, what they say of them, and what comes of them, from formulas and fractions."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np

from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.noise import Coins
from minispec.engine.records import Draft
from minispec.engine.verifiers import expected, get_verifier, gumbel, typical
from minispec.errors import InvariantError
from tests.engine.laws import space
from tests.engine.laws.theory import race_lost
from tests.engine.verifiers import exact

from .base import CHECKS, Check, check

CHECKS["law of k-seq"] = Check(
    "law",
    "the exact law of two tokens of four, two siblings at each node: tree | k-seq",
    functools.partial(space.tree_distance, "kseq", "2", "with"),
)


@check("law", "the exact law of three tokens of three where a tree of two levels is judged by traversal verification")
def law_of_traversal() -> float:
    verify, target, draft = get_verifier("traversal").verify, exact.random_laws(0, 3), exact.random_laws(100, 3)
    return max(
        exact.distance(verify, target, exact.tree(draft, (-1, -1, 0, 0, 1), siblings), 3)
        for siblings in (exact.independent, exact.without_replacement, exact.likeliest)
    )


_P, _Q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])


def _judged_law(rule: str, p, q) -> dict[int, float]:
    """The law of the first token of a step that drafts one from q."""
    verify = get_verifier(rule).verify

    def run(noise):
        coins = Coins(noise, position=0)
        token = coins.draft(0, q)
        verdict = verify(Draft((token,), q[None]), np.array([p, p]), coins)
        return token if verdict.num_accepted else verdict.next_token

    return Enumerator(run).law()


@check("law", "what a lenient and a typical rule make of p and q, against their papers' formulas")
def law_of_lossy_rules() -> float:
    worst = 0.0
    for p, q in ((_P, _Q), (_Q, _P), (np.array([0.75, 0.25, 0.0, 0.0]), np.array([0.25, 0.5, 0.25, 0.0]))):
        for lenience in (1.0, 0.5, 0.1):
            kept = np.minimum(p / lenience, q)
            missing = np.maximum(p - q, 0.0)
            wanted = kept + (1.0 - kept.sum()) * missing / missing.sum()
            found = _judged_law(f"lenient:lenience={lenience}", p, q)
            worst = max(worst, total_variation(found, dict(enumerate(wanted))))
        for epsilon, delta in ((0.25, 0.99), (0.09, 0.3), (0.4, 0.6)):
            support = p[p > 0.0]
            certain = p > min(epsilon, delta * float(np.prod(support**support)))  # exp(-H) = prod p**p
            wanted = q * certain + float(q[~certain].sum()) * p
            found = _judged_law(f"typical:epsilon={epsilon},delta={delta}", p, q)
            worst = max(worst, total_variation(found, dict(enumerate(wanted))))
    return worst


class Reluctant:
    """Says no to every coin, and writes down its probability."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def bernoulli(self, prob, at):
        self.asked.append(float(prob))
        return False

    def categorical(self, probs, at):
        return int(np.argmax(probs))


_NEARLY_ONE = Fraction(1999, 2000)


def _block_coins(p, q, tokens) -> list[Fraction]:
    """The coins of block verification, the longest prefix first, in fractions."""
    survived, coins = [Fraction(1)], []
    for i, token in enumerate(tokens):
        survived.append(min(Fraction(1), survived[i] * p[i][token] / q[i][token]))
    for kept in range(len(tokens), 0, -1):
        missing = (
            sum(max(survived[kept] * a - b, Fraction(0)) for a, b in zip(p[kept], q[kept], strict=True))
            if kept < len(tokens)
            else None
        )
        if missing is None:
            coins.append(survived[kept])
        else:
            coins.append(Fraction(1) if survived[kept] == 1 else missing / (missing + 1 - survived[kept]))
    return coins


@check("value", "block verification's coins, in fractions: one survival is 0.9995, one is 1")
def coins_of_block() -> float:
    half, third = Fraction(1, 2), Fraction(1, 3)
    rows = [
        ([half * _NEARLY_ONE, 1 - half * _NEARLY_ONE], [half, half]),
        ([third, 1 - third], [half, half]),
        ([1 - third, third], [third, 1 - third]),
        ([half, half], [half, half]),
    ]
    worst = 0.0
    for order, tokens in itertools.product(itertools.permutations(rows, 3), itertools.product((0, 1), repeat=3)):
        p, q = [row for row, _ in order], [row for _, row in order]
        noise = Reluctant()
        target = np.array([*p, [half, half]], float)
        verdict = get_verifier("block").verify(Draft(tokens, np.array(q, float)), target, Coins(noise, position=0))
        wanted = _block_coins(p, q, tokens)
        worst = max(worst, *(abs(found - float(coin)) for found, coin in zip(noise.asked, wanted, strict=True)))
        worst = max(worst, abs(verdict.accept_probs[-1] - float(wanted[0])), float(len(verdict.accept_probs) != 3))
    return worst if worst > 1e-12 else 0.0


@check("value", "the probabilities a verdict reports are those of the coins that were thrown")
def reported_coins() -> float:
    wrong = 0
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 4)
    tree = Draft((1, 3, 2), np.array([_Q, _Q, _Q]), (-1, -1, -1))
    for rule, draft in itertools.product(
        ("rejection", "lenient:lenience=0.6", "typical", "tree", "kseq"), (None, tree)
    ):
        if draft is None or get_verifier(rule).trees:
            noise = Reluctant()
            verdict = get_verifier(rule).verify(
                draft or Draft((2, 1, 0), rows[:3]), np.array([_P, *rows[1:]]), Coins(noise, 0)
            )
            wrong += verdict.accept_probs != tuple(noise.asked) or len(noise.asked) != (1 if draft is None else 3)
    return float(wrong)


@check("value", "the expected length of each rule's survival is that of the rule itself, by enumeration")
def expected_lengths() -> float:
    tables = [np.random.default_rng(seed).dirichlet(np.ones(3), 4) for seed in (1, 2)]
    target, draft = (lambda prefix, rows=rows: rows[0 if not prefix else 1 + prefix[-1]] for rows in tables)
    worst = 0.0
    for rule in ("rejection", "block", "match", "lenient:lenience=0.5", "typical:epsilon=0.3,delta=0.9", "tree"):
        verifier = get_verifier(rule)

        def run(noise, verify=verifier.verify):
            coins, tokens, q = Coins(noise, position=0), (), []
            for i in range(2):
                q.append(draft(tokens))
                tokens += (coins.draft(i, q[-1]),)
            p = np.array([target(tokens[:i]) for i in range(3)])
            return verify(Draft(tokens, np.array(q)), p, coins).num_accepted

        mean = sum(kept * prob for kept, prob in Enumerator(run).law().items())
        worst = max(worst, abs(mean - expected.expected_accepted(verifier.survival, target, draft, 2)))
    return worst if worst > 1e-12 else 0.0


@check("value", "coupled races agree as often as the formula says, against the race's own law")
def acceptance_of_coupled_races() -> float:
    rows = [*np.random.default_rng(3).dirichlet(np.ones(4), 4), np.array([0.5, 0.5, 0.0, 0.0])]
    off = (
        abs(gumbel.acceptance_probability(p, q) - (1.0 - race_lost(p, q))) for p, q in itertools.permutations(rows, 2)
    )
    return float(sum(each > 1e-9 for each in off))


@check("value", "the threshold of typical acceptance, of flat, peaked and certain rows")
def typical_thresholds() -> float:
    rows = {(0.25,) * 4: 0.075, (1.0, 0.0): 0.09, (0.5, 0.5, 0.0): 0.09, (0.125,) * 8: 0.0375}
    return float(sum(abs(typical.threshold(np.array(p), epsilon=0.09, delta=0.3) - t) > 1e-12 for p, t in rows.items()))


@check("counter", "drafts that no drafter can have made are refused by every rule")
def impossible_drafts() -> float:
    accepted = 0
    never = Draft((0, 1), np.array([[0.5, 0.5], [1.0, 0.0]]))
    backwards = Draft((0, 1), np.full((2, 2), 0.5), (1, -1))
    siblings = Draft((0, 1), np.array([[0.5, 0.5], [0.25, 0.75]]), (-1, -1))
    cases = [(rule, never) for rule in ("rejection", "block", "gumbel", "lenient", "typical", "tree", "kseq")]
    cases += [(rule, siblings) for rule in ("rejection", "block", "gumbel", "lenient", "typical", "kseq")]
    cases += [(rule, backwards) for rule in ("match", "tree", "kseq")]

    class Agreeable(Reluctant):
        """Says yes to every coin."""

        def bernoulli(self, prob, at):
            return True

    for rule, draft in cases:
        try:
            get_verifier(rule).verify(draft, np.full((3, 2), 0.5), Coins(Agreeable(), position=0))
            accepted += 1
        except InvariantError:
            pass
    return float(accepted)
