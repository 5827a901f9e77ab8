"""Variants: nothing but names, constants and order changes, everything follows, and answers are not shared."""

from __future__ import annotations

import ast
import doctest
import inspect
import itertools
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minispec.cli.main import cli
from minispec.course.grading.diagnose import Reference, diagnose
from minispec.course.grading.host import encode, load
from minispec.course.grading.manifest import Assignment, load_assignment
from minispec.course.grading.observe import Failed, difference, observe_all
from minispec.course.grading.rename import rename_in_code, rename_in_prose
from minispec.course.grading.subject import LocalSubject, Subject
from minispec.course.grading.variant import TOLD, draw_variant, make_variant
from minispec.errors import InputError

from .example import ASSIGNMENTS, write
from .test_content import drawn_anew

COURSE = ("a1", "a2", "a3", "a4", "a5", "a6")
TERMS = ("2027s", "2027f", "t1")
"""A1's constant has another value in each."""
MARKS = {"v0": (), "a3": (), "a4": pytest.mark.slow, "a6": pytest.mark.slow}
QUICK = [pytest.param(name, marks=MARKS.get(name, pytest.mark.exhaustive)) for name in ("v0", *COURSE)]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # mistakes divide by zero


@cache
def usual(name: str) -> Assignment:
    return load_assignment(name, ASSIGNMENTS if name == "v0" else None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("variants")

    @cache
    def make(name: str, term: str) -> Assignment:
        return make_variant(usual(name), term, home / term)

    return make


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["assignment", *map(str, arguments)])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_term_makes_the_same_variant_every_time_and_another_term_another(made, tmp_path: Path) -> None:
    first = contents(made("v0", "2027s").folder)
    assert contents(make_variant(usual("v0"), "2027s", tmp_path).folder) == first
    assert first.keys() == contents(usual("v0").folder).keys() - {
        name for name in contents(usual("v0").folder) if "__pycache__" in name
    }
    assert len({contents(made("v0", term).folder)["solution.py"] for term in TERMS}) == 3
    assert made("v0", "2027s").version == "1.0.0+2027s"
    assert made("v0", "2027s").choices is None  # of a variant there are none


def test_a_variant_keeps_the_rules_of_an_assignment() -> None:
    """Through the command and isolated workers: starter, solution, every mistake and correct variant."""
    done = call("check", "v0", "--variant", "2027s", "--assignments", ASSIGNMENTS)
    assert done.exit_code == 0, done.output
    assert "mutants: 3, 3 caught, 3 named" in done.output


def test_a_variant_that_does_not_follow_is_noticed(tmp_path: Path) -> None:
    """The control: a check that names a function where the rule does not look for it."""
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    path = tmp_path / "v0" / "checks.py"
    path.write_text(path.read_text().replace("student.level(", 'getattr(student, "level")('))
    broken = load_assignment("v0", tmp_path)
    Reference(broken).expect(broken.checks["v0.q2.level"])
    variant = make_variant(broken, "t1", tmp_path / "out")
    with pytest.raises(InputError, match="the solution of v0 fails its own check"):
        [Reference(variant).expect(check) for check in variant.checks.values()]
    (tmp_path / "there").mkdir()
    told = ("v0", "--variant", "t1", "--assignments", tmp_path, "--for", "grader", "--for", "student")
    for place in ("there", "not/there"):
        refused = call("build", *told, "-o", tmp_path / place).exception
        assert "the solution of v0 fails its own check" in str(refused)
    assert list((tmp_path / "there").iterdir()) == []  # nor the grader's files, which nothing is wrong with
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("name", ["v0", *COURSE])
def test_the_solution_of_a_variant_passes_its_own_checks(name: str, made) -> None:
    """Of every assignment: it fails where a check still calls a function by its old name. Nor do messages say one."""
    variant = made(name, "2027s")
    known = Reference(variant)
    for check in variant.checks.values():
        known.expect(check)
    said = (variant.folder / "checks.py").read_text()
    for old in draw_variant(usual(name), "2027s").names:
        assert not re.search(rf"`{old}`|[\"']{old} (returned|over)", said), old


def test_every_method_that_is_told_a_name_is_known_to_the_rule() -> None:
    told = {
        name
        for name, method in inspect.getmembers(Subject, inspect.isfunction)
        if not name.startswith("_") and {"name", "names"} & set(inspect.signature(method).parameters)
    }
    assert told == {"each", "watch"}
    assert told <= set(TOLD)


