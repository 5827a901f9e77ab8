"""What is kept of a run: how it was decoded, counts, times and the text, as JSON can hold them; and counts by place."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from minispec.engine.generation.result import Generation, Metrics
from minispec.engine.records import Step

if TYPE_CHECKING:
    from minispec.lab.prompts import Prompt

_COUNTS = "prompt_tokens", "tokens", "steps", "draft_tokens", "accepted_tokens", "evaluated_tokens"
_TIMES = "prefill_s", "draft_s", "target_s", "decode_s"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to decode: a target, what drafts for it, and the options that are varied.

    Attributes
    ----------
    target : str
    draft : str or None
        None is plain decoding, the baseline; then ``gamma`` and ``verify`` mean nothing.
    gamma : int or str
    temperature : float
    verify : str
    """

    target: str
    draft: str | None
    gamma: int | str
    temperature: float
    verify: str

    @property
    def plain(self) -> bool:
        """Whether nothing drafts."""
        return self.draft is None


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts and seconds of one run or of several, named as :class:`minispec.engine.generation.result.Metrics`."""

    num_decode_tokens: int
    num_steps: int
    num_draft_tokens: int
    prefill_s: float
    draft_s: float
    target_s: float
    decode_s: float
    num_accepted_tokens: int = 0
    num_evaluated_tokens: int = 0

    @classmethod
    def of(cls, runs: Iterable[Metrics | Totals]) -> Totals:
        """Add up runs."""
        runs = list(runs)
        return cls(**{name: sum(getattr(run, name) for run in runs) for name in cls.__dataclass_fields__})

    @property
    def tau(self) -> float | None:
        """Tokens per target forward, both behind the first token; None where there is no step."""
        return self.num_decode_tokens / self.num_steps if self.num_steps else None

    @property
    def alpha(self) -> float | None:
        """Accepted / evaluated; None if nothing was evaluated."""
        return self.num_accepted_tokens / self.num_evaluated_tokens if self.num_evaluated_tokens else None


@dataclass(frozen=True, slots=True)
class Record:
    """One prompt decoded in one way: the untimed run's text and counts, and the times of the timed ones.

    Attributes
    ----------
    target, draft, gamma, temperature, verify
        The variant.
    prompt_id, domain : str
    guarantee : str
        What the run promises about its tokens.
    reproducible : bool
        False where gamma follows measured time; then the timed runs may have other counts.
    text : str
        The continuation.
    num_prompt_tokens, num_tokens, num_steps, num_draft_tokens, num_accepted_tokens, num_evaluated_tokens : int
        As in :class:`minispec.engine.generation.result.Metrics`.
    num_recovered_tokens, num_bonus_tokens : int
        Emitted tokens drawn from a residual, and after a full acceptance.
    accepted_per_pos, evaluated_per_pos : sequence of int
        Entry i counts the steps whose draft token i was accepted, and those where it was judged at all.
    logprob : float
        Sum of the target's log probabilities of the emitted tokens, before temperature and truncation.
    same_tokens : bool
        Whether the tokens are those of the plain run.
    right : bool or None
        Whether the text arrives at the prompt's answer, if it has one.
    prefill_s, draft_s, target_s, decode_s, ttft_s : sequence of float
        One entry per timed round, seconds.
    tpot_s : sequence of float
        Seconds per token after the first, of each timed round that has more than one.
    step_s : sequence of float
        How long a reader waits for the next burst of tokens, seconds, over the steps of all timed rounds; the drafter
        reads the prompt in the first wait.
    """

    target: str
    draft: str | None
    gamma: int | str
    temperature: float
    verify: str
    prompt_id: str
    domain: str
    guarantee: str
    reproducible: bool
    text: str
    num_prompt_tokens: int
    num_tokens: int
    num_steps: int
    num_draft_tokens: int
    num_accepted_tokens: int
    num_evaluated_tokens: int
    num_recovered_tokens: int
    num_bonus_tokens: int
    accepted_per_pos: Sequence[int]
    evaluated_per_pos: Sequence[int]
    logprob: float
    same_tokens: bool
    right: bool | None
    prefill_s: Sequence[float] = ()
    draft_s: Sequence[float] = ()
    target_s: Sequence[float] = ()
    decode_s: Sequence[float] = ()
    ttft_s: Sequence[float] = ()
    tpot_s: Sequence[float] = ()
    step_s: Sequence[float] = ()

    @property
    def num_decode_tokens(self) -> int:
        """Tokens behind the first, which the prefill gives."""
        return max(0, self.num_tokens - 1)

    @property
    def totals(self) -> Totals:
        """Its counts, with the medians of its times."""
        counts = {name: getattr(self, name) for name in Totals.__dataclass_fields__ if name.startswith("num_")}
        times = {name: statistics.median(getattr(self, name)) for name in _TIMES}
        return Totals(**counts, **times)

    @property
    def variant(self) -> Variant:
        """How it was decoded."""
        return Variant(**{name: getattr(self, name) for name in Variant.__dataclass_fields__})


def count_by_position(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Return for each place in a draft how often it was accepted and how often it was judged, (accepted, evaluated).

    A place behind a rejection was not judged. The quotients are the conditional acceptances a_i of the theory.
    """
    longest = max((step.num_evaluated for step in steps), default=0)
    return [
        (sum(step.num_accepted > i for step in steps), sum(step.num_evaluated > i for step in steps))
        for i in range(longest)
    ]


