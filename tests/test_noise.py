"""Noise: uniform, independent, addressed, and as the race says. Statistical tests have fixed seeds, so they are red or
green for good; each states how likely a right generator would have been to fail it when it was written.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispec.engine.noise import Address, Coins, race
from minispec.engine.noise.philox import PhiloxNoise
from minispec.errors import InvariantError, OptionError
from tests.audited_noise import AuditedNoise

PURPOSES = ("sample", "draft", "accept", "residual", "bonus")
SIX_SIGMA = 6.0  # |normal| > 6 has probability 2e-9
HALF = 0.5


def uniform(noise, at):
    """The uniform behind an address to 20 bits, read through ``bernoulli`` alone (u < prob, by bisection)."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if noise.bernoulli(middle, at) else (middle, high)
    return (low + high) / 2


def chi_square_is_fine(counts, expected):
    """Chi-square within six standard deviations of its mean; with 50+ expected per cell the normal approximation puts
    a false alarm below 1e-6 (Wilson-Hilferty)."""
    statistic, freedom = float((np.square(counts - expected) / expected).sum()), len(counts) - 1
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))
    return abs(z) < 5.0  # two-sided 6e-7: too good a fit is an alarm as well


def bits(seed, addresses, row=0):
    noise = PhiloxNoise(seed, row)
    return np.array([noise.bernoulli(HALF, at) for at in addresses])


def test_bernoulli_is_uniform():
    """u over 4,000 addresses in 16 cells; false alarm 6e-7."""
    noise = PhiloxNoise(1)
    values = [uniform(noise, Address("accept", i, i // 3)) for i in range(4000)]
    counts = np.bincount((np.array(values) * 16).astype(int), minlength=16)
    assert chi_square_is_fine(counts, np.full(16, 250.0))


@pytest.mark.parametrize("prob", [0.001, 0.1, 0.5, 0.9])
def test_bernoulli_frequency(prob):
    """Within six sigma over 20,000 addresses: false alarm 2e-9."""
    noise, count = PhiloxNoise(2), 20_000
    hits = sum(noise.bernoulli(prob, Address("accept", i)) for i in range(count))
    assert abs(hits - count * prob) < SIX_SIGMA * np.sqrt(count * prob * (1 - prob))


def test_bernoulli_of_certainties_never_errs():
    noise = PhiloxNoise(3)
    for i in range(200):
        assert noise.bernoulli(1.0, Address("accept", i)) is True
        assert noise.bernoulli(1.5, Address("accept", i)) is True
        assert noise.bernoulli(0.0, Address("accept", i)) is False


NEIGHBOURS = {
    "position": lambda i: (Address("accept", i), Address("accept", i + 1)),
    "step": lambda i: (Address("accept", 5, i), Address("accept", 5, i + 1)),
    "level": lambda i: (Address("accept", i, level=0), Address("accept", i, level=1)),
    "node": lambda i: (Address("accept", i, node=0), Address("accept", i, node=1)),
    "position against step": lambda i: (Address("accept", i, 7), Address("accept", 7, i + 10_000)),
    "level against node": lambda i: (Address("accept", i, level=1, node=2), Address("accept", i, level=2, node=1)),
    **{
        f"{a} against {b}": lambda i, a=a, b=b: (Address(a, i), Address(b, i))
        for a, b in itertools.combinations(PURPOSES, 2)
    },
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_addresses_that_differ_in_one_field_are_independent(name):
    """Agreement of 4,000 pairs of fair bits is within six sigma of one half: false alarm 2e-9 each."""
    pairs = [NEIGHBOURS[name](i) for i in range(4000)]
    agree = np.mean(bits(4, [a for a, _ in pairs]) == bits(4, [b for _, b in pairs]))
    assert abs(agree - 0.5) < SIX_SIGMA * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 256), (2**55, 2**55 + 1), (0, 2**56 - 1)])
def test_rows_of_one_seed_are_independent(a, b):
    addresses = [Address("accept", i) for i in range(4000)]
    agree = np.mean(bits(4, addresses, a) == bits(4, addresses, b))
    assert abs(agree - 0.5) < SIX_SIGMA * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 2**63), (2**63, 2**63 + 1), (2**64 - 2, 2**64 - 1)])
