"""What clients of other servers look for: acceptance as vLLM has it, cached tokens, forms, latencies, alarms."""

from __future__ import annotations

import json
import logging
import re

import pytest

from minispec.engine.generation.broken import Watch
from minispec.engine.generation.events import Drafted, Emitted
from minispec.lab.explain.engines import parse_acceptance
from minispec.serving.choices import find_form
from minispec.serving.problems import Problem
from minispec.serving.schema import CompletionRequest
from tests.serving.test_prometheus import samples, total


@pytest.mark.parametrize("name", ["tiny-draft", "tiny-target", "tree:shape=2x2,draft=tiny-draft"])
def test_answers_say_what_became_of_their_drafts(server, name):
    asked = {"speculative": {"draft": name} | ({} if "tree" in name else {"gamma": 3}), "seed": 1, "max_tokens": 24}
    answer = server.complete(per_request_spec_decode_metrics="detailed", **asked)
    told, ours = answer["metrics"]["speculative_decoding"], answer["choices"][0]["minispec"]["metrics"]
    assert told["num_spec_steps"] == ours["num_drafts"] == len(told["per_step_accepted"])
    assert told["num_accepted_draft_tokens"] == ours["num_accepted_tokens"] == sum(told["per_step_accepted"])
    assert told["num_draft_tokens"] == sum(told["per_step_drafted"])
    if "tree" not in name:
        assert told["num_draft_tokens"] == ours["num_draft_tokens"]
        assert told["num_spec_tokens"] == 3
    found = parse_acceptance(json.dumps(answer), "an answer")  # which refuses what does not add up
    assert [a for a, _ in found.places if a] == [n for n in ours["num_accepted_tokens_per_pos"] if n]
    assert found.length == told["mean_acceptance_length"]
    assert "per_step_accepted" not in server.complete(**asked)["metrics"]["speculative_decoding"]
    assert server.complete(per_request_spec_decode_metrics="none", **asked)["metrics"] is None
    assert server.complete(n=2, **asked)["metrics"] is None
    assert server.complete(**{**asked, "speculative": False})["metrics"] is None


def test_a_stream_has_them_in_its_last_chunk(server):
    asked = {"seed": 1, "max_tokens": 24, "speculative": {"draft": "tiny-draft", "gamma": 2}}
    body = {"model": server.model, "prompt": "the end", **asked}
    text = server.client.post(
        "/v1/completions", json={**body, "stream": True, "stream_options": {"include_usage": True}}
    ).text  # fmt: skip
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    whole = server.complete(**asked)
    assert chunks[-1]["metrics"] == whole["metrics"]
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    assert all(chunk["metrics"] is None for chunk in chunks[:-1])
    assert parse_acceptance(text, "a saved stream") == parse_acceptance(json.dumps(whole), "a saved stream")


def test_what_load_generators_ask_besides_is_answered(server):
    """Usage so far in every chunk, and no end before ``max_tokens``: as GuideLLM asks."""
    options = {"include_usage": True, "continuous_usage_stats": True}
    asked = server.body(n=2, max_tokens=9, stop=None, ignore_eos=True, stream=True, stream_options=options)
    text = server.client.post("/v1/completions", json=asked).text
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    made = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert made == sorted(made)
    assert 0 < made[0] < made[-1] == 18
    assert {chunk["usage"]["prompt_tokens"] for chunk in chunks} == {chunks[-1]["usage"]["prompt_tokens"]}
    plain = {**asked, "stream_options": {"continuous_usage_stats": True}}
    text = server.client.post("/v1/completions", json=plain).text
    assert all(json.loads(line[6:])["usage"] is None for line in text.splitlines() if line.startswith("data: {"))


def test_a_prompt_that_was_read_before_is_counted_as_cached(server):
    server.wait_until_idle()
    before = samples(server)
    prompt = [7, 3, 5, 2, 9] * 20
    first, again = (server.complete(prompt=prompt, max_tokens=2)["usage"] for _ in range(2))
    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    cached = again["prompt_tokens_details"]["cached_tokens"]
    assert 64 <= cached < 100
    after = samples(server)
    grown = {n: total(after, n) - total(before, n) for n in ("prefix_cache_queries_total", "prefix_cache_hits_total")}
    assert grown == {"prefix_cache_queries_total": 200, "prefix_cache_hits_total": cached}


SCHEMA = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
FORMS = [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}, r'\{"n": [12]\}'),
    ({"guided_json": SCHEMA}, r'\{"n": [12]\}'),
    ({"json_schema": json.dumps(SCHEMA)}, r'\{"n": [12]\}'),
    ({"structured_outputs": {"json": SCHEMA}}, r'\{"n": [12]\}'),
    ({"regex": "(ab|c)d"}, "(ab|c)d"),
    ({"guided_regex": "e{3}"}, "eee"),
    ({"structured_outputs": {"choice": ["he", "(s)he."]}}, r"he|\(s\)he\."),
    ({"guided_choice": ["a b"]}, "a b"),
]


@pytest.mark.parametrize(("asked", "expected"), FORMS, ids=[json.dumps(asked)[:40] for asked, _ in FORMS])
def test_every_way_to_ask_for_a_form_gets_it(server, asked, expected):
    how = {"draft": "tiny-draft", "gamma": 3, "verify": "gumbel"}
    choice = server.complete(max_tokens=40, speculative=how, **asked)["choices"][0]
    assert re.fullmatch(expected, choice["text"]), choice["text"]
    assert choice["finish_reason"] == "stop"


