"""The law behind `bit-exact`: a row's bits do not depend on what is computed beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.backends import DTYPES, Backend, Norm, NumpyBackend, get_backend
from tests.models import bits, random_gpt2

NUMBA = get_backend("numba")


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def row_dependent_operations(backend: Backend, num_rows: int, seed: int = 0, dtype: str = "float32") -> list[str]:
    """Return the operations of ``backend`` whose rows, computed together, differ from the rows alone.

    K and N of a real model (d = 192), not multiples of the kernels' block sizes, so that full blocks and tails occur.
    """
    K, N, H, D, S = 192, 200, 6, 32, 50
    x, wide = normal(seed, num_rows, K), normal(seed + 1, num_rows, N)
    matrix = backend.pack(normal(seed + 2, K, N), normal(seed + 3, N), dtype)
    norm = Norm(normal(seed + 4, K), normal(seed + 5, K), 1e-5)
    queries, keys, values = normal(seed, num_rows, H, D), normal(seed + 6, 4, S, H, D), normal(seed + 7, 4, S, H, D)
    generator = np.random.default_rng(seed)
    pages = generator.integers(0, 2, (num_rows, 2)) + np.array([0, 2])  # texts that begin alike may go on differently
    ends = generator.integers(1, 2 * S + 1, num_rows)
    visible = generator.random((num_rows, 2 * S)) < 0.5
    visible[:, 0] = True
    operations = {
        "linear": lambda i: backend.linear(x[i], matrix),
        "linear + residual": lambda i: backend.linear(x[i], matrix, residual=wide[i]),
        "linear + all": lambda i: backend.linear(x[i], matrix, norm=norm, activation="gelu_new", residual=wide[i]),
        "layer_norm": lambda i: backend.layer_norm(x[i], norm),
        "gelu_new": lambda i: backend.activation(wide[i], "gelu_new"),
        "gelu": lambda i: backend.activation(wide[i], "gelu"),
        "relu": lambda i: backend.activation(wide[i], "relu"),
        "attention": lambda i: backend.attention(queries[i], keys, values, pages[i], ends[i], None, 0.2),
        "tree attention": lambda i: backend.attention(queries[i], keys, values, pages[i], ends[i], visible[i], 0.2),
    }
    halves = keys.astype(np.float16), values.astype(np.float16)
    operations["attention over halves"] = lambda i: backend.attention(queries[i], *halves, pages[i], ends[i], None, 0.2)
    return [
        name
        for name, run in operations.items()
        if bits(run(slice(0, num_rows))) != bits(np.concatenate([run(slice(t, t + 1)) for t in range(num_rows)]))
    ]


QUICK = ("float32", "int8")
"""Each format is compiled anew; without scales or with them, the others differ in how a number is decoded alone."""

SOME = [pytest.param(dtype, marks=[] if dtype in QUICK else [pytest.mark.slow]) for dtype in DTYPES]


@pytest.mark.parametrize("dtype", SOME)
@pytest.mark.parametrize("name", ["numba", "panel"])
def test_rows_together_have_the_bits_of_rows_alone(name, dtype):
    backend = get_backend(name)
    for num_rows in (*range(1, 21), 33, 64):
        assert row_dependent_operations(backend, num_rows, dtype=dtype) == [], num_rows


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 130), st.integers(1, 20), st.integers(0, 2**31))
def test_linear_on_any_shape(num_inputs, num_outputs, num_rows, seed):
    x, matrix = normal(seed, num_rows, num_inputs), NUMBA.pack(normal(seed + 1, num_inputs, num_outputs), None)
    alone = np.concatenate([NUMBA.linear(x[t : t + 1], matrix) for t in range(num_rows)])
    assert bits(NUMBA.linear(x, matrix)) == bits(alone)


def test_a_row_is_the_same_in_any_company():
    """Not only the number of rows: neither their order nor their contents matter, not even NaN beside it."""
    x, matrix = normal(0, 20, 96), NUMBA.pack(normal(1, 96, 130), None)
    together, order = NUMBA.linear(x, matrix), np.random.default_rng(2).permutation(20)
    assert bits(NUMBA.linear(x[order], matrix)) == bits(together[order])
    sick = x.copy()
    sick[1::2] = np.nan
    assert bits(NUMBA.linear(sick, matrix)[::2]) == bits(together[::2])


class RowCountBackend(type(NUMBA)):  # type: ignore[misc]
    """A kernel that sums the other way round when there are more than 7 rows, as a tuned library would."""

    name = "row-count-dependent"

    def matmul(self, x, matrix):
        """See Backend.matmul."""
        if len(x) <= 7:
            return super().matmul(x, matrix)
        backwards = type(matrix)(
            np.ascontiguousarray(matrix.weight[:, ::-1]), matrix.bias, matrix.num_outputs
        )  # the same terms in another order
        return super().matmul(np.ascontiguousarray(x[:, ::-1]), backwards)


class TestTheTestsCanFail:
    """Negative controls: without them the laws above could hold for want of looking."""

    def test_a_kernel_that_depends_on_the_row_count_is_found(self):
        assert row_dependent_operations(RowCountBackend(), 7) == []
        assert row_dependent_operations(RowCountBackend(), 8) == ["linear", "linear + residual", "linear + all"]

    def test_and_it_shows_in_the_logits_of_a_model(self):
        model = random_gpt2(RowCountBackend(), n_embd=128, n_head=4)
        tokens = list(range(16))
        assert bits(chunked(model, tokens, 5)) == bits(chunked(model, tokens, 1))
        assert bits(chunked(model, tokens, 16)) != bits(chunked(model, tokens, 1))

    def test_the_reference_backend_is_right_to_promise_nothing(self):
        """NumPy's products go through BLAS, which has other kernels for one row than for many."""
        assert NUMBA.batch_invariant
        assert not NumpyBackend.batch_invariant
        different = {name for rows in range(2, 21) for name in row_dependent_operations(NumpyBackend(), rows)}
        if not different:
            pytest.skip("this machine's BLAS happens to sum alike for 1 to 20 rows; it does not promise to")
        attention = {"attention", "tree attention", "attention over halves"}
        assert different <= {"linear", "linear + residual", "linear + all", *attention}


