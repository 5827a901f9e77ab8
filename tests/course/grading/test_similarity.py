"""Winnowing keeps its two promises; copies are found however they are disguised; honest answers are not alike."""

from __future__ import annotations

import random
import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.course.grading.cohort.fingerprints import (
    FOUND,
    RUN,
    WINDOW,
    choose_by_winnowing,
    read_tokens,
    take_fingerprints,
)
from minispec.course.grading.cohort.similarity import FEW, FEWEST, OURS, THRESHOLD, compare, compare_class, to_page
from minispec.course.grading.manifest import load_assignment
from minispec.lab.viz import side_by_side

from .example import example, write

ATOMS = [f"f.a{i}(x)" for i in range(40)] + ["x + 1", "[x]", "not x", "x ** 2", "-x", "x @ y", "{x: y}", "(x, y)"]


def invent(seed: int, num_lines: int = 40) -> str:
    """Return a program that is like no other."""
    rng = random.Random(seed)
    lines = [f"    {rng.choice('abcde')} = {rng.choice(ATOMS)} if {rng.choice(ATOMS)} else {rng.choice(ATOMS)}"]
    while len(lines) < num_lines:
        lines.append(f"    {rng.choice('abcde')} {rng.choice(['=', '+=', '-='])} {' | '.join(rng.sample(ATOMS, 3))}")
    return "def work(x, y):\n" + "\n".join(lines) + "\n    return x\n"


def disguise(source: str) -> str:
    """Rename, comment, document, change numbers and spaces: the work of ten minutes."""
    renamed = source
    for old, new in zip("abcdexy", ("alpha", "beta", "gamma", "delta", "eps", "left", "right"), strict=True):
        renamed = " ".join(new if word == old else word for word in renamed.split(" "))
        renamed = renamed.replace(f"({old})", f"({new})").replace(f"[{old}]", f"[{new}]")
    lines = renamed.replace("def work", "def compute").replace("+ 1", "+ 17").splitlines()
    lines.insert(1, '    """My own work."""')
    return "\n\n".join(f"{line}  # {i}" for i, line in enumerate(lines)) + "\n"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=60), st.lists(st.integers(0, 6), max_size=60), st.data())
def test_a_shared_passage_long_enough_is_found(before: list[int], after: list[int], data: st.DataObject) -> None:
    """The paper's first promise: of ``window`` hashes in a row that two texts share, one is chosen in both."""
    window = data.draw(st.integers(1, 8))
    shared = data.draw(st.lists(st.integers(0, 6), min_size=window, max_size=window + 5))
    left, right = [*before, *shared, *after], [*after, *shared]
    chosen = [{here[i] for i in choose_by_winnowing(here, window)} for here in (left, right)]
    inside = [
        {here[i] for i in choose_by_winnowing(here, window) if start <= i < start + len(shared)}
        for here, start in ((left, len(before)), (right, len(after)))
    ]
    assert inside[0] & inside[1]
    assert chosen[0] & chosen[1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=80), st.integers(1, 9))
def test_each_window_has_its_least_hash_chosen(hashes: list[int], window: int) -> None:
    chosen = list(choose_by_winnowing(hashes, window))
    assert chosen == sorted(set(chosen))
    for begin in range(len(hashes) - window + 1):
        assert min(hashes[begin : begin + window]) in [hashes[i] for i in chosen if begin <= i < begin + window]


def test_of_equal_hashes_the_rightmost_is_chosen() -> None:
    """Fewer are chosen so: the next window has the same one."""
    assert list(choose_by_winnowing([1, 1, 2], 2)) == [1]
    assert list(choose_by_winnowing([3], 4)) == [0]
    assert list(choose_by_winnowing([], 4)) == []