@pytest.mark.exhaustive  # every submission in workers of its own: minutes
def test_a_variant_of_the_course_keeps_the_rules() -> None:
    done = call("check", "a3", "--variant", "2027s")
    assert done.exit_code == 0, done.output


def passed(assignment: Assignment, source: str) -> set[str]:
    """Return the checks that a submission passes, by their names without the question's number."""
    known, student = Reference(assignment), LocalSubject(source, assignment.module)
    return {
        name.rpartition(".")[2]
        for name, check in assignment.checks.items()
        if not any(
            difference(check, *pair)
            for pair in zip(observe_all(check, student, check.cases), known.expect(check), strict=False)
        )
    }


def test_answers_are_shared_exactly_where_name_and_constant_are(made) -> None:
    """Every variant's solution, handed in to every other variant; a function of another name counts for nothing."""
    terms = [*TERMS, *(f"s{i}" for i in range(5))]
    variants = {term: draw_variant(usual("v0"), term) for term in terms}
    assert len({str(variant) for variant in variants.values()}) == len(terms)
    for one in terms:
        source = made("v0", one).solution
        assert passed(made("v0", one), source) == {"share", "level", "hidden", "spread"}
        assert passed(usual("v0"), source) == set()  # the published names are drawn by no variant
        for other in set(terms) - {one}:
            mine, theirs = variants[one], variants[other]
            names = {name for name in mine.names if mine.names[name] == theirs.names[name]}
            same_floor = mine.constants["FLOOR"] == theirs.constants["FLOOR"]
            expected = {"share", "spread"} & names
            if "level" in names:
                expected |= {"level", "hidden"} if same_floor else set()
            assert passed(made("v0", other), source) == expected, (one, other)


@pytest.mark.parametrize("name", ["v0", *COURSE])
def test_terms_drawn_unlike_each_other_share_nothing(name: str) -> None:
    """Not a name, not a constant; alone, some two of them would."""
    terms = [f"t{i}" for i in range(3 if name == "v0" else 6)]
    apart = [draw_variant(usual(name), term, terms[:i]) for i, term in enumerate(terms)]
    alone = [draw_variant(usual(name), term) for term in terms]
    assert apart[0] == alone[0]

    def is_shared(variants) -> bool:
        every = [[*variant.names.values(), *map(str, variant.constants.values())] for variant in variants]
        return any(len({*one, *other}) < len(one) + len(other) for one, other in itertools.combinations(every, 2))

    assert not is_shared(apart)
    assert is_shared(alone)


def test_an_answer_passes_nothing_in_a_later_term_unlike_its_own(made, tmp_path: Path) -> None:
    earlier = made("v0", TERMS[0])
    for i, term in enumerate(TERMS[1:], 1):
        later = make_variant(usual("v0"), term, tmp_path / term, TERMS[:i])
        assert passed(later, later.solution) == {"share", "level", "hidden", "spread"}
        assert passed(later, earlier.solution) == set()
        earlier = later


def test_what_cannot_be_drawn_unlike_is_refused(tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        done = call("build", "v0", "--assignments", ASSIGNMENTS, "-o", tmp_path / "out", *arguments)
        assert isinstance(done.exception, InputError)
        assert not (tmp_path / "out").exists()
        return str(done.exception)

    four = ["--variant", "t3", "--unlike", "t0", "--unlike", "t1", "--unlike", "t2"]
    assert "has only 3 for share; leave the earliest out" in refused(*four)
    assert "name the one to make with --variant" in refused("--unlike", "t0")
    assert "name a term twice" in refused("--variant", "t0", "--unlike", "t0")


def terms_of(name: str) -> tuple[str, ...]:
    """Return the terms to try: one is as good as another where no constants vary."""
    return TERMS if draw_variant(usual(name), TERMS[0]).constants else TERMS[1:2]


@pytest.mark.parametrize("name", QUICK)
def test_only_names_numbers_and_constants_differ(name: str, made) -> None:
    """The law: renamed back, renumbered back and with its old constants, a variant gives bitwise what it gave."""
    assignment, expected = usual(name), Reference(usual(name))
    for term in terms_of(name):
        variant, drawn = made(name, term), draw_variant(assignment, term)
        found, numbers = Reference(variant), drawn.numbers
        for question in assignment.questions:
            for info in question.checks:
                old = re.search(r"q(\d+)", info.id)
                assert old is not None
                new = info.id.replace(f"q{old[1]}.", f"q{numbers[old[1]]}.", 1)
                if drawn.constants:  # other cases or another answer
                    assert not any(isinstance(one, Failed) for one in found.expect(variant.checks[new]))
                else:
                    seen = [[encode(one) for one in known.expect(check)] for known, check in (
                        (expected, assignment.checks[info.id]), (found, variant.checks[new]))]  # fmt: skip
                    assert seen[0] == seen[1], (term, info.id)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("a4", "a6") else pytest.mark.exhaustive)
        for name in COURSE
        if name != "a3"
    ],
)
def test_every_mistake_is_caught_and_named_in_a_variant_too(name: str, made) -> None:
    """Those of the example and A3 are graded through the command, above."""
    for term in terms_of(name):
        variant = made(name, term)
        known = Reference(variant)
        infos = [(question, info) for question in variant.questions for info in question.checks]
        for overlay in variant.overlays("mutants"):
            (question,) = [one for one, info in infos if info.id == overlay.fails]
            student = LocalSubject(overlay.source, variant.module)
            checks = [variant.checks[info.id] for info in question.checks]
            seen = {check.id: observe_all(check, student, check.cases) for check in checks}
            check = variant.checks[overlay.fails]
            found = diagnose(known, seen, check, drawn_anew(check, student))
            assert found is not None, (term, overlay.name)
            assert found.mistake.name == overlay.name


