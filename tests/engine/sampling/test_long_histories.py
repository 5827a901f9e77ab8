"""Penalties remember everything; what is handed in stays as it was; a minimum length gives way to a finished form."""

from __future__ import annotations

import numpy as np
import pytest

from minispec.engine.sampling import Sampler, SamplingParams
from tests.engine.laws.oracle import slow_row

V = 12


@pytest.mark.parametrize(
    "penalties",
    [{"repetition_penalty": 1.7}, {"presence_penalty": 0.9}, {"frequency_penalty": 0.05}],
    ids=lambda penalties: next(iter(penalties)),
)
@pytest.mark.parametrize("length", [63, 64, 65, 300])
def test_penalties_see_the_whole_text(penalties: dict[str, float], length: int) -> None:
    """Token 3 occurs once, at the very beginning; tokens 5 and 6 fill the rest."""
    generated = [3, *([5, 6] * length)[: length - 1]]
    logits = np.random.default_rng(length).normal(size=V).astype(np.float32)
    params = SamplingParams(temperature=1.0, top_p=1.0, **penalties)
    found = Sampler(params, num_prompt_tokens=0)(logits[None], generated)[0]
    assert np.allclose(found, slow_row(logits, params, generated), rtol=0, atol=1e-12)


def test_repetition_sees_the_beginning_of_a_long_prompt() -> None:
    prompt, generated = [3, *[7] * 200], [5, 6]
    logits = np.random.default_rng(1).normal(size=V).astype(np.float32)
    params = SamplingParams(temperature=1.0, top_p=1.0, repetition_penalty=1.5)
    found = Sampler(params, num_prompt_tokens=len(prompt))(logits[None], [*prompt, *generated])[0]
    assert np.allclose(found, slow_row(logits, params, generated, prompt), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_are_not_changed(dtype: type) -> None:
    """Also float64 ones, which need no conversion: a view of them would be overwritten."""
    logits = np.random.default_rng(2).normal(size=(3, V)).astype(dtype)
    before = logits.copy()
    for params in (SamplingParams(temperature=0.7, top_k=3, top_p=0.8), SamplingParams(repetition_penalty=2.0)):
        Sampler(params)(logits, [1, 2, 3, 4, 5])
        assert np.array_equal(logits, before)


class OnlyTheEnd:
    """A constraint that is satisfied: nothing but the end of the text may follow."""

    def mask(self, generated: list[int]) -> np.ndarray:
        return np.arange(V) == 0


def test_a_minimum_length_gives_way_where_only_the_end_is_left() -> None:
    params = SamplingParams(temperature=1.0, top_p=1.0, min_tokens=5)
    sampler = Sampler(params, 0, frozenset({0}), OnlyTheEnd())  # type: ignore[arg-type]
    assert sampler(np.zeros((1, V), np.float32), [1, 2])[0].tolist() == [1.0] + [0.0] * (V - 1)
    free = Sampler(params, 0, frozenset({0}))  # negative control: without the constraint the end is impossible
    assert free(np.zeros((1, V), np.float32), [1, 2])[0][0] == 0.0
