"""Stop 0 has the engine's law: both are enumerated on table models, and wrong variants are told apart."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from collections.abc import Callable

import pytest

from minispec import tiny
from minispec.engine.generation.stopping import Limits
from minispec.engine.laws import Enumerator, outcome, speculative_stream, total_variation
from minispec.engine.model.toy import TableModel
from minispec.engine.noise import Address, Noise
from minispec.engine.sampling import SamplingParams

TARGET, DRAFT = TableModel(3), TableModel(3, seed=1)
PROMPT = [0, 2]
COUNT = 3


class ScriptedGenerator:
    """Stands in for NumPy's generator, and puts its questions to a noise that can be enumerated."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._asked = itertools.count()

    def choice(self, size: int, *, p) -> int:
        assert len(p) == size
        return self._noise.categorical(p, Address("sample", next(self._asked)))

    def random(self) -> ScriptedUniform:
        return ScriptedUniform(lambda prob: self._noise.bernoulli(prob, Address("accept", next(self._asked))))


class ScriptedUniform:
    """A uniform number that is only ever compared."""

    def __init__(self, below: Callable[[float], bool]) -> None:
        self._below = below

    def __lt__(self, prob: float) -> bool:
        return self._below(prob)


def tiny_law(speculate=tiny.speculate, gamma: int = 2) -> dict[tuple[int, ...], float]:
    def run(noise: Noise) -> tuple[int, ...]:
        rng = ScriptedGenerator(noise)
        target, draft = (lambda tokens, model=model: model.session().score(tokens) for model in (TARGET, DRAFT))
        return tuple(itertools.chain(*speculate(target, draft, PROMPT, gamma=gamma, max_tokens=COUNT, rng=rng)))

    return Enumerator(run).law()


def engine_law(gamma: int = 2) -> dict[tuple[int, ...], float]:
    params, limits = SamplingParams(temperature=1.0, top_p=1.0), Limits(max_tokens=COUNT, n_positions=64)

    def run(noise: Noise) -> tuple[int, ...]:
        stream = speculative_stream(noise, TARGET, DRAFT, params, PROMPT, limits, gamma=gamma)
        return outcome(stream.run()).token_ids

    return Enumerator(run).law()


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
def test_stop_0_and_the_engine_have_one_law(gamma: int) -> None:
    assert total_variation(tiny_law(gamma=gamma), engine_law(gamma)) < 1e-12


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("np.maximum(p[i] - q[i], 0.0)", "p[i]"),  # replaces from the target itself
        ("p[i, x] / q[i][x]", "p[i, x]"),  # forgets what the draft was drawn from
        ("target(tokens)[n - 1 :]", "target(tokens)[n - 2 : -1]"),  # judges each draft by the row before its own
        ("tokens[n + i :] = [", "tokens[n + i : n + i + 1] = ["),  # keeps what follows a rejected draft
        ("q.append(softmax(draft(tokens)[-1]))", "q.insert(0, softmax(draft(tokens)[-1]))"),  # says it in disorder
    ],
)
def test_a_wrong_variant_is_told_apart(right: str, wrong: str) -> None:
    source = inspect.getsource(tiny)
    assert source.count(right) == 1
    variant: dict = {"__name__": "variant"}
    exec(compile(source.replace(right, wrong), "variant", "exec"), variant)
    assert total_variation(tiny_law(variant["speculate"]), engine_law()) > 0.01


def test_it_runs() -> None:
    command = [sys.executable, "-m", "minispec.tiny", "Once upon"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Once upon|")
    assert done.stdout.count("|") < 64, "each step gave one token: nothing was accepted"
