"""From logits to the distribution a token is drawn from: one fixed order of processors for draft and target."""

from minispec.sampling.draw import distribution
from minispec.sampling.params import SamplingParams

__all__ = ["SamplingParams", "distribution"]
