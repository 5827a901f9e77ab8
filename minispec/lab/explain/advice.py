"""Advice for an engine that reports its acceptance: the draft length to set, its gain, and where it stops paying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from minispec.engine.generation.broken import CAUSES, NEAR_ZERO
from minispec.errors import OptionError
from minispec.lab.explain.engines import Acceptance
from minispec.theory import BestGamma, VerifyCost, best_gamma_by_position, speedup, tau_by_position
from minispec.theory.intervals import Figure

COSTS_OF: Mapping[str, str] = {
    "vLLM": "s is vllm:request_time_per_output_token_seconds times the mean acceptance length, at a "
    "num_speculative_tokens of 1 and of 5 in --speculative-config",
    "minispec": "s is minispec:time_per_output_token_seconds times τ, at a `serve --gamma` of 1 and of 5; or let "
    "`minispec plan --measured` measure c, v and o",
    "llama.cpp": "s is predicted_ms / (predicted_n - draft_n_accepted), at a --spec-draft-n-max of 1 and of 5",
    "SGLang": "s is sglang:inter_token_latency_seconds times the acceptance length, at a --speculative-num-steps of 1 "
    "and of 5",
}
_COSTS = (0.02, 0.05, 0.1, 0.2, 0.4)
_COLLAPSE = 0.6  # of the acceptance at the first place
_MANY = 400  # drafts that are all accepted: no usual pair does that


@dataclass(frozen=True, slots=True)
class Length:
    """A draft length: tokens per step, and the speedup over plain decoding with the interval that α's gives it."""

    gamma: int
    tau: float
    speedup: Figure


@dataclass(frozen=True, slots=True)
class Advice:
    """What follows from an engine's acceptance and the costs.

    Attributes
    ----------
    lengths : tuple of Length
        From 1 on.
    best : BestGamma
    gain : Figure
        Speed at the best length over that at the present one; None where the present one is not known.
    most_verify : float or None
        The largest v at the present length (the best one, where that is not known) that still pays.
    batch : float or None
        The batch up to which it pays, where the machine's ridge is known; 0 where it never does.
    """

    lengths: tuple[Length, ...]
    best: BestGamma
    gain: Figure
    most_verify: float | None
    batch: float | None


def chances(found: Acceptance, length: int) -> tuple[list[float], list[float], list[float]]:
    """Return the acceptance at each place up to a length: the middle, the low and the high ends.

    Beyond the places that the engine reports, the last reported one (else α) is taken.
    """
    overall = found.alpha
    if overall.value is None:
        raise OptionError(
            f"{found.where} does not say how long drafts are, and without that a mean says no α. Give --gamma"
        )
    known = [place for place in found.by_place if place.value is not None] or [overall]
    filled = [*known, *[known[-1]] * length][:length]
    middle = [place.value or 0.0 for place in filled]
    lows, highs = (
        [value if end is None else end for value, end in zip(middle, ends, strict=True)]
        for ends in ([p.low for p in filled], [p.high for p in filled])
    )
    return middle, lows, highs


