"""A journal: what a sweep has measured so far, a line per unit; an interruption costs one unit at most."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from minispec.engine.files import HeldFile
from minispec.errors import OutputError, explain
from minispec.lab.measure.grid import Unit
from minispec.lab.measure.record import Record


class Journal:
    """A file of finished units.

    Its first line says which sweep it belongs to; every other one holds the records of a unit. A line that was
    being written when the power went is cut off and its unit measured again.

    Parameters
    ----------
    file : HeldFile
    key : str
        Of the sweep, see :meth:`minispec.lab.measure.grid.Sweep.key`.

    Raises
    ------
    OutputError
        If the file belongs to another sweep, is no journal, or cannot be written.
    """

    def __init__(self, file: HeldFile, key: str) -> None:
        self._file = file
        self.path = file.path
        self.units: dict[tuple[str, float, str], list[Record]] = {}
        if content := file.read():
            self._read(content, key)
        else:
            self._append({"minispec measure": key})

    def add(self, unit: Sequence[Record]) -> None:
        """Keep the records of a unit; they are on disk when this returns."""
        name = (unit[0].target, unit[0].temperature, unit[0].prompt_id)
        self.units[name] = list(unit)
        self._append({"records": [asdict(record) for record in unit]})

    def missing(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are not in it yet."""
        return [unit for unit in units if unit.name not in self.units]

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.sync()

    def _read(self, content: bytes, key: str) -> None:
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
            self._file.cut(len(whole))
