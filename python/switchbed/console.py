"""Rich's console for texts of others: no markup in them is obeyed, nor anything else."""

from typing import Any

from rich import console
from rich.text import Text

from switchbed.terminal import clean, plain


class Console(console.Console):
    """Every text that a table or a line is made of passes through `render_str`."""

    def __init__(self, **options: Any) -> None:
        bare = {"color_system": None, "force_terminal": False} if plain() else {}
        super().__init__(**{"markup": False, "emoji": False, "highlight": False} | bare | options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(clean(text), **options)
