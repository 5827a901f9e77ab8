"""Names, texts and bad names."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minispec.errors import CheckpointError, OptionError
from minispec.lab.ledger import claims
from minispec.lab.ledger.framework import NAMES, SOURCES, Setting, get_experiment, table
from minispec.lab.ledger.small_drafts import Recipe, Workshop, mix_recipe, only


def test_the_ledger_lists_every_claim_once() -> None:
    modules = {module.name.replace("_", "-") for module in pkgutil.iter_modules(claims.__path__)}
    assert modules == set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_says_what_it_is(name: str) -> None:
    found = get_experiment(name)
    about = found.about
    assert found.name == name
    for text in (about.title, about.claim, about.instrument):
        assert len(text) > 20
        assert "\n" not in text
    assert about.sources or re.search(r"[A-Z]\w+ et al\. \d{4}\) claims it", about.literature), "somebody claims it"
    assert re.search(r"\b(19|20)\d{2}\b|None known", about.literature), "a year, or that nothing is known"
    assert about.thresholds
    assert re.search("verdict|holds|false|judge|tall(y|ied)", found.rule, re.IGNORECASE), "the rule is stated"


def test_every_source_is_tested_and_named_as_a_reader_would() -> None:
    assert {source for name in NAMES for source in get_experiment(name).about.sources} == set(SOURCES)
    assert all("“" in source and re.search(r"\b20\d\d$|date", source) for source in SOURCES.values())


@pytest.mark.parametrize(
    ("name", "hint"), [("tua", "'tau'"), ("no such thing at all", "experiment list"), ("", "list")]
)
def test_a_bad_name_is_told_a_way_out(name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=hint):
        get_experiment(name)


def test_training_needs_packed_text() -> None:
    with pytest.raises(OptionError, match="--packed"):
        get_experiment("data-mix").measure(Setting())


def test_a_recipe_is_named_by_everything_that_makes_it() -> None:
    recipes = [
        mix_recipe(4, 1),
        mix_recipe(4, 2),
        mix_recipe(8, 1),
        only("code", 4, 1),
        only("code", 4, 1, mix_recipe(4, 1)),
        only("code", 4, 1, mix_recipe(4, 2)),
        only("code", 4, 1, "draft-0.6m"),
        Recipe("mix", 4, 1, layers=2),
        Recipe("mix", 4, 1, width=128),
    ]
    assert len({recipe.name for recipe in recipes}) == len(recipes)


def test_a_draft_goes_on_only_with_what_it_is_made_from(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    place, recipe = Workshop(tmp_path, tmp_path / "work"), Recipe("mine", 1, 1)

    def write(seed: int) -> None:
        tokens = np.random.default_rng(seed).integers(1, 1000, 2000).astype(np.uint16)
        np.save(tmp_path / "mine.train.npy", tokens)

    write(1)
    place.train(recipe)
    place.train(recipe)  # read
    before = place.inputs(replace(recipe, start=Recipe("mine", 2, 1, start="draft-0.6m"), loss="kl"))
    assert set(before) == {"mine", "target", "mine of its start", "draft-0.6m of its start"}
    write(2)
    with pytest.raises(CheckpointError, match=r"began with another mine .*--work"):
        place.train(recipe)


def test_a_table_has_as_many_columns_everywhere() -> None:
    lines = table(("a", "b"), [(1, 2), (3, 4)]).strip().splitlines()
    assert lines == ["| a | b |", "| --- | --- |", "| 1 | 2 |", "| 3 | 4 |"]
    assert table(("a",), [([1.5, 1.25, 1.75],)]).endswith("| 1.50 (1.25 to 1.75) |"), "a figure with its interval"
