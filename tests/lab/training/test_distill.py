"""What a draft is trained on, against NumPy and against acceptance itself."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minispec.lab.training.trainer import loss_of  # noqa: E402 - PyTorch is optional: skip before importing what needs it

VOCABULARY = 11


class Fixed(torch.nn.Module):
    """A draft whose logits are its parameters, the same whatever it reads."""

    def __init__(self, logits: np.ndarray) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.from_numpy(logits))

    def forward(self, rows, offsets):
        return self.logits


@pytest.fixture(params=range(3))
def case(request):
    """A draft, rows and offsets, a target's logits."""
    rng = np.random.default_rng(request.param)
    draft, target = (3.0 * rng.standard_normal((2, 5, VOCABULARY)).astype(np.float32) for _ in range(2))
    rows = torch.from_numpy(rng.integers(VOCABULARY, size=(2, 6)))
    return Fixed(draft), rows, torch.zeros(2, dtype=torch.int64), torch.from_numpy(target)


def softmax(logits) -> np.ndarray:
    x = np.exp(np.asarray(logits.detach(), np.float64))
    return x / x.sum(axis=-1, keepdims=True)


def alphas(draft: Fixed, teacher) -> np.ndarray:
    return np.minimum(softmax(draft.logits), softmax(teacher)).sum(axis=-1)


def in_numpy(draft: Fixed, rows, teacher) -> tuple[float, float, float]:
    """Cross-entropy, divergence and -log(alpha), each the mean over places."""
    p, q = softmax(teacher), softmax(draft.logits)
    text = np.take_along_axis(q, np.asarray(rows)[:, 1:, None], axis=-1)
    return -np.log(text).mean(), (p * np.log(p / q)).sum(axis=-1).mean(), -np.log(alphas(draft, teacher)).mean()


@pytest.mark.parametrize("weights", [(0.0, 0.0), (0.8, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.7), (0.3, 0.5)])
def test_the_loss_is_the_weighted_sum_of_its_parts(case, weights):
    draft, rows, offsets, teacher = case
    kl, acceptance = weights
    expected = np.dot((1.0 - kl - acceptance, kl, acceptance), in_numpy(draft, rows, teacher))
    assert loss_of(draft, rows, offsets, teacher, kl, acceptance).item() == pytest.approx(expected, rel=1e-5)


def test_without_a_teacher_the_loss_is_that_of_the_text(case):
    draft, rows, offsets, teacher = case
    assert loss_of(draft, rows, offsets, None, 0.3, 0.5).item() == pytest.approx(in_numpy(draft, rows, teacher)[0])


def gain_of_a_step(case, **weights: float) -> float:
    """How much a small step down the gradient adds to the mean of log(alpha)."""
    draft, rows, offsets, teacher = case
    before = np.log(alphas(draft, teacher)).mean()
    loss = loss_of(draft, rows, offsets, teacher, **{"kl_weight": 0.0, "acceptance_weight": 0.0, **weights})
    (gradient,) = torch.autograd.grad(loss, draft.logits)
    step = 1e-2 * gradient / gradient.norm()
    return float(np.log(alphas(Fixed((draft.logits - step).detach().numpy()), teacher)).mean() - before)


def test_no_step_of_its_length_adds_more_to_acceptance_than_its_own_loss(case):
    own = gain_of_a_step(case, acceptance_weight=1.0)
    assert own > 0.0
    assert own > gain_of_a_step(case, kl_weight=1.0)
    assert own > gain_of_a_step(case)


def test_a_draft_that_hardly_overlaps_is_still_told_where_to_go():
    """The gradient of 1 - alpha all but vanishes there, and alpha itself may be below the smallest float."""
    draft, teacher = (np.full((1, 1, VOCABULARY), -400.0, np.float32) for _ in range(2))
    draft[..., :2], teacher[..., :2] = (0.0, -200.0), (-200.0, 0.0)
    model, rows = Fixed(draft), torch.zeros((1, 2), dtype=torch.int64)
    loss = loss_of(model, rows, torch.zeros(1, dtype=torch.int64), torch.from_numpy(teacher), 0.0, 1.0)
    (gradient,) = torch.autograd.grad(loss, model.logits)
    assert loss.item() == pytest.approx(200.0 - np.log(2.0), rel=1e-5)
    assert gradient[0, 0, 1] < -0.4
