"""A Python without Numba (a browser's) runs what the lessons run, and draws the same tokens from the same noise."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from minispec.course.teaching.find import ROOTS

IMPORTS = {
    line
    for source in (ROOTS[0] / "source").glob("0[!3]*.py")
    for line in re.findall(r"^(?:from|import) minispec.*", source.read_text(encoding="utf-8"), re.MULTILINE)
}
"""What lessons 1 to 9 import from the package, without lesson 3, which times how fast compiled code reads memory."""

CODE = """
import json, logging, sys
if {hidden}:
    sys.modules.update(dict.fromkeys(("numba", "llvmlite")))  # importing either raises ModuleNotFoundError
logging.basicConfig(level=logging.WARNING)
import minispec
from minispec.course.teaching import record
exec({imports!r})

target, draft = (minispec.load_model(name, backend={backend!r}) for name in ("draft-1.6m", "draft-0.6m"))
options = dict(target=target, draft=draft, gamma=2, max_tokens=3, seed=3)
made = [
    minispec.generate("Once upon a time", temperature=t, top_p=p, top_k=k, verify=rule, **options).token_ids
    for t, p, k, rule in ((1.0, 1.0, 0, "rejection"), (0.8, 0.9, 50, "gumbel"))
]
frames = len(record("Once upon a time", temperature=1.0, **options).frames)
found = [target.backend.name, made, frames, sorted(name for name in sys.modules if name in ("numba", "llvmlite.ir"))]
print(json.dumps(found))
"""


def run(*, hidden: bool, backend: str) -> tuple[list, str]:
    code = CODE.format(hidden=hidden, backend=backend, imports="\n".join(IMPORTS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout), done.stderr


def test_the_numpy_path_needs_no_numba_and_gives_the_same_tokens() -> None:
    """The compiled backends become NumPy's, and say so."""
    (name, made, frames, _), said = run(hidden=True, backend="panel")
    assert name == "numpy"
    assert "backend panel needs Numba, which is not installed; numpy computes instead" in said
    (other, wanted, others, loaded), said = run(hidden=False, backend="numpy")
    assert other == "numpy"
    assert "numba" in loaded  # the control: nothing was hidden
    assert "needs Numba" not in said
    assert made == wanted
    assert frames == others
