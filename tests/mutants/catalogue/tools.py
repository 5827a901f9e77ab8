"""What mistakes are made of: the record of one, and the ways to put it in place."""

from __future__ import annotations
import __future__

import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest import mock

import numpy as np

from minispec.engine.frozen import record
from minispec.engine.generation import loop
from minispec.engine.model.asks import Ask, ask_for
from minispec.engine.noise import Address, Coins
from minispec.engine.records import Draft
from minispec.engine.sampling import processors, sampler
from minispec.engine.verifiers import registry

from ..rules import make_verify
from ..stand_ins import STAND_INS, TOGETHER

FAMILIES = {
    1: "wrong law after a rejection",
    2: "greedy with soft probabilities",
    3: "q is not what the token was drawn from",
    4: "rows misaligned",
    5: "the bonus token",
    6: "acceptance rule and control",
    7: "cache and rollback",
    8: "end of text, budget, context",
    9: "figures",
    10: "state, noise, filters, ties",
    11: "kernels and number formats",
    12: "loading",
    13: "drafts that are shorter, worse or dearer than they need be",
    14: "policies",
    15: "events, interruptions, traces",
    16: "formulas and counts",
    17: "texts that are decoded together",
}

Patch = AbstractContextManager[Any]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A wrong decoder.

    Parameters
    ----------
    name, what : str
    family : int
    killed_by : str
        The check that must notice.
    patch : callable
        Returns the context manager that puts the mistake in place.
    proof : str
        Why it is no mistake; empty for a wrong decoder.
    """

    name: str
    what: str
    family: int
    killed_by: str
    patch: Callable[[], Patch]
    proof: str = ""


MUTANTS: list[Mutant] = []
EQUIVALENT: list[Mutant] = []


def mutant(family: int, killed_by: str):
    def register(patch: Callable[[], Patch]) -> Callable[[], Patch]:
        name, what = patch.__name__.replace("_", " "), " ".join((patch.__doc__ or "").split())
        MUTANTS.append(Mutant(name, what, family, killed_by, patch))
        return patch

    return register


def equivalent(family: int, passes: str, proof: str):
    def register(patch: Callable[[], Patch]) -> Callable[[], Patch]:
        name, what = patch.__name__.replace("_", " "), " ".join((patch.__doc__ or "").split())
        EQUIVALENT.append(Mutant(name, what, family, passes, patch, proof))
        return patch

    return register


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rule(name: str, verify: Any) -> Patch:
    """Put another function behind the name of a rule."""
    return mock.patch.dict(registry._PLAIN, {name: dataclasses.replace(registry._PLAIN[name], verify=verify)})


def wrong(**parts: Any) -> Patch:
    """Rejection sampling with one wrong part."""
    return rule("rejection", make_verify(**parts))


def wraps(owner: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Replace an attribute by something made from it."""
    return mock.patch.object(owner, name, make(getattr(owner, name)))


def rewrite(owner: Any, name: str, old: str, new: str) -> Callable[..., Any]:
    """Return a function, or what is behind a method or property, with one passage of its source changed."""
    found = inspect.getattr_static(owner, name)
    function = found.fget if isinstance(found, property) else getattr(found, "py_func", found)
    function = inspect.unwrap(getattr(function, "__func__", function))
    source = textwrap.dedent(inspect.getsource(function))
    source = source[source.index(f"def {function.__name__}(") :]  # without its decorators
    if source.count(old) != 1:
        raise AssertionError(f"{name} has {source.count(old)} places that read {old!r}; the mistake needs another")
    body = textwrap.indent(source.replace(old, new), "    ")
    # In a function whose argument is called __class__, so that a bare super() finds its class.
    changed = f"def make(__class__):\n{body}\n    return {function.__name__}"
    made: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(changed, f"<{name} with a mistake>", "exec", flags), function.__globals__, made)
    result: Callable[..., Any] = made["make"](owner)
    return result


