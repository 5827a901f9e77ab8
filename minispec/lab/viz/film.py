"""A run as a film: which piece of text appears when, and when its fate is known.

Drafts appear one after the other; then the target's verdict turns them solid or strikes them, and its own token
appears. A film is made from events, live or recorded, and shown on a terminal or a page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from minispec.engine.colours import Fate
from minispec.engine.generation.events import Drafted, Emitted, Event, Verified
from minispec.engine.generation.result import Generation
from minispec.engine.markup import visible
from minispec.engine.records import Piece


@dataclass(frozen=True, slots=True)
class Shot:
    """A piece of text, when it appears, and when its fate is settled; in between it is ``drafted``.

    Times are in seconds, from the beginning of the scene or of the film.
    """

    text: str
    fate: Fate
    shown_s: float = 0.0
    settled_s: float = 0.0

    def fate_at(self, moment_s: float) -> Fate | None:
        """Return what is known of it at a moment; None before it appears."""
        if moment_s < self.shown_s:
            return None
        return self.fate if moment_s >= self.settled_s else "drafted"


@dataclass(frozen=True, slots=True)
class Scene:
    """One step: its shots in reading order, how long it lasts, and how many tokens it adds to the text."""

    shots: tuple[Shot, ...]
    length_s: float
    num_tokens: int

    def moments(self) -> list[float]:
        """Return when something changes."""
        return sorted({moment for shot in self.shots for moment in (shot.shown_s, shot.settled_s)})


@dataclass(frozen=True, slots=True)
class Beat:
    """When the drafts of a step appear, when the verdict falls, when the target's own token appears, when it ends."""

    drafts_s: Sequence[float]
    verdict_s: float
    own_s: float
    end_s: float


READING_SPEED = 8.0
"""Tokens per second that a reader can follow."""

Pace = Callable[[Drafted | None, Verified | None], Beat]
"""Gives a step its times."""


def at_once(drafted: Drafted | None, verified: Verified | None) -> Beat:
    """Take no time."""
    return Beat([0.0] * (0 if drafted is None else len(drafted.tokens)), 0.0, 0.0, 0.0)


def reading(tokens_per_s: float) -> Pace:
    """Let tokens appear at this rate, drafted ones included, with a beat before the verdict and one after it.

    Examples
    --------
    >>> reading(10.0)(None, None).own_s
    0.1
    """
    tick = 1.0 / tokens_per_s

    def pace(drafted: Drafted | None, verified: Verified | None) -> Beat:
        drafts = [tick * (i + 1) for i in range(0 if drafted is None else len(drafted.tokens))]
        if not drafts:
            return Beat((), tick, tick, tick)
        verdict = drafts[-1] + tick
        return Beat(drafts, verdict, verdict + tick, verdict + 2 * tick)

    return pace


def time_lapse(factor: float, plain_step_s: float) -> Pace:
    """Let every step last ``factor`` times as long as it really did.

    Parameters
    ----------
    factor : float
    plain_step_s : float
        Of a step without a draft, whose events carry no time.
    """

    def pace(drafted: Drafted | None, verified: Verified | None) -> Beat:
        if drafted is None or verified is None:
            return Beat((), *[factor * plain_step_s] * 3)
        drafting, count = factor * drafted.elapsed_s, max(1, len(drafted.tokens))
        end = drafting + factor * verified.elapsed_s
        return Beat([drafting * (i + 1) / count for i in range(len(drafted.tokens))], end, end, end)

    return pace


def scenes(events: Iterable[Event], decode: Callable[[tuple[int, ...]], str], pace: Pace) -> Iterator[Scene]:
    """Yield a scene per step as its events arrive.

    Parameters
    ----------
    events : iterable of Event
    decode : callable
        Token ids to text, for drafts.
    pace : Pace
    """
    drafted: Drafted | None = None
    verified: Verified | None = None
    for event in events:
        match event:
            case Drafted():
                drafted = event
            case Verified():
                verified = event
            case Emitted():
                beat = pace(drafted, verified)
                yield Scene(tuple(_shots(drafted, verified, event, decode, beat)), beat.end_s, len(event.token_ids))
                drafted = verified = None


