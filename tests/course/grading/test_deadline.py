"""Late days, to the second; whose time is known, and from where; what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from minispec.cli.classroom import classroom
from minispec.cli.grade import grade
from minispec.course.grading.build import build_assignment, student_files
from minispec.course.grading.deadline import Deadline
from minispec.course.grading.formats import FORMATS, render
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.report import Report
from minispec.course.grading.times import read_times
from minispec.errors import InputError

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

AT = datetime.fromisoformat("2027-03-05T23:59:00+01:00")
RULE = Deadline(AT, free_days=1, penalty_per_day=0.25, max_days=3)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def with_manifest(folder: Path, text: str) -> Assignment:
    """The example with something before its questions."""
    shutil.copytree(ASSIGNMENTS / "a0", folder / "a0")
    path = folder / "a0" / "assignment.toml"
    path.write_text(path.read_text().replace("[[questions]]", f"{text}\n[[questions]]", 1))
    return load_assignment("a0", folder)


@pytest.mark.parametrize(
    ("late", "days", "mark"),
    [
        (-30 * DAY, 0, 80),
        (timedelta(0), 0, 80),
        (SECOND, 1, 80),  # a day begins with its first second; the first is free
        (DAY, 1, 80),
        (DAY + SECOND, 2, 55),  # a quarter of the 100 points there are
        (2 * DAY + SECOND, 3, 30),
        (3 * DAY, 3, 30),
        (3 * DAY + SECOND, 4, 0),
    ],
)
def test_late_days_to_the_second(late: timedelta, days: int, mark: float) -> None:
    for zone in (AT, AT.astimezone(UTC)):  # the same moment, written otherwise
        found = RULE.judge(zone + late, score=80, max_score=100)
        assert (found.days, 80 - found.deduction) == (days, mark)


@given(st.integers(-(10**6), 10**7), st.floats(0, 100), st.integers(0, 4), st.floats(0, 1))
def test_lateness_never_gains_nor_takes_more_than_there_is(seconds: int, score: float, free: int, share: float) -> None:
    rule = Deadline(AT, free, share, None)
    cost = [
        rule.judge(AT + timedelta(seconds=seconds + more), score=score, max_score=100).deduction for more in (0, 5000)
    ]
    assert 0 <= cost[0] <= cost[1] <= score


def test_an_unknown_time_costs_nothing_and_is_told() -> None:
    found = RULE.judge(None, score=80, max_score=100)
    assert (found.days, found.deduction, found.handed_in) == (0, 0.0, "")
    assert found.words.startswith("when it was handed in is not known; due 2027-03-05 23:59:00+01:00; 1 day late")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("at = 2027-03-05T23:59:00", "[due] at is 2027-03-05 23:59:00; give a time with its offset"),
        ("at = 2027-03-05", "give a time with its offset"),
        ('at = "tomorrow"', "[due] at is tomorrow"),
        ("free_days = 1", "[due] at is None"),
        ("at = 2027-03-05T23:59:00Z\nfree_days = -1", "[due] free_days is -1; give a whole number"),
        ("at = 2027-03-05T23:59:00Z\nfree_days = true", "[due] free_days is True"),
        ("at = 2027-03-05T23:59:00Z\nmax_days = 1.5", "[due] max_days is 1.5"),
        ("at = 2027-03-05T23:59:00Z\npenalty_per_day = 10", "[due] penalty_per_day is 10; give a share"),
        ("at = 2027-03-05T23:59:00Z\npenalty_per_day = nan", "[due] penalty_per_day is nan"),
        ("at = 2027-03-05T23:59:00Z\npenalty_per_day = true", "[due] penalty_per_day is True"),
        ("at = 2027-03-05T23:59:00Z\nfree_days = 2\nmax_days = 1", "fewer than the 2 free_days"),
        ("at = 2027-03-05T23:59:00Z\nfree = 2", "[due] has free, which is no entry; there are at, free_days"),
    ],
)
def test_a_rule_that_is_none_is_refused(entry: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        with_manifest(tmp_path, f"[due]\n{entry}\n")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "assignment.toml" in str(refused.value)


def test_a_due_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        with_manifest(tmp_path, "due = 3\n")


FORMS = {
    "ours.csv": "submission,handed_in\nada_1_2_a0.py,2027-03-06T10:00:00+01:00\nbob,\n",
    "ours.json": json.dumps({"ada_1_2_a0": "2027-03-06T09:00:00Z"}),
    "canvas.json": json.dumps(
        [{"user_id": 1, "submitted_at": "2027-03-06T09:00:00Z"}, {"user_id": 3, "submitted_at": None}]
    ),
    "submission_metadata.json": json.dumps({"id": 9, "created_at": "2027-03-06T01:00:00.000000-08:00"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_times_are_read_as_platforms_write_them(form: str, tmp_path: Path) -> None:
    times = read_times(str(write(tmp_path / form, FORMS[form])))
    assert times(Path("room/ada_1_2_a0.py")) == datetime(2027, 3, 6, 9, tzinfo=UTC)
    assert times.find_strays([Path("room/ada_1_2_a0.py")]) == []
    assert (times.find_strays([Path("room/dan_4_4_a0.py")]) == []) == (form == "submission_metadata.json")
    others = [times(Path(name)) for name in ("bob", "cy_3_4_a0.py", "a0.py")]
    assert others == [None] * 3 or form == "submission_metadata.json"  # which lies beside one submission only


def test_the_time_of_one_submission_is_not_everybodys(tmp_path: Path) -> None:
    form = str(write(tmp_path / "submission_metadata.json", FORMS["submission_metadata.json"]))
    with pytest.raises(InputError, match=r"is of one submission, and there are 2; give"):
        read_times(form, [Path("a.py"), Path("b.py")])


def test_the_files_own_times_are_taken_where_they_are_asked_for(tmp_path: Path) -> None:
    """The latest of a folder's; a link that leads nowhere has a time of its own."""
    for name, when in (("a.py", 1000), ("b/c.py", 3000), ("b/d.py", 2000)):
        os.utime(write(tmp_path / name, ""), (when, when))
    times = read_times("mtime")
    assert [times(tmp_path / name) for name in ("a.py", "b")] == [
        datetime.fromtimestamp(when, UTC) for when in (1000, 3000)
    ]
    assert times(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "name,time\na,b\n", "no columns submission and handed_in"),
        ("t.csv", "submission,handed_in\na0.py,2027-03-06 10:00\n", "'2027-03-06 10:00', no time with an offset"),
        ("t.csv", "submission,handed_in\na0.py,Friday\n", "'Friday', no time"),
        ("t.csv", f"submission,handed_in\n{'x' * 200_000},\n", "is no CSV: field larger than field limit"),
        ("t.csv", f"handed_in,submission\n{AT.isoformat()}\n", f"{AT.isoformat()}' without a submission; name whose"),
        ("t.csv", f"submission,handed_in\n,{AT.isoformat()}\n", f"{AT.isoformat()}' without a submission; name whose"),
        ("t.json", "{", "is no JSON"),
        pytest.param("t.json", "[" * 200_000, "is no JSON: maximum recursion depth", id="deep"),
        ("t.json", json.dumps([{"user_id": None, "submitted_at": AT.isoformat()}]), "none of the forms"),
        ("t.json", "[1]", "none of the forms"),
        ("t.json", '{"a0": 3}', "has 3, no time"),
        ("t.csv", None, "cannot be read"),
    ],
)
def test_times_that_are_none_are_refused(name: str, text: str | None, says: str, tmp_path: Path) -> None:
    if text is not None:
        write(tmp_path / name, text)
    with pytest.raises(InputError) as refused:
        read_times(str(tmp_path / name))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


