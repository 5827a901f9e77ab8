"""The models that come with minispec: in the repository's ``weights/``, and inside the installed package."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from minispec.engine.loading.checkpoint import read_json
from minispec.engine.model.config import GPT2Config
from minispec.engine.model.weights import num_parameters
from minispec.errors import ModelFileError, explain, quote

DEFAULT_TARGET = "target-17m"
DEFAULT_DRAFT = "draft-1.6m"

CHECKSUMS = "SHA256SUMS"
TOKENIZER = "tokenizer.json"
_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *]([\w.-]+)")  # as sha256sum writes it; files of this folder alone
_PACKAGE = Path(__file__).resolve().parents[2]
_PLACES = (_PACKAGE / "_bundled" / "weights", _PACKAGE.parent / "weights")  # installed wheel; repository


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model that needs no download.

    Attributes
    ----------
    name : str
    folder : Path
    config : GPT2Config
    num_parameters : int
    weights_bytes : int
        Size of the weights on disk.
    data, licence : str
        From the model card's front matter.
    """

    name: str
    folder: Path
    config: GPT2Config
    num_parameters: int
    weights_bytes: int
    data: str
    licence: str


def bundled_folders() -> dict[str, Path]:
    """Return the bundled models' folders by name."""
    place = next((place for place in _PLACES if place.is_dir()), None)
    if place is None:
        return {}
    return {folder.name: folder for folder in sorted(place.iterdir()) if (folder / "config.json").is_file()}


def file_of(folder: Path, name: str) -> Path:
    """Return where a file of a model folder is.

    The bundled models have one tokenizer; an installed package keeps it once, beside their folders.
    """
    own, shared = folder / name, folder.parent / name
    return shared if name == TOKENIZER and folder.parent in _PLACES and not own.is_file() else own


def bundled_models() -> list[BundledModel]:
    """Describe the bundled models, the largest first."""
    models = []
    for name, folder in bundled_folders().items():
        config = GPT2Config.from_dict(read_json(folder / "config.json"), str(folder / "config.json"))
        card = read_front_matter(folder / "README.md")
        models.append(
            BundledModel(
                name=name,
                folder=folder,
                config=config,
                num_parameters=num_parameters(config),
                weights_bytes=sum(path.stat().st_size for path in folder.glob("model*.safetensors")),
                data=card.get("summary", ""),
                licence=card.get("license", ""),
            )
        )
    return sorted(models, key=lambda model: -model.num_parameters)


def verify_checksums(folder: Path) -> None:
    """Compare a folder's files with its ``SHA256SUMS``, if it has one.

    Raises
    ------
    ModelFileError
        If a file is missing or has changed, or the listing cannot be read.
    """
    listing = folder / CHECKSUMS
    if not listing.is_file():
        return
    try:
        lines = listing.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{listing} cannot be read ({explain(error)}). Restore it, or delete it") from None
    for line in filter(None, lines):
        entry = _CHECKSUM_LINE.fullmatch(line)
        if entry is None:
            raise ModelFileError(
                f"{listing}: {quote(line)} is not a sha256 and a file name of this folder. Restore it, or delete it"
            )
        expected, name = entry.groups()
        path = file_of(folder, name)
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read ({error.strerror}), but {CHECKSUMS} lists it") from None
        if found != expected:
            raise ModelFileError(
                f"{path} has changed: its sha256 begins {found[:12]}, {CHECKSUMS} says {expected[:12]}. "
                f"Restore it (git checkout, or install again), or delete {CHECKSUMS} if the change is yours"
            )


def read_front_matter(card: Path) -> dict[str, str]:
    """Return the ``key: value`` lines between the two ``---`` of a model card; none if there is no card."""
    if not card.is_file():
        return {}
    _, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("---")
    pairs = (line.partition(":") for line in rest.partition("---")[0].splitlines() if ":" in line)
    return {key.strip(): value.strip().strip('"') for key, _, value in pairs}
