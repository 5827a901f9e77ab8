"""Laws of the report's figures, against cases that can be counted by hand."""
# ruff: noqa: E402 - PyTorch is optional: skip before importing what needs it

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minispec.lab.training.data import END_ID
from minispec.lab.training.generate import continue_rows, continue_texts
from minispec.lab.training.measure import agreement, law, mean_alpha, walk
from minispec.lab.training.model import GPT2
from minispec.lab.training.recipe import DRAFT, TARGET
from minispec.theory import tau
from tests.lab.training.toys import toy_preset


@pytest.fixture(scope="module")
def models() -> tuple[GPT2, GPT2]:
    torch.manual_seed(0)
    shapes = toy_preset().shapes
    pair = GPT2(shapes[TARGET]), GPT2(shapes[DRAFT])
    for model in pair:
        model.wte.weight.data.mul_(20.0)  # peaked enough for the two to differ
    return pair


@pytest.fixture(scope="module")
def prompts() -> torch.Tensor:
    return torch.randint(1, 320, (6, 8), generator=torch.Generator().manual_seed(0))


def test_a_walk_counts_whole_steps():
    always, never = np.ones((1, 12)), np.zeros((1, 12))
    rng = np.random.default_rng(0)
    assert walk(always, 5, rng) == (12, 2)
    assert walk(never, 5, rng) == (7, 7)  # the last step must leave room for five drafts and a bonus
    assert walk(np.array([[1, 1, 0, 0, 1, 1, 1, 1, 1, 1.0]]), 3, rng) == (8, 3)  # 2 + 1, 0 + 1, 3 + 1
    assert walk([np.ones(12), np.ones(7)], 5, rng) == (18, 3)  # rows end where their texts do


@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_a_walk_with_constant_acceptance_has_the_mean_of_the_formula(alpha):
    num_tokens, num_steps = walk(np.full((40, 2000), alpha), 5, np.random.default_rng(1))
    # tau = (1 - alpha^6) / (1 - alpha); a step's length has a standard deviation below 2.2: four errors of the mean
    assert num_tokens / num_steps == pytest.approx(tau(alpha, 5), abs=4 * 2.2 / np.sqrt(num_steps))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_model_agrees_with_itself_and_less_with_another(models, prompts, temperature):
    target, draft = models
    found = agreement(target, {"same": target, "other": draft}, prompts, 40, temperature, 5, seed=0)
    assert found["same"].alpha.value == pytest.approx(1.0, abs=1e-6)
    assert found["same"].mean_acceptance_length == 6.0
    value, low, high = found["other"].alpha
    assert low <= value <= high
    assert value < 0.9
    assert 1.0 <= found["other"].mean_acceptance_length < 5.5


def test_cached_continuation_equals_whole_forwards(models, prompts):
    target, _ = models
    rows = continue_rows(target, prompts, 12, 0.0, seed=0)
    with torch.inference_mode():
        best = target(rows[:, :-1]).argmax(-1)[:, prompts.shape[1] - 1 :]
    assert torch.equal(rows[:, prompts.shape[1] :], best)
    assert not torch.equal(rows, continue_rows(target, prompts, 12, 1.0, seed=0))


def test_seeded_sampling_repeats(models, prompts):
    once, again, other = (continue_rows(models[0], prompts, 12, 1.0, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


def test_the_law_at_temperature_0_is_one_hot():
    probs = law(torch.tensor([[0.0, 2.0, 1.0]]), 0.0)
    assert probs.tolist() == [[0.0, 1.0, 0.0]]
    assert law(torch.tensor([[0.0, 2.0, 1.0]]), 1.0).max() < 0.7


def test_what_follows_the_end_of_a_text_does_not_count(models, prompts, monkeypatch):
    target, draft = models
    written = continue_rows(target, prompts, 20, 1.0, seed=0).clamp(min=1)  # no end of text yet
    ended = written.clone()
    ended[:, prompts.shape[1] + 9] = END_ID
    garbage = ended.clone()
    garbage[:, prompts.shape[1] + 10 :] = 5

    def found(rows: torch.Tensor) -> float:
        monkeypatch.setattr("minispec.lab.training.measure.continue_rows", lambda *arguments: rows)
        return agreement(target, {"draft": draft}, prompts, 20, 1.0, 5, seed=0)["draft"].alpha.value

    assert found(ended) == found(garbage)
    assert found(ended) != found(written)


def test_prompts_of_many_lengths_are_continued_each_as_if_alone(models):
    target, _ = models
    generator = torch.Generator().manual_seed(3)
    prompts = [torch.randint(1, 320, (length,), generator=generator).tolist() for length in (5, 3, 5, 9, 3)]
    together = continue_texts(target, prompts, 10, 0.0, seed=0)
    for prompt, written in zip(prompts, together, strict=True):
        whole = continue_rows(target, torch.tensor([prompt]), 10, 0.0, seed=0)[0, len(prompt) :].tolist()
        assert written == (whole[: whole.index(END_ID)] if END_ID in whole else whole)


def test_a_text_stops_at_its_end():
    torch.manual_seed(0)
    unsure = GPT2(toy_preset().shapes[TARGET])  # fresh weights: every token is about as likely
    rows = continue_texts(unsure, [[7, 8, 9]] * 40, 200, 1.0, seed=0)
    assert all(END_ID not in row for row in rows)
    lengths = {len(row) for row in rows}
    assert min(lengths) < 200  # one in 320 a step: about half of the rows
    assert max(lengths) == 200


def test_the_mean_over_domains_has_the_interval_of_a_mean():
    cells = {name: {"0": {"alpha": 0.5, "interval": [0.4, 0.8]}} for name in ("a", "b", "c", "d")}
    value, low, high = mean_alpha(cells, "0")
    assert (value, low, high) == pytest.approx((0.5, 0.45, 0.65))  # half widths shrink by the root of four
