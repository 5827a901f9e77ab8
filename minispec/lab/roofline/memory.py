"""Memory of a pair: weights, two caches, and how much a token adds; predicted from sizes, measured in a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from minispec.engine.backends.formats import AUTO
from minispec.errors import MinispecError, explain
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.shapes import Shape

_NUMBER = 4  # bytes of a bias, a norm, a position: these stay float32


def weights_bytes(shape: Shape, storage: Storage | None = None) -> int:
    """Return the bytes of a model's packed weights.

    Examples
    --------
    >>> from minispec.lab.roofline.shapes import get_shape
    >>> round(weights_bytes(get_shape("70b"), Storage("float16")) / 1e9)
    138
    """
    storage = storage or Storage()

    def matrix(num_inputs: int, num_outputs: int, biased: bool) -> int:
        bias = _NUMBER * num_outputs if biased or storage.always_biased else 0
        return storage.matrix_bytes(num_inputs, num_outputs)[0] + bias

    norm = (2 if shape.biased else 1) * _NUMBER * shape.n_embd
    layer = 2 * norm + sum(matrix(k, n, shape.biased) for k, n in shape.matrices().values())
    tables = matrix(shape.n_embd, shape.vocab_size, False) * (1 if shape.tied else 2)
    positions = _NUMBER * shape.n_positions * shape.n_embd if shape.learned_positions else 0
    return shape.n_layer * layer + norm + tables + positions


def token_bytes(shape: Shape, kv_bytes: int = 4) -> int:
    """Return what one token adds to a cache: its keys and values in every layer.

    Examples
    --------
    >>> from minispec.lab.roofline.shapes import get_shape
    >>> token_bytes(get_shape("gpt2")), token_bytes(get_shape("70b"), kv_bytes=2)
    (73728, 327680)
    """
    return 2 * shape.n_layer * shape.kv_width * kv_bytes


def cache_bytes(shape: Shape, slots: int, batch: int = 1, kv_bytes: int = 4) -> int:
    """Return the bytes of a cache's keys and values with ``slots`` slots for each of ``batch`` sequences."""
    return batch * slots * token_bytes(shape, kv_bytes)


@dataclass(frozen=True, slots=True)
class PairMemory:
    """What a target and a draft occupy, in bytes.

    Attributes
    ----------
    target_weights_bytes, draft_weights_bytes : int
        Packed, padding included.
    target_cache_bytes, draft_cache_bytes : int
        Reserved for the whole context. The system hands out a page of it when it is first written.
    bytes_per_token : int
        How much of the caches a token makes real.
    """

    target_weights_bytes: int
    draft_weights_bytes: int
    target_cache_bytes: int
    draft_cache_bytes: int
    bytes_per_token: int

    def resident_bytes(self, tokens: int) -> int:
        """Return weights and caches with that many tokens written."""
        return self.target_weights_bytes + self.draft_weights_bytes + tokens * self.bytes_per_token


def pair_memory(target: Shape, draft: Shape, storage: Storage, draft_storage: Storage, kv_bytes: int = 4) -> PairMemory:
    """Predict what a pair occupies, each with a cache for its whole context, of ``kv_bytes`` a number."""
    return PairMemory(
        target_weights_bytes=weights_bytes(target, storage),
        draft_weights_bytes=weights_bytes(draft, draft_storage),
        target_cache_bytes=cache_bytes(target, target.n_positions, kv_bytes=kv_bytes),
        draft_cache_bytes=cache_bytes(draft, draft.n_positions, kv_bytes=kv_bytes),
        bytes_per_token=token_bytes(target, kv_bytes) + token_bytes(draft, kv_bytes),
    )


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """What the system says a process of ours occupies, in bytes, at four moments.

    Attributes
    ----------
    started_bytes : int
        Python, NumPy, Numba and compiled kernels.
    loaded_bytes : int
        Both models loaded.
    filled_bytes : int
        ``tokens`` tokens in both caches.
    peak_bytes : int
        The most at any moment; loading needs a tensor twice while it is packed.
    tokens : int
    """

    started_bytes: int
    loaded_bytes: int
    filled_bytes: int
    peak_bytes: int
    tokens: int


def measure_pair(
    target: str, draft: str, *, backend: str, dtype: str, draft_dtype: str, tokens: int, kv_dtype: str = AUTO
) -> ResidentMemory:
    """Load a pair in a new process, fill its caches with ``tokens`` tokens, and ask the system for its size.

    Raises
    ------
    MinispecError
        If the process fails, or the system does not tell (only Linux does, in ``/proc``).
    """
    request = json.dumps([target, draft, backend, dtype, draft_dtype, kv_dtype, tokens])
    # glibc would keep freed blocks of up to 32 MB for itself and later hand them out again, already resident. Told to
    # give them back, it lets the figures be read: what is loaded is weights, what grows is caches.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(
        [sys.executable, "-m", "minispec.lab.roofline.memory", request],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MinispecError(f"measuring memory in a process of its own failed: {last}")
    return ResidentMemory(**json.loads(done.stdout))


def _status_bytes(field: str) -> int:
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError as error:
        raise MinispecError(f"resident memory is read from /proc, which only Linux has ({explain(error)})") from None
    raise MinispecError(f"/proc/self/status has no {field}")


def _measure_here(
    target: str, draft: str, backend: str, dtype: str, draft_dtype: str, kv_dtype: str, tokens: int
) -> ResidentMemory:
    from minispec.engine.backends import get_backend, settle_kv_dtype
    from minispec.engine.loading import load_model

    runner = get_backend(backend)
    runner.warm_up("float32", settle_kv_dtype(runner, "float32", kv_dtype))
    started = _status_bytes("VmRSS")
    loaded = load_model(target, backend, dtype, kv_dtype), load_model(draft, backend, draft_dtype, kv_dtype)
    sessions = [model.session() for model in loaded]
    loaded_bytes = _status_bytes("VmRSS")
    for session in sessions:
        session.prefill([i % session.model.vocab_size for i in range(min(tokens, session.model.n_positions))])
    return ResidentMemory(
        started_bytes=started,
        loaded_bytes=loaded_bytes,
        filled_bytes=_status_bytes("VmRSS"),
        peak_bytes=_status_bytes("VmHWM"),
        tokens=tokens,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(_measure_here(*json.loads(sys.argv[1])))))
