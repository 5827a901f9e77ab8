"""Several candidates for one position: the bound against every cut and a maximal flow, K-SEQ against enumeration."""

from __future__ import annotations

import itertools
import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.verifiers.tree import acceptance_probability as multi_round
from minispec.errors import OptionError
from minispec.theory import acceptance_probability, k_seq_acceptance, k_seq_divisor, optimal_acceptance

ROUNDING = 1e-9
P, Q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.5, 0.1, 0.2])


@st.composite
def rows(draw: st.DrawFn, size: int) -> np.ndarray:
    """A law; some of its probabilities are 0."""
    weights = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 2.0, 7.0]), min_size=size, max_size=size).filter(any))
    return np.array(weights) / sum(weights)


pairs = st.integers(2, 4).flatmap(lambda size: st.tuples(rows(size), rows(size)))


def smallest_cut(p, q, count):
    """min over every set H of tokens of p(H) + 1 - q(H)**K."""
    subsets = itertools.chain.from_iterable(itertools.combinations(range(len(p)), n) for n in range(len(p) + 1))
    return min(p[list(h)].sum() + 1.0 - q[list(h)].sum() ** count for h in subsets)


def largest_flow(p, q, count):
    """The transport problem itself: sets of candidates on one side, tokens on the other, Edmonds and Karp between."""
    capacity: dict[object, dict[object, float]] = {"source": {}, "sink": {}}

    def edge(a: object, b: object, amount: float) -> None:
        capacity.setdefault(a, {})[b] = capacity.setdefault(a, {}).get(b, 0.0) + amount
        capacity.setdefault(b, {}).setdefault(a, 0.0)

    for drawn in itertools.product(range(len(q)), repeat=count):
        edge("source", drawn, math.prod(float(q[x]) for x in drawn))
        for x in set(drawn):
            edge(drawn, x, 1.0)
    for x, amount in enumerate(p):
        edge(x, "sink", float(amount))
    total = 0.0
    while True:
        before: dict[object, object] = {"source": "source"}
        queue: deque[object] = deque(["source"])
        while queue and "sink" not in before:
            here = queue.popleft()
            for there, left in capacity[here].items():
                if left > 1e-15 and there not in before:
                    before[there] = here
                    queue.append(there)
        if "sink" not in before:
            return total
        path: list[object] = ["sink"]
        while path[-1] != "source":
            path.append(before[path[-1]])
        hops = list(itertools.pairwise(reversed(path)))
        amount = min(capacity[a][b] for a, b in hops)
        for a, b in hops:
            capacity[a][b] -= amount
            capacity[b][a] += amount
        total += amount


@given(pairs, st.integers(1, 4))
def test_the_bound_is_the_smallest_of_all_cuts(pair, count):
    assert optimal_acceptance(*pair, count) == pytest.approx(smallest_cut(*pair, count), abs=ROUNDING)


@given(pairs, st.integers(1, 3))
def test_the_bound_is_reached(pair, count):
    """Max-flow = min-cut, run: a coupling transports exactly as much as the bound says."""
    assert optimal_acceptance(*pair, count) == pytest.approx(largest_flow(*pair, count), abs=ROUNDING)


def wrong_order(p, q, count):
    """The cut over sets of the *largest* p / q: what a sort turned round would compute."""
    order = np.argsort(-p / q)
    of_p, of_q = (np.concatenate([[0.0], np.cumsum(row[order])]) for row in (p, q))
    return (of_p + 1.0 - of_q**count).min()


def test_wrong_bounds_are_told_apart():
    """Negative control: the product formula, and the sets in the wrong order, miss the flow."""
    flow = largest_flow(P, Q, 2)
    assert flow == pytest.approx(0.86, abs=ROUNDING)
    assert abs(1 - (1 - acceptance_probability(P, Q)) ** 2 - flow) > 0.01
    assert abs(wrong_order(P, Q, 2) - flow) > 0.01


