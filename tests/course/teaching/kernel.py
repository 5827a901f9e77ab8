"""A kernel spoken to as JupyterLab speaks to it: cells run, widgets are moved, what comes back is collected."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import start_new_kernel

from minispec.course.teaching.explore import STATIC
from minispec.course.teaching.find import ROOTS

LIMIT_S = 300


@dataclass
class Heard:
    """What a kernel said while it was busy with one request."""

    pictures: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    text: str = ""
    sliders: dict[str, dict[str, Any]] = field(default_factory=dict)
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    """State of each slider and text field that came into being, by the id of its comm."""


class Kernel:
    """A live kernel."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str) -> Heard:
        """Execute a cell."""
        return self._hear(self._client.execute(code))

    def move(self, comm_id: str, index: int) -> Heard:
        """Move a slider, as a click in the browser does."""
        return self._set(comm_id, {"index": index})

    def write(self, comm_id: str, text: str) -> Heard:
        """Write into a text field, as a reader does who ends with Enter."""
        return self._set(comm_id, {"value": text})

    def _set(self, comm_id: str, state: dict[str, Any]) -> Heard:
        data = {"method": "update", "state": state, "buffer_paths": []}
        message = self._client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        self._client.shell_channel.send(message)
        return self._hear(message["header"]["msg_id"])

    def _hear(self, request: str) -> Heard:
        heard = Heard()
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            try:
                message = self._client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            match message["msg_type"]:
                case "display_data" | "execute_result":
                    heard.text += content["data"].get("text/plain", "") + "\n"
                    page = content["data"].get("text/html", "")
                    if "image/png" in content["data"]:
                        heard.pictures.append(content["data"]["image/png"])
                    elif 'class="frame"' in page:  # one to step through
                        heard.pictures.append(page)
                case "stream":
                    heard.text += content["text"]
                case "error":
                    heard.errors.append(f"{content['ename']}: {content['evalue']}")
                case "comm_open":
                    state = content["data"].get("state", {})
                    kinds = {"SelectionSliderModel": heard.sliders, "TextModel": heard.fields}
                    kinds.get(state.get("_model_name"), {})[content["comm_id"]] = state
                case "status":
                    if content["execution_state"] == "idle":
                        return heard
        raise TimeoutError(f"the kernel is still busy after {LIMIT_S} s")


@contextmanager
def live_kernel(**options: Any) -> Iterator[Kernel]:
    """Start a kernel with nobody's settings but these; stop it at the end."""
    manager, client = start_new_kernel(kernel_name="python3", **options)
    try:
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def surroundings(folder: Path) -> dict[str, Any]:
    """Return what a kernel is started with: a learner's folder, this checkout's package, a live frontend."""
    environment = {name: value for name, value in os.environ.items() if name != STATIC}
    environment["PYTHONPATH"] = str(ROOTS[0].parent) + os.pathsep + os.environ.get("PYTHONPATH", "")
    return {"cwd": str(folder), "env": environment}


def assert_moves(kernel: Kernel, cell: str) -> Heard:
    """Run a cell; each slider and text field in it must show a picture before and another after a move.

    What cannot be a prompt must be refused in one line.
    """
    heard = kernel.run(cell)
    assert not heard.errors, f"{heard.errors} in\n{cell}"
    assert not (heard.sliders or heard.fields) or heard.pictures, "a slider or a field without a picture"
    for comm_id, state in heard.sliders.items():
        first, last = (kernel.move(comm_id, index) for index in (0, len(state["_options_labels"]) - 1))
        assert not first.errors + last.errors
        assert len(first.pictures) == len(last.pictures) == 1, "no picture after a move"
        assert first.pictures != last.pictures, "the picture did not change"
    for comm_id in heard.fields:
        mine, none = (kernel.write(comm_id, text) for text in ("My own words are", ""))
        assert not mine.errors + none.errors
        assert len(mine.pictures) == 1, "no picture of one's own prompt"
        assert mine.pictures != heard.pictures, "the picture did not change"
        assert not none.pictures
        assert "✗ the prompt is empty" in none.text
    return heard
