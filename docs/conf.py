"""Settings of the site: ``python -m sphinx -W docs build/site``."""

from symdiff import __version__

project = "symdiff"
author = "The developers of symdiff"
release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "notebooks/.ipynb_checkpoints"]
# docs/execute.py executes them and compares what they store
nb_execution_mode = "off"

html_theme = "furo"
html_title = "symdiff"
pygments_style = "friendly"
pygments_dark_style = "monokai"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
