"""A server in this process, behind a real socket."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

import httpx

from minispec.engine.loading import load_model
from minispec.serving.build import build_server
from minispec.serving.server import Server, address_of, allowed_hosts, bind


class Running:
    """A server, where it listens, and what is inside."""

    def __init__(self, url, model, service, server):
        self.url = url
        self.model = model
        self.service = service
        self.server = server
        self.engine = service.worker.engine
        # One client, because each makes a TLS context, which takes longer than a request; a new connection each time.
        self.client = httpx.Client(base_url=url, timeout=60, limits=httpx.Limits(max_keepalive_connections=0))

    def body(self, **fields):
        return {"model": self.model, "prompt": "the end", "max_tokens": 12, "seed": 3, **fields}

    def complete(self, **fields):
        answer = self.client.post("/v1/completions", json=self.body(**fields))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait_until_idle(self, seconds=60.0):
        """Nothing is left: no request, no run, no page."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.is_idle():
                return
            time.sleep(0.01)
        raise AssertionError(f"{self.service.num_open} choices, {self.engine.running} run, {self.engine.waiting} wait")

    def is_idle(self):
        free = self.engine.models.all_free
        return free and self.engine.is_idle and not self.service._in_flight and not self.engine._batch.ended


@contextlib.contextmanager
def running(target: str, drafts: tuple[str, ...], *, backend="panel", **limits) -> Iterator[Running]:
    with bind("127.0.0.1", 0) as bound:
        limits = {"hosts": allowed_hosts(bound), **limits}
        app, service = build_server(load_model(target, backend), target, drafts, **limits)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # so that little is enough to fill it
        bound.listen(1024)
        server = Server(app, service)
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            found = Running(address_of(bound), service.settings.model, service, server)
            with found.client:
                yield found
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def open_files() -> int:
    """Return how many file descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))
