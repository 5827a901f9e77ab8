"""What a report says: mistakes by name, the same twice, in every form; classes go on where they stopped."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minispec.course.grading import classroom
from minispec.course.grading.classroom import Job, grade_all, patience_s, submissions_in
from minispec.course.grading.formats import FORMATS, render
from minispec.course.grading.grade import Grader
from minispec.course.grading.jail import LAYERS
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.report import CheckResult, QuestionResult, Report
from minispec.course.grading.subject import StudentError, Subject
from minispec.course.grading.verify import check_assignment
from minispec.errors import InputError

from .example import ASSIGNMENTS, SECRET, example, with_accept, write

INVERTED = with_accept("return bool(u < q[token] / max(p[token], 1e-9))")  # not written as in the catalogue
JOB = Job("a0", ASSIGNMENTS, SECRET, LAYERS)


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(example(), SECRET)


@pytest.fixture(scope="module")
def reports(grader: Grader, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    folder = tmp_path_factory.mktemp("submissions")
    sources = {
        "starter": example().starter,
        "inverted": INVERTED,
        "raises": with_accept("raise ValueError(f'secret {u}')"),
        "broken": "def accept(:\n",
    }
    return {name: grader.grade(write(folder / f"{name}.py", source)) for name, source in sources.items()}


def test_the_mistake_is_named_with_the_smallest_example(reports: dict[str, Report]) -> None:
    public, hidden, other = reports["inverted"].checks
    assert public.mistake == hidden.mistake == "inverted"
    assert public.explanation.startswith("Your ratio is upside down")
    assert public.example == "Smallest failing example: p = [0.25, 0.75], q = [0.5, 0.5], token = 0, u = 0.9"
    assert public.message == "the result is True, expected False"
    assert hidden.message == "the result is not right"  # neither case nor answer of a hidden check
    assert not hidden.example
    assert other.status == "passed"


def test_a_starter_gains_nothing_and_is_told_kindly(reports: dict[str, Report]) -> None:
    assert reports["starter"].score == 0
    assert {check.message for check in reports["starter"].checks} == {"not implemented yet"}


def test_an_exception_is_told_with_its_line_and_of_hidden_cases_without_its_text(reports: dict[str, Report]) -> None:
    public, hidden, _ = reports["raises"].checks
    assert public.message.startswith("raised ValueError: secret 0")
    assert hidden.message == "raised an exception"  # a type or a line could tell the inputs as well


def test_a_submission_that_cannot_be_loaded_is_told_once_at_the_top(reports: dict[str, Report]) -> None:
    told = "nothing could be graded: a0.py cannot be loaded: SyntaxError: invalid syntax (a0.py:1)"
    assert reports["broken"].notes == [told]
    assert {check.text for check in reports["broken"].checks} == {"not run: see the top"}


@pytest.mark.parametrize("end", ["os._exit(3)", "time.sleep(1000)"])
def test_a_check_that_ends_the_worker_after_a_wrong_case_spoils_no_other(
    end: str, grader: Grader, tmp_path: Path
) -> None:
    source = "import os, time\n" + with_accept(
        f"if list(p) == [0.5, 0.5] and token == 0 and u < 0.6:\n"
        f"        if u == 0.0:\n            return False\n"
        f"        {end}\n"
        f"    return bool(u * q[token] < p[token])"
    )
    accept, secret, law = grader.grade(write(tmp_path / "a0.py", source)).checks
    assert accept.status == "failed"
    assert (secret.status, law.status) == ("passed", "passed")


def test_a_loop_without_end_costs_its_own_question_only(tmp_path: Path) -> None:
    """Though each of the question's three checks takes all its time, and another question calls the same function."""
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    manifest, checks = tmp_path / "a0" / "assignment.toml", tmp_path / "a0" / "checks.py"
    one = '[[questions.checks]]\nid = "a0.q1.secret"'
    more = one.replace("secret", "more") + '\ntitle = "more"\npoints = 1\nvisibility = "public"\n\n'
    manifest.write_text(manifest.read_text().replace(one, more + one).replace("points = 10", "points = 11"))
    added = 'CHECKS.append(Check("a0.q1.more", observe_accept, CHECKS[0].cases, hidden=drawn))'
    checks.write_text(checks.read_text().replace("# BEGIN HIDDEN", f"{added}\n\n# BEGIN HIDDEN"))
    source = with_accept("while True:\n        pass")
    report = Grader(load_assignment("a0", tmp_path), SECRET).grade(write(tmp_path / "a0.py", source))
    *loops, law = report.checks
    assert law.status == "passed"
    assert {check.cause for check in loops} == {"no result"}
    assert report.questions[1].with_ours == ["accept"]


