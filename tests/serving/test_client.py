"""The reference client sees text that only grows, and behind it what may go."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from itertools import pairwise

import httpx
import pytest

from minispec.serving.client import Reading, ServerError, parse, read


def test_what_stands_only_grows_and_ends_as_the_whole_answer(server):
    fields = {"max_tokens": 60, "seed": 3, "n": 2, "speculative": {"draft": "tiny-target", "gamma": 3}}
    seen = [[(each.text, each.provisional) for each in readings] for readings in read(server.url, "the end", **fields)]
    whole = [choice["text"] for choice in server.complete(**fields)["choices"]]
    assert seen[-1] == [(text, "") for text in whole]
    for i in range(2):
        texts = [view[i][0] for view in seen]
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        early = [text + provisional for text, provisional in (view[i] for view in seen) if provisional]
        assert len(early) > 5
        assert all(whole[i].startswith(each) for each in early)  # these drafts are always right


def test_a_poor_draft_is_shown_and_taken_back(server):
    fields = {"max_tokens": 60, "seed": 3, "speculative": {"gamma": 3}}
    views = [(reading.text, reading.provisional) for (reading,) in read(server.url, "the end", **fields)]
    whole = views[-1][0]
    assert any(not whole.startswith(text + provisional) for text, provisional in views)


def test_a_text_may_contain_what_some_take_for_the_end_of_a_line(server):
    prompt = "the\x85 \u2028 \u2029 \x0c end"
    assert list(read(server.url, prompt, echo=True, max_tokens=3))[-1][0].text.startswith(prompt)


def test_a_client_stays_open_and_can_be_used_again(server):
    with httpx.Client(timeout=60.0) as client:
        texts = [list(read(server.url, "the end", client=client, seed=3))[-1][0].text for _ in range(2)]
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["http://127.0.0.1:9"], "give the server's address and a prompt"),
        (["http://127.0.0.1:9", "x"], "http://127.0.0.1:9 cannot be asked"),
        (["127.0.0.1", "x"], "127.0.0.1 cannot be asked"),
        (["http://[", "x"], "http://[ cannot be asked"),
        (["SERVER/", ""], 'prompt is ""; it must be a text'),
        (["SERVER/v1", "x"], "/v1/v1/options answers 404 without model"),
    ],
)
def test_what_it_cannot_do_is_one_line(server, arguments, complaint):
    command = [sys.executable, "-m", "minispec.serving.client", *arguments]
    command[3] = command[3].replace("SERVER", server.url)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_ctrl_c_ends_it_quietly():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "minispec.serving.client", url, "x"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(1)  # it has asked, and waits
                process.send_signal(signal.SIGINT)
                assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 130


def test_refusals_and_faults_are_raised(server):
    with pytest.raises(ServerError, match="temperature is 9"):
        list(read(server.url, "the end", temperature=9))
    with pytest.raises(ServerError, match="a fault"):
        list(parse(['data: {"error": {"message": "a fault"}}', ""]))
    with pytest.raises(ServerError, match="ended before"):
        list(parse(['data: {"choices": []}', ""]))
    with pytest.raises(httpx.ConnectError):
        list(read("http://127.0.0.1:9", "x"))


def test_a_name_holds_for_one_event_alone():
    lines = ["event: settled", "data: {}", "", "data: {}", "", "data: [DONE]"]
    assert [name for name, _ in parse(lines)] == ["settled", ""]
    reading = Reading("ab", "cd")
    reading.take("settled", {})
    assert (reading.text, reading.provisional) == ("ab", "")