def _shots(
    drafted: Drafted | None,
    verified: Verified | None,
    emitted: Emitted,
    decode: Callable[[tuple[int, ...]], str],
    beat: Beat,
) -> Iterator[Shot]:
    own = emitted.pieces[-1:] if emitted.pieces and emitted.pieces[-1].source != "accepted" else ()
    kept = emitted.pieces[: len(emitted.pieces) - len(own)]
    texts = [] if drafted is None else [decode((token,)) for token in drafted.tokens]
    places = [] if drafted is None or verified is None else find_path(drafted, verified)
    if [Piece(texts[i], "accepted") for i in places[: len(kept)]] == list(kept):
        kept_shots = [Shot(texts[i], "accepted", beat.drafts_s[i], beat.verdict_s) for i in places[: len(kept)]]
    else:  # characters across tokens, text held back for a stop string: it appears when it is sure
        kept_shots = [Shot(piece.text, piece.source, beat.verdict_s, beat.verdict_s) for piece in kept]
    yield from kept_shots
    for i, text in enumerate(texts):
        if i not in places:
            yield Shot(visible(text), "rejected", beat.drafts_s[i], beat.verdict_s)
    for piece in own:
        yield Shot(piece.text, piece.source, beat.own_s, beat.own_s)


def find_path(drafted: Drafted, verified: Verified) -> list[int]:
    """Return which drafted tokens were accepted, in the order of the text: the first ones of a chain, a tree's path.

    Of two paths that read the same, the one that was tried first.
    """
    if drafted.parents is None:
        return list(range(verified.num_accepted))
    paths: list[list[int]] = [[]]
    for node, parent in enumerate(drafted.parents):
        paths.append([*paths[parent + 1], node])
    for path in paths:
        rest = tuple(token for node, token in enumerate(drafted.tokens) if node not in path)
        if rest == verified.rejected:
            return path
    return []


@dataclass(frozen=True, slots=True)
class Film:
    """A whole run, its shots timed from the beginning.

    Attributes
    ----------
    shots : tuple of Shot
    steps : tuple of (float, int)
        When each step ends, and the tokens there are then; the first one is that of the first token.
    """

    shots: tuple[Shot, ...]
    steps: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, run: Iterable[Scene]) -> Film:
        """Join scenes."""
        shots: list[Shot] = []
        steps: list[tuple[float, int]] = []
        start_s, tokens = 0.0, 0
        for scene in run:
            shots += [
                replace(shot, shown_s=start_s + shot.shown_s, settled_s=start_s + shot.settled_s)
                for shot in scene.shots
            ]
            start_s, tokens = start_s + scene.length_s, tokens + scene.num_tokens
            steps.append((start_s, tokens))
        return cls(tuple(shots), tuple(steps))

    @property
    def length_s(self) -> float:
        """When it ends."""
        return self.steps[-1][0] if self.steps else 0.0

    def moments(self) -> list[float]:
        """Return when something changes."""
        times = itertools.chain.from_iterable((shot.shown_s, shot.settled_s) for shot in self.shots)
        return sorted({*times, *(end for end, _ in self.steps)})

    def at(self, moment_s: float) -> list[tuple[str, Fate]]:
        """Return the text that is there at a moment."""
        return [(shot.text, fate) for shot in self.shots if (fate := shot.fate_at(moment_s)) is not None]

    def counts_at(self, moment_s: float) -> tuple[int, int]:
        """Return tokens, and target forwards after the prefill, that are done at a moment."""
        done = [tokens for end, tokens in self.steps if end <= moment_s]
        return (done[-1] if done else 0), max(0, len(done) - 1)


def race(
    plainly: Iterable[Event],
    plain: Generation,
    events: Iterable[Event],
    decode: Callable[[tuple[int, ...]], str],
    tokens_per_s: float,
) -> tuple[dict[str, Film], float]:
    """Return a plain and a speculative run on one clock, on which plain decoding makes so many tokens a second.

    Both begin with their first token, which the prefill gives.

    Parameters
    ----------
    plainly : iterable of Event
        Of the plain run.
    plain : Generation
        Its result.
    events : iterable of Event
        Of the speculative run.
    decode : callable
        Its token ids to text.
    tokens_per_s : float

    Returns
    -------
    films : dict of str to Film
    factor : float
        How many times slower than in reality the films are.
    """
    step_s = plain.metrics.decode_s / max(1, plain.metrics.num_steps)
    factor = 1.0 / tokens_per_s / step_s if step_s > 0.0 else 1.0
    pace = time_lapse(factor, step_s)

    def shoot(told: Iterable[Event]) -> Film:
        rest = iter(told)
        first = itertools.islice(scenes(rest, decode, at_once), 1)
        return Film.of(itertools.chain(first, scenes(rest, decode, pace)))

    return {"plain decoding": shoot(plainly), "speculative decoding": shoot(events)}, factor
