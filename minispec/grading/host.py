"""Runs the code under test and turns everything that passes between it and the grader into plain values.

The same code serves twice: in the worker, behind a pipe, for submissions; in the grader's own process for our
solution and our catalogue of mistakes. So what is expected and what is observed went through the same hands.

This file imports nothing of minispec: the worker, where minispec is not importable, runs its text.

Values are JSON; what JSON lacks is an object with the key ``@``: arrays (raw bytes, a dtype of the allow-list, never
pickle), dictionaries, bytes, numbers that are not finite, *handles* (objects kept here) and *oracles* (objects kept on
the other side).
"""

from __future__ import annotations

import base64
import json
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
MAX_DEPTH = 30
MAX_DIGITS = 100
Tree = Any
Refer = Callable[[Any], Tree]
Resolve = Callable[[str, Any], Any]
Ask = Callable[[Tree], Tree]


class NotAValueError(TypeError):
    """Something that cannot pass between the worker and the grader."""


def encode(value: Any, refer: Refer | None = None, depth: int = 0) -> Tree:
    """Turn a value into JSON; ``refer`` says what to write for an object that is none, or returns None.

    Raises
    ------
    NotAValueError
        Naming the type.
    """
    if depth > MAX_DEPTH:
        raise NotAValueError(f"a value nested more than {MAX_DEPTH} deep")
    if value is None or isinstance(value, (bool, str)):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise NotAValueError(f"a whole number of more than {MAX_DIGITS} digits")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"@": "float", "value": repr(float(value))}
    if isinstance(value, (list, tuple)):
        return [encode(item, refer, depth + 1) for item in value]
    if isinstance(value, dict):
        items = [[encode(key), encode(item, refer, depth + 1)] for key, item in value.items()]
        if any(isinstance(key, (list, dict, float)) for key, _ in items):
            raise NotAValueError("a dictionary whose keys are not str or int")
        return {"@": "dict", "items": items}
    if isinstance(value, (bytes, bytearray)):
        return {"@": "bytes", "data": base64.b64encode(bytes(value)).decode("ascii")}
    tree = None if refer is None else refer(value)
    if tree is None:
        raise NotAValueError(f"{_article(type(value).__name__)}")
    return tree


def _article(name: str) -> str:
    return f"an object of type {name}"


def _encode_array(array: np.ndarray, scalar: bool) -> Tree:
    plain = np.ascontiguousarray(array).view(np.ndarray).reshape(array.shape)
    plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    if plain.dtype.str not in DTYPES:
        raise NotAValueError(f"an array of dtype {str(array.dtype)[:40]}")
    if scalar:
        return encode(plain.item())
    data = base64.b64encode(plain.tobytes()).decode("ascii")
    return {"@": "array", "dtype": plain.dtype.str, "shape": list(plain.shape), "data": data}


def decode(tree: Tree, resolve: Resolve | None = None, depth: int = 0) -> Any:
    """Turn JSON back into a value, trusting nothing about it.

    Raises
    ------
    NotAValueError
        If it is not what :func:`encode` writes.
    """
    if depth > 2 * MAX_DEPTH:
        raise NotAValueError("a value nested too deep")
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    if isinstance(tree, list):
        return [decode(item, resolve, depth + 1) for item in tree]
    try:
        kind = tree["@"]
        if kind == "array":
            return _decode_array(tree["dtype"], tree["shape"], tree["data"])
        if kind == "dict":
            return {_key(key): decode(item, resolve, depth + 1) for key, item in tree["items"]}
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[tree["value"]]
        if kind == "bytes":
            return base64.b64decode(tree["data"], validate=True)
        if kind in ("handle", "oracle") and resolve is not None:
            return resolve(kind, tree)
    except (KeyError, TypeError, ValueError) as error:
        raise NotAValueError(f"a malformed value ({type(error).__name__})") from None
    raise NotAValueError("a value of an unknown kind")


def _key(key: Any) -> str | int:
    if type(key) not in (str, int):
        raise ValueError("keys are str or int")
    return key  # type: ignore[no-any-return]


