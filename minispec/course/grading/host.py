"""Runs the code under test and turns everything that passes between it and the grader into plain values.

The same code serves twice: in the worker, behind a pipe, for submissions; in the grader's own process for our
solution and our catalogue of mistakes. So what is expected and what is observed went through the same hands.

This file imports nothing of minispec: the worker, where minispec is not importable, runs its text.

Values are JSON; what JSON lacks is an object with the key ``@``: arrays (raw bytes, a dtype of the allow-list, never
pickle), dictionaries, bytes, numbers that are not finite, *handles* (objects kept here) and *oracles* (objects kept on
the other side). How deep, how large and of how many parts a value may be is limited on both sides.
"""

from __future__ import annotations

import ast
import base64
import builtins
import codeop
import json
import math
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
MAX_DEPTH = 30
MAX_DIGITS = 100
MAX_PARTS = 100_000
"""Of one value: numbers, texts, lists, ...; an array is one."""
MAX_KEYS = 10_000
"""Of one dictionary."""
MAX_MESSAGE = 4 << 20
_LARGEST_KEY = 1 << 60  # hashes of larger numbers can be made to collide
Tree = Any
Refer = Callable[[Any], Tree]
Resolve = Callable[[str, Any], Any]
Ask = Callable[[Tree], Tree]


class StoppedError(BaseException):
    """Raised by whoever runs the host, to end what it is doing; no failure of the code under test."""


class NotAValueError(TypeError):
    """Something that cannot pass between the worker and the grader."""


def encode(value: Any, refer: Refer | None = None) -> Tree:
    """Turn a value into JSON; ``refer`` says what to write for an object that is none, or returns None.

    Numbers may be of any type that stands for one: Python's, NumPy's, fractions, decimals; sequences become lists.

    Raises
    ------
    NotAValueError
        Naming the type, or the limit.
    """
    return _Encoder(refer).encode(value, 0)


class _Encoder:
    """Encodes one value, counting its parts."""

    def __init__(self, refer: Refer | None) -> None:
        self._refer = refer
        self._parts = 0

    def encode(self, value: Any, depth: int) -> Tree:
        self._parts += 1
        if depth > MAX_DEPTH:
            raise NotAValueError(f"a value nested more than {MAX_DEPTH} deep")
        if self._parts > MAX_PARTS:
            raise NotAValueError(f"a value of more than {MAX_PARTS} parts")
        if value is None or isinstance(value, (bool, str)):
            return value if value is None or isinstance(value, bool) else str(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(np.asarray(value), isinstance(value, np.generic), depth)
        if isinstance(value, int):
            if abs(value) >= 10**MAX_DIGITS:
                raise NotAValueError(f"a whole number of more than {MAX_DIGITS} digits")
            return int(value)
        if isinstance(value, (float, Fraction, Decimal)):
            return _float(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"@": "bytes", "data": base64.b64encode(bytes(value)).decode("ascii")}
        if isinstance(value, Mapping):
            items = [[self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in value.items()]
            if any(type(key) not in (str, int) or (type(key) is int and abs(key) >= _LARGEST_KEY) for key, _ in items):
                raise NotAValueError("a dictionary whose keys are not str or int")
            return {"@": "dict", "items": items}
        if isinstance(value, Sequence):
            return [self.encode(item, depth + 1) for item in value]
        tree = None if self._refer is None else self._refer(value)
        if tree is None:
            raise NotAValueError(f"an object of type {_name(type(value))}")
        return tree

    def _array(self, array: np.ndarray, scalar: bool, depth: int) -> Tree:
        plain = np.ascontiguousarray(array).view(np.ndarray).reshape(array.shape)
        if plain.dtype.kind == "f" and plain.dtype.itemsize > 8:
            plain = plain.astype(np.float64)
        if plain.dtype.kind == "O" and all(isinstance(item, (int, float, Fraction, Decimal)) for item in plain.flat):
            plain = plain.astype(np.float64)
        if plain.dtype.kind == "U":
            return self.encode(plain.tolist(), depth)
        plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        if plain.dtype.str not in DTYPES:
            raise NotAValueError(f"an array of dtype {str(array.dtype)[:40]}")
        if scalar:
            return self.encode(plain.item(), depth)
        data = base64.b64encode(plain.tobytes()).decode("ascii")
        return {"@": "array", "dtype": plain.dtype.str, "shape": list(plain.shape), "data": data}


def _float(value: float | Fraction | Decimal) -> Tree:
    try:
        plain = float(value)
    except (OverflowError, ValueError):  # a fraction beyond all floats, a signalling NaN
        raise NotAValueError("a number that no float comes near") from None
    return plain if math.isfinite(plain) else {"@": "float", "value": repr(plain)}


def _name(kind: type) -> str:
    return "".join(c for c in kind.__name__ if c.isprintable())[:60]


def decode(tree: Tree, resolve: Resolve | None = None) -> Any:
    """Turn JSON back into a value, trusting nothing about it.

    Raises
    ------
    NotAValueError
        If it is not what :func:`encode` writes.
    """
    return _Decoder(resolve).decode(tree, 0)


class _Decoder:
    """Decodes one value, counting its parts."""

    def __init__(self, resolve: Resolve | None) -> None:
        self._resolve = resolve
        self._parts = 0

    def decode(self, tree: Tree, depth: int) -> Any:
        self._parts += 1
        if depth > MAX_DEPTH + 1 or self._parts > MAX_PARTS:
            raise NotAValueError("a value nested too deep or of too many parts")
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in tree]
        try:
            kind = tree["@"]
            if kind == "array":
                return _decode_array(tree["dtype"], tree["shape"], tree["data"])
            if kind == "dict":
                if len(tree["items"]) > MAX_KEYS:
                    raise ValueError("too many keys")
                return {_key(key): self.decode(item, depth + 1) for key, item in tree["items"]}
            if kind == "float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[tree["value"]]
            if kind == "bytes":
                return base64.b64decode(tree["data"], validate=True)
            if kind in ("handle", "oracle") and self._resolve is not None:
                return self._resolve(kind, tree)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, NotAValueError):
                raise
            raise NotAValueError(f"a malformed value ({type(error).__name__})") from None
        raise NotAValueError("a value of an unknown kind")


