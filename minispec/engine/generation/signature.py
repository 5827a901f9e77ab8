"""Beside stop 13: ``generate`` has the parameters of ``stream``, which are written down once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec

from minispec.engine.generation.result import Generation
from minispec.engine.generation.run import Stream

_Parameters = ParamSpec("_Parameters")


def run_to_the_end(start: Callable[_Parameters, Stream]) -> Callable[_Parameters, Generation]:
    """Return :func:`minispec.generate`: what ``start`` does, run to the end, with the same parameters."""

    @functools.wraps(start)
    def generate(*args: _Parameters.args, **options: _Parameters.kwargs) -> Generation:
        return start(*args, **options).run()

    generate.__name__ = generate.__qualname__ = "generate"
    generate.__doc__ = """Generate to the end and return the result; the parameters are those of :func:`stream`.

    Examples
    --------
    >>> from minispec.engine.model.toy import TableModel
    >>> generate([0], target=TableModel(4), draft=None, max_tokens=2, seed=1).sources
    ('plain', 'plain')
    """
    generate.__annotations__ = {**start.__annotations__, "return": "Generation"}
    generate.__signature__ = inspect.signature(start).replace(return_annotation="Generation")  # type: ignore[attr-defined]
    return generate
