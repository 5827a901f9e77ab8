"""A reference client: how to read a stream of ``minispec serve``, provisional text included.

    python -m minispec.serving.client http://127.0.0.1:8000 "Once upon a time"

What stands is printed as it is; what is provisional is shown dim behind it and goes when its verdict comes.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx


class ServerError(Exception):
    """The server has said that something is wrong."""


@dataclass
class Reading:
    """What a reader sees of one choice: text that stands, and behind it text that may go.

    ``finish_reason`` is None until the choice has ended.
    """

    text: str = ""
    provisional: str = ""
    finish_reason: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def take(self, event: str, data: Mapping[str, Any]) -> None:
        """Take in what was told of this choice: a span, its end, or a piece of text."""
        if event == "provisional":
            self.provisional = data["text"]
        elif event == "settled":
            self.provisional = ""  # the chunk that follows at once holds what was confirmed
        else:
            self.text += data["text"]
            self.finish_reason = data["finish_reason"]
            self.facts = data.get("minispec", {})


def split(pieces: Iterable[str]) -> Iterator[str]:
    r"""Yield lines without their ends, as they are whole.

    A client's own lines may end also at U+2028 and others, which a text may contain.

    Examples
    --------
    >>> list(split(["data: a\u2028", "b\n", "\n"]))
    ['data: a\u2028b', '']
    """
    rest = ""
    for piece in pieces:
        *lines, rest = (rest + piece).split("\n")
        yield from lines
    if rest:
        yield rest


def parse(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the data of every server-sent event until ``[DONE]``; OpenAI's chunks have the name "".

    Raises
    ------
    ServerError
        If the stream says that something went wrong, or ends too early.

    Examples
    --------
    >>> list(parse([": ping", "", "event: settled", 'data: {"index": 0}', "", "data: [DONE]", ""]))
    [('settled', {'index': 0})]
    """
    name = ""
    for line in lines:
        kind, _, value = line.partition(": ")
        if kind == "event":
            name = value
        elif kind == "data" and value == "[DONE]":
            return
        elif kind == "data":
            data = json.loads(value)
            if "error" in data:
                raise ServerError(data["error"]["message"])
            yield name, data
        elif not line:
            name = ""
    raise ServerError("the stream has ended before its text")


def read(url: str, prompt: str, *, client: httpx.Client | None = None, **fields: Any) -> Iterator[list[Reading]]:
    """Ask for a completion; yield what there is to see after each event, one entry per choice.

    Parameters
    ----------
    url : str
        Of the server, as ``http://127.0.0.1:8000``.
    prompt : str
    client : httpx.Client, optional
        Stays open.
    **fields
        Of the request; see ``docs/http-api.md``. The model is the one that is served.

    Raises
    ------
    ServerError
        If the server refuses, or something goes wrong on the way.
    """
    url = url.rstrip("/")
    with contextlib.nullcontext(client) if client else httpx.Client(timeout=60.0) as http:
        model = _take_word(http.get(f"{url}/v1/options"), "model")
        body = {"model": model, "prompt": prompt, "provisional": True, **fields, "stream": True}
        readings = [Reading() for _ in range(fields.get("n", 1))]
        with http.stream("POST", f"{url}/v1/completions", json=body) as answer:
            if answer.status_code != httpx.codes.OK:
                answer.read()
                raise ServerError(_take_word(answer, "error", "message"))
            for name, data in parse(split(answer.iter_text())):
                if name in ("provisional", "settled"):
                    readings[data["index"]].take(name, data)
                elif not name:
                    for choice in data["choices"]:
                        readings[choice["index"]].take("", choice)
                yield readings


def _take_word(answer: httpx.Response, *names: str) -> str:
    """Return the text under these names, which every answer of minispec has."""
    try:
        found = answer.json()
        for name in names:
            found = found[name]
    except (ValueError, KeyError, TypeError):
        raise ServerError(
            f"{answer.url} answers {answer.status_code} without {'.'.join(names)}, which every minispec server gives. "
            "Give the address that minispec serve prints"
        ) from None
    return str(found)


def main(url: str, prompt: str) -> None:
    """Print a completion as it comes."""
    shown = 0
    for (reading,) in read(url, prompt, max_tokens=64, temperature=0.8, top_p=0.95):
        # Saved cursor, dim text, restored cursor: the next event overwrites what was provisional.
        line = reading.provisional.replace("\n", " ")
        print(f"\x1b[J{reading.text[shown:]}\x1b7\x1b[2m{line}\x1b[0m\x1b8", end="", flush=True)
        shown = len(reading.text)
    print("\x1b[J")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print('give the server\'s address and a prompt: http://127.0.0.1:8000 "Once upon a time"', file=sys.stderr)
        sys.exit(2)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
    except ServerError as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(2)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        print(
            f"{sys.argv[1]} cannot be asked ({error}). Start minispec serve, and give the address that it prints",
            file=sys.stderr,
        )
        sys.exit(2)
