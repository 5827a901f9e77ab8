"""Where a text ends and what of it may be shown, against rules that look at one character at a time."""

from __future__ import annotations

import functools
import itertools
import random

from minispec.engine.generation.stopping import HeldText, Limits, Stopper
from minispec.engine.laws import ending
from minispec.engine.records import Piece
from tests.engine.generation.tiny import byte_tokenizer
from tests.engine.laws.space import LOADED, distance_of, table_target

from .base import check

_STOP_SETS = [("ab",), ("aa", "baa"), ("b", "ab", "aab"), ("abab", "ba"), ("aba",)]


def _first_stop(text: str, stops: tuple[str, ...]) -> tuple[str, int] | None:
    """The stop completed by the earliest character, the longest if several, and where it begins."""
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            stop = max(complete, key=len)
            return stop, end - len(stop)
    return None


def _holds_back(text: str, stops: tuple[str, ...]) -> int:
    """How long the longest end of the text is that some stop begins with."""
    return max((n for n in range(1, len(text) + 1) if any(stop[:n] == text[-n:] for stop in stops)), default=0)


@check("trace", "text in pieces: what is held back, released and cut after each, character by character")
def held_text() -> float:
    generator, wrong = random.Random(0), 0
    for stops, _ in itertools.product(_STOP_SETS, range(30)):
        held, text, shown = HeldText(stops), "", []
        for number in range(12):
            piece = "".join(generator.choice("abc") for _ in range(generator.randrange(4)))
            found = held.find_stop(piece)
            wanted = _first_stop(text + piece, stops)
            wrong += (found is None) != (wanted is None)
            if found is None or wanted is None:
                held.add(Piece(piece, f"source {number}"))
                text += piece
                shown += held.release()
                wrong += held.released != text[: len(text) - _holds_back(text, stops)]
                continue
            wrong += (found[0], len(text) + found[1]) != wanted
            shown += held.cut(Piece(piece, f"source {number}"), found[1])
            text = text[: wanted[1]] if wanted[1] < len(text) else text + piece[: wanted[1] - len(text)]
            break
        else:
            shown += held.release_all()
        wrong += held.released != text or "".join(piece.text for piece in shown) != text
    return float(wrong)


@check("trace", "each character is released under the source of the token that completed it")
def sources_of_text() -> float:
    held, shown = HeldText(("abc", "xa")), []
    for text, source in (("x", "first"), ("", "second"), ("ab", "third"), ("d", "fourth")):
        held.add(Piece(text, source))
        shown += held.release()
    wanted = [("x", "first"), ("ab", "third"), ("d", "fourth")]
    return float([(piece.text, piece.source) for piece in shown] != wanted)


_BYTES = byte_tokenizer([b"\xc3", b"\xa9a", b"a", b"b\xc3"], ["<|endoftext|>"])
_TEXT_LIMITS = [
    Limits(4, 64, ("a\u00e9",), frozenset({4})),
    Limits(3, 64, ("\u00e9", "ba"), frozenset({4})),
    Limits(5, 7, ("\ufffda",), frozenset({4})),
    Limits(4, 7, ("b",), frozenset({4})),
    Limits(4, 7, ("a",), frozenset({4})),
    Limits(4, 7, (), frozenset({4})),
]


@functools.cache
def _texts():
    """Every text of four tokens whose characters straddle them, and where it ends."""
    cases = []
    for limits, tokens in itertools.product(_TEXT_LIMITS, itertools.product(range(5), repeat=4)):
        ends = (ending(tokens[:n], limits, 3, _BYTES) for n in range(1, 5))
        cases.append((limits, tokens, next((end for end in ends if end is not None), None)))
    return cases


@check("trace", "texts whose characters straddle tokens, some never finished: ids, text, reason and stop of 3,750")
def ends_of_text() -> float:
    wrong = 0
    for limits, tokens, wanted in _texts():
        stopper, kept, finish = Stopper(limits, _BYTES, 3), [], None
        for token in tokens:
            _, finish, keep = stopper.push(token, "plain")
            kept += [token] * keep
            if finish is not None:
                break
        found = None if finish is None else (tuple(kept), stopper.text, finish.reason, finish.stop)
        wrong += found != wanted
    return float(wrong)


@check("law", "the exact law where one token makes a stop: it is no part of the output")
def law_of_a_stop_of_one_token() -> float:
    return distance_of(table_target(eos=False), LOADED["table"], gamma=2, max_tokens=3, stop=("b",))
