"""Compiled code, made ready before the first clock starts: kernels, sampling, noise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rich.console import Console

from minispec.model import GPT2
from minispec.noise import Address, PhiloxNoise
from minispec.sampling import SamplingParams, distribution


def prepare(models: Iterable[object], notes: Console) -> None:
    """Compile what these models, sampling and noise need, or read it from Numba's cache, saying so on ``notes``.

    What is no :class:`GPT2` (a kind of draft, or none) has no kernels of its own.
    """
    with notes.status("compiling kernels (only the first run takes seconds) …"):
        warm_up_sampling()
        for model in models:
            if isinstance(model, GPT2):
                model.backend.warm_up(model.dtype)
    remark()


def warm_up_sampling() -> None:
    """Make a distribution, draw a token, throw a coin."""
    noise, at = PhiloxNoise(0), Address("sample", 0)
    noise.categorical(distribution(np.zeros((1, 4), np.float32), SamplingParams(top_k=2))[0], at)
    noise.bernoulli(0.5, at)


def remark() -> None:
    """Log what makes compiled code slower here than it could be: no folder to keep it in, expensive threads."""
    from minispec.backends.threads import warn_about_layer
    from minispec.jit import warn_if_in_memory

    warn_if_in_memory()
    warn_about_layer()


def compiled_in() -> str | None:
    """Return the folder that keeps compiled code for the next process, or None if nothing does."""
    from minispec import race
    from minispec.jit import cache_folder

    return cache_folder(race.winner)