def advise(
    found: Acceptance,
    cost_ratio: float,
    verify_cost: VerifyCost = 1.0,
    overhead: float = 0.0,
    max_gamma: int = 16,
    ridge: float | None = None,
) -> Advice:
    """Return which draft length is best and what changing to it gains.

    Parameters
    ----------
    found : Acceptance
    cost_ratio, verify_cost, overhead
        c > 0, v and o, as in :func:`minispec.theory.speedup`.
    max_gamma : int
        The longest draft to look at.
    ridge : float, optional
        Rows at which the target's arithmetic takes as long as reading its weights
        (:func:`minispec.theory.batch.ridge_tokens`).

    Examples
    --------
    >>> from minispec.lab.explain.engines import parse_acceptance
    >>> page = '{"num_spec_steps": 4, "num_draft_tokens": 12, "num_accepted_draft_tokens": 9, '
    >>> page += '"acceptance_histogram": [1, 0, 0, 3]}'
    >>> advice = advise(parse_acceptance(page, "an answer"), 0.1)
    >>> advice.best.gamma, round(advice.lengths[2].tau, 2)
    (16, 3.25)
    """
    if not cost_ratio > 0.0:
        raise OptionError(f"the cost ratio is {cost_ratio}; drafts cost something, so it is > 0. Try --cost-ratio 0.1")
    present = found.gamma
    ends = chances(found, max(max_gamma, present or 1))
    costs = cost_ratio, verify_cost, overhead

    def figure(gamma: int) -> tuple[float, ...]:
        return tuple(speedup(tau_by_position(end[:gamma]), gamma, *costs) for end in ends)

    certain = ends[1] == ends[2] == ends[0]
    lengths = tuple(
        Length(gamma, tau_by_position(ends[0][:gamma]), Figure(figure(gamma)[0]) if certain else Figure(*figure(gamma)))
        for gamma in range(1, len(ends[0]) + 1)
    )
    best = best_gamma_by_position(ends[0][:max_gamma], *costs)
    at = (1.0,) * 3 if best.gamma == 0 else figure(best.gamma)
    gain = Figure(None)
    if present is not None:
        ratios = [one / other for one, other in zip(at, figure(present), strict=True)]
        gain = Figure(ratios[0]) if certain else Figure(ratios[0], min(ratios), max(ratios))
    length = present or best.gamma
    most = None if not length else tau_by_position(ends[0][:length]) - length * cost_ratio - overhead
    batch = None
    if ridge is not None and most is not None:
        # v(m) = max(1, B m / B0) up to B0, as in theory.batch.batch_break_even, with the measured tau
        batch = ridge * most / (length + 1) if most > 1.0 else 0.0
    return Advice(lengths, best, gain, most, batch)


def best_by_cost(found: Acceptance, max_gamma: int = 16) -> dict[float, BestGamma]:
    """Return the best length for some usual c, where c is not known yet; v = 1 and o = 0."""
    middle = chances(found, max_gamma)[0]
    return {c: best_gamma_by_position(middle, c) for c in _COSTS}


def oddities(found: Acceptance) -> list[str]:
    """Return what is strange about an acceptance, a sentence each: what it cannot show, and what usually breaks it.

    Examples
    --------
    >>> from minispec.lab.explain.engines import parse_acceptance
    >>> page = '{"timings": {"draft_n": 3000, "draft_n_accepted": 9, "predicted_n": 1010}}'
    >>> oddities(parse_acceptance(page, "an answer"))[-1][:53]
    'hardly any draft is accepted: usually another tokeniz'
    """
    odd = list(found.odd)
    overall, places = found.alpha, found.by_place
    most = overall.value if overall.high is None else overall.high
    if most is not None and most < NEAR_ZERO:
        odd.append(f"hardly any draft is accepted: usually {CAUSES}")
    elif (found.drafted or 0) >= _MANY and found.accepted == found.drafted:
        odd.append(
            "every draft is accepted: texts that repeat themselves, or a rule that lets everything pass, which these "
            "figures cannot show. Compare greedy texts with and without drafts"
        )
    ends = [(place.low, place.high) for place in places]
    if len(ends) > 1 and ends[0][0] is not None and ends[1][1] is not None and ends[1][1] < _COLLAPSE * ends[0][0]:
        odd.append(
            f"place 2 is accepted {100 * (places[1].value or 0.0):.0f} % of the times that place 1 was, and place 1 "
            f"{100 * (places[0].value or 0.0):.0f} %: a draft that reads its own tokens badly. Try a length of 1; "
            "check which hidden states or positions it is given"
        )
    return odd


def to_dict(found: Acceptance, advice: Advice | None) -> dict[str, Any]:
    """Return JSON-able data."""
    fields = asdict(found)
    return {
        **{name: fields[name] for name in ("engine", "meaning", "gamma", "length", "steps", "drafted", "accepted")},
        "alpha": found.alpha._asdict(),
        "by_place": [
            {"accepted": accepted, "judged": judged, **figure._asdict()}
            for (accepted, judged), figure in zip(found.places, found.by_place, strict=True)
        ],
        "odd": oddities(found),
        "advice": None
        if advice is None
        else {
            "lengths": [
                {"gamma": length.gamma, "tau": length.tau, "speedup": length.speedup._asdict()}
                for length in advice.lengths
            ],
            "best": advice.best._asdict(),
            "gain": advice.gain._asdict(),
            "most_verify": advice.most_verify,
            "batch": advice.batch,
        },
    }
