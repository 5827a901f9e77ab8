"""A Dask cluster that somebody has started: joblib sends its work there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import click

from minispec.errors import OptionError, explain
from minispec.lab.measure.sweep import sweep_library


def on_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--on``, which gives a command ``address``, of a scheduler; ``what`` is spread from there."""
    return click.option(
        "--on",
        "address",
        metavar="dask[:ADDRESS]",
        callback=_read_address,
        help=f"Spread the {what} over this Dask cluster; by default DASK_SCHEDULER_ADDRESS names it.",
    )


@contextlib.contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Make joblib send its work to a cluster while this is open.

    Parameters
    ----------
    address : str or None
        Of the scheduler; None: work stays here.

    Raises
    ------
    OptionError
        If nothing answers there.
    MissingDependencyError
        If joblib or Dask is not installed.
    """
    if address is None:
        yield
        return
    joblib, distributed = sweep_library("joblib"), sweep_library("dask.distributed")
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise OptionError(
            f"there is no Dask scheduler at {address} ({explain(error)}). Start one with dask scheduler"
        ) from None
    with client, joblib.parallel_config("dask"):
        yield


def _read_address(context: click.Context, parameter: click.Parameter, where: str | None) -> str | None:
    if where is None:
        return None
    kind, _, address = where.partition(":")
    address = address or os.environ.get("DASK_SCHEDULER_ADDRESS", "")
    if kind != "dask" or not address:
        raise OptionError(
            f"on is {where!r}; it has the form dask:ADDRESS, or dask with DASK_SCHEDULER_ADDRESS set. "
            "Try dask:tcp://127.0.0.1:8786"
        )
    return address
