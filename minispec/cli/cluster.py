"""A Dask cluster that somebody has started: joblib sends its work there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from minispec.analysis.measure.run import sweep_library
from minispec.errors import OptionError, reason


@contextlib.contextmanager
def on_dask(address: str) -> Iterator[None]:
    """Make joblib send its work to a cluster while this is open.

    Parameters
    ----------
    address : str
        Of the scheduler.

    Raises
    ------
    OptionError
        If nothing answers there.
    MissingDependencyError
        If joblib or Dask is not installed.
    """
    joblib, distributed = sweep_library("joblib"), sweep_library("dask.distributed")
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise OptionError(
            f"there is no Dask scheduler at {address} ({reason(error)}). Start one with dask scheduler"
        ) from None
    with client, joblib.parallel_config("dask"):
        yield
