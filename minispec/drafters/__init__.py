"""What proposes tokens."""

from minispec.drafters.base import Drafter, KeepDrafting
from minispec.drafters.build import build_drafter
from minispec.drafters.cascade import CascadeDrafter
from minispec.drafters.layerskip import LayerSkipDrafter
from minispec.drafters.model import ModelDrafter
from minispec.drafters.ngram import NgramDrafter
from minispec.drafters.selfdraft import SelfDrafter
from minispec.drafters.spec import DraftSpec, parse_draft
from minispec.drafters.suffix import SuffixDrafter
from minispec.drafters.synthetic import SyntheticDrafter
from minispec.drafters.tables import TableDrafter, TokenTable
from minispec.drafters.translate import TranslatingDrafter
from minispec.drafters.tree import TreeDrafter

__all__ = [
    "CascadeDrafter",
    "DraftSpec",
    "Drafter",
    "KeepDrafting",
    "LayerSkipDrafter",
    "ModelDrafter",
    "NgramDrafter",
    "SelfDrafter",
    "SuffixDrafter",
    "SyntheticDrafter",
    "TableDrafter",
    "TokenTable",
    "TranslatingDrafter",
    "TreeDrafter",
    "build_drafter",
    "parse_draft",
]
