"""What drafts shown at once cost a reader, an editor and a voice, and what they gain.

Those who look on are simulated. The clock counts plain steps: a drafted token takes ``c`` of one, a verification takes
one. A draft is shown when it is made; the verdict keeps some of it, takes back the rest, and adds the target's own
token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minispec.engine.records import Step
from minispec.lab.ledger.framework import About, Conclusion, Figures, Setting, table
from minispec.lab.ledger.instruments import average_clusters, to_interval
from minispec.lab.ledger.runs import DOMAINS, TARGET, Turn, decode_all, model
from minispec.lab.ledger.verdicts import Finding, Interval, above, spell, tally
from minispec.lab.viz.plots.claims import Chart, Curve
from minispec.theory.intervals import share_of_texts, simultaneous

TEMPERATURES = (0.0, 1.0)
GAMMAS = (2, 5, 8)
COST = 0.1  # of a drafted token, in plain steps
SPEECH = 15.0  # characters a second: 150 words a minute
SPEEDS = (2.0, 5.0, 20.0)  # plain tokens a second, beside that voice
WAITS = tuple(0.25 * i for i in range(9))  # plain steps
PROSE = ("stories", "questions")
OFTEN = 0.05
WRONG = 0.01
CLIENTS = 2 + len(SPEEDS)

ABOUT = About(
    title="Shown drafts spoil reading, highlighting and speech",
    claim="Where drafts are shown as they are made, half a paragraph is rewritten before the reader's eyes, names "
    "change after the editor has coloured them, and a voice has said what is then taken back.",
    sources=("pan-streaming",),
    kind="counted",
    instrument="The bundled pair on held-out prompts; who looks on is simulated on a clock of plain steps. The reader "
    "sees all texts, the editor the code, the voice the prose; it says a word when it is whole and the one before is "
    "said. (A first run held the voice to one word in a hundred, and could not decide; now one bar holds for all.)",
    literature="None known: the papers bind the committed text.",
    thresholds={
        "often": OFTEN,
        "wrong": WRONG,
        "cost": COST,
        "speech": SPEECH,
        "speeds": list(SPEEDS),
        "waits": list(WAITS),
        "gammas": list(GAMMAS),
    },
)

WORD = re.compile(r"\S+(?=\s)")
"""A word to say: it is known to be whole once a space follows it."""

NAME = re.compile(r"[^\W\d]\w*(?=\W)")
"""A name in code, likewise."""


@dataclass(frozen=True, slots=True)
class Showing:
    """A step, as one sees it who is shown drafts.

    Parameters
    ----------
    before : str
        The prompt and the committed text when the step begins.
    drafted : str
        What is shown after it.
    times : tuple of float
        When each character of ``drafted`` is shown, in plain steps since the beginning.
    kept : int
        Characters of ``drafted`` that the verdict keeps.
    verdict : float
        When it falls.
    after : str
        The committed text then.
    """

    before: str
    drafted: str
    times: tuple[float, ...]
    kept: int
    verdict: float
    after: str

    @property
    def taken_back(self) -> int:
        """Characters that were shown and are taken back."""
        return len(self.drafted) - self.kept

    @property
    def earlier(self) -> float:
        """How much earlier the kept characters were seen than without drafts, summed over them, in plain steps."""
        return sum(self.verdict - time for time in self.times[: self.kept])


def watch(
    prompt: str, steps: Iterable[Step | Turn], decode: Callable[[Sequence[int]], str], c: float
) -> Iterator[Showing]:
    """Yield what is shown of a run whose drafts are chains.

    Parameters
    ----------
    prompt : str
    steps : iterable of Step or Turn
    decode : callable
        Token ids to text.
    c : float
        What a drafted token takes, in plain steps.
    """
    text, clock = prompt, 0.0
    for step in steps:
        pieces = [decode([token]) for token in step.draft_tokens]
        times = tuple(clock + c * (i + 1) for i, piece in enumerate(pieces) for _ in piece)
        clock += c * len(pieces) + 1.0
        after = text + "".join(decode([token]) for token in step.tokens)
        kept = sum(map(len, pieces[: step.num_accepted]))
        yield Showing(text, "".join(pieces), times, kept, clock, after)
        text = after


_STRINGS = re.compile(r"\\.|\"\"\"|'''|[\"'#\n()\[\]{}]", re.DOTALL)
_CLOSES = {")": "(", "]": "[", "}": "{"}


def colouring(text: str) -> tuple[str, str]:
    r'''Return what the end of a Python text is in: a string or a comment, by its first mark; and its open brackets.

    Examples
    --------
    >>> colouring("f(x, [1, 'a"), colouring("f(x)  # why (not"), colouring('"""It\'s\n')
    (("'", '(['), ('#', ''), ('"""', ''))
    '''
    inside, brackets = "", ""
    for found in _STRINGS.finditer(text):
        mark = found.group()
        if inside:
            short = len(inside) == 1  # a line's end closes it; three quotes do too, and are an empty string besides
            if (mark == inside != "#") or (short and mark in ("\n", inside * 3)):
                inside = ""
        elif mark in ('"', "'", "#", '"""', "'''"):
            inside = mark
        elif mark in "([{":
            brackets += mark
        elif mark in _CLOSES and brackets.endswith(_CLOSES[mark]):
            brackets = brackets[:-1]
    return inside, brackets


