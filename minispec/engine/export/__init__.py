"""A pair of models in the form that another engine runs, with the lines that run it there."""

from minispec.engine.export.pair import FORMS, export_pair

__all__ = ["FORMS", "export_pair"]
