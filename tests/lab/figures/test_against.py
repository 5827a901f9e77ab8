"""Two measurements compared: what changed is found, what did not is not, and how often that is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from minispec.lab.measure.against import ReportError, compare, read_report, to_dict
from minispec.lab.measure.record import Record
from minispec.lab.measure.report import remarks
from minispec.lab.measure.summary import summarise


def unit(prompt: int, rng: np.random.Generator, chances: tuple[float, ...], seconds: float) -> list[Record]:
    """The plain record of a prompt and one with drafts, accepted with these chances by place."""
    evaluated = [40]
    accepted: list[int] = []
    for chance in chances:
        accepted.append(int(rng.binomial(evaluated[-1], chance)))
        evaluated.append(accepted[-1])
    counts = dict.fromkeys((name for name in Record.__dataclass_fields__ if name.startswith("num_")), 0)
    plain = Record(
        target="t",
        draft=None,
        gamma=0,
        temperature=1.0,
        verify="rejection",
        prompt_id=str(prompt),
        domain="code" if prompt % 2 else "stories",
        guarantee="same-seed",
        reproducible=True,
        text="",
        **(counts | {"num_tokens": 101, "num_steps": 100}),
        accepted_per_pos=(),
        evaluated_per_pos=(),
        logprob=-1.0,
        same_tokens=True,
        right=None,
        prefill_s=(1.0,),
        decode_s=(100.0 * rng.uniform(0.99, 1.01),),
    )
    drafted = replace(
        plain,
        draft="d",
        gamma=len(chances),
        num_accepted_tokens=sum(accepted),
        num_evaluated_tokens=sum(evaluated[:-1]),
        num_draft_tokens=40 * len(chances),
        accepted_per_pos=tuple(accepted),
        evaluated_per_pos=tuple(evaluated[:-1]),
        decode_s=(50.0 * seconds * rng.uniform(0.99, 1.01),),
    )
    return [plain, drafted]


def measure(seed: int, chances: tuple[float, ...] = (0.7, 0.6), draft: str = "d", seconds: float = 1.0) -> list[Record]:
    rng = np.random.default_rng(seed)
    records = [record for prompt in range(16) for record in unit(prompt, rng, chances, seconds)]
    return [r if r.draft is None else replace(r, draft=draft) for r in records]


SAME = {"prompts": [1], "seed": 0}


def test_nothing_changed_is_found_in_nearly_every_pair_of_runs() -> None:
    for other in (SAME, SAME | {"prompts": [2]}):
        false = sum(
            any(c.verdict != "unchanged" for c in compare(measure(2 * i), measure(2 * i + 1), SAME, other).changes)
            for i in range(60)
        )
        assert false <= 6  # 3 are expected at most; 8 or more of 60 would be one in a hundred


def test_a_run_against_itself_differs_by_nothing() -> None:
    found = compare(measure(1), measure(1), SAME, SAME)
    assert {c.difference.value for c in found.changes} == {0.0}
    assert not found.fell
    assert "nothing changed" in found.sentence
    assert {c.what for c in found.changes} == {"α", "α at place 1", "α at place 2", "speedup"}
    assert {c.domain for c in found.changes} == {"", "code", "stories"}
    assert compare(measure(1), measure(1)[::-1], SAME, SAME).changes == found.changes  # paired by name, not by place


def test_of_other_prompts_what_fell_one_way_rose_the_other_by_as_much() -> None:
    one, other = measure(1, (0.9,)), measure(2, (0.97,))
    there = compare(one, other, SAME, SAME | {"prompts": [2]}).changes
    back = compare(other, one, SAME | {"prompts": [2]}, SAME).changes
    for change, same in zip(there, back, strict=True):
        value, low, high = change.difference
        assert (value, low, high) == pytest.approx(
            (-same.difference.value, -same.difference.high, -same.difference.low)
        )


def test_what_fell_is_named_by_place_and_domain() -> None:
    """66.7 % became 52.4 % after an update, at the second place only; and the other way round."""
    old, new = measure(1, (0.7, 0.667)), measure(2, (0.7, 0.4))
    found = compare(old, new, SAME, SAME | {"seed": 1})
    verdicts = {(c.domain, c.what): c.verdict for c in found.changes}
    assert verdicts["", "α at place 2"] == verdicts["code", "α at place 2"] == "fell"
    assert verdicts["", "α at place 1"] == verdicts["", "speedup"] == "unchanged"
    assert found.fell
    assert found.settings == ["seed"]
    assert to_dict(found)["verdict"] == "fell"
    back = compare(new, old, SAME, SAME)
    assert not back.fell
    assert "rose: α" in back.sentence


def test_what_few_texts_tested_is_no_change() -> None:
    """The last place was judged once in each of two texts, and went the other way."""
    old, new = ([replace(r, accepted_per_pos=(*r.accepted_per_pos, kept), evaluated_per_pos=(*r.evaluated_per_pos, 1))
                 if r.draft and r.prompt_id in ("3", "5") else r for r in measure(1)] for kept in (1, 0))  # fmt: skip
    place = next(c for c in compare(old, new, SAME, SAME).changes if c.what == "α at place 3" and not c.domain)
    assert (place.difference.value, place.difference.low, place.verdict) == (-1.0, None, "unchanged")


def test_acceptance_by_place_lies_within_its_bounds() -> None:
    """Also of few texts, and where all of it was accepted."""
    found = summarise([r for r in measure(1, (1.0, 0.98)) if int(r.prompt_id) < 3], by_domain=True)
    places = [figure for each in found if not each.variant.plain for figure in each.acceptance_by_position]
    assert len(places) > 3
    for figure in places:
        assert figure.low is None or (0.0 <= figure.low < figure.high <= 1.0)


def test_speed_is_judged_by_the_speedup_of_its_own_session() -> None:
    slow = [replace(r, decode_s=tuple(3 * s for s in r.decode_s)) for r in measure(1)]  # another machine: all slower
    assert not compare(measure(1), slow, SAME, SAME).fell
    found = compare(measure(1), measure(2, seconds=1.2), SAME, SAME)
    assert {c.what for c in found.changes if c.verdict == "fell"} == {"speedup"}
    untimed = [replace(r, decode_s=()) for r in measure(1)]
    assert "speedup" not in {c.what for c in compare(untimed, measure(2), SAME, SAME).changes}


def test_two_drafts_are_compared_where_each_report_has_one() -> None:
    assert compare(measure(1), measure(2, draft="other"), SAME, SAME).changes
    several = [*measure(1), *(r for r in measure(1, draft="more") if r.draft)]
    with pytest.raises(ReportError, match="no way to decode in common"):
        compare(several, measure(2, draft="other"), SAME, SAME)


def test_a_report_is_read_back_and_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    records = measure(1)
    whole = {"settings": SAME, "records": [asdict(record) for record in records]}
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert read_report(path) == (records, SAME)
    path.write_text("\ufeff" + json.dumps(whole), encoding="utf-8")
    assert read_report(path) == (records, SAME)
    broken = [{**whole["records"][1], "num_steps": -1}]  # type: ignore[index]
    for text in ("", "[]", "{}", '{"settings": {}, "records": []}', '{"settings": {}, "records": [{}]}',
                 json.dumps({"settings": {}, "records": broken}),
                 json.dumps(whole).replace("-1.0", "NaN", 1)):  # fmt: skip
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ReportError, match=r"measure --json") as raised:
            read_report(path)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", {"a": 1}),
        ("target", None),
        ("draft", 1),
        ("gamma", [3]),
        ("temperature", "hot"),
        ("temperature", True),
        ("prompt_id", 3),
        ("domain", ["code"]),
        ("reproducible", 1),
        ("right", "yes"),
        ("logprob", None),
        pytest.param("logprob", 10**400, id="logprob-huge"),
        ("num_steps", True),
        ("num_steps", 1.5),
        pytest.param("num_tokens", 10**400, id="num_tokens-huge"),
        ("accepted_per_pos", 3),
        ("evaluated_per_pos", "12"),
        ("evaluated_per_pos", [1, -1]),
        ("evaluated_per_pos", [1]),  # fewer than were accepted there
        ("num_evaluated_tokens", 0),
        ("decode_s", ["x"]),
        ("decode_s", 3.0),
        ("decode_s", [-1.0]),
        ("decode_s", [float("inf")]),
        ("step_s", {"a": 1}),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_when_the_report_is_read(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    broken = [asdict(record) for record in measure(1)]
    broken[1][name] = value
    path.write_text(json.dumps({"settings": SAME, "records": broken}).replace("Infinity", "1e999"), encoding="utf-8")
    with pytest.raises(ReportError, match=r"old\.json' is no report of measure \(.*\)\. Name a file") as raised:
        read_report(path)
    assert name in str(raised.value) or "accepted of" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_measurement_names_a_draft_of_no_use_once() -> None:
    def said(chance: float) -> list[str]:
        return [line for line in remarks(summarise(measure(1, (chance,)), by_domain=True)) if "of no use" in line]

    assert [line.split(":")[0] for line in said(0.02)] == ["d"]
    assert said(0.5) == []
