"""Rules that are lossy on purpose fail the suite, by exactly the distance of the one position they judge."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from minispec.engine.drafters.base import allow_all
from minispec.engine.generation.options import Options
from minispec.engine.laws import Enumerator, total_variation
from minispec.engine.model.asks import answer
from minispec.engine.noise import Coins
from minispec.engine.verifiers import lenient, typical
from tests.engine.laws.oracle import slow_logits, slow_row

from .covering import covering, product
from .space import (
    AXES,
    EXACT,
    PROMPT,
    TREES,
    engine_law,
    models_by_name,
    name,
    new_stream,
    options_of,
    target_of,
    wanted_law,
)

OUTPUT_LAWS = {
    "lenient:lenience=0.5": partial(lenient.output_distribution, lenience=0.5),
    "lenient:lenience=0.9": partial(lenient.output_distribution, lenience=0.9),
    "typical:epsilon=0.3,delta=0.6": partial(typical.output_distribution, epsilon=0.3, delta=0.6),
}
AXES_OF_ONE_POSITION = {
    "verify": tuple(OUTPUT_LAWS),
    "draft": tuple(draft for draft in AXES["draft"] if draft not in TREES),
    "policy": ("1",),
    "processors": tuple(level for level in AXES["processors"] if level not in ("min tokens", "regex", "all")),
    "stop": ("budget",),
}
CASES = covering(product(AXES_OF_ONE_POSITION, lambda case: True), 2)


def one_position(case, target):
    """The laws of the first two tokens, stated and wanted: one that no rule judges, and one that it does.

    The draft's row may itself be random (a translated text).
    """
    sampling, laws = Options(**options_of(case)), ({}, {})
    for first, prob in enumerate(slow_row(slow_logits(target, PROMPT), sampling, (), PROMPT)):
        if prob > 0.0:
            begun = (*PROMPT, first)
            wanted = np.array(slow_row(slow_logits(target, begun), sampling, (first,), PROMPT))
            drafted = law_of_rows(case, target, begun).items()
            stated = sum(weight * OUTPUT_LAWS[case["verify"]](wanted, np.array(row)) for row, weight in drafted)
            for law, second in zip(laws, (stated, wanted), strict=True):
                law.update({(first, token): prob * float(p) for token, p in enumerate(second)})
    return laws


def law_of_rows(case, target, begun):
    """The law of the row that the first draft is drawn from."""

    def first_row(noise):
        stream = new_stream(case, target, noise)
        stream.target.prefill(begun[:-1])
        answer(stream.drafter.prefill(begun[:-1]))
        coins = Coins(noise, position=len(begun))
        return tuple(answer(stream.drafter.propose(begun, 1, coins, allow_all)).probs[0])

    with models_by_name():
        return Enumerator(first_row).law()


def shortened(case):
    """A budget of three: the second is judged, and the other two are the target's own, whatever becomes of it."""
    target = target_of(case)
    return target, total_variation(engine_law(case, target), wanted_law(case, target))


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_lossy_rule_misses_the_law_by_the_distance_of_one_position(case, monkeypatch):
    monkeypatch.setattr("tests.engine.laws.space.num_tokens", lambda case: 3)
    target, measured = shortened(case)
    stated = total_variation(*one_position(case, target))
    assert measured == pytest.approx(stated, abs=EXACT)
    assert (measured < EXACT) == (stated < EXACT)
    if case["processors"] == "greedy":
        assert measured < EXACT, "at temperature 0 every rule keeps the target's argmax alone"


def test_most_of_these_cases_do_fail(monkeypatch):
    """Else the equality above would be one of zeros."""
    monkeypatch.setattr("tests.engine.laws.space.num_tokens", lambda case: 3)
    lossy = [case for case in CASES if case["processors"] != "greedy" and shortened(case)[1] > 1e-3]
    assert len(lossy) > len(CASES) / 2
    assert {case["verify"] for case in lossy} == set(OUTPUT_LAWS)
