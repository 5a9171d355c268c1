"""Settings of the site: ``python -m sphinx -W docs build/site``."""

from typing import Any

from docutils.nodes import SkipNode

from symdiff import __version__
from symdiff.printing.mathml import mathml

project = "symdiff"
author = "The developers of symdiff"
release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "notebooks/.ipynb_checkpoints"]
# docs/execute.py executes them and compares what they store
nb_execution_mode = "off"

html_theme = "furo"
html_title = "symdiff"
html_favicon = "icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "monokai"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False


def setup(app: Any) -> None:
    """Set mathematics as MathML, which browsers draw without a script or a network."""

    def inline(writer: Any, node: Any) -> None:
        writer.body.append(mathml(node.astext(), display=False))
        raise SkipNode

    def block(writer: Any, node: Any) -> None:
        writer.body.append(f'<div class="math">{mathml(node.astext())}</div>')
        raise SkipNode

    app.add_html_math_renderer("mathml", (inline, None), (block, None))
