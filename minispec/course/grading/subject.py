"""A submission as the checks see it: functions to call, objects that stay where they are.

The same front for both transports: :class:`LocalSubject` runs our own code in this process, a worker
(:mod:`minispec.course.grading.worker`) runs a submission elsewhere.
"""

from __future__ import annotations

import contextlib
import io
import re
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minispec.course.grading.host import Host, StoppedError, Tree, decode, describe, encode, load
from minispec.course.grading.oracle import Oracle, Refusal

_TOLD = frozenset({"not implemented", "missing", "raised", "syntax", "not installed", "not a value", "changed"})
"""What code under test may say went wrong with it."""
SERVING_CPU_S = 3.0
"""Processor time that one worker's values and questions may cost the grader; honest ones cost a hundredth."""


class StudentError(Exception):
    """The code under test did not give a value.

    Parameters
    ----------
    kind : str
        ``not implemented``, ``missing``, ``raised``, ``syntax``, ``not installed``, ``not a value``, ``changed``; from
        workers also ``time`` (of the processor), ``clock``, ``output``, ``died``, ``protocol``, ``excess``.
    type_name, message, where : str
        Of the exception, and the submission's line.
    place : str
        The submission's function in which it was raised.
    """

    def __init__(self, kind: str, type_name: str = "", message: str = "", where: str = "", place: str = "") -> None:
        super().__init__(kind, type_name, message, where)
        self.kind = kind
        self.type_name = type_name
        self.message = message
        self.where = where
        self.place = place

    @classmethod
    def from_reply(cls, reply: Tree) -> StudentError:
        """Take over what a worker says of a failure: any of it may be made up, so it is brought into form."""
        kind, type_name, message, where, place = (
            str(reply.get(key, ""))[:500] for key in ("kind", "type", "message", "where", "place")
        )
        if kind not in _TOLD:
            return cls("protocol", "", "an error of no known kind")
        if not type_name.isidentifier():
            type_name = "an exception"
        if kind == "not installed" and not message.isidentifier():
            message = "something"
        if not re.fullmatch(r"[\w./ -]{1,100}:\d{1,7}", where):
            where = ""
        return cls(kind=kind, type_name=type_name[:60], message=message, where=where, place=place[:60])


class Allowance:
    """Processor time for what one subject costs the grader; beyond it, and beyond the memory, the subject fails."""

    def __init__(self, seconds: float = SERVING_CPU_S) -> None:
        self._left = seconds
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            if self._left <= 0.0:
                self._depth = 0
                raise _excess("time")
            signal.signal(signal.SIGVTALRM, _stop)
            signal.setitimer(signal.ITIMER_VIRTUAL, self._left)

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._left = signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)[0]
        if kind is not None and issubclass(kind, StoppedError):
            self._left = 0.0
            raise _excess("time") from None
        if kind is not None and issubclass(kind, MemoryError):
            raise _excess("memory") from None


def _stop(*_: object) -> None:
    raise StoppedError


def _excess(what: str) -> StudentError:
    return StudentError("excess", "", f"asked too much: the grader ran out of {what}")