def test_the_product_formula_lies_on_either_side_of_what_can_be_reached():
    """With other words: 1 - (1 - alpha)**K bounds nothing."""
    p, q = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    assert optimal_acceptance(p, q, 2) == pytest.approx(0.85)
    assert 1 - (1 - acceptance_probability(p, q)) ** 2 == pytest.approx(0.84)
    assert optimal_acceptance(P, Q, 2) == pytest.approx(0.86)
    assert 1 - (1 - acceptance_probability(P, Q)) ** 2 == pytest.approx(0.8775)


@given(pairs, st.integers(1, 4))
def test_rules_are_ordered(pair, count):
    """One candidate, then K-SEQ and multi-round rejection, then the bound; K-SEQ within 1 - (1 - 1/K)**K of it."""
    p, q = pair
    best, k_seq = optimal_acceptance(p, q, count), k_seq_acceptance(p, q, count)
    assert acceptance_probability(p, q) <= k_seq + ROUNDING
    assert k_seq <= best + ROUNDING
    assert multi_round(p, [q] * count) <= best + ROUNDING
    assert k_seq >= (1 - (1 - 1 / count) ** count) * best - ROUNDING


@given(pairs, st.integers(1, 3))
def test_k_seq_emits_the_target(pair, count):
    """Every candidate, every coin: the law of the emitted token is p, and the acceptance what the formula says."""
    p, q = pair
    law, accepted = k_seq_law(p, q, count, k_seq_divisor(p, q, count))
    assert law == pytest.approx(p, abs=1e-7)
    assert accepted == pytest.approx(k_seq_acceptance(p, q, count), abs=1e-7)


def k_seq_law(p, q, count, rho):
    """Enumerate: the first candidate that passes is emitted, otherwise p - min(p, rho q), normalised."""
    passes = np.minimum(1.0, np.divide(p, rho * q, out=np.zeros_like(p), where=q > 0.0))
    law, none = np.zeros(len(p)), 0.0
    for drawn in itertools.product(np.flatnonzero(q), repeat=count):
        left = math.prod(float(q[x]) for x in drawn)
        for x in drawn:
            law[x] += left * passes[x]
            left *= 1.0 - passes[x]
        none += left
    accepted = float(law.sum())
    missing = p - np.minimum(p, rho * q)
    if missing.sum() > 1e-12:
        law += none * missing / missing.sum()
    return law, accepted


def test_another_divisor_would_bias():
    """Negative control: with rho = 1 the best candidates are accepted too often, with rho = K too rarely."""
    for rho in (1.0, 2.0):
        law, _ = k_seq_law(P, Q, 2, rho)
        assert np.abs(law - P).sum() / 2 > 0.005


def test_published_figures():
    """The example of the project's own tables: K-SEQ's divisor and acceptance, and the bound, for K = 1, 2, 3."""
    assert [k_seq_divisor(P, Q, k) for k in (1, 2, 3)] == pytest.approx([1, 1.4603, 1.7926], abs=5e-5)
    assert [k_seq_acceptance(P, Q, k) for k in (1, 2, 3)] == pytest.approx([0.65, 0.7881, 0.8585], abs=5e-5)
    assert [optimal_acceptance(P, Q, k) for k in (1, 2, 3)] == pytest.approx([0.65, 0.86, 0.988], abs=5e-5)


def test_edges():
    nothing_in_common = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert (optimal_acceptance(*nothing_in_common, 3), k_seq_acceptance(*nothing_in_common, 3)) == (0.0, 0.0)
    assert optimal_acceptance(P, P, 2) == pytest.approx(1.0)
    assert k_seq_acceptance(P, P, 1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: optimal_acceptance(P, Q, 0), "candidates is 0"),
        (lambda: optimal_acceptance(P, Q[:2], 2), "(2,)"),
        (lambda: k_seq_divisor(P, Q, 1.5), "candidates is 1.5"),
        (lambda: k_seq_acceptance(P[None], Q[None], 2), "(1, 4)"),
        (lambda: k_seq_acceptance(2 * P, Q, 2), "with sum 2"),
        (lambda: optimal_acceptance(P, P * np.nan, 2), "draft's probabilities"),
    ],
)
def test_bad_input_is_one_line_with_the_value(call, named):
    with pytest.raises(OptionError) as caught:
        call()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
