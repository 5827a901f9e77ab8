"""The streaming protocol of docs/http-api.md: events are a trace, spans are settled, smoothing delays little."""

from __future__ import annotations

import json
import time

import pytest

from minispec.cli.main import cli
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.generation import stream
from minispec.engine.generation.events import Drafted, Emitted
from minispec.engine.generation.trace import read_trace, to_line
from minispec.engine.records import Piece
from minispec.engine.tokenizer import Tokenizer
from minispec.serving.provisional import Spans
from tests.tiny import byte_tokenizer


def read_events(server, **fields):
    """Return (name, data, moment) of every event; a chunk's name is "chunk"."""
    found, name = [], "chunk"
    body = server.body(stream=True, **fields)
    with server.client.stream("POST", "/v1/completions", json=body, timeout=60) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            kind, _, value = line.partition(": ")
            if kind == "event":
                name = value
            elif kind == "data":
                found.append((name, "[DONE]" if value == "[DONE]" else json.loads(value), time.perf_counter()))
                name = "chunk"
    assert found.pop()[:2] == ("chunk", "[DONE]")
    return found


def text_of(events):
    return "".join(choice["text"] for name, data, _ in events if name == "chunk" for choice in data["choices"])


WAYS = [{}, {"draft": "tree:shape=2x2,draft=tiny-draft"}, {"draft": "none"}, {"draft": "tiny-target"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_events_are_the_trace_of_the_command_line(server, drafts, target, way, tmp_path):
    events = read_events(server, events=True, speculative={"gamma": DEFAULT_GAMMA, **way}, max_tokens=40)
    lines = [data for name, data, _ in events if name != "chunk"]
    assert [name for name, _, _ in events if name != "chunk"] == [line["event"] for line in lines]
    specs = {**dict(zip(server.service.settings.drafts, drafts, strict=True)), "none": None}
    spec = specs[way.get("draft", "tiny-draft")]
    rule = way.get("verify", "tree" if "2x2" in str(spec) else "rejection")
    options = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 40, "seed": 3, "logprobs": True, "verify": rule}
    run = stream("the end", target=target, draft=spec, backend="panel", **options)
    expected = [json.loads(to_line(event, run.decode)) for event in run]
    for line, other in zip(lines, expected, strict=True):
        assert line["index"] == 0
        assert set(line) - set(other) == {"index", "at_s"}
        for name in set(other) - {"elapsed_s", "metrics", "options", "prompt"}:
            assert line[name] == other[name], name
    moments = [line["at_s"] for line in lines]
    assert moments == sorted(moments)
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    trace = read_trace(path)
    assert trace.generation.text == run.generation.text == text_of(events)
    if way.get("draft") != "none":
        assert [line["event"] for line in lines[:4]] == ["prefilled", "emitted", "drafted", "verified"]
        assert len(lines[3]["target_probs"]) == len(lines[2]["tokens"]) == len(lines[2]["probs"])


def test_a_saved_stream_can_be_replayed(server, tmp_path, monkeypatch):
    from click.testing import CliRunner

    lines = [data for name, data, _ in read_events(server, events=True, max_tokens=10) if name != "chunk"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.jsonl").write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    done = CliRunner().invoke(cli, ["replay", "run.jsonl", "--html", "run.html"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run.html").stat().st_size > 1000


def test_a_draft_is_told_before_it_is_judged_and_its_step_in_order(server):
    names = [name for name, _, _ in read_events(server, events=True, provisional=True, max_tokens=60)]
    assert names[:4] == ["prefilled", "emitted", "chunk", "drafted"]
    assert names[-2:] == ["finished", "chunk"]
    step = ["drafted", "provisional", "verified", "emitted", "settled", "chunk"]
    steps = " ".join(names[1:-2]).split("drafted ")[1:]
    assert len(steps) > 5
    for each in steps:
        kept = [name for name in step[1:] if name in each.split()]
        assert each.split() == kept
        assert {"verified", "emitted"} <= set(kept)
        assert ("provisional" in kept) == ("settled" in kept)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("stop", [None, ["e", "th"]])
def test_what_is_provisional_is_settled_and_only_committed_text_stays(server, way, stop):
    fields = {"speculative": {"gamma": DEFAULT_GAMMA, **way}, "max_tokens": 80, "stop": stop}
    events = read_events(server, provisional=True, **fields)
    span, confirmed, num_spans = None, "", 0
    for name, data, _ in events:
        if name == "provisional":
            assert span is None
            assert data["span"] == num_spans
            span, num_spans = data, num_spans + 1
            assert span["text"]
            assert not any(each in span["text"] for each in stop or [])
        elif name == "settled":
            assert (data["span"], data["step"]) == (span["span"], span["step"])
            assert data["confirmed"] + data["retracted"] == span["text"]
            span, confirmed = None, data["confirmed"]
        else:
            assert span is None
            text = data["choices"][0]["text"]
            assert text.startswith(confirmed)
            confirmed = ""
    assert text_of(events) == server.complete(**fields)["choices"][0]["text"]
    assert (num_spans > 0) == (way.get("draft") != "none")
    assert "provisional" not in [name for name, _, _ in read_events(server, **fields)]


def test_a_span_shows_no_half_character_and_nothing_from_a_stop_on():
    tokenizer = Tokenizer(byte_tokenizer())
    encode = tokenizer.encode
    spans = Spans(tokenizer, ["END"])
    euro = encode("€")
    assert len(euro) == 3
    shown = spans.draft(Drafted(0, 0, (*encode("a"), *euro[:2]), (), 0.0))
    assert shown.text == "a"
    settled = spans.settle("a")
    assert (settled.confirmed, settled.retracted) == ("a", "")
    spans.commit(Emitted(0, 0, (*encode("a"), *euro[:2]), (), (Piece("a", "accepted"),)))
    assert spans.draft(Drafted(1, 0, tuple(euro[2:]), (), 0.0)).text == "€"
    assert spans.settle("€").confirmed == "€"
    spans.commit(Emitted(1, 0, tuple(euro[2:]), (), (Piece("€", "accepted"),)))
    assert spans.draft(Drafted(2, 0, tuple(encode("x EN")), (), 0.0)).text == "x EN"
    assert spans.settle("x ").retracted == "EN"
    spans.commit(Emitted(2, 0, tuple(encode("x EN")), (), (Piece("x ", "accepted"),)))  # EN is held back
    assert spans.draft(Drafted(3, 0, tuple(encode("Dx")), (), 0.0)) is None
    assert spans.draft(Drafted(3, 0, tuple(encode("Ex")), (), 0.0)).text == "ENEx"
    end = tokenizer.encode("<|endoftext|>")[0]
    assert spans.draft(Drafted(4, 0, (*encode("k"), end, *encode("k")), (), 0.0)).text == "ENk"
    waiting = Spans(tokenizer, ["a"], min_tokens=2)  # as the text does: the first two tokens are no stop
    assert waiting.draft(Drafted(0, 0, tuple(encode("aaba")), (), 0.0)).text == "aab"
    waiting.commit(Emitted(0, 0, tuple(encode("a")), (), (Piece("a", "accepted"),)))
    assert waiting.draft(Drafted(1, 0, tuple(encode("aba")), (), 0.0)).text == "ab"


def test_smooth_sends_tokens_one_by_one_and_the_same_text(server):
    fields = {"max_tokens": 80, "temperature": 0.0, "speculative": {"gamma": 8, "draft": "tiny-target"}}
    bursts, smooth = read_events(server, **fields), read_events(server, smooth=True, **fields)
    assert text_of(smooth) == text_of(bursts)
    assert len(smooth) > len(bursts)  # how many depends on the clock: what is held up is sent before the next step


@pytest.mark.parametrize("name", ["events", "provisional", "smooth"])
def test_these_need_a_stream(server, name):
    answer = server.client.post("/v1/completions", json=server.body(**{name: True}))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == name


def test_what_is_shown_at_once_is_not_spread(server):
    answer = server.client.post("/v1/completions", json=server.body(stream=True, smooth=True, provisional=True))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("smooth spreads what provisional shows at once")


def test_what_was_held_up_is_sent_before_the_next_step(server):
    """Between two chunks of a step lies a share of the steps before it; nothing waits longer than a step."""
    from minispec.serving.answers import Envelope
    from minispec.serving.choices import Choice
    from minispec.serving.schema import CompletionRequest
    from minispec.serving.scoring import Prefix
    from minispec.serving.service import InFlight
    from minispec.serving.streaming import Streamer
    from minispec.serving.worker import Told

    request = CompletionRequest(model="m", prompt="p", stream=True, smooth=True)
    choice = Choice(0, "p", None, None, {"stop": ()})
    flight = InFlight(request, [choice], Envelope("id", "m", 0), None, 0.0)
    streamer = Streamer(flight, Tokenizer(byte_tokenizer()), server.service)
    streamer._shown = streamer._begin([Prefix()])

    def step(number, at_s, texts):
        pieces = tuple(Piece(text, "accepted") for text in texts)
        told = Told(0, at_s, Emitted(number, 0, tuple(range(len(texts))), ("accepted",) * len(texts), pieces))
        return [json.loads(part.removeprefix(b"data: "))["choices"][0]["text"] for part in streamer._write(told)]

    assert step(0, 100.0, "ab") == ["a"]
    assert streamer._wait_s() == 0.0  # no step was timed yet: at once
    assert step(1, 101.0, "cdef") == ["b", "c"]
    shown = streamer._shown[0]
    assert shown.apart_s == 0.25
    assert shown.due_s == 101.25
    assert step(2, 101.5, "g") == ["def", "g"]


def test_a_draft_leaves_before_the_target_has_run_for_those_who_want_to_see_it(server, monkeypatch):
    worker, told = server.service.worker, []
    fields = {"max_tokens": 21, "speculative": {"gamma": DEFAULT_GAMMA}}
    tell = worker._tell

    def spy(batch):
        told.extend(type(each[-1].what).__name__ for each in batch.values())  # the last of what is sent together
        tell(batch)

    monkeypatch.setattr(worker, "_tell", spy)
    read_events(server, **fields)  # with a draft in the last step, too
    assert "Drafted" not in told
    steps = [name for name, _, _ in read_events(server, events=True, **fields)].count("verified")
    for wish in ("events", "provisional"):
        told.clear()
        read_events(server, **{wish: True}, **fields)
        assert told.count("Drafted") == steps > 3


def test_an_idle_stream_is_kept_open(server, steps, monkeypatch):
    """Proxies close what is silent; a comment says nothing and is no silence."""
    monkeypatch.setattr("minispec.serving.app.PING_S", 0.05)
    allowed, _ = steps
    told = []
    with server.client.stream("POST", "/v1/completions", json=server.body(stream=True)) as answer:
        for line in answer.iter_lines():
            told.append(line)
            if len([line for line in told if line.startswith(": ping")]) == 3:
                allowed.release(1000)
    assert [line for line in told if line][-1] == "data: [DONE]"
    assert told[0].startswith(": ping")
