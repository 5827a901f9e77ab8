"""From logits to the distribution of the next token: one order of processors, for draft and target alike."""

from minispec.sampling.constraint import Constraint
from minispec.sampling.draw import distribution
from minispec.sampling.params import SamplingParams
from minispec.sampling.sampler import Sampler

__all__ = ["Constraint", "Sampler", "SamplingParams", "distribution"]