def test_seeds_are_independent(a, b):
    """Also neighbours above 2**53 and 2**63, where a detour through float64 would make them one."""
    addresses = [Address("draft", i) for i in range(4000)]
    agree = np.mean(bits(a, addresses) == bits(b, addresses))
    assert abs(agree - 0.5) < SIX_SIGMA * 0.5 / np.sqrt(4000)


address = st.builds(
    Address,
    st.sampled_from(PURPOSES),
    position=st.integers(0, 2**64 - 1) | st.integers(0, 3),
    step=st.integers(0, 2**64 - 1) | st.integers(0, 3),
    level=st.integers(0, 2**32 - 1) | st.integers(0, 3),
    node=st.integers(0, 2**32 - 1) | st.integers(0, 3),
)


def numpys_uniforms(seed, row, at, count):
    """What an address means, by NumPy's generator: seed, row and purpose are the key, the rest is the counter."""
    generator = np.random.Philox(
        key=np.array([seed, row << 8 | PURPOSES.index(at.purpose)], np.uint64),
        counter=np.array([0, at.position, at.step, at.level << 32 | at.node], np.uint64),
    )
    return (generator.random_raw(count) >> np.uint64(11)) * 2.0**-53


def numpys_race(seed, row, at, probs):
    """The race over all tokens, the finishing times side by side."""
    with np.errstate(divide="ignore", over="ignore"):
        times = -np.log1p(-numpys_uniforms(seed, row, at, len(probs))) / probs
    return int(np.argmin(times))


seeds = st.integers(0, 2**64 - 1) | st.integers(0, 3)
rows = st.integers(0, 2**56 - 1) | st.integers(0, 3)


@given(seeds, rows, address, st.integers(1, 70))
def test_the_stream_is_that_of_numpys_philox(seed, row, at, count):
    """Bit for bit, token by token, in whatever order it is read."""
    words = PhiloxNoise(seed, row)._words(at)
    with np.errstate(over="ignore"):  # additions around 2**64, where nothing is compiled
        found = [race.uniform(words, token) for token in reversed(range(count))]
    assert found[::-1] == numpys_uniforms(seed, row, at, count).tolist()


@given(seeds, rows, address, st.floats(0.0, 1.0))
def test_a_coin_is_the_first_uniform(seed, row, at, prob):
    assert PhiloxNoise(seed, row).bernoulli(prob, at) == (numpys_uniforms(seed, row, at, 1)[0] < prob)


@given(seeds, rows, address, st.integers(1, 300), st.integers(0, 2**32))
def test_the_winner_is_that_of_a_race_over_all_tokens(seed, row, at, size, shape):
    """Supports of every size, uneven masses. That two times differ by a rounding alone has probability 1e-13."""
    rng = np.random.default_rng(shape)
    probs = rng.dirichlet(np.full(size, rng.choice([0.05, 1.0])))
    probs[rng.permutation(size)[: rng.integers(0, size)]] = 0.0
    if probs.sum() > 0.0:
        probs /= probs.sum()
        assert PhiloxNoise(seed, row).categorical(probs, at) == numpys_race(seed, row, at, probs)


def test_only_what_is_certain_wins_without_a_race():
    """A token one step of rounding below 1 races; with 2**-12 for the other, that one wins where its noise says so."""
    ats = [Address("sample", i) for i in range(1 << 13)]
    noise, uneven = PhiloxNoise(1), np.array([1.0 - 2.0**-12, 2.0**-12])
    winners = [noise.categorical(uneven, at) for at in ats]
    assert winners == [numpys_race(1, 0, at, uneven) for at in ats]
    assert 0 < sum(winners) < 10
    noise._race = None
    assert noise.categorical(np.array([0.0, 1.0, 0.0]), ats[0]) == 1
    with pytest.raises(AttributeError):
        noise.categorical(np.array([0.0, np.nextafter(1.0, 0.0), 0.0]), ats[0])


