"""The bundled pair: it loads, it is what it says, and greedy speculation on it changes no token."""

from __future__ import annotations

from typing import Any

import pytest

import minispec
from minispec.engine.generation import generate
from minispec.engine.loading import bundled_models
from minispec.engine.model import GPT2

PROMPTS = (
    "Once upon a time",
    "The king said to his daughter",
    "In the middle of the forest there stood",
    "It was a dark night, and the wind",
    '"Who are you?" asked the fox.',
    "The little boat went down the river",
    "When the sun rose over the hills",
    "One day, Tom and his mom went to the park.",
    'def largest(numbers):\n    """Return the largest of some numbers."""\n',
    "import os\n\n",
    "class Stack:\n    def push(self, item):",
    'def is_even(n):\n    """Whether a number is even."""\n',
    "try:\n    value = int(text)\nexcept",
    "    def __init__(self, name):\n        self.name = name\n",
    "# Return the largest of two numbers\n",
    "Question: Tom has 5 apples. He buys 3 more apples. How many apples does he have now?\nAnswer:",
    "Question: A train travels 60 miles in 2 hours. How fast does it go?\nAnswer:",
    "Question: There are 6 boxes. Each of the boxes holds 4 eggs. How many eggs are there in all?\nAnswer:",
    "Sara earns $10 an hour. How much does she earn in 8 hours?",
    "The answer is",
)
LONG = 12
"""Tokens of a text in which some guess must be right: the draft has been taught to guess this target."""


@pytest.fixture(scope="module")
def target() -> GPT2:
    return minispec.load_model("target-17m")


@pytest.fixture(scope="module")
def draft() -> GPT2:
    return minispec.load_model("draft-1.6m")


def test_every_bundled_model_loads_and_shares_one_vocabulary() -> None:
    fingerprints = set()
    for bundled in bundled_models():
        model = minispec.load_model(bundled.name, backend="numpy")
        assert model.num_parameters == bundled.num_parameters
        assert model.tokenizer is not None
        fingerprints.add(model.tokenizer.fingerprint())
        assert model.logits(model.tokenizer.encode("Once upon a time")).shape[1] == model.vocab_size
    assert len(fingerprints) == 1


def check_greedy(target: GPT2, draft: GPT2, prompt: str, gammas: tuple[int, ...], tokens: int) -> None:
    plain = generate(prompt, target=target, draft=None, temperature=0.0, max_tokens=tokens)
    for gamma in gammas:
        speculative = generate(prompt, target=target, draft=draft, temperature=0.0, max_tokens=tokens, gamma=gamma)
        assert speculative.token_ids == plain.token_ids, (prompt, gamma)
        assert speculative.text == plain.text
        assert speculative.guarantee == "bit-exact"
        assert speculative.metrics.num_draft_tokens > 0  # or nothing was speculated
        if len(plain.token_ids) >= LONG:  # where a text ends after a word or two, every guess may well be wrong
            assert speculative.metrics.num_steps < plain.metrics.num_steps


@pytest.mark.parametrize("i", range(len(PROMPTS)))
def test_greedy_speculation_emits_the_plain_tokens(target: GPT2, draft: GPT2, i: int) -> None:
    check_greedy(target, draft, PROMPTS[i], (i % 8 + 1,), 60)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(prompt, marks=pytest.mark.slow if i % 5 == 0 else pytest.mark.exhaustive)
        for i, prompt in enumerate(PROMPTS)
    ],
)
def test_greedy_speculation_emits_the_plain_tokens_for_every_gamma(target: GPT2, draft: GPT2, prompt: str) -> None:
    check_greedy(target, draft, prompt, tuple(range(1, 9)), 200)


def test_texts_made_together_are_those_made_alone(target: GPT2, draft: GPT2) -> None:
    """One batch of all that a request may want, in so little memory that some must make room for others."""
    pytest.importorskip("llguidance", reason="needs the extra 'constraints'")
    asked: list[dict[str, Any]] = [
        {"prompt": PROMPTS[0], "draft": draft, "temperature": 0.0, "gamma": 4},
        {"prompt": PROMPTS[0], "draft": "eagle", "repetition_penalty": 1.2, "gamma": 2},
        {"prompt": PROMPTS[7], "draft": None, "stop": [". ", "!"]},
        {"prompt": PROMPTS[8], "draft": "ngram", "verify": "match", "min_p": 0.02},
        {"prompt": PROMPTS[15], "draft": draft, "regex": " [0-9]{1,3} apples", "verify": "block"},
        {"prompt": PROMPTS[16], "draft": "forced", "json_schema": '{"type": "object", "required": ["miles"]}'},
        {"prompt": PROMPTS[3], "draft": draft, "gamma": "confidence:threshold=0.4", "verify": "gumbel", "top_k": 40},
    ]
    engine = minispec.Engine(target, max_running=4, kv_memory=6 * 16 * 2 * 8 * 384 * 4)
    for seed, options in enumerate(asked):
        engine.add(**{"gamma": 3, **options}, seed=seed, max_tokens=40)  # else it follows the load
    together = engine.run()
    assert engine.num_preemptions > 0
    for seed, (options, found) in enumerate(zip(asked, together, strict=True)):
        alone = generate(**options, target=target, seed=seed, max_tokens=40)
        for name in ("token_ids", "text", "sources", "finish_reason", "stop", "guarantee"):
            assert getattr(found, name) == getattr(alone, name), (options, name)
    assert together[2].stop is not None


def test_texts_long_enough_to_tell_are_not_missing(target: GPT2) -> None:
    """The negative control of the condition above: a target that ends its texts at once would pass without it."""
    lengths = [
        len(generate(prompt, target=target, draft=None, temperature=0.0, max_tokens=LONG).token_ids)
        for prompt in PROMPTS
    ]
    assert sum(length == LONG for length in lengths) >= len(PROMPTS) // 2, lengths


def test_the_whole_context_can_be_filled(target: GPT2, draft: GPT2) -> None:
    """The last slot is used, by both loops alike, and the run says why it ended."""
    assert target.tokenizer is not None
    prompt = (target.tokenizer.encode("The little boat went down the river. ") * 200)[: target.n_positions - 12]
    plain = generate(prompt, target=target, draft=None, temperature=0.0, max_tokens=99)
    speculative = generate(prompt, target=target, draft=draft, temperature=0.0, max_tokens=99, gamma=7)
    assert speculative.token_ids == plain.token_ids
    assert plain.finish_reason in ("context", "eos")
    assert speculative.finish_reason == plain.finish_reason
