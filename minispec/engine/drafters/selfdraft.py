"""The target drafts for itself with weights in a smaller number format, and a cache of its own.

Source: gpt-fast drafts with an int8 copy of the model. The rounded model agrees with the target nearly always, which
makes its acceptance rate a measure of what a number format loses; what it gains is bytes: on the panel backend an int8
forward reads a quarter of the target's (``backends.formats``; the other backends compute the same values in float32).
"""

from __future__ import annotations

from minispec.engine.backends.formats import ROUNDED_DTYPES
from minispec.engine.drafters.model import ModelDrafter
from minispec.engine.model.gpt2 import GPT2
from minispec.engine.model.language_model import LanguageModel
from minispec.engine.model.quantize import round_model
from minispec.engine.model.session import Session
from minispec.engine.sampling.sampler import Params
from minispec.errors import OptionError


class SelfDrafter(ModelDrafter):
    """A :class:`ModelDrafter` whose model is the target's, rounded.

    Parameters
    ----------
    target : LanguageModel
    params : SamplingParams or Sampler
    dtype : str
        One of ``ROUNDED_DTYPES``.
    coupled : bool
        Draw with the noise of plain sampling.

    Raises
    ------
    OptionError
        If the target has no weights to round, or the dtype is unknown.
    """

    def __init__(self, target: LanguageModel, params: Params, dtype: str = "int8", *, coupled: bool = False) -> None:
        if not isinstance(target, GPT2):
            raise OptionError(f"self: {target.name} has no weights to round. Try --draft ngram")
        if dtype not in ROUNDED_DTYPES:
            raise OptionError(
                f"self: dtype is {dtype!r}; it is one of {', '.join(ROUNDED_DTYPES)}. Try self:dtype=int8"
            )
        super().__init__(Session(round_model(target, dtype)), params, coupled=coupled)