def _decode_array(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    if dtype not in DTYPES or len(shape) > 16 or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError("no such array")
    flat = np.frombuffer(base64.b64decode(data, validate=True), np.dtype(dtype))
    if flat.size != math.prod(shape):
        raise ValueError("size and shape differ")
    return flat.reshape(shape).copy()


def dumps(tree: Tree) -> bytes:
    """Write one message."""
    return json.dumps(tree, separators=(",", ":"), allow_nan=False).encode("ascii")


def loads(message: bytes) -> Tree:
    """Read one message.

    Raises
    ------
    NotAValueError
        If it is not strict JSON.
    """
    try:
        return json.loads(message.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise NotAValueError(f"a malformed message ({type(error).__name__})") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Proxy:
    """Stands for an oracle of the other side: call it, or one of its methods."""

    def __init__(self, number: int, methods: list[str], ask: Callable[[int, str, Any, Any], Any]) -> None:
        self._number = number
        self._ask = ask
        for name in methods:
            setattr(self, name, self._method(name))

    def _method(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._ask(self._number, name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the oracle."""
        return self._ask(self._number, "", args, kwargs)


class Host:
    """Holds one submission and answers requests about it.

    Parameters
    ----------
    modules : list of module
        In the order they were loaded; functions are looked up in the last one first.
    ask : callable
        Sends ``{"is": "ask", ...}`` to the other side and returns its answer; serves the oracles.
    ours : str
        Folder whose files may be named in messages about exceptions.
    """

    def __init__(self, modules: list[types.ModuleType], ask: Ask, ours: str) -> None:
        self._modules = modules
        self._send = ask
        self._ours = ours
        self._kept: list[Any] = []

    def handle(self, request: Tree) -> Tree:
        """Serve one request; whatever the code under test raises becomes an ``error`` reply."""
        try:
            return {"is": "value", "value": self._do(request)}
        except NotAValueError as error:
            return {"is": "error", "kind": "not a value", "type": "TypeError", "message": str(error), "where": ""}
        except BaseException as error:
            return describe(error, self._ours)

    def _do(self, request: Tree) -> Tree:
        what = request["do"]
        if what == "replace":
            for name, tree in request["parts"]:
                for module in self._modules:
                    setattr(module, name, self._in(tree))
            return None
        if what == "next":
            try:
                return [self._out(next(self._kept[request["handle"]]), request["keep"])]
            except StopIteration:
                return []
        owner = self._kept[request["handle"]] if what in ("method", "get") else None
        if what == "get":
            return self._out(getattr(owner, request["name"]), request["keep"])
        function = self._find(request["name"]) if owner is None else getattr(owner, request["name"])
        args = [self._in(tree) for tree in request["args"]]
        kwargs = {name: self._in(tree) for name, tree in request["kwargs"]}
        return self._out(function(*args, **kwargs), request["keep"])

    def _find(self, name: str) -> Any:
        for module in reversed(self._modules):
            if hasattr(module, name):
                return getattr(module, name)
        raise MissingError(name)

    def _in(self, tree: Tree) -> Any:
        return decode(tree, self._resolve)

    def _resolve(self, kind: str, tree: Tree) -> Any:
        return self._kept[tree["id"]] if kind == "handle" else Proxy(tree["id"], tree["methods"], self._ask)

    def _out(self, value: Any, keep: bool) -> Tree:
        if not keep:
            return encode(value, self._refer)
        self._kept.append(value)
        return {"@": "handle", "id": len(self._kept) - 1}

    def _refer(self, value: Any) -> Tree:
        return {"@": "oracle", "id": value._number} if isinstance(value, Proxy) else None

    def _ask(self, number: int, method: str, args: Any, kwargs: Any) -> Any:
        trees = [encode(arg, self._refer) for arg in args]
        named = [[name, encode(arg, self._refer)] for name, arg in kwargs.items()]
        answer = self._send({"is": "ask", "oracle": number, "method": method, "args": trees, "kwargs": named})
        if answer["is"] == "refusal":
            raise ValueError(answer["message"])
        return self._in(answer["value"])


class MissingError(AttributeError):
    """The submission lacks a function."""


def describe(error: BaseException, ours: str) -> Tree:
    """Return what is told about an exception: kind, type, first line, and the last line of the submission it was in."""
    kind = "raised"
    if isinstance(error, NotImplementedError):
        kind = "not implemented"
    elif isinstance(error, MissingError):
        kind = "missing"
    elif isinstance(error, SyntaxError):
        kind = "syntax"
    where, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(ours):
            where = f"{name[len(ours) :].lstrip('/')}:{trace.tb_lineno}"
        trace = trace.tb_next
    if kind == "syntax":
        where = f"{str(getattr(error, 'filename', '') or '').rsplit('/', 1)[-1]}:{getattr(error, 'lineno', 0)}"
    message = str(getattr(error, "msg", "") or "") if kind == "syntax" else _text(error)
    return {"is": "error", "kind": kind, "type": type(error).__name__[:60], "message": message[:500], "where": where}


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a __str__ of the submission's own
        return ""


def load(name: str, source: str, path: str) -> types.ModuleType:
    """Run a source text as a module of that name."""
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and pickling look a class's module up here
    exec(compile(source, path, "exec"), module.__dict__)
    return module
