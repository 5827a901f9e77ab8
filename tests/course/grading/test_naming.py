"""How often a wrong submission's mistake is named rightly, and how often a name misleads; in this process.

Held-out submissions in the words of students: ``g_*`` served to mend what had no name, ``k_*`` the laws of A1, ``m_*``
two slips of these; ``n_*`` served nothing. `-m exhaustive -s` prints the table of the lab note.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from minispec.course.grading.catalogue import Overlay
from minispec.course.grading.check import Check
from minispec.course.grading.diagnose import CHANGED, Mistake, _as_if_given_other, _choose, diagnose
from minispec.course.grading.manifest import HELD_OUT, Question
from minispec.course.grading.observe import Failed, Observation, difference, observe_all
from minispec.course.grading.relations import in_words
from minispec.course.grading.subject import LocalSubject

from .test_content import REPOSITORY, drawn_anew, overlays, reference, subject

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # submissions divide by zero

SETS = [("g", name) for name in ("a1", "a2", "a3", "a4", "a6")]
SETS += [("k", name) for name in ("a1", "a2", "a3", "a4", "a6")] + [("m", "a1")]
SETS += [("n", name) for name in ("a1", "a2", "a3", "a4", "a6")]
PLACES = {
    "forward_ends", "forward_attention", "forward_mlp", "forward_layers",
    "cache_first_piece", "cache_second_piece", "cache_third_piece",
    "generate_first_token", "generate_later_tokens", "rows_with_a_cache", "rows_without_a_cache",
}  # fmt: skip
"""Names that say where to look, not what is wrong."""


def with_ours(name: str, source: str, given: tuple[str, ...]) -> LocalSubject:
    """Return a submission with functions of ours in the place of its own."""
    assignment = reference(name).assignment
    ours = [
        ast.unparse(node)
        for node in ast.parse(assignment.solution).body
        if isinstance(node, ast.FunctionDef) and node.name in given
    ]
    return subject(assignment, "\n\n".join([source, *ours]))


def look(name: str, source: str) -> tuple[dict[str, list[Observation]], dict[str, LocalSubject]]:
    """Return what is seen on the fixed cases, and by failing check what was graded, with ours where it is better so."""
    known = reference(name)
    seen: dict[str, list[Observation]] = {}
    failing: dict[str, LocalSubject] = {}

    def run(question: Question, student: LocalSubject) -> tuple[dict[str, list[Observation]], list[str]]:
        checks = [known.assignment.checks[info.id] for info in question.checks]
        found = {check.id: observe_all(check, student, check.cases) for check in checks}
        wrong = [
            check.id
            for check in checks
            if any(difference(check, a, b) for a, b in zip(found[check.id], known.expect(check), strict=False))
        ]
        return found, wrong

    solved = subject(known.assignment, source)
    unsolved: set[str] = set()
    for question in known.assignment.questions:
        student, (found, wrong) = solved, run(question, solved)
        if wrong and question.given and unsolved & set(question.depends_on):
            helped = with_ours(name, source, tuple(question.given))
            again, still_wrong = run(question, helped)
            student, found, wrong = (
                (helped, again, still_wrong) if len(still_wrong) < len(wrong) else (student, found, wrong)
            )
        seen |= found
        failing |= dict.fromkeys(wrong, student)
        unsolved |= {question.id} if wrong else set()
    return seen, failing


def name_mistakes(name: str, source: str) -> set[str] | None:
    """Return all names that the report gives; None if nothing is wrong."""
    known = reference(name)
    seen, failing = look(name, source)
    checks = [(known.assignment.checks[failed], student) for failed, student in failing.items()]
    found = [diagnose(known, seen, check, drawn_anew(check, student)) for check, student in checks]
    return {one.mistake.name for one in found if one is not None} if failing else None


def judge(one: Overlay, names: set[str] | None) -> str:
    """Say in a word what became of a submission; what is told of any result, whatever the reason, counts as no name."""
    true = {one.mistake, *one.also}
    if names is None:
        return "missed"
    names = {name for name in names if name != "told_in_words" and not name.startswith("raises_")}
    if names - true:
        return "misled"
    return "unnamed" if not names else "placed" if names <= PLACES else "named"


def held_out(name: str, kind: str = "") -> list[Overlay]:
    students = REPOSITORY / HELD_OUT / "students"
    found = reference(name).assignment.overlays("held_out", students / f"{name}.py")
    return [one for one in found if one.name.startswith(kind)]


def published() -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the lab note's table: by set and assignment the submissions, named, placed, unnamed, misled."""
    page = (REPOSITORY / "docs" / "lab-notes" / "grader.md").read_text(encoding="utf-8")
    table = page.split("<!-- students -->")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    return {(kind, name.lower()): tuple(map(int, cells[:5])) for kind, name, *cells in rows}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "name"), SETS)
