"""The picture of a step with a tree, and which path was kept."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from minispec.engine.generation.events import Drafted, Verified
from minispec.lab.viz.film import find_path
from minispec.lab.viz.trees import draw_tree, find_longest

WORDS = ["a", "b", "c", "d\n", "e", "f"]


def decode(tokens):
    return "".join(WORDS[token] for token in tokens)


def step(tokens, parents, path, own=5, number=0):
    rejected = tuple(token for node, token in enumerate(tokens) if node not in path)
    drafted = Drafted(number, 9, tokens, (0.5,) * len(tokens), 0.1, parents)
    return drafted, Verified(number, 9, len(path), rejected, own, "recovered", (), 0.1)


def render(picture):
    out = io.StringIO()
    Console(file=out, width=60, color_system=None).print(picture)
    return out.getvalue()


@pytest.mark.parametrize(
    ("tokens", "parents", "path"),
    [
        ((0, 1, 2), None, [0, 1]),
        ((0, 1, 2), (-1, -1, 0), [0, 2]),
        ((0, 1, 2, 2), (-1, -1, 0, 1), [1, 3]),  # both leaves read the same: the one on the path was kept
        ((0, 1, 2, 2), (-1, -1, 0, 1), [0, 2]),
        ((0, 1, 2), (-1, -1, 0), []),
        ((1, 0, 0, 1), (-1, -1, 0, 1), [1, 3]),
        ((2, 2), (-1, -1), [0]),
    ],
)
def test_the_path_is_the_one_that_was_kept(tokens, parents, path):
    assert find_path(*step(tokens, parents, path)) == path


def test_a_picture_has_every_candidate_and_says_which_path_was_kept():
    picture = draw_tree(*step((0, 1, 2, 3), (-1, -1, 0, 0), [0, 3]), decode)
    assert render(picture).splitlines() == [
        "the text so far",
        "├── a  0.50  ✓",
        "│   ├── c  0.50",
        "│   └── d↵  0.50  ✓",
        "│       └── f  from the target",
        "└── b  0.50",
    ]
    kept, rejected = picture.children[0].label, picture.children[1].label
    assert kept.spans[0].style != rejected.spans[0].style


def test_nothing_kept_and_certain_candidates():
    drafted, verified = step((0, 1), (-1, -1), [])
    certain = Drafted(0, 9, drafted.tokens, (1.0, 1.0), 0.1, drafted.parents)
    assert render(draw_tree(certain, verified, decode)).split() == [
        "the",
        "text",
        "so",
        "far",
        "├──",
        "a",
        "├──",
        "b",
        "└──",
        "f",
        "from",
        "the",
        "target",
    ]


def test_the_longest_path_of_a_run():
    steps = [step((0, 1), (-1, -1), [0], number=0), step((0, 1), (-1, 0), [0, 1], number=1), step((0,), None, [0])]
    events = [event for pair in steps for event in pair]
    assert find_longest(events) == steps[1]
    assert find_longest(steps[2]) is None
    assert find_longest([]) is None
