"""The picture one steps through, in a real Chromium: on a page without a kernel, and in JupyterLab with one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minispec.course.teaching import Stepper, record
from minispec.engine.model.toy import TableModel
from tests.course.teaching.kernel import surroundings
from tests.course.teaching.test_live_widgets import STEPS


def find_missing(*names: str) -> str:
    return ", ".join(name for name in names if importlib.util.find_spec(name) is None)


MISSING = find_missing("playwright", "axe_playwright_python")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING}: not installed (dependency group docs-check)"),
]
PHONE, DESKTOP = 390, 1280
PATIENCE_MS = 120_000
"""For JupyterLab and a kernel to come up, on a machine with much else to do."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from tests.docs_site.browser import FLAGS, find_chromium

    chromium = find_chromium()
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": DESKTOP, "height": 900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert wrong == []


def make(seed: int) -> Stepper:
    target, draft = (TableModel(12, 64, seed=i, concentration=0.3) for i in (1, 2))
    recorded = record([*range(12)], target=target, draft=draft, gamma=4, temperature=1.0, max_tokens=12, seed=seed)
    words = [" a ,", " river", " mill", " the", " old", " went", " and", " of", ".", "\n", " x"]
    return Stepper(recorded.frames, lambda tokens: "".join(words[token % len(words)] for token in tokens))


@pytest.fixture
def two(page: Any, tmp_path: Path) -> tuple[Any, Stepper]:
    """A page with two runs, and the first of them."""
    runs = [make(seed) for seed in (1, 2)]
    body = f"<body><main><h1>Runs</h1>{''.join(run._repr_html_() for run in runs)}</main></body>"
    where = tmp_path / "page.html"
    where.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Runs</title></head>{body}</html>',
        encoding="utf-8",
    )
    page.goto(where.as_uri())
    return page, runs[0]


def find_shown(page: Any, which: int = 0) -> str:
    """Which frame is seen; there must be one, and the line above must be its own."""
    box = page.locator('[id^="steps-"]').nth(which)
    (shown,) = box.locator(".frame:visible").all()
    assert box.locator(".says").inner_text() == shown.get_attribute("data-says")
    return shown.get_attribute("data-says").split()[0]


def test_keys_and_buttons_go_back_and_forth(two: tuple[Any, Stepper]) -> None:
    page, run = two
    last = str(len(run.frames))
    assert find_shown(page) == "1"
    page.keyboard.press("Tab")  # reaches the box without a mouse
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "ArrowLeft", "Home", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(find_shown(page))
    assert seen == ["2", "3", "2", last, last, str(len(run.frames) - 1), "1", "1"]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second button
    page.keyboard.press("ArrowRight")
    assert find_shown(page) == "3"
    page.get_by_role("button", name="back").first.click()
    assert find_shown(page) == "2"
    assert find_shown(page, 1) == "1"  # the other run has not moved


def test_nothing_moves_but_what_has_changed(two: tuple[Any, Stepper]) -> None:
    """Bars and slots stand at one place of the screen in all frames, whatever the text does."""
    page, run = two
    page.locator('[id^="steps-"]').first.focus()
    places = set()
    for _ in run.frames:
        places.add(
            page.evaluate(
                """() => JSON.stringify([...document.querySelector('.frame:not([hidden])')
                    .querySelectorAll('svg, line, ol, li')].map(e => e.getBoundingClientRect()))"""
            )
        )
        page.keyboard.press("ArrowRight")
    assert len(places) == 1


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_it_fits_the_screen_and_anybody_can_use_it(two: tuple[Any, Stepper], width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, run = two
    page.set_viewport_size({"width": width, "height": 900})
    page.locator('[id^="steps-"]').first.focus()
    stages = [frame.stage for frame in run.frames]
    for stage in ("prefill", "commit", "residual"):
        page.keyboard.press("Home")
        for _ in range(stages.index(stage)):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0
    found = Axe().run(page, context='[id^="steps-"]').response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """A JupyterLab of its own, with one notebook whose cell runs a pair on a prompt; its address."""
    if missing := find_missing("jupyterlab", "ipywidgets"):
        pytest.skip(f"{missing}: not installed (extra lessons)")
    book = {
        "cells": [
            {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": STEPS},
            {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "The end."},
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "steps.ipynb").write_text(json.dumps(book), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {name: str(tmp_path / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    server = subprocess.Popen(
        [*command, "--port-retries=0", "--IdentityProvider.token=t", "--LabApp.news_url="],
        cwd=tmp_path,
        env={**surroundings(tmp_path)["env"], **options},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert server.poll() is None
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/lab/tree/steps.ipynb?token=t"
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_in_jupyterlab_one_steps_through_ones_own_prompt(page: Any, lab: str) -> None:
    page.set_default_timeout(PATIENCE_MS)
    page.goto(lab)
    page.get_by_text("| Idle").wait_for()  # JupyterLab forgets a cell that is run before it knows its kernel
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    box = page.locator('[id^="steps-"]')
    box.wait_for()
    assert find_shown(page) == "1"
    box.locator(".says").first.click()
    for key, shown in (("ArrowRight", "2"), ("ArrowRight", "3"), ("ArrowLeft", "2")):
        page.keyboard.press(key)
        assert find_shown(page) == shown
    first = box.get_attribute("id")
    field = page.locator(".widget-text input")
    field.fill("The old mill by the river")
    field.press("Enter")
    page.locator(f'[id^="steps-"]:not([id="{first}"])').wait_for()
    assert "mill" in box.locator(".frame:visible").inner_text()
    box.get_by_role("button", name="next").click()
    page.keyboard.press("ArrowRight")
    assert find_shown(page) == "3"
    field.fill("")
    field.press("Enter")
    page.get_by_text("the prompt is empty").wait_for()
    assert box.count() == 0