def test_a_passage_shorter_than_a_run_is_not_found() -> None:
    """The second promise; and of the length that is promised, it is."""
    tokens = [f"f.a{i}" for i in range(40)]  # three tokens each, with what joins them four

    def passage(length: int, other: str) -> set[int]:
        text = ", ".join([*[f"f.{other}{i}" for i in range(20)], *tokens[: length // 4], f"{other}.end"])
        return {one.hash for one in take_fingerprints(text)}

    assert not passage(RUN - 4, "l") & passage(RUN - 4, "r")
    assert passage(FOUND + 4, "l") & passage(FOUND + 4, "r")


def test_names_numbers_and_layout_make_no_difference_and_structure_does() -> None:
    one = "def f(a):\n    '''Doc.'''\n    return a.sum() + 1  # note\n"
    other = "def g( bcd ) :\n\n    return bcd . sum()+2.5\n"
    assert [kind for kind, _ in read_tokens(one)] == [kind for kind, _ in read_tokens(other)]
    for changed in (one.replace("sum", "mean"), one.replace("+ 1", "- 1"), one.replace("return", "yield")):
        assert [kind for kind, _ in read_tokens(changed)] != [kind for kind, _ in read_tokens(other)]
    assert [line for _, line in read_tokens(one)][-1] == 3


@pytest.mark.parametrize("broken", ["def f(:\n", "x = '''never closed\n", "  a\n b\n", "\0", "f(" * 300, ""])
def test_what_is_no_python_is_read_as_far_as_it_goes(broken: str) -> None:
    text = invent(1)
    assert {one.hash for one in take_fingerprints(text)} - {one.hash for one in take_fingerprints(text + broken)} == (
        set()
    )
    take_fingerprints(broken + text)


def test_a_disguised_copy_is_found_and_independent_work_is_not() -> None:
    texts = {f"s{i}": invent(i) for i in range(6)}
    assert compare(texts).pairs == []
    texts["copy"] = disguise(texts["s3"])
    (pair,) = compare(texts).pairs
    assert {pair.left, pair.right} == {"s3", "copy"}
    assert pair.share > 0.9
    half = texts["s1"].splitlines()[:30] + invent(99).splitlines()[1:11]
    (pair, _) = sorted(compare(texts | {"half": "\n".join(half)}).pairs, key=lambda pair: pair.share)
    assert {pair.left, pair.right} == {"s1", "half"}
    assert THRESHOLD <= pair.share < 0.9


def test_what_was_handed_out_and_what_most_have_is_nobodys_own() -> None:
    starter, usual = invent(50), invent(51)
    texts = {f"s{i}": f"{starter}\n{usual}\n{invent(i)}" for i in range(2 * FEW)}
    assert compare(texts, given=[starter]).pairs == []
    without_usual = {name: text.replace(usual, "") for name, text in texts.items()}
    assert len(compare({name: without_usual[name] for name in ("s0", "s1")}).pairs) == 0  # below the threshold
    few = {name: texts[name] for name in ("s0", "s1")}  # of two, most is both: then it counts
    assert [pair.num_shared for pair in compare(few, given=[starter]).pairs] < [
        pair.num_shared for pair in compare(few).pairs
    ]


def test_who_copied_our_solution_is_told_though_all_names_are_others() -> None:
    solution = invent(7)
    found = compare({"a": disguise(solution), "b": invent(8)}, published=solution)
    assert [(pair.left, pair.right) for pair in found.pairs] == [("a", OURS)]
    assert found.copies == []  # ours is no submission


def test_a_class_is_compared_with_ours_and_without_what_it_was_given(tmp_path: Path) -> None:
    """Files as they are handed in: two who wrote nothing, one who copied our solution, and one that cannot be read."""
    assignment = load_assignment("a2")
    texts = {"ada.py": assignment.starter, "bob.py": assignment.starter, "cy.py": disguise(assignment.solution)}
    paths = [write(tmp_path / name, text) for name, text in texts.items()]
    found = compare_class(assignment, [*paths, write(tmp_path / "dan.zip", "no zip")])
    assert [(pair.left, pair.right) for pair in found.pairs] == [("cy.py", OURS)]
    assert found.copies == []
    assert found.unread == ["dan.zip"]
    assert set(found.texts) == {*texts, OURS}


def test_checks_that_students_are_given_are_nobodys_own(tmp_path: Path) -> None:
    """Handed in as the bundle's folder: two different answers beside the same checks."""
    assignment = load_assignment("a2")
    paths = [tmp_path / "ada", tmp_path / "bob"]
    for seed, path in enumerate(paths):
        write(path / "checks" / "a2" / "checks.py", (assignment.folder / "checks.py").read_text(encoding="utf-8"))
        write(path / "a2.py", invent(seed))
    found = compare_class(assignment, paths)
    assert "observe_draws" in found.texts["ada"]
    assert (found.pairs, found.copies) == ([], [])


def test_copies_are_told_even_where_most_of_the_class_has_them() -> None:
    texts = {f"s{i}": invent(3) if i < 6 else invent(i) for i in range(9)}
    found = compare(texts)
    assert found.pairs == []  # nobody's own any more
    assert found.copies == [[f"s{i}" for i in range(6)]]
    short = "def f(x):\n    return x.sum() + x.mean() * 2 - x.max()\n"
    assert 0 < len(take_fingerprints(short)) < FEWEST
    assert compare({"a": short, "b": short.replace("f", "g")}).copies == []  # too short to tell anything


def test_right_answers_written_otherwise_are_not_alike() -> None:
    """The course's own right variants beside its solution: what the threshold has to be above."""
    shares = []
    for name in ("a1", "a2", "a3", "a4", "a6"):
        assignment = load_assignment(name)
        given = {one.hash for one in take_fingerprints(assignment.starter)}
        ours = {one.hash for one in take_fingerprints(assignment.solution)} - given
        for overlay in assignment.overlays("correct"):
            own = {one.hash for one in take_fingerprints(overlay.source[len(assignment.solution) :])} - given
            if len(own) >= 8:
                shares.append(len(own & ours) / len(own))
    assert len(shares) > 25
    assert max(shares) < 0.4 * THRESHOLD


def test_passages_are_where_the_copy_is() -> None:
    own, copied = invent(1, 20), "\n".join(invent(2, 30).splitlines()[1:25]) + "\n"
    left, right = own.replace("    return x\n", copied), f"def other(x, y):\n{copied}\n{invent(3, 5)}"
    (pair,) = compare({"left": left, "right": right}).pairs
    passage = pair.passages[0]
    start = len(own.splitlines()) - 1
    assert passage.left[0] in (start, start + 1, start + 2)
    assert passage.right[0] in (1, 2, 3)
    assert abs((passage.left[1] - passage.left[0]) - 23) <= 3
    assert passage.left[0] - passage.right[0] in (start - 1, start)


def test_code_that_repeats_itself_is_one_passage() -> None:
    block = "\n".join(invent(2, 12).splitlines()[1:-1])
    thrice = f"def work(x, y):\n{block}\n{block}\n{block}\n"
    (pair,) = compare({"left": thrice, "right": thrice}).pairs
    assert len(pair.passages) == 1


def test_the_page_shows_both_and_lets_nothing_of_theirs_be_markup() -> None:
    evil = invent(4).replace("def work", "def work  # <script>alert(1)</script>\\\n   ")
    page = to_page("A <b>title</b>", compare({"<i>a</i>": evil, "b&c": evil}))
    assert "<script>" not in page
    assert "<i>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<pre>") == 2
    assert page.count('class="b0"') >= 2 * 35
    for here, there in (("left", "right"), ("right", "left")):  # each passage leads to itself on the other side
        assert f'<a id="pair0-{here}0" href="#pair0-{there}0">' in page
    assert "default-src 'none'" in page
    assert f"at least {THRESHOLD:.0%}" in page
    assert "no pair" in to_page("t", compare({"a": invent(1), "b": invent(2)}))


def test_the_page_lists_all_pairs_and_shows_the_likest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "MAX_VIEWS", 2)
    page = to_page("t", compare(dict.fromkeys("abc", invent(4))))
    assert page.count("<tr><td>100%") == 3
    assert re.findall(r'href="#(pair\d)"', page) == ["pair0", "pair0", "pair1", "pair1"]
    assert re.findall(r'class="pair" id="(pair\d)"', page) == ["pair0", "pair1"]


def test_the_page_counts_lines_as_python_does() -> None:
    """Whatever stands in a comment, and however lines end on another system."""
    lines = ["# \f", "# \u2028 \x1c", "x = 1\r", *invent(4).splitlines()]
    page = to_page("t", compare({"a": "\n".join(lines) + "\n", "b": invent(4)}))
    left, right = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    assert left.count("\n") + 1 == len(lines)
    assert right.count("\n") + 1 == len(invent(4).splitlines())
    assert "\r" not in page
    marked = [int(line) for line in re.findall(r'"n"> +(\d+)  </span><span class="b0">', left)]
    assert "def work" in left.split("\n")[marked[0] - 1]


def test_the_result_does_not_depend_on_the_order() -> None:
    texts = {"a": invent(1), "b": disguise(invent(1)), "c": invent(1).replace("not x", "-x"), "d": invent(5)}
    shares = {frozenset((one.left, one.right)): one.share for one in compare(texts).pairs}
    turned = {frozenset((one.left, one.right)): one.share for one in compare(dict(reversed(texts.items()))).pairs}
    assert shares == turned
    assert set(shares) == {frozenset(pair) for pair in combinations("abc", 2)}


def test_the_example_has_enough_code_to_be_compared() -> None:
    (pair,) = compare({"a": example().solution}, published=example().solution, given=[example().starter]).pairs
    assert pair.share == 1.0
    assert WINDOW > 1
