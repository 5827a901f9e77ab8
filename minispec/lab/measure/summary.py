"""What a sweep found: each way to decode against the plain baseline, over all prompts and per domain."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minispec.engine.drafters.spec import parse_draft
from minispec.lab.measure.record import Record, Variant
from minispec.lab.trust import doubts
from minispec.theory.intervals import Figure, mean, percentiles, ratio, ratio_of_times, share, share_of_texts

Pairs = Sequence[tuple[Record, Record]]
"""A variant's record and the plain one of the same prompt."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One way to decode, over many prompts. A figure that does not apply has the value None.

    Attributes
    ----------
    variant : Variant
    domain : str
        Of the prompts; empty for all of them.
    num_prompts, num_timings : int
        Prompts; runs that were timed.
    guarantee : str
        What the runs promise of their tokens.
    counts : dict of str to int
        Tokens: prompt, emitted, drafted, accepted, rejected (drafted and not accepted), evaluated, recovered, bonus;
        and target forwards after the prefill (``steps``).
    mean_acceptance_length, draft_acceptance_rate, alpha : Figure
        Tokens behind the first / steps; accepted / drafted; accepted / evaluated.
    acceptance_by_position : list of Figure
        Entry i: accepted / evaluated at place i of the drafts.
    speedup, total_speedup : Figure
        Plain seconds / this one's, of the steps and with the prefill. Of each prompt the median round counts.
    ttft_s, tpot_s, total_s, step_s : dict or None
        P50, P90, P99 over timed runs of the time to first token, seconds per token after the first, and of the
        whole run; over steps, of the wait between bursts.
    s_per_token : Figure
        Seconds of the steps per token after the first.
    logprob, logprob_difference : Figure
        The target's log-likelihood per token of the text; and minus that of the plain text.
    identical : Figure
        Share of prompts whose tokens are those of the plain run.
    identical_promised : bool
        Whether the guarantee says that all are.
    accuracy : Figure
        Share of right answers among the prompts that have one.
    reproducible : bool
    doubts : list of str
        Why its timings cannot be trusted.
    """

    variant: Variant
    domain: str
    num_prompts: int
    num_timings: int
    guarantee: str
    counts: dict[str, int]
    mean_acceptance_length: Figure
    draft_acceptance_rate: Figure
    alpha: Figure
    acceptance_by_position: list[Figure]
    speedup: Figure
    total_speedup: Figure
    ttft_s: dict[str, float] | None
    tpot_s: dict[str, float] | None
    total_s: dict[str, float] | None
    step_s: dict[str, float] | None
    s_per_token: Figure
    logprob: Figure
    logprob_difference: Figure
    identical: Figure
    identical_promised: bool
    accuracy: Figure
    reproducible: bool
    doubts: list[str]


def summarise(records: Sequence[Record], *, by_domain: bool = False) -> list[Summary]:
    """Return a summary per variant, in the order they were measured in; also per domain if asked to.

    Parameters
    ----------
    records : sequence of Record
        Of whole units: with each prompt the plain record that the others are compared with.
    by_domain : bool
        After the summary of all prompts, one for each domain, where there are several.
    """
    plain = {(r.target, r.temperature, r.prompt_id): r for r in records if r.draft is None}
    summaries = []
    for variant in dict.fromkeys(r.variant for r in records):
        pairs = [(r, plain[r.target, r.temperature, r.prompt_id]) for r in records if r.variant == variant]
        summaries.append(_summary(variant, "", pairs))
        domains = list(dict.fromkeys(r.domain for r, _ in pairs))
        if by_domain and len(domains) > 1:
            summaries += [_summary(variant, d, [pair for pair in pairs if pair[0].domain == d]) for d in domains]
    return summaries


def _summary(variant: Variant, domain: str, pairs: Pairs) -> Summary:
    records = [r for r, _ in pairs]
    timed = bool(records[0].decode_s)
    answered = [r.right for r in records if r.right is not None]

    def over(numerator: Callable[[Record], float], denominator: Callable[[Record], float]) -> Figure:
        return ratio([numerator(r) for r in records], [denominator(r) for r in records])

    def acceptance_over(tokens: Callable[[Record], int]) -> Figure:
        return share_of_texts([r.num_accepted_tokens for r in records], [tokens(r) for r in records])

    def faster(seconds: Callable[[Record], float], tokens: Callable[[Record], int]) -> Figure:
        if not timed or variant.plain or not all(tokens(r) for pair in pairs for r in pair):
            return Figure(None)
        return ratio_of_times([seconds(p) / tokens(p) for _, p in pairs], [seconds(r) / tokens(r) for r, _ in pairs])

    speedup = faster(decode_seconds, lambda r: r.num_decode_tokens)
    tau = ratio(
        [r.num_decode_tokens for r in records],
        [r.num_steps for r in records],
        within=(1.0, _most_tokens_per_step(variant)),
    )
    return Summary(
        variant=variant,
        domain=domain,
        num_prompts=len(records),
        num_timings=sum(len(r.decode_s) for r in records),
        guarantee=records[0].guarantee,
        counts=_counts(records),
        mean_acceptance_length=tau,
        draft_acceptance_rate=acceptance_over(lambda r: r.num_draft_tokens),
        alpha=acceptance_over(lambda r: r.num_evaluated_tokens),
        acceptance_by_position=_by_position(records),
        speedup=speedup,
        total_speedup=faster(total_seconds, lambda r: r.num_tokens),
        ttft_s=percentiles([t for r in records for t in r.ttft_s]),
        tpot_s=percentiles([t for r in records for t in r.tpot_s]),
        total_s=percentiles([p + d for r in records for p, d in zip(r.prefill_s, r.decode_s, strict=True)]),
        step_s=percentiles([t for r in records for t in r.step_s]),
        s_per_token=over(decode_seconds, lambda r: r.num_decode_tokens) if timed else Figure(None),
        logprob=over(lambda r: r.logprob, lambda r: r.num_tokens),
        logprob_difference=_difference(pairs),
        identical=share(sum(r.same_tokens for r in records), len(records)),
        identical_promised=all(r.guarantee in ("bit-exact", "same-seed") for r in records),
        accuracy=share(sum(answered), len(answered)),
        reproducible=all(r.reproducible for r in records),
        doubts=_doubts(records, speedup, tau) if timed else [],
    )


def _most_tokens_per_step(variant: Variant) -> float:
    """Return gamma + 1 where gamma says how long drafts are; a policy or a tree decides that itself."""
    if variant.draft is None:
        return 1.0
    if isinstance(variant.gamma, str) or parse_draft(variant.draft).is_tree:
        return math.inf
    return variant.gamma + 1.0


def _doubts(records: Sequence[Record], speedup: Figure, tau: Figure) -> list[str]:
    """Return why the timings cannot be trusted: of the prompts' rounds the median spread counts."""
    if not all(r.num_steps for r in records):
        return []  # texts of one token: nothing is judged by the steps that they do not have
    spreads = sorted((max(r.decode_s) / min(r.decode_s), min(r.decode_s), max(r.decode_s)) for r in records)
    _, least, most = spreads[len(spreads) // 2]
    return doubts(
        spreads={"the rounds of a prompt": (least, most)},
        speedups={"the": (speedup.value, tau.value)} if speedup.value is not None and tau.value is not None else {},
    )


def decode_seconds(record: Record) -> float:
    """Return the median round's seconds in the steps."""
    return statistics.median(record.decode_s)


def total_seconds(record: Record) -> float:
    """Return the median round's seconds, prefill included."""
    return statistics.median(p + d for p, d in zip(record.prefill_s, record.decode_s, strict=True))


def _counts(records: Sequence[Record]) -> dict[str, int]:
    drafted = sum(r.num_draft_tokens for r in records)
    accepted = sum(r.num_accepted_tokens for r in records)
    return {
        "prompt": sum(r.num_prompt_tokens for r in records),
        "emitted": sum(r.num_tokens for r in records),
        "steps": sum(r.num_steps for r in records),
        "drafted": drafted,
        "accepted": accepted,
        "rejected": drafted - accepted,
        "evaluated": sum(r.num_evaluated_tokens for r in records),
        "recovered": sum(r.num_recovered_tokens for r in records),
        "bonus": sum(r.num_bonus_tokens for r in records),
    }


def _by_position(records: Sequence[Record]) -> list[Figure]:
    def columns(rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        return list(itertools.zip_longest(*rows, fillvalue=0))

    accepted = columns([r.accepted_per_pos for r in records])
    evaluated = columns([r.evaluated_per_pos for r in records])
    return [share_of_texts(a, e) for a, e in zip(accepted, evaluated, strict=True)]


def _difference(pairs: Pairs) -> Figure:
    """Return the mean over prompts of the log-likelihood per token minus the plain text's, paired by prompt."""
    gains = [r.logprob / r.num_tokens - p.logprob / p.num_tokens for r, p in pairs]
    return mean(gains)
