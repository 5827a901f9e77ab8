"""Every rule by its name: what it promises, what all have in common, and what a wrong name is answered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.noise import Address, Coins
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.records import Draft
from minispec.engine.verifiers import VERIFIER_NAMES, expected_accepted, get_verifier, lenient, typical
from minispec.errors import InvariantError, OptionError
from tests.audited_noise import AuditedNoise
from tests.engine.verifiers import exact
from tests.engine.verifiers.exact import ChainLaw, always, chain, frozen, random_laws, tree

ALL = list(VERIFIER_NAMES)
LOSSLESS = [name for name in ALL if get_verifier(name).lossless]


def test_promises() -> None:
    promises = {
        name: (rule.lossless, rule.same_seed, rule.coupled, rule.trees)
        for name, rule in ((name, get_verifier(name)) for name in ALL)
    }
    assert promises == {
        "rejection": (True, False, False, False),
        "match": (True, True, False, True),
        "gumbel": (True, True, True, False),
        "block": (True, False, False, False),
        "tree": (True, False, False, True),
        "kseq": (True, False, False, True),
        "traversal": (True, False, False, True),
        "lenient": (False, False, False, False),
        "typical": (False, False, False, False),
    }


def test_options_are_part_of_the_name_and_reach_the_rule() -> None:
    target, draft = always(0.5, 0.3, 0.15, 0.05), always(0.2, 0.5, 0.1, 0.2)
    assert get_verifier("lenient").name == "lenient:lenience=0.5"
    assert get_verifier("typical").name == get_verifier("typical:delta=0.3,epsilon=0.09").name
    rule = get_verifier("lenient:lenience=0.123456789")
    assert rule.name == "lenient:lenience=0.123456789"
    assert get_verifier(rule.name).name == rule.name
    for rule, law in (
        (get_verifier("lenient:lenience=0.25"), lenient.output_distribution(target(()), draft(()), lenience=0.25)),
        (
            get_verifier("typical:delta=0.9,epsilon=0.4"),
            typical.output_distribution(target(()), draft(()), epsilon=0.4, delta=0.9),
        ),
    ):
        stated = 0.5 * np.abs(law - target(())).sum()
        assert exact.distance(rule.verify, target, chain(draft, 1), 2) == pytest.approx(stated, abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "must be one of rejection, match"),
        ("nonsense", "must be one of rejection, match"),
        ("Rejection", "must be one of"),
        (" block", "must be one of"),
        ("block:", "block takes no options. Try --verify block"),
        ("match:seed=3", "match takes no options"),
        ("lenient:", "lenient's options are lenience"),
        ("lenient:0.5", "lenient's options are lenience"),
        ("lenient:lenienc=0.5", "Try --verify lenient:lenience=0.5"),
        ("lenient:lenience=", "must be a"),
        ("lenient:lenience=half", "must be a"),
        ("lenient:lenience=nan", "must be a"),
        ("lenient:lenience=inf", "must be a"),
        ("lenient:lenience=0", "lenience is 0.0; it must be in (0, 1]"),
        ("lenient:lenience=1.5", "lenience is 1.5; it must be in (0, 1]"),
        ("lenient:lenience=-1", "lenience is -1.0"),
        ("lenient:lenience=0.5,lenience=0.6", "lenience is given twice"),
        ("typical:epsilon=0.1,", "typical's options are epsilon, delta"),
        ("typical:epsilon=1", "epsilon is 1.0; it must be in (0, 1)"),
        ("typical:delta=0", "delta is 0.0; it must be in (0, 1)"),
        ("typical:epsilon=0.1,lenience=1", "typical's options are epsilon, delta"),
        ("x" * 5000 + "\n", "must be one of"),
    ],
)
def test_bad_specs_are_answered_in_one_line(spec: str, says: str) -> None:
    with pytest.raises(OptionError) as caught:
        get_verifier(spec)
    message = str(caught.value)
    assert says in message
    assert "Try --verify" in message or "Did you mean '" in message
    assert "\n" not in message
    assert len(message) < 300


# ── what every rule has in common ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ALL)
def test_nothing_drafted_is_a_plain_draw(name: str) -> None:
    """With the noise of plain sampling, so that an idle drafter changes no text at all."""
    row = frozen([[0.1, 0.2, 0.3, 0.4]])
    for seed in range(20):
        noise = AuditedNoise(PhiloxNoise(seed))
        coins = Coins(noise, position=5, step=9, level=1)
        verdict = get_verifier(name).verify(Draft((), frozen(np.empty((0, 4)))), row, coins)
        at = Address("sample", 5, level=1)
        assert (verdict.num_accepted, verdict.source, verdict.accept_probs) == (0, "plain", ())
        assert (noise.reads, verdict.next_token) == ({at}, PhiloxNoise(seed).categorical(row[0], at=at))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25)
@given(exact.pairs(max_vocab=4, max_gamma=3), st.integers(0, 2**64 - 1))
def test_verdicts_hold_together(name: str, pair: tuple[ChainLaw, ChainLaw, int], seed: int) -> None:
    """Read-only rows, each address read once, nothing the target rules out, and what the records promise."""
    target, draft, gamma = pair
    rule = get_verifier(name)
    noise = AuditedNoise(PhiloxNoise(seed))
    tokens, verdict = exact.judge(rule.verify, target, chain(draft, gamma), noise)
    assert len(tokens) == verdict.num_accepted + 1 <= gamma + 1
    assert verdict.source == ("plain" if gamma == 0 else "bonus" if verdict.num_accepted == gamma else "recovered")
    assert verdict.path is None
    assert all(0.0 <= prob <= 1.0 for prob in verdict.accept_probs)
    judged = gamma if name in ("block", "traversal") else min(gamma, verdict.num_accepted + 1)
    assert len(verdict.accept_probs) == judged
    assert all(target(tokens[:i])[token] > 0.0 for i, token in enumerate(tokens))
    assert {(at.level, at.position >= exact.POSITION) for at in noise.reads} == {(exact.LEVEL, True)}
    assert all(at.step == (0 if at.purpose == "sample" else exact.STEP) for at in noise.reads)


@pytest.mark.parametrize("name", LOSSLESS)
def test_greedy_rows_come_out_as_they_are(name: str) -> None:
    """One-hot target rows, as at temperature 0: the text is the target's argmax, draft or no draft."""
    greedy, draft = random_laws(0, 3), random_laws(1, 3)

    def target(prefix: tuple[int, ...]) -> exact.Row:
        return exact.likeliest(greedy(prefix), [])

    assert exact.distance(get_verifier(name).verify, target, chain(draft, 3), 4) == 0.0


@pytest.mark.parametrize("name", [name for name in ALL if name != "gumbel"])  # its noise is continuous: test_match
def test_length_as_it_runs_is_the_predicted_one(name: str) -> None:
    """Each rule comes with its own survival."""
    rule, target, draft = get_verifier(name), random_laws(2, 3, 0.2), random_laws(3, 3, 0.2)
    assert rule.survival is not None
    predicted = expected_accepted(rule.survival, target, draft, 3)
    assert exact.expected_length(rule.verify, target, chain(draft, 3)) == pytest.approx(predicted, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_trees_are_judged_or_refused(name: str) -> None:
    rule, target, draft = get_verifier(name), random_laws(0, 3), random_laws(1, 3)
    wide, narrow = (tree(draft, parents, exact.independent) for parents in ((-1, -1, 0), (-1, 0, 1)))
    if rule.trees:
        assert exact.judge(rule.verify, target, wide, PhiloxNoise(0))[1].path is not None
    else:
        with pytest.raises(InvariantError, match="a rule for chains was handed a tree"):
            exact.judge(rule.verify, target, wide, PhiloxNoise(0))
    # a chain written as a tree is a chain
    assert exact.judge(rule.verify, target, narrow, PhiloxNoise(0))[1].num_accepted <= 3
