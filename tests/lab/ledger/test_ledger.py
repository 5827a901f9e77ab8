"""The published page is what its JSON files make; each file's verdict is what its figures make."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minispec.errors import InputError
from minispec.lab.ledger.book import describe, draw, judge, load, load_all, load_checked, report, round_figures, save
from minispec.lab.ledger.claims.row_budget import NOISE
from minispec.lab.ledger.framework import NAMES, TINY, get_experiment
from minispec.lab.ledger.verdicts import Interval

DOCS = Path(__file__).resolve().parents[3] / "docs"
RESULTS = load_all(DOCS / "claims")
by_name = pytest.mark.parametrize("result", RESULTS, ids=lambda result: result["name"])


def test_the_ledger_is_complete() -> None:
    assert [result["name"] for result in RESULTS] == list(NAMES)


def test_the_page_is_what_the_results_make() -> None:
    page = (DOCS / "claims.md").read_text(encoding="utf-8")
    assert page == report(RESULTS), "run `minispec experiment report --write docs/claims.md`"


@by_name
def test_the_verdict_is_what_the_figures_make(result: dict) -> None:
    experiment = get_experiment(result["name"])
    now = describe(experiment) | judge(experiment, result["figures"])
    assert {key: result[key] for key in now} == now, "the rule or a text changed: `minispec experiment judge`"


@by_name
def test_a_result_names_its_machine_and_has_a_small_picture(result: dict) -> None:
    assert {"cpu", "cores", "system", "python", "numpy", "numba", "minispec"} <= set(result["machine"])
    assert result["date"] < "2100"
    picture = (DOCS / "claims" / f"{result['name']}.svg").read_text(encoding="utf-8")
    assert picture == draw(result), "the chart changed: `minispec experiment judge`"
    assert len(picture.encode()) < 5_000
    drawn = ElementTree.fromstring(picture)
    width, height = (float(drawn.attrib[side]) for side in ("width", "height"))
    for text in drawn.iter("{http://www.w3.org/2000/svg}text"):
        wide = (7.6 if text.attrib.get("class") == "h" else 6.0) * len(text.text or "")  # pixels, about
        left = {"r": -1.0, "m": -0.5}.get(text.attrib.get("class", "")[-1:], 0.0) * wide + float(text.attrib["x"])
        assert 0.0 <= left < left + wide <= width + 12.0, text.text
        assert 0.0 < float(text.attrib["y"]) < height, text.text


def test_nothing_else_lies_in_the_folder() -> None:
    assert {path.name for path in (DOCS / "claims").iterdir()} == {
        f"{name}.{kind}" for name in NAMES for kind in ("json", "svg")
    }


def test_the_page_changes_with_any_result() -> None:
    """A report that ignored its input would pass the drift test for ever."""
    changed = copy.deepcopy(RESULTS)
    changed[0]["because"] = "Planted."
    assert "Planted." in report(changed)
    assert report(changed) != report(RESULTS)
    assert report(RESULTS[1:]) != report(RESULTS)


def test_rounding_keeps_structure_and_five_digits() -> None:
    figures = {"a": Interval(1 / 3, 0.1, 123456.789), "b": [True, None, "x", 7], "c": float("inf")}
    assert round_figures(figures) == {"a": [0.33333, 0.1, 123460.0], "b": [True, None, "x", 7], "c": None}


def test_a_result_is_written_whole_and_read_back(tmp_path: Path) -> None:
    save(RESULTS[0], tmp_path)
    assert load(tmp_path, NAMES[0]) == RESULTS[0]
    assert load(tmp_path, NAMES[1]) is None


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of two entries of the published ledger, and nothing else in it."""
    monkeypatch.setattr("minispec.lab.ledger.book.NAMES", NAMES[:2])
    for result in RESULTS[:2]:
        save(result, tmp_path)
    assert load_checked(tmp_path) == RESULTS[:2]
    return tmp_path


def refuse(folder: Path, because: str) -> None:
    with pytest.raises(InputError, match=because) as caught:
        load_checked(folder)
    assert "\n" not in str(caught.value)
    assert "experiment" in str(caught.value), "the way out"


@pytest.mark.parametrize("key", ["verdict", "because", "measured", "claim", "sources", "rule", "thresholds", "figures"])
def test_an_entry_that_does_not_follow_from_its_figures_and_rule_is_refused(key: str, ledger: Path) -> None:
    planted = {"verdict": "holds", "figures": RESULTS[0]["figures"] | {"formula": 4.5}}.get(key, "Planted.")
    save(RESULTS[0] | {key: planted}, ledger)
    refuse(ledger, r"tau\.json says something else than its figures")


def test_an_entry_whose_rule_lacks_a_figure_is_refused(ledger: Path) -> None:
    (ledger / "tau.json").write_text(json.dumps(RESULTS[0] | {"figures": {}}), encoding="utf-8")
    refuse(ledger, r"tau\.json is damaged \(KeyError")


def test_a_missing_entry_is_refused(ledger: Path) -> None:
    (ledger / "worksheet.json").unlink()
    refuse(ledger, r"worksheet\.json is missing")


@pytest.mark.parametrize("number", [0, 1])
def test_an_entry_of_another_scale_is_refused(number: int, ledger: Path) -> None:
    save(RESULTS[number] | {"scale": asdict(TINY)}, ledger)
    refuse(ledger, r"json has another scale \(.*rounds 2000, not 1000000")
    save(RESULTS[number] | {"scale": None}, ledger)
    refuse(ledger, r"no scale")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "[" * 200_000,
        '{"name": "worksheet", "verdict": "false"}',
        '{"name": "tau", "verdict": "surely"}',
    ],
)
def test_a_broken_result_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "tau.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"tau\.json is no result"):
        load(tmp_path, "tau")


@by_name
def test_results_are_json_as_we_write_it(result: dict) -> None:
    text = (DOCS / "claims" / f"{result['name']}.json").read_text(encoding="utf-8")
    assert text == json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def test_an_entry_says_how_fine_a_difference_its_texts_can_show() -> None:
    result = copy.deepcopy(next(result for result in RESULTS if result["name"] == "streaming"))
    for case in result["figures"]["cases"]:
        case["steps"] = [0.6, 0.58, 0.62]
    result["figures"]["cases"][2]["steps"] = [0.6, 0.5, 0.66]
    result |= {"scale": {"prompts": 100, "seeds": 3}, **judge(get_experiment("streaming"), result["figures"])}
    assert result["half_widths"] == [0.02, 0.08]
    assert "100 prompts of a kind, 3 seeds each where tokens are drawn: " in report([result])
    assert "the intervals that decide are ±0.02 to ±0.08;" in report([result])
    assert ": the interval that decides is ±0.02;" in report([result | {"half_widths": [0.02, 0.02]}])
    tau = next(result for result in RESULTS if result["name"] == "tau")
    assert judge(get_experiment("tau"), tau["figures"])["half_widths"] is None
    assert "How fine" not in report([tau])


def test_a_budget_of_rows_is_nowhere_slower_than_one_length_by_more_than_noise() -> None:
    figures = next(result["figures"] for result in RESULTS if result["name"] == "row-budget")
    assert min(case["faster"][0] for case in figures["cases"]) > NOISE


def test_every_counted_verdict_that_reads_intervals_names_them() -> None:
    """All but those that compare bits, laws or counts."""
    without = {result["name"] for result in RESULTS if result["kind"] == "counted" and not result["half_widths"]}
    assert without == {
        "maximum",
        "identical-output",
        "modified-attention",
        "model-modification",
        "parallel-drafts",
        "dictated-tokens",
        "two-models-memory",
        "fusion-equivalence",
    }
