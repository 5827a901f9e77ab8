"""Make the picture at README's top from a real run: ``python docs/make_pictures.py``.

It shows what the live view shows, at the end of the run. Times are left out: they would be those of the machine that
made the picture, and the rest is the same on every machine with the same kernels.
"""

from __future__ import annotations

from pathlib import Path

from minispec.engine.generation import Event, stream
from minispec.lab.viz.film import Film, at_once, scenes
from minispec.lab.viz.page import WIDTH, to_svg
from minispec.lab.viz.terminal import facts, legend, styled_text, summary

PROMPT, SEED = "3 + 4 =", 2
COMMAND = f'minispec generate "{PROMPT}" --seed {SEED} --show-drafts'
PICTURE = Path(__file__).resolve().parent / "_static" / "live.svg"
TIMES = ("time to first token", "time per output token")


def picture() -> str:
    """Run and return the picture."""
    run = stream(PROMPT, seed=SEED)
    events: list[Event] = list(run)
    film = Film.of(scenes(events, run.decode, at_once))
    text = styled_text([(PROMPT, "prompt"), *film.at(film.length_s)], "dark")
    told = [fact for fact in facts(run.generation) if fact[0] not in TIMES]
    return to_svg(COMMAND, [legend("dark", show_drafts=True), text, summary(told, WIDTH, "dark")])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
