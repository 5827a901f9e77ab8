"""Every option of a generation, with its default: the one list behind the command, the API and the JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypedDict

from minispec.engine.control import DEFAULT_GAMMA, GammaPolicy, get_policy
from minispec.engine.control.fallback import SCOPES
from minispec.engine.sampling import SamplingParams
from minispec.engine.sampling.params import is_whole
from minispec.engine.verifiers import Verifier, Verify, get_verifier
from minispec.errors import OptionError, quote


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
        Record details per token; check every forward and every step.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    gamma: int | str | GammaPolicy = DEFAULT_GAMMA
    fallback: str = "off"
    verify: str | Verifier | Verify = "rejection"
    regex: str | None = None
    json_schema: str | None = None
    max_tokens: int = 128
    stop: tuple[str, ...] = ()
    seed: int = 0
    logprobs: bool = False
    audit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        get_policy(self.gamma)
        get_verifier(self.verify)
        require_whole("max-tokens", self.max_tokens)
        require_whole("seed", self.seed)
        if self.min_tokens > self.max_tokens >= 0:
            raise OptionError(
                f"min-tokens is {self.min_tokens} and max-tokens {self.max_tokens}; the text ends there. "
                f"Try --max-tokens {self.min_tokens}"
            )
        if self.fallback != "off" and self.fallback not in SCOPES:
            raise OptionError(
                f"fallback is {self.fallback!r}; it must be off or one of {', '.join(SCOPES)}. Try --fallback request"
            )
        if self.regex is not None and self.json_schema is not None:
            raise OptionError("both a regex and a JSON schema are given; a text can have one form. Leave one out")

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON can hold them; an object of yours goes by its name."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value if _is_plain(value) else _find_name(value) for name, value in plain.items()}


class RequestOptions(TypedDict, total=False):
    """The :class:`Options` as type checkers see them where a request takes all but its stop strings and its seed."""

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
    logprobs: bool
    audit: bool


def require_whole(name: str, value: object, least: int | None = None) -> None:
    """Refuse what counts nothing, or less than the least.

    Raises
    ------
    OptionError
    """
    if not is_whole(value) or (least is not None and value < least):
        raise OptionError(
            f"{name} is {quote(value)}; it must be a whole number{'' if least is None else f' from {least} on'}"
        )


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


def _find_name(value: object) -> str:
    return str(getattr(value, "name", getattr(value, "__name__", type(value).__name__)))