def flips(showing: Showing) -> bool:
    """Whether an editor that coloured the drafts has to colour anew: what is taken back opened or closed something."""
    kept = showing.before + showing.drafted[: showing.kept]
    return bool(showing.taken_back) and colouring(showing.before + showing.drafted) != colouring(kept)


def renames(showing: Showing) -> bool:
    """Whether a whole name that was shown is not there after the verdict."""
    text, start = showing.before + showing.drafted, len(showing.before)
    names = (name for name in NAME.finditer(text) if name.end() > start)
    return bool(showing.taken_back) and any(not _stands(name, NAME, showing.after) for name in names)


def _stands(found: re.Match[str], pattern: re.Pattern[str], text: str) -> bool:
    there = pattern.match(text, found.start())
    return there is not None and there.group() == found.group()


def say(showings: Sequence[Showing], wait: float, pace: float) -> tuple[int, int]:
    """Read a run aloud as it is shown; return the words said, and those of them that the text turned out not to have.

    After a wrong word the voice says the right one: nothing is left out.

    Parameters
    ----------
    showings : sequence of Showing
    wait : float
        How long a word must have been shown whole before it is said, in plain steps.
    pace : float
        How long a character takes to say, in plain steps. With 0 the voice says all it may at once.
    """
    start, final = len(showings[0].before), showings[-1].after
    said = wrong = 0
    free, place = 0.0, start
    seen: list[float] = []  # when each committed character was first shown
    for showing in showings:
        times = [*seen, *showing.times]
        sound = True
        for word in WORD.finditer(showing.before + showing.drafted, place):
            begin = max(free, times[word.end() - start] + wait)
            if begin >= showing.verdict:
                break
            free = begin + pace * len(word.group())
            said += 1
            sound = sound and _stands(word, WORD, final)
            wrong += not sound
            place = word.end() if sound else place
        own = len(showing.after) - len(showing.before) - showing.kept
        seen += [*showing.times[: showing.kept], *[showing.verdict] * own]
    return said + len(WORD.findall(final, place)), wrong


