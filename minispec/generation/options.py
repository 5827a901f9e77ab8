"""Every option of a generation, with its default: the one list behind the command, the API and the JSON."""

from __future__ import annotations

from dataclasses import dataclass

from minispec.control import get_policy
from minispec.control.fallback import SCOPES
from minispec.errors import OptionError
from minispec.sampling import SamplingParams
from minispec.verifiers import get_verifier

DEFAULT_TARGET = "target-17m"
DEFAULT_DRAFT = "draft-1.6m"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one generation; see ``minispec generate --help`` for what each does.

    Attributes
    ----------
    gamma : int or str
        Tokens to draft per step, or a policy: "heuristic", "confidence:threshold=0.4", "auto", "replay:trace=FILE".
    fallback : {"off", "request", "session", "process"}
        Stop drafting where it costs more than it saves, and for how long that is remembered.
    verify : str
        The rule that judges drafts, see :mod:`minispec.verifiers`.
    regex, json_schema : str or None
        What form the text must have; at most one of the two.
    logprobs, audit : bool
        Record details per token; check every forward and every step.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    gamma: int | str = 5
    fallback: str = "off"
    verify: str = "rejection"
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    min_tokens: int = 0
    regex: str | None = None
    json_schema: str | None = None
    max_tokens: int = 128
    stop: tuple[str, ...] = ()
    seed: int = 0
    logprobs: bool = False
    audit: bool = False

    def __post_init__(self) -> None:
        get_policy(self.gamma)
        get_verifier(self.verify)
        _ = self.sampling  # each of the three checks what it is made of
        if self.fallback != "off" and self.fallback not in SCOPES:
            raise OptionError(
                f"fallback is {self.fallback!r}; it must be off or one of {', '.join(SCOPES)}. Try --fallback request"
            )
        if self.regex is not None and self.json_schema is not None:
            raise OptionError("both a regex and a JSON schema are given; a text can have one form. Leave one out")

    @property
    def sampling(self) -> SamplingParams:
        """The options that turn logits into a distribution."""
        return SamplingParams(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            min_tokens=self.min_tokens,
        )
