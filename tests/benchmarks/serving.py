"""The server under load, and what it costs: ``python -m tests.benchmarks.serving load|overhead|soak``.

``load`` starts ``minispec serve`` and lets many clients send requests of mixed lengths, whole and streamed; some leave
in the middle. It fails if an answer is wrong or missing, or if the server keeps anything: a request, a page, a file
descriptor. ``soak`` is the same for a time, with a line per minute. ``overhead`` compares the seconds per streamed
token with those of the engine alone, on the same requests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import numpy as np

from minispec.engine.backends.threads import set_num_threads
from minispec.engine.batching import Engine
from minispec.engine.generation.ready import make_ready
from minispec.serving.client import parse

PROMPTS = (
    "Once upon a time",
    "The little fox",
    "2 + 2 =",
    "def add(a, b):",
    "It was a dark night. " * 12,
    "She said " * 40,
)
MODEL = "target-17m"


@dataclass
class Seen:
    """What the clients have seen."""

    ttft_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    num_tokens: int = 0
    num_left: int = 0
    num_done: int = 0


@contextlib.contextmanager
def serving(*flags: str) -> Iterator[tuple[str, int]]:
    """Start a server; yield its address and its process id, and see it end well."""
    command = [sys.executable, "-m", "minispec", "serve", "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
    assert code == 0, f"the server ended with {code}"


def draw(number: int, most: int) -> dict[str, object]:
    """Return request number ``number`` of a mixed traffic."""
    chance = random.Random(number)
    return {
        "model": MODEL,
        "prompt": chance.choice(PROMPTS),
        "max_tokens": max(1, round(most ** chance.random())),
        "temperature": chance.choice([0.0, 0.8, 1.0]),
        "seed": number,
        "stream": chance.random() < 0.7,
        "speculative": chance.choice([{}, {}, {"draft": "ngram"}, {"gamma": 2, "verify": "match"}, False]),
    }


async def ask(client: httpx.AsyncClient, number: int, most: int, leaving: float, seen: Seen) -> None:
    """Send one request and look at its answer, or leave in the middle."""
    body, chance = draw(number, most), random.Random(-number - 1)
    leaves, started = chance.random() < leaving, time.perf_counter()
    if leaves:  # in the middle, which a short answer hardly has
        body |= {"stream": True, "max_tokens": most, "min_tokens": most}
    try:
        async with client.stream("POST", "/v1/completions", json=body) as answer:
            if answer.status_code != httpx.codes.OK:
                seen.errors.append(f"{answer.status_code}: {(await answer.aread())[:200]!r}")
                return
            lines, stop_at = [], chance.randrange(12) if leaves else None
            async for line in answer.aiter_lines():
                if not lines and body["stream"]:
                    seen.ttft_s.append(time.perf_counter() - started)
                lines.append(line)
                if stop_at is not None and len(lines) > stop_at:
                    seen.num_left += 1
                    return
    except httpx.HTTPError as error:
        seen.errors.append(repr(error))
        return
    seen.whole_s.append(time.perf_counter() - started)
    chunks = [data for _, data in parse(lines)] if body["stream"] else [json.loads("".join(lines))]
    (end,) = [choice for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"] is not None]
    seen.num_tokens += end["minispec"]["metrics"]["num_tokens"]
    seen.num_done += 1


async def drive(url: str, clients: int, numbers: Iterator[int], most: int, leaving: float) -> Seen:
    """Let so many clients send requests, one after the other each, until the numbers run out."""
    seen = Seen()

    async def work() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=300, verify=False) as client:
            for number in numbers:
                await ask(client, number, most, leaving, seen)

    await asyncio.gather(*(work() for _ in range(clients)))
    return seen


def memory(pid: int) -> float:
    """Return resident megabytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def files(pid: int) -> int:
    """Return open file descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def processor_s(pid: int) -> float:
    """Return the processor time of a process's first thread, in which its event loop runs."""
    with open(f"/proc/{pid}/task/{pid}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def gauges(url: str) -> dict[str, float]:
    """Return what the server says of itself now."""
    wanted = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return {name: float(line.split()[-1]) for line in lines for name in wanted if line.startswith(f"minispec:{name}{{")}


def check_nothing_is_left(url: str, pid: int, num_files: int) -> None:
    """Wait a moment for connections to close, then look."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (any(gauges(url).values()) or files(pid) > num_files):
        time.sleep(0.2)
    print(f"left: {gauges(url)}, {files(pid) - num_files} file descriptors more than before")
    assert not any(gauges(url).values())
    assert files(pid) <= num_files


def quantiles(name: str, seconds: list[float]) -> str:
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"{name} P50 {1e3 * p50:.0f} ms, P99 {1e3 * p99:.0f} ms, most {1e3 * max(seconds):.0f} ms ({len(seconds)})"


def run_load(clients: int, requests: int, most: int, leaving: float) -> None:
    """Run the load once; print, and fail if something is wrong."""
    with serving("--max-waiting", "1000") as (url, pid):
        asyncio.run(drive(url, 4, iter(range(40)), most, 0.0))  # warm
        alone = asyncio.run(drive(url, 1, iter(range(1000, 1040)), most, 0.0))
        num_files, before = files(pid), memory(pid)
        started = time.perf_counter()
        seen = asyncio.run(drive(url, clients, iter(range(requests)), most, leaving))
        took_s = time.perf_counter() - started
        print(f"{clients} clients, {requests} requests, {took_s:.0f} s: {seen.num_done} done, {seen.num_left} left, "
              f"{len(seen.errors)} errors {seen.errors[:3]}, {seen.num_tokens / took_s:.0f} tokens/s")  # fmt: skip
        print(quantiles("to the first token, alone:", alone.ttft_s))
        print(quantiles("to the first token, loaded:", seen.ttft_s))
        print(quantiles("to the end, loaded:", seen.whole_s))
        print(f"memory {before:.0f} MB before, {memory(pid):.0f} MB after")
        assert not seen.errors
        assert seen.num_done + seen.num_left == requests
        check_nothing_is_left(url, pid, num_files)


def run_soak(clients: int, minutes: float, most: int, leaving: float) -> None:
    """Run mixed traffic for a time, a line per minute."""
    with serving("--max-waiting", "1000") as (url, pid):
        asyncio.run(drive(url, 4, iter(range(40)), most, 0.0))
        num_files, number, end = files(pid), 0, time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            minute = min(end, time.monotonic() + 60)
            first = number

            def count() -> Iterator[int]:
                nonlocal number
                while time.monotonic() < minute:  # noqa: B023  # used before it changes
                    yield number
                    number += 1

            seen = asyncio.run(drive(url, clients, count(), most, leaving))
            print(f"{number - first} requests, {len(seen.errors)} errors, {memory(pid):.0f} MB, {files(pid)} files; "
                  + quantiles("first token", seen.ttft_s), flush=True)  # fmt: skip
            assert not seen.errors
        check_nothing_is_left(url, pid, num_files)


async def read_raw(url: str, bodies: list[dict[str, object]]) -> float:
    """Return the seconds until all of these streams have ended, read by a client that does next to nothing."""
    host, _, port = url.removeprefix("http://").rpartition(":")

    async def read(body: dict[str, object]) -> None:
        content = json.dumps(body).encode()
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(content) + content)  # fmt: skip
        last = b""
        while part := await reader.read(1 << 16):
            last = (last + part)[-100:]
        writer.close()
        assert b"[DONE]" in last, last

    started = time.perf_counter()
    await asyncio.gather(*(read(body) for body in bodies))
    return time.perf_counter() - started


def run_overhead(clients: int, tokens: int, rounds: int) -> None:
    """Print seconds per token of the engine alone, of the server, and what lies between.

    Kernels have one thread, so that the engine's processor time is told too: on a busy machine, times on the wall say
    little, and the event loop's share of the work still says what the server costs.
    """
    set_num_threads(1)
    options = {"max_tokens": tokens, "min_tokens": tokens, "temperature": 1.0, "top_p": 1.0}
    bodies = [{"model": MODEL, "prompt": PROMPTS[i % 4], "seed": i, "stream": True, **options} for i in range(clients)]
    engine = Engine(MODEL, max_running=clients)
    make_ready([engine.target])

    def alone() -> tuple[float, float]:
        started, worked_s = time.perf_counter(), time.thread_time()
        for i in range(clients):
            engine.add(PROMPTS[i % 4], seed=i, **options)
        while not engine.is_idle:
            engine.step()
        return time.perf_counter() - started, time.thread_time() - worked_s

    alone()
    with serving("--max-requests", str(clients), "--threads", "1") as (url, pid):
        asyncio.run(read_raw(url, bodies))
        worked_s = processor_s(pid)
        pairs = [(alone(), asyncio.run(read_raw(url, bodies))) for _ in range(rounds)]  # in turns
        worked_s = processor_s(pid) - worked_s
    count = clients * tokens
    for name, times in (
        ("engine alone", [a for (a, _), _ in pairs]),
        ("engine alone, processor", [a for (_, a), _ in pairs]),
        ("server", [b for _, b in pairs]),
    ):
        print(f"{name}: {1e6 * statistics.median(times) / count:.0f} µs per token "
              f"({', '.join(f'{1e6 * each / count:.0f}' for each in times)})")  # fmt: skip
    print(f"event loop, processor: {1e6 * worked_s / rounds / count:.0f} µs per token")
    engine_s = statistics.median(a for (_, a), _ in pairs)
    print(f"event loop over engine, in processor time: {worked_s / rounds / engine_s:.1%}")
    shares = sorted(b / a - 1.0 for (a, _), b in pairs)
    print(f"overhead {statistics.median(shares):.1%} (from {shares[0]:.1%} to {shares[-1]:.1%} of {rounds} rounds)")


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["load", "overhead", "soak"])
    parser.add_argument("--clients", type=int)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--tokens", type=int, default=128, help="of a request at most; with overhead, exactly")
    parser.add_argument("--leaving", type=float, default=0.1, help="share of the requests that is given up")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    match given.what:
        case "load":
            run_load(given.clients or 64, given.requests, given.tokens, given.leaving)
        case "soak":
            run_soak(given.clients or 16, given.minutes, given.tokens, given.leaving)
        case "overhead":
            run_overhead(given.clients or 16, given.tokens, given.rounds)


if __name__ == "__main__":
    main()
