"""What proposes tokens."""

from minispec.drafters.base import Drafter
from minispec.drafters.model import ModelDrafter

__all__ = ["Drafter", "ModelDrafter"]