def measure(setting: Setting) -> Figures:
    """Show the drafts of every run to all of them."""
    tokenizer = model(TARGET).tokenizer
    assert tokenizer is not None  # the bundled models have one
    domains, clients, voices = [], [], []
    for temperature in TEMPERATURES:
        for gamma in GAMMAS:
            case: dict[str, Any] = {"temperature": temperature, "gamma": gamma}
            shown: dict[str, list[list[list[Showing]]]] = {}  # by domain: of each text, its runs
            for domain in DOMAINS:
                texts = decode_all(domain, setting.scale, temperature=temperature, gamma=gamma)
                shown[domain] = [
                    [list(watch(tokenizer.decode(run.begun), run.steps(), tokenizer.decode, COST)) for run in runs]
                    for runs in texts
                ]
                domains.append(case | {"domain": domain} | _read([run for text in shown[domain] for run in text]))
            every = [text for domain in DOMAINS for text in shown[domain]]
            prose = [text for domain in PROSE for text in shown[domain]]
            steps = [[showing for run in text for showing in run] for text in shown["code"]]
            clients += [
                case | {"client": "reader", "share": _share(_add(every, _characters))},
                case
                | {
                    "client": "editor",
                    "share": average_clusters([[flips(s) for s in text] for text in steps], of=_of()),
                    "names": float(np.mean([renames(s) for text in steps for s in text])),
                },
            ]
            for speed in SPEEDS:
                said = [_add(prose, partial(say, wait=wait, pace=speed / SPEECH)) for wait in WAITS]
                clients.append(case | {"client": _voice(speed), "share": _share(said[0])})
                wrong = [sum(bad for _, bad in each) / sum(words for words, _ in each) for each in said]
                voices.append(case | {"client": _voice(speed), "speed": speed, "wrong": wrong})
    return {"domains": domains, "clients": clients, "waits": WAITS, "voices": voices}


def _of() -> int:
    return len(TEMPERATURES) * len(GAMMAS) * CLIENTS


def _voice(speed: float) -> str:
    return f"voice, {speed:g}/s"


def _characters(showings: list[Showing]) -> tuple[int, int]:
    return sum(len(s.drafted) for s in showings), sum(s.taken_back for s in showings)


def _add(texts: list[list[list[Showing]]], look: Callable[[list[Showing]], tuple[int, int]]) -> list[tuple[int, int]]:
    """Return, of each text, two counts summed over its runs."""
    pairs = [[look(run) for run in text] for text in texts]
    return [(sum(every for every, _ in each), sum(some for _, some in each)) for each in pairs]


def _share(counts: list[tuple[int, int]]) -> Interval:
    """Return the second of each pair over the first, texts as clusters."""
    every, some = zip(*counts, strict=True)
    return to_interval(share_of_texts(some, every, simultaneous(_of())))


def _read(runs: list[list[Showing]]) -> dict[str, float]:
    """Return what a reader of these runs gains and loses."""
    steps = [showing for showings in runs for showing in showings]
    kept = sum(len(showings[-1].after) - len(showings[0].before) for showings in runs)
    back = [showing.taken_back for showing in steps]
    return {
        "earlier": sum(showing.earlier for showing in steps) / kept,
        "per_100": 100.0 * sum(back) / kept,
        "largest": max(back),
    }