def chunked(model, tokens, size):
    """Return all logits, fed ``size`` tokens at a time."""
    cache = model.new_cache()
    return np.concatenate([model.forward(tokens[i : i + size], cache) for i in range(0, len(tokens), size)])


SHAPES = {
    "d=128": {"n_embd": 128, "n_head": 4, "n_layer": 2, "vocab_size": 1000},
    "d=384": {"n_embd": 384, "n_head": 6, "n_layer": 2, "vocab_size": 1003},
    "d=200, 5 heads of 40, gelu": {
        "n_embd": 200,
        "n_head": 5,
        "n_inner": 333,
        "activation_function": "gelu",
        "vocab_size": 517,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("backend", ["numba", "panel"])
def test_logits_of_a_model_of_real_shape_over_200_positions(backend, shape):
    """All logits of 200 positions, bit for bit the same whether fed one at a time, in chunks, or all at once."""
    check_logits(random_gpt2(backend, n_positions=200, **SHAPES[shape]), (2, 3, 5, 8, 13, 64, 200))


@pytest.mark.parametrize("dtype", SOME[1:])
def test_logits_in_every_format(dtype):
    check_logits(random_gpt2("panel", n_positions=200, dtype=dtype, **SHAPES["d=128"]), (5, 16, 64))


@pytest.mark.parametrize("backend", ["numba", "panel"])
def test_logits_over_keys_and_values_in_float16(backend):
    check_logits(random_gpt2(backend, n_positions=200, kv_dtype="float16", **SHAPES["d=128"]), (5, 16, 64))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_logits_of_the_bundled_targets_shape(dtype):
    shape = {"n_embd": 384, "n_head": 6, "n_inner": 1408, "n_layer": 8, "vocab_size": 8192}
    check_logits(random_gpt2("panel", n_positions=200, dtype=dtype, **shape), (*range(2, 17), 64, 200))


def check_logits(model, sizes):
    tokens = np.random.default_rng(0).integers(0, model.vocab_size, 200).tolist()
    one_by_one = chunked(model, tokens, 1)
    assert np.isfinite(one_by_one).all()
    for size in sizes:
        assert bits(chunked(model, tokens, size)) == bits(one_by_one), f"chunks of {size}"
    assert bits(model.logits(tokens)) == bits(one_by_one)  # and in a cache of another capacity


def test_the_number_of_threads_does_not_matter():
    """Each output element belongs to one thread and is summed in one order, so one thread and three give one result."""
    code = (
        "import hashlib; from tests.models import bits, random_gpt2; model = random_gpt2(n_embd=96, n_head=4)\n"
        "print(hashlib.sha256(bits(model.logits(list(range(40))))[1]).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).resolve().parents[3],
            env={**os.environ, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for threads in ("1", "3")
    }
    assert len(found) == 1
