"""A run of the engine, kept moment by moment, so that one can step through it.

Nothing is decoded here: a stream of the engine runs, this module answers what it asks, as any driver does, and looks at
both caches behind each forward. What the rule was handed, and what it said, it has from the rule and from the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minispec.engine.backends.base import Array
from minispec.engine.colours import Fate
from minispec.engine.drafters import Drafter, draft_nothing
from minispec.engine.generation import Stream, stream
from minispec.engine.generation.events import Emitted, Event, Finished, Prefilled, Verified
from minispec.engine.model.asks import Ask
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.session import Session
from minispec.engine.noise import Coins
from minispec.engine.records import Draft, Verdict
from minispec.engine.sampling import SamplingParams, distribution
from minispec.engine.verifiers import get_verifier
from minispec.engine.verifiers.rejection import residual
from minispec.errors import OptionError
from minispec.lab.viz.stepper import NUM_BARS, Frame, Law, Slots, Stepper


def record(
    prompt: str | Sequence[int],
    *,
    target: LanguageModel,
    draft: str | LanguageModel | Drafter,
    gamma: int,
    temperature: float,
    max_tokens: int,
    seed: int = 0,
) -> Stepper:
    """Run speculative decoding with rejection sampling, and return a picture of it to step through.

    At temperature 0 the bars are the models' probabilities at temperature 1, whose highest is the favourite; where no
    model of the draft's says what was drafted (an n-gram, a cascade), they are what the rule is handed.

    Parameters
    ----------
    prompt : str or sequence of int
    target : LanguageModel
    draft : str, model or Drafter
        What drafts chains, with a model of its own or with none.
    gamma : int
    max_tokens : int
        >= 1.
    temperature : float
    seed : int

    Raises
    ------
    InputError
        If the prompt or an option cannot be used.
    """
    if max_tokens < 1:
        raise OptionError(f"max-tokens is {max_tokens}; there is nothing to step through below 1. Try 16")
    rule = get_verifier("rejection")
    heard = _Heard()

    def verify(draft: Draft, target_probs: NDArray[np.float64], coins: Coins) -> Verdict:
        heard.draft, heard.target_probs = draft, target_probs
        return rule.verify(draft, target_probs, coins)

    run = stream(
        prompt,
        target=target,
        draft=draft,
        gamma=gamma,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        verify=replace(rule, verify=verify),
    )
    watcher = _Watcher(run, heard, greedy=temperature == 0.0)
    happened = run.advance()
    while not isinstance(happened, Finished):
        if isinstance(happened, Ask):
            logits = happened.answer()
            watcher.note_forward(logits)
            happened = run.advance(logits)
        else:
            watcher.note(happened)
            happened = run.advance()
    return Stepper(watcher.frames, run.decode)


@dataclass
class _Heard:
    """What the rule was last handed."""

    draft: Draft = field(default_factory=draft_nothing)
    target_probs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))


class _Memory:
    """A session's cache, seen from outside; whatever was written to a slot is kept in mind after a rollback too."""

    def __init__(self, owner: str, session: Session) -> None:
        self._owner = owner
        self._session = session
        self._held: list[int] = []

    def look(self, num_text: int) -> Slots:
        """Say what each slot holds. To be called behind each forward, or a slot may be written twice unseen."""
        counted = self._session.tokens
        self._held[: len(counted)] = counted
        return Slots(self._owner, tuple(self._held), min(num_text, len(counted)), len(counted))


class _Watcher:
    """Turns what is seen of a run into frames, a round at a time."""

    def __init__(self, run: Stream, heard: _Heard, *, greedy: bool) -> None:
        self.frames: list[Frame] = []
        self._heard = heard
        self._greedy = greedy
        self._text: list[tuple[int, Fate]] = [(token, "prompt") for token in run.tokens]
        self._memories = [_Memory("the target's cache", run.target)]
        session = getattr(run.drafter, "session", None)
        if session is not None:
            self._memories.append(_Memory("the draft's cache", session))
        self._forwards: list[tuple[Array, tuple[Slots, ...]]] = []  # of this round
        self._verified: Verified | None = None

    def note_forward(self, logits: Array) -> None:
        """Look at the caches behind a forward; one that only reads the prompt has no rows."""
        caches = self._look()
        if len(logits):
            self._forwards.append((logits, caches))

    def note(self, event: Event) -> None:
        """Add the frames that an event completes."""
        if isinstance(event, Prefilled):
            says = "The target has read the prompt: its last row is about the first token."
            self.frames.append(Frame("prefill", says, tuple(self._text), self._look()))
        elif isinstance(event, Verified):
            self._verified = event
        elif isinstance(event, Emitted):
            if self._verified is None:
                says = "The first token is drawn from that row, without a draft. It waits for the first round."
                self._commit(event, says)
            else:
                self._tell(self._verified, event)
            self._forwards.clear()

    def _look(self) -> tuple[Slots, ...]:
        return tuple(memory.look(len(self._text)) for memory in self._memories)

    def _tell(self, verified: Verified, emitted: Emitted) -> None:
        """Add the frames of a round that is over: its caches have been set back already."""
        *drafting, (rows, full) = self._forwards
        told = _Round(self._heard, verified, self._greedy, rows, [logits for logits, _ in drafting])
        looks = [look for _, look in drafting] or [self.frames[-1].caches]  # a draft without a model has no forwards
        for part, caches in ((told.tell_draft(), looks), (told.tell_verdict(), [full])):
            for i, frame in enumerate(part):
                text = (*self._text, *frame.text)
                self.frames.append(replace(frame, text=text, caches=caches[min(i, len(caches) - 1)]))
        count = len(emitted.token_ids)
        says = f"The round adds {count} token{'s' * (count > 1)}; the caches keep the text, but its last token waits."
        self._commit(emitted, says)

    def _commit(self, emitted: Emitted, says: str) -> None:
        self._text += zip(emitted.token_ids, emitted.sources, strict=True)
        self.frames.append(Frame("commit", says, tuple(self._text), self._look()))


