"""Looks at every page of a built site in a headless Chromium and says what is wrong with it."""

from __future__ import annotations

import functools
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import Page, sync_playwright

PHONE, DESKTOP = 390, 1280
"""Widths a page must fit, in CSS pixels."""

PATIENCE_MS = 180_000
"""For one page, on a machine with much else to do."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_FACTS = """() => ({
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    figures: [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src.slice(0, 80)),
    formulas: [...document.querySelectorAll('math')].filter(
        m => m.checkVisibility() && m.getBoundingClientRect().height < 1).length,
})"""
_OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"


def find_chromium() -> str | None:
    """Return the path of an installed Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def problems(site: Path, chromium: str) -> list[str]:
    """Return what is wrong with a folder of pages, in sorted lines that begin with the page's path."""
    found: list[str] = []
    links: dict[str, list[str]] = {}
    ids: dict[str, set[str]] = {}
    with _served(site) as origin, _page(chromium) as page:
        say: Any = found.append
        here = ""
        page.on("console", lambda message: say(f"{here}: console: {message.text}") if message.type == "error" else None)
        page.on("response", lambda got: say(f"{here}: {got.status} for {got.url}") if got.status >= 400 else None)
        page.on("pageerror", lambda error: say(f"{here}: script: {error}"))
        page.on("request", lambda asked: None if _local(asked.url, origin) else say(f"{here}: asks for {asked.url}"))
        for path in sorted(site.rglob("*.html")):
            here = path.relative_to(site).as_posix()
            page.set_viewport_size({"width": PHONE, "height": 844})
            page.goto(f"{origin}/{here}", wait_until="load", timeout=PATIENCE_MS)
            for width in (PHONE, DESKTOP):
                page.set_viewport_size({"width": width, "height": 844})
                excess = page.evaluate(_OVERFLOW)
                if excess > 0:
                    found.append(f"{here}: {excess} pixels wider than a screen of {width}")
            facts = page.evaluate(_FACTS)
            found += [f"{here}: figure {source} is not shown" for source in facts["figures"]]
            if facts["formulas"]:
                found.append(f"{here}: {facts['formulas']} formulas without height")
            links[here], ids[here] = facts["links"], set(facts["ids"])
    for here, targets in links.items():
        found += [f"{here}: link to {target}" for target in set(targets) if _broken(target, origin, site, ids)]
    return sorted(set(found))


def _local(url: str, origin: str) -> bool:
    return url.startswith((f"{origin}/", "data:", "blob:"))


def _broken(link: str, origin: str, site: Path, ids: dict[str, set[str]]) -> bool:
    """Whether a link into the site leads nowhere; links to elsewhere are not followed."""
    page, fragment = urldefrag(link)
    if not page.startswith(f"{origin}/"):
        return not page.startswith(("https://", "http://", "mailto:"))
    path = unquote(urlsplit(page).path).lstrip("/")
    path = f"{path}index.html" if path.endswith("/") or not path else path
    if not (site / path).is_file():
        return True
    is_form = path.startswith("page/") and "=" in fragment  # what to decode, which tests/serving reads
    return bool(fragment) and not is_form and path in ids and unquote(fragment) not in ids[path]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve a folder on this machine only: from a file:// address scripts may not do what they may on a site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _page(chromium: str) -> Iterator[Page]:
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=chromium, args=FLAGS)
        try:
            yield context.new_page()
        finally:
            context.close()
