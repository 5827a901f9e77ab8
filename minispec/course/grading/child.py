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
    jail = _module("grading_jail", setup["jail"])
    jail.die_with_parent(setup["parent"])
    layers, folder = jail.enter({**setup["wanted"], "close": [to_us, from_us]})
    sys.path.append("/packages" if layers["namespaces"] else setup["wanted"]["links"])
    sys.path.append(folder)
    host = _module("grading_host", setup["host"])
    sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as we live

    def send(tree: Any) -> None:
        message = host.dumps(tree)
        if len(message) > host.MAX_MESSAGE:
            said = f"a value of more than {host.MAX_MESSAGE >> 20} MB"
            message = host.dumps({"is": "error", "kind": "not a value", "type": "TypeError", "message": said})
        _write(from_us, message)

    def ask(tree: Any) -> Any:
        message = host.dumps(tree)
        if len(message) > host.MAX_MESSAGE:
            raise host.NotAValueError(f"a question of more than {host.MAX_MESSAGE >> 20} MB")
        _write(from_us, message)
        return host.loads(_read(to_us))

    for name, text in setup["files"].items():
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "x", encoding="utf-8", newline="") as file:
            file.write(text)
    random.seed(0)
    host.np.random.seed(0)
    own = {name[:-3]: f"{folder}/{name}" for name in setup["files"] if name[:-3] in sys.stdlib_module_names}
    host.OwnModules(own).install()
    send({"is": "ready", "layers": layers})
    _read(to_us)  # nothing of the submission runs before the grader has seen which layers hold
    modules, notes = [], []
    try:
        for name in setup["modules"]:
            text, path = setup["files"][f"{name}.py"], f"{folder}/{name}.py"
            if f"{name}.py" in setup["cells"]:
                module, said = host.load_cells(name, text, path, setup["cells"][f"{name}.py"])
                notes += said
            else:
                module = host.load(name, text, path)
            modules.append(module)
    except BaseException as error:
        send(host.describe(error, folder))
        return
    send({"is": "value", "value": notes[:8]})
    served = host.Host(modules, ask, folder)
    while True:
        send(served.handle(host.loads(_read(to_us))))


if __name__ == "__main__":
    main()
