"""Addressed randomness.

``coins`` asks the questions, ``philox`` makes the numbers behind the answers, ``race`` answers many at once.
"""

from minispec.engine.noise.coins import Address, Coins, Noise, Purpose

__all__ = ["Address", "Coins", "Noise", "Purpose"]