class Subject:
    """Calls functions of a submission by name: ``subject.accept(p, q, x, u)``.

    ``subject.keep.new_cache()`` leaves the result where it is and returns a :class:`Handle`.

    Attributes
    ----------
    requests : int
        Messages sent to the submission so far.

    Raises
    ------
    StudentError
        From any call that gives no value.
    """

    def __init__(
        self,
        exchange: Callable[[Tree, Callable[[Tree], Tree]], Tree],
        allowance: contextlib.AbstractContextManager[None] | None = None,
    ) -> None:
        self._exchange = exchange
        self._allowance = allowance or contextlib.nullcontext()
        self.requests = 0
        self._oracles: list[Oracle] = []
        self._numbers: dict[int, int] = {}  # of oracles, by identity
        self._num_lent = 0  # those that stay
        self._is_watching = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._call({"do": "call", "name": name, "keep": False}, args, kwargs)

    @property
    def keep(self) -> _Keeping:
        """The same functions; results stay in the worker."""
        return _Keeping(lambda name, args, kwargs: self._call({"do": "call", "name": name, "keep": True}, args, kwargs))

    def each(self, name: str, args: Sequence[Any], rows: Iterable[Any]) -> list[Any]:
        """Call a function once per row, with ``args`` and the row behind them, in one message.

        Returns
        -------
        list
            What each call gave.
        """
        request = {"do": "each", "name": name, "keep": False, "rows": [self._tree(row) for row in rows]}
        found = self._call(request, args, {})
        if not isinstance(found, list) or len(found) != len(request["rows"]):
            raise StudentError("protocol", "", "not one value per call")
        return found

    def replace(self, parts: dict[str, Any]) -> None:
        """Put functions of ours in place of the submission's own."""
        self._request({"do": "replace", "parts": [[name, self._tree(part)] for name, part in parts.items()]})
        self._num_lent = len(self._oracles)

    def watch(self, *names: str) -> dict[str, int]:
        """Count what passes through functions of the submission, whoever calls them, until the next case.

        Returns
        -------
        dict of str to int
            For each name the sum of the sizes of first arguments so far, in numbers. It goes on counting.

        Notes
        -----
        Calls are seen by the function's name in the submission's modules: what is written out in place is not counted,
        so a low count proves nothing.
        """
        counts = dict.fromkeys(names, 0)

        def counter(name: str) -> Oracle:
            def add(size: int) -> None:
                if type(size) is not int or size < 0:
                    raise Refusal("sizes are whole numbers from 0 on")
                counts[name] += size

            return Oracle(add)

        self._is_watching = True
        self._request({"do": "watch", "parts": [[name, self._tree(counter(name))] for name in names]})
        return counts

    def forget(self) -> None:
        """Drop the oracles of the last case, and with them their logs."""
        if self._is_watching:
            self._is_watching = False
            self._request({"do": "watch", "parts": []})
        del self._oracles[self._num_lent :]
        self._numbers = {id(oracle): number for number, oracle in enumerate(self._oracles)}

    def _call(self, request: Tree, args: Any, kwargs: Any) -> Any:
        request["args"] = [self._tree(arg) for arg in args]
        request["kwargs"] = [[name, self._tree(arg)] for name, arg in kwargs.items()]
        return self._request(request)

    def _request(self, request: Tree) -> Any:
        self.requests += 1
        reply = self._exchange(request, self._answer)
        try:
            if reply["is"] == "error":
                error = StudentError.from_reply(reply)
                if error.kind == "missing" and error.message != request.get("name"):
                    raise StudentError("protocol", "", "another function is missing than was asked for")
                raise error
            with self._allowance:
                return decode(reply["value"], self._resolve)
        except StudentError:
            raise
        except Exception as error:  # whatever it is, it came with the reply
            raise StudentError("protocol", type(error).__name__, str(error)) from None

    def _tree(self, value: Any) -> Tree:
        return encode(value, self._refer)

    def _refer(self, value: Any) -> Tree:
        if isinstance(value, Handle):
            return {"@": "handle", "id": value._number}
        if isinstance(value, Oracle):
            if id(value) not in self._numbers:
                self._numbers[id(value)] = len(self._oracles)
                self._oracles.append(value)
            return {"@": "oracle", "id": self._numbers[id(value)], "methods": list(value.methods)}
        return None

    def _resolve(self, kind: str, tree: Tree) -> Any:
        number = tree["id"]
        if type(number) is not int or number < 0:
            raise ValueError("no such object")
        return Handle(self, number) if kind == "handle" else self._oracles[number]

    def _answer(self, asked: Tree) -> Tree:
        """Serve an oracle call of the code under test."""
        self.requests += 1
        with self._allowance:
            try:
                oracle = self._oracles[asked["oracle"]]
                args = [decode(tree, self._resolve) for tree in asked["args"]]
                kwargs = {str(name): decode(tree, self._resolve) for name, tree in asked["kwargs"]}
                method = str(asked["method"])
            except MemoryError:
                raise
            except Exception as error:  # whatever it is, it came with the question
                return {"is": "refusal", "message": f"malformed call ({type(error).__name__})"}
            try:
                return {"is": "answer", "value": self._tree(oracle.answer(method, args, kwargs))}
            except Refusal as refusal:
                return {"is": "refusal", "message": str(refusal)[:300]}


class _Keeping:
    def __init__(self, call: Callable[[str, Any, Any], Any]) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self._call(name, args, kwargs)


class Handle:
    """An object that stays with the code under test: call its methods, step it, read attributes, pass it on."""

    def __init__(self, subject: Subject, number: int) -> None:
        self._subject = subject
        self._number = number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._method(name, False, args, kwargs)

    @property
    def keep(self) -> _Keeping:
        """The same methods; results stay where they are."""
        return _Keeping(lambda name, args, kwargs: self._method(name, True, args, kwargs))

    def get(self, name: str) -> Any:
        """Return the value of an attribute."""
        return self._subject._request({"do": "get", "handle": self._number, "name": name, "keep": False})

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found = self._subject._request({"do": "next", "handle": self._number, "keep": False})
        if not isinstance(found, list) or len(found) > 1:
            raise StudentError("protocol", "", "not one item")
        if not found:
            raise StopIteration
        return found[0]

    def _method(self, name: str, keep: bool, args: Any, kwargs: Any) -> Any:
        request = {"do": "method", "handle": self._number, "name": name, "keep": keep}
        return self._subject._call(request, args, kwargs)


class LocalSubject(Subject):
    """Our own code, in this process: never a submission.

    Parameters
    ----------
    source : str
        Text of the module.
    name : str
        The module's name.

    Examples
    --------
    >>> LocalSubject("def double(x): return 2 * x", "a0").double(21)
    42
    """

    def __init__(self, source: str, name: str) -> None:
        self._answering: list[Callable[[Tree], Tree]] = []
        path = f"/{name}/{name}.py"
        try:
            module = load(name, source, path)
        except Exception as error:
            raise StudentError.from_reply(describe(error, f"/{name}")) from error
        host = Host([module], lambda asked: self._answering[-1](asked), f"/{name}")

        def exchange(request: Tree, answer: Callable[[Tree], Tree]) -> Tree:
            self._answering.append(answer)
            try:
                with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the worker lets them pass too
                    return host.handle(request)
            finally:
                self._answering.pop()

        super().__init__(exchange)
