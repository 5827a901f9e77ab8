"""The space is not empty where it looks full: each level really does what it is named after."""

from __future__ import annotations

import functools

import pytest

from minispec.engine.generation.options import Options
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, target_law, total_variation
from tests.engine.laws.oracle import slow_law

from .space import (
    AXES,
    EXACT,
    PLAIN,
    PROCESSORS,
    PROMPT,
    STOPS,
    TOKENIZER,
    TREES,
    models_by_name,
    new_stream,
    table_target,
    target_of,
    wanted_law,
)

MIDDLE = {"verify": "rejection", "draft": "model", "policy": "2", "processors": "plain", "stop": "eos"}


@functools.cache
def seen(**levels):
    """Law of (draft lengths, sources, reason) of the middle case with some other levels."""
    case = {**MIDDLE, **levels}
    if case["draft"] in TREES:
        case["verify"] = "tree"
    if case["draft"] in ("tree with", "tree without"):
        case["policy"] = "1"  # all draws of two levels of siblings take a minute
    target = target_of(case)

    def run(noise):
        generation = new_stream(case, target, noise).run()
        lengths = tuple(len(step.draft_tokens) for step in generation.steps[1:])
        return lengths, generation.sources, generation.finish_reason

    with models_by_name():
        return Enumerator(run).law()


@pytest.mark.parametrize("draft", AXES["draft"])
def test_every_draft_is_accepted_and_rejected_now_and_then(draft):
    sources = {source for _, row, _ in seen(draft=draft) for source in row}
    assert sources >= {"accepted", "recovered", "bonus"}


@pytest.mark.parametrize("verify", [rule for rule in AXES["verify"] if rule != "gumbel"])
def test_every_rule_accepts_and_rejects(verify):
    assert {source for _, row, _ in seen(verify=verify) for source in row} >= {"accepted", "recovered", "bonus"}


FIRST_LENGTHS = {
    "0": {0},
    "1": {1},
    "2": {2},
    "3": {2},
    "heuristic": {1},
    "replay": {1},
    "fallback": {0},
}


@pytest.mark.parametrize("policy", AXES["policy"])
def test_every_policy_drafts_what_it_is_named_after(policy):
    """Three drafts are two where room for three is left; the policies that look at the draft's rows do vary."""
    lengths = [row for row, _, _ in seen(policy=policy)]
    if policy in FIRST_LENGTHS:
        assert {row[0] for row in lengths} == FIRST_LENGTHS[policy]
    else:
        assert len({length for row in lengths for length in row}) > 1
    assert any(any(row) for row in lengths) == (policy != "0")


@pytest.mark.parametrize("stop", STOPS)
def test_every_stop_ends_some_text(stop):
    reasons = {reason for _, _, reason in seen(stop=stop)}
    assert {"budget": "length", "stop string": "stop"}.get(stop, stop) in reasons


@pytest.mark.parametrize("processors", [level for level in PROCESSORS if level != "plain"])
def test_every_processor_changes_the_law(processors):
    laws = []
    for level in ("plain", processors):
        case = {**MIDDLE, "processors": level}
        laws.append(wanted_law(case, target_of(case)))
    assert total_variation(*laws) > 1e-3


@pytest.mark.parametrize("processors", ["plain", "temperature", "greedy", "top-k", "top-p", "min-p"])
def test_the_two_oracles_agree_where_both_apply(processors):
    """One calls the engine's ``distribution``, the other is written out in plain Python."""
    target, sampling = table_target(eos=True), Options(**PLAIN | PROCESSORS[processors])
    limits = Limits(4, 64, ("ba",), target.eos_token_id)
    laws = [law(target, sampling, PROMPT, limits, TOKENIZER) for law in (slow_law, target_law)]
    assert total_variation(*laws) < EXACT
