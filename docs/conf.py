"""The documentation site: ``sphinx-build -W docs docs/_build/html`` in a checkout, with the extra ``docs`` installed.

No page needs the network, when it is built or when it is read. Mathematics becomes MathML, which browsers set
themselves; the lessons are executed here, solved (see ``_extensions/lesson_pages.py``).
"""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from _extensions import lesson_pages  # noqa: E402

import minispec  # noqa: E402

project = "minispec"
author = "the minispec authors"
copyright = author  # noqa: A001 - Sphinx's name
version = release = minispec.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "_extensions.mathml",
    "_extensions.api_pages",
    "_extensions.claim_pages",
    "_extensions.lesson_pages",
    "_extensions.repository_links",
    "_extensions.stale_pages",
    "_extensions.try_page",
]
exclude_patterns = ["_build", "_extensions", "_static", "_generated/executed"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}

html_theme = "furo"
html_title = "minispec"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4  # as hosting sites name them, so that a link to a heading works in both places

# The lessons. The kernels inherit this process's environment.
os.environ[lesson_pages.STATIC] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(DOCS.parent), os.environ.get("PYTHONPATH")]))
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
nb_execution_mode = "cache"
nb_execution_cache_path = str(lesson_pages.find_outputs(DOCS))
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 600  # of one cell, on a machine with much else to do
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature says them; the docstrings say shapes and units
autodoc_default_options = {"members": True, "special-members": "__call__", "ignore-module-all": True}
autodoc_mock_imports = ["cupy", "cupyx", "torch"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # else attributes of a dataclass are described twice
suppress_warnings = ["ref.python"]  # "Step" in a signature may be one of three; Sphinx then says so and links the first
