"""A journal: what a sweep has measured so far, a line per unit; an interruption costs one unit at most."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minispec.analysis.measure.grid import Unit
from minispec.analysis.measure.record import Record
from minispec.errors import OutputError, explain


class Journal:
    """A file of finished units.

    Its first line says which sweep it belongs to; every other one holds the records of a unit. A line that was
    being written when the power went is cut off and its unit measured again.

    Parameters
    ----------
    path : Path
        Made if it does not exist.
    key : str
        Of the sweep, see :meth:`minispec.analysis.measure.grid.Sweep.key`.

    Raises
    ------
    OutputError
        If the file belongs to another sweep, is no journal, or cannot be written.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.units: dict[tuple[str, float, str], list[Record]] = {}
        try:
            if path.exists() and path.stat().st_size:
                self._read(key)
            else:
                self._append({"minispec measure": key})
        except OSError as error:
            raise OutputError(
                f"the journal {path} cannot be written ({error.strerror}). Name another place with --journal FILE"
            ) from None

    def add(self, unit: Sequence[Record]) -> None:
        """Keep the records of a unit; they are on disk when this returns."""
        name = (unit[0].target, unit[0].temperature, unit[0].prompt_id)
        self.units[name] = list(unit)
        self._append({"records": [asdict(record) for record in unit]})

    def missing(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are not in it yet."""
        return [unit for unit in units if unit.name not in self.units]

    def _append(self, entry: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, key: str) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            first, *rest = [json.loads(line) for line in whole.splitlines()]
            found = first["minispec measure"]
            units = [[Record(**record) for record in entry["records"]] for entry in rest]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise OutputError(
                f"{self.path} is no journal of minispec measure ({explain(error)}). Name another with --journal FILE"
            ) from None
        if found != key:
            raise OutputError(
                f"{self.path} belongs to another sweep (it has key {found[:8]}, this one {key[:8]}): prompts, "
                "options, models or the version differ, and the figures would not be alike. Name another journal, or "
                "run what it was begun with"
            )
        for records in units:
            self.units[(records[0].target, records[0].temperature, records[0].prompt_id)] = records
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
