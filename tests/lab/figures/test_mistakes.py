"""Mistakes of a benchmark: each is named where it is seen, and a sound one has none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_TARGET
from minispec.lab.measure.mistakes import FEW_PROMPTS, find_mistakes, surprise
from minispec.lab.measure.sweep import Sweep
from minispec.lab.prompts import Prompt, bundled_prompts

SOUND = Sweep(bundled_prompts())
TOLD = (
    "The fox ran to the river, and the old king spoke of a castle that nobody had seen since the winter came. He had "
    "lost a golden key under its gate, and his daughter wanted to know who lived there now."
)


def records(num_tokens=64, text=TOLD):
    return [SimpleNamespace(prompt_id=each.id, num_tokens=num_tokens, text=text, draft="d") for each in SOUND.prompts]


def test_a_sound_measurement_has_none() -> None:
    assert find_mistakes(SOUND, records(), {"fox": 0.5}) == []
    few = replace(SOUND, prompts=SOUND.prompts[4 : 4 + FEW_PROMPTS])
    assert find_mistakes(few, records(), {}) == []


@pytest.mark.parametrize(
    ("sweep", "made", "surprises", "name"),
    [
        (SOUND, records(), {"fox": 1.3}, "random prompts"),
        (
            replace(SOUND, prompts=(*SOUND.prompts, replace(SOUND.prompts[0], id="x"))),
            records(),
            {},
            "repeated prompts",
        ),
        (replace(SOUND, prompts=SOUND.prompts[4:11]), records(), {}, "too few prompts"),
        (
            replace(SOUND, prompts=[replace(each, domain="") for each in SOUND.prompts]),
            records(),
            {},
            "one kind of text",
        ),
        (replace(SOUND, max_tokens=16), records(16), {}, "too few tokens"),
        (SOUND, records(63), {}, "unequal lengths"),
        (SOUND, records(text="and the fox ran " * 12), {}, "loops"),
        (replace(SOUND, repeats=1), records(), {}, "one timed round"),
        (replace(SOUND, repeats=0), records(), {}, "no timed round"),
    ],
)
def test_each_is_named_alone(sweep, made, surprises, name) -> None:
    (line,) = find_mistakes(sweep, made, surprises)
    assert line.startswith(name)


def test_random_tokens_surprise_the_target_and_prompts_do_not() -> None:
    model = load_model(DEFAULT_TARGET)
    drawn = np.random.default_rng(0).integers(10, model.vocab_size, size=(4, 40)).tolist()
    made = [Prompt(model.tokenizer.decode(tokens), f"drawn {i}") for i, tokens in enumerate(drawn)]
    found = surprise(DEFAULT_TARGET, [*made, *SOUND.prompts])
    told = {each.id for each in SOUND.prompts}
    assert min(value for name, value in found.items() if name not in told) > 1.0
    assert max(value for name, value in found.items() if name in told) < 0.85
