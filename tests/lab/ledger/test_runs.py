"""Runs that experiments look at: those of single decoding, with what is read of them; and clusters of them."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.generation.result import Metrics
from minispec.lab.ledger.framework import TINY
from minispec.lab.ledger.instruments import alpha, count, estimate_speedup, join, rate, tokens_per_step
from minispec.lab.ledger.runs import DOMAINS, DRAFT, Sample, Texts, decode, decode_all, decode_texts, prompts
from minispec.theory.intervals import ratio, share_of_texts

TOKENS = 11
NAMES = (
    *("num_tokens", "num_decode_tokens", "num_steps"),
    *("num_draft_tokens", "num_accepted_tokens", "num_evaluated_tokens"),
)


@pytest.mark.parametrize("options", [{"draft": DRAFT, "gamma": 3}, {"draft": "synthetic:alpha=0.5"}, {"draft": None}])
def test_runs_made_together_are_those_made_one_by_one(options: dict) -> None:
    texts = [prompts(domain, 1)[0] for domain in DOMAINS[:2]]
    made = decode_texts(texts, TOKENS, seeds=2, first_seed=7, **options)
    assert [len(runs) for runs in made] == [2, 2]
    for i, run in enumerate(run for runs in made for run in runs):
        alone = decode(texts[i // 2], TOKENS, seed=7 + i, **options)
        assert run.text == [*texts[i // 2], *alone.token_ids]
        assert run.begun == [*texts[i // 2], alone.token_ids[0]]
        assert [*run.begun, *(token for turn in run.steps() for token in turn.tokens)] == run.text
        assert [(s.draft_tokens, s.tokens, s.num_accepted) for s in alone.steps[1:]] == list(run.steps())
        assert {name: getattr(run, name) for name in NAMES} == {name: getattr(alone.metrics, name) for name in NAMES}


def test_seeds_are_those_of_no_other_run_and_greedy_texts_have_one() -> None:
    drawn = {domain: decode_all(domain, TINY, draft=None) for domain in DOMAINS}
    for domain in DOMAINS:
        assert [len(runs) for runs in drawn[domain]] == [TINY.seeds] * TINY.prompts
        assert [len(runs) for runs in decode_all(domain, TINY, draft=None, temperature=0.0)] == [1] * TINY.prompts
    prompt, seed = prompts("code", 2)[1], TINY.prompts * TINY.seeds + TINY.seeds
    alone = decode(prompt, TINY.tokens, draft=None, seed=seed)
    assert drawn["code"][1][0].tokens.tolist() == list(alone.token_ids)
    assert decode_all("code", TINY, draft=None, gamma=5) is drawn["code"], "a default that is spelt out is the same run"


def make_run(*steps: tuple[int, int]) -> Sample:
    """A run whose steps draft and accept so many behind its first token.

    Every step adds the target's own token, a rejection is evaluated.
    """
    drafted, accepted = zip(*steps, strict=True)
    evaluated = [kept + (kept < made) for made, kept in steps]
    emitted = [kept + 1 for kept in accepted]
    rows = [[0] * (1 + sum(emitted)), [0] * sum(drafted), drafted, accepted, evaluated, emitted]
    return Sample((1,), *(np.array(row, np.int32) for row in rows))


TEXTS: Texts = [[make_run((5, 5), (5, 1)), make_run((5, 0), (3, 2))], [make_run((5, 4)), make_run((0, 0), (5, 3))]]


def test_intervals_are_over_texts_and_not_over_runs() -> None:
    assert alpha(TEXTS) == pytest.approx(share_of_texts([8, 7], [11, 9]))
    one_by_one = alpha([[run] for runs in TEXTS for run in runs])
    assert one_by_one.value == alpha(TEXTS).value == 15 / 20
    assert one_by_one != alpha(TEXTS), "the wrong clusters, a run each, say something else"
    assert estimate_speedup(TEXTS, 0.1) == pytest.approx(ratio([12, 10], [4 + 1.8, 3 + 1.0]))
    assert rate(TEXTS) == 15 / 28
    assert tokens_per_step(TEXTS) == 22 / 7
    assert count(TEXTS, "num_steps") == [4, 3]


def test_what_is_read_of_a_texts_runs_is_one_cluster() -> None:
    full = join(TEXTS, lambda run: run.accepted[run.drafted == 5])
    assert [each.tolist() for each in full] == [[5.0, 1.0, 0.0], [4.0, 3.0]]


def test_metrics_are_counted_as_runs_are() -> None:
    metrics = [[Metrics.from_steps((), 1, 0.0)]]
    assert count(metrics, "num_tokens") == [0]
