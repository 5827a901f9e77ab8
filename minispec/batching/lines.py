"""A file of requests in, a file of results out: a JSON object a line, in the same order, each written when it is there.

What a line of the output holds depends on its request alone: no times. So the file is the same byte for byte whatever
the company, the number of workers, or how often the run was killed and taken up again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from minispec.batching.engine import Engine
from minispec.errors import InputError, OptionError, OutputError, PromptError, reason, shown
from minispec.generation.events import Event, Finished
from minispec.generation.options import Options
from minispec.generation.result import Generation

_KINDS = {"str": str, "int": int, "float": (int, float), "bool": bool, "tuple": (str, list), "None": type(None)}


@dataclass(frozen=True, slots=True)
class Request:
    """One line of the input.

    Parameters
    ----------
    line : int
        Its number, from 1.
    id : str
        Its name in the output; the line's number unless the line says otherwise.
    prompt : str or list of int
    draft : str or None
    options : mapping
        Of :class:`minispec.generation.options.Options`.
    """

    line: int
    id: str
    prompt: str | list[int]
    draft: str | None
    options: Mapping[str, Any]

    def key(self, models: Mapping[str, Any]) -> str:
        """Return what tells this request from any other: a hash of all that its text depends on."""
        everything = {"prompt": self.prompt, "draft": self.draft, "options": dict(self.options), "models": dict(models)}
        return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be served.

    Parameters
    ----------
    line : int
    id : str or None
    problem : str
    """

    line: int
    id: str | None
    problem: str


def read_requests(path: Path, defaults: Mapping[str, Any]) -> list[Request | BadLine]:
    """Read the lines of a file; blank ones are skipped.

    Parameters
    ----------
    path : Path
        Each line is a JSON object: ``{"prompt": …}`` with, if you like, ``"id"``, ``"draft"`` and any option of a
        generation by its name.
    defaults : mapping
        ``draft`` and options, for lines that do not say otherwise. The seed is that of the first line; the next line
        has the next seed.

    Raises
    ------
    PromptError
        If the file cannot be read, or has no line.
    """
    try:
        content = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeError) as error:
        raise PromptError(f"{path} cannot be read as text ({reason(error)}). Give a file of JSON lines") from None
    found: list[Request | BadLine] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            request = _read_line(number, line, {**defaults, "seed": defaults["seed"] + len(found)})
        except InputError as error:
            found.append(BadLine(number, None, str(error)))
            continue
        if request.id in seen:
            problem = f"id {shown(request.id)} is that of line {seen[request.id]} too; give each line one of its own"
            found.append(BadLine(number, request.id, problem))
        else:
            seen[request.id] = number
            found.append(request)
    if not found:
        raise PromptError(f'{path} has no lines. Write one request a line, such as {{"prompt": "Once upon a time"}}')
    return found


def _read_line(number: int, line: str, defaults: Mapping[str, Any]) -> Request:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise PromptError(f'no JSON ({reason(error)}); a line is an object such as {{"prompt": "Once"}}') from None
    if not isinstance(entry, dict):
        raise PromptError(f'{shown(line.strip())} is no object; a line is one, such as {{"prompt": "Once"}}')
    if "prompt" not in entry:
        raise PromptError(f'no key "prompt"; the line has {", ".join(map(repr, entry)) or "no key at all"}')
    types = _option_types()
    unknown = [key for key in entry if key not in ("prompt", "id", "draft", *types)]
    if unknown:
        raise OptionError(f"{unknown[0]!r} is no option; they are draft, {', '.join(types)}")
    prompt = entry.pop("prompt")
    is_ids = isinstance(prompt, list) and all(type(token) is int for token in prompt)
    if not isinstance(prompt, str) and not is_ids:
        raise PromptError(f"prompt is {shown(json.dumps(prompt))}; it is a text, or a list of token ids")
    name = entry.pop("id", number)
    for text in (prompt, name):
        if isinstance(text, str) and not _is_unicode(text):
            raise PromptError(
                f"{shown(text)} holds half a surrogate pair, which no text has; write the character itself"
            )
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        raise OptionError(f"id is {shown(json.dumps(name))}; it is a text or a number")
    draft = entry.pop("draft", defaults["draft"])
    if not isinstance(draft, (str, type(None))):
        raise OptionError(f"draft is {shown(json.dumps(draft))}; it is a text, or null for none")
    for key, value in entry.items():
        if not isinstance(value, types[key]) or (isinstance(value, bool) and bool not in types[key]):
            raise OptionError(f"{key} is {shown(json.dumps(value))}, which is of the wrong type")
    options = {**{key: value for key, value in defaults.items() if key != "draft"}, **entry}
    stop = options.get("stop", ())
    options["stop"] = [stop] if isinstance(stop, str) else list(stop)
    return Request(number, str(name), prompt, None if draft == "none" else draft, options)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeError:
        return False
    return True


