"""The body of a streamed answer: server-sent events, as ``docs/http-api.md`` lists them."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minispec.engine.generation.events import Drafted, Emitted, Event, Finished, Prefilled
from minispec.engine.generation.result import Generation
from minispec.engine.generation.trace import to_record
from minispec.engine.records import Piece
from minispec.engine.tokenizer import Tokenizer
from minispec.serving.answers import LogprobLog, count_usage, describe_end, to_choice
from minispec.serving.problems import Problem
from minispec.serving.provisional import Settled, Span, Spans
from minispec.serving.scoring import Prefix, list_prefixes
from minispec.serving.service import InFlight, Service, find_end
from minispec.serving.worker import Cut, Failed, Told

DONE = b"data: [DONE]\n\n"
_FADE = 0.5  # weight of the newest step in the time that a step is thought to take


@dataclass
class _Shown:
    """One choice on its way out."""

    spans: Spans | None
    log: LogprobLog | None
    waiting: deque[str] = field(default_factory=deque)  # smooth: texts that are not sent yet
    due_s: float = 0.0
    apart_s: float = 0.0
    stepped_s: float | None = None
    step_s: float = 0.0
    num_prompt_tokens: int = 0
    num_tokens: int = 0


class Streamer:
    """Writes the events of one request.

    Parameters
    ----------
    flight : InFlight
    tokenizer : Tokenizer
    service : Service
    """

    def __init__(self, flight: InFlight, tokenizer: Tokenizer, service: Service) -> None:
        self._flight = flight
        self._request = flight.request
        self._tokenizer = tokenizer
        self._service = service
        self._ended: dict[int, Generation] = {}
        self._shown: list[_Shown] = []

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the stream, as much at once as there is."""
        try:
            prefixes = await list_prefixes(self._flight, self._tokenizer, self._service)
        except Problem as problem:
            yield _data(problem.body)
            return
        self._shown = self._begin(prefixes)
        begun = b"".join(
            self._chunk(to_choice(i, prefix.text, prefix.logprobs)) for i, prefix in enumerate(prefixes) if prefix.text
        )
        if begun:
            yield begun
        while len(self._ended) < len(self._shown):
            told = await self._flight.mailbox.take(self._wait_s())
            written = [self._write_due()] if not told else [part for each in told for part in self._write(each)]
            yield b"".join(written)
            if any(isinstance(each.what, Failed) for each in told):
                return
        options = self._request.stream_options
        if options is not None and options.include_usage:
            generations = [self._ended[i] for i in range(len(self._shown))]
            num_prompts = len(generations) // (self._request.n or 1)
            usage = count_usage(generations, num_prompts, self._flight.ticket.cached)
            yield _data(self._flight.envelope.wrap([], usage, self._flight.describe_acceptance(generations)))
        yield DONE

    def _begin(self, prefixes: Sequence[Prefix]) -> list[_Shown]:
        request, tokenizer = self._request, self._tokenizer
        return [
            _Shown(
                Spans(tokenizer, choice.options["stop"], choice.options.get("min_tokens", 0))
                if request.provisional
                else None,
                None if request.logprobs is None else LogprobLog(request.logprobs, tokenizer, prefix.num_characters),
            )
            for choice, prefix in zip(self._flight.choices, prefixes, strict=True)
        ]

    def _write(self, told: Told) -> list[bytes]:
        shown, what = self._shown[told.index], told.what
        if isinstance(what, Failed):
            return [_data(self._service.describe_failure(what).body)]
        if isinstance(what, Cut):
            return [*self._settle(told, ""), *self._end(told)]
        written = []
        if self._request.events:
            written.append(self._tell(told, what))
        if isinstance(what, Drafted) and shown.spans is not None:
            written += self._settle(told, "")  # a draft that was interrupted comes again
            span = shown.spans.draft(what)
            if span is not None:
                written.append(_event("provisional", {**self._describe(told, span), "text": span.text}))
        if isinstance(what, Prefilled):
            shown.num_prompt_tokens = what.num_prompt_tokens
        if isinstance(what, Emitted):
            shown.num_tokens += len(what.token_ids)
            written += [*self._settle(told, what.text), *self._emit(told, what)]
            if shown.spans is not None:
                shown.spans.commit(what)
        if isinstance(what, Finished):
            written += self._end(told)
        return written

    def _emit(self, told: Told, emitted: Emitted) -> list[bytes]:
        """Write the text of a step: at once, or its first token and the others when they are due."""
        shown = self._shown[told.index]
        logprobs = None if shown.log is None else shown.log.add(emitted.token_ids, emitted.details)
        if not self._request.smooth:
            if not emitted.pieces and logprobs is None:
                return []
            return [self._chunk(to_choice(told.index, emitted.text, logprobs))]
        written = self._flush(told.index)
        if shown.stepped_s is not None:
            took_s = told.moment_s - shown.stepped_s
            shown.step_s = took_s if not shown.step_s else _FADE * took_s + (1.0 - _FADE) * shown.step_s
        shown.stepped_s = told.moment_s
        texts = _per_token(emitted.pieces)
        if texts or logprobs is not None:
            written.append(self._chunk(to_choice(told.index, texts[0] if texts else "", logprobs)))
        shown.waiting.extend(texts[1:])
        shown.apart_s = shown.step_s / max(1, len(texts))
        shown.due_s = told.moment_s + shown.apart_s
        return written

    def _wait_s(self) -> float | None:
        """Return the seconds until some text is due; None if none waits."""
        due = [shown.due_s for shown in self._shown if shown.waiting]
        return max(0.0, min(due) - time.perf_counter()) if due else None

    def _write_due(self) -> bytes:
        written, now_s = [], time.perf_counter()
        for index, shown in enumerate(self._shown):
            while shown.waiting and shown.due_s <= now_s:
                written.append(self._chunk(to_choice(index, shown.waiting.popleft())))
                shown.due_s += shown.apart_s
        return b"".join(written)

    def _flush(self, index: int) -> list[bytes]:
        """Write the text that still waits."""
        waiting = self._shown[index].waiting
        text = "".join(waiting)
        waiting.clear()
        return [self._chunk(to_choice(index, text))] if text else []

    def _end(self, told: Told) -> list[bytes]:
        generation, finish = find_end(told.what)
        self._ended[told.index] = generation
        end = describe_end(generation, finish, self._flight.choices[told.index].draft_name, self._flight.arm)
        return [*self._flush(told.index), self._chunk(to_choice(told.index, "", end=(finish, end)))]

    def _settle(self, told: Told, released: str) -> list[bytes]:
        spans = self._shown[told.index].spans
        settled: Settled | None = None if spans is None else spans.settle(released)
        if settled is None:
            return []
        record = {"confirmed": settled.confirmed, "retracted": settled.retracted}
        return [_event("settled", {**self._describe(told, settled.span), **record})]

    def _describe(self, told: Told, span: Span) -> dict[str, Any]:
        return {"index": told.index, "span": span.number, "step": span.step, "at_s": self._since_s(told)}

    def _tell(self, told: Told, event: Event) -> bytes:
        record = to_record(event, self._tokenizer.decode)
        if isinstance(event, Finished):  # names as the reader knows them
            names = {"target": self._flight.envelope.model, "draft": self._flight.choices[told.index].draft_name}
            record["options"] = {**record["options"], **names}
        return _event(record["event"], {**record, "index": told.index, "at_s": self._since_s(told)})

    def _since_s(self, told: Told) -> float:
        return told.moment_s - self._flight.arrived_s

    def _chunk(self, choice: Mapping[str, Any]) -> bytes:
        options = self._request.stream_options
        always = options is not None and options.include_usage and options.continuous_usage_stats
        return _data(self._flight.envelope.wrap([choice], self._count_so_far() if always else None))

    def _count_so_far(self) -> dict[str, int]:
        prompt = sum(shown.num_prompt_tokens for shown in self._shown[:: self._request.n or 1])
        made = sum(shown.num_tokens for shown in self._shown)
        return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


def _per_token(pieces: Sequence[Piece]) -> list[str]:
    return [piece.text for piece in pieces if piece.text]


def _data(content: Mapping[str, Any]) -> bytes:
    return b"data: " + _encode(content) + b"\n\n"


def _event(name: str, content: Mapping[str, Any]) -> bytes:
    return f"event: {name}\n".encode() + _data(content)


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode(content: Mapping[str, Any]) -> bytes:
    """Return JSON in one line; an infinite log probability, which JSON lacks, becomes null."""
    try:
        return _JSON.encode(content).encode()
    except ValueError:
        return _JSON.encode(without_infinities(content)).encode()


def without_infinities(value: Any) -> Any:
    """Return JSON-able data with null for each number that is not finite."""
    if isinstance(value, Mapping):
        return {key: without_infinities(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_infinities(each) for each in value]
    return None if isinstance(value, float) and value - value != 0.0 else value