class _Round:
    """One round in frames that hold its own tokens only, and no caches.

    Parameters
    ----------
    heard : _Heard
    verified : Verified
    greedy : bool
    rows : ndarray of shape (G + 1, V)
        Logits of the target.
    draft_rows : sequence of ndarray of shape (1, V)
        Those of a draft that has a model.
    """

    def __init__(
        self, heard: _Heard, verified: Verified, greedy: bool, rows: Array, draft_rows: Sequence[Array]
    ) -> None:
        self._drafts = heard.draft.tokens
        self._verified = verified
        self._greedy = greedy
        self._p, self._q = heard.target_probs, heard.draft.probs
        if greedy:  # what the rule was handed is 1 for the favourite and 0 for all others
            self._p = distribution(rows, _AS_IT_IS)
            own = np.concatenate([*draft_rows, rows[:0]])
            if tuple(own.argmax(axis=1)) == self._drafts:  # else its model says something else than the drafter
                self._q = distribution(own, _AS_IT_IS)

    def tell_draft(self) -> Iterator[Frame]:
        """Yield a frame for each drafted token."""
        for i, token in enumerate(self._drafts):
            is_favourite = self._greedy and int(self._q[i].argmax()) == token
            says = f"Token {i + 1} is the draft's favourite." if is_favourite else f"Token {i + 1} is drawn from q."
            yield self._show("draft", says, i, ["q"], self._mark(i + 1, judged=0))

    def tell_verdict(self) -> Iterator[Frame]:
        """Yield the target's forward, a frame for each draft that is judged, and the target's own token."""
        size, kept = len(self._drafts), self._verified.num_accepted
        count = f"{size + 1} tokens, and returns {size + 1} rows" if size else "one token, and returns one row"
        says = f"One forward of the target reads what its cache lacks, {count}."
        yield self._show("verify", says, 0, ["p", "q"] if size else ["p"], self._mark(size, judged=0))
        for i in range(min(kept + 1, size)):
            names = ["p", "q"] if self._greedy else ["p", "q", "min(p, q)"]
            yield self._show("accept", self._judge(i), i, names, self._mark(size, judged=i + 1))
        text = [*self._mark(size, judged=size), (self._verified.next_token, self._verified.source)]
        if self._verified.source == "plain":
            yield self._show("plain", "Nothing was drafted: a plain token.", kept, ["p"], text)
        elif self._verified.source == "bonus":
            yield self._show("bonus", "All stay, and the last row gives one more token.", kept, ["p"], text)
        elif self._greedy:
            yield self._show("replace", "The target's own favourite takes its place.", kept, ["p", "q"], text)
        else:
            says = "The residual replaces it: what p has more than q, divided by its sum."
            yield self._show("residual", says, kept, ["p", "q", "residual"], text)

    def _judge(self, i: int) -> str:
        stays = i < self._verified.num_accepted
        goes = "stays" if stays else "goes, and all behind it"
        if self._greedy:
            return f"Draft {i + 1} is {'the' if stays else 'not the'} target's favourite: it {goes}."
        prob = self._verified.accept_probs[i]
        if prob >= 1.0:
            return f"Draft {i + 1}: p is no less than q, so it {goes}."
        coin = "yes" if stays else "no"
        return f"Draft {i + 1}: p/q = {prob:.2f} is its chance to stay, and the coin says {coin}. It {goes}."

    def _mark(self, count: int, *, judged: int) -> list[tuple[int, Fate]]:
        """Return the first drafts with their fates, when so many of them have been judged."""
        kept = self._verified.num_accepted
        over = judged > kept  # the first rejection ends it
        kinds: list[Fate] = ["accepted", "rejected", "unseen"] if over else ["accepted", "drafted", "drafted"]
        places = [(i >= min(judged, kept)) + (i > kept) for i in range(count)]
        return [(token, kinds[place]) for token, place in zip(self._drafts[:count], places, strict=True)]

    def _show(self, stage: str, says: str, place: int, names: Sequence[str], text: Sequence[tuple[int, Fate]]) -> Frame:
        """Return a frame with some laws of a place; it is about the draft there, or the token that ends the round."""
        own = self._verified.next_token
        p, q = self._p[place], self._q[place] if place < len(self._q) else None
        laws = {"p": p} if q is None else {"p": p, "q": q, "min(p, q)": np.minimum(p, q), "residual": residual(p, q)}
        draft = self._drafts[place : place + 1]
        about = own if stage in _OWN or not draft else draft[0]
        # The same bars in every frame about a place, whatever the frame is about.
        asked = [*draft, own] if place == self._verified.num_accepted else draft
        axis = _choose_axis(p, q, asked)
        return Frame(stage, says, tuple(text), (), {name: laws[name] for name in names}, axis, about)


_AS_IT_IS = SamplingParams(temperature=1.0)
_OWN = ("plain", "bonus", "replace", "residual")


def _choose_axis(p: Law, q: Law | None, asked: Sequence[int]) -> tuple[int, ...]:
    """Return the likeliest tokens, the likeliest first; those that are asked for are among them."""
    highest = p if q is None else np.maximum(p, q)
    likely = [int(token) for token in np.argsort(-highest, kind="stable")[:NUM_BARS]]
    chosen = list(dict.fromkeys([*asked, *likely]))[:NUM_BARS]
    return tuple(sorted(chosen, key=lambda token: -highest[token]))