def edit(owner: Any, name: str, old: str, new: str) -> Patch:
    """Replace a function, method or property by itself with one passage of its source changed.

    What Numba compiled runs as plain Python then, and so does the rest of its module: see :func:`in_python`.
    """
    found, replacement = inspect.getattr_static(owner, name), rewrite(owner, name, old, new)
    for kind in (property, classmethod, staticmethod):
        if isinstance(found, kind):
            replacement = kind(replacement)
    patch = mock.patch.object(owner, name, replacement)
    if not hasattr(found, "py_func"):
        return patch
    others = [each for each in TOGETHER.get(owner, ()) if each is not owner and vars(each).get(name) is found]
    return both(in_python(owner), patch, *(mock.patch.object(other, name, replacement) for other in others))


def change(family: int, killed_by: str, name: str, what: str, owner: Any, function: str, old: str, new: str) -> None:
    """Add the wrong decoder in which one passage of a function's source reads ``new``, not ``old``."""
    MUTANTS.append(Mutant(name, what, family, killed_by, lambda: edit(owner, function, old, new)))


def in_python(module: Any) -> Patch:
    """Run the functions of a module that Numba compiled as plain Python: a wrong one is there without compiling it."""
    patches = []
    for each in TOGETHER.get(module, (module,)):
        compiled = {name: value.py_func for name, value in vars(each).items() if hasattr(value, "py_func")}
        replaced = {**compiled, **STAND_INS[each]}
        patches += [mock.patch.object(each, name, function) for name, function in replaced.items()]
    return both(*patches)


def both(*patches: Patch) -> Patch:
    stack = ExitStack()
    for patch in patches:
        stack.enter_context(patch)
    return stack


def processing(**parts: Any) -> Patch:
    """The engine on the processors in NumPy, some of them replaced."""
    return both(
        mock.patch.object(sampler, "distribution", processors.distribution),
        *(mock.patch.object(processors, name, part) for name, part in parts.items()),
    )


class Redrawing:
    """Noise that draws from something else than it is asked to."""

    def __init__(self, noise: Any, law: Callable[[np.ndarray], np.ndarray]) -> None:
        self._noise, self._law = noise, law

    def bernoulli(self, prob, at):
        return self._noise.bernoulli(prob, at)

    def categorical(self, probs, at):
        return self._noise.categorical(self._law(probs), at)


class Readdressed:
    """Noise that is read at other addresses."""

    def __init__(self, noise: Any, move: Callable[[Address], Address]) -> None:
        self._noise, self._move = noise, move

    def bernoulli(self, prob, at):
        return self._noise.bernoulli(prob, self._move(at))

    def categorical(self, probs, at):
        return self._noise.categorical(probs, self._move(at))


def with_noise(coins: Coins, noise: Any) -> Coins:
    return dataclasses.replace(coins, noise=noise)


def draws(kind: type, law: Callable[[np.ndarray], np.ndarray]) -> Patch:
    """A drafter whose tokens are drawn from ``law(row)`` while it reports the row."""

    def make(propose):
        return lambda self, tokens, gamma, coins, more: propose(
            self, tokens, gamma, with_noise(coins, Redrawing(coins.noise, law)), more
        )

    return wraps(kind, "propose", make)


def reports(kind: type, change: Callable[[Draft], np.ndarray]) -> Patch:
    """A drafter that reports other rows than it drew from."""

    def make(propose):
        def wrapped(self, *args):
            draft = yield from ask_for(propose(self, *args))
            return Draft(draft.tokens, change(draft), draft.parents) if len(draft) else draft

        return wrapped

    return wraps(kind, "propose", make)


@record(frozen=True)
class Instead(Ask):
    """Asks for logits, and is answered in another way."""

    how: Callable[[], Any]

    def answer(self):
        return self.how()


def answers(how: Callable[..., Any]) -> Patch:
    """What the loop asks of the target for a draft is answered by ``how(target, tokens, draft, answer)``."""

    def make(ask_target):
        def wrapped(target, tokens, draft):
            ask = ask_target(target, tokens, draft)
            committed = list(tokens)
            return Instead(ask.session, ask.tokens, ask.num_logits, lambda: how(target, committed, draft, ask.answer))

        return wrapped

    return wraps(loop, "ask_target", make)
