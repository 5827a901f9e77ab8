"""A file of requests: a JSON object a line, read, added to an engine and run."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from minispec.engine.batching.engine import Engine
from minispec.engine.batching.models import TARGET
from minispec.engine.generation.options import Options
from minispec.errors import InputError, OptionError, PromptError, explain, name_fields, quote, quote_json

_WORDS = {float: "a number", int: "a whole number", str: "a text", list: "a list of texts", bool: "true or false",
          type(None): "null"}  # fmt: skip
_KINDS = {"str": str, "int": int, "float": float, "bool": bool, "tuple": (str, list), "None": type(None)}


FORMAT = 2
"""Of a request's result; another number is another request, so that no file holds results of two kinds."""


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
        Of :class:`minispec.engine.generation.options.Options`.
    keys : collection of str
        What the line says itself; the rest are the command's defaults.
    """

    line: int
    id: str
    prompt: str | list[int]
    draft: str | None
    options: Mapping[str, Any]
    keys: Collection[str] = ()

    def key(self, models: Mapping[str, Any]) -> str:
        """Return what tells this request from any other: a hash of all that its text depends on.

        Parameters
        ----------
        models : mapping
            How models are loaded; under ``"fingerprints"``, what tells them, and files, from others of the same name.
        """
        known: Mapping[str, str] = models.get("fingerprints", {})
        draft, gamma = self.draft or "", self.options.get("gamma")
        ours = {name: print_ for name, print_ in known.items() if name in (TARGET, gamma) or name in draft}
        everything = {
            "format": FORMAT,
            "prompt": self.prompt,
            "draft": self.draft,
            "options": dict(self.options),
            "models": {**models, "fingerprints": ours},
        }
        return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:16]

    def refuse(self, error: InputError) -> BadLine:
        """Return the line as one that cannot be served.

        A flag does not change what a line says itself: an error about that names fields.
        """
        said = str(error)
        words = {word.replace("-", "_") for word in re.findall(r"[a-z][a-z_-]*", said)}
        if not words.isdisjoint(self.keys):
            said = name_fields(said, ("draft", *_option_types()))
        return BadLine(self.line, self.id, said)


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
        content = path.read_bytes().decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except (OSError, UnicodeError) as error:
        raise PromptError(f"{path} cannot be read as text ({explain(error)}). Give a file of JSON lines") from None
    found: list[Request | BadLine] = []
    seen: dict[str, int] = {}
    # Not splitlines(): that also cuts at U+2028 and others, which a prompt may contain.
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        name, is_named = None, False
        try:
            entry = _read_object(line)
            is_named = "id" in entry
            name = _take_name(entry, number)
            request = _read_request(number, name, entry, {**defaults, "seed": defaults["seed"] + len(found)})
        except InputError as error:
            found.append(BadLine(number, name, str(error)))
            continue
        if request.id in seen:
            why = "" if is_named else "a line without an id goes by its number, and "
            problem = (
                f"{why}id {quote(request.id)} is that of line {seen[request.id]} too; give each line one of its own"
            )
            found.append(BadLine(number, request.id, problem))
        else:
            seen[request.id] = number
            found.append(request)
    if not found:
        raise PromptError(f'{path} has no lines. Write one request a line, such as {{"prompt": "Once upon a time"}}')
    return found


def _read_object(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line, object_pairs_hook=_take_pairs)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise PromptError(f'no JSON ({explain(error)}); a line is an object such as {{"prompt": "Once"}}') from None
    if not isinstance(entry, dict):
        raise PromptError(f'{quote(line.strip())} is no object; a line is one, such as {{"prompt": "Once"}}')
    return entry


def _take_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; with a key twice, JSON leaves open which value holds."""
    entry = dict(pairs)
    if len(entry) < len(pairs):
        [(again, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise PromptError(f"key {quote_json(again)} is there more than once; a line names each key once. Leave one out")
    return entry


def _take_name(entry: dict[str, Any], number: int) -> str:
    name = entry.pop("id", number)
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        raise OptionError(f"id is {quote_json(name)}; it is a text or a number")
    _require_unicode(str(name))
    return str(name)


def _read_request(number: int, name: str, entry: dict[str, Any], defaults: Mapping[str, Any]) -> Request:
    if "prompt" not in entry:
        raise PromptError(f'no key "prompt"; the line has {", ".join(map(repr, entry)) or "no other key"}')
    types = _option_types()
    unknown = [key for key in entry if key not in ("prompt", "draft", *types)]
    if unknown:
        raise OptionError(f"{unknown[0]!r} is no key of a request; they are id, prompt, draft, {', '.join(types)}")
    keys = frozenset(entry)
    prompt = entry.pop("prompt")
    is_ids = isinstance(prompt, list) and all(type(token) is int for token in prompt)
    if not isinstance(prompt, str) and not is_ids:
        raise PromptError(f"prompt is {quote_json(prompt)}; it is a text, or a list of token ids")
    if isinstance(prompt, str):
        _require_unicode(prompt)
    draft = entry.pop("draft", defaults["draft"])
    if not isinstance(draft, (str, type(None))):
        raise OptionError(f"draft is {quote_json(draft)}; it is a text, or null for none")
    for key, value in entry.items():
        if not _is_of(value, types[key]):
            words = [word for kind, word in _WORDS.items() if kind in types[key]]
            raise OptionError(f"{key} is {quote_json(value)}; it must be {' or '.join(words)}")
    options = {**{key: value for key, value in defaults.items() if key != "draft"}, **entry}
    stop = options.get("stop", ())
    options["stop"] = [stop] if isinstance(stop, str) else list(stop)
    return Request(number, name, prompt, None if draft == "none" else draft, options, keys)


def _is_of(value: object, types: tuple[type, ...]) -> bool:
    """Whether a value is of one of the types; a whole number is a number, and true and false are none."""
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types) or (isinstance(value, int) and float in types)


def _require_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeError:
        raise PromptError(
            f"{quote(text)} holds half a surrogate pair, which no text has; write the character itself"
        ) from None


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
                request = request.refuse(error)
        checked.append(request)
    return added, checked
