"""Every option of a generation, with its default: the one list behind the command, the API and the JSON."""

from __future__ import annotations

from dataclasses import dataclass

from minispec.errors import OptionError
from minispec.sampling import SamplingParams

DEFAULT_TARGET = "target-17m"
DEFAULT_DRAFT = "draft-1.6m"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one generation; see ``minispec generate --help`` for what each does.

    Raises
    ------
    OptionError
        If a value is outside its range.
    """

    gamma: int = 5
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 0.95
    min_p: float = 0.0
    max_tokens: int = 128
    stop: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.gamma < 0:
            raise OptionError(f"gamma is {self.gamma}; it must be >= 0 (0 drafts nothing). Try --gamma 5")
        _ = self.sampling  # checks the ranges of what it is made of

    @property
    def sampling(self) -> SamplingParams:
        """The options that turn logits into a distribution."""
        return SamplingParams(self.temperature, self.top_k, self.top_p, self.min_p)
