"""The picture one steps through shows a run of the engine as it was, frame by frame."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from minispec.course.teaching import Stepper, record, recorder
from minispec.engine.drafters import NgramDrafter
from minispec.engine.drafters.cascade import CascadeDrafter
from minispec.engine.generation import generate
from minispec.engine.model.session import Session
from minispec.engine.model.toy import TableModel
from minispec.engine.sampling import SamplingParams, distribution
from minispec.errors import PromptError
from minispec.lab.viz.stepper import SHOWN, Frame, Slots

ROUND = r"(draft )*verify (accept )*(residual|replace|bonus|plain) commit ?"
V = 12
TARGET, DRAFT = TableModel(V, 64, seed=1, concentration=0.3), TableModel(V, 64, seed=2, concentration=0.3)


def run(prompt=(0, 1, 2), *, temperature=1.0, gamma=3, max_tokens=9, seed=0, draft=DRAFT) -> Stepper:
    return record(
        prompt, target=TARGET, draft=draft, temperature=temperature, gamma=gamma, max_tokens=max_tokens, seed=seed
    )


KINDS = [
    pytest.param(temperature, gamma, draft, id=f"{temperature}-{gamma}-{draft if isinstance(draft, str) else 'model'}")
    for temperature in (0.0, 0.7, 1.0)
    for gamma in (1, 4)
    for draft in (DRAFT, TARGET, "ngram")
]


def tokens_of(frame: Frame, *fates: str) -> list[int]:
    return [token for token, fate in frame.text if not fates or fate in fates]


@pytest.mark.parametrize(("temperature", "gamma", "draft"), KINDS)
def test_the_text_is_the_engines(temperature: float, gamma: int, draft: TableModel | str) -> None:
    """Watching changes nothing: the same seed gives the same tokens from the same places."""
    for seed in range(4):
        frames = run(temperature=temperature, gamma=gamma, draft=draft, seed=seed).frames
        made = generate(
            [0, 1, 2], target=TARGET, draft=draft, temperature=temperature, gamma=gamma, max_tokens=9, seed=seed
        )
        assert tuple(tokens_of(frames[-1])[3:]) == made.token_ids
        assert [fate for _, fate in frames[-1].text[3:]] == [source for step in made.steps for source in step.sources]
        assert Counter(frame.stage for frame in frames)["commit"] == len(made.steps)


@pytest.mark.parametrize(("temperature", "gamma", "draft"), KINDS)
def test_a_round_tells_its_stages_in_order(temperature: float, gamma: int, draft: TableModel | str) -> None:
    told = " ".join(frame.stage for frame in run(temperature=temperature, gamma=gamma, draft=draft).frames)
    assert re.fullmatch(rf"prefill commit ({ROUND})+", told), told


@pytest.mark.parametrize("draft", [DRAFT, "ngram", "synthetic:alpha=0.5", "cascade"])
@pytest.mark.parametrize("gamma", [1, 3, 5])
def test_a_favourite_that_is_drafted_has_the_highest_bar(draft: TableModel | str, gamma: int) -> None:
    """Also where the draft's forwards are not one for each token, or not what it draws from."""
    if draft == "cascade":
        draft = CascadeDrafter(Session(DRAFT), SamplingParams(temperature=0.0), NgramDrafter(V, 1))
    frames = run((0, 1, 0, 1, 0), temperature=0.0, gamma=gamma, max_tokens=20, draft=draft).frames
    drafted = [frame for frame in frames if frame.stage == "draft"]
    assert drafted
    for frame in drafted:
        is_highest = int(frame.laws["q"].argmax()) == frame.text[-1][0]
        assert is_highest or draft == "synthetic:alpha=0.5"  # which draws at any temperature
        assert frame.says.endswith("is the draft's favourite." if is_highest else "is drawn from q.")


def test_every_stage_occurs() -> None:
    stages = {f.stage for seed in range(6) for t in (0.0, 1.0) for f in run(temperature=t, seed=seed).frames}
    assert stages == {
        "prefill", "draft", "verify", "accept", "residual", "replace", "bonus", "plain", "commit",
    }  # fmt: skip


def test_what_is_committed_stays() -> None:
    texts = [frame.text for frame in run(seed=3).frames if frame.stage == "commit"]
    assert len(texts) > 2
    for before, after in pairwise(texts):
        assert after[: len(before)] == before