@pytest.mark.slow
def test_who_loops_everywhere_is_stopped_and_told(tmp_path: Path) -> None:
    loops = "".join(f"\ndef {name}(*_):\n    while True:\n        pass\n" for name in ("accept", "residual", "sample"))
    assignment = load_assignment("a2")
    (report,) = grade_all(
        Job("a2", None, SECRET, LAYERS), [write(tmp_path / "a2.py", f"{assignment.solution}\n{loops}")], jobs=1
    )
    assert report.remarks == [
        "no points: 6 of 15 checks ended without a result",
        "9 of 15 checks were not run: the others took all the time",
    ]


def test_a_function_that_is_missing_is_named_of_hidden_cases_too(grader: Grader, tmp_path: Path) -> None:
    report = grader.grade(write(tmp_path / "a0.py", f"{example().solution}\n\ndel accept\n"))
    assert [check.message for check in report.checks[:2]] == ["the function accept is missing"] * 2


def test_a_worker_cannot_name_what_is_missing() -> None:
    """Of hidden cases too the name is told, so one that was not asked for could tell the inputs."""
    subject = Subject(lambda *_: {"is": "error", "kind": "missing", "message": "the_input_was_3"})
    with pytest.raises(StudentError) as caught:
        subject.accept(3)
    assert caught.value.kind == "protocol"


def test_equal_submissions_have_equal_reports(grader: Grader, reports: dict[str, Report], tmp_path: Path) -> None:
    for name, source in (("inverted", INVERTED), ("raises", with_accept("raise ValueError(f'secret {u}')"))):
        again = Grader(example(), SECRET).grade(write(tmp_path / f"{name}.py", source))
        assert json.dumps(again.to_dict(times=False)) == json.dumps(reports[name].to_dict(times=False))


def test_the_secret_decides_the_hidden_cases(tmp_path: Path) -> None:
    """A submission that knows one hidden draw by heart does not pass another."""
    path = write(tmp_path / "a0.py", example().solution)
    draws = []
    for secret in (b"one", b"two", b"one"):
        grader = Grader(example(), secret)
        check = example().checks["a0.q1.secret"]
        seen: list[float] = []
        object.__setattr__(grader.assignment.checks["a0.q1.secret"], "hidden", recording(check.hidden, seen))
        assert grader.grade(path).score == 10
        draws.append(seen)
    assert draws[0] == draws[2] != draws[1]


TELLING = {
    "raises": "raise ValueError(text)",
    "returns": "return text",
    "raises what is called so": "raise type(text.replace('[', '').replace(']', ''), (Exception,), {})",
    "keeps it for a case that is told": "KEPT.append(text)",
    "ends": "print(text, flush=True) or __import__('os')._exit(len(text) % 200)",
}


FOUND_OUT = ("raises", "returns", "keeps it for a case that is told")
"""The control: what these say of cases that may be told is in the report."""


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way in FOUND_OUT[::2] else pytest.mark.slow) for way in TELLING]
)
def test_a_case_that_nobody_may_see_cannot_be_told(way: str, tmp_path: Path) -> None:
    """As A5's cases on unseen texts, of a check whose other cases are public."""
    body = (
        f"if len(p) == 3:\n        text = 'smuggled' + str(p.tolist())\n        {TELLING[way]}\n"
        "    if KEPT:\n        raise ValueError(KEPT[0])\n    return len(p) == 2 and bool(u * q[token] < p[token])"
    )
    path = write(tmp_path / "a0.py", f"{with_accept(body)}\n\nKEPT = []\n")
    told = {}
    for secret in (True, False):
        grader = Grader(example(), SECRET)
        object.__setattr__(grader.assignment.checks["a0.q1.accept"], "secret", secret)
        report = grader.grade(path)
        assert report.checks[0].status == "failed"
        told[secret] = "".join(render([report], form) for form in FORMATS)
    assert "smuggled" not in told[True]
    assert ("smuggled" in told[False]) == (way in FOUND_OUT)


def recording(hidden, seen: list[float]):
    def recorded(rng):
        cases = hidden(rng)
        seen.extend(case["u"] for case in cases)
        return cases

    return recorded


def test_every_form_can_be_read_and_says_the_same(reports: dict[str, Report]) -> None:
    report = reports["inverted"]
    assert json.loads(render([report], "json"))["score"] == 4
    scope = json.loads(render([report], "gradescope"))
    assert sum(test["score"] for test in scope["tests"]) == 4
    assert sum(test["max_score"] for test in scope["tests"]) == 10
    assert {test["status"] for test in scope["tests"]} <= {"passed", "failed"}
    assert {test["visibility"] for test in scope["tests"]} | {scope["visibility"]} <= {"hidden", "visible"}
    suite = ElementTree.fromstring(render([report], "junit"))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    (row,) = csv.DictReader(io.StringIO(render([report], "csv")))
    assert (row["score"], row["a0.q2.law"], row["mistakes"]) == ("4", "4", "inverted")
    assert "**4 of 10 points.**" in render([report], "markdown")
    assert "score 4 of 10" in render([report], "terminal")
    for form in FORMATS:
        assert "upside down" in render([report], form) or form == "csv"


