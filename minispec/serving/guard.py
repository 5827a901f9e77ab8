"""What is checked before a request is read: the host's name, the key. And what every answer says to a browser."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minispec.errors import quote
from minispec.serving.problems import Problem, describe_fault
from minispec.serving.settings import Settings

_log = logging.getLogger(__name__)
_OPEN = frozenset({"/v1/options"})

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Lets through what may ask.

    A page of another site can send requests to this machine, also through a name of its own that it points here. So a
    server that listens on the loopback answers to the loopback's names only, and a body must say that it is JSON, for
    which a browser asks before it sends.

    Parameters
    ----------
    app : callable
    settings : Settings
    note_refused : callable
        Is told the status of every answer that is no success.
    """

    def __init__(self, app: ASGIApp, settings: Settings, note_refused: Callable[[int], None]) -> None:
        self._app = app
        self._settings = settings
        self._note_refused = note_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if message["status"] >= 400:
                    self._note_refused(message["status"])
            await send(message)

        problem = self._find_problem(scope["path"], Headers(scope=scope))
        if problem is None:
            try:
                await self._app(scope, receive, send_with_headers)
            except Exception as error:
                if begun:
                    raise
                # Here and not in a handler of the application's: those answer outside of us.
                reference = secrets.token_hex(8)
                _log.error("fault %s: %s %s", reference, scope["method"], scope["path"], exc_info=error)
                problem = describe_fault(reference)
        if problem is not None:
            await send_problem(problem, send_with_headers)

    def _find_problem(self, path: str, headers: Headers) -> Problem | None:
        host = _host_name(headers.get("host", ""))
        if self._settings.hosts and host not in self._settings.hosts:
            there = ", ".join(self._settings.hosts)
            return Problem(400, f"the host is {quote(host)}; this server answers to {there}", code="unknown_host")
        if self._settings.api_key is None or path in _OPEN or not (path.startswith("/v1/") or path == "/metrics"):
            return None
        scheme, _, key = headers.get("authorization", "").partition(" ")
        expected = self._settings.api_key.encode()
        if scheme.lower() == "bearer" and hmac.compare_digest(key.strip().encode("utf-8", "replace"), expected):
            return None
        words = "a key is needed: send the header Authorization: Bearer KEY"
        return Problem(401, words, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})


def _host_name(host: str) -> str:
    """Return a ``Host`` header without its port.

    Examples
    --------
    >>> _host_name("localhost:8000"), _host_name("[::1]:8000"), _host_name("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


async def send_problem(problem: Problem, send: Send) -> None:
    """Answer with an error object."""
    body = json.dumps(problem.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **problem.headers}
    start = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": start})
    await send({"type": "http.response.body", "body": body})