FIRST, SECOND_TIME = "2027-03-05T10:00:00+01:00", "2027-03-08T10:00:00+01:00"
TWICE = {
    "same.csv": f"submission,handed_in\nann,{FIRST}\nbob,{FIRST}\nann,{SECOND_TIME}\n",
    "both.csv": f"submission,handed_in\nann,{FIRST}\nann.py,{SECOND_TIME}\n",
    "same.json": f'{{"ann": "{FIRST}", "ann": "{SECOND_TIME}"}}',
    "both.json": f'{{"ann": "{FIRST}", "ann.py": "{SECOND_TIME}"}}',
    "canvas.json": json.dumps([{"user_id": 1, "submitted_at": time} for time in (FIRST, SECOND_TIME)]),
}


@pytest.mark.parametrize("form", TWICE)
def test_two_times_for_one_submission_are_refused(form: str, tmp_path: Path) -> None:
    """By the command, before it grades; where they are the same, or of two submissions, nothing is wrong."""
    with_manifest(tmp_path, DUE)
    path = write(tmp_path / "room" / "ann.py", example().solution)
    told = ["-a", "a0", "--assignments", str(tmp_path), "--times"]
    for command in ([grade, str(path)], [classroom, str(path.parent), "-o", str(tmp_path / "out")]):
        refused = CliRunner().invoke(command[0], [*command[1:], *told, str(write(tmp_path / form, TWICE[form]))])
        assert isinstance(refused.exception, InputError)
        two = (
            r"two times for '(ann|ann.py|1)', '2027-03-0[58].10:.*' and '2027-03-0[58].10:.*'; keep the one that counts"
        )
        assert re.fullmatch(rf"--times \S+ has {two}", str(refused.exception))
    assert not (tmp_path / "out").exists()
    once = str(write(tmp_path / form, TWICE[form].replace(SECOND_TIME, FIRST)))
    assert read_times(once, [path]).told["1" if form == "canvas.json" else "ann"] == datetime.fromisoformat(FIRST)
    if form.startswith("both"):
        both = read_times(str(write(tmp_path / form, TWICE[form])), [Path("ann"), Path("ann.py")])
        assert [both(Path(name)) for name in ("ann", "ann.py")] == [*map(datetime.fromisoformat, (FIRST, SECOND_TIME))]


