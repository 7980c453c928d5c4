"""Writing a figure: vector or pixels by the file's ending, the same bytes every time."""

from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import files
from switchbed._native import Mistake

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHOUT_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


def check(path: Path) -> None:
    """Refuses what cannot be drawn or written, before anything is drawn."""
    if path.suffix[1:] not in WITHOUT_DATE:
        raise Mistake(
            f"--out {path}: has no format that can be drawn; end it with .pdf, .png or .svg"
        )
    if not path.parent.is_dir():
        raise Mistake(f"--out {path}: cannot be written: there is no directory {path.parent}")


def save(figure: "Figure", path: Path) -> None:
    """Writes the figure."""
    import matplotlib as mpl

    check(path)
    # Text in a PDF as text; what an SVG calls its parts does not change from run to run.
    with (
        mpl.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "switchbed"}),
        files.whole(path, "--out") as draft,
    ):
        figure.savefig(draft, metadata=WITHOUT_DATE[path.suffix[1:]])