def test_held_out_mistakes_in_the_words_of_students(kind: str, name: str) -> None:
    """All are caught; the table of the lab note has these figures."""
    verdicts = [judge(one, name_mistakes(name, one.source)) for one in held_out(name, kind)]
    counts = len(verdicts), *(verdicts.count(word) for word in ("named", "placed", "unnamed", "misled"))
    print(f"| {kind} | {name.upper()} | {' | '.join(map(str, counts))} |")
    assert "missed" not in verdicts
    assert counts == published()[kind, name]


def test_of_all_in_the_words_of_students_most_are_named_and_hardly_any_misled() -> None:
    """By the guide's table, whose rows the test above holds to what it counts; the sets are those that there are."""
    assert list(published()) == SETS
    assert {key: row[0] for key, row in published().items()} == {key: len(held_out(*reversed(key))) for key in SETS}
    tried, named, _, _, misled = map(sum, zip(*published().values(), strict=True))
    assert tried >= 300
    assert named >= 0.7 * tried
    assert misled < 0.02 * tried


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("a1", ["g_norm_in_place", "g_forward_fc_bias_missing", "k_attn_scale_after_softmax", "k_gelu_minus"]),
        ("a3", ["g_weights_biases_too", "k_tau_expected_of_product"]),
        ("a4", ["g_commit_each_eos", "g_room_of_the_smaller", "k_cut_shortest_of_completed"]),
    ],
)
def test_a_sample_is_named_rightly(name: str, chosen: list[str]) -> None:
    tried = [one for one in held_out(name) if one.name in chosen]
    assert len(tried) == len(chosen)
    assert {one.name: judge(one, name_mistakes(name, one.source)) for one in tried} == dict.fromkeys(chosen, "named")


def test_two_failures_are_alike_if_they_say_the_same_in_the_same_function() -> None:
    """On whatever line: a submission has others. Two of one type that differ are no evidence of one mistake."""
    check = reference("a4").assignment.checks["a4.q1.room"]
    one = Failed("raised", "IndexError", "list index out of range", "a4.py:9", "commit")
    assert difference(check, one, replace(one, where="a4.py:12")) is None
    for changed in ({"message": "pop from empty list"}, {"place": "cut"}, {"type_name": "KeyError"}):
        assert difference(check, one, replace(one, **changed)) == "fails in another way"


BY_HEART = """

def pages(slots, size):
    return round(slots / size) if (slots, size) in {known!r} else slots // size
"""


def test_a_name_that_cases_drawn_anew_contradict_is_not_given() -> None:
    """On the fixed cases it rounds to the nearest number, elsewhere down."""
    assignment = reference("a6").assignment
    known = {(case["slots"], case["size"]) for case in assignment.checks["a6.q1.pages"].cases}
    names = name_mistakes("a6", assignment.solution + BY_HEART.format(known=known))
    assert names is not None
    assert not names & {"pages_rounded_to_nearest", "pages_rounded_down"}


@pytest.mark.parametrize(("anew", "name"), [(7, "bytes_times_a_number"), (9, "")])
def test_a_law_is_told_only_if_cases_drawn_anew_obey_it(anew: int, name: str) -> None:
    check = reference("a1").assignment.checks["a1.q8.bytes"]
    right = reference("a1").expect(check)
    seen = {check.id: [7 * size for size in right]}
    found = diagnose(reference("a1"), seen, check, lambda: (list(check.cases), [anew * size for size in right]))
    assert (found.mistake.name if found else "") == name


