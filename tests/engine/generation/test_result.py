"""A result: the denominators of its figures, worked out by hand; how a notebook shows it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import minispec
from minispec.engine.generation.result import Metrics
from minispec.engine.records import Step, Verdict
from tests.tiny import write_model


def step(index: int, drafted: int, accepted: int, *, draft_s: float, step_s: float) -> Step:
    emitted = accepted + 1
    return Step(
        index=index,
        position=index,
        draft_tokens=(7,) * drafted,
        verdict=Verdict(accepted, 1, "recovered" if accepted < drafted else "bonus" if drafted else "plain"),
        tokens=(7,) * emitted,
        sources=(*["accepted"] * accepted, "recovered" if accepted < drafted else "bonus"),
        draft_s=draft_s,
        target_s=0.5 * step_s,
        step_s=step_s,
    )


STEPS = [
    step(0, 0, 0, draft_s=0.0, step_s=1.0),  # the first token, whose forward is the prefill's
    step(1, 4, 3, draft_s=0.1, step_s=5.0),
    step(2, 0, 0, draft_s=0.3, step_s=2.0),  # the drafter tried and had nothing to offer
    step(3, 2, 1, draft_s=0.2, step_s=4.0),
]


def test_the_first_token_is_prefill_and_no_step() -> None:
    """Eight tokens, seven of them in three steps of eleven seconds; the drafter read the prompt in four."""
    figures = Metrics.from_steps(STEPS, num_prompt_tokens=5, prefill_s=10.0, late_prefill_s=4.0)
    assert (figures.num_tokens, figures.num_decode_tokens, figures.num_steps, figures.num_drafts) == (8, 7, 3, 2)
    assert figures.mean_acceptance_length == pytest.approx(7 / 3)
    assert figures.decode_s == pytest.approx(11.0)
    assert figures.target_s == pytest.approx(5.5)
    assert figures.tpot_s == pytest.approx(15.0 / 7)
    assert figures.ttft_s == pytest.approx(11.0)
    assert figures.prefill_s == pytest.approx(15.0)
    alone = Metrics.from_steps(STEPS[:1], 5, 10.0)
    assert (alone.num_tokens, alone.num_decode_tokens, alone.num_steps, alone.ttft_s) == (1, 0, 0, 11.0)
    assert alone.tpot_s is alone.mean_acceptance_length is None


def test_drafting_that_came_to_nothing_counts_as_drafting() -> None:
    assert Metrics.from_steps(STEPS, 5, 0.0).draft_s == pytest.approx(0.6)


class Reader(HTMLParser):
    """Collects text and the styles it stands in."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.styles = "", set()

    def handle_starttag(self, tag, attrs):
        self.styles |= {value for name, value in attrs if name == "style"}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("seed", range(4))
def test_a_notebook_shows_prompt_and_text_with_sources_and_nothing_of_it_as_markup(tmp_path, seed) -> None:
    target = str(write_model(tmp_path / "target", seed=1, scale=0.3))
    draft = str(write_model(tmp_path / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3))
    made = minispec.generate(
        "a <b>&amp; c",
        target=target,
        draft=draft,
        backend="numpy",
        max_tokens=30,
        seed=seed,
        temperature=2.0,
        top_p=1.0,
    )
    reader = Reader()
    reader.feed(made._repr_html_())
    shown = reader.text.replace("\r\n", "\n")
    assert shown.startswith("a <b>&amp; c")
    assert re.sub(r"[\r\x00]", "", made.text) in re.sub(
        r"[\r\x00\ufffd]", lambda m: m[0] if m[0] == "\ufffd" else "", shown
    )
    assert f"{made.metrics.num_tokens} tokens" in shown
    assert len(reader.styles) >= 3


def test_an_unfinished_run_shows_too(tmp_path) -> None:
    target = str(write_model(tmp_path / "target", seed=1))
    run = minispec.stream("the", target=target, draft=None, backend="numpy", max_tokens=5)
    next(run)
    assert "interrupted" in run.generation._repr_html_()


def test_a_shell_shows_one_line(tmp_path) -> None:
    """The text and what matters about it, not every token's source."""
    made = minispec.generate("the", target=str(write_model(tmp_path / "target", seed=1)), draft=None, max_tokens=40)
    assert repr(made) == (
        f"<Generation {made.text!r}: 1.00 tokens per target pass, 40 tokens, {made.guarantee}, finished: length>"
    )
