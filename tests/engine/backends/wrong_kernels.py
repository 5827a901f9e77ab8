"""Kernels with one mistake each, and the check that tells them from the right one.

``python -m tests.engine.backends.wrong_kernels`` tries them all, each in a process of its own: a wrong kernel may write
anywhere, or wait for ever.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minispec.engine.backends.cuda import CupyBackend
from minispec.engine.backends.cuda.program import Ring
from minispec.engine.backends.cuda.source import source
from minispec.errors import MinispecError
from tests.engine.backends import emulator, fake_cupy
from tests.engine.backends.fake_cupy import FakeCupy
from tests.models import random_gpt2

WRONG = {
    "nobody waits at the gate": ("needed && count_of(arrived) < needed;", "false;"),
    "the gate opens for the rest of the block at once": ("give_up();  // rather than hang\n    __syncthreads();", ";"),
    "the gate of the step before": ("i * gridDim.x, false}", "(i ? i - 1 : 0) * gridDim.x, false}"),
    "weights are read before they have arrived": ("wait_for(&shared->arrivals[warp][slot], parity);", ""),
    "the round of the ring stays the same": ("slot = 0, parity ^= 1;", "slot = 0;"),
    "room is given back before all lanes have read": ("__syncwarp();  // all lanes have read it\n", ""),
    "the same piece is asked for again": ("    next += count;\n", "    next += count == PIECE ? 0 : count;\n"),
    "a step is reported before it is written": ("__syncthreads();  // the finishers have written", ""),
    "a block never reports": ("num_steps) count_up(arrived);", "num_steps) { if (blockIdx.x) count_up(arrived); }"),
    "sums are joined before they are there": ("* third + c : 0;\n    __syncthreads();", "* third + c : 0;"),
    "one buffer of sums instead of two": (
        "turn = 0; item < items; item += gridDim.x, turn ^= 1",
        "turn = 0; item < items; item += gridDim.x",
    ),
    "counters are not set back": ("*arrived = 0;", ";"),
    "swapped shares of warps": ("next = tiles * warp / STREAMS,", "next = tiles * (warp ^ 1) / STREAMS,"),
    "a stale turn": ("shared->shelf[step].turn);\n      if", "0);\n      if"),
    "the mean is a warp's own": ("+= shared->sums[pass][w][lane / 4]", "+= shared->sums[pass][0][lane / 4]"),
    "the mean of the row beside": (
        "shared->sums[pass][w][lane / 4];\n      if",
        "shared->sums[pass][w][lane / 4 ^ 1];\n      if",
    ),
    "a norm of unfinished sums": ("[lane / 4] = total;\n      __syncthreads();", "[lane / 4] = total;"),
    "numbers behind a row's end count in its norm": ("left > 1 ? v[j].y - mean : 0.0f", "v[j].y - mean"),
    "the norm of another piece": ("near == tile ||", "near >= 0 ||"),
    "a norm that is not there yet": ("__syncwarp();  // the norm's numbers are there\n", ""),
    "staged inputs are read before they are written": ("#endif\n    }\n    __syncwarp();", "#endif\n    }"),
    "inputs are staged once, however many pieces": ("if (moved || !whole) in.stage", "if (moved) in.stage"),
    "odd tiles are dropped": ("sum[0][i] + sum[1][i]", "sum[0][i]"),
    "a row of float32 twice": ("const float v = inputs[row][8 * j", "const float v = inputs[row & 6][8 * j"),
    "lanes keep the half that they give": ("(upper ? high : low) +", "(upper ? low : high) +"),
    "the residual of the next row": ("step.residual + (size_t)t *", "step.residual + (size_t)(t ^ 1) *"),
    "values where keys belong": ("part == 1 ? step.keys : step.values", "part == 2 ? step.keys : step.values"),
    "an invisible slot counts": ("places[i] < 0 ? LOWEST : scores[i] * step.number", "scores[i] * step.number"),
    "a warp's slots begin where the next one's do": (
        "threadIdx.x / WARP * together;",
        "(threadIdx.x / WARP + 1) * together;",
    ),
    "a warp goes on to the next one's slots": ("start += STREAMS * together;", "start += together;"),
    "earlier slots keep their weight": ("largest = to, total *= by;", "largest = to;"),
    "groups of lanes are added as they are": ("    raise(best);\n    for", "    for"),
    "attention of unfinished warps": ("    __syncthreads();\n    for (int c = finisher;", "    for (int c = finisher;"),
    "one buffer of attention instead of two": (
        "item += gridDim.x, turn ^= 1) {\n    const int t",
        "item += gridDim.x) {\n    const int t",
    ),
    "gelu in another form": ("if (activation == 2)", "if (activation == 9)"),
    "a token's embedding from the next input": ("packed_index(c, feed.tokens[t]", "packed_index(c ^ 1, feed.tokens[t]"),
    "hidden states at the row instead of the slot": (
        "feed.find(t, feed.slots[t]) * width + c] = fresh",
        "(size_t)i] = fresh",
    ),
}
"""What stands in the source, once, and what is put there instead."""

QUICK = ("a block never reports", "values where keys belong")
"""Those that the default suite tries: blocks that wait for ever, and wrong numbers."""

TOLD = 3
"""Exit code of a process that has told its kernel from the right one."""

MODELS: Sequence[dict[str, Any]] = (
    # What Ampere's shared memory allows, halves, and steps that follow one another closely.
    {"dtype": "float16", "n_inner": 272, "n_layer": 2},
    # Shares of several pieces, sizes that are no multiple of anything, more slots than the warps look at at once.
    {"dtype": "float32", "n_embd": 132, "n_head": 12, "n_inner": 150, "n_layer": 1, "activation_function": "gelu"},
)


def check(build: Callable[[tuple[str, ...]], Any], seeds: Sequence[int] = (7, 1, 2)) -> None:
    """Hold a kernel to NumPy's logits and hidden states, under several orders of threads."""
    for seed in seeds:
        for fields in MODELS:
            ring = Ring(2, 1) if fields["dtype"] == "float32" else None
            own, reference = (
                random_gpt2(backend, n_positions=96, **fields)
                for backend in (CupyBackend(FakeCupy(build, seed, blocks=3), ring), "numpy")
            )
            found, expected = ([*_answers(model)] for model in (own, reference))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, atol=2e-2 if fields["dtype"] == "float16" else 1e-4)


