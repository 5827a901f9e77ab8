"""Drafting while the target verifies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends import threads
from minispec.engine.model.session import Session
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import Row, average_clusters, join, to_interval
from minispec.lab.ledger.runs import DOMAINS, DRAFT, TARGET, Sample, decode_all, model
from minispec.lab.ledger.verdicts import Finding, Interval, above, tally
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory import ahead_speedup
from minispec.theory.intervals import median, simultaneous

GAMMAS = (1, 2, 3, 5)
COSTS = ((0.05, 1.0), (0.2, 1.5), (0.5, 1.0))
WORTH = 1.1
CONTEXT = 64

ABOUT = About(
    title="Overlap draft and target to leave nothing idle",
    claim="Specialised scheduling that keeps both models busy, instead of letting one wait for the other, is "
    "where much of the gain lies.",
    sources=("kumkar",),
    kind="timed",
    instrument="Steps of the bundled pair show how often a draft made ahead would have been of use. Its gain is "
    "computed for stated costs, and timed: verification in one thread, the passes of a draft in another, and both "
    "one after the other, taking turns.",
    literature="PEARL (Liu et al. 2025) verifies the first draft while drafting and drafts on while verifying, and "
    "reports up to 1.5 times the speed of speculation that waits. Speculative speculative decoding (Kumar, Dao and May "
    "2026) drafts for several outcomes of the verification, and reports up to twice that speed.",
    thresholds={"worth": WORTH, "costs": COSTS, "gammas": GAMMAS},
)


def measure(setting: Setting) -> Figures:
    """Count how often a draft made ahead would have been usable: all accepted, and the next token guessed as well.

    And time a step one after the other and with the draft ahead in a thread of its own.
    """
    found = []
    for gamma in GAMMAS:
        usable: list[Row] = []
        for domain in DOMAINS:
            # gamma + 1 drafts: the last one is the draft's guess of what the target adds after gamma acceptances
            texts = decode_all(domain, setting.scale, gamma=gamma + 1, temperature=0.0)
            usable += join(texts, partial(_find_usable, count=gamma + 1))
        share = average_clusters(usable, of=len(GAMMAS))
        times = _time_steps(gamma, 4 * setting.scale.repeats)
        found.append(
            {
                "gamma": gamma,
                "usable": share,
                "times": {name: float(np.median(seconds)) for name, seconds in times.items()},
                "speedup": _compare(times, share),
            }
        )
    return {"cases": found, "costs": COSTS, "cores": threads.max_threads()}


def _find_usable(run: Sample, count: int) -> NDArray[np.bool_]:
    """Return of which steps with so many drafts all were accepted."""
    usable: NDArray[np.bool_] = run.accepted[run.drafted == count] == count
    return usable


def _time_steps(gamma: int, rounds: int) -> dict[str, list[float]]:
    """Time drafting, a step, and the two ends of a verification beside which gamma + 1 tokens are drafted, in turns."""
    tokens = [(31 * i + 7) % model(TARGET).vocab_size for i in range(CONTEXT + gamma + 1)]
    target, draft = model(TARGET).session(), model(DRAFT).session()
    for session in (target, draft):
        session.prefill(tokens[:CONTEXT])

    def draft_some(count: int) -> float:
        for token in tokens[CONTEXT : CONTEXT + count]:
            draft.score([token])
        return _go_back(draft)

    def verify() -> float:
        target.score(tokens[CONTEXT:])
        return _go_back(target)

    def time_step() -> float:
        started = time.perf_counter()
        draft_some(gamma)
        return verify() - started

    def time_beside(find_end: Callable[[float, float], float]) -> float:
        with _one_core_left():
            started = time.perf_counter()
            ahead = others.submit(draft_some, gamma + 1)
            verified = verify()
            return find_end(verified, ahead.result()) - started

    def time_draft() -> float:
        started = time.perf_counter()
        return draft_some(gamma) - started

    with ThreadPoolExecutor(1) as others:
        return interleave(
            {
                "draft": time_draft,
                "step": time_step,
                "verified": lambda: time_beside(lambda verified, drafted: verified),
                "both": lambda: time_beside(max),
            },
            rounds,
        )


def _go_back(session: Session) -> float:
    """Forget what was fed behind the context; return when that was."""
    now = time.perf_counter()
    session.rollback(CONTEXT)
    return now


@contextmanager
def _one_core_left() -> Iterator[None]:
    """Have the target's kernels leave one core to the draft."""
    count = threads.num_threads()
    threads.set_num_threads(max(1, count - 1))
    try:
        yield
    finally:
        threads.set_num_threads(count)


