"""A class, graded by the command as an instructor runs it: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minispec.cli.main import cli
from minispec.course.grading.classroom import Job, grade_all, read_reports
from minispec.course.grading.cohort.gradebook import to_canvas, to_moodle
from minispec.course.grading.cohort.overview import count_marks, count_mistakes, count_unnamed, describe_class
from minispec.course.grading.cohort.regrade import find_changes
from minispec.course.grading.deadline import Lateness
from minispec.course.grading.formats import render
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.report import Report
from minispec.errors import InputError

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

INVERTED = with_accept("return bool(u * p[token] < q[token])")
DUE = "[due]\nat = 2027-03-05T23:59:00+01:00\nfree_days = 1\npenalty_per_day = 0.1\nmax_days = 5\n"
CLASS = {
    "ada_LATE_1_11_a0.py": example().solution,
    "bob_2_12_a0.py": INVERTED,
    "cy_3_13_a0.py": f"import math\n{INVERTED}",
    "dan_4_14_a0.py": "def accept(:\n",
    "Eve Li_55_assignsubmission_file_/a0.py": with_accept("return u / 0"),
}


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["grade-class", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an assignment that is due, a class, and what grading it printed and wrote."""
    home = tmp_path_factory.mktemp("class")
    shutil.copytree(ASSIGNMENTS, home / "assignments")
    manifest = home / "assignments" / "a0" / "assignment.toml"
    manifest.write_text(manifest.read_text().replace("[[questions]]", f"{DUE}\n[[questions]]", 1))
    (home / "assignments" / "a0" / "secret").write_bytes(SECRET)
    for name, text in CLASS.items():
        write(home / "room" / name, text)
    (home / "room" / "junk.zip").write_bytes(b"PK\x03\x04 no zip")
    times = "submission,handed_in\nada_LATE_1_11_a0,2027-03-08T10:00:00+01:00\nbob_2_12_a0.py,2027-03-05T22:58:00Z\n"
    times += "dan,2027-03-05T22:58:00Z\n"
    write(home / "times.csv", times)
    options = ("--assignments", home / "assignments", "--times", home / "times.csv", "-o", home / "marks")
    done = call(home / "room", "-a", "a0", *options)
    assert done.exit_code == 0, done.exception
    write(home / "printed.txt", done.stdout)
    return home


@pytest.fixture(scope="module")
def marks(folder: Path) -> dict[str, dict[str, str]]:
    text = (folder / "marks" / "marks.csv").read_text()
    return {row["submission"]: row for row in csv.DictReader(io.StringIO(text))}


@pytest.fixture(scope="module")
def reports(folder: Path) -> list[Report]:
    return read_reports(folder / "marks" / "reports")


def test_what_cannot_be_graded_is_named_and_the_others_are_graded(
    folder: Path, marks: dict[str, dict[str, str]]
) -> None:
    printed = (folder / "printed.txt").read_text()
    assert "! junk.zip: nothing could be graded: 'junk.zip' is no Python file" in printed
    assert "! dan_4_14_a0.py: nothing could be graded: a0.py cannot be loaded: SyntaxError" in printed
    assert printed.count("!") == 2
    assert {name.split("_")[0]: row["score"] for name, row in marks.items()} == {
        "ada": "10", "bob": "4", "cy": "4", "dan": "0", "Eve Li": "4", "junk.zip": "0",
    }  # fmt: skip


def test_the_histogram_counts_marks_after_lateness(folder: Path, reports: list[Report]) -> None:
    assert count_marks(reports) == [2, 0, 0, 0, 3, 0, 0, 0, 0, 1]  # before it is known who was late
    rows = [line.split() for line in (folder / "printed.txt").read_text().splitlines() if "–" in line]
    assert [int(row[3]) for row in rows] == [2, 0, 0, 0, 3, 0, 0, 0, 1, 0]
    assert [len(row[4]) if len(row) > 4 else 0 for row in rows] == [27, 0, 0, 0, 40, 0, 0, 0, 13, 0]


