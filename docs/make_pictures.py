"""Make pictures: ``python docs/make_pictures.py``.

The one at README's top is of a real run: what the live view shows at its end. Times are left out: they would be those
of the machine that made the picture, and the rest is the same on every machine with the same kernels. The one of a
layer on a GPU is drawn to the scale of the bytes that each step reads.
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


LAYER = PICTURE.with_name("gpu-layer.svg")
WIDTH_XL, SLOTS, READ = 1600, 512, 3.09e6  # GPT-2 XL, a usual cache, and what an H100 reads: bytes per microsecond
PAUSE = 2.6  # microseconds between two launches; of the persistent kernel, from a step's last byte to its gate: half
STYLE = """<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 12px; fill: #59636e; }
  .read { fill: #cfe3f7; stroke: #0969da; }
  .work { fill: #cdeed9; stroke: #1a7f37; }
  .gate { stroke: #bc4c00; stroke-dasharray: 4 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; }
    .read { fill: #10345c; } .work { fill: #0f4020; }
  }
</style>"""


def layer() -> str:
    """Return the picture of a layer's steps: as launches, and as one kernel that reads ahead."""
    square = WIDTH_XL**2 * 2
    cache = 2 * SLOTS * WIDTH_XL * 2
    steps = {"q, k, v": 3 * square, "attn.": cache, "proj.": square, "up": 4 * square, "down": 4 * square}
    lines = ["a launch a step: memory rests between them", "one launch: memory", "warps that multiply"]
    shapes = [
        f'<text x="10" y="{y}" class="small">{line}</text>' for y, line in zip((24, 104, 164), lines, strict=True)
    ]
    now = ahead = begun = 0.0
    for name, num_bytes in steps.items():
        took = num_bytes / READ
        shapes += [_box("read", now, took, 32, name), _box("read", ahead, took, 112, name)]
        now, ahead = now + took + PAUSE, ahead + took
        done = ahead + PAUSE / 2
        shapes += [_box("work", begun, done - begun, 172, name)]
        shapes += [f'<path class="gate" d="M{_x(done):.0f} 106V212"/>']
        begun = done
    end = _x(now - PAUSE)
    shapes += [
        f'<text x="{end:.0f}" y="232" class="small" text-anchor="end">dashed: a gate, where all blocks wait</text>'
    ]
    told = (
        "Boxes are as wide as the bytes of a step take to read. As launches they have gaps; in one kernel memory reads "
        "the next step's weights while blocks wait at a gate."
    )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 244" width="800" height="244" role="img" '
        'aria-labelledby="t d">',
        f'<title id="t">One layer of GPT-2 XL on a GPU</title>\n<desc id="d">{told}</desc>',
        STYLE, *shapes, "</svg>\n",
    ])  # fmt: skip


def _x(microseconds: float) -> float:
    return 10 + 24 * microseconds


def _box(kind: str, begin: float, took: float, y: int, name: str) -> str:
    x, width = _x(begin), 24 * took
    label = (
        f'<text x="{x + width / 2:.0f}" y="{y + 24}" text-anchor="middle">{name}</text>'
        if width > 7 * len(name)
        else ""
    )
    return f'<rect class="{kind}" x="{x:.0f}" y="{y}" width="{width:.0f}" height="36" rx="4"/>{label}'


if __name__ == "__main__":
    for file, made in ((PICTURE, picture), (LAYER, layer)):
        file.write_text(made(), encoding="utf-8")
        print(file)
