"""The engine in JavaScript against the one in Python, value by value, in a real Chromium."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import random
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from minispec.engine.generation.api import generate
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_TARGET
from minispec.engine.model.session import Session
from minispec.engine.noise import Address
from minispec.engine.noise.philox import PhiloxNoise
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.draw import distribution
from minispec.serving.static import write_page
from tests.serving.alone import chromium, served
from tests.serving.running import running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None, reason="playwright: dependency group docs-check"
    ),
]
PROMPT = "Once upon a time there was a little fox"

LOAD = """async () => {
  const names = "files forward philox request rules run sampling session tokenizer weights".split(" ");
  const parts = await Promise.all(names.map((name) => import(`/engine/${name}.js`)));
  const all = Object.assign({}, ...parts);
  const options = await (await fetch("/options.json")).json();
  const files = new all.Files(location.href, options.files, () => {});
  const models = {};
  for (const name of [options.model, "draft-1.6m"]) {
    const file = await files.read(`weights/${name}/model.safetensors`);
    const config = await files.json(`weights/${name}/config.json`);
    models[name] = new all.Model(config, all.readTensors(file, name));
    models[`${name} in loops`] = new all.Model(config, all.readTensors(file, name), false);
  }
  const tokenizer = new all.Tokenizer(await files.json("weights/tokenizer.json"));
  window.minispec = { ...all, options, models, tokenizer };
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("alone") / "page"
    write_page(folder)
    with served(folder) as url, chromium() as browser:
        opened = browser.new_page()
        opened.set_default_timeout(180_000)
        opened.goto(f"{url}/options.json")
        opened.evaluate(LOAD)
        yield opened


@functools.cache
def model(name: str = DEFAULT_TARGET) -> Any:
    return load_model(name, backend="numpy")


def list_texts() -> list[str]:
    """Every character that has a name, alone among others, of all planes; and words as people write them."""
    named = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
    blocks = ["".join(named[i : i + 2048]) for i in range(0, len(named), 2048)]
    rng = random.Random(1)
    mixed = ["".join(rng.choices(named, k=40)) for _ in range(200)]
    spaced = ["".join(rng.choices(" \t\n\r\x0b\x0c\x85\xa0\u2003\u3000\ufeffaB1.'é😀", k=60)) for _ in range(200)]
    plain = ["", PROMPT, "3 + 4 = 12345", "don't we'll I'd", "<|endoftext|>a<|endoftext|>", "  x  ", "w" * 300]
    return [*plain, *blocks, *mixed, *spaced]


def test_texts_become_the_same_tokens_in_every_plane(page: Any) -> None:
    texts = list_texts()
    ours = page.evaluate("(texts) => texts.map((text) => minispec.tokenizer.encode(text))", texts)
    differing = [text for text, tokens in zip(texts, ours, strict=True) if model().tokenizer.encode(text) != tokens]
    assert [text[:60] for text in differing] == []


def test_tokens_become_the_same_text(page: Any) -> None:
    rng = random.Random(2)
    lists = [[rng.randrange(8192) for _ in range(20)] for _ in range(300)]
    ours = page.evaluate("(lists) => lists.map((tokens) => minispec.tokenizer.decode(tokens))", lists)
    assert ours == [model().tokenizer.decode(tokens) for tokens in lists]


def test_noise_is_read_at_the_same_addresses(page: Any) -> None:
    purposes = ["sample", "draft", "accept", "residual", "bonus"]
    rng = random.Random(3)
    asked = []
    for seed in (0, 7, 2**53 - 1, 2**64 - 1):
        noise = PhiloxNoise(seed)
        for purpose in purposes:
            at = Address(
                purpose, rng.randrange(2**40), rng.randrange(2**33), rng.randrange(2**32), rng.randrange(2**32)
            )
            token = rng.randrange(8192)
            asked.append([str(seed), at._asdict(), token, float(noise._race.uniform(noise._words(at), token))])
    ours = page.evaluate(
        "(asked) => asked.map(([seed, at, token]) => new minispec.PhiloxNoise(BigInt(seed)).uniform(at, token))", asked
    )
    assert ours == [uniform for *_, uniform in asked]


def test_races_have_the_same_winners(page: Any) -> None:
    rng = np.random.default_rng(4)
    rows = [rng.dirichlet(np.full(500, 0.05)) for _ in range(100)]
    winners = page.evaluate(
        "(rows) => rows.map((probs, position) =>"
        " new minispec.PhiloxNoise(9).categorical(probs, { purpose: 'draft', position, step: 3 }))",
        [row.tolist() for row in rows],
    )
    noise = PhiloxNoise(9)
    assert winners == [noise.categorical(row, Address("draft", i, 3)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("name", [DEFAULT_TARGET, "draft-1.6m"])
def test_the_forward_agrees_layer_by_layer(name: str, page: Any) -> None:
    tokens = model().tokenizer.encode(PROMPT)
    cache = model(name).new_cache()
    depth = model(name).config.n_layer
    cache.keep_features(range(1, depth + 1))
    logits = model(name).forward(tokens, cache)
    layers = [cache.read_features([i], 0, len(tokens)).ravel() for i in range(1, depth + 1)]
    for kind in ("", " in loops"):
        seen = page.evaluate(
            "([name, tokens]) => { const model = minispec.models[name], layers = [];"
            " const logits = model.forward(tokens, model.newCache(), tokens.length, (_, x) => layers.push([...x]));"
            " return [layers, logits.map((row) => [...row])]; }",
            [name + kind, tokens],
        )
        for layer, ours in zip(layers, seen[0], strict=True):
            np.testing.assert_allclose(ours, layer, atol=1e-3 if abs(layer).max() > 10 else 1e-4, rtol=1e-5)
        np.testing.assert_allclose(seen[1], logits, atol=1e-4)


SCORED = """([tokens, cuts]) => {
  const session = new minispec.Session(minispec.models['target-17m']);
  const seen = [];
  for (const [from, to] of cuts) {
    session.rollback(from);
    const rows = session.score(tokens.slice(from, to));
    rows.forEach((row, i) => seen.push([from + i, [...row]]));
  }
  return [seen, session.length];
}"""


def test_going_back_leaves_nothing_and_rows_have_the_same_bits_together_and_alone(page: Any) -> None:
    tokens = model().tokenizer.encode(PROMPT * 9)[:80]
    cuts = [(0, 80), (20, 21), (21, 24), (24, 31), (31, 33), (5, 75), (40, 41), (41, 80)]
    # The cache is lost behind a rollback, so each cut begins where the one before it has left off or earlier.
    seen, length = page.evaluate(SCORED, [tokens, cuts])
    assert length == 80
    whole = dict(seen[:80])
    assert all(row == whole[position] for position, row in seen[80:]), "to the bit"
    session = Session(model())
    np.testing.assert_allclose([whole[i] for i in range(80)], session.score(tokens), atol=1e-4)


def test_options_make_the_same_distribution(page: Any) -> None:
    logits = model().forward(model().tokenizer.encode(PROMPT), model().new_cache())[-3:]
    for temperature in (0.0, 0.3, 0.8, 2.0):
        for top_p in (0.01, 0.5, 0.95, 1.0):
            ours = page.evaluate(
                "([rows, options]) => rows.map((row) => [...minispec.distribution(Float32Array.from(row), options)])",
                [logits.tolist(), {"temperature": temperature, "top_p": top_p}],
            )
            wanted = distribution(logits, SamplingParams(temperature=temperature, top_p=top_p))
            assert (np.asarray(ours) > 0).tolist() == (wanted > 0).tolist()
            np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-300)


RUN = """(body) => {
  const { models, tokenizer, options } = minispec;
  const here = { model: options.model, drafts: ['draft-1.6m', 'ngram'] };
  const request = minispec.readRequest({ model: options.model, ...body }, here);
  const prompt = minispec.readPrompt(request.prompt, tokenizer, { name: options.model, context: options.context });
  const there = { name: options.model, target: models[options.model], draft: models['draft-1.6m'], eos: 0, tokenizer };
  return [...minispec.run(request, prompt, there)].filter(Boolean);
}"""
SETTINGS = ((0.0, 1.0, 3), (0.8, 0.95, 3), (1.2, 1.0, 5), (0.3, 0.5, 2))
PROMPTS = (PROMPT, "3 + 4 =", "The dog ran and ran and ran and", "“Où est-il ?” 😀 said Tom")


@pytest.mark.parametrize(
    ("draft", "rule"),
    [(None, "rejection"), *itertools.product(("draft-1.6m", "ngram"), ("rejection", "match", "gumbel"))],
)
def test_the_text_is_that_of_the_command(draft: str | None, rule: str, page: Any) -> None:
    for seed, (prompt, (temperature, top_p, gamma)) in enumerate(zip(PROMPTS, SETTINGS, strict=True)):
        options = {"temperature": temperature, "top_p": top_p, "seed": seed, "max_tokens": 24}
        spec = False if draft is None else {"draft": draft, "verify": rule, "gamma": gamma}
        events = page.evaluate(RUN, {"prompt": prompt, **options, "speculative": spec})
        ended = next(told["data"] for told in events if told["event"] == "finished")
        wanted = generate(
            prompt, target=model(), draft=draft and (model(draft) if draft != "ngram" else draft), verify=rule,
            gamma=gamma, **options,
        )  # fmt: skip
        assert ended["token_ids"] == list(wanted.token_ids), (prompt, options)
        assert ended["text"] == wanted.text
        assert ended["sources"] == list(wanted.sources)
        assert ended["finish_reason"] == wanted.finish_reason
        for name, value in ended["metrics"].items():
            if not name.endswith("_s"):
                figure = getattr(wanted.metrics, name)
                assert value == (list(figure) if isinstance(figure, tuple) else figure), name


def test_long_prompts_are_read_by_blocks(page: Any) -> None:
    prompt = PROMPT * 20
    events = page.evaluate(RUN, {"prompt": prompt, "temperature": 0, "max_tokens": 8, "speculative": False})
    wanted = generate(prompt, target=model(), draft=None, temperature=0.0, max_tokens=8)
    assert events[-2]["data"]["token_ids"] == list(wanted.token_ids)


def strip(value: Any, number: Callable[[float], Any] = float) -> Any:
    """Leave out times, ids, and ``options``, in which a server names its backend."""
    if isinstance(value, dict):
        left_out = "id", "created", "options"
        return {k: strip(v, number) for k, v in value.items() if k not in left_out and not k.endswith("_s")}
    if isinstance(value, list):
        return [strip(each, number) for each in value]
    return number(value) if isinstance(value, float) else value


@pytest.mark.parametrize("spec", [False, {"draft": "draft-1.6m", "verify": "rejection", "gamma": 3}])
def test_the_events_are_those_of_the_server(spec: Any, page: Any) -> None:
    body = {"prompt": PROMPT, "seed": 5, "temperature": 0.8, "top_p": 0.95, "max_tokens": 16, "logprobs": 5}
    body |= {"events": True, "provisional": spec is not False, "stream": True, "speculative": spec}
    ours = page.evaluate(RUN, body)
    with running(DEFAULT_TARGET, ("draft-1.6m",)) as server:
        text = server.client.post("/v1/completions", json={"model": DEFAULT_TARGET, **body}).text
    theirs = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if lines.get("data") not in (None, "[DONE]"):
            theirs.append({"event": lines.get("event", "chunk"), "data": json.loads(lines["data"])})
            if "event" not in lines:  # acceptance as vLLM tells it, of which the page shows nothing
                theirs[-1]["data"].pop("metrics")
    assert [told["event"] for told in ours] == [told["event"] for told in theirs]
    for mine, wanted in zip(ours, theirs, strict=True):
        assert strip(mine) == strip(wanted, lambda figure: pytest.approx(figure, abs=1e-3)), mine["event"]


def test_what_is_no_request_gets_one_line(page: Any) -> None:
    refused = f"(body) => {{ try {{ ({RUN})(body); return null; }} catch (error) {{ return error.message; }} }}"
    for body, said in (
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a fox " * 1100}, "holds 1024 with at least one new one"),
        ({"prompt": "a", "temperature": 3}, "temperature is 3"),
        ({"prompt": "a", "top_p": 0}, "top_p is 0; it must be a number, more than 0, up to 1"),
        ({"prompt": "a", "seed": -1}, "seed is -1"),
        ({"prompt": "a", "max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"prompt": "a", "n": 2}, "n is nothing that this page knows"),
        ({"prompt": "a", "model": "gpt-4"}, 'the model is "gpt-4"'),
        ({"prompt": "a", "speculative": {"draft": "x"}}, 'draft is "x"'),
        ({"prompt": "a", "speculative": {"verify": "typical"}}, 'verify is "typical"'),
        ({"prompt": "a", "speculative": {"gamma": 99}}, "gamma is 99"),
    ):
        message = page.evaluate(refused, body)
        assert message is not None, body
        assert said in message
        assert "\n" not in message


def test_a_file_that_is_no_weights_gets_one_line(page: Any) -> None:
    read = """async (size) => {
      const file = await (await fetch('/weights/draft-1.6m/model.safetensors')).arrayBuffer();
      try { new minispec.Model({n_embd: 128, n_layer: 2, n_head: 4, n_inner: 512, vocab_size: 8192, n_positions: 1024},
        minispec.readTensors(file.slice(0, size), 'model.safetensors')); return null; }
      catch (error) { return error.message; } }"""
    for size in (0, 7, 100, 100_000):
        assert "cut short" in page.evaluate(read, size), size
