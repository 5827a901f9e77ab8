"""Trees of candidates: several guesses at each position, verified in one target pass.

``base`` says how siblings are chosen, and what a tree is drawn from; ``fixed`` fills a shape that is known before any
token (``shapes``), ``dynamic`` grows where the draft is confident; ``model`` asks a draft model what comes next. Heads
that look inside the target answer too: :mod:`minispec.engine.drafters.heads`.
"""

from minispec.engine.drafters.trees.base import Siblings, TreeDrafter, TreeSource
from minispec.engine.drafters.trees.dynamic import DynamicTreeDrafter
from minispec.engine.drafters.trees.fixed import FixedTreeDrafter
from minispec.engine.drafters.trees.model import ModelSource

__all__ = ["DynamicTreeDrafter", "FixedTreeDrafter", "ModelSource", "Siblings", "TreeDrafter", "TreeSource"]