def test_a_race_that_reads_its_neighbours_noise_is_noticed():
    """Negative control: with the noise of a token's neighbour, or of the address's, other tokens win."""
    probs = np.full(64, 1 / 64)
    ats = [Address("draft", i) for i in range(50)]
    right = [numpys_race(1, 0, at, probs) for at in ats]
    shifted = [int(np.argmin(numpys_uniforms(1, 0, at, 65)[1:])) for at in ats]
    moved = [numpys_race(1, 0, at._replace(position=at.position + 1), probs) for at in ats]
    assert sum(a == b for a, b in zip(right, shifted, strict=True)) < 10
    assert sum(a == b for a, b in zip(right, moved, strict=True)) < 10
    assert [PhiloxNoise(1).categorical(probs, at) for at in ats] == right


def test_nothing_to_draw_from_is_refused():
    with pytest.raises(InvariantError, match="positive"):
        PhiloxNoise(0).categorical(np.zeros(5), Address("sample", 0))


@given(a=address, b=address, one=st.tuples(seeds, rows), other=st.tuples(seeds, rows))
def test_distinct_addresses_never_share_a_generator_block(a, b, one, other):
    """(seed, row, address) -> (key, counter but for the word that counts blocks) is injective."""
    first, second = (PhiloxNoise(*noise)._words(at).tolist() for noise, at in ((one, a), (other, b)))
    assert (first == second) == ((a, one) == (b, other))


@pytest.mark.parametrize(
    "fields",
    [{"position": 2**64}, {"position": -1}, {"step": 2**64}, {"level": 2**32}, {"node": 2**32}],
)
def test_an_address_that_does_not_fit_is_refused(fields):
    """It would share another address's noise."""
    with pytest.raises(InvariantError, match="does not fit"):
        PhiloxNoise(0).bernoulli(HALF, Address(**{"purpose": "accept", "position": 0, **fields}))


@pytest.mark.parametrize("row", [-1, 2**56])
def test_a_row_that_does_not_fit_is_refused(row):
    """It would share another row's noise, or another purpose's."""
    with pytest.raises(InvariantError, match="does not fit"):
        PhiloxNoise(0, row)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_does_not_fit_is_refused(seed):
    with pytest.raises(OptionError, match="seed"):
        PhiloxNoise(seed)


@given(address, st.integers(0, 2**64 - 1))
def test_an_answer_is_a_function_of_seed_and_address(at, seed):
    """Whatever was read before it."""
    probs = np.array([0.1, 0.2, 0.3, 0.4])
    disturbed = PhiloxNoise(seed)
    disturbed.categorical(probs, Address("draft", 99))
    assert PhiloxNoise(seed).categorical(probs, at) == disturbed.categorical(probs, at)


@pytest.mark.parametrize("probs", [[0.5, 0.5], [0.4, 0.3, 0.2, 0.1], [0.05, 0.0, 0.9, 0.05]])
def test_categorical_has_the_law_it_is_asked_for(probs):
    """Chi-square over 10,000 addresses; false alarm 6e-7 each. Outside the support: never."""
    noise, probs = PhiloxNoise(5), np.array(probs)
    counts = np.bincount([noise.categorical(probs, Address("draft", i)) for i in range(10_000)], minlength=len(probs))
    assert (counts[probs == 0.0] == 0).all()
    support = probs > 0.0
    statistic = np.square(counts[support] - 10_000 * probs[support]) / (10_000 * probs[support])
    # chi-square with 1 to 3 degrees of freedom exceeds 35 with probability below 2e-7
    assert statistic.sum() < 35.0


