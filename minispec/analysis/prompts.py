"""Prompt files: what an experiment runs on, and the prompts that come with minispec.

A file that ends in ``.jsonl`` has one JSON object per line: ``{"prompt": …}`` with, if you like, ``"id"``,
``"domain"`` and ``"answer"``. Every other file has one prompt per line. Blank lines are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from minispec.errors import PromptError, reason, shown

_KEYS = ("prompt", "id", "domain", "answer")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of a file.

    Parameters
    ----------
    text : str
        What is continued.
    id : str
        Its name in reports; unique within a file. The line's number unless the file says otherwise.
    domain : str
        What kind of text it is; empty if the file does not say.
    answer : str or None
        What a right continuation arrives at, see :func:`arrives_at`.
    """

    text: str
    id: str
    domain: str = ""
    answer: str | None = None


def bundled_prompts() -> tuple[Prompt, ...]:
    """Return the prompts that come with minispec: stories, code, and questions with answers, eight of each."""
    text = resources.files("minispec.analysis").joinpath("prompts.jsonl").read_text(encoding="utf-8")
    return parse_prompts(text, "the bundled prompts", json_lines=True)


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read a prompt file.

    Raises
    ------
    PromptError
        If it cannot be read, is not UTF-8, holds no prompt, or a line of it is malformed (with its number).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(f"{path} cannot be read ({error.strerror}). Name a file of prompts") from None
    except UnicodeDecodeError as error:
        raise PromptError(f"{path} is not UTF-8 at byte {error.start}. Convert it, for example with iconv") from None
    return parse_prompts(text, str(path), json_lines=path.suffix == ".jsonl")


def parse_prompts(text: str, where: str, *, json_lines: bool) -> tuple[Prompt, ...]:
    r"""Return the prompts of a file's text; ``where`` is what messages call the file.

    Examples
    --------
    >>> [prompt.text for prompt in parse_prompts("Once upon a time\n\nThe king", "a file", json_lines=False)]
    ['Once upon a time', 'The king']
    """
    prompts = tuple(_prompts(text, where, json_lines))
    if not prompts:
        raise PromptError(f"{where} holds no prompt; an experiment needs at least one. Write one prompt per line")
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise PromptError(
                f"{where} has two prompts with the id {shown(prompt.id)}; ids tell them apart. Rename one"
            )
        seen.add(prompt.id)
    return prompts


def _prompts(text: str, where: str, json_lines: bool) -> Iterator[Prompt]:
    # Not splitlines(): that also cuts at form feeds and at U+2028, which a prompt may contain.
    for number, line in enumerate(text.removeprefix("\N{BYTE ORDER MARK}").split("\n"), 1):
        line = line.removesuffix("\r")
        if line.strip():
            yield _from_json(line, number, f"{where}, line {number}") if json_lines else Prompt(line, str(number))


def _from_json(line: str, number: int, where: str) -> Prompt:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PromptError(f'{where} is not JSON ({reason(error)}). Write {{"prompt": "…"}}') from None
    if not isinstance(record, dict) or not isinstance(record.get("prompt"), str) or not record["prompt"]:
        raise PromptError(f'{where} has no "prompt" with text. Write {{"prompt": "…"}}')
    unknown = next((key for key in record if key not in _KEYS), None)
    if unknown is not None:
        raise PromptError(f"{where} has the key {shown(unknown)}; a line's keys are {', '.join(_KEYS)}. Leave it out")
    for key in ("id", "domain", "answer"):
        if not isinstance(record.get(key), str | int | float | None) or isinstance(record.get(key), bool):
            raise PromptError(f"{where}: {key} is {shown(record[key])}; it must be text or a number. Put it in quotes")
    answer = record.get("answer")
    name = record.get("id")
    return Prompt(
        record["prompt"],
        str(number if name is None else name),
        str(record.get("domain") or ""),
        None if answer is None else str(answer),
    )


_SAID = re.compile(r"[Tt]he answer is:?\s*\$?([^\s.]+(?:\.\d+)?)")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def arrives_at(text: str, answer: str) -> bool:
    r"""Whether a continuation arrives at an answer.

    What counts is the first "The answer is …": a text model goes on to the next question afterwards. A text that never
    says so counts by its last number if the answer is a number, and otherwise by its ending.

    Examples
    --------
    >>> arrives_at("She has 12 - 2 = 10 apples.\nThe answer is 10.", "10")
    True
    >>> arrives_at("12 - 2 = 10, so 11 are left", "10")
    False
    """
    said = _SAID.search(text)
    if said is not None:
        return _same(said[1], answer)
    numbers = _NUMBER.findall(text)
    if _NUMBER.fullmatch(answer.strip()):
        return bool(numbers) and _same(numbers[-1], answer)
    return text.rstrip(" .\n").endswith(answer.strip())


def _same(found: str, answer: str) -> bool:
    found, answer = (part.strip().rstrip(".").replace(",", "").lstrip("$") for part in (found, answer))
    if _NUMBER.fullmatch(found) and _NUMBER.fullmatch(answer):
        return float(found) == float(answer)
    return found.casefold() == answer.casefold()
