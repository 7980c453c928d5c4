"""The documentation site: `make site` builds it from the pages of this folder."""

import switchbed

project = "Switchbed"
author = copyright = "The Switchbed authors"
release = switchbed.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["**.ipynb"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Docstrings write `name` for code.
default_role = "code"

html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_title = f"Switchbed {release}"
html_copy_source = False
html_show_sphinx = False