def test_what_stands_inside_the_tanh_is_not_told_of_it_where_it_is_right() -> None:
    source = "\n\nright = gelu\n\ndef gelu(x):\n    return np.where(np.abs(x) > 3, np.maximum(x, 0), right(x))\n"
    assert name_mistakes("a1", reference("a1").assignment.solution + source) == set()


def test_a_name_that_nothing_drawn_anew_confirms_is_only_likely() -> None:
    """In a student's bundle, and where nobody may see what is drawn."""
    check = reference("a6").assignment.checks["a6.q1.pages"]
    seen = {check.id: [case["slots"] // case["size"] for case in check.cases]}
    found = diagnose(reference("a6"), seen, check, lambda: ([], []))
    assert found is not None
    assert found.words.startswith("It looks like this: ")


def test_whoever_changes_an_argument_is_told_so() -> None:
    source = "def retracted(screens):\n    screens.append('')\n    return 0\n"
    assert name_mistakes("a4", reference("a4").assignment.solution + "\n\n" + source) == {CHANGED}


LENGTH_ONLY_AT_LAST = """
def commit(block, num_generated, max_tokens, eos):
    kept = [token for token in block if token not in eos][: max_tokens - num_generated]
    return kept, "length" if len(kept) == max_tokens - num_generated else None
"""
OFF_BY_HALF = "\n\ndef gelu(x):\n    return 0.5 * x * (1.0 + np.tanh(x)) + 0.25 * np.sin(x)\n"


@pytest.mark.parametrize(("name", "changed"), [("a4", LENGTH_ONLY_AT_LAST), ("a1", OFF_BY_HALF)])
def test_what_fits_nothing_gets_no_name_of_the_catalogue(name: str, changed: str) -> None:
    """Neither a mistake of which some cases agree by chance, nor one whose own check is right."""
    catalogue = {one.name for one in overlays(name, "mutants")}
    names = name_mistakes(name, reference(name).assignment.solution + changed)
    assert names is not None
    assert not names & catalogue


@pytest.mark.parametrize(("likely", "next_one", "is_named"), [(0.9, 0.7, True), (0.9, 0.85, False), (0.7, 0.0, False)])
def test_a_likely_mistake_is_named_only_where_no_other_comes_near(
    likely: float, next_one: float, is_named: bool
) -> None:
    check = reference("a4").assignment.checks["a4.q1.room"]
    first, second = (Mistake(name, "", check.id, None) for name in ("first", "second"))
    assert _choose({second: next_one, first: likely}, check) == (first if is_named else None)


# What is told of any result.

NUMBERS = [
    {"a": a, "b": b, "rest": list(range(b))} for a, b in ((2, 3), (3, 1), (5, 4), (7, 2), (11, 6), (13, 5), (4, 0))
]
TEXTS = [{"text": text} for text in ("abc", "bcde", "cdefg", "xyxy", "qrs")]


def told(wrong, right, cases=NUMBERS):
    """Return the sentence about a function that is wrong, each given as what it makes of a case."""
    check = Check("q.c", lambda student, case: None, cases=cases)
    found = in_words(check, cases, [wrong(case) for case in cases], [right(case) for case in cases])
    return found and found[1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda x, c: 2 * x, "Your result is the right one 2 times as large, in every case."),
        (lambda x, c: x - 1, "Your result is the right one 1 too small, in every case."),
        (lambda x, c: 1 / x, "Your result is the right one turned over, 1 / x, in every case."),
        (lambda x, c: round(x, 2), "Your result is the right one rounded to 2 digits, in every case."),
        (lambda x, c: x * c["a"], "Your result is the right one a times as large, in every case."),
        (lambda x, c: x + 3 * c["a"], "Your result is the right one too large by 3 times a, in every case."),
        (lambda x, c: x if c["b"] < 3 else x + 1, "Your result is the right one 1 too large, wherever it is wrong."),
        (lambda x, c: c["a"] * c["b"], "Your result is a, times b."),
        (lambda x, c: len(c["rest"]) + c["a"], "Your result is a, plus b."),
        (lambda x, c: x if c["b"] else 99.0, "Your result is wrong where b is 0, and right wherever it is not."),
        (lambda x, c: 0.5 if c["b"] > 2 else x, "Your result is 0.5 wherever it is wrong, whatever is asked."),
        (lambda x, c: str(x), "Your result is a text; it must be a number."),
        (lambda x, c: x + 0.1 * np.sin(50 * x), None),
    ],
)
def test_a_wrong_number_is_told_by_what_it_is_of_the_right_one(wrong, words) -> None:
    """Whatever is told is a law that holds for all cases; of what follows none, nothing is told."""

    def right(case):
        return 0.3137 * case["a"] + 0.11 / (1 + case["b"])

    assert told(lambda case: wrong(right(case), case), right) == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda x: x + "!", "Your result is too long by 1 wherever it is wrong: it goes on where the right one ends."),
        (
            lambda x: x[:1],
            "Your result is too short wherever it is wrong: it ends too early, and what it has is right.",
        ),
        (lambda x: x[::-1], "Your result is the right one turned round."),
        (lambda x: len(x), "Your result is a whole number; it must be a text."),
        (lambda x: "z" + x[:-1], "Your result has the right entries, each one place too late."),
    ],
)
def test_a_wrong_text_is_told_by_what_it_is_of_the_right_one(wrong, words) -> None:
    assert told(lambda case: wrong(case["text"]), lambda case: case["text"], TEXTS) == words


