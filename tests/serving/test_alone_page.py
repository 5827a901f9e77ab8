"""The page that needs no server, in a real Chromium: the bundled models, in front of a plain file server."""

from __future__ import annotations

import importlib.util
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minispec.serving.static import write_page
from tests.docs_site.test_pages import page_links
from tests.serving.alone import Quiet, chromium, served

MISSING = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)}: not installed (dependency group docs-check)"),
]
PATIENCE_MS = 180_000
OVER = "() => document.getElementById('stop').disabled && !document.getElementById('run').disabled"
READY = "() => document.getElementById('status').textContent === 'Ready.'"
FETCHING = r"() => /^Fetching the models: 2\.\d of 3\d\.\d MB/.test(document.getElementById('status').textContent)"
DRAWN = "() => /4000 of 4000/.test(document.getElementById('verdict').textContent)"
COPY = "() => /link is/.test(document.getElementById('status').textContent)"
STOP_EARLY = """() => new MutationObserver((_, observer) => {
  if (document.querySelectorAll(".text .token").length < 20) return;
  observer.disconnect();
  document.getElementById("stop").click();
}).observe(document.getElementById("texts"), { childList: true, subtree: true })"""
"""Within the page: on a busy machine the run may be over before a click from outside comes."""
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("alone") / "class" / "page"
    made.parent.mkdir()
    write_page(made)
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def open_page(browser: Any, folder: Path) -> Iterator[Open]:
    """Open the page below a sub-path; whatever it asks for lies below it too."""
    contexts = []
    with served(folder.parent) as url:

        def opened(
            link: str = "", *, where: str = "page", wait: bool = True, context: Any = None, **options: Any
        ) -> Any:
            if context is None:
                contexts.append(browser.new_context(**options))
            page = (context or contexts[-1]).new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.wrong = []
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("request", lambda asked: asked.url.startswith(f"{url}/{where}/") or page.wrong.append(asked.url))
            page.goto(f"{url}/{where}/{link}")
            page.wait_for_function(READY)
            return page

        yield opened
        for context in contexts:
            assert [page.wrong for page in context.pages] == [[] for _ in context.pages]
            context.close()


def read(page: Any, which: int = 0) -> str:
    return page.locator(".text").nth(which).inner_text()


def run(page: Any, button: str = "run") -> Any:
    page.evaluate("() => document.getElementById('options').open = true")
    page.select_option("#pace", "1")
    page.click(f"#{button}")
    page.wait_for_function(OVER)
    return page


def prove(page: Any, rule: str) -> str:
    page.select_option("#proof-rule", rule)
    page.click("#prove")
    page.wait_for_function(DRAWN)
    return page.inner_text("#verdict")


