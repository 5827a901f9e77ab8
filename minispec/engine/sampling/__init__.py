"""From logits to the distribution of the next token: one order of processors, for draft and target alike."""

from minispec.engine.sampling.constraint import Constraint
from minispec.engine.sampling.draw import distribution
from minispec.engine.sampling.params import SamplingParams
from minispec.engine.sampling.sampler import Sampler

__all__ = ["Constraint", "Sampler", "SamplingParams", "distribution"]