def conclude(figures: Figures) -> Conclusion:
    """Each client, temperature and draft length says whether more than one in twenty is taken back; tally: the verdict.

    One in twenty: of the drafted characters, for a reader; of the steps, for an editor whose strings, comments or
    brackets change; of the words said, for a voice that does not wait.
    """
    answers = {
        f"{f['client']} (T = {f['temperature']:g}, γ = {f['gamma']})": above(f["share"], OFTEN)
        for f in figures["clients"]
    }
    slow, fast = (_range(figures, speed) for speed in (min(SPEEDS), max(SPEEDS)))
    largest = max(f["largest"] for f in figures["domains"])
    return Conclusion(
        f"A kept draft is seen 1 + (γ - i) c plain steps before its verdict, the first (i = 1) earliest: at γ = 5 and "
        f"c = {COST:g}, by 1 to {1 + 4 * COST:g} steps. Never more than γ tokens are taken back at once. Who waits for "
        "1 + (γ - 1) c steps is never wrong, and is shown what is committed.",
        f"The bundled pair, drafts shown at once; a drafted token takes c = {COST:g} of a plain step, a verification "
        "one. How much earlier a character of the text is seen, on average (plain steps) / how many are taken back per "
        "100 that stay / the most at once:"
        + _by_gamma(
            ("text", "domain"),
            figures["domains"],
            lambda f: f"{f['earlier']:.2f} / {f['per_100']:.0f} / {f['largest']}",
        )
        + "\n\nWhat share is taken back: of the drafted characters, for a reader; of the steps, for an editor (and how "
        "many take back a whole name); of the words said, for a voice of "
        f"{SPEECH:g} characters a second, beside a target that makes so many tokens a second by itself:"
        + _by_gamma(("who", "client"), figures["clients"], _share_cell)
        + f"\n\nHow long a voice must let a word stand before it says it, for at most {WRONG:.0%} of wrong words, in "
        "plain steps (and seconds):"
        + _by_gamma(("who", "client"), figures["voices"], lambda f: _wait_cell(figures, f)),
        Finding(
            tally(list(answers.values())),
            f"More than one in twenty? {spell(_by_client(figures, answers))}. The most that went at "
            f"once were {largest} characters. Eyes and editors follow text as fast as it is shown. A voice "
            f"is slower than most models: beside {max(SPEEDS):g} tokens a second {fast} of its words are wrong, since "
            "it speaks of what was committed long ago. Only where it waits for the model "
            f"({min(SPEEDS):g} tokens a second: {slow}) does it say what is taken back; the longer it "
            "waits the less, and nothing once it waits as long as a step.",
        ),
        [f["share"] for f in figures["clients"]],
    )


def _by_gamma(name: tuple[str, str], cases: Sequence[Figures], cell: Callable[[Figures], str]) -> str:
    """Return a table with a row for each name and temperature, a column for each draft length."""
    heading, key = name
    rows: dict[tuple[object, object], list[object]] = {}
    for f in cases:
        rows.setdefault((f[key], f["temperature"]), [f[key], f"{f['temperature']:g}"]).append(cell(f))
    return table((heading, "temperature", *(f"γ = {gamma}" for gamma in GAMMAS)), list(rows.values()))


def _share_cell(client: Figures) -> str:
    names = f"; names {client['names']:.0%}" if "names" in client else ""
    return f"{Interval(*client['share'])}{names}"


def _wait_cell(figures: Figures, voice: Figures) -> str:
    wait = next(w for w, wrong in zip(figures["waits"], voice["wrong"], strict=True) if wrong <= WRONG)
    return f"{wait:.2f} ({wait / voice['speed']:.2f} s)"


def _by_client(figures: Figures, answers: dict[str, bool | None]) -> dict[str, bool | None]:
    """Name a client alone where all its cases say the same."""
    found: dict[str, bool | None] = {}
    for client in dict.fromkeys(f["client"] for f in figures["clients"]):
        own = {name: answer for name, answer in answers.items() if name.startswith(f"{client} (")}
        found |= {client: next(iter(own.values()))} if len(set(own.values())) == 1 else own
    return found


def _range(figures: Figures, speed: float) -> str:
    """Return how many words a voice that does not wait says wrong, over all cases."""
    wrong = [voice["wrong"][0] for voice in figures["voices"] if voice["speed"] == speed]
    return f"{min(wrong):.1%} to {max(wrong):.1%}"


def chart(figures: Figures) -> Chart:
    """Draw how a voice's errors fall with its patience."""
    return Chart(
        "Words said that the text turned out not to have (T = 1, γ = 5)",
        "how long a word must have stood, plain steps",
        "share of words said",
        tuple(
            Curve(f"target of {f['speed']:g} tokens a second", figures["waits"], f["wrong"])
            for f in figures["voices"]
            if (f["temperature"], f["gamma"]) == (1.0, 5)
        ),
        lines=((f"one in {1 / WRONG:.0f}", WRONG),),
    )
