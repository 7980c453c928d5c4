"""The documentation site: `make site` builds it from the pages of this folder."""

import click
from sphinx.util.docutils import SphinxDirective

import switchbed
from switchbed.cli import cli

project = "Switchbed"
author = "The Switchbed authors"
copyright = author  # noqa: A001 (the name that sphinx reads)
release = switchbed.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["**.ipynb"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_custom_sections = [("Columns", "params_style"), ("Fields", "params_style")]
# Docstrings write `name` for code.
default_role = "code"

html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_title = f"Switchbed {release}"
html_copy_source = False
html_show_sphinx = False


class Commands(SphinxDirective):
    """The commands, generated from themselves."""

    def run(self):
        text = "\n".join(described(click.Context(cli, info_name="switchbed", max_content_width=90)))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def described(context):
    """What a command, or each of a group, prints as its help; as Markdown."""
    command = context.command
    if not isinstance(command, click.Group):
        yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        yield from described(click.Context(below, parent=context, info_name=name))


def setup(app):
    """Sphinx calls it."""
    app.add_directive("commands", Commands)