def handed_out(assignment: Assignment) -> dict[str, str]:
    """Return the starter, the handout and the tests."""
    names = ("HANDOUT.md", "adapters.py", f"test_{assignment.module}.py")
    texts = {name: (assignment.folder / name).read_text() for name in names if (assignment.folder / name).is_file()}
    return {assignment.entry: assignment.starter, **texts}


@pytest.mark.parametrize("name", ["v0", *COURSE])
def test_no_old_name_is_left_for_students(name: str, made) -> None:
    """In what is handed out: no call, no definition, no name between backticks; questions stand in order."""
    variant, drawn = made(name, "2027f"), draw_variant(usual(name), "2027f")
    files = handed_out(variant)
    for path, text in files.items():
        for old in drawn.names:
            assert not re.search(rf"(?<![\w.]){old}\(|`{old}`|def {old}\b", text), (path, old)
    for text in (files[variant.entry], files["HANDOUT.md"]):
        numbers = [int(one or other) for one, other in re.findall(r'"""Q(\d+)\.|^\*\*Q(\d+) ', text, re.M)]
        assert numbers == sorted(numbers)
    for new in drawn.names.values():
        assert f"def {new}(" in files[variant.entry]


@pytest.mark.parametrize("name", ["v0", *COURSE])
def test_a_variant_can_be_solved_as_its_docstrings_say(name: str, made) -> None:
    variant = made(name, "2027f")
    ast.parse(variant.starter)
    if name != "v0" and not draw_variant(usual(name), "2027f").constants:  # examples are for the usual constants
        assert doctest.testmod(load(variant.module, variant.solution, "solution.py")).failed == 0
    order = [question.id for question in variant.questions]
    assert order == sorted(order, key=lambda one: int(one.rpartition("q")[2]))
    for question in variant.questions:
        assert set(question.depends_on) <= set(order[: order.index(question.id)])
        assert set(question.given) <= {node.name for node in ast.parse(variant.solution).body if hasattr(node, "name")}


