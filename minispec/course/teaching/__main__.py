"""Make the notebooks from their sources: ``python -m minispec.course.teaching``, in a checkout."""

from minispec.course.teaching.find import ROOTS
from minispec.course.teaching.notebooks import build

if __name__ == "__main__":
    for path in build(ROOTS[0]):
        print(f"wrote {path.relative_to(ROOTS[0].parent)}")
