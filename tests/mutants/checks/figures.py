"""Figures of runs and of tokens, against values worked out by hand."""

from __future__ import annotations

from minispec.engine.generation import result
from minispec.engine.generation.result import Metrics
from minispec.engine.generation.transcript import Stopwatch
from minispec.engine.records import Step, Verdict
from minispec.engine.verifiers import get_verifier
from tests.engine.generation import test_transcript

from .base import check, suite


def _step(index: int, draft: int, accepted: int, source: str, sources: tuple[str, ...], *seconds: float) -> Step:
    """A step with its three times; ``sources`` are those of the tokens that stay."""
    verdict = Verdict(accepted, 9, source)
    return Step(index, 10 + index, tuple(range(draft)), verdict, tuple(range(len(sources))), sources, *seconds)


_STEPS = (
    _step(0, 0, 0, "plain", ("plain",), 0.0, 0.0, 0.0625),  # the first token, whose forward is the prefill's
    _step(1, 3, 1, "recovered", ("accepted", "recovered"), 0.25, 1.0, 1.5),
    _step(2, 0, 0, "plain", ("plain",), 0.125, 0.75, 1.0),  # it tried to draft, and nothing came of it
    _step(3, 2, 2, "bonus", ("accepted", "accepted", "bonus"), 0.5, 1.0, 2.0),
    _step(4, 4, 3, "recovered", ("accepted", "accepted"), 0.5, 1.25, 2.5),  # cut: a third draft and its successor
)
_FIGURES = {
    "num_prompt_tokens": 7, "num_tokens": 9, "num_decode_tokens": 8, "num_steps": 4, "num_drafts": 3,
    "num_draft_tokens": 9, "num_accepted_tokens": 5, "num_evaluated_tokens": 6,
    "num_accepted_tokens_per_pos": (3, 2, 0, 0), "mean_acceptance_length": 2.0, "draft_acceptance_rate": 5 / 9,
    "alpha": 5 / 6, "prefill_s": 3.5625, "draft_s": 1.375, "target_s": 4.0, "decode_s": 7.0, "ttft_s": 3.0625,
    "tpot_s": 7.5 / 8,
}  # fmt: skip
_NO_FIGURES = {
    "mean_acceptance_length": None, "draft_acceptance_rate": None, "alpha": None, "ttft_s": None, "tpot_s": None,
    "decode_s": 0.0, "num_accepted_tokens_per_pos": (),
}  # fmt: skip
_FIRST_TOKEN = {
    "num_tokens": 1, "num_decode_tokens": 0, "num_steps": 0, "tpot_s": None, "ttft_s": 3.0625, "alpha": None,
    "draft_acceptance_rate": None, "mean_acceptance_length": None, "decode_s": 0.0,
}  # fmt: skip
_PLAIN_STEP = {
    "num_tokens": 2, "num_decode_tokens": 1, "num_steps": 1, "tpot_s": 1.5, "ttft_s": 3.0625, "alpha": None,
    "draft_acceptance_rate": None, "mean_acceptance_length": 1.0,
}  # fmt: skip


@check("counter", "a token and four steps, one without a draft and one cut by a stop: every count, ratio and time")
def figures_of_four_steps() -> float:
    short = (_STEPS[:1], _FIRST_TOKEN), ((_STEPS[0], _STEPS[2]), _PLAIN_STEP)
    runs = (_STEPS, _FIGURES), ((), _NO_FIGURES), *short
    found = [(Metrics.from_steps(steps, 7, 3.0, 0.5), wanted) for steps, wanted in runs]
    return float(sum(getattr(metrics, name) != value for metrics, wanted in found for name, value in wanted.items()))


@check("counter", "seconds of two steps on a clock of powers of two, with a pause for the reader in each")
def seconds_of_a_step() -> float:
    now = iter(2.0**i for i in range(12))
    watch, found = Stopwatch(lambda: next(now)), []
    for _ in range(2):
        watch.start()
        watch.note_draft()
        watch.resume()
        watch.note_forward()
        watch.stop()
        found += [watch.draft_s, watch.target_s, watch.step_s]
    return float(found != [2.0, 8.0, 2.0 + 24.0, 64.0, 256.0, 64.0 + 768.0])


suite(
    "details", "value", "p, q, coin and both log probabilities of each token, of a chain and of a tree's path",
    test_transcript.test_a_tree_reads_the_row_behind_the_node_before,
    test_transcript.test_a_chain_has_the_coin_of_each_place,
)  # fmt: skip


_PROMISES = [
    (None, 0.0, True, "bit-exact"), (None, 1.0, False, "same-seed"), ("rejection", 0.0, True, "bit-exact"),
    ("rejection", 0.0, False, "same-distribution"), ("block", 1.0, True, "same-distribution"),
    ("match", 1.0, True, "same-seed"), ("match", 1.0, False, "same-distribution"), ("gumbel", 0.5, True, "same-seed"),
    ("lenient", 0.0, True, "lossy"), ("typical", 1.0, True, "lossy"), ("kseq", 1.0, True, "same-distribution"),
    ("traversal", 1.0, True, "same-distribution"),
]  # fmt: skip
_REPRODUCIBLE = {"bit-exact": True, "same-seed": True, "same-distribution": False, "lossy": False}


@check("value", "what a run promises, by rule, temperature and backend; what a clock may change of it")
def promises() -> float:
    wrong = 0
    for rule, temperature, invariant, wanted in _PROMISES:
        verifier = None if rule is None else get_verifier(rule)
        wrong += result.find_guarantee(verifier, temperature=temperature, batch_invariant=invariant) != wanted
    for promise, wanted in _REPRODUCIBLE.items():
        wrong += result.is_reproducible(promise, timed=True) != wanted or not result.is_reproducible(
            promise, timed=False
        )
    return float(wrong)
