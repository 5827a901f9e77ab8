"""Readers who leave, vanish or dawdle: nothing of them is left, and the others notice nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time

import httpx
import pytest

from minispec.engine.generation.events import Emitted
from tests.serving.running import open_files, running


def open_stream(server, max_tokens=480, **fields):
    """Send a request by hand; return the socket and what has come, once that is some text."""
    body = json.dumps(server.body(stream=True, max_tokens=max_tokens, **fields)).encode()
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what is not read is soon seen by who sends
    wire.settimeout(20)
    wire.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
    wire.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
    told = b""
    while b"data: " not in told:
        part = wire.recv(4096)
        assert part, told
        told += part
    return wire, told


def test_who_disconnects_is_cancelled_within_one_step(server, steps):
    allowed, told = steps
    allowed.release(3)  # a prefill, a few steps
    wire, _ = open_stream(server)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()  # a reset
    while server.service.num_open:
        time.sleep(0.001)
    before = len(told)
    allowed.release(3)
    server.wait_until_idle()
    later = [event for events in told[before:] for _, event in events]
    assert len([event for event in later if isinstance(event, Emitted)]) <= 1  # the step that was under way


def test_who_leaves_within_the_body_or_before_the_answer_is_no_fault_of_ours(server, caplog):
    """Nothing is in the log, and no client is told of anything."""
    body = json.dumps(server.body(max_tokens=480)).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    for sent in (head + b"500\r\n\r\n{", head + b"%d\r\n\r\n" % len(body) + body):
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20) as wire:
            wire.sendall(sent)
            time.sleep(0.05)
    server.wait_until_idle()
    assert server.complete(max_tokens=1)
    assert caplog.records == []


def test_whoever_gives_up_at_any_moment_leaves_nothing(server):
    """Streams that are left after some lines, answers that are given up after 0 to 20 ms."""
    expected = server.complete(max_tokens=100)["choices"][0]["text"]
    files = open_files()
    for i in range(60):
        body = server.body(stream=True, max_tokens=400, n=2, temperature=0.9)
        with server.client.stream("POST", "/v1/completions", json=body, timeout=60) as answer:
            lines = answer.iter_lines()
            for _ in range(i % 20):
                next(lines)
        with pytest.raises(httpx.TimeoutException):
            server.client.post(
                "/v1/completions", json=server.body(max_tokens=480, n=4), timeout=0.001 * (i % 20) + 1e-4
            )
    assert server.complete(max_tokens=100)["choices"][0]["text"] == expected
    server.wait_until_idle()
    deadline = time.monotonic() + 10
    while open_files() > files and time.monotonic() < deadline:
        time.sleep(0.05)
    assert open_files() <= files


def test_a_client_that_is_killed(server):
    program = textwrap.dedent(f"""
        import httpx
        body = {server.body(stream=True, max_tokens=480, n=8)!r}
        with httpx.stream("POST", "{server.url}/v1/completions", json=body) as answer:
            for line in answer.iter_lines():
                print(line, flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as client:
        assert client.stdout.readline().startswith(b"data: ")
        os.kill(client.pid, signal.SIGKILL)
    server.wait_until_idle()


def test_a_slow_reader_holds_nobody_up_and_loses_nothing(server):
    wire, told = open_stream(server, n=2, max_tokens=200, events=True)  # much more than a socket's buffers hold
    assert server.complete(max_tokens=50)["choices"][0]["text"]
    deadline = time.monotonic() + 20
    while server.engine.running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.engine.running  # the engine is done with it, and holds none of its pages
    wire.settimeout(20)
    while b"[DONE]" not in told:
        part = wire.recv(1 << 16)
        assert part
        told += part
    wire.close()
    server.wait_until_idle()
    whole = server.complete(n=2, max_tokens=200)
    texts = dict.fromkeys(range(2), "")
    for part in told.split(b"\n\n"):
        line = part.partition(b'data: {"id"')
        if line[1]:
            for choice in json.loads(b'{"id"' + line[2].partition(b"\r\n")[0])["choices"]:
                texts[choice["index"]] += choice["text"]
    assert [texts[i] for i in range(2)] == [choice["text"] for choice in whole["choices"]]


def test_a_reader_who_takes_nothing_is_let_go(target):
    with running(target, ("ngram",), stall_s=0.3) as hasty:
        wire, _ = open_stream(hasty, n=4, max_tokens=200, events=True)  # more than a socket's buffers hold
        wire_s = time.monotonic()
        while hasty.server.server_state.connections and time.monotonic() < wire_s + 20:
            time.sleep(0.01)
        assert not hasty.server.server_state.connections
        hasty.wait_until_idle()
        wire.close()


def test_a_reader_who_takes_little_is_served(target):
    """Patience ends with a reader who takes nothing, not with one who takes long."""
    with running(target, ("ngram",), stall_s=0.4) as hasty:
        wire, told = open_stream(hasty, n=4, max_tokens=200, events=True)
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            part = wire.recv(2000)
            assert part
            told += part
            time.sleep(0.01)
        assert b"[DONE]" not in told
        while b"[DONE]" not in told:
            part = wire.recv(1 << 16)
            assert part
            told += part
        wire.close()
        hasty.wait_until_idle()


@pytest.mark.parametrize("stream", [False, True])
def test_scoring_a_prompt_ends_with_the_reader_and_with_his_time(target, monkeypatch, stream):
    async def never(*_):
        await asyncio.sleep(600)

    monkeypatch.setattr("minispec.serving.scoring.score", never)
    with running(target, ("ngram",), max_s=1.0) as server:
        asked = server.body(stream=stream, echo=True, logprobs=1, max_tokens=1)
        told = server.client.post("/v1/completions", json=asked)
        error = json.loads(told.text.removeprefix("data: "))["error"]
        assert error["message"].startswith("the prompts take longer to score than the 1 seconds of a request; send")
        assert error["param"] == "echo"
        server.wait_until_idle()
        server.service.settings = dataclasses.replace(server.service.settings, max_s=600.0)
        with pytest.raises(httpx.TimeoutException):
            server.client.post("/v1/completions", json=asked, timeout=0.3)
        server.wait_until_idle()


def test_half_open_sockets_are_closed(target):
    """Who connects and says nothing, or half of it, or nothing more after an answer."""
    with running(target, ("ngram",), header_s=0.3) as hasty:
        address = "127.0.0.1", int(hasty.url.rpartition(":")[2])
        wires = [socket.create_connection(address, timeout=20) for _ in range(20)]
        for i, wire in enumerate(wires):
            wire.sendall([b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: localhost\r\n"][i % 3])
        busy, _ = open_stream(hasty)  # who is being answered is not meant
        for wire in wires:
            assert wire.recv(1000) == b""
            wire.close()
        deadline = time.monotonic() + 10
        while len(hasty.server.server_state.connections) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(hasty.server.server_state.connections) <= 1
        busy.close()
        slowly = socket.create_connection(address, timeout=20)
        for byte in b"GET /health HTTP/1.1\r\n":
            slowly.sendall(bytes([byte]))  # a byte now and then does not win time
            time.sleep(0.03)
            if hasty.server.server_state.connections == set():
                break
        else:
            pytest.fail("the connection was kept")
        slowly.close()


def test_a_second_request_on_a_connection(server):
    with httpx.Client(base_url=server.url) as client:
        texts = {client.post("/v1/completions", json=server.body()).json()["choices"][0]["text"] for _ in range(5)}
    assert len(texts) == 1


def test_requests_in_a_pipeline(server):
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20) as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        told = b""
        while told.count(b'{"status":"ok"}') < 3:
            part = wire.recv(4096)
            assert part
            told += part


def test_a_fault_of_ours_ends_the_runs_and_not_the_server(server, monkeypatch):
    from minispec.engine.batching import batch as batch_module

    answer = batch_module.answer_together

    def fail(asks):
        raise RuntimeError("a secret of this machine")

    monkeypatch.setattr(batch_module, "answer_together", fail)
    told = server.client.post("/v1/completions", json=server.body())
    assert told.status_code == 500
    assert told.json()["error"]["type"] == "server_error"
    assert "secret" not in told.text
    with server.client.stream("POST", "/v1/completions", json=server.body(stream=True)) as streamed:
        lines = [line for line in streamed.iter_lines() if line]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["type"] == "server_error"
    monkeypatch.setattr(batch_module, "answer_together", answer)
    server.wait_until_idle()
    assert server.complete()["choices"][0]["text"]


def test_a_fault_before_a_run_is_told_like_any_other(target, monkeypatch):
    """With what every answer says to a browser, and counted."""
    origin = "https://a.example"
    with running(target, ("ngram",), origins=(origin,)) as server:

        def fail(request):
            raise RuntimeError("a secret of this machine")

        monkeypatch.setattr(server.service, "_choose", fail)
        told = server.client.post("/v1/completions", json=server.body(), headers={"origin": origin})
        assert told.status_code == 500
        assert told.json()["error"]["type"] == "server_error"
        assert "secret" not in told.text
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["access-control-allow-origin"] == origin
        assert 'status="500"} 1.0' in server.client.get("/metrics").text
        server.wait_until_idle()


def test_a_fault_of_one_run_is_its_own(server, target, draft, monkeypatch):
    """What raises in one request's sampling ends that request; the one beside it does not notice."""
    from minispec import generate
    from minispec.engine.noise.philox import PhiloxNoise

    draw = PhiloxNoise.categorical

    def fail(self, probs, at):
        if self.seed == 666 and at.position > 20:
            raise RuntimeError("a secret of this machine")
        return draw(self, probs, at)

    expected = generate(
        "the end", target=target, draft=None, backend="panel", seed=3, max_tokens=200, temperature=1.0, top_p=1.0
    )
    monkeypatch.setattr(PhiloxNoise, "categorical", fail)
    found = []
    beside = threading.Thread(target=lambda: found.append(server.complete(max_tokens=200)["choices"][0]["text"]))
    beside.start()
    for _ in range(5):
        told = server.client.post("/v1/completions", json=server.body(seed=666, max_tokens=100))
        assert told.status_code == 500, told.text
        assert "secret" not in told.text
    beside.join()
    assert found == [expected.text]
    assert 'minispec:num_faults{model_name="tiny-target"}' in server.client.get("/metrics").text
    assert server.service.worker.num_faults >= 5
    server.wait_until_idle()


def test_who_is_refused_has_not_gone_away(server):
    def count_gone():
        lines = server.client.get("/metrics").text.splitlines()
        return [line for line in lines if "request_cancelled_total{" in line]

    before = count_gone()
    told = server.client.post("/v1/completions", json=server.body(prompt=[999_999]))
    assert told.status_code == 400
    assert count_gone() == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_if_the_engine_dies_nobody_waits(target, monkeypatch):
    with running(target, ("ngram",)) as server:
        worker = server.service.worker
        gate = threading.Event()
        worker._commands.put(gate.wait)
        answers = []
        asking = threading.Thread(
            target=lambda: answers.append(server.client.post("/v1/completions", json=server.body()))
        )
        asking.start()
        while not server.service.num_open:
            time.sleep(0.001)

        def die():
            raise SystemExit

        monkeypatch.setattr(worker, "_take_commands", die)
        gate.set()
        asking.join(20)
        worker._thread.join(20)
        assert answers[0].status_code in (200, 503)
        assert server.client.post("/v1/completions", json=server.body()).status_code == 503
        assert server.client.get("/health").status_code == 503