def _option_types() -> dict[str, tuple[type, ...]]:
    """Return the JSON types that each option may have."""
    types = {}
    for field in fields(Options):
        kinds = [_KINDS[kind] for kind in _KINDS if kind in str(field.type)]
        types[field.name] = tuple(each for kind in kinds for each in (kind if isinstance(kind, tuple) else (kind,)))
    return types


def add_requests(
    engine: Engine, requests: Sequence[Request | BadLine]
) -> tuple[dict[int, Request], list[Request | BadLine]]:
    """Add requests to an engine, which checks each of them.

    Returns
    -------
    dict of int to Request
        Those that were added, by the engine's number.
    list of Request or BadLine
        All of them in order; what the engine refused is a bad line.
    """
    added: dict[int, Request] = {}
    checked: list[Request | BadLine] = []
    for request in requests:
        if isinstance(request, Request):
            try:
                added[engine.add(request.prompt, draft=request.draft, **request.options)] = request
            except InputError as error:
                request = BadLine(request.line, request.id, str(error))
        checked.append(request)
    return added, checked


def run_requests(
    engine: Engine, added: Mapping[int, Request], models: Mapping[str, Any], watch: Callable[[Event], None]
) -> Iterator[tuple[Request, dict[str, Any]]]:
    """Run an engine to the end; yield each request with its line of the output, as they end.

    Parameters
    ----------
    engine : Engine
    added : mapping of int to Request
    models : mapping
        What besides a request its text depends on: see :meth:`Request.key`.
    watch : callable
        Is told of every event.
    """
    for number, event in engine:
        watch(event)
        if isinstance(event, Finished):
            yield added[number], result_line(added[number], event.generation, models)


def result_line(request: Request, generation: Generation, models: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's line of the output, as JSON can hold it; nothing in it depends on company or time."""
    metrics = generation.metrics
    return {
        "id": request.id,
        "text": generation.text,
        "token_ids": list(generation.token_ids),
        "finish_reason": generation.finish_reason,
        "stop": generation.stop,
        "num_tokens": metrics.num_tokens,
        "num_steps": len(generation.steps),
        "num_draft_tokens": metrics.num_draft_tokens,
        "num_accepted_tokens": metrics.num_accepted_tokens,
        "guarantee": generation.guarantee,
        "request": request.key(models),
    }


def error_line(bad: BadLine) -> dict[str, Any]:
    """Return the output of a line that could not be served."""
    return {"id": bad.id, "line": bad.line, "error": bad.problem}


class Results:
    """The output file: lines in the order of the requests, the next one written as soon as it is there.

    Parameters
    ----------
    path : Path
        Made if it does not exist. What a run that was killed has left there is kept; a line that it was writing is cut
        off.
    requests : sequence of Request or BadLine
        All of the run, in order.
    models : mapping
        See :meth:`Request.key`.

    Raises
    ------
    OutputError
        If the file belongs to other requests, or cannot be written.
    """

    def __init__(self, path: Path, requests: Sequence[Request | BadLine], models: Mapping[str, Any]) -> None:
        self._path = path
        self._order = [request.line for request in requests]
        self._held: dict[int, dict[str, Any]] = {}
        try:
            content = path.read_bytes() if path.exists() else b""
            whole = content[: content.rfind(b"\n") + 1]
            lines = whole.decode("utf-8", errors="replace").splitlines()
            self._check(lines, requests, models)
            self.num_written = len(lines)
            with path.open("ab") as file:
                file.truncate(len(whole))
        except OSError as error:
            raise OutputError(f"{path} cannot be written ({error.strerror}). Choose another place") from None

    def _check(self, lines: Sequence[str], requests: Sequence[Request | BadLine], models: Mapping[str, Any]) -> None:
        if len(lines) > len(requests):
            raise OutputError(
                f"{self._path} has {len(lines)} lines, and there are {len(requests)} requests; it belongs to another "
                "run. Name another file, or delete it"
            )
        for number, (line, request) in enumerate(zip(lines, requests, strict=False), 1):
            try:
                entry = json.loads(line)
                found = entry.get("request"), entry.get("line")
            except (ValueError, AttributeError):
                raise OutputError(
                    f"line {number} of {self._path} is no result; name another file, or delete this one"
                ) from None
            wanted = (request.key(models), None) if isinstance(request, Request) else (None, request.line)
            if found != wanted:
                raise OutputError(
                    f"line {number} of {self._path} is not the result of line {request.line}: prompt, options, models "
                    "or the order of lines have changed. Name another file, or delete it"
                )

    def add(self, line: int, entry: dict[str, Any]) -> None:
        """Take the result of an input line, and write all that can be written in order."""
        self._held[line] = entry
        ready = []
        while self.num_written < len(self._order) and self._order[self.num_written] in self._held:
            ready.append(json.dumps(self._held.pop(self._order[self.num_written]), ensure_ascii=False) + "\n")
            self.num_written += 1
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(ready))
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written ({error.strerror}). Choose another place") from None
