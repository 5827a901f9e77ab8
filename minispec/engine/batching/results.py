"""A file of results: a JSON object a line, in the order of the requests, each written when it is there.

What a line of the output holds depends on its request alone: no times. So the file is the same byte for byte whatever
the company, the number of workers, or how often the run was killed and taken up again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minispec.engine.batching.engine import Engine
from minispec.engine.batching.lines import BadLine, Request
from minispec.engine.files import HeldFile
from minispec.engine.generation.events import Event, Finished
from minispec.engine.generation.result import Generation
from minispec.errors import InputError, OptionError, OutputError


def run_requests(
    engine: Engine,
    added: Mapping[int, Request],
    models: Mapping[str, Any],
    watch: Callable[[Event], None],
    *,
    keep_going: bool = False,
) -> Iterator[tuple[Request, dict[str, Any]]]:
    """Run an engine to the end; yield each request with its line of the output, as they end, and forget it.

    Parameters
    ----------
    engine : Engine
    added : mapping of int to Request
    models : mapping
        What besides a request its text depends on: see :meth:`Request.key`.
    watch : callable
        Is told of every event.
    keep_going : bool
        Let the others run if one turns out to need more memory than there is; its line then says so.

    Raises
    ------
    OptionError
        Naming the line of a request that turns out to need too much, unless the others are to go on.
    """
    while True:
        try:
            for number, event in engine:
                watch(event)
                if isinstance(event, Finished):
                    entry = result_line(added[number], event.generation, models)
                    engine.forget(number)
                    yield added[number], entry
            return
        except InputError as error:
            if (blamed := engine.blamed) is None:
                raise
            request = added[blamed]
            if not keep_going:
                raise OptionError(f"line {request.line}: {error}") from None
            engine.cancel(blamed)
            yield request, error_line(BadLine(request.line, request.id, str(error))) | {"request": request.key(models)}


def result_line(request: Request, generation: Generation, models: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's line of the output, as JSON can hold it; nothing in it depends on company or time.

    So counts of steps and drafts are left open where the length of drafts follows time.
    """
    metrics, timed = generation.metrics, generation.timed
    details = {"token_details": generation.to_dict()["token_details"]} if request.options["logprobs"] else {}
    return {
        "id": request.id,
        "text": generation.text,
        "token_ids": list(generation.token_ids),
        "finish_reason": generation.finish_reason,
        "stop": generation.stop,
        "num_tokens": metrics.num_tokens,
        "num_steps": None if timed else metrics.num_steps,
        "num_draft_tokens": None if timed else metrics.num_draft_tokens,
        "num_accepted_tokens": None if timed else metrics.num_accepted_tokens,
        "guarantee": generation.guarantee,
        "reproducible": generation.reproducible,
        **details,
        "request": request.key(models),
    }


def error_line(bad: BadLine) -> dict[str, Any]:
    """Return the output of a line that could not be served."""
    return {"id": bad.id, "line": bad.line, "error": bad.problem}


class Results:
    """The output file: lines in the order of the requests, the next one written as soon as it is there.

    Parameters
    ----------
    file : HeldFile
        What a run that was killed has left there is kept; a line that it was writing is cut off.
    requests : sequence of Request or BadLine
        All of the run, in order.
    models : mapping
        See :meth:`Request.key`.

    Attributes
    ----------
    num_written : int
        Lines that are in the file.
    failed : list of BadLine
        Requests that turned out, in an earlier run, to need more memory than there was; the file says so.

    Raises
    ------
    OutputError
        If the file belongs to other requests, or cannot be written.
    """

    def __init__(self, file: HeldFile, requests: Sequence[Request | BadLine], models: Mapping[str, Any]) -> None:
        self._file, self._path = file, file.path
        self._order = [request.line for request in requests]
        self._held: dict[int, dict[str, Any]] = {}
        self.failed: list[BadLine] = []
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        # Not splitlines(): that also cuts at U+2028 and others, which a text may contain.
        lines = whole.decode("utf-8", errors="replace").split("\n")[:-1]
        self._check(lines, requests, models)
        self.num_written = len(lines)
        file.cut(len(whole))

    def _check(self, lines: Sequence[str], requests: Sequence[Request | BadLine], models: Mapping[str, Any]) -> None:
        if len(lines) > len(requests):
            raise OutputError(
                f"{self._path} has {len(lines)} lines, and there are {len(requests)} requests; it belongs to another "
                "run. Name another file, or delete it"
            )
        for number, (line, request) in enumerate(zip(lines, requests, strict=False), 1):
            try:
                entry = json.loads(line)
                found = entry.get("request"), entry.get("line") if "request" not in entry else None
            except (ValueError, AttributeError, RecursionError):
                raise OutputError(
                    f"line {number} of {self._path} is no result; name another file, or delete this one"
                ) from None
            wanted = (request.key(models), None) if isinstance(request, Request) else (None, request.line)
            if isinstance(request, Request) and "error" in entry:
                self.failed.append(BadLine(request.line, request.id, str(entry["error"])))
            if found != wanted:
                raise OutputError(
                    f"line {number} of {self._path} is not the result of line {request.line}: prompt, options, models, "
                    "texts or the order of lines have changed. Name another file, or delete it"
                )

    def add(self, line: int, entry: dict[str, Any]) -> None:
        """Take the result of an input line, and write all that can be written in order."""
        self._held[line] = entry
        ready = list(itertools.takewhile(self._held.__contains__, self._order[self.num_written :]))
        self._file.write("".join(json.dumps(self._held[each], ensure_ascii=False) + "\n" for each in ready))
        for each in ready:
            del self._held[each]
        self.num_written += len(ready)
