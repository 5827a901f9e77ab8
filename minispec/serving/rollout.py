"""A canary: a share of the traffic decodes in another way, and goes back by itself when that does not pay.

Both arms are served by one engine, whose step is a step of everyone: a plain request waits while its neighbours draft.
So the comparison is of the mixed traffic as it is, not of two servers of one arm each.

Looking again and again finds a difference where there is none. So there are few looks, at 32, 64, 128, ... requests of
the smaller arm, and each of the two questions of look k = 1, 2, ... (is it slower, are its texts others?) is asked at
the level 1 - 0.05 / 2^(k + 1). All of them together err in at most 5 of 100 rollouts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import secrets
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from minispec.errors import InputError, OptionError, OutputError, explain, quote
from minispec.theory.intervals import (
    Figure,
    difference_of_means,
    percentiles,
    ratio,
    ratio_of_samples,
    share,
)

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_log = logging.getLogger(__name__)

Arm = Literal["baseline", "canary"]
ARMS: tuple[Arm, Arm] = ("baseline", "canary")
FIRST_LOOK = 32
ERROR = 0.05
KEPT = 20_000
"""Observations of each arm that are remembered, the newest."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One choice that has ended by itself.

    Parameters
    ----------
    arm : {"baseline", "canary"}
    num_tokens, num_steps, num_draft_tokens, num_accepted_tokens : int
    ttft_s, tpot_s : float or None
        Seconds to the first token, and per token after it, as the reader has them.
    finish : str
    mean_logprob : float or None
        Of its tokens, what the target thinks before processing: two arms of one law have one mean.
    """

    arm: Arm
    num_tokens: int
    num_steps: int
    num_draft_tokens: int
    num_accepted_tokens: int
    ttft_s: float | None
    tpot_s: float | None
    finish: str
    mean_logprob: float | None

    @property
    def num_decode_tokens(self) -> int:
        """Tokens behind the first, which the prefill gives."""
        return max(0, self.num_tokens - 1)


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """What one arm's requests were like."""

    num_requests: int
    num_tokens: int
    ttft_s: Mapping[str, float] | None
    tpot_s: Mapping[str, float] | None
    tokens_per_forward: Figure
    acceptance: Figure
    ended_by_eos: Figure


@dataclass(frozen=True, slots=True)
class Comparison:
    """The arms side by side.

    Attributes
    ----------
    arms : mapping of arm to ArmFigures
    tpot_ratio, ttft_ratio : Figure
        Canary over baseline; above 1 the canary is slower.
    logprob_difference, length_ratio : Figure
        Of the texts: canary less baseline, canary over baseline.
    """

    arms: Mapping[Arm, ArmFigures]
    tpot_ratio: Figure
    ttft_ratio: Figure
    logprob_difference: Figure
    length_ratio: Figure


class Rollout:
    """Assigns requests to arms, and watches.

    Parameters
    ----------
    canary_share : float
        In [0, 1]: of the requests that do not say how to speculate.
    lossless : bool
        Whether both arms claim the target's law; then texts that differ end the rollout too.
    log : text file, optional
        Gets a line per observation and one for the verdict, as long as it takes them.
    """

    def __init__(self, canary_share: float, *, lossless: bool = True, log: SupportsWrite[str] | None = None) -> None:
        if not 0.0 <= canary_share <= 1.0:
            raise OptionError(f"canary is {canary_share}; it is a share of the requests, from 0 to 1. Try --canary 0.1")
        self.share = canary_share
        self.verdict: str | None = None
        self._lossless = lossless
        self._log = log
        self._seen: dict[Arm, deque[Observation]] = {arm: deque(maxlen=KEPT) for arm in ARMS}
        self._counts = dict.fromkeys(ARMS, 0)  # also of what is forgotten
        self._num_looks = 0
        self._compared: Comparison | None = None

    def assign(self, user: str | None) -> Arm:
        """Return the arm of a request; a user stays in one arm."""
        digest = secrets.token_bytes(8) if user is None else hashlib.sha256(user.encode("utf-8", "replace")).digest()
        return "canary" if int.from_bytes(digest[:8], "big") < self.share * 2**64 else "baseline"

    def observe(self, seen: Observation) -> None:
        """Take a request in, and look at the arms when it is time."""
        self._seen[seen.arm].append(seen)
        self._counts[seen.arm] += 1
        self._compared = None
        self._write(asdict(seen))
        smaller = min(self._counts.values())
        if self.verdict is None and smaller >= FIRST_LOOK * 2**self._num_looks:
            self._num_looks += 1
            self._look(1.0 - ERROR / 2 ** (self._num_looks + 1))

    def end(self, why: str) -> None:
        """Send all traffic back to the baseline."""
        if self.verdict is None:
            self.verdict, self.share = why, 0.0
            self._write({"verdict": why})

    def compare(self) -> Comparison:
        """Return the arms side by side, so far."""
        if self._compared is None:  # takes 0.1 s for all that is remembered, and whoever counts asks several times
            self._compared = compare([seen for arm in ARMS for seen in self._seen[arm]])
        return self._compared

    def _look(self, confidence: float) -> None:
        found = compare([seen for arm in ARMS for seen in self._seen[arm]], confidence)
        why = judge(found, lossless=self._lossless)
        if why is not None:
            self.end(why)

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._log is None:
            return
        try:
            self._log.write(json.dumps(record) + "\n")
        except OutputError as error:  # a full disk is no reason to keep a reader from his text
            _log.error("the trial goes on without its log: %s", error)
            self._log = None