def _waits(run: Generation) -> list[float]:
    late = run.metrics.prefill_s - (run.metrics.ttft_s or 0.0)
    return [step.step_s + (late if step.index == 1 else 0.0) for step in run.steps[1:]]


def record(variant: Variant, prompt: Prompt, run: Generation, plain: Generation, timed: Sequence[Generation]) -> Record:
    """Make the record of a variant: its untimed run (with log probabilities), the plain one's, the timed runs."""
    metrics = run.metrics
    positions = count_by_position(run.steps)
    times: dict[str, Any] = {name: tuple(getattr(each.metrics, name) for each in timed) for name in (*_TIMES, "ttft_s")}
    from minispec.lab.prompts import arrives_at

    return Record(
        **asdict(variant),
        prompt_id=prompt.id,
        domain=prompt.domain,
        guarantee=run.guarantee,
        reproducible=run.reproducible,
        text=run.text,
        **{f"num_{name}": getattr(metrics, f"num_{name}") for name in _COUNTS},
        num_recovered_tokens=run.sources.count("recovered"),
        num_bonus_tokens=run.sources.count("bonus"),
        accepted_per_pos=tuple(accepted for accepted, _ in positions),
        evaluated_per_pos=tuple(evaluated for _, evaluated in positions),
        logprob=sum(detail.logprob for step in run.steps for detail in step.details),
        same_tokens=run.token_ids == plain.token_ids,
        right=None if prompt.answer is None else arrives_at(run.text, prompt.answer),
        tpot_s=tuple(each.metrics.tpot_s for each in timed if each.metrics.tpot_s is not None),
        step_s=tuple(wait for each in timed for wait in _waits(each)),
        **times,
    )


def acceptance_by_rank(steps: Iterable[Step]) -> tuple[float, ...]:
    """Return P of Sequoia (Chen et al. 2024): the share of nodes whose child of rank b the target went on with.

    Parameters
    ----------
    steps : iterable of Step
        Steps without a tree are left out.

    Returns
    -------
    tuple of float
        P[b] over the nodes that the target reached and that have such a child; up to the highest rank that any has.
        None is larger than the one before, as ``tree:shape=sequoia,acceptance=`` asks: what chance adds is cut.

    Examples
    --------
    Two children of the root in each of four steps; twice the first was kept, once the second, once neither:

    >>> from minispec.engine.records import Verdict
    >>> def step(*path):
    ...     return Step(0, 0, (5, 6), Verdict(len(path), 9, "recovered", path=path), (), (), draft_parents=(-1, -1))
    >>> acceptance_by_rank([step(0), step(0), step(1), step()])
    (0.5, 0.25)
    """
    kept, offered = Counter[int](), Counter[int]()
    for step in steps:
        parents = step.draft_parents
        if parents is None:
            continue
        path = step.verdict.accepted
        for node, child in itertools.zip_longest((-1, *path), path):
            children = [i for i, parent in enumerate(parents) if parent == node]
            offered.update(range(len(children)))
            kept.update([] if child is None else [children.index(child)])
    shares = (kept[rank] / offered[rank] for rank in range(len(offered)))
    return tuple(itertools.accumulate(shares, min))
