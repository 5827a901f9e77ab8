"""Bad requests: an error object with the field, the value, the rule and the way out; the others notice nothing."""

from __future__ import annotations

import json
import socket
import threading
import time
from types import SimpleNamespace

import openai
import pytest

from minispec.serving.server import allowed_hosts
from tests.serving.running import running

GOOD = {"model": "tiny-target", "prompt": "the end", "max_tokens": 4}


def post(server, content, **headers):
    headers = {"content-type": "application/json", **headers}
    return server.client.post("/v1/completions", content=content, headers=headers, timeout=60)


def check(answer, status, kind="invalid_request_error"):
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == kind
    assert 10 < len(error["message"]) < 700
    assert "\n" not in error["message"]
    for word in ("Traceback", 'File "', "pydantic", "--"):
        assert word not in error["message"]
    return error


@pytest.mark.parametrize(
    ("listens", "allowed"),
    [("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("0.0.0.0", False), ("192.0.2.7", False)],
)
def test_a_server_on_the_loopback_answers_to_its_own_address(listens, allowed):
    hosts = allowed_hosts(SimpleNamespace(getsockname=lambda: (listens, 8000)))
    assert (f"[{listens}]" if ":" in listens else listens) in hosts if allowed else hosts == ()


BODIES = [
    (b"", None, "no JSON"),
    (b"{", None, "no JSON"),
    (b"[1, 2]", None, "object"),
    (b"null", None, "object"),
    (b'"text"', None, "object"),
    (b'{"model": "tiny-target", "prompt": "\xff\xfe"}', None, "no JSON"),
    (b'{"model": "tiny-target", "prompt": "\\ud800"}', None, "no JSON"),
    (b"[" * 100_000, None, "no JSON"),
    (b'{"a":' * 50_000, None, "no JSON"),
    (b'{"model": "tiny-target"}', "prompt", "missing"),
    (b'{"prompt": "x"}', "model", "missing"),
]
FIELDS = [
    ("model", "gpt-4", 404),
    ("model", 3, 400),
    ("model", None, 400),
    ("prompt", "", 400),
    ("prompt", [], 400),
    ("prompt", [[]], 400),
    ("prompt", [""], 400),
    ("prompt", [1, "x"], 400),
    ("prompt", [1.5], 400),
    ("prompt", [-1], 400),
    ("prompt", [10**9], 400),
    ("prompt", [10**40], 400),
    ("prompt", {"a": 1}, 400),
    ("prompt", 7, 400),
    ("prompt", "the " * 600, 400),
    ("prompt", [5] * 512, 400),
    ("max_tokens", -1, 400),
    ("max_tokens", 0, 400),
    ("max_tokens", 10**30, 400),
    ("max_tokens", 512, 400),
    ("max_tokens", "4", 400),
    ("max_tokens", 4.5, 400),
    ("max_tokens", True, 400),
    ("temperature", -0.1, 400),
    ("temperature", 2.1, 400),
    ("temperature", 1e400, 400),
    ("temperature", "warm", 400),
    ("top_p", 0, 400),
    ("top_p", 1.5, 400),
    ("n", 0, 400),
    ("n", 33, 400),
    ("n", 10**9, 400),
    ("stop", ["a"] * 5, 400),
    ("stop", "", 400),
    ("stop", [""], 400),
    ("stop", 5, 400),
    ("seed", -1, 400),
    ("seed", 2**63, 400),
    ("seed", 0.5, 400),
    ("logprobs", 6, 400),
    ("logprobs", True, 400),
    ("presence_penalty", 2.5, 400),
    ("best_of", 2, 400),
    ("suffix", "end", 400),
    ("logit_bias", {"5": 1}, 400),
    ("stream", "yes", 400),
    ("stream_options", {"include_usage": True}, 400),
    ("stream_options", {"other": True}, 400),
    ("speculative", {"draft": "/etc/passwd"}, 400),
    ("speculative", {"draft": "unigram:text=/etc/passwd"}, 400),
    ("speculative", {"gamma": 33}, 400),
    ("speculative", {"gamma": -1}, 400),
    ("speculative", {"gamma": "replay:trace=/etc/passwd"}, 400),
    ("speculative", {"gamma": "auto:largest=100000"}, 400),
    ("speculative", {"verify": "nonsense"}, 400),
    ("speculative", {"verify": "lenient:lenience=7"}, 400),
    ("speculative", {"draft": "tree:shape=2x2,draft=tiny-draft", "verify": "block"}, 400),
    ("speculative", {"other": 1}, 400),
    ("speculative", 5, 400),
    ("top_k", -1, 400),
    ("min_p", 2, 400),
    ("repetition_penalty", 0, 400),
    ("messages", [], 400),
    ("unknown\n\r\x00field", 1, 400),
]


@pytest.mark.parametrize(("body", "param", "word"), BODIES, ids=[repr(body[:30]) for body, _, _ in BODIES])
def test_a_body_that_is_no_request(server, body, param, word):
    error = check(post(server, body), 400)
    assert error["param"] == param
    assert word in error["message"]


@pytest.mark.parametrize(("field", "value", "status"), FIELDS, ids=[f"{f}={str(v)[:20]!r}" for f, v, _ in FIELDS])
def test_a_field_that_cannot_be(server, field, value, status):
    error = check(post(server, json.dumps({**GOOD, field: value})), status)
    if field not in ("messages", "unknown\n\r\x00field"):
        assert (error["param"] or "speculative").partition(".")[0] == field


@pytest.mark.parametrize(
    ("field", "value", "param", "words"),
    [
        ("speculative", {"gamma": 1.5}, "speculative.gamma", "speculative.gamma is 1.5; it must be a whole number"),
        ("speculative", {"gamma": -1}, "speculative.gamma", "or a policy of /v1/options"),
        ("speculative", {"gamma": True}, "speculative.gamma", "speculative.gamma is true; it must be"),
        ("speculative", {"verify": 3}, "speculative.verify", "speculative.verify is 3; it must be a valid string"),
        ("speculative", {"draft": "x" * 201}, "speculative.draft", "it must have at most 200 characters"),
        ("speculative", {"x": 1}, "speculative.x", "'x' is no field of speculative; there are draft, gamma, verify"),
        ("speculative", 3, "speculative", "it must be an object with draft, gamma or verify"),
        ("stream_options", {"x": 1}, "stream_options.x", "'x' is no field of stream_options; there are include_usage,"),
        ("stream_options", {"include_usage": 1}, "stream_options.include_usage", "it must be a valid boolean"),
        ("other", 1, "other", "'other' is no field of a request; there are model, prompt,"),
        ("prompt", [10**6], "prompt", "token id 1000000 is outside the vocabulary"),
        ("user", "x" * 1001, "user", "it must have at most 1000 characters"),
        ("temperature", 3, "temperature", "temperature is 3; it must be less than or equal to 2"),
        ("n", 33, "n", "prompts (1) times n (33) makes 33 choices; a request to this server has up to 32"),
        (
            "min_tokens",
            100_000,
            "min_tokens",
            "min_tokens is 100000 and max_tokens 4; the first must be at most the second. Ask for a min_tokens of 4",
        ),
    ],
)
def test_the_field_at_fault_is_named(server, field, value, param, words):
    error = check(post(server, json.dumps({**GOOD, field: value, "max_tokens": 4})), 400)
    assert error["param"] == param
    assert words in error["message"]


def test_no_choice_has_a_seed_that_no_request_may_have(server):
    last = 2**63 - 1
    error = check(post(server, json.dumps({**GOOD, "seed": last, "n": 2})), 400)
    assert error["param"] == "seed"
    assert f"Ask for up to {last - 1}" in error["message"]
    seeds = [choice["minispec"]["seed"] for choice in server.complete(seed=last - 1, n=2)["choices"]]
    assert seeds == [last - 1, last]


def test_the_ranges_are_those_of_the_command_line(server):
    server.complete(repetition_penalty=1e6, top_k=2**63 - 1)
    server.complete(repetition_penalty=1e-6)
    check(post(server, json.dumps({**GOOD, "repetition_penalty": 1e7})), 400)
    check(post(server, json.dumps({**GOOD, "top_k": 2**63})), 400)


def test_more_choices_than_there_is_ever_room_for(target):
    with running(target, (), max_running=1, max_waiting=1) as server:
        error = check(post(server, json.dumps(server.body(n=3))), 400)
        assert "a request to this server has up to 2" in error["message"]
        assert server.client.get("/v1/options").json()["n"]["max"] == 2
        assert len(server.complete(n=2)["choices"]) == 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000])