def test_mistakes_are_counted_once_per_submission_with_whose_they_are(reports: list[Report]) -> None:
    inverted, raised = count_mistakes(reports)
    assert (raised.name, raised.who) == ("raises_ZeroDivisionError", ["Eve Li_55_assignsubmission_file_"])
    assert (inverted.name, inverted.who) == ("inverted", ["bob_2_12_a0.py", "cy_3_13_a0.py"])
    assert inverted.what.startswith("Your ratio is upside down")
    assert count_unnamed(reports) == []  # what is broken, and what raised an exception, gave no wrong result


def test_late_days_cost_what_the_rule_says(folder: Path, marks: dict[str, dict[str, str]]) -> None:
    ada, bob, cy = (marks[name] for name in list(CLASS)[:3])
    assert (ada["late_days"], ada["deduction"], ada["mark"]) == ("3", "2", "8")
    assert (bob["late_days"], bob["deduction"], bob["mark"]) == ("0", "0", "4")
    assert (cy["handed_in"], cy["mark"]) == ("", "4")  # nobody said when
    printed = (folder / "printed.txt").read_text()
    assert "ada_LATE_1_11_a0.py: handed in 2027-03-08 10:00:00+01:00: 3 days late, minus 2" in printed
    assert "bob_2_12_a0.py: handed in" not in printed
    told = printed.partition("not in time\n")[2].partition("\n\ntime per")[0]
    late, unknown, strays = (part.splitlines() for part in told.split("\n\n"))
    assert len(late) == 1
    assert unknown[0] == "time unknown (nothing deducted)"
    assert [line.split()[0] for line in unknown[1:]] == ["Eve", "cy_3_13_a0.py", "dan_4_14_a0.py", "junk.zip"]
    assert strays == ["times of no submission here", "       dan"]


ZEROS = {
    "begun.py": (example().starter.replace("def accept", "def my_accept"), "the function accept is missing; not begun"),
    "empty.py": ("", "2 functions are missing"),
    "ended.py": ("import os\nos._exit(0)\n", "at import: ended itself with code 0"),
    "looped.py": ("while True:\n    pass\n", "at import: used more than 1 s of processor time"),
    "renamed.py": (example().solution.replace("def ", "def my_"), "2 functions are missing"),
    "starter.py": (example().starter, "not begun"),
    "wrong.py": (with_accept("return 7") + "\ndef draw_two(target, noise):\n    1 / 0\n", None),
}


def test_a_zero_has_its_reason_and_only_wrong_results_count_as_unnamed(tmp_path: Path) -> None:
    for name, (text, _) in ZEROS.items():
        write(tmp_path / "room" / name, text)
    done = call(tmp_path / "room", "-a", "a0", "--assignments", ASSIGNMENTS, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.exception
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "marks.csv").read_text())))
    assert {row["score"] for row in rows} == {"0"}
    notes = {row["submission"]: row["notes"] for row in rows}
    wrong = notes.pop("wrong.py")
    assert wrong == "no points: 2 of 3 checks gave a wrong result; 1 of 3 checks ended without a result"
    (report,) = [one for one in read_reports(tmp_path / "out" / "reports") if one.submission == "wrong.py"]
    assert "no points" not in render([report], "gradescope")  # it counts hidden checks
    assert notes == {name: f"nothing could be graded: {why}" for name, (_, why) in ZEROS.items() if why}
    for name, told in notes.items():
        assert f"  ! {name}: {told}\n" in done.stdout
    unnamed = done.stdout.partition("failed without a name\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[:2] for line in unnamed] == [
        ["1", "a0.q1.accept:"], ["wrong.py"], ["1", "a0.q1.secret:"], ["wrong.py"],
    ]  # fmt: skip