def _compare(times: Mapping[str, Sequence[float]], usable: Interval) -> Interval:
    """Return how much faster steps become here, at the share of drafts ahead that is of use, and at its ends."""

    def gain(share: float) -> Interval:
        rounds = zip(times["step"], times["both"], times["verified"], times["draft"], strict=True)
        ratios = [step / (share * both + (1 - share) * (verified + draft)) for step, both, verified, draft in rounds]
        return to_interval(median(ratios, simultaneous(len(GAMMAS))))

    found = [gain(min(1.0, share)) for share in usable]
    return Interval(found[0].value, min(each.low for each in found), max(each.high for each in found))


def _gains(figures: Figures) -> list[list[Interval]]:
    """Return, for each gamma and each pair of costs, what drafting ahead gains at the share that is of use."""
    gains = []
    for f in figures["cases"]:
        shares = [min(1.0, usable) for usable in f["usable"]]
        gains.append([Interval(*(ahead_speedup(f["gamma"], c, v, u) for u in shares)) for c, v in figures["costs"]])
    return gains


def conclude(figures: Figures) -> Conclusion:
    """Each pair of costs, were nothing lost by sharing, and this machine say if some gamma gains a tenth; tallied."""
    gains, here = _gains(figures), [Interval(*f["speedup"]) for f in figures["cases"]]
    columns = [*zip(*gains, strict=True), here]
    answers = [tally([above(gain, WORTH) for gain in column]) for column in columns]
    reached = [{"holds here": True, "depends": True, "false": False}.get(word) for word in answers]
    rows = [
        (f["gamma"], f["usable"], *(f"{gain.value:.2f}" for gain in of_gamma), gain_here)
        for f, of_gamma, gain_here in zip(figures["cases"], gains, here, strict=True)
    ]
    shares = [
        (f["gamma"], *(f"{f['times'][name] / f['times']['step']:.2f}" for name in ("draft", "verified", "both")))
        for f in figures["cases"]
    ]
    return Conclusion(
        "Without overlap a step takes γc + v. A draft made during verification takes γ + 1 passes, one to guess the "
        "target's own token. If it is of use the step takes max(v, (γ + 1)c); if not it is given up when the verdict "
        "is there, and the step takes γc + v as ever. Made for one outcome, that all is accepted and the guess "
        "right, it is of use with probability of about α^(γ+1); drafts for several outcomes (speculative speculative "
        "decoding) raise that. At most (γc + v)/max(v, (γ + 1)c) can be gained.",
        "The bundled pair, greedy: how often a draft made ahead would have been usable; what that gains if draft and "
        f"target do not disturb each other; and what it gains in time here, where {figures['cores']} cores share a "
        "path to memory, and one of them drafts while the target has the rest:"
        + table(("γ", "usable", *(f"gain at c = {c}, v = {v}" for c, v in figures["costs"]), "gain here"), rows)
        + "\n\nTimes here, as shares of a step one after the other: drafting γ tokens, and, from the beginning of a "
        "verification beside which γ + 1 are drafted, to the verdict and to the end of both:"
        + table(("γ", "draft", "verdict", "both"), shares),
        Finding(
            tally(reached),
            "It depends on the costs: where drafting is cheap there is little to hide; where it is dear, a draft for "
            "one outcome is often thrown away, most of all a long one. And the core that drafts is taken from the "
            "target: " + _say(answers[-1]),
        ),
        [gain for column in columns for gain in column],
    )


def _say(word: str) -> str:
    """Say what the measured column answers."""
    if word in ("holds here", "depends"):
        return "here that still gains a tenth at some draft length."
    if word == "false":
        return "here that gains a tenth at no draft length, in real time."
    return "whether that gains a tenth here at some draft length, the times do not tell."


def chart(figures: Figures) -> Chart:
    """Draw the gain over gamma."""
    return Chart(
        "What overlapping gains, greedy",
        "γ",
        "speedup by drafting ahead",
        (
            *(
                Curve(f"c = {c}, v = {v}", GAMMAS, [of_gamma[i] for of_gamma in _gains(figures)])
                for i, (c, v) in enumerate(figures["costs"])
            ),
            Curve("here, in time", GAMMAS, [f["speedup"] for f in figures["cases"]]),
        ),
        lines=(("no gain", 1.0),),
    )
