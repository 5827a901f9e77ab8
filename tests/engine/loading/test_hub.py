"""Models by hub name, against a server on loopback that speaks the endpoints ``huggingface_hub`` uses."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.engine.loading.folders import assert_clear, write_model, write_vocab_and_merges

pytest.importorskip("huggingface_hub", reason="tokenizers brings it")

ROOT = Path(__file__).resolve().parents[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/tiny-gpt2"
REVISIONS = ("main", "v1.0", COMMIT)

USE = """
import json, logging, sys
from minispec.errors import InputError
from minispec.engine.loading import load_model
try:
    model = load_model(sys.argv[1], backend="numpy")
except InputError as error:
    print(json.dumps({"error": str(error), "type": type(error).__name__}))
else:
    print(json.dumps({"name": model.name, "logits": model.logits([1, 2, 3]).tolist(), "vocab": model.vocab_size,
                      "tokens": model.tokenizer.encode("the a")}))
"""


MORE = ("generation_config.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json")


class Hub:
    """A hub with one model, whose files are those of a folder; it notes every request."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.requests.append(f"{self.command} {self.path}")
                path = self.path.partition("?")[0]
                if path in (*(f"/api/models/{NAME}/revision/{name}" for name in REVISIONS), f"/api/models/{NAME}"):
                    files = [{"rfilename": name} for name in hub.names(folder)]
                    self.answer({"id": NAME, "sha": COMMIT, "siblings": files, "tags": [], "private": False})
                elif path.startswith(f"/api/models/{NAME}/tree/"):
                    self.answer([hub.entry(folder / name) for name in hub.names(folder)])
                elif path.startswith(f"/{NAME}/resolve/") and (folder / Path(path).name).is_file():
                    file = folder / Path(path).name
                    etag = hub.entry(file)["oid"]
                    self.answer(file.read_bytes(), {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})
                else:
                    code = "EntryNotFound" if path.startswith(f"/{NAME}/") else "RepoNotFound"
                    self.answer({"error": "not found"}, {"X-Error-Code": code}, status=404)

            do_HEAD = do_GET

            def answer(self, content, headers=None, status=200):
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for key, value in (headers or {}).items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def names(folder):
        return sorted(path.name for path in folder.iterdir())

    @staticmethod
    def entry(path):
        content = path.read_bytes()
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # as git names a file
        return {"type": "file", "path": path.name, "size": len(content), "oid": oid}

    def fetched(self):
        return {request.rpartition("/")[2].partition("?")[0] for request in self.requests if "/resolve/" in request}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def folder(tmp_path):
    """A published folder: what we need among what we must leave alone."""
    folder = write_model(tmp_path / "published")
    write_vocab_and_merges(folder)
    for name in MORE:
        (folder / name).write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04N.")
    (folder / "tf_model.h5").write_bytes(b"\x89HDF")
    (folder / "README.md").write_text("card")
    return folder


@pytest.fixture
def hub(folder):
    hub = Hub(folder)
    yield hub
    hub.close()


def load(name, hub, tmp_path, **environment):
    """Load a model in a process of its own, as huggingface_hub reads its settings once, at import."""
    settings = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_CACHE": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    run = subprocess.run(
        [sys.executable, "-c", USE, name],
        cwd=ROOT,
        env=kept | settings | environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), run.stderr


def test_a_model_is_fetched_once_and_then_read_from_the_cache(hub, folder, tmp_path):
    first, progress = load(NAME, hub, tmp_path)
    assert first["name"] == NAME
    assert first["tokens"] == [258, 259]
    local, _ = load(str(folder), hub, tmp_path)
    assert first["logits"] == local["logits"]  # the very floats of the folder it was published from
    assert "%" in progress or "B/s" in progress  # a bar, on standard error

    needed = {"config.json", "model.safetensors", "tokenizer.json", "vocab.json", "merges.txt", *MORE}
    assert hub.fetched() == needed  # above all, no pickle
    on_disk = {path.name for path in (tmp_path / "cache").rglob("snapshots/*/*")}
    assert on_disk == needed

    hub.requests.clear()
    again, _ = load(NAME, hub, tmp_path)
    assert again == first
    assert hub.fetched() == set()

    hub.requests.clear()
    offline, _ = load(NAME, hub, tmp_path, HF_HUB_OFFLINE="1")
    assert offline == first
    assert hub.requests == []

    hub.close()
    down, _ = load(NAME, hub, tmp_path)
    assert down == first


@pytest.mark.parametrize("revision", ["v1.0", COMMIT])
def test_a_revision_is_asked_for_by_name(hub, folder, tmp_path, revision):
    found, _ = load(f"{NAME}@{revision}", hub, tmp_path)
    assert found["name"] == f"{NAME}@{revision}"
    assert found["logits"] == load(str(folder), hub, tmp_path)[0]["logits"]
    assert any(revision in request for request in hub.requests)
    answer, _ = load(f"{NAME}@v2.0", hub, tmp_path)
    assert answer["type"] == "ModelNotFoundError"
    assert_clear(answer["error"])


def test_bars_can_be_switched_off(hub, tmp_path):
    _, progress = load(NAME, hub, tmp_path, HF_HUB_DISABLE_PROGRESS_BARS="1")
    assert "%" not in progress


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("someone/no-such-model", {}),
        ("no-such-model", {}),
        (NAME, {"HF_HUB_OFFLINE": "1"}),  # offline, and nothing in the cache
        ("a..b/c--d", {}),  # no name the hub would accept
    ],
    ids=["unknown", "unknown, no owner", "offline and not cached", "invalid"],
)
def test_a_model_that_is_not_there_is_one_clear_line(hub, tmp_path, name, environment):
    answer, stderr = load(name, hub, tmp_path, **environment)
    assert answer["type"] == "ModelNotFoundError"
    assert name in answer["error"]
    assert "minispec models" in answer["error"]
    assert_clear(answer["error"])
    assert "Traceback" not in stderr


def test_a_server_that_is_down_is_one_clear_line(hub, tmp_path):
    hub.close()
    answer, stderr = load(NAME, hub, tmp_path)
    assert answer["type"] == "ModelNotFoundError"
    assert "the hub cannot be reached, and its cache here does not hold it. Check the connection" in answer["error"]
    assert_clear(answer["error"])
    assert "Traceback" not in stderr


def test_a_model_that_is_only_a_pickle_is_refused_and_not_fetched(hub, folder, tmp_path):
    (folder / "model.safetensors").unlink()
    answer, _ = load(NAME, hub, tmp_path)
    assert answer["type"] == "ModelFileError"
    assert "published only as a pickle (pytorch_model.bin)" in answer["error"]
    assert_clear(answer["error"])
    assert "pytorch_model.bin" not in hub.fetched()


def test_without_huggingface_hub_the_message_names_it(hub, tmp_path):
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "huggingface_hub.py").write_text("raise ImportError('not installed')\n")
    answer, _ = load(NAME, hub, tmp_path, PYTHONPATH=str(stub))
    assert answer["type"] == "MissingDependencyError"
    assert "pip install huggingface_hub" in answer["error"]
    assert_clear(answer["error"])