def _key(key: Any) -> str | int:
    if type(key) not in (str, int) or (type(key) is int and abs(key) >= _LARGEST_KEY):
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
        If it is not strict JSON, or of more parts than a value may have.
    """
    if message.count(b",") + message.count(b"[") > 4 * MAX_PARTS:  # each part costs many times its text
        raise NotAValueError("a message of too many parts")
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
        self._watched: list[tuple[types.ModuleType, str, Any]] = []

    def handle(self, request: Tree) -> Tree:
        """Serve one request; whatever the code under test raises becomes an ``error`` reply."""
        try:
            return {"is": "value", "value": self._do(request)}
        except NotAValueError as error:
            return _report_error("not a value", "TypeError", str(error))
        except ChangedError as error:
            return _report_error("changed", "ValueError", str(error))
        except StoppedError:
            raise
        except BaseException as error:
            return describe(error, self._ours)

    def _do(self, request: Tree) -> Tree:
        what = request["do"]
        if what == "replace":
            for name, tree in request["parts"]:
                for module in self._modules:
                    setattr(module, name, self._in(tree))
            return None
        if what == "watch":
            self._watch(request["parts"])
            return None
        if what == "next":
            try:
                return [self._out(next(self._kept[request["handle"]]), request["keep"])]
            except StopIteration:
                return []
        owner = self._kept[request["handle"]] if what in ("method", "get") else None
        if what == "get":
            return self._out(getattr(owner, request["name"]), request["keep"])
        if what == "each":
            rows = [[*request["args"], row] for row in request["rows"]]
            return [self._call(self._find(request["name"]), {**request, "args": row}) for row in rows]
        function = self._find(request["name"]) if owner is None else getattr(owner, request["name"])
        return self._call(function, request)

    def _call(self, function: Any, request: Tree) -> Tree:
        args = [self._in(tree) for tree in request["args"]]
        kwargs = {name: self._in(tree) for name, tree in request["kwargs"]}
        found = self._out(function(*args, **kwargs), request["keep"])
        named = [(f"argument {i}", arg, request["args"][i - 1]) for i, arg in enumerate(args, 1)]
        named += [(f"argument {name}", kwargs[name], tree) for name, tree in request["kwargs"]]
        for name, arg, tree in named:
            if _is_changed(arg, tree):
                raise ChangedError(f"{request['name']} changed its {name} in place")
        return found

    def _watch(self, parts: list[tuple[str, Tree]]) -> None:
        """Undo what was watched before; then let calls of these functions tell an oracle first what they are given."""
        while self._watched:
            setattr(*self._watched.pop())
        for name, tree in parts:
            for module in self._modules:
                if hasattr(module, name):
                    function = getattr(module, name)
                    self._watched.append((module, name, function))
                    setattr(module, name, _tell_first(self._in(tree), function))

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
            return encode(value, _refer)
        self._kept.append(value)
        return {"@": "handle", "id": len(self._kept) - 1}

    def _ask(self, number: int, method: str, args: Any, kwargs: Any) -> Any:
        trees = [encode(arg, _refer) for arg in args]
        named = [[name, encode(arg, _refer)] for name, arg in kwargs.items()]
        answer = self._send({"is": "ask", "oracle": number, "method": method, "args": trees, "kwargs": named})
        if answer["is"] == "refusal":
            raise ValueError(answer["message"])
        return self._in(answer["value"])


def _tell_first(tell: Callable[[int], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; each call tells the size of its first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        tell(sum(np.size(arg) for arg in [*args, *kwargs.values()][:1]))
        return function(*args, **kwargs)

    return call


def _refer(value: Any) -> Tree:
    return {"@": "oracle", "id": value._number} if isinstance(value, Proxy) else None


def _is_changed(arg: Any, tree: Tree) -> bool:
    """Whether a value is not what it was made from; objects that stay with either side are not looked at."""
    stays = isinstance(tree, dict) and tree["@"] in ("handle", "oracle")
    if isinstance(arg, (list, dict, np.ndarray)) and not stays:
        try:
            return bool(encode(arg, _refer) != _plain(tree))
        except NotAValueError:  # something was put in that is no value
            return True
    return False


def _plain(tree: Tree) -> Tree:
    """Write oracles as this side does."""
    if isinstance(tree, list):
        return [_plain(item) for item in tree]
    if isinstance(tree, dict) and tree["@"] == "oracle":
        return {"@": "oracle", "id": tree["id"]}
    return tree


class MissingError(AttributeError):
    """The submission lacks a function."""


class ChangedError(Exception):
    """A function changed what it was given."""


def _report_error(kind: str, type_name: str, message: str, where: str = "", place: str = "") -> Tree:
    return {"is": "error", "kind": kind, "type": type_name, "message": message, "where": where, "place": place}


def describe(error: BaseException, ours: str) -> Tree:
    """Return what is told about an exception: kind, type, text, and the last line and function of ours it was in."""
    kind = "raised"
    if isinstance(error, NotImplementedError):
        kind = "not implemented"
    elif isinstance(error, MissingError):
        kind = "missing"
    elif isinstance(error, SyntaxError):
        kind = "syntax"
    elif isinstance(error, ModuleNotFoundError) and error.name:
        kind = "not installed"
    where, place, trace = "", "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(ours):
            where, place = f"{name[len(ours) :].lstrip('/')}:{trace.tb_lineno}", trace.tb_frame.f_code.co_name
        trace = trace.tb_next
    if kind == "syntax":
        where = f"{str(getattr(error, 'filename', '') or '').rsplit('/', 1)[-1]}:{getattr(error, 'lineno', 0)}"
    message = str(getattr(error, "msg", "") or "") if kind == "syntax" else _text(error)
    if kind == "not installed":
        message = str(getattr(error, "name", "")).partition(".")[0]
    return _report_error(kind, type(error).__name__[:60], message[:500], where[:120], place[:60])


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a __str__ of the submission's own
        return ""


def load(name: str, source: str, path: str) -> types.ModuleType:
    """Run a source text as a module of that name."""
    module = _new_module(name, path)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def _new_module(name: str, path: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and pickling look a class's module up here
    return module


def load_cells(name: str, source: str, path: str, starts: list[int]) -> tuple[types.ModuleType, list[str]]:
    """Run a notebook's code as a module, cell by cell as a kernel does, and say what went wrong on the way.

    A cell that fails, or leaves by ``sys.exit``, ends there, and the next one is run: plots and demonstrations fail
    here for want of packages. An import that fails is passed over by itself. What a cell imports from ``__future__``
    holds from there on.

    Parameters
    ----------
    name, source, path : str
    starts : list of int
        Line numbers at which cells begin.
    """
    module, notes = _new_module(name, path), []
    compile_next = codeop.Compile()  # a kernel's: it remembers what was imported from __future__
    module.__dict__.update(display=_show_nothing, get_ipython=_Shell)
    lines = source.split("\n")
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines) + 1], strict=True), 1):
        try:
            tree = ast.parse("\n" * (start - 1) + "\n".join(lines[start - 1 : end - 1]), path)
        except SyntaxError as error:
            notes.append(f"code cell {number} is no Python: {error.msg}")
            continue
        for statement in tree.body:
            try:
                one: Any = ast.Module([statement], type_ignores=[])
                exec(compile_next(one, path, "exec"), module.__dict__)
            except ModuleNotFoundError as error:
                notes.append(f"code cell {number} imports {str(error.name)[:60]}, which is not installed here")
                if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                    break
            except (Exception, SystemExit) as error:
                said = ": ".join(filter(None, (type(error).__name__[:60], _text(error)[:120])))
                notes.append(f"code cell {number} raised {said}")
                break
    return module, notes


def _show_nothing(*things: Any, **options: Any) -> None:
    """Stand for a notebook's ``display``."""


class _Shell:
    """Stands for IPython's shell, which is not there: whatever is asked of it does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _show_nothing


class OwnModules:
    """Imports a submission's helpers that have the name of a module of the standard library, for the submission only.

    Beside a script its own ``token.py`` comes first; but the library must go on importing its own ``token``.

    Parameters
    ----------
    paths : dict of str to str
        Module name to file.
    """

    def __init__(self, paths: dict[str, str]) -> None:
        self._paths = paths
        self._loaded: dict[str, types.ModuleType] = {}
        self._import = builtins.__import__

    def install(self) -> None:
        """Take the place of the import statement."""
        builtins.__import__ = self

    def __call__(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
        """Import ``name``, as ``__import__`` does."""
        importer = str((globals or {}).get("__file__", ""))
        if level == 0 and name in self._paths and importer.startswith(self._paths[name].rpartition("/")[0] + "/"):
            if name not in self._loaded:
                path = self._paths[name]
                self._loaded[name] = _new_module(f"own {name}", path)
                with open(path, encoding="utf-8") as file:
                    exec(compile(file.read(), path, "exec", dont_inherit=True), self._loaded[name].__dict__)
            return self._loaded[name]
        return self._import(name, globals, locals, fromlist, level)
