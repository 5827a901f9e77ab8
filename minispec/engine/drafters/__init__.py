"""Drafters: what proposes tokens."""

from minispec.engine.drafters.base import ChainDrafter, Drafter, MoreTokens, NoDrafter, draft_nothing
from minispec.engine.drafters.build import build_drafter, load_draft
from minispec.engine.drafters.cascade import CascadeDrafter
from minispec.engine.drafters.forced import ForcedDrafter
from minispec.engine.drafters.layerskip import LayerSkipDrafter
from minispec.engine.drafters.model import ModelDrafter
from minispec.engine.drafters.ngram import NgramDrafter
from minispec.engine.drafters.selfdraft import SelfDrafter
from minispec.engine.drafters.spec import DraftSpec, parse_draft
from minispec.engine.drafters.suffix import SuffixDrafter
from minispec.engine.drafters.synthetic import SyntheticDrafter
from minispec.engine.drafters.tables import TableDrafter, TokenTable
from minispec.engine.drafters.translate import TranslatingDrafter
from minispec.engine.drafters.trees import DynamicTreeDrafter, FixedTreeDrafter, ModelSource

__all__ = [
    "CascadeDrafter",
    "ChainDrafter",
    "DraftSpec",
    "Drafter",
    "DynamicTreeDrafter",
    "FixedTreeDrafter",
    "ForcedDrafter",
    "LayerSkipDrafter",
    "ModelDrafter",
    "ModelSource",
    "MoreTokens",
    "NgramDrafter",
    "NoDrafter",
    "SelfDrafter",
    "SuffixDrafter",
    "SyntheticDrafter",
    "TableDrafter",
    "TokenTable",
    "TranslatingDrafter",
    "build_drafter",
    "draft_nothing",
    "load_draft",
    "parse_draft",
]
