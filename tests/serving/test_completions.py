"""What OpenAI's clients ask and are answered, through the official client and through curl."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess

import openai
import pytest

from minispec import generate
from minispec.engine.batching.defaults import COUPLED
from minispec.engine.control import DEFAULT_GAMMA
from minispec.engine.generation import stream
from minispec.engine.loading import load_model
from minispec.serving.settings import hide_folders
from tests.serving.running import running


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none needed", max_retries=0) as client:
        yield client


def alone(target, draft, prompt="the end", **options):
    """What `minispec generate` makes of it, with the rule that a server takes by default."""
    return generate(
        prompt,
        target=target,
        draft=draft,
        backend="panel",
        **{"temperature": 1.0, "top_p": 1.0, "max_tokens": 12, "verify": COUPLED, **options},
    )


def test_the_text_is_that_of_generate(server, client, target, draft):
    answer = client.completions.create(model=server.model, prompt="the end", max_tokens=12, seed=3)
    expected = alone(target, draft, seed=3)
    assert answer.choices[0].text == expected.text
    assert answer.choices[0].finish_reason == {"eos": "stop", "stop": "stop"}.get(expected.finish_reason, "length")
    told = answer.choices[0].model_extra["minispec"]
    assert told["guarantee"] == expected.guarantee == "same-seed"
    assert (told["seed"], told["draft"], told["verify"], told["gamma"]) == (3, "tiny-draft", COUPLED, "load")
    assert told["reproducible"]
    assert answer.object == "text_completion"
    assert answer.usage.prompt_tokens == expected.metrics.num_prompt_tokens
    assert answer.usage.completion_tokens == len(expected.token_ids)
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


OPTIONS = [
    {"temperature": 0.0},
    {"temperature": 0.7, "top_p": 0.9},
    {"stop": ["e", "zz"], "max_tokens": 60},
    {"presence_penalty": 1.0, "frequency_penalty": -0.5},
    {"top_k": 5, "min_p": 0.01, "repetition_penalty": 1.2, "min_tokens": 3},
]
WAYS = [
    {},
    {"verify": "match", "gamma": 3},
    {"draft": "ngram", "gamma": "heuristic"},
    {"draft": "suffix", "verify": "block", "gamma": 0},
    {"draft": "tree:shape=2x2,draft=tiny-draft"},
    {"draft": "none"},
    {"draft": "tiny-target", "gamma": 7},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_means_what_it_means_on_the_command_line(server, client, target, drafts, options, way):
    ours = {name: options[name] for name in options if name in ("top_k", "min_p", "repetition_penalty", "min_tokens")}
    theirs = {name: options[name] for name in options if name not in ours}
    fields = {"model": server.model, "prompt": "the end", "max_tokens": 12, "seed": 5, **theirs}
    answer = client.completions.create(**fields, extra_body={**ours, "speculative": way})
    names = dict(zip(server.service.settings.drafts, drafts, strict=True))
    spec = names.get(way.get("draft", "tiny-draft"))
    usual = "rejection" if "gamma" in way or spec is None else COUPLED
    rule = way.get("verify", "tree" if spec is not None and spec.startswith("tree") else usual)
    expected = alone(target, spec, seed=5, **options, gamma=way.get("gamma", DEFAULT_GAMMA), verify=rule)
    assert answer.choices[0].text == expected.text
    assert answer.choices[0].model_extra["minispec"]["stop"] == expected.stop


def test_speculative_false_decodes_plainly(server, target):
    answer = server.complete(speculative=False)
    assert answer["choices"][0]["text"] == alone(target, None, seed=3).text
    assert answer["choices"][0]["minispec"]["draft"] is None
    assert answer["choices"][0]["minispec"]["guarantee"] == "same-seed"


def test_a_stream_says_what_the_whole_answer_says(server, client):
    fields = {"model": server.model, "prompt": "the end", "max_tokens": 40, "seed": 4, "stop": "q"}
    fields["extra_body"] = {"speculative": {"gamma": 3}}  # the default's steps follow the clock
    whole = client.completions.create(**fields)
    chunks = list(client.completions.create(**fields, stream=True, stream_options={"include_usage": True}))
    assert "".join(choice.text for chunk in chunks for choice in chunk.choices) == whole.choices[0].text
    ends = [choice for chunk in chunks for choice in chunk.choices if choice.finish_reason is not None]
    assert [end.finish_reason for end in ends] == [whole.choices[0].finish_reason]
    counts = ("num_steps", "num_tokens", "num_accepted_tokens", "num_draft_tokens")
    told, expected = (each.model_extra["minispec"] for each in (ends[0], whole.choices[0]))
    assert [told["metrics"][name] for name in counts] == [expected["metrics"][name] for name in counts]
    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage
    assert len({chunk.id for chunk in chunks}) == 1
    assert 2 < len(chunks) <= told["metrics"]["num_steps"] + 2


def test_the_asynchronous_client_with_many_at_once(server, target, draft):
    """Whatever else is running, each text is its own."""

    async def ask(client, seed):
        stream = await client.completions.create(
            model=server.model, prompt="the end", max_tokens=30, seed=seed, stream=bool(seed % 2)
        )
        if not seed % 2:
            return stream.choices[0].text
        return "".join([chunk.choices[0].text async for chunk in stream])

    async def ask_all():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client:
            return await asyncio.gather(*(ask(client, seed) for seed in range(24)))

    texts = asyncio.run(ask_all())
    assert texts == [alone(target, draft, seed=seed, max_tokens=30).text for seed in range(24)]
    server.wait_until_idle()


def test_curl(server):
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    body = json.dumps(server.body(stream=True))
    done = subprocess.run(
        [curl, "-sN", f"{server.url}/v1/completions", "-H", "Content-Type: application/json", "-d", body],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    lines = done.stdout.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    texts = [json.loads(line.removeprefix("data: "))["choices"][0]["text"] for line in lines[:-2]]
    assert "".join(texts) == server.complete()["choices"][0]["text"]


def test_prompts_of_every_form(server, target, draft):
    tokenizer = load_model(target, "panel").tokenizer
    ids = tokenizer.encode("the end")
    text = server.complete()["choices"][0]["text"]
    assert server.complete(prompt=ids)["choices"][0]["text"] == text
    for prompt in (["the end", "then"], [ids, tokenizer.encode("then")]):
        answer = server.complete(prompt=prompt, n=2, seed=10)
        assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
        expected = [alone(target, draft, each, seed=10 + i) for i, each in enumerate(["the end"] * 2 + ["then"] * 2)]
        assert [choice["text"] for choice in answer["choices"]] == [each.text for each in expected]
        assert [choice["minispec"]["seed"] for choice in answer["choices"]] == [10, 11, 12, 13]
        once = len(ids) + len(tokenizer.encode("then"))
        assert answer["usage"]["prompt_tokens"] == once  # each prompt counts once, however many continue it
        assert answer["usage"]["completion_tokens"] == sum(len(each.token_ids) for each in expected)


def test_choices_of_a_stream_come_mixed_and_complete(server):
    whole = server.complete(n=3, prompt=["the end", "then"], max_tokens=20)
    texts, ended = {}, []
    for chunk in read_stream(server, n=3, prompt=["the end", "then"], max_tokens=20):
        for choice in chunk["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
            ended += [choice["index"]] if choice["finish_reason"] else []
    assert [texts[i] for i in range(6)] == [choice["text"] for choice in whole["choices"]]
    assert sorted(ended) == list(range(6))


def read_stream(server, **fields):
    with server.client.stream("POST", "/v1/completions", json=server.body(stream=True, **fields)) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_without_a_seed_the_answer_tells_one_that_repeats_it(server):
    first, second = server.complete(seed=None, max_tokens=30), server.complete(seed=None, max_tokens=30)
    assert first["choices"][0]["text"] != second["choices"][0]["text"]
    again = server.complete(seed=first["choices"][0]["minispec"]["seed"], max_tokens=30)
    assert again["choices"][0]["text"] == first["choices"][0]["text"]


def test_log_probabilities(server, target, draft):
    choice = server.complete(logprobs=2, seed=4)["choices"][0]
    details = [
        detail
        for event in stream(
            "the end", target=target, draft=draft, backend="panel", temperature=1.0, top_p=1.0, max_tokens=12, seed=4,
            logprobs=True, verify=COUPLED,
        )
        for detail in getattr(event, "details", ())
    ]  # fmt: skip
    found = choice["logprobs"]
    assert found["token_logprobs"] == [detail.logprob for detail in details]
    tokenizer = load_model(target, "panel").tokenizer
    for likely, token, detail in zip(found["top_logprobs"], found["tokens"], details, strict=True):
        best = {tokenizer.name(each.token): each.logprob for each in detail.top[:2]}
        assert likely == best | {token: detail.logprob}
        assert len(likely) == 2 + (token not in best), "no token takes another's place"
    assert server.complete(logprobs=0)["choices"][0]["logprobs"]["top_logprobs"] is None
    streamed = read_stream(server, logprobs=2, seed=4)
    parts = [chunk["choices"][0]["logprobs"] for chunk in streamed[:-1]]
    for name in ("tokens", "token_logprobs", "text_offset", "top_logprobs"):
        assert [entry for part in parts for entry in part[name]] == found[name]


@pytest.mark.parametrize("echo", [False, True])
def test_a_token_has_a_name_of_its_own_and_the_place_of_its_character(server, target, echo):
    """As OpenAI has it: parts of characters are named by bytes, special tokens as written; places begin there."""
    tokenizer = load_model(target, "panel").tokenizer
    prompt = "Hi 🙂 é<|endoftext|>日本 x"
    tokens = tokenizer.encode(prompt)
    choice = server.complete(prompt=prompt, echo=echo, logprobs=5, max_tokens=4)["choices"][0]
    found, made = choice["logprobs"], choice["text"].removeprefix(prompt if echo else "")
    names, places, at = [], [], 0  # of the prompt, byte by byte
    where = [place for place, char in enumerate(prompt) for _ in char.encode()]
    for token in tokens:
        content = tokenizer.token_bytes(token) or b"<|endoftext|>"
        places.append(where[at])
        whole = at == 0 or where[at] != where[at - 1]
        at += len(content)
        whole = whole and (at == len(where) or where[at] != where[at - 1])
        names.append(content.decode() if whole else "bytes:" + "".join(rf"\x{byte:02x}" for byte in content))
    if echo:
        assert (found["tokens"][:-4], found["text_offset"][:-4]) == (names, places)
        assert any(name.startswith("bytes:") for name in names)
    own = found["text_offset"][-4:]
    assert own[0] == len(prompt)
    assert own == sorted(own)
    assert own[-1] <= len(prompt) + len(made)
    assert all(len(likely) >= 5 for likely in found["top_logprobs"][1 if echo else 0 :])


def test_echo_and_what_the_target_thinks_of_the_prompt(server, target):
    model = load_model(target, "panel")
    prompt = "the end of them " * 20  # longer than one chunk
    tokens = model.tokenizer.encode(prompt)
    choice = server.complete(prompt=prompt, echo=True, logprobs=1, max_tokens=0)["choices"][0]
    assert choice["text"] == prompt
    assert choice["logprobs"]["tokens"] == [model.tokenizer.decode([token]) for token in tokens]
    assert choice["logprobs"]["token_logprobs"][0] is None
    assert choice["logprobs"]["top_logprobs"][0] is None
    import numpy as np

    logits = model.logits(tokens).astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    found = choice["logprobs"]["token_logprobs"][1:]
    assert found == pytest.approx([expected[i, token] for i, token in enumerate(tokens[1:])], abs=1e-5)

    both = server.complete(echo=True, logprobs=1)["choices"][0]
    plain = server.complete(logprobs=1)["choices"][0]
    assert both["text"] == "the end" + plain["text"]
    assert both["logprobs"]["token_logprobs"][-12:] == plain["logprobs"]["token_logprobs"]
    assert both["logprobs"]["text_offset"][-12:] == plain["logprobs"]["text_offset"]
    streamed = read_stream(server, echo=True, logprobs=1)
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed) == both["text"]


def test_models_options_health(server, client):
    assert [model.id for model in client.models.list()] == [server.model] == ["tiny-target"]
    assert client.models.retrieve(server.model).id == server.model
    options = server.client.get("/v1/options").json()
    assert [draft["name"] for draft in options["drafts"]] == list(server.service.settings.drafts)
    assert [draft["tree"] for draft in options["drafts"]] == [False, False, False, True, False]
    assert options["defaults"] == {"draft": "tiny-draft", "gamma": "load", "verify": COUPLED}
    assert options["context"] == 512
    schema = server.client.get("/openapi.json").json()["components"]["schemas"]["CompletionRequest"]["properties"]
    for name in ("temperature", "top_p"):
        [number] = [kind for kind in schema[name]["anyOf"] if kind["type"] == "number"]
        least = "exclusiveMinimum" if "exclusiveMinimum" in number else "minimum"
        assert options[name][least.replace("minimum", "min")] == number[least]
        assert ("min" in options[name]) == (least == "minimum")
    for path in ("health", "ready"):
        assert server.client.get(f"/{path}").status_code == 200


def test_no_folder_of_this_machine_is_told(server, target, draft):
    told = server.client.get("/v1/options").text + server.client.get("/metrics").text
    told += json.dumps(server.complete(logprobs=1)) + json.dumps(read_stream(server, events=True, provisional=True))
    shape = {"draft": "tree:shape=2x2,draft=tiny-draft"}
    for fields in (
        {"prompt": [10**6]},
        {"prompt": "the " * 600},
        {"speculative": {**shape, "gamma": "auto"}},
        {"speculative": {**shape, "verify": "block"}},
    ):
        answer = server.client.post("/v1/completions", json=server.body(**fields))
        told += answer.text
    for folder in (target, draft):
        assert folder not in told
        assert folder.rpartition("/")[0] not in told


@pytest.mark.parametrize(
    ("drafts", "gamma"),
    [
        (("ngram", "TREE"), "load"),
        (("ngram", "TREE"), "auto"),
        (("ngram",), "confidence:threshold=0.4"),
        (("ngram",), "heuristic:largest=8"),
        (("none", "ngram", "TREE"), None),
        (("none",), "load"),
    ],
)
def test_whatever_an_operator_may_name_is_served(target, drafts, gamma):
    """The first draft is the default, also if it is none; a policy holds for chains, a tree keeps its shape."""
    drafts = tuple(f"tree:shape=2x1,draft={target}" if each == "TREE" else each for each in drafts)
    with running(target, drafts, gamma=gamma, baseline=hide_folders(drafts[-1])) as server:
        told = server.client.get("/v1/options").json()
        assert told["defaults"]["draft"] == drafts[0]
        for each in (None, "none", *(draft["name"] for draft in told["drafts"])):
            asked = {} if each is None else {"speculative": {"draft": each}}
            used = server.complete(**asked)["choices"][0]["minispec"]
            assert (used["draft"] or "none") == (each or drafts[0])