@pytest.mark.parametrize("field", ["temperature", "max_tokens", "seed", "min_p"])
def test_numbers_that_are_none(server, field, number):
    check(post(server, f'{{"model": "tiny-target", "prompt": "x", "{field}": {number}}}'), 400)


def test_paths_methods_and_types(server):
    check(server.client.get("/v1/completions"), 405)
    check(server.client.get("/v1/nothing"), 404)
    check(server.client.get("/v1/models/other"), 404)
    check(server.client.post("/v1/chat/completions", json={"messages": []}), 404)
    check(post(server, json.dumps(GOOD), **{"content-type": "text/plain"}), 415)
    check(server.client.post("/v1/completions", data={"model": "x"}), 415)
    for path in ("/v1/embeddings", "/v1/completions/", "/v1/models/"):
        check(server.client.post(path, json={}), 404)
        told = server.client.get(path, headers={"host": "localhost:1"})
        check(told, 404)
        assert b"localhost:1" not in told.content
        assert "location" not in told.headers
    check(server.client.post("/", json={}), 405)
    check(server.client.post("/health"), 405)
    for path in ("/health", "/ready", "/metrics", "/v1/models", "/v1/models/tiny-target", "/v1/options", "/"):
        told = server.client.head(path)
        assert (told.status_code, told.content) == (200, b"")
    outside = "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd"
    for path in (*outside, "/%00", "/page.js%00.png", "/" + "a" * 3000, "/" + "a/" * 3000):
        assert server.client.get(path).status_code == 404


