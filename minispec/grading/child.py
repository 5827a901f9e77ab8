"""What the worker process runs: shut itself in, load the submission, answer requests about it.

Started as a script, without site-packages. Everything it needs of minispec comes as text over the pipe or was read
before the door closed. The student's code may do anything to this process; all that leaves it are values.
"""

import json
import os
import random
import struct
import sys
from types import ModuleType
from typing import Any


def _module(name: str, source: str) -> Any:
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    return module


def _read_exactly(fd: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            os._exit(0)  # the grader is done with us
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _read(fd: int) -> bytes:
    return _read_exactly(fd, struct.unpack(">I", _read_exactly(fd, 4))[0])


def _write(fd: int, message: bytes) -> None:
    data = memoryview(struct.pack(">I", len(message)) + message)
    while data:
        data = data[os.write(fd, data) :]


def main() -> None:
    """Serve until the pipe closes."""
    to_us, from_us = int(sys.argv[1]), int(sys.argv[2])
    sys.argv = [""]
    setup = json.loads(_read(to_us))
    layers, folder = _module("grading_jail", setup["jail"]).enter({**setup["wanted"], "close": [to_us, from_us]})
    sys.path.append("/packages" if layers["namespaces"] else setup["wanted"]["links"])
    sys.path.append(folder)
    host = _module("grading_host", setup["host"])
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as we live

    def send(tree: Any) -> None:
        _write(from_us, host.dumps(tree))

    def ask(tree: Any) -> Any:
        send(tree)
        return host.loads(_read(to_us))

    for name, text in setup["files"].items():
        with open(f"{folder}/{name}", "x", encoding="utf-8", newline="") as file:
            file.write(text)
    random.seed(0)
    host.np.random.seed(0)
    send({"is": "ready", "layers": layers})
    try:
        modules = [host.load(name, setup["files"][f"{name}.py"], f"{folder}/{name}.py") for name in setup["modules"]]
    except BaseException as error:
        send(host.describe(error, folder))
        return
    send({"is": "value", "value": None})
    served = host.Host(modules, ask, folder)
    while True:
        send(served.handle(host.loads(_read(to_us))))


if __name__ == "__main__":
    main()