@pytest.mark.parametrize("name", QUICK)
def test_the_public_tests_of_a_variant_pass_on_its_solution(name: str, made, tmp_path: Path) -> None:
    variant = made(name, "2027s")
    for path, text in handed_out(variant).items():
        write(tmp_path / path, variant.solution if path == variant.entry else text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{variant.module}.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.fullmatch(r"\d+ passed in .*", done.stdout.splitlines()[-1]), done.stdout


def test_a_variant_is_built_and_graded_with_what_was_built(tmp_path: Path) -> None:
    key = write(tmp_path / "key", "a secret of ours")
    options = ("--variant", "2027s", "--assignments", ASSIGNMENTS, "-o", tmp_path / "out", "--secret-file", key)
    done = call("build", "v0", *options, "--for", "student", "--for", "grader")
    assert done.exit_code == 0, done.exception
    starter = zipfile.ZipFile(tmp_path / "out" / "v0" / "v0-student.zip").read("v0/v0.py").decode()
    drawn = draw_variant(usual("v0"), "2027s")
    assert all(f"def {new}(" in starter for new in drawn.names.values())
    assert f"FLOOR = {drawn.constants['FLOOR']}" in starter
    grader = tmp_path / "out" / "v0" / "grader"
    assert load_assignment("v0", grader).secret == b"a secret of ours"
    assert "solution.py" in [path.name for path in (grader / "v0").iterdir()]
    write(tmp_path / "room" / "new.py", load_assignment("v0", grader).solution)
    write(tmp_path / "room" / "old.py", usual("v0").solution)
    graded = CliRunner().invoke(
        cli,
        [
            "grade-class",
            str(tmp_path / "room"),
            "-a",
            "v0",
            "--assignments",
            str(grader),
            "-o",
            str(tmp_path / "marks"),
        ],
    )
    marks = (tmp_path / "marks" / "marks.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in marks[1:]] == [["new.py", "10"], ["old.py", "0"]]
    assert "secret that is public" not in graded.stderr


def test_a_constant_is_set_where_it_is_meant_and_nowhere_else(tmp_path: Path) -> None:
    """Not in a longer name, nor for a longer number; a comment behind it stays, and prose that says it follows."""
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    code, prose = tmp_path / "v0" / "solution.py", tmp_path / "v0" / "HANDOUT.md"
    code.write_text(code.read_text().replace("FLOOR = 0.25\n", "FLOOR = 0.25  # of a level\nMAX_FLOOR = 0.25\n"))
    prose.write_text(prose.read_text() + "\nFLOOR = 0.25, not FLOOR = 0.255; so FLOOR = 0.25.\n")
    told = load_assignment("v0", tmp_path)
    floor = draw_variant(told, "2027s").constants["FLOOR"]
    variant = make_variant(told, "2027s", tmp_path / "out")
    assert f"\nFLOOR = {floor}  # of a level\nMAX_FLOOR = 0.25\n" in variant.solution
    handout = (variant.folder / "HANDOUT.md").read_text()
    assert handout.endswith(f"\nFLOOR = {floor}, not FLOOR = 0.255; so FLOOR = {floor}.\n")


def test_a_version_may_hold_any_letters(tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    path = tmp_path / "v0" / "assignment.toml"
    path.write_text(path.read_text().replace('version = "1.0.0"', 'version = "1 \u00e9t\u00e9"'), encoding="utf-8")
    assert make_variant(load_assignment("v0", tmp_path), "t1", tmp_path / "out").version == "1 \u00e9t\u00e9+t1"


# Renaming.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def cut(a): return cut(a)\n", "def trim(a): return trim(a)\n"),
        ("def f(cut): return cut\n", "def f(cut): return cut\n"),
        ("def f():\n    cut = 1\n    return cut\nx = cut\n", "def f():\n    cut = 1\n    return cut\nx = trim\n"),
        ("def f():\n    def g(): return cut\n    cut = 1\n", "def f():\n    def g(): return cut\n    cut = 1\n"),
        ("y = [cut for cut in x] + [cut(z) for z in x]\n", "y = [cut for cut in x] + [trim(z) for z in x]\n"),
        ("y = lambda cut: cut\nz = lambda a: cut(a)\n", "y = lambda cut: cut\nz = lambda a: trim(a)\n"),
        ("class A:\n    def cut(self): ...\n", "class A:\n    def cut(self): ...\n"),
        ("a.cut = b['cut'] = f(cut=1)\n", "a.cut = b['cut'] = f(cut=1)\n"),
        ("student.cut(1), student.keep.cut(2), a.cut(3)\n", "student.trim(1), student.keep.trim(2), a.cut(3)\n"),
        ("check('a.cut', 'cut', [])\nother('cut')\n", "check('a.cut', 'trim', [])\nother('cut')\n"),
        ("counts = student.watch('cut', 'b')\n", "counts = student.watch('trim', 'b')\n"),
        ("drawn = student.each('cut', ['cut'], x)\n", "drawn = student.each('trim', ['cut'], x)\n"),
        ("from a4 import cut\nfrom b import cut as c\n", "from a4 import trim\nfrom b import cut as c\n"),
        ("é = 'é'; y = cut(é)  # `cut` is cut by cut(x)\n", "é = 'é'; y = trim(é)  # `trim` is cut by trim(x)\n"),
        ('def f():\n    """`cut`\n\n    cut(1)"""\n    "x"\n', 'def f():\n    """`trim`\n\n    trim(1)"""\n    "x"\n'),
        ('y = "`cut` cut(1)"\n', 'y = "`cut` cut(1)"\n'),
        ("try:\n    pass\nexcept E as cut:\n    pass\n", "try:\n    pass\nexcept E as cut:\n    pass\n"),
    ],
)  # fmt: skip
def test_a_function_is_renamed_and_what_only_has_its_name_is_not(before: str, after: str) -> None:
    assert rename_in_code(before, {"cut": "trim"}, holders=("student", "a4"), told_to=TOLD) == after


def test_a_place_that_cannot_be_found_is_refused_or_right() -> None:
    """Before Python 3.12 places in f-strings are not where the tree says."""
    source = 'y = f"{cut(1)} and {x}"\n'
    try:
        assert rename_in_code(source, {"cut": "trim"}) == 'y = f"{trim(1)} and {x}"\n'
    except InputError as error:
        assert "f-string" in str(error)  # noqa: PT017


def test_two_names_can_be_exchanged() -> None:
    assert rename_in_code("a(long(1))\n", {"a": "long", "long": "a"}) == "long(a(1))\n"


def test_english_keeps_its_words() -> None:
    told = "Cut it: `cut(text)` cuts, x.cut(y) does not; `best_cut`, and best_cut in prose. `cutting` stays."
    assert rename_in_prose(told, {"cut": "trim", "best_cut": "best_trim"}) == (
        "Cut it: `trim(text)` cuts, x.cut(y) does not; `best_trim`, and best_trim in prose. `cutting` stays."
    )


# Refusals.


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[variants.names]", "[variants]\nseed = 3\n[variants.names]", "[variants] has seed, which is no entry"),
        ('["portion",', '["class",', "share = 'class' is no name of Python's"),
        ('["portion",', "[3,", "share = 3 is no name"),
        ('["portion",', '["test_share",', "share = 'test_share' begins with test"),  # pytest would collect it
        ('["portion",', '["height",', "level = 'height' stands there already"),
        ('["portion",', '["spread",', "share = 'spread' stands there already"),
        ('["portion", "fraction_of", "part"]', "[]", "share is []; give a list"),
        ("FLOOR = [0.125, 0.375, 0.625]", "FLOOR = 0.5", "FLOOR is 0.5; give a list"),
        ("FLOOR = [", "CEILING = [", "CEILING is set 0 times in solution.py and checks.py"),
        ('["portion",', '["counts",', "share = 'counts' is in use in solution.py"),
        ('["portion",', '["share_of",', "share = 'share_of' is in use in correct.py, with_numpy"),
        ("share = [", "slice_of = [", "slice_of is no function of v0's solution.py"),
    ],
)
def test_choices_that_break_a_rule_are_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    path = tmp_path / "v0" / "assignment.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    refused = call("build", "v0", "--variant", "x", "-o", tmp_path / "out", "--assignments", tmp_path).exception
    assert isinstance(refused, InputError)
    assert says in str(refused)
    assert "\n" not in str(refused)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("broken", ["solution.py", "checks.py", "mistakes.py"])