DUE = "[due]\nat = 2027-03-05T23:59:00+01:00\npenalty_per_day = 0.5\n"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A right submission, a day late, graded by the command with Gradescope's file."""
    home = tmp_path_factory.mktemp("late")
    with_manifest(home, DUE)
    paths = [write(home / "a0.py", example().solution), write(home / "m.json", FORMS["submission_metadata.json"])]
    options = ["-a", "a0", "--assignments", home, "--times", paths[1], "--format", "json"]
    done = CliRunner().invoke(grade, [str(paths[0]), *map(str, options)])
    assert done.exit_code == 0, done.exception
    return Report.from_dict(json.loads(done.stdout))


def test_a_report_says_what_lateness_cost(late: Report) -> None:
    assert (late.score, late.mark) == (10, 5)
    for form in set(FORMATS) - {"junit"}:  # which has cases, and no marks
        told = render([late], form)
        assert "2027-03-06T01:00:00-08:00" in told or "1 day late, minus 5" in told, form
    assert json.loads(render([late], "gradescope"))["score"] == 5
    assert "mark 5 of 10" in render([late], "terminal")


def test_without_a_due_date_nothing_is_said(late: Report) -> None:
    plain = Report.from_dict({**late.to_dict(), "late": None})
    assert "late" not in render([plain], "terminal") + render([plain], "markdown")
    assert "score" not in json.loads(render([plain], "gradescope"))


def test_times_for_what_is_never_due_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a0.py", with_accept("return True"))
    told = [str(path), "-a", "a0", "--assignments", str(ASSIGNMENTS), "--times", "mtime"]
    refused = CliRunner().invoke(grade, told).exception
    assert isinstance(refused, InputError)
    assert "a0 is never due" in str(refused)


def test_students_are_told_and_gradescope_is_asked(tmp_path: Path) -> None:
    import zipfile

    assignment = with_manifest(tmp_path, DUE)
    assert "It is due 2027-03-05 23:59:00+01:00; each late day costs 50% of the points." in str(
        student_files(assignment)["README.md"]
    )
    for one, asked in ((assignment, True), (example(), False)):
        (path,) = build_assignment(one, tmp_path / str(asked), ["gradescope"], SECRET)
        script = zipfile.ZipFile(path).read("run_autograder").decode()
        assert ('--times "$root/submission_metadata.json"' in script) == asked
        assert ("due" in str(student_files(one)["README.md"])) == asked


@pytest.mark.parametrize("shown", ["visible", "hidden", "after_due_date", "after_published"])
def test_hidden_checks_are_shown_when_the_manifest_says(shown: str, tmp_path: Path) -> None:
    with_manifest(tmp_path, f'hidden_checks = "{shown}"\n')
    path = write(tmp_path / "a0.py", example().solution)
    options = ["-a", "a0", "--assignments", str(tmp_path), "--format", "gradescope"]
    tests = json.loads(CliRunner().invoke(grade, [str(path), *options]).stdout)["tests"]
    assert [test["visibility"] for test in tests] == ["visible", shown, "visible"]


def test_a_word_that_gradescope_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hidden_checks is one of visible, hidden, after_due_date, after_published"):
        with_manifest(tmp_path, 'hidden_checks = "later"\n')