def test_gradebooks_hold_whom_their_platform_knows(folder: Path) -> None:
    moodle = list(csv.DictReader(io.StringIO((folder / "marks" / "moodle.csv").read_text())))
    (eve,) = moodle
    assert (eve["Identifier"], eve["Full name"], eve["Grade"]) == ("Participant 55", "Eve Li", "4")
    assert (eve["Maximum Grade"], eve["Last modified (grade)"]) == ("10", "-")
    assert "accepts with probability min(1, p/q): ZeroDivisionError: you divide by 0" in eve["Feedback comments"]
    assert ".." not in eve["Feedback comments"]
    canvas = list(csv.reader(io.StringIO((folder / "marks" / "canvas.csv").read_text())))
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A small example"]
    assert canvas[1] == ["Points Possible", "", "", "", "", "10"]
    assert [(row[1], row[5]) for row in canvas[2:]] == [("1", "8"), ("2", "4"), ("3", "4"), ("4", "0")]


def test_gradebooks_hold_the_mark_and_what_lateness_cost(reports: list[Report]) -> None:
    (eve,) = [Report.from_dict(one.to_dict()) for one in reports if one.submission.startswith("Eve")]
    ada = Report.from_dict({**eve.to_dict(), "submission": "ada_1_11_a0.py"})
    for report in (eve, ada):
        report.late = Lateness("2027-03-08T10:00:00+01:00", 3, 1.5, "3 days late, minus 1.5")
    moodle, canvas = (list(csv.reader(io.StringIO(write([eve, ada]) or ""))) for write in (to_moodle, to_canvas))
    assert moodle[1][2] == canvas[2][5] == "2.5"
    assert moodle[1][5].endswith("3 days late, minus 1.5.")


def test_a_report_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    for content in ("", "[]", '{"report": []}', '{"report": {"late": null}}', "[" * 200_000):
        write(tmp_path / "odd.json", content)
        with pytest.raises(InputError, match=r"odd\.json is no report of minispec grade-class"):
            read_reports(tmp_path)


CHECK = ("questions", 0, "checks", 0)
LATE = {"handed_in": "", "days": 1, "deduction": 1.5, "words": "late"}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("submission",), ["x"]),
        (("seconds",), "x"),
        (("notes",), "x"),
        (("notes",), [1]),
        (("isolation",), []),
        (("isolation",), {"user": "yes"}),
        (("leaderboard",), {"a": "x"}),
        (("late",), LATE | {"deduction": "x"}),
        (("late",), LATE | {"words": None}),
        (("questions", 0, "id"), ["q"]),
        (("questions", 0, "with_ours"), "x"),
        ((*CHECK, "id"), {"a": 1}),
        ((*CHECK, "points"), "x"),
        ((*CHECK, "points"), True),
        pytest.param((*CHECK, "max_points"), 10**400, id="huge"),
        ((*CHECK, "status"), "perhaps"),
        ((*CHECK, "cause"), ["wrong"]),
        ((*CHECK, "message"), 5),
    ],
)
def test_an_earlier_report_with_a_value_of_another_kind_is_refused_before_anything_is_graded(
    place: tuple[str | int, ...], value: object, folder: Path, reports: list[Report], tmp_path: Path
) -> None:
    told = json.loads(json.dumps(reports[0].to_dict() | {"late": LATE}))
    path = write(tmp_path / "old" / "reports" / "odd.json", json.dumps({"report": told}))
    assert read_reports(path.parent)[0].submission == reports[0].submission
    part = told
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    write(path, json.dumps({"report": told}))
    options = ("-a", "a0", "--assignments", ASSIGNMENTS, "-o", tmp_path / "out", "--against", tmp_path / "old")
    refused = call(folder / "room", *options).exception
    assert isinstance(refused, InputError)
    says = rf"\S+odd\.json is no report of minispec grade-class \(ValueError: {place[-1]} .*\)\. Move it away"
    assert re.fullmatch(says if place[0] != "late" else says.replace("late", r"\w+"), str(refused))
    assert not (tmp_path / "out").exists()


def test_a_folder_that_no_platform_named_makes_no_gradebook(reports: list[Report]) -> None:
    plain = [Report.from_dict({**report.to_dict(), "submission": "a0.py"}) for report in reports]
    assert to_moodle(plain) is to_canvas(plain) is None