def test_a_name_of_a_file_is_no_formula(reports: dict[str, Report]) -> None:
    report = Report.from_dict({**reports["broken"].to_dict(), "submission": "=1+1.py"})
    assert render([report], "csv").splitlines()[1].startswith("'=1+1.py,")


def test_reports_survive_being_written(reports: dict[str, Report]) -> None:
    for report in reports.values():
        assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_the_leaderboard_shows_the_check_that_is_ranked_and_no_other(tmp_path: Path) -> None:
    grader = Grader(example(), SECRET)
    object.__setattr__(grader.assignment.checks["a0.q1.accept"], "leaderboard", lambda seen: {"first": float(seen)})
    ranked = {}
    for name, source in (("right", example().solution), ("wrong", INVERTED)):
        report = grader.grade(write(tmp_path / f"{name}.py", source))
        ranked[name] = json.loads(render([report], "gradescope"))["leaderboard"]
    assert ranked == {"right": [{"name": "first", "value": 1.0, "order": "asc"}], "wrong": []}


def test_missing_layers_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "a0.py", example().solution)
    report = Grader(example(), SECRET, layers=("limits",)).grade(path)
    assert report.score == 10
    told = render([report], "terminal")
    for layer in ("namespaces", "landlock", "user", "seccomp"):
        assert f"best effort only, no {layer}: " in told


def test_a_class_goes_on_where_it_stopped(tmp_path: Path) -> None:
    room, results = tmp_path / "class", tmp_path / "results"
    for i in range(3):
        write(room / f"s{i}.py", example().solution + f"\n# {i}\n")
    shutil.copy(room / "s0.py", room / "twin.py")
    write(room / "wrong" / "a0.py", INVERTED)
    told: list[tuple[int, int]] = []

    def stop_at_two(count: int, total: int, report: Report) -> None:
        if count == 2:
            raise KeyboardInterrupt

    paths = submissions_in(room)
    with pytest.raises(KeyboardInterrupt):
        grade_all(JOB, paths, jobs=2, results=results, progress=stop_at_two)
    before = {path.name: path.stat().st_mtime_ns for path in results.glob("*.json")}
    assert len(before) == 2

    def progress(count: int, total: int, report: Report) -> None:
        told.append((count, total))

    reports = grade_all(JOB, paths, jobs=2, results=results, progress=progress)
    assert [report.score for report in reports] == [10, 10, 10, 10, 4]
    assert told[-1] == (5, 5)
    after = {path.name: path.stat().st_mtime_ns for path in results.glob("*.json")}
    assert all(after[name] == when for name, when in before.items()), "what was done is done again"
    write(room / "s1.py", INVERTED)  # handed in again
    before = (room / "s2.py").stat()
    swapped = (room / "s2.py").read_text().replace("u * q[token] < p[token]", "u * p[token] < q[token]")
    os.utime(write(room / "s2.py", swapped), ns=(before.st_atime_ns, before.st_mtime_ns))  # of equal size, too
    assert (room / "s2.py").stat().st_size == before.st_size
    assert [report.score for report in grade_all(JOB, paths, jobs=2, results=results)] == [10, 4, 4, 10, 4]


def test_who_was_late_is_graded_again_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the judges: at first the first one's answer comes too late, the second time it does not."""
    paths = [write(tmp_path / f"s{i}.py", "") for i in range(3)]
    asked: list[tuple[int, str]] = []

    def grade(path: Path, size: int) -> Report:
        asked.append((size, path.name))
        late = path.name == "s0.py" and len(asked) == 1
        check = CheckResult("c", "c", 0.0 if late else 1.0, 1.0, "public", "failed" if late else "passed")
        check.cause = "clock" if late else ""
        return Report("a0", "", "1", path.name, "", [QuestionResult("q", "q", [check])], {}, [], {}, 0.0)

    @contextmanager
    def court(
        job: Job, assignment: Assignment, size: int, seconds: float = 1.0
    ) -> Iterator[Callable[[Path], Future[Report]]]:
        def hand_in(path: Path) -> Future[Report]:
            future: Future[Report] = Future()
            future.set_result(grade(path, size))
            return future

        yield hand_in

    monkeypatch.setattr(classroom, "_court", court)
    reports = grade_all(JOB, paths, jobs=2, results=tmp_path / "results")
    assert [report.score for report in reports] == [1, 1, 1]
    assert asked == [(2, "s0.py"), (2, "s1.py"), (2, "s2.py"), (1, "s0.py")]
    assert [report.score for report in grade_all(JOB, paths, jobs=2, results=tmp_path / "results")] == [1, 1, 1]
    assert len(asked) == 4, "the later verdict is the one that was kept"
    asked.clear()
    assert grade_all(JOB, paths[:1], jobs=2)[0].score == 1
    assert asked == [(1, "s0.py")] * 2, "the machine may be busy with other things"
    asked.clear()

    def stop_before_the_second_pass(count: int, total: int, report: Report) -> None:
        if count == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_all(JOB, paths, jobs=2, results=tmp_path / "cut", progress=stop_before_the_second_pass)
    assert [report.score for report in grade_all(JOB, paths, jobs=2, results=tmp_path / "cut")] == [1, 1, 1]
    assert asked[3:] == [(1, "s0.py")], "what the clock ended, and nothing else"