def faults(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


def test_it_runs_and_races_and_nothing_is_asked_of_another_place(open_page: Open) -> None:
    page = run(open_page("#prompt=The+dog&seed=7&max_tokens=24&gamma=3&draft=draft-1.6m&rule=match"), "race")
    assert page.locator("#error").is_hidden()
    plain, fast = read(page, 0), read(page, 1)
    assert plain == fast, "the rule is match: the text of plain decoding"
    assert plain.startswith("The dog")
    assert "times as many, this once" in page.inner_text("#status")
    assert page.inner_text("#guarantee").startswith("Guarantee: same-seed")
    counters = page.inner_text("#counters")
    assert "24" in counters
    assert "τ" in counters


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_right_rule_stays_in_the_band_and_a_wrong_one_leaves_it(scheme: str, open_page: Open) -> None:
    page = open_page("#prompt=Once+upon+a+time+there+was+a+little", color_scheme=scheme)
    assert "inside the band" in prove(page, "rejection")
    assert page.locator("#histogram tr.outside").count() == 0
    assert faults(page) == []
    wrong = {"light": "accept everything", "dark": "resample from p"}[scheme]
    assert "This is not the target’s distribution" in prove(page, wrong)
    assert page.locator("#histogram tr.outside").count() >= 1
    assert faults(page) == []
    for width in (360, 400, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, width


def test_a_later_token_is_compared_too(open_page: Open) -> None:
    page = open_page("#prompt=Once+upon+a+time+there+was+a+little&temperature=0.3")
    page.select_option("#proof-place", "2")
    assert "inside the band" in prove(page, "gumbel")


def test_a_link_brings_back_the_form(open_page: Open) -> None:
    page = open_page(
        "#prompt=a+%26+b%3D%C3%A9&gamma=5&seed=11&temperature=0.5&top_p=0.9&max_tokens=16&draft=draft-0.6m"
    )
    page.click("#link")
    page.wait_for_function(COPY)
    link = page.evaluate("() => location.hash")
    again = open_page(link)
    for tab in (page, again):
        held = [tab.input_value(f"#{name}") for name in ("prompt", "gamma", "seed", "temperature", "top_p", "draft")]
        assert held == ["a & b=é", "5", "11", "0.5", "0.9", "draft-0.6m"]
    assert read(run(page)) == read(run(again)), "and so the text"
    take = "async (links) => { const { takeLink } = await import('./link.js'); return links.flatMap(takeLink); }"
    assert page.evaluate(take, [link for _, link in page_links()]) == [], "what the lessons link"


def test_a_broken_link_is_told_in_one_line_and_the_page_works(open_page: Open) -> None:
    page = open_page("#prompt=The+dog&gamma=99&seed=x&draft=medusa&foo=1&max_tokens=16&%E0%A4%A")
    said = page.inner_text("#error")
    for part in ("gamma=99; it must be a whole number from 1 to 32", "seed=x", "draft=medusa; this page has", "foo=1"):
        assert part in said
    assert page.input_value("#prompt") == "The dog"
    run(page)
    assert page.locator("#error").is_hidden()


def test_an_empty_and_a_long_prompt_get_one_line(open_page: Open) -> None:
    page = open_page()
    for prompt, part in (("", "the prompt is empty"), ("fox " * 1200, "holds 1024")):
        page.fill("#prompt", prompt)
        run(page)
        assert part in page.inner_text("#error")
        page.click("#prove")
        page.wait_for_function("(part) => document.getElementById('verdict').textContent.includes(part)", arg=part)
    page.fill("#prompt", "The dog")
    page.evaluate("() => document.getElementById('max_tokens').value = 8")
    assert page.locator("#error").is_hidden() or run(page)
    run(page)
    assert page.locator("#error").is_hidden()


@pytest.mark.parametrize("damage", ["cut short", "missing", "another file"])
def test_damaged_weights_get_one_line_and_work_once_they_are_whole(damage: str, open_page: Open, folder: Path) -> None:
    broken = folder.parent / damage.replace(" ", "-")
    shutil.copytree(folder, broken)
    weights = broken / "weights" / "target-17m" / "model.safetensors"
    whole = weights.read_bytes()
    if damage == "missing":
        weights.unlink()
    else:
        weights.write_bytes(whole[:1_000_000] if damage == "cut short" else b"\xff" * len(whole))
    page = open_page(where=broken.name)
    said = page.inner_text("#error")
    assert "weights/target-17m/model.safetensors" in said
    assert {"cut short": "is cut short", "missing": "404", "another file": "is not the file"}[damage] in said
    assert said.count("\n") == 0
    weights.write_bytes(whole)
    page.evaluate("() => document.getElementById('max_tokens').value = 8")
    assert len(read(run(page))) > len("Once upon a time there was a little fox"), "a run asks for it again"
    shutil.rmtree(broken)


def test_it_works_without_a_network_from_the_second_load_on(open_page: Open) -> None:
    page = open_page()
    page.evaluate("() => navigator.serviceWorker.ready")
    page.reload()
    page.wait_for_function(READY)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    asked = []
    page.context.on("request", lambda one: asked.append(one.url) if "/weights/" in one.url else None)
    page.context.set_offline(True)
    page.reload()
    page.wait_for_function(READY)
    page.evaluate("() => document.getElementById('max_tokens').value = 8")
    run(page)
    assert page.locator("#error").is_hidden()
    assert asked == [], "weights are fetched once"


def test_a_slow_network_shows_how_far_it_is_and_leaves_the_page_usable(browser: Any, folder: Path) -> None:
    """Of each file of weights a part comes, and the rest once the gate opens."""
    gate = threading.Event()

    class Slow(Quiet):
        def copyfile(self, source: Any, outputfile: Any) -> None:
            if self.path.partition("?")[0].endswith(".safetensors"):
                outputfile.write(source.read(2_000_000))
                assert gate.wait(PATIENCE_MS / 1000)
            super().copyfile(source, outputfile)

    with served(folder, Slow) as url:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{url}/#prompt=The+dog&max_tokens=8&seed=3")
        page.wait_for_function(FETCHING)
        page.fill("#prompt", "The fox")
        page.click("#run")
        page.click("#stop")
        assert "Stopped after 0 tokens." in page.inner_text("#log")
        gate.set()
        assert read(run(page)).startswith("The fox")
        assert page.locator("#error").is_hidden()
        page.close()


def test_stop_ends_a_run_and_two_tabs_do_not_disturb_each_other(open_page: Open) -> None:
    first = open_page("#prompt=The+dog&max_tokens=200&seed=3")
    second = open_page("#prompt=The+dog&max_tokens=16&seed=3", context=first.context)
    first.select_option("#pace", "1")
    first.evaluate(STOP_EARLY)
    first.click("#run")
    run(second)
    first.wait_for_function(OVER)
    assert re.match(r"Stopped after \d+ tokens", first.inner_text("#status"))
    shown = read(first)
    assert read(second).startswith(shown) or shown.startswith(read(second))


def test_a_browser_without_module_workers_gets_one_line(browser: Any, folder: Path) -> None:
    with served(folder) as url:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script("window.Worker = class { constructor() { throw new TypeError('no'); } }")
        page.goto(url)
        page.wait_for_function("() => /modules in workers/.test(document.getElementById('status').textContent)")
        page.close()