def compare(seen: Iterable[Observation], confidence: float = 0.95) -> Comparison:
    """Compare the arms of some observations.

    Examples
    --------
    >>> def make(arm, tpot_s):
    ...     return Observation(arm, 10, 5, 20, 5, 0.1, tpot_s, "length", -2.0)
    >>> seen = [make("baseline", 0.02), make("baseline", 0.02), make("canary", 0.01), make("canary", 0.01)]
    >>> round(compare(seen).tpot_ratio.value, 6)
    0.5
    """
    by_arm: dict[Arm, list[Observation]] = {arm: [] for arm in ARMS}
    for each in seen:
        by_arm[each.arm].append(each)
    baseline, canary = ({name: _column(by_arm[arm], name) for name in _COLUMNS} for arm in ARMS)
    return Comparison(
        arms={arm: _describe(by_arm[arm], confidence) for arm in ARMS},
        tpot_ratio=ratio_of_samples(canary["tpot_s"], baseline["tpot_s"], confidence),
        ttft_ratio=ratio_of_samples(canary["ttft_s"], baseline["ttft_s"], confidence),
        logprob_difference=difference_of_means(canary["mean_logprob"], baseline["mean_logprob"], confidence),
        length_ratio=ratio_of_samples(canary["num_tokens"], baseline["num_tokens"], confidence),
    )


_COLUMNS = ("tpot_s", "ttft_s", "mean_logprob", "num_tokens")


def _column(seen: Iterable[Observation], name: str) -> list[float]:
    """Return the values that are there; a time or a length of 0 has no logarithm."""
    values = [getattr(each, name) for each in seen]
    return [value for value in values if value is not None and (value > 0.0 or name == "mean_logprob")]


def _describe(seen: list[Observation], confidence: float) -> ArmFigures:
    return ArmFigures(
        num_requests=len(seen),
        num_tokens=sum(each.num_tokens for each in seen),
        ttft_s=percentiles(_column(seen, "ttft_s")),
        tpot_s=percentiles(_column(seen, "tpot_s")),
        tokens_per_forward=ratio(  # a text of one token has no steps, and is no sample of them
            [each.num_decode_tokens for each in seen if each.num_steps],
            [each.num_steps for each in seen if each.num_steps],
            confidence,
            within=(1.0, math.inf),
        ),
        acceptance=ratio(
            [each.num_accepted_tokens for each in seen], [each.num_draft_tokens for each in seen], confidence
        ),
        ended_by_eos=share(sum(each.finish == "eos" for each in seen), len(seen), confidence),
    )


def judge(found: Comparison, *, lossless: bool) -> str | None:
    """Say why the canary has lost; None if it has not."""
    if found.tpot_ratio.low is not None and found.tpot_ratio.low > 1.0:
        return f"slower: {_interval(found.tpot_ratio)} times the baseline's seconds per token"
    law = found.logprob_difference
    if lossless and law.low is not None and law.high is not None and not law.low <= 0.0 <= law.high:
        return f"other texts: their mean log probability differs by {_interval(law)}"
    return None


def _interval(figure: Figure) -> str:
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def read_log(path: Path) -> tuple[list[Observation], str | None]:
    """Read what a server with ``--canary-log`` wrote: observations, and the verdict if there is one.

    Raises
    ------
    InputError
        If it cannot be read, or is no such log.
    """
    seen: list[Observation] = []
    verdict = None
    names = {each.name for each in fields(Observation)}
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{quote(str(path))} cannot be read ({explain(error)}). Name a file of --canary-log") from None
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if set(record) == {"verdict"}:
                verdict = str(record["verdict"])
                continue
            if set(record) != names or record["arm"] not in ARMS:
                raise ValueError("other fields")
            seen.append(_read(record))
        except (ValueError, TypeError, RecursionError) as error:
            if number == len(lines) and line.startswith("{") and not content.endswith(("}", "\n")):
                break  # the server is writing it
            raise InputError(
                f"line {number} of {quote(str(path))} is no observation ({explain(error)}). Name a file of --canary-log"
            ) from None
    return seen, verdict


def _read(record: Mapping[str, Any]) -> Observation:
    for name, value in record.items():
        wanted: tuple[type, ...] = (str,) if name in ("arm", "finish") else (int, float)
        if value is None and name in ("ttft_s", "tpot_s", "mean_logprob"):
            continue
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{name} is {quote(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is not finite")
    return Observation(**record)
