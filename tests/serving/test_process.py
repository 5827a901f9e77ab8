"""``minispec serve`` as a user runs it: a process, its ready line, its signals, and what it refuses."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from minispec.cli.serve import read_key
from minispec.errors import InputError

BODY = {"model": "tiny-target", "prompt": "the end", "max_tokens": 480, "seed": 1, "min_tokens": 480}


@contextlib.contextmanager
def serving(target, *flags, **environment):
    """Start a server; yield the process and its address."""
    command = [sys.executable, "-m", "minispec", "serve", "--port", "0", "--target", target, "--draft", "ngram", *flags]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MINISPEC_")} | environment
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        try:
            line = process.stdout.readline().decode()
            found = re.fullmatch(r"minispec serves tiny-target at (http://127\.0\.0\.1:\d+)\n", line)
            assert found, (line, process.stderr.read() if process.poll() is not None else "")
            yield process, found[1]
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def refused(done, *words):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("minispec: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def read(url, told, **fields):
    with httpx.stream("POST", f"{url}/v1/completions", json={**BODY, "stream": True, **fields}, timeout=60) as answer:
        told += [line for line in answer.iter_lines() if line]


def finishes(told):
    """Return why each choice ended."""
    chunks = [json.loads(line.removeprefix("data: ")) for line in told if line.startswith('data: {"id"')]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return [choice["minispec"]["finish"] for choice in choices if choice["finish_reason"] is not None]


def test_a_stream_may_end_after_sigterm_and_nobody_else_gets_in(target):
    with serving(target) as (process, url):
        told = []
        fields = {"n": 8, "events": True, "speculative": False}  # a draft of no use would be told on stderr
        reader = threading.Thread(target=read, args=(url, told), kwargs=fields)
        reader.start()
        while 'num_requests_running{model_name="tiny-target"} 8.0' not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")
        reader.join()
        assert told[-1] == "data: [DONE]"
        assert finishes(told) == ["length"] * 8
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


def test_at_the_deadline_what_is_left_is_cut_and_told(target):
    with serving(target, "--drain-seconds", "0.2", "--max-requests", "4") as (process, url):
        told = []
        reader = threading.Thread(target=read, args=(url, told), kwargs={"n": 16, "events": True})
        reader.start()
        while 'num_requests_waiting{model_name="tiny-target"} 12.0' not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        reader.join()
        assert told[-1] == "data: [DONE]"
        assert len(finishes(told)) == 16
        assert "shutdown" in finishes(told)
        assert process.wait(30) == 0


def test_a_key_and_ctrl_c(target, key_file: Path):
    with serving(target, "--api-key-file", str(key_file)) as (process, url):
        assert httpx.get(f"{url}/v1/models").status_code == 401
        headers = {"authorization": "Bearer 0123456789abcdef0123"}
        assert httpx.get(f"{url}/v1/models", headers=headers).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read().decode().splitlines()[-1] == "minispec: interrupted"


def test_a_port_in_use_is_said_before_anything_is_loaded(run_here):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused(run_here("serve", "--port", port, "--target", "no-such-model"), f"port {port}", "--port 0")


def test_a_port_that_needs_rights_is_said_to(run_here, monkeypatch):
    def deny(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", deny)
    refused(run_here("serve", "--port", "80"), "port 80 (Permission denied)", "Ports below 1024", "--port 8000")
    refused(run_here("serve", "--port", "1024"), "port 1024 (Permission denied)", "--port 0")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--target", "no-such-model"], ["no-such-model"]),
        (["--draft", "ngramm"], ["Did you mean", "ngram"]),
        (["--draft", "ngram:n=0"], ["ngram"]),
        (["--host", "no.such.host.invalid"], ["--host 127.0.0.1"]),
        (["--host", "203.0.113.7"], ["host is '203.0.113.7', which is no address of this machine", "--host 127.0.0.1"]),
        (["--port", "70000"], ["70000"]),
        (["--gamma", "nonsense"], ["nonsense"]),
        (["--gamma", "nonsense", "--draft", "none"], ["nonsense"]),
        (["--gamma", "-1", "--draft", "none"], ["gamma is -1", "Try --gamma 3"]),
        (
            ["--gamma", "load", "--draft", "tree:shape=2x1,draft=TARGET"],
            ["shape of its own", "'load'", "Try --gamma 3"],
        ),
        (["--verify", "nonsense"], ["nonsense"]),
        (["--max-requests", "0"], ["0"]),
        (
            ["--allow-origin", "https://Example.org/"],
            ["'https://Example.org/'", "Try --allow-origin https://example.org"],
        ),
        (["--kv-memory", "much"], ["much"]),
        (["--kv-memory", "1"], ["page"]),
        (["--canary", "2"], ["2"]),
        (["--canary", "0.5", "--baseline", "other"], ["baseline", "other"]),
        (["--canary", "0.5", "--baseline", "ngram"], ["--baseline"]),
        (["--canary", "0.5", "--canary-log", "no/such/folder/log"], ["no/such/folder"]),
        (["--canary-log", "log"], ["--canary-log is for a trial", "Add --canary 0.1"]),
        (["--baseline", "ngram"], ["--baseline is for a trial", "leave --baseline out"]),
        (["--max-seconds", "nan"], ["max-seconds is nan", "Try --max-seconds 600"]),
        (["--drain-seconds", "inf"], ["drain-seconds is inf", "Try --drain-seconds 30"]),
        (["--api-key-file", "no-such-file"], ["no-such-file"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)
def test_what_cannot_be_served(run_serve, flags, words):
    refused(run_serve(flags), *words)


def test_a_server_that_is_refused_leaves_no_log_and_touches_none(run_serve, tmp_path):
    flags = ["--canary", "0.5", "--baseline", "other", "--canary-log"]
    refused(run_serve([*flags, str(tmp_path / "new")]), "baseline")
    assert not list(tmp_path.iterdir())
    for content in ("", "what an earlier server wrote\n"):
        (tmp_path / "old").write_text(content)
        refused(run_serve([*flags, str(tmp_path / "old")]), "baseline")
        assert (tmp_path / "old").read_text() == content


def test_open_shows_the_page_in_a_browser_even_if_it_stays_in_the_terminal(target, tmp_path):
    """A browser that comes back only when it has read the page, from a server that must answer meanwhile."""
    browser, page = tmp_path / "browser.py", tmp_path / "page.html"
    browser.write_text(
        "import sys, urllib.request\nbody = urllib.request.urlopen(sys.argv[1], timeout=60).read()\n"
        f"open({str(page)!r} + '~', 'wb').write(body)\nimport os; os.replace({str(page)!r} + '~', {str(page)!r})\n"
    )
    with serving(target, "--open", BROWSER=f"{sys.executable} {browser} %s") as (_, url):
        deadline = time.monotonic() + 60
        while not page.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert page.read_bytes() == httpx.get(url).content


@pytest.fixture
def run_serve(run_here, target):
    def call(flags):
        given = [flag for flag, value in (("--target", target), ("--draft", "ngram")) if flag not in flags]
        defaults = {"--target": target, "--draft": "ngram"}
        flags = [flag.replace("TARGET", target) for flag in flags]
        return run_here("serve", "--port", "0", *(part for flag in given for part in (flag, defaults[flag])), *flags)

    return call


def test_a_key_file_that_others_can_read(run_serve, key_file: Path):
    assert read_key(key_file) == "0123456789abcdef0123"
    for mode in (0o644, 0o640, 0o604, 0o620):
        key_file.chmod(mode)
        refused(run_serve(["--api-key-file", str(key_file)]), "chmod 600", f"{mode:o}")
    key_file.chmod(0o600)
    for content in (b"short", b"", b"0123456789 abcdef0123", b"\xff" * 20, "0123456789abcdef012é".encode()):
        key_file.write_bytes(content)
        with pytest.raises(InputError):
            read_key(key_file)


def test_without_the_extra_it_says_which_one():
    program = "import sys; sys.modules['fastapi'] = None; from minispec.cli.main import main; main()"
    command = [sys.executable, "-c", program, "serve"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    refused(done, "fastapi is not installed", "[serve]")
