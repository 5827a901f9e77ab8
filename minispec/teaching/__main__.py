"""Make the notebooks from their sources: ``python -m minispec.teaching``, in a checkout."""

from minispec.teaching.find import ROOTS
from minispec.teaching.notebooks import build

if __name__ == "__main__":
    for path in build(ROOTS[0]):
        print(f"wrote {path.relative_to(ROOTS[0].parent)}")
