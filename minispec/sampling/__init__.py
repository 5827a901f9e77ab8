"""From logits to the distribution a token is drawn from: one fixed order of processors for draft and target."""

from minispec.sampling.constraint import Constraint
from minispec.sampling.draw import distribution
from minispec.sampling.params import SamplingParams
from minispec.sampling.sampler import Sampler

__all__ = ["Constraint", "Sampler", "SamplingParams", "distribution"]
