"""Laws of the checks on text, against cases that can be judged by eye."""

from __future__ import annotations

import pytest

from minispec.lab.training.python_files import prompt_of, small_functions
from minispec.lab.training.text_checks import (
    answer_of,
    common_words,
    english_words,
    function_of,
    has_loop,
    parses,
    repeated_share,
    simplest,
    unknown_words,
    without_cut_word,
)

KNOWN = frozenset(english_words(["The fox ran. The fox didn't eat Tom's cake."] * 2, ["Old kings wept."] * 3))


def test_a_word_must_be_seen_often_enough():
    assert english_words(["fox fox hen"], ["king king king owl owl"]) == ("fox", "king")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("The kings' cake ran.", []),
        ("The FOX didn't eat the king's cake", ["king's"]),  # "kings" is known, "king" is not
        ("The fox's cake.", []),
        ("The fox let't ran", ["let't"]),
        ("The foxx wept 12 times.", ["foxx", "times"]),
        ("", []),
    ],
)
def test_words_that_are_not_english_are_found(text, unknown):
    assert unknown_words(text, KNOWN) == unknown


def test_half_a_word_at_the_end_is_not_judged():
    assert without_cut_word("The fox r") == "The fox "
    assert without_cut_word("The fox ran.") == "The fox ran."


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("The fox ran. It saw a hen. The hen ran too. They met a dog.", False),
        ("The fox ran. The fox ran. They met.", False),  # twice may be style
        ("The fox ran. They met. The fox ran! A dog came. The fox ran?", True),
        ('"Yes!" "Yes!" "Yes!" said the fox.', False),
        ("He ran. She sat. We ate. Then he ran. He ran. She sat. We ate.", True),  # three in a row come again
        ("He ran. She sat. We ate. He ran. We ate. She sat.", False),
        ("", False),
    ],
)
def test_loops_are_found(text, loop):
    assert has_loop(text) is loop


@pytest.mark.parametrize(
    ("tokens", "share"),
    [([1, 2, 3], 0.0), ([1, 2, 3, 4, 5], 0.0), ([1] * 8, 0.8), ([1, 2, 3, 4, 9, 1, 2, 3, 4], 1 / 6)],
)
def test_repeated_4_grams(tokens, share):
    assert repeated_share(tokens) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" 3 x 4 = 12.\nThe answer is 12.", 12),
        ("The answer is 7. The answer is 8.", 7),
        ("The answer is 1", 1),
        ("12", None),
    ],
)
def test_the_answer_is_the_first_one(text, answer):
    assert answer_of(text) == answer


PROMPT = 'def first(items):\n    """Return the first."""\n'


@pytest.mark.parametrize(
    ("continuation", "ended", "good"),
    [
        ("    return items[0]", True, True),
        ("    return items[0]\n\n\ndef second(items:\n", False, True),  # what follows the function does not count
        ("    return items[0", True, False),
        ("    for item in items:\n        return item\n    ret", False, True),  # a line the limit cut
        ("    for item in items:\n    return item", True, False),
        ("    return [\n        items[0],\n]\n", True, True),
        ("", True, True),  # a docstring is a body
    ],
)
def test_code_is_read_up_to_the_end_of_the_function(continuation, ended, good):
    assert parses(function_of(PROMPT, continuation, ended)) is good


SOURCE = (
    '''
import os


@decorated
def first(items, default=None):
    """Return the first item.

    More about it.
    """
    for item in items:
        return item
    return default


def undocumented(items):
    return items


def only_a_docstring():
    """Do nothing."""


class Shelf:
    def empty(self):
        """Take everything
        away."""
        self.books = []


def long(items):
    """Return much."""
    return [
'''
    + "        items,\n" * 200
    + "    ]\n"
)


def test_small_functions_are_cut_out_with_summaries():
    first, empty = small_functions(SOURCE)
    assert first.startswith('def first(items, default=None):\n    """Return the first item."""\n    for item')
    assert empty == 'def empty(self):\n    """Take everything away."""\n    self.books = []'
    assert all(map(parses, (first, empty)))
    assert prompt_of(first) == 'def first(items, default=None):\n    """Return the first item."""\n'
    assert small_functions("def broken(:\n") == []


def test_the_simplest_books_have_common_words_and_short_sentences():
    import re

    plain, long_winded, rare = (
        "The fox ran. The hen sat.",
        "The fox ran and the hen sat and the fox ran.",
        "A lynx. A stoat.",
    )
    common = common_words([plain], 5)
    end = re.compile(r"\.")
    books = (rare, plain, long_winded)
    assert simplest(books, 1 / 3, common, end) == (plain,)
    assert simplest(books, 1.0, common, end) == books  # the old order is kept
    assert simplest(books, 0.0, common, end) == (plain,)
