"""Films: what appears when, and that at the end the text is the run's, live as recorded."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import minispec
from minispec.engine.generation import Drafted, Emitted, Event, Verified
from minispec.engine.generation.stopping import Piece
from minispec.engine.generation.trace import Trace, read_trace, to_line
from minispec.engine.model.toy import TableModel
from minispec.errors import InputError
from minispec.lab.viz.film import Film, at_once, race, reading, scenes
from tests.tiny import write_model

TEXTS = {1: "a", 2: "b", 3: "\n", 4: "d"}


def decode(tokens: tuple[int, ...]) -> str:
    return "".join(TEXTS[token] for token in tokens)


def step(accepted: int, tokens: tuple[int, ...] = (1, 2, 3), parents: tuple[int, ...] | None = None) -> list[Event]:
    """A step whose drafts are ``tokens``, the first ``accepted`` of them right, and ``d`` from the target."""
    kept, rest = tokens[:accepted], tokens[accepted:]
    source = "recovered" if rest else "bonus"
    pieces = (*(Piece(TEXTS[token], "accepted") for token in kept), Piece("d", source))
    return [
        Drafted(0, 5, tokens, (0.5,) * len(tokens), 0.3, parents),
        Verified(0, 5, accepted, rest, 4, source, (1.0,) * accepted, 0.5),
        Emitted(0, 5, (*kept, 4), ("accepted",) * accepted + (source,), pieces),
    ]


def test_drafts_appear_one_by_one_then_the_verdict_then_the_correction() -> None:
    (scene,) = scenes(step(1), decode, reading(8.0))
    assert [(shot.text, shot.fate) for shot in scene.shots] == [
        ("a", "accepted"),
        ("b", "rejected"),
        ("↵", "rejected"),
        ("d", "recovered"),
    ]
    shown = [[(shot.text, shot.fate_at(moment)) for shot in scene.shots] for moment in (0.125, 0.375, 0.5, 0.625)]
    assert shown == [
        [("a", "drafted"), ("b", None), ("↵", None), ("d", None)],
        [("a", "drafted"), ("b", "drafted"), ("↵", "drafted"), ("d", None)],
        [("a", "accepted"), ("b", "rejected"), ("↵", "rejected"), ("d", None)],
        [("a", "accepted"), ("b", "rejected"), ("↵", "rejected"), ("d", "recovered")],
    ]
    assert scene.num_tokens == 2


def test_a_fully_accepted_draft_and_an_empty_one() -> None:
    (scene,) = scenes(step(3), decode, reading(10.0))
    assert [shot.fate for shot in scene.shots] == ["accepted"] * 3 + ["bonus"]
    assert scene.shots[2].text == "\n"  # it is part of the text
    (plain,) = scenes([Emitted(0, 5, (4,), ("plain",), (Piece("d", "plain"),))], decode, reading(10.0))
    assert [(shot.text, shot.fate, shot.shown_s) for shot in plain.shots] == [("d", "plain", 0.1)]


def test_a_trees_rejected_nodes_are_struck_wherever_they_stand() -> None:
    drafted = Drafted(0, 5, (2, 1, 2), (0.5,) * 3, 0.1, (-1, -1, 1))
    verified = Verified(0, 5, 2, (2,), 4, "bonus", (), 0.1)
    pieces = (Piece("a", "accepted"), Piece("b", "accepted"), Piece("d", "bonus"))
    emitted = Emitted(0, 5, (1, 2, 4), ("accepted", "accepted", "bonus"), pieces)
    (scene,) = scenes([drafted, verified, emitted], decode, reading(10.0))
    assert "".join(shot.text for shot in scene.shots if shot.fate != "rejected") == "abd"
    assert [shot.text for shot in scene.shots if shot.fate == "rejected"] == ["b"]


def test_text_that_was_held_back_appears_when_it_is_sure_and_in_its_order() -> None:
    held = (Piece("x", "recovered"), Piece("a", "accepted"), Piece("d", "recovered"))
    drafted, verified, emitted = step(1)
    assert isinstance(emitted, Emitted)
    events = [drafted, verified, Emitted(0, 5, emitted.token_ids, emitted.sources, held)]
    (scene,) = scenes(events, decode, reading(10.0))
    assert "".join(shot.text for shot in scene.shots if shot.fate != "rejected") == "xad"
    assert scene.shots[0].shown_s == scene.shots[0].settled_s


def test_the_clock_of_a_race_keeps_the_proportions() -> None:
    model, draft = TableModel(8, seed=1), TableModel(8, seed=2)
    ticks = itertools.count()
    runs = [
        minispec.stream([1], target=model, draft=each, max_tokens=21, clock=lambda: float(next(ticks)))
        for each in (None, draft)
    ]
    plainly, drafted = (tuple(run) for run in runs)
    films, factor = race(plainly, runs[0].generation, drafted, lambda tokens: "x" * len(tokens), 4.0)
    plain, speculative = films.values()
    assert plain.length_s == pytest.approx(20 / 4.0)
    assert speculative.length_s == pytest.approx(factor * runs[1].generation.metrics.decode_s)
    assert plain.counts_at(0.0) == speculative.counts_at(0.0) == (1, 0)  # the prefill gives the first token
    assert plain.counts_at(plain.length_s / 2) == (11, 10)
    assert speculative.counts_at(1e9) == (21, runs[1].generation.metrics.num_steps)


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, minispec.Generation]:
    target = str(write_model(tmp_path / "target", seed=1, scale=0.3))
    draft = str(write_model(tmp_path / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3))
    run = minispec.stream("the", target=target, draft=draft, backend="numpy", max_tokens=25, seed=4, logprobs=True)
    path = tmp_path / "run.jsonl"
    path.write_text("".join(to_line(event, run.decode) + "\n" for event in run), encoding="utf-8")
    return path, run.generation


def test_a_trace_is_the_run_without_its_models(recorded: tuple[Path, minispec.Generation]) -> None:
    path, made = recorded
    trace = read_trace(path)
    told = trace.generation
    assert (told.prompt, told.text, told.token_ids, told.sources) == ("the", made.text, made.token_ids, made.sources)
    assert (told.metrics, told.guarantee, told.finish_reason) == (made.metrics, made.guarantee, made.finish_reason)
    assert told.pieces == made.pieces
    for pace in (at_once, reading(8.0)):
        film = Film.of(scenes(trace.events, trace.decode, pace))
        assert "".join(text for text, fate in film.at(film.length_s) if fate != "rejected") == made.text
    assert film.at(0.0) == []
    assert film.counts_at(film.length_s) == (made.metrics.num_tokens, made.metrics.num_steps)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"event": "prefilled"}', '{"event": "finished"}', '{"event": "drafted", "tokens": [1]}',
     '{"event": 3}', "[" * 50_000],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="is no trace") as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)


def test_a_trace_that_was_cut_short_or_is_of_another_version_is_refused(
    recorded: tuple[Path, minispec.Generation],
) -> None:
    path, _ = recorded
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    without_texts = [json.dumps({k: v for k, v in json.loads(line).items() if k != "texts"}) + "\n" for line in lines]
    for broken in (
        lines[:-1],
        without_texts,
        [line.replace('"elapsed_s": ', '"elapsed_s": "x", "_": ') for line in lines],
    ):
        path.write_text("".join(broken), encoding="utf-8")
        with pytest.raises(InputError, match="is no trace"):
            read_trace(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(path.parent)


def test_a_line_separator_in_a_text_ends_no_line(tmp_path: Path) -> None:
    run = minispec.stream([0], target=TableModel(4), draft=TableModel(4, seed=1), max_tokens=6)
    path = tmp_path / "run.jsonl"
    separators = "\u2028\x85\x0c"
    path.write_text("".join(to_line(event, lambda tokens: separators) + "\n" for event in run), encoding="utf-8")
    trace: Trace = read_trace(path)
    assert set(trace.texts.values()) == {separators}
    again = minispec.generate(
        [0], target=TableModel(4), draft=TableModel(4, seed=1), max_tokens=6, gamma=f"replay:trace={path}"
    )
    assert again.token_ids == trace.generation.token_ids