def test_a_second_run_grades_nothing_again_and_tells_what_changed(folder: Path, tmp_path: Path) -> None:
    room, out = tmp_path / "room", tmp_path / "out"
    shutil.copytree(folder / "room", room)
    options = ("-a", "a0", "--assignments", folder / "assignments", "--times", "mtime")
    assert call(room, *options, "-o", out).exit_code == 0
    before = {path: path.stat().st_mtime_ns for path in (out / "reports").iterdir()}
    shutil.copytree(out, tmp_path / "first")
    assert "changed since" in (done := call(room, *options, "-o", out, "--against", tmp_path / "first")).stdout
    assert f"changed since {tmp_path / 'first'}: 0\n" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in (out / "reports").iterdir()} == before
    write(room / "bob_2_12_a0.py", example().solution)
    (room / "junk.zip").unlink()
    told = call(room, *options, "-o", out, "--against", tmp_path / "first").stdout
    assert f"changed since {tmp_path / 'first'}: 2\n" in told
    assert "bob_2_12_a0.py: 4 → 10\n         a0.q1.accept: 0 of 4 → 4 of 4\n" in told
    assert "junk.zip: 0 → –\n" in told


def test_a_regrade_says_why_points_were_lost(reports: list[Report]) -> None:
    better = [Report.from_dict(json.loads(json.dumps(report.to_dict()))) for report in reports]
    for report in better:
        for check in report.checks:
            check.points, check.status = check.max_points, "passed"
    changes = find_changes(better, reports)
    assert [one.submission for one in changes] == [one.submission for one in reports if one.score < 10]
    assert "(Your ratio is upside down" in str(next(one for one in changes if one.submission.startswith("bob")))
    assert find_changes(reports, reports) == []


def test_one_submission_alone_has_an_overview(reports: list[Report]) -> None:
    assert "mean 10, median 10, quartiles 10 and 10, of 10" in describe_class(
        [report for report in reports if report.submission.startswith("ada")]
    )


def test_whoever_could_not_be_graded_in_full_is_told(reports: list[Report]) -> None:
    (ada,) = [Report.from_dict(one.to_dict()) for one in reports if one.submission.startswith("ada")]
    ada.checks[2].status = "not run"
    told = "1 of 3 checks were not run: the others took all the time"
    assert ada.remarks == [told]
    assert f"  ! {ada.submission}: {told}\n" in describe_class([ada])
    ada.checks[2].cause, ada.notes = "clock", ["a note"]
    told = "1 of 3 checks were ended by the clock: grade this again"
    assert ada.remarks == [told, "a note"]
    assert f"  ! {ada.submission}: {told}\n" in describe_class([ada])
    assert render([ada], "terminal").splitlines()[1] == f"  ! {told}"
    assert next(csv.DictReader(io.StringIO(render([ada], "csv"))))["notes"] == f"{told}; a note"


CLONES = """
for name in ada bob; do
    git init --quiet "a0-submissions/$name" && cp a0.py "a0-submissions/$name"
    git -C "a0-submissions/$name" add a0.py
    git -C "a0-submissions/$name" -c user.name=x -c user.email=x@example.com commit --quiet --message done
done
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_guides_recipe_for_clones_runs_as_written(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "run-a-term.md").read_text(encoding="utf-8")
    section = guide.partition("Grade clones")[2].partition("## Reading a report")[0]
    plain, dated = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "out" / "a0" / "grader" / "a0")
    write(tmp_path / "a0.py", example().solution)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(script: str) -> None:
        subprocess.run(["bash", "-euc", script], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)

    run(CLONES)
    run(plain.replace("a2", "a0").partition("\n")[2])  # the first line clones
    rows = list(csv.DictReader(io.StringIO((tmp_path / "marks" / "marks.csv").read_text())))
    assert [(row["submission"], row["score"]) for row in rows] == [("ada", "10"), ("bob", "10")]
    manifest = tmp_path / "out" / "a0" / "grader" / "a0" / "assignment.toml"
    manifest.write_text(manifest.read_text().replace("[[questions]]", f"{DUE}\n[[questions]]", 1))
    run(dated.replace("a2", "a0"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "marks" / "marks.csv").read_text())))
    assert all(row["handed_in"] for row in rows)


def test_a_file_that_cannot_be_read_costs_nobody_else_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root every file can be read, so opening is made to fail; a link to nowhere fails by itself."""
    paths = [write(tmp_path / "room" / f"{name}.py", example().solution) for name in ("good", "shut")]
    (tmp_path / "room" / "gone.py").symlink_to(tmp_path / "nowhere")
    whole = open

    def refuse(file: object, *rest: object, **more: object) -> object:
        if str(file).endswith("shut.py"):
            raise PermissionError(13, "Permission denied")
        return whole(file, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("minispec.course.grading.classroom.open", refuse, raising=False)
    job = Job("a0", ASSIGNMENTS, SECRET, LAYERS)
    graded = grade_all(job, [*paths, tmp_path / "room" / "gone.py"], jobs=2, results=tmp_path / "out")
    assert [report.score for report in graded] == [10, 10, 0]  # judges are other processes, which could open it
    assert "gone.py" in graded[2].obstacle


@pytest.mark.skipif(os.geteuid() != 0, reason="links into the folder of another")
def test_what_is_written_goes_through_no_link(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "room" / "a0.py", example().starter)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "marks.csv").symlink_to(write(tmp_path / "mine", "precious"))
    (tmp_path / "out" / ".marks.csv.partial").symlink_to(tmp_path / "mine")
    call(tmp_path / "room", "-a", "a0", "--assignments", ASSIGNMENTS, "-o", tmp_path / "out")
    assert (tmp_path / "mine").read_text() == "precious"
    assert (tmp_path / "out" / "marks.csv").read_text().startswith("submission,")