def place_of(frame: Frame) -> int:
    """Where in its text the token stands that a frame is about."""
    fates = [fate for _, fate in frame.text]
    if frame.stage in ("draft", "bonus", "plain"):
        return len(fates) - 1
    judged = ("accepted", "rejected") if frame.stage == "accept" else ("rejected",)
    return max(i for i, fate in enumerate(fates) if fate in judged)


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_the_bars_are_the_models_own_laws(temperature: float) -> None:
    """Of the text that the frame shows, computed afresh; at temperature 0, what they say at temperature 1."""
    params = SamplingParams(temperature=temperature or 1.0)
    compared: set[tuple[str, str]] = set()
    runs = [run((0, 1, i), temperature=temperature, gamma=1 + i % 2, max_tokens=20, seed=i) for i in range(6)]
    for frame in (frame for one in runs for frame in one.frames):
        if frame.stage in ("prefill", "verify", "commit"):
            continue
        before = tokens_of(frame)[: place_of(frame)]
        for name, model in (("p", TARGET), ("q", DRAFT)):
            if name in frame.laws:
                logits = np.log(model.next_probs(before)).astype(np.float32)
                assert np.array_equal(frame.laws[name], distribution(logits[None], params)[0]), frame
                compared.add((frame.stage, name))
    own = "residual" if temperature else "replace"
    assert compared >= {("draft", "q"), ("accept", "p"), ("accept", "q"), (own, "p"), (own, "q"), ("bonus", "p")}


def test_laws_fit_together() -> None:
    residuals = 0
    for frame in (frame for seed in range(6) for frame in run(seed=seed).frames):
        laws = frame.laws
        for name in laws.keys() & {"p", "q", "residual"}:
            assert np.isclose(laws[name].sum(), 1.0)
        if "min(p, q)" in laws:
            assert np.array_equal(laws["min(p, q)"], np.minimum(laws["p"], laws["q"]))
        if "residual" in laws:
            residuals += 1
            rest = np.maximum(laws["p"] - laws["q"], 0)
            assert np.allclose(laws["residual"], rest / rest.sum())
            assert laws["residual"][frame.token] > 0
    assert residuals > 3


def test_a_verdict_is_told_as_the_ratio_and_the_coin_had_it() -> None:
    kept, lost = 0, 0
    for frame in (frame for seed in range(8) for frame in run(seed=seed).frames if frame.stage == "accept"):
        ratio = frame.laws["p"][frame.token] / frame.laws["q"][frame.token]
        assert ("p is no less than q" in frame.says) == (ratio >= 1)
        if ratio < 1:
            assert f"p/q = {ratio:.2f}" in frame.says
        fate = next(fate for token, fate in reversed(frame.text) if fate in ("accepted", "rejected"))
        assert ("stays" in frame.says) == (fate == "accepted")
        kept, lost = kept + (fate == "accepted"), lost + (fate == "rejected")
    assert kept > 5
    assert lost > 5


