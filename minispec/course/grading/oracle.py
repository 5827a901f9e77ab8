"""What the grader lends to a submission without giving it away: models, noise, functions, all counted here.

A submission gets a stand-in; the object itself stays in the grader's process, and so does the number of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise
from minispec.errors import InvariantError

_MAX_CALLS = 20_000
_MAX_OUTCOME = 2_000
"""Characters of one outcome of a law; those of right answers are far shorter."""


class Refusal(ValueError):  # noqa: N818 - it is what an oracle answers, and reads as such in checks
    """An oracle was asked something that makes no sense; the submission sees a ValueError with this text."""


class Oracle:
    """Lends a function, or an object with some methods.

    Parameters
    ----------
    owner : callable or object
    methods : sequence of str
        The methods that can be called; none for a plain function.
    max_calls : int
        More are refused.

    Attributes
    ----------
    num_calls : int
        Calls so far; refused ones too.

    Examples
    --------
    >>> double = Oracle(lambda x: 2 * x)
    >>> double.answer("", [3], {}), double.num_calls
    (6, 1)
    """

    def __init__(self, owner: Any, methods: Sequence[str] = (), *, max_calls: int = _MAX_CALLS) -> None:
        self._owner = owner
        self.methods = tuple(methods)
        self._max_calls = max_calls
        self.num_calls = 0

    def answer(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Serve one call.

        Raises
        ------
        Refusal
            Whatever went wrong: the arguments come from the submission, so it is told.
        """
        self.num_calls += 1
        if self.num_calls > self._max_calls:
            raise Refusal(f"more than {self._max_calls} calls")
        if method not in (self.methods or ("",)):
            raise Refusal(f"there is no method {method!r} here")
        try:
            return (getattr(self._owner, method) if method else self._owner)(*args, **kwargs)
        except (Refusal, MemoryError):
            raise
        except Exception as error:
            raise Refusal(f"these arguments do not work: {type(error).__name__}: {error}") from None


class Uniforms:
    """Prepared uniform random numbers, read one after the other: lend it with ``Oracle(u, methods=("uniform",))``.

    Examples
    --------
    >>> u = Uniforms([0.25])
    >>> u.uniform(), u.used
    (0.25, 1)
    """

    def __init__(self, values: Sequence[float]) -> None:
        self._values = [float(value) for value in values]
        self.used = 0

    def uniform(self) -> float:
        """Return the next number in [0, 1)."""
        if self.used == len(self._values):
            raise Refusal(f"only {self.used} random numbers are needed here")
        self.used += 1
        return self._values[self.used - 1]


class _Questions:
    """The two random questions without addresses, each numbered in the order it is asked."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._asked = 0
        self.broken: InvariantError | None = None

    def _address(self) -> Address:
        self._asked += 1
        return Address("sample", self._asked)

    def bernoulli(self, prob: Any) -> bool:
        return bool(self._guard(lambda: self._noise.bernoulli(float(prob), self._address())))

    def categorical(self, probs: Any) -> int:
        row: NDArray[np.float64] = np.asarray(probs, np.float64)
        if row.ndim != 1 or not len(row):
            raise Refusal(f"categorical needs a row of probabilities, not an array of shape {row.shape}")
        return int(self._guard(lambda: self._noise.categorical(row, self._address())))

    def _guard(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except InvariantError as error:
            if "not a function of its noise" in str(error):
                self.broken = InvariantError("asked twice with the same noise, it does not do the same")
                raise Refusal(str(self.broken)) from None
            raise Refusal(_plain(str(error))) from None


def _plain(message: str) -> str:
    """Leave addresses out: the submission knows none."""
    head, _, tail = message.partition(" at Address(")
    return head + " " + tail.partition(") ")[2] if tail else message


def exact_law(run: Callable[[Oracle], Any], *, max_runs: int = 20_000) -> dict[str, Any]:
    """Return the exact law of what ``run`` returns, by replaying it over every answer of its noise.

    Parameters
    ----------
    run : callable
        Takes the noise, an :class:`Oracle` with ``bernoulli(prob)`` and ``categorical(probs)``, and returns a value.
    max_runs : int
        Branches at most.

    Returns
    -------
    dict
        ``{"law": {outcome: probability}}``, or ``{"law": {}, "broken": why}`` where the run does not depend on its
        noise alone or has too many branches.
    """

    def once(noise: Noise) -> str:
        questions = _Questions(noise)
        try:
            outcome = run(Oracle(questions, methods=("bernoulli", "categorical")))
        finally:
            if questions.broken is not None:  # whatever the submission made of the refusal
                raise questions.broken
        return _key(outcome)

    try:
        law = Enumerator(once, max_runs=max_runs).law()
    except InvariantError as error:
        return {"law": {}, "broken": _plain(str(error))[:200]}
    return {"law": dict(sorted(law.items()))}


def _key(outcome: Any) -> str:
    if isinstance(outcome, np.ndarray):
        outcome = outcome.tolist()
    if isinstance(outcome, dict):
        text = repr({key: _plain_value(value) for key, value in outcome.items()})
    else:
        text = repr(_plain_value(outcome))
    return text if len(text) <= _MAX_OUTCOME else f"a value of {len(text)} characters"


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain_value(item) for item in value] if isinstance(value, (list, tuple)) else value
