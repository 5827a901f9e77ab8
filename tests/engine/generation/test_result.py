"""A generation in a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import minispec
from tests.tiny import write_model


class Reader(HTMLParser):
    """Collects text and the styles it stands in."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.styles = "", set()

    def handle_starttag(self, tag, attrs):
        self.styles |= {value for name, value in attrs if name == "style"}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("seed", range(4))
def test_a_notebook_shows_prompt_and_text_with_sources_and_nothing_of_it_as_markup(tmp_path, seed) -> None:
    target = str(write_model(tmp_path / "target", seed=1, scale=0.3))
    draft = str(write_model(tmp_path / "draft", seed=2, n_embd=8, n_layer=1, scale=0.3))
    made = minispec.generate(
        "a <b>&amp; c",
        target=target,
        draft=draft,
        backend="numpy",
        max_tokens=30,
        seed=seed,
        temperature=2.0,
        top_p=1.0,
    )
    reader = Reader()
    reader.feed(made._repr_html_())
    shown = reader.text.replace("\r\n", "\n")
    assert shown.startswith("a <b>&amp; c")
    assert re.sub(r"[\r\x00]", "", made.text) in re.sub(
        r"[\r\x00\ufffd]", lambda m: m[0] if m[0] == "\ufffd" else "", shown
    )
    assert f"{made.metrics.num_tokens} tokens" in shown
    assert len(reader.styles) >= 3


def test_an_unfinished_run_shows_too(tmp_path) -> None:
    target = str(write_model(tmp_path / "target", seed=1))
    run = minispec.stream("the", target=target, draft=None, backend="numpy", max_tokens=5)
    next(run)
    assert "interrupted" in run.generation._repr_html_()


def test_a_shell_shows_one_line(tmp_path) -> None:
    """The text and what matters about it, not every token's source."""
    made = minispec.generate("the", target=str(write_model(tmp_path / "target", seed=1)), draft=None, max_tokens=40)
    assert repr(made) == (
        f"<Generation {made.text!r}: 1.00 tokens per target forward, 40 tokens, {made.guarantee}, finished: length>"
    )
