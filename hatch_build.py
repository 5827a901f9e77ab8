"""What the wheel holds of ``weights``: the bundled models, and their one tokenizer once.

In the repository each model's folder is complete, so that any library can load it. Installed, ``tokenizer.json`` lies
beside the folders, where ``minispec.engine.loading.bundled`` looks for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "minispec/_bundled/weights"
SHARED = "tokenizer.json"


class Weights(BuildHookInterface[Any]):
    """Adds the files of ``weights`` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling; an editable install finds ``weights`` where it is."""
        if version == "editable":
            return
        weights = Path(self.root) / "weights"
        tokenizers = sorted(weights.glob(f"*/{SHARED}"))
        if len({path.read_bytes() for path in tokenizers}) != 1:
            raise ValueError(f"the models under {weights} do not share one {SHARED}")
        build_data["force_include"][str(tokenizers[0])] = f"{PLACE}/{SHARED}"
        for path in sorted(weights.rglob("*")):
            if path.is_file() and path.name != SHARED:
                build_data["force_include"][str(path)] = f"{PLACE}/{path.relative_to(weights).as_posix()}"
