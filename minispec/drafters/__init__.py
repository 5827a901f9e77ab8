"""Drafters: what proposes tokens."""

from minispec.drafters.base import ChainDrafter, Drafter, MoreTokens
from minispec.drafters.build import build_drafter, load_draft
from minispec.drafters.cascade import CascadeDrafter
from minispec.drafters.forced import ForcedDrafter
from minispec.drafters.layerskip import LayerSkipDrafter
from minispec.drafters.model import ModelDrafter
from minispec.drafters.ngram import NgramDrafter
from minispec.drafters.none import NoDrafter, draft_nothing
from minispec.drafters.selfdraft import SelfDrafter
from minispec.drafters.spec import DraftSpec, parse_draft
from minispec.drafters.suffix import SuffixDrafter
from minispec.drafters.synthetic import SyntheticDrafter
from minispec.drafters.tables import TableDrafter, TokenTable
from minispec.drafters.translate import TranslatingDrafter
from minispec.drafters.trees import DynamicTreeDrafter, FixedTreeDrafter, ModelSource

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