def test_the_official_client_raises_what_it_should(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match="this server has tiny-target"):
            client.completions.create(model="davinci", prompt="x")
        with pytest.raises(openai.BadRequestError, match="temperature is 9"):
            client.completions.create(model="tiny-target", prompt="x", temperature=9)
        with pytest.raises(openai.NotFoundError, match="base model"):
            client.chat.completions.create(model="tiny-target", messages=[])


def test_a_large_body_is_refused_unread(target):
    with running(target, ("ngram",), header_s=1.0) as hasty:
        check(post(hasty, json.dumps({**GOOD, "prompt": "x" * 10_000_000})), 413)
        endless = (b"x" * 65536 for _ in range(300_000))  # chunked: no length is told
        check(post(hasty, endless), 413)
        assert next(endless)  # who does not stop sending is cut off
        assert hasty.complete()["choices"][0]["text"]


def test_a_prompt_that_cannot_fit_is_not_tokenized(server):
    error = check(post(server, json.dumps({**GOOD, "prompt": "y" * 900_000})), 400)
    assert error["code"] == "context_length_exceeded"


def test_a_flood_of_headers(server):
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        wire.settimeout(20)
        told = b""
        try:
            for i in range(100_000):
                wire.sendall(b"X-Flood-%d: %s\r\n" % (i, b"y" * 1000))
            told = wire.recv(100)
        except OSError:
            told = told or b"closed"
        assert told == b"closed" or b" 400 " in told
    assert server.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "wire", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\0" * 5000, b"POST / HTTP/9.9\r\n\r\n"]
)
def test_bytes_that_are_no_http(server, wire):
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(wire)
        connection.shutdown(socket.SHUT_WR)
        told = connection.recv(1000)
    assert told == b"" or b" 400 " in told
    assert b"Traceback" not in told