def _answers(model: Any) -> Any:
    """Yield logits and hidden states: of a prompt, of a token, and of a tree of siblings."""
    cache = model.new_cache()
    cache.keep_features([1])
    length = 67 if model.dtype == "float32" else 20
    for tokens in ([7 * i % 97 for i in range(length)], [5]):
        yield model.forward(tokens, cache)
    visible = np.ones((3, length + 4), bool)
    visible[1, length + 1] = visible[2, length + 1 : length + 3] = False
    yield model.forward([8, 9, 11], cache, positions=[length + 1] * 3, visible=visible)
    yield cache.read_features([1], length - 3, length + 4)


def tell_apart(mistake: str, seconds: float = 300.0) -> str:
    """Return what the check said about a mistake, in a process of its own; nothing if it passed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.engine.backends.wrong_kernels", mistake],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end in {seconds} s"
    if done.returncode == 0:
        return ""
    if done.returncode > 0 and done.returncode != TOLD:  # not the kernel's doing
        raise ValueError(f"{mistake}: {done.stderr}")
    return done.stdout.strip() or f"it ended with {done.returncode}"


def main(mistakes: Sequence[str]) -> None:
    """Try one mistake here; or all, each elsewhere."""
    if not mistakes:
        missed = 0
        for mistake in WRONG:
            why = tell_apart(mistake)
            print(f"{mistake}: {why or 'NOT TOLD APART'}", flush=True)
            missed += not why
        sys.exit(f"{missed} of {len(WRONG)} not told apart" if missed else 0)
    right, wrong = WRONG[mistakes[0]]
    code = source(emulator.HEADER.read_text())
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(fake_cupy.builder(Path(folder), code.replace(right, wrong)))
        except (AssertionError, MinispecError) as error:
            print(type(error).__name__, " ".join(str(error).split())[:100])
            sys.exit(TOLD)


if __name__ == "__main__":
    main(sys.argv[1:])
