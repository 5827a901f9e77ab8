"""Traces: files that hold the events of a run, one per line, for replays, policies and other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from minispec.engine.generation.events import Drafted, Emitted, Event, Prefilled, Verified, to_dict
from minispec.engine.generation.result import Generation, Metrics
from minispec.engine.records import Likely, Piece, TokenDetail
from minispec.errors import InputError, explain, quote


def to_line(event: Event, decode: Callable[[tuple[int, ...]], str]) -> str:
    """Return an event as a line of JSON.

    Parameters
    ----------
    event : Event
    decode : callable
        Token ids to text.
    """
    return json.dumps(to_record(event, decode), ensure_ascii=False)


def to_record(event: Event, decode: Callable[[tuple[int, ...]], str]) -> dict[str, Any]:
    """Return an event as JSON-able data; tokens have their texts next to them, so that a reader needs no model.

    Parameters
    ----------
    event : Event
    decode : callable
        Token ids to text.
    """
    told = to_dict(event)
    if isinstance(event, (Drafted, Emitted)):
        told["texts"] = [
            decode((token,)) for token in (event.tokens if isinstance(event, Drafted) else event.token_ids)
        ]
    if isinstance(event, Emitted):
        for detail in told["details"]:
            for likely in detail["top"]:
                likely["text"] = decode((likely["token"],))
    return told


@dataclass(frozen=True)
class Trace:
    """A recorded run.

    Attributes
    ----------
    events : tuple of Event
        Without the last one, ``Finished``.
    generation : Generation
        Its result; it has no steps, which the events tell better.
    texts : mapping of int to str
        Of every drafted token.
    """

    events: tuple[Event, ...]
    generation: Generation
    texts: Mapping[int, str]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of drafted tokens."""
        return "".join(self.texts[token] for token in tokens)


def read_trace(path: Path) -> Trace:
    """Read what ``minispec generate --trace`` wrote.

    Raises
    ------
    InputError
        If the file cannot be read or is no trace.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{quote(str(path))} cannot be read ({error.strerror}). Name a file of --trace") from None
    except UnicodeError as error:
        raise _no_trace(path, f": it is no text ({explain(error)})") from None
    texts: dict[int, str] = {}
    events: list[Event] = []
    generation = None
    # Not splitlines(): that also cuts at U+2028 and others, which a text may contain.
    for number, written in enumerate(content.split("\n"), 1):
        if not written.strip():
            continue
        try:
            line = _read_object(written)
            if generation is not None:
                raise ValueError("the run has ended before it")
            if line["event"] == "drafted":
                texts |= {token: str(text) for token, text in zip(line["tokens"], line["texts"], strict=True)}
            if line["event"] == "finished":
                generation = _read_generation(line, events)
            else:
                events.append(_read_event(line))
        except KeyError as error:
            raise _no_trace(path, f" of this version: line {number} lacks {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise _no_trace(path, f" of this version: line {number} cannot be read ({explain(error)})") from None
    if generation is None:
        raise _no_trace(path, " of a whole run: it has no event that ends one")
    return Trace(tuple(events), generation, texts)


def _no_trace(path: Path, why: str) -> InputError:
    return InputError(f"{quote(str(path))} is no trace{why}. Write one with minispec generate --trace FILE")


def _read_object(written: str) -> dict[str, Any]:
    try:
        line = json.loads(written)
    except json.JSONDecodeError as error:  # of the line it says that it is the first
        raise ValueError(f"no JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("no JSON: it is nested too deeply") from None
    if not isinstance(line, dict):
        raise TypeError(f"{quote(written.strip())} is no object")
    return line


_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in (Prefilled, Drafted, Verified, Emitted)}


def _read_event(line: Mapping[str, Any]) -> Event:
    kind = _KINDS.get(str(line["event"]))
    if kind is None:
        raise ValueError(f"there is no event {quote(line['event'])}")
    known: dict[str, Any] = {field.name: _to_tuple(line[field.name]) for field in fields(kind)}
    if kind is Emitted:
        known["pieces"] = tuple(Piece(**piece) for piece in line["pieces"])
        known["details"] = tuple(_read_detail(detail) for detail in line["details"])
    else:
        known["elapsed_s"] = float(line["elapsed_s"])
    event: Event = kind(**known)
    return event


def _read_detail(told: Mapping[str, Any]) -> TokenDetail:
    names = [field.name for field in fields(Likely)]
    top = tuple(Likely(**{name: likely[name] for name in names}) for likely in told["top"])
    return TokenDetail(**{**told, "top": top})


def _read_generation(line: Mapping[str, Any], events: Sequence[Event]) -> Generation:
    known = {field.name: _to_tuple(line[field.name]) for field in fields(Generation) if field.name in line}
    known["metrics"] = Metrics(**{name: _to_tuple(value) for name, value in line["metrics"].items() if name != "costs"})
    known["pieces"] = tuple(piece for event in events if isinstance(event, Emitted) for piece in event.pieces)
    return Generation(**known)


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
