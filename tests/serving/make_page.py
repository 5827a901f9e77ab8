"""Make what is made of the page, and for it: ``python -m tests.serving.make_page``.

Its colours, from the one table of them; and README's moving picture, of a race of the bundled pair. The page's clock is
turned by hand, so that every frame is taken in time on any machine. What was decoded depends on the kernels only; the
seconds in the picture are those of the machine that made it.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import minispec.serving
from minispec.lab.viz.page import _fates, _variables

ROOT = Path(__file__).resolve().parents[2]
COLOURS = Path(minispec.serving.__file__).parent / "page" / "colours.css"
PICTURE = ROOT / "docs" / "_static" / "page.webp"
FRAME_MS = 200
WIDTH, HEIGHT = 920, 700
LAST_MS = 4000
SMALL = {"quality": 60, "method": 6, "minimize_size": True}
RACE = {"prompt": "Once upon a time there was a little fox", "seed": "2", "max_tokens": "64"}


def colour_sheet() -> str:
    """Return the colours as a style sheet for pages that are served: custom properties, and a class for each fate.

    A page is light or dark as its reader's system is, or as the attribute ``data-theme`` of its root says.
    """
    lines = "\n".join(
        f"  --{name}: light-dark({shades['light']}, {shades['dark']});" for name, shades in _variables().items()
    )
    themes = "\n".join(f":root[data-theme={theme}] {{ color-scheme: {theme} }}" for theme in ("light", "dark"))
    return f":root {{\n  color-scheme: light dark;\n{lines}\n}}\n{themes}\n{_fates()}\n"


def frames(url: str) -> list[bytes]:
    """Return the pictures of a race, as PNG."""
    from playwright.sync_api import sync_playwright

    from tests.docs_site.browser import FLAGS, find_chromium

    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark")
        page.goto(url)
        page.wait_for_function("() => !document.getElementById('run').disabled")
        page.evaluate("() => document.getElementById('options').open = true")
        for name, value in RACE.items():
            page.locator(f"#{name}").fill(value)
        page.clock.install()
        page.clock.pause_at("2030-01-01")
        page.click("#race")
        while "on one clock" not in page.inner_text("#status"):
            page.wait_for_timeout(50)
        page.evaluate("() => document.getElementById('status').scrollIntoView()")
        while page.is_enabled("#stop"):
            page.clock.run_for(FRAME_MS)
            taken.append(page.screenshot())
        browser.close()
    return taken


def main() -> None:
    """Write both."""
    from PIL import Image

    COLOURS.write_text(colour_sheet(), encoding="utf-8")
    command = [sys.executable, "-m", "minispec", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        try:
            pictures = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames(url)]
        finally:
            server.terminate()
    times = [FRAME_MS] * (len(pictures) - 1) + [LAST_MS]
    pictures[0].save(PICTURE, save_all=True, append_images=pictures[1:], duration=times, loop=0, **SMALL)
    print(f"{PICTURE.relative_to(ROOT)}: {len(pictures)} frames, {PICTURE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