def test_the_example_keeps_the_rules_of_an_assignment() -> None:
    findings = check_assignment(JOB, jobs=2, num_secrets=1)
    assert [finding for finding in findings if finding.fault] == []


def test_a_rule_that_is_broken_is_reported(tmp_path: Path) -> None:
    """Negative controls: a mistake that is none, twins (neither is named), a wrong variant, a finished starter."""
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    inverted = (tmp_path / "a0" / "mistakes.py").read_text().partition("# %% inverted")[2]
    none = "# %% none fails a0.q1.accept\n# Nothing.\n"
    for place, cells in (("mistakes.py", f"{none}# %% zz_twin{inverted}"), ("correct.py", f"# %% wrong{inverted}")):
        with open(tmp_path / "a0" / place, "a", encoding="utf-8") as file:
            file.write(f"\n{cells}")
    solution = tmp_path / "a0" / "solution.py"
    solution.write_text(solution.read_text().replace("# BEGIN SOLUTION", "#").replace("# END SOLUTION", "#"))
    findings = check_assignment(Job("a0", tmp_path, SECRET, LAYERS), jobs=2, num_secrets=1)
    broken = {f"{finding.kind}/{finding.name}" for finding in findings if finding.fault}
    twins = {"mutants/inverted", "mutants/zz_twin"}
    assert broken == {"mutants/none", *twins, "correct/wrong", "starter/starter"}


def test_a_check_that_a_table_could_pass_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    checks = tmp_path / "a0" / "checks.py"
    checks.write_text(checks.read_text().replace(", hidden=drawn_two", ""))
    with pytest.raises(InputError, match=r"a0\.q2\.law would pass with a table of the answers; give it hidden="):
        _ = load_assignment("a0", tmp_path).checks


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("points = 10", "points = 11"), "points is 11"),
        (('id = "a0.q1.secret"', 'id = "a0.q2.secret"'), "a check's id is its question's"),
        (('visibility = "hidden"', 'visibility = "secret"'), "visibility is one of"),
        (('depends_on = ["a0.q1"]', 'depends_on = ["a0.q2"]'), "earlier questions only"),
        (("points = 2", "points = 0"), "points"),
        (('entry = "a0.py"', ""), "KeyError"),
        (('entry = "a0.py"', "entry = 3"), "cannot be used: TypeError"),
        (("points = 2", 'points = "2"'), "cannot be used: TypeError"),
        (("timeout_s = 1", 'timeout_s = "soon"'), "cannot be used: ValueError"),
        (("points = 10", "points = 10 of 10"), "cannot be used: TOMLDecodeError"),
    ],
)
def test_a_manifest_that_breaks_a_rule_is_refused(change: tuple[str, str], rule: str, tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    path = tmp_path / "a0" / "assignment.toml"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(InputError, match=rule) as refused:
        load_assignment("a0", tmp_path)
    assert str(refused.value).count("assignment.toml") == 1
    assert "\n" not in str(refused.value)


def test_a_number_may_be_a_version_or_a_title(tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "a0", tmp_path / "a0")
    path = tmp_path / "a0" / "assignment.toml"
    told = re.sub(
        r'^title = ".*"$', "title = 5", path.read_text().replace('version = "1.0.0"', "version = 1.5"), flags=re.M
    )
    path.write_text(told)
    report = Grader(load_assignment("a0", tmp_path), SECRET).grade(write(tmp_path / "a0.py", example().solution))
    assert (report.version, report.title, report.score) == ("1.5", "5", report.max_score)
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


@pytest.mark.parametrize(("load", "expected"), [(0.0, 180), (3.0, 180), (40.0, 1800), (1e4, 3600)])
def test_who_is_graded_again_has_as_much_longer_as_the_machine_is_busy(monkeypatch, load, expected):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert patience_s() == expected