def test_a_class_graded_with_the_public_secret_is_told(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "room" / "a0.py", example().starter)
    options = ("-a", "a0", "-o", tmp_path / "out", "--assignments")
    assert "secret that is public" in call(tmp_path / "room", *options, ASSIGNMENTS).stderr
    said = call(tmp_path / "room", *options, folder / "assignments").stderr
    assert "secret" not in said
    assert "nobody counts as late without --times" in said
    key = write(tmp_path / "key", "a secret of ours")
    assert "secret" not in call(tmp_path / "room", *options, ASSIGNMENTS, "--secret-file", key).stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda home: {"folder": home / "none"}, "is no folder"),
        (lambda home: {"folder": home / ("x" * 300)}, "cannot be read: File name too long"),
        (lambda home: {"-o": home / "room"}, "room' is both FOLDER and --output"),
        (lambda home: {"-o": home / "room" / "bob_2_12_a0.py"}, "--output and lies in '"),
        (lambda home: {"-o": home / "room" / "marks"}, "which is FOLDER"),  # it would be one the next time
        (lambda home: {"-o": home / "assignments" / "a0"}, "which is --assignment and would be changed"),
        (lambda home: {"--times": home / "moodle.csv", "-o": home}, "is both --times and moodle.csv of --output"),
        (lambda home: {"--secret-file": home / "canvas.csv", "-o": home}, "--secret-file and canvas.csv of --output"),
        (lambda home: {"--against": home}, "holds no reports"),
        (lambda home: {"--against": home / ("x" * 300)}, "cannot be read: File name too long"),
        (lambda home: {"--times": home / "none.csv"}, "cannot be read"),
        (lambda home: {"--assignments": ASSIGNMENTS}, "a0 is never due"),
        (lambda home: {"--assignments": home / ("x" * 300)}, "cannot be read: File name too long"),
        (lambda home: {"-a": "x" * 300}, "cannot be read: File name too long"),
    ],
)
def test_bad_input_is_refused_before_anything_is_graded(
    change: Callable[[Path], dict[str, Path]], says: str, folder: Path, tmp_path: Path
) -> None:
    usual = {"folder": folder / "room", "-a": "a0", "-o": tmp_path / "out"}
    told = usual | {"--assignments": folder / "assignments", "--times": folder / "times.csv"} | change(folder)
    where = told.pop("folder")
    refused = call(where, *(part for pair in told.items() for part in pair)).exception
    assert isinstance(refused, InputError)
    assert says in str(refused)
    assert "\n" not in str(refused)
    assert not (tmp_path / "out").exists()
    assert not (folder / "room" / "marks").exists()