@pytest.mark.parametrize("variant", [(), ("--variant", "t1")], ids=["usual", "variant"])
def test_code_that_is_no_python_is_refused_in_one_line(broken: str, variant: tuple[str, ...], tmp_path: Path) -> None:
    shutil.copytree(ASSIGNMENTS / "v0", tmp_path / "v0")
    with open(tmp_path / "v0" / broken, "a", encoding="utf-8") as file:
        file.write("\ndef (:\n")
    for command in ("check", "v0"), ("build", "v0", "-o", tmp_path / "out"):
        refused = call(*command, *variant, "--assignments", tmp_path).exception
        assert isinstance(refused, InputError)
        assert re.search(rf"{Path(broken).name}.* cannot be used: SyntaxError: .* Mend it", str(refused))
        assert "\n" not in str(refused)


@pytest.mark.parametrize("held_out", ["none", "empty.py", "v0", "x" * 300])
def test_held_out_submissions_that_are_none_are_refused(held_out: str, tmp_path: Path) -> None:
    write(tmp_path / "empty.py", "")
    options = ("--assignments", ASSIGNMENTS, "--held-out", tmp_path / held_out)
    refused = call("check", "v0", *options).exception
    assert isinstance(refused, InputError)
    assert "holds no submission; name a catalogue" in str(refused) or "File name too long" in str(refused)


@pytest.mark.parametrize(
    ("name", "variant", "says"),
    [
        ("v0", "../x", "no name; give up to 40 letters"),
        ("v0", "", "no name"),
        ("v0", "sömmer", "no name"),
        ("v0", "x" * 41, "no name"),
        ("a0", "x", "a0 has no variants"),
    ],
)
def test_variants_that_cannot_be_are_refused(name: str, variant: str, says: str, tmp_path: Path) -> None:
    refused = call("build", name, "--variant", variant, "-o", tmp_path / "o", "--assignments", ASSIGNMENTS).exception
    assert isinstance(refused, InputError)
    assert says in str(refused)
