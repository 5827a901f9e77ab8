"""Beside stop 6: text on its way out, held back where it may be the beginning of a stop string.

Stop strings are matched as if the text arrived one character at a time: the first character that completes any stop
ends the text (the longest stop, if two complete there).
"""

from __future__ import annotations

from collections.abc import Sequence

from minispec.engine.records import Piece


class HeldText:
    """Pieces of text that are not released yet.

    Parameters
    ----------
    stops : sequence of str
        The stop strings, none of them empty.

    Attributes
    ----------
    released : str
        The text that is safe to show.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._longest_stop = max(map(len, stops), default=0)
        self._held: list[Piece] = []
        self.released = ""

    def add(self, piece: Piece) -> None:
        """Hold a piece, behind the others."""
        self._held.append(piece)

    def find_stop(self, text: str) -> tuple[str, int] | None:
        """Return the stop completed first within new ``text`` and where it begins, from the start of ``text``."""
        if not self._stops:
            return None
        before = self._window()
        window = before + text
        matches = []
        for stop in self._stops:
            # Only a match that ends within the new text is new; it may begin before it.
            begin = window.find(stop, max(0, len(before) - len(stop) + 1))
            if begin >= 0:
                matches.append((begin + len(stop), -len(stop), stop))
        if not matches:
            return None
        end, minus_length, stop = min(matches)
        return stop, end + minus_length - len(before)

    def cut(self, piece: Piece, begin: int) -> list[Piece]:
        """End the text ``begin`` characters into ``piece``; a negative number falls in what was held back."""
        length = len(self._window()) + begin
        self._held.append(piece)
        return self._take(length)

    def release(self) -> list[Piece]:
        """Release all but the longest suffix that may be the beginning of a stop string."""
        if not self._stops:
            return self.release_all()  # nothing is waited for
        window = self._window()
        suffix = min(len(window), self._longest_stop - 1)
        while suffix > 0 and not self._begins_stop(window[len(window) - suffix :]):
            suffix -= 1
        return self._take(len(window) - max(0, suffix))

    def release_all(self) -> list[Piece]:
        """Release everything."""
        whole, self._held = self._held, []
        return self._let_go([piece for piece in whole if piece.text])

    def _begins_stop(self, text: str) -> bool:
        """Return whether more is to come of a stop that begins so; a whole one was seen, and did not count."""
        return any(len(stop) > len(text) and stop.startswith(text) for stop in self._stops)

    def _window(self) -> str:
        return "".join(piece.text for piece in self._held)

    def _take(self, length: int) -> list[Piece]:
        """Move the first ``length`` held characters to the released text."""
        released: list[Piece] = []
        kept: list[Piece] = []
        for piece in self._held:
            head, tail = piece.text[:length], piece.text[length:]
            length -= len(head)
            if head:
                released.append(Piece(head, piece.source))
            if tail:
                kept.append(Piece(tail, piece.source))
        self._held = kept
        return self._let_go(released)

    def _let_go(self, pieces: list[Piece]) -> list[Piece]:
        """Count pieces as released, and return them."""
        for piece in pieces:
            self.released += piece.text
        return pieces
