"""A process that serves: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from minispec.errors import OptionError, explain
from minispec.serving.service import Service
from minispec.serving.settings import Settings

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_FREE_FOR_ALL = 1024  # the first such port
_GRACE_S = 5.0  # to send what is left once all requests were cut
_KEEP_ALIVE_S = 10
_SWITCH_S = 0.0005
"""The engine's thread gives the interpreter up for every kernel; by default it may wait 5 ms to get it back."""
_PROBE_IDLE_S, _PROBE_EVERY_S, _PROBES = 30, 10, 3


def bind(host: str, port: int) -> socket.socket:
    """Take the address, before anything is loaded; nobody can connect until the server listens.

    Raises
    ------
    OptionError
        If it is taken, not ours, or no address.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OptionError(f"host is {host!r}, which is no address ({explain(error)}). Try --host 127.0.0.1") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A peer that vanished without a word is noticed: accepted sockets inherit this.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("IDLE", _PROBE_IDLE_S), ("INTVL", _PROBE_EVERY_S), ("CNT", _PROBES)):
            if hasattr(socket, f"TCP_KEEP{option}"):
                bound.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_KEEP{option}"), value)
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise OptionError(
                f"host is {host!r}, which is no address of this machine ({error.strerror}). Try --host 127.0.0.1"
            ) from None
        if error.errno == errno.EACCES and 0 < port < _FREE_FOR_ALL:
            raise OptionError(
                f"cannot listen on {host} port {port} ({error.strerror}). Ports below {_FREE_FOR_ALL} need rights that "
                "this user lacks; try --port 8000"
            ) from None
        raise OptionError(
            f"cannot listen on {host} port {port} ({error.strerror}). Another program may have it; try --port 0, "
            "which takes a free one"
        ) from None
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address as a browser writes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allowed_hosts(bound: socket.socket) -> tuple[str, ...]:
    """Return the names that a ``Host`` header may have: those of the loopback where we listen there, else any."""
    host = bound.getsockname()[0]
    return tuple(dict.fromkeys((*_LOOPBACK, host))) if host.startswith("127.") or host == "::1" else ()


class _Counting:
    """A transport that counts what it was given to send."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.num_given = 0

    @property
    def num_taken(self) -> int:
        """Bytes that have left us: only what does not fit into the system's buffers stays here."""
        return self.num_given - self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        self.num_given += len(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to patience: uvicorn waits forever for headers, and for a reader who takes nothing."""

    header_s = 20.0
    stall_s = 30.0
    _header_timer: asyncio.TimerHandle | None = None
    _stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the headers of a first request."""
        self._sent = _Counting(transport)
        super().connection_made(self._sent)  # type: ignore[arg-type]
        self._expect_headers()
        self._watch_reader(None)

    def data_received(self, data: bytes) -> None:
        """Wait on for headers that have begun, and no longer once they are there."""
        if self._header_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_headers()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_expecting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers with the connection."""
        self._stop_expecting()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._header_timer = self.loop.call_later(self.header_s, self.timeout_keep_alive_handler)

    def _watch_reader(self, before: int | None) -> None:
        """Look now and then whether the reader takes what there is; if not, drop it and the connection.

        ``before`` is how much was taken at the last look, None if nothing was left to take then.
        """
        taken = self._sent.num_taken
        if taken == before:
            self._sent.abort()  # close() would wait until the reader has taken the rest
            return
        waited_for = taken if taken < self._sent.num_given else None
        self._stall_timer = self.loop.call_later(self.stall_s, self._watch_reader, waited_for)

    def _stop_expecting(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


class Server(uvicorn.Server):
    """Serves until a signal comes; then lets nobody in, and lets those inside finish or ends them at the deadline.

    Parameters
    ----------
    app : FastAPI
    service : Service
    """

    def __init__(self, app: FastAPI, service: Service) -> None:
        settings = service.settings
        self.signals: list[int] = []
        self._service = service
        super().__init__(
            uvicorn.Config(
                app,
                http=_protocol(settings),
                ws="none",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=int(settings.drain_s + _GRACE_S) + 1,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; a second signal cuts what is left."""
        if self.should_exit:
            self._service.cut_all()
        self.signals.append(sig)  # not uvicorn's list: it would raise the signal again in the end
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then end."""
        self._service.draining = True
        deadline = asyncio.get_running_loop().call_later(self._service.settings.drain_s, self._service.cut_all)
        try:
            await super().shutdown(sockets)
        finally:
            deadline.cancel()


def _protocol(settings: Settings) -> type[asyncio.Protocol]:
    attributes: dict[str, Any] = {"header_s": settings.header_s, "stall_s": settings.stall_s}
    return type("Protocol", (PatientProtocol,), attributes)


def serve(app: FastAPI, service: Service, sockets: Sequence[socket.socket]) -> list[int]:
    """Serve until told to stop; return the signals that came."""
    sys.setswitchinterval(_SWITCH_S)
    server = Server(app, service)
    server.run(list(sockets))
    return server.signals