def test_an_object_of_any_kind_is_one_form_too():
    def form(**asked):
        return find_form(CompletionRequest(model="m", prompt="x", **asked))

    for asked in ({"response_format": {"type": "json_object"}}, {"structured_outputs": {"json_object": True}}):
        assert form(**asked) == {"json_schema": '{"type": "object"}'}
    assert form(response_format={"type": "text"}) == form(structured_outputs={"json_object": False}) == form() == {}
    for asked in (
        {"regex": "a", "guided_json": {}},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "text", "json_schema": {"schema": {}}}},
    ):
        with pytest.raises(Problem, match=r"Leave one out|json_schema alone"):
            form(**asked)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"regex": "(a"}, None),
        ({"guided_json": {"type": 3}}, None),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format.json_schema.schema",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "x": 1}}},
            "response_format.json_schema.x",
        ),
        ({"structured_outputs": {"grammar": "x"}}, "structured_outputs.grammar"),
        ({"guided_choice": []}, "guided_choice"),
    ],
)
def test_forms_that_are_none_are_refused(server, asked, param):
    answer = server.client.post("/v1/completions", json={"model": server.model, "prompt": "x", **asked})
    error = answer.json()["error"]
    assert answer.status_code == 400, error
    assert param is None or error["param"].startswith(param), error


def test_a_form_that_turns_out_to_be_too_large_is_refused_and_no_fault_of_ours(server, caplog):
    """It compiles: only whoever follows it sees that it never ends."""
    before = server.service.worker.num_faults
    endless = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    answer = server.client.post("/v1/completions", json=server.body(json_schema=endless))
    assert answer.status_code == 400, answer.text
    assert "Simplify it" in answer.json()["error"]["message"]
    streamed = server.client.post("/v1/completions", json=server.body(json_schema=endless, stream=True))
    assert json.loads(streamed.text.rpartition("data: ")[2])["error"] == answer.json()["error"]
    assert (server.service.worker.num_faults, caplog.records) == (before, [])
    server.wait_until_idle()


def test_the_waits_between_tokens_add_up_to_the_time_per_token(server):
    """A burst of k tokens after a wait of w is k waits of w / k: then the mean is TPOT, whatever the drafts."""
    server.wait_until_idle()
    before = samples(server)
    asked = {"seed": 3, "max_tokens": 30, "speculative": {"draft": "tiny-target", "gamma": 4}}
    made = server.complete(**asked)["usage"]["completion_tokens"]
    after = samples(server)

    def grown(name):
        return total(after, name) - total(before, name)

    assert grown("inter_token_latency_seconds_count") == made - 1
    tpot = grown("time_per_output_token_seconds_sum")
    assert grown("inter_token_latency_seconds_sum") == pytest.approx(tpot * (made - 1))
    whole = grown("e2e_request_latency_seconds_sum")
    assert grown("time_to_first_token_seconds_sum") + tpot * (made - 1) == pytest.approx(whole, rel=0.05, abs=0.05)


def step(accepted, drafted, q=0.8):
    sources = ("accepted",) * accepted + (("bonus",) if accepted == drafted else ("recovered",))
    tokens = tuple(range(drafted))
    return (
        Drafted(step=1, position=1, tokens=tokens, probs=(q,) * drafted, elapsed_s=0.0),
        Emitted(step=1, position=1, token_ids=(0,) * len(sources), sources=sources, pieces=()),
    )


def test_a_draft_is_broken_where_chance_does_not_make_it():
    def warning(accepted, steps, q):
        watch = Watch()
        watch.read(event for i in range(steps) for event in step(int(i < accepted), 3, q))
        return watch.warning

    assert warning(0, 20, 0.8) is None, "too little to say"
    assert "of no use" in warning(0, 120, 0.8)
    assert "80 % sure" in warning(60, 500, 0.8)
    assert warning(60, 500, 0.3) is None, "it was not sure either"
    assert warning(60, 500, 1.0) is None, "a lookup is always certain"
    assert warning(300, 500, 0.8) is None
    assert Watch().warning is None


def test_a_draft_that_breaks_later_is_seen():
    watch = Watch(judged=10**6, accepted=6 * 10**5)
    for _ in range(400):
        watch.fade()
        watch.read(event for _ in range(100) for event in step(0, 3))
    assert watch.warning is not None


def test_the_server_says_once_that_a_draft_is_of_no_use(server, caplog, monkeypatch):
    server.wait_until_idle()
    monkeypatch.setattr(server.service, "_watches", {("tiny-draft", "none"): Watch(judged=3000, accepted=9)})
    with caplog.at_level(logging.WARNING, "minispec.serving.service"):
        for seed in range(2):
            server.complete(seed=seed, max_tokens=4, speculative={"draft": "tiny-draft", "gamma": 1})
        server.wait_until_idle()
    told = [record.getMessage() for record in caplog.records if "of no use" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("draft tiny-draft, arm none: ")
    assert total(samples(server), "draft_is_broken", draft="tiny-draft") == 1.0