def test_another_host_is_refused(server):
    """A page of another site that points a name of its own at this machine."""
    check(server.client.get("/v1/models", headers={"host": "evil.example"}), 400)
    port = server.url.rpartition(":")[2]
    assert server.client.get("/v1/models", headers={"host": f"LOCALHOST:{port}"}).status_code == 200


def test_nothing_for_other_origins_unless_told(server, target):
    asked = {"origin": "https://example.org", "access-control-request-method": "POST"}
    answer = server.client.options("/v1/completions", headers=asked)
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers
    with running(target, ("ngram",), origins=("https://example.org",)) as open_one:
        answer = open_one.client.options("/v1/completions", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        other = open_one.client.options("/v1/completions", headers={**asked, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_every_answer_tells_browsers_what_not_to_do(server):
    for path in ("/health", "/v1/nothing", "/v1/models", "/metrics"):
        headers = server.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_a_key(target):
    key = "0123456789abcdef0123"
    with running(target, ("ngram",), api_key=key) as locked:
        wrong = ("", key, "Bearer wrong", f"Basic {key}", f"Bearer {key[:-1]}", "Bearer \xff")
        for given in wrong:
            headers = {"authorization": given.encode("latin-1")} if given else {}
            for path in ("/v1/models", "/v1/completions", "/metrics"):
                check(locked.client.get(path, headers=headers), 401, "authentication_error")
        for path in ("/health", "/ready", "/v1/options"):
            assert locked.client.get(path).status_code == 200
        assert locked.client.get("/v1/options").json()["needs_key"] is True
        with openai.OpenAI(base_url=f"{locked.url}/v1", api_key=key, max_retries=0) as client:
            assert client.completions.create(model="tiny-target", prompt="x", max_tokens=2).choices
        other = openai.OpenAI(base_url=f"{locked.url}/v1", api_key="other", max_retries=0)
        with other, pytest.raises(openai.AuthenticationError):
            other.models.list()


def test_a_full_queue(target):
    with running(target, ("ngram",), max_running=1, max_waiting=2) as small:
        gate = threading.Event()
        small.service.worker._commands.put(gate.wait)  # nothing goes on until we say so
        tasks = [threading.Thread(target=small.complete, kwargs={"seed": i}) for i in range(3)]
        for task in tasks:
            task.start()
        while small.service.num_open < 3:
            time.sleep(0.001)
        answer = post(small, json.dumps(GOOD))
        check(answer, 429, "rate_limit_error")
        assert 1 <= int(answer.headers["retry-after"]) <= 600
        gate.set()
        for task in tasks:
            task.join()
        small.wait_until_idle()
        assert small.complete()["choices"][0]["text"]
        check(post(small, json.dumps({**GOOD, "n": 4})), 400)  # more than there is room for, ever


def test_a_request_that_needs_more_pages_than_there_are(target):
    with running(target, ("ngram",), kv_memory=50_000) as small:
        error = check(post(small, json.dumps({**GOOD, "max_tokens": 400})), 400)
        assert "pages" in error["message"]
        assert small.complete(max_tokens=2)["choices"][0]["text"]


def test_a_body_that_never_comes(target):
    with running(target, ("ngram",), body_s=0.3) as hasty:
        with socket.create_connection(("127.0.0.1", int(hasty.url.rpartition(":")[2])), timeout=20) as wire:
            wire.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: 100\r\n\r\n{")  # fmt: skip
            told = wire.recv(1000)
        assert b" 408 " in told


def test_a_time_that_is_up(target):
    with running(target, ("ngram",), max_s=0.2) as hasty:
        choice = hasty.complete(prompt="the", max_tokens=500, n=8)["choices"][0]
        assert choice["minispec"]["finish"] == "time"
        assert choice["finish_reason"] == "length"
        assert choice["text"]
        hasty.wait_until_idle()
