"""Every option of a generation, with its default and its meaning: the one list for command, API and JSON."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypedDict, TypeVar

from minispec.engine.control import DEFAULT_GAMMA, GammaPolicy, get_policy
from minispec.engine.control.fallback import SCOPES
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.params import is_whole, option
from minispec.engine.verifiers import VERIFIER_NAMES, Verifier, Verify, get_verifier
from minispec.errors import OptionError, quote, suggest


@dataclass(frozen=True)
class Options(SamplingParams):
    """Options of one generation: how tokens are sampled, and how they are drafted, verified and ended.

    Attributes
    ----------
    gamma : int, str or GammaPolicy
        Tokens to draft per step, or a policy: "heuristic", "confidence:threshold=0.4", "auto",
        "replay:trace=FILE", or an object of your own.
    fallback : {"off", "request", "session", "process"}
        Stop drafting where it costs more than it saves, and remember that for one request, as long as the target is
        loaded, or as long as the process runs.
    verify : str, Verifier or Verify
        The rule that judges drafts: a name of :mod:`minispec.engine.verifiers`, or a rule of your own. A bare function
        promises nothing, a ``Verifier`` what it says.
    regex, json_schema : str or None
        The form that the text must have; at most one of the two.
    max_tokens : int
        Tokens to emit at most.
    stop : tuple of str
        The text ends just before any of these.
    seed : int
        The same seed and options give the same text.
    logprobs, audit : bool
        Record details per token; check every pass of the target and every step.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    gamma: int | str | GammaPolicy = option(
        DEFAULT_GAMMA,
        "Tokens to draft per step, or a policy: heuristic, confidence[:threshold=0.4], auto, replay:trace=FILE.",
    )
    fallback: str = option(
        "off",
        "Stop drafting while it costs more than it saves, and remember that for a request, a loaded target or the "
        "process.",
    )
    verify: str | Verifier | Verify = option(
        "rejection", f"The rule that judges drafts: {', '.join(VERIFIER_NAMES)}. The last two are lossy."
    )
    regex: str | None = option(None, "The whole text must match this regular expression.")
    json_schema: str | None = option(None, "The text must be JSON that satisfies this schema.")
    max_tokens: int = option(128, "Generate at most this many tokens.")
    stop: tuple[str, ...] = option((), "End the text just before this string, or before the first of several.")
    seed: int = option(0, "The same seed and options give the same text.")
    logprobs: bool = option(False, "Record log probabilities, p, q and acceptance per token.")
    audit: bool = option(
        False, "Check every pass of the target against one without a cache, and every step's invariants. Slow."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_whole(self.gamma):
            object.__setattr__(self, "gamma", int(self.gamma))
        get_policy(self.gamma)
        get_verifier(self.verify)
        for name, least in (("max_tokens", None), ("seed", 0)):
            require_whole(name.replace("_", "-"), getattr(self, name), least)
            object.__setattr__(self, name, int(getattr(self, name)))
        for name in ("regex", "json_schema"):
            if not isinstance(getattr(self, name), str | None):
                raise OptionError(f"{name.replace('_', '-')} is {quote(getattr(self, name))}; it must be text")
        for name in ("logprobs", "audit"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name} is {quote(getattr(self, name))}; it must be True or False")
        if self.min_tokens > self.max_tokens >= 0:
            raise OptionError(
                f"min-tokens is {self.min_tokens} and max-tokens {self.max_tokens}; the first must be at most "
                f"the second. Try --max-tokens {self.min_tokens}"
            )
        if self.fallback != "off" and self.fallback not in SCOPES:
            raise OptionError(
                f"fallback is {quote(self.fallback)}; it must be off or one of {', '.join(SCOPES)}. "
                "Try --fallback request"
            )
        if self.regex is not None and self.json_schema is not None:
            raise OptionError("both a regex and a JSON schema are given; a text can have one form. Leave one out")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the options that a caller gives by name; ``stop`` may be one text.

        Raises
        ------
        OptionError
            If a value is outside its range, or no option has a name.
        """
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                way_out = suggest(name, names, "help(minispec.generate) lists them all")
                raise OptionError(f"{name} is no option of a generation. {way_out}")
        stop = given.get("stop", ())
        if not isinstance(stop, Iterable):
            raise OptionError(f"stop is {quote(stop)}; it must be a text or several. Try --stop END")
        return cls(**{**given, "stop": (stop,) if isinstance(stop, str) else tuple(stop)})

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON can hold them; an object of yours goes by its name."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value if _is_plain(value) else _find_name(value) for name, value in plain.items()}


class RequestOptions(TypedDict, total=False):
    """The :class:`Options` as type checkers see them where a caller gives some by name."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    min_tokens: int
    gamma: int | str | GammaPolicy
    fallback: str
    verify: str | Verifier | Verify
    regex: str | None
    json_schema: str | None
    max_tokens: int
    stop: str | Sequence[str]
    seed: int
    logprobs: bool
    audit: bool


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(function: _Function) -> _Function:
    """Let ``help()``, completion and the API page show every option that a function takes as ``**options``.

    Each becomes a keyword of its signature, with type and default, and an entry of its docstring before ``**options``.
    """
    names = {each.name: str(RequestOptions.__annotations__[each.name].__forward_arg__) for each in fields(Options)}
    signature, keyword = inspect.signature(function), inspect.Parameter.KEYWORD_ONLY
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=names[each.name])
        for each in fields(Options)
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    found = re.search(r"^( *)\*\*options\n", function.__doc__ or "", re.MULTILINE)  # there is none under -OO
    if function.__doc__ is not None and found is not None:
        entries = [
            f"{each.name} : {names[each.name]}, default {each.default!r}\n"
            + textwrap.indent(textwrap.fill(each.metadata["help"], 100), "    ")
            for each in fields(Options)
        ]
        begin = found.start()
        listed = textwrap.indent("\n".join(entries), found[1])
        function.__doc__ = f"{function.__doc__[:begin]}{listed}\n{function.__doc__[begin:]}"
    return function


def require_whole(name: str, value: object, least: int | None = None) -> None:
    """Refuse what counts nothing, or less than the least.

    Raises
    ------
    OptionError
    """
    if not is_whole(value) or not (-(2**64) if least is None else least) <= value < 2**64:
        rule = "below 2**64" if least is None else f"from {least} to 2**64 - 1"
        raise OptionError(f"{name} is {quote(value)}; it must be a whole number {rule}")


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


def _find_name(value: object) -> str:
    return str(getattr(value, "name", getattr(value, "__name__", type(value).__name__)))