def test_categorical_is_the_exponential_race():
    """The winner has the smallest E_x / p_x, with one E_x per token *id*: so for one address, taking tokens away from
    the support changes the winner only if the winner is taken."""
    noise, probs = PhiloxNoise(6), np.array([0.1, 0.2, 0.3, 0.4])
    for i in range(300):
        at = Address("sample", i)
        winner = noise.categorical(probs, at)
        for removed in set(range(4)) - {winner}:
            rest = np.where(np.arange(4) == removed, 0.0, probs)
            assert noise.categorical(rest / rest.sum(), at) == winner


def test_categorical_couples_equal_draws():
    """Same address, p and q close: the race picks the same token with probability at least (1-TV)/(1+TV) = 0.905."""
    noise = PhiloxNoise(7)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.45, 0.35, 0.2])
    same = np.mean(
        [noise.categorical(p, Address("sample", i)) == noise.categorical(q, Address("sample", i)) for i in range(4000)]
    )
    assert same > 0.905 - SIX_SIGMA * np.sqrt(0.905 * 0.095 / 4000)


@given(
    weights=st.lists(st.sampled_from([0.0, 5e-324, 1e-310, 1e-100, 1e-12, 0.25, 1.0]), min_size=1, max_size=8).filter(
        lambda weights: max(weights) >= 0.25
    ),
    at=address,
)
def test_categorical_stays_in_the_support_also_among_tiny_probabilities(weights, at):
    """No warning either: a subnormal probability may overflow its finishing time."""
    probs = np.array(weights) / np.sum(weights)
    probs.flags.writeable = False
    token = PhiloxNoise(8).categorical(probs, at)
    assert probs[token] >= 1e-12 / 8, "a token of probability 1e-100 does not win within one test run (2**-53 each)"


def test_a_second_read_raises():
    for first, second in itertools.product(("bernoulli", "categorical"), repeat=2):
        noise = AuditedNoise(PhiloxNoise(0))
        ask = {
            "bernoulli": lambda at, noise=noise: noise.bernoulli(HALF, at),
            "categorical": lambda at, noise=noise: noise.categorical(np.array([0.5, 0.5]), at),
        }
        ask[first](Address("accept", 3))
        ask[first](Address("accept", 4))
        with pytest.raises(InvariantError, match="read twice"):
            ask[second](Address("accept", 3))


def test_auditing_changes_no_answer():
    probs = np.array([0.2, 0.5, 0.3])
    plain, audited = PhiloxNoise(9), AuditedNoise(PhiloxNoise(9))
    for i in range(50):
        assert plain.categorical(probs, Address("draft", i)) == audited.categorical(probs, Address("draft", i))
        assert plain.bernoulli(HALF, Address("accept", i)) == audited.bernoulli(HALF, Address("accept", i))


class Recorder:
    """Says yes, or token 0, and remembers what was asked and where."""

    def __init__(self):
        self.asked = []

    def bernoulli(self, prob, at):
        self.asked.append((prob, at))
        return True

    def categorical(self, probs, at):
        self.asked.append((probs, at))
        return 0


@pytest.mark.parametrize("inner", [{}, {"level": 1, "node": 4}])
def test_coins_read_where_the_docs_say(inner):
    """Place i is i tokens behind the step's first; ``sample`` knows no step; a node that is named goes first."""
    noise, probs = Recorder(), np.array([1.0])
    coins = Coins(noise, position=10, step=3, **inner)
    assert coins.accept(0, 0.25)
    assert coins.accept(2, 0.25, node=7)
    assert [coins.residual(2, probs), coins.bonus(3, probs), coins.draft(1, probs), coins.sample(4, probs)] == [0] * 4
    assert coins.draft(1, probs, node=7) == 0
    assert noise.asked == [
        (0.25, Address("accept", 10, 3, **inner)),
        (0.25, Address("accept", 12, 3, **{**inner, "node": 7})),
        (probs, Address("residual", 12, 3, **inner)),
        (probs, Address("bonus", 13, 3, **inner)),
        (probs, Address("draft", 11, 3, **inner)),
        (probs, Address("sample", 14, 0, **inner)),
        (probs, Address("draft", 11, 3, **{**inner, "node": 7})),
    ]