def test_the_bars_stay_where_they_are_while_one_place_is_judged() -> None:
    """The draft of a place, its verdict and what replaces it have the same tokens on the axis, its own among them."""
    shared = 0
    for seed in range(5):
        axes: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        number = 0
        for frame in run(seed=seed).frames:
            number += frame.stage == "commit"
            if frame.stage not in ("prefill", "verify", "commit"):
                assert frame.token in frame.axis
                assert frame.token == frame.text[-1 if frame.stage == "residual" else place_of(frame)][0]
                axes.setdefault((number, place_of(frame)), []).append(frame.axis)
        assert all(len(set(found)) == 1 for found in axes.values())
        shared += sum(len(found) == 3 for found in axes.values())
    assert shared > 5


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("draft", [DRAFT, "ngram"], ids=["model", "ngram"])
def test_a_slot_holds_what_the_memory_holds(
    draft: TableModel | str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind a rollback: a table model's keys are its tokens, and nobody erases them."""
    looks: list[tuple[tuple[Slots, ...], list[list[int]]]] = []
    look = recorder._Watcher._look

    def note(watcher):
        caches = look(watcher)
        sessions = [memory._session for memory in watcher._memories]
        looks.append((caches, [session.cache.keys[0, 0, :, 0, 0].astype(int).tolist() for session in sessions]))
        return caches

    monkeypatch.setattr(recorder._Watcher, "_look", note)
    frames = run(draft=draft, temperature=temperature, max_tokens=20).frames
    states: Counter[str] = Counter()
    for caches, memories in looks:
        assert len(caches) == len(memories) == (1 if draft == "ngram" else 2)
        for slots, memory in zip(caches, memories, strict=True):
            assert memory[: len(slots.tokens)] == list(slots.tokens)
            assert not any(memory[len(slots.tokens) :])  # never written
            states.update(slots.find_state(slot) for slot in range(len(memory)))
    assert min(states[state] for state in ("committed", "drafted", "stale", "empty")) > 3
    assert {frame.caches for frame in frames} <= {caches for caches, _ in looks}


def test_the_caches_hold_the_text_but_its_last_token_when_a_round_is_over() -> None:
    prefill, first, *frames = run(max_tokens=20).frames
    assert [[slots.length for slots in frame.caches] for frame in (prefill, first)] == [[3, 0], [3, 0]]
    for frame in frames:
        text = tokens_of(frame, "prompt", "accepted", "recovered", "bonus", "plain")
        for slots in frame.caches:
            if frame.stage == "commit":
                # A draft that was accepted whole was not fed to its own model's last forward.
                assert slots.length in (len(text) - 1, len(text) - 2)
                assert slots.committed == slots.length
            assert list(slots.tokens[: slots.committed]) == text[: slots.committed]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_cache_holds_what_its_model_has_read_at_that_moment(temperature: float) -> None:
    """Drafting, the draft model has read all but the token just drawn; the target reads them all at once."""
    for frame in run(temperature=temperature, max_tokens=20).frames:
        read = [list(slots.tokens[: slots.length]) for slots in frame.caches]
        if frame.stage == "draft":
            assert read[1] == tokens_of(frame)[:-1]
        elif frame.stage == "verify":
            assert read[0] == tokens_of(frame)


def test_a_slot_is_of_the_text_of_a_draft_stale_or_empty() -> None:
    slots = Slots("a cache", (5, 6, 7, 8), committed=1, length=3)
    assert [slots.find_state(slot) for slot in range(5)] == ["committed", "drafted", "drafted", "stale", "empty"]


def text_of(tokens) -> str:
    return "".join(("<b>", "&")[token % 2] for token in tokens)


def test_one_frame_is_seen_without_a_script_and_all_have_one_scale() -> None:
    stepper = Stepper(run(seed=1).frames, text_of)
    page = stepper._repr_html_()
    assert page.count('<div class="frame"') == len(stepper.frames)
    assert len(re.findall(r'<div class="frame"[^>]* hidden>', page)) == len(stepper.frames) - 1
    assert "&lt;b&gt;" in page  # tokens are text, whatever they hold
    assert page.count("<b>") == sum(len(frame.caches) for frame in stepper.frames)  # our own
    heights = {float(tall) for tall in re.findall(r'height="([\d.]+)" fill="#cc79a7"', page)}
    known = {round(140 * share, 1) for frame in stepper.frames for share in frame.laws.get("q", [])}
    assert heights <= known | {10.0}  # q, never rescaled; 10 is its mark in the legend
    assert heights & known


def test_every_frame_has_the_same_slots_and_says_how_they_are_used() -> None:
    stepper = run(max_tokens=20)
    frames = stepper._repr_html_().split('<div class="frame"')[1:]
    assert len({frame.count("<li ") for frame in frames}) == 1
    for frame, drawn in zip(stepper.frames, frames, strict=True):
        wanted = Counter(
            slots.find_state(slot) for slots in frame.caches for slot in range(drawn.count("<li ") // len(frame.caches))
        )
        assert Counter(re.findall(r'<li class="(\w+)"', drawn)) == wanted


def test_of_a_long_prompt_the_end_is_shown_and_the_rest_counted() -> None:
    prompt = [token % V for token in range(30)]
    stepper = run(prompt, max_tokens=4)
    first = stepper._repr_html_().split('<div class="frame"')[1]
    assert f"<li>0–{30 - SHOWN - 1}</li>" in first
    assert f"<small>{30 - SHOWN}</small>" in first
    assert f"<small>{30 - SHOWN - 1}</small>" not in first
    assert first.count("<span") == SHOWN  # tokens of the text


def test_the_bars_can_be_read_out() -> None:
    stepper = run(seed=1)
    frame = next(frame for frame in stepper.frames if frame.stage == "accept")
    p, q = (f"{name} {frame.laws[name][frame.token]:.2f}" for name in ("p", "q"))
    assert f"{p}, {q}, min(p, q)" in stepper._repr_html_()


def test_a_prompt_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(PromptError, match="empty"):
        run([])
