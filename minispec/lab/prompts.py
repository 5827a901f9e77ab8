"""Prompt files: what an experiment runs on, and the prompts that come with minispec.

A file whose name ends in ``.jsonl`` has one JSON object per line: ``{"prompt": …}`` with, if you like, ``"id"``,
``"domain"`` and ``"answer"``; other keys are ignored, and a :class:`Form` says which keys a file uses instead. Every
other file has one prompt per line. Blank lines are skipped; a file may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from minispec.errors import PromptError, explain, quote

_MAX_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Form:
    """Under which keys the lines of a file have what is wanted.

    Parameters
    ----------
    prompt : str
        Text, or a list of texts of which the first counts.
    id, domain, answer : str
        Texts or numbers; a line need not have them, and an empty key is in none.
    answer_after : str
        What the answer proper stands behind, if it has a derivation before it.
    """

    prompt: str = "prompt"
    id: str = "id"
    domain: str = "domain"
    answer: str = "answer"
    answer_after: str = ""


OWN = Form()
PRESETS = {
    "humaneval": Form(id="task_id"),
    "gsm8k": Form(prompt="question", answer_after="####"),
    "mt-bench": Form(prompt="turns", id="question_id", domain="category", answer=""),
}
"""The forms in which known collections are published: ``HumanEval.jsonl.gz``, ``test.jsonl``, ``question.jsonl``."""


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
        What kind of text it is; empty if the file does not say, "no domain" if it says so of other prompts.
    answer : str or None
        What a right continuation arrives at, see :func:`arrives_at`.
    """

    text: str
    id: str
    domain: str = ""
    answer: str | None = None


def bundled_prompts() -> tuple[Prompt, ...]:
    """Return the prompts that come with minispec: stories, code, and questions with answers, eight of each."""
    text = resources.files("minispec.lab").joinpath("prompts.jsonl").read_text(encoding="utf-8")
    return parse_prompts(text, "the bundled prompts", OWN)


def read_prompts(path: Path, form: Form | None = None) -> tuple[Prompt, ...]:
    """Read a prompt file.

    Parameters
    ----------
    path : Path
    form : Form, optional
        Of a file of JSON lines, whatever it is called. By default the name decides what a file is, and JSON lines have
        the keys of :data:`OWN`.

    Raises
    ------
    PromptError
        If it cannot be read, is not UTF-8, holds no prompt, or a line of it is malformed (with its number).
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            with gzip.open(path) as file:
                content = file.read(_MAX_BYTES)
        text = content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError as error:
        raise PromptError(f"{path} is not UTF-8 at byte {error.start}. Convert it, for example with iconv") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        told = getattr(error, "strerror", None) or explain(error)
        raise PromptError(f"{quote(str(path))} cannot be read ({told}). Name a file of prompts") from None
    by_name = path.name.removesuffix(".gz").endswith(".jsonl")
    return parse_prompts(text, str(path), (form or OWN) if by_name or form is not None else None)


def parse_prompts(text: str, where: str, form: Form | None) -> tuple[Prompt, ...]:
    r"""Return the prompts of a file's text.

    Parameters
    ----------
    text, where : str
        ``where`` is what messages call the file.
    form : Form or None
        Of JSON lines; None reads a prompt per line.

    Examples
    --------
    >>> [prompt.text for prompt in parse_prompts("Once upon a time\n\nThe king", "a file", None)]
    ['Once upon a time', 'The king']
    """
    prompts = tuple(_prompts(text, where, form))
    if not prompts:
        raise PromptError(f"{where} holds no prompt; an experiment needs at least one. Write one prompt per line")
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise PromptError(
                f"{where} has two prompts with the id {quote(prompt.id)}; ids tell them apart. Rename one"
            )
        seen.add(prompt.id)
    if any(prompt.domain for prompt in prompts):  # a blank one would be taken for all of them
        return tuple(replace(prompt, domain=prompt.domain or "no domain") for prompt in prompts)
    return prompts


def _prompts(text: str, where: str, form: Form | None) -> Iterator[Prompt]:
    # Not splitlines(): that also cuts at form feeds and at U+2028, which a prompt may contain.
    for number, line in enumerate(text.removeprefix("\N{BYTE ORDER MARK}").split("\n"), 1):
        line = line.removesuffix("\r")
        if line.strip():
            if form is None:
                yield Prompt(line, str(number))
            else:
                yield _from_json(line, number, f"{where}, line {number}", form)


def _from_json(line: str, number: int, where: str, form: Form) -> Prompt:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PromptError(f'{where} is not JSON ({explain(error)}). Write {{"prompt": "…"}}') from None
    text = record.get(form.prompt) if isinstance(record, dict) else None
    if isinstance(text, list) and text:
        text = text[0]
    if text is not None and not isinstance(text, str):
        raise PromptError(f"{where}: {form.prompt} is {quote(text)}; it must be text. Put it in quotes")
    if not text:
        raise PromptError(f"{where} has no {quote(form.prompt)} with text. {_way_out(record)}")
    found: dict[str, str | None] = {}
    for what, key in (("id", form.id), ("domain", form.domain), ("answer", form.answer)):
        value = record.get(key) if key else None
        if not isinstance(value, str | int | float | None) or isinstance(value, bool):
            raise PromptError(f"{where}: {key} is {quote(value)}; it must be text or a number. Put it in quotes")
        found[what] = None if value is None else str(value)
    for key, value in ((form.prompt, text), *((getattr(form, what), value) for what, value in found.items())):
        try:
            (value or "").encode("utf-8")
        except UnicodeError:
            raise PromptError(f"{where}: {key} holds half a surrogate pair, which is no text. Mend it") from None
    answer = found["answer"]
    if answer is not None and form.answer_after:
        answer = answer.rpartition(form.answer_after)[2].strip()
    if answer is not None and not answer.strip():
        answer = None  # every text ends with a blank one
    return Prompt(text, str(number) if found["id"] is None else found["id"], found["domain"] or "", answer)


def _way_out(record: Any) -> str:
    """Say how a line without a prompt could be read: by a preset whose key it has, or by another key."""
    keys = list(record) if isinstance(record, dict) else []
    preset = next((name for name, form in PRESETS.items() if form.prompt in keys and form.prompt != OWN.prompt), None)
    if preset is not None:
        return f"Rename the key, or try --preset {preset}, which `minispec measure` has"
    if keys:
        names = quote(", ".join(map(str, keys)))
        return f"Its keys are {names}; rename one, or try --prompt-key KEY, which `minispec measure` has"
    return 'Write {"prompt": "…"}'


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
