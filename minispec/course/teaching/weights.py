"""The weights of a bundled model as plain NumPy arrays, for lessons that write a forward of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from minispec.engine.loading.folder import find_folder


def load_weights(name: str) -> dict[str, NDArray[np.float32]]:
    """Return a bundled model's arrays in float32, under GPT-2's names without the prefix ``transformer.``.

    Parameters
    ----------
    name : str

    Raises
    ------
    ModelNotFoundError
        If there is no such model.

    Examples
    --------
    >>> load_weights("draft-1.6m")["wte.weight"].shape
    (8192, 128)
    """
    arrays = load_file(find_folder(name) / "model.safetensors")
    return {key.removeprefix("transformer."): np.asarray(array, np.float32) for key, array in arrays.items()}
