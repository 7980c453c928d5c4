"""What is under way over time, by the kernel and simulated."""

from pathlib import Path
from typing import Any

SHOWN = (
    "slow-start",
    "one",
    "several",
    "tail",
    "again",
    "acks",
    "mark-reno",
    "overflow",
    "own-queue",
)
COLUMNS = 3
KERNEL, WINDOW, OURS = "#1f5fa8", "#9cc3e6", "#d1495b"


def draw(found: dict[str, Any], file: Path) -> None:
    """A pattern a panel."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(SHOWN) // COLUMNS)
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(12, 3 * rows), squeeze=False)
    for axes, name in zip(grid.flat, SHOWN, strict=False):
        theirs, ours = found["theirs"][name], found["ours"][name]
        for series, colour, width, label in (
            (theirs.get("window", []), WINDOW, 1.2, "the kernel's window"),
            (theirs["outstanding"], KERNEL, 1.8, "under way, kernel"),
            (ours["outstanding"], OURS, 1.2, "under way, simulated"),
        ):
            axes.step(range(len(series)), series, where="post", color=colour, lw=width, label=label)
        times = [theirs["fct_ms"][len(theirs["fct_ms"]) // 2], ours["fct_ms"][0]]
        axes.set_title(f"{name}: {times[0]:.0f} and {times[1]:.0f} ms", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.grid(visible=True, lw=0.3)
    for axes in grid[-1]:
        axes.set_xlabel("ms since the SYN")
    for row in grid:
        row[0].set_ylabel("packets")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