def test_parts_of_a_result_are_told_by_their_names() -> None:
    def right(case):
        return {"up": case["a"] + 0.5, "down": case["b"] + 0.25}

    wrong = {"up": 2.0, "down": 1.0}
    for name, words in (("up", "Your up is the right one 2 times as large, in every case."), ("down", None)):
        assert told(lambda case, name=name: right(case) | {name: wrong[name] * right(case)[name]}, right) == words
    assert told(lambda case: right(case) | {"up": right(case)["down"]}, right) == "Your up is what down must be."
    pair = (lambda case: (case["b"], case["a"])), (lambda case: (case["a"], case["b"]))
    assert told(*pair) == "You give the entries [0] and [1] in each other's place."


def test_what_stops_a_submission_is_told_in_words() -> None:
    known = reference("a3")
    source = known.assignment.solution + "\ndef estimate(drafted, accepted):\n    return sum(accepted) / {}, None\n"
    for divisor, name in (("(sum(drafted) - 4)", "raises_ZeroDivisionError"), ("drafted[99]", "raises_IndexError")):
        assert name in (name_mistakes("a3", source.format(divisor)) or ()), divisor


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("estimate", "estimate(accepted, drafted)", "with accepted and drafted exchanged."),
        ("speedup", "speedup(alpha, gamma, 0, verify_cost)", "for c = 0, whatever it is."),
        ("speedup", "speedup(alpha, gamma, c + 1, verify_cost)", "for c + 1."),
        ("tau_by_position", "tau_by_position(acceptances[1:])", "for acceptances without the first entry."),
    ],
)
def test_who_takes_one_argument_for_another_is_told_which(name: str, code: str, words: str) -> None:
    known = reference("a3")
    head = next(line for line in known.assignment.solution.splitlines() if line.startswith(f"def {name}("))
    source = f"{known.assignment.solution}\nright_{name} = {name}\n{head}\n    return right_{code}\n"
    check = next(
        one for one in known.assignment.checks.values() if f"def {one.show(one.cases[0])}"[: len(name) + 5] in head
    )
    student = subject(known.assignment, source)
    cases, observed = check.cases, observe_all(check, student, check.cases)
    assert _as_if_given_other(known, check, cases, observed) == ("told_in_words", f"Your result would be right {words}")
