"""A figure as the paper drew it, twice: simulated and live side by side, at the paper's speed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed.live.scale import seconds, size_bytes
from switchbed.plots import style
from switchbed_papers.live.figures import Figure
from switchbed_papers.live.table import SIDES, Found

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

WIDTH = 0.8


def draw(
    figure: Figure, folders: Sequence[Path], runs: Sequence[Sequence[Found]], to: Path
) -> None:
    """Draws what the runs in the folders measured."""
    made = style.figure(9, 3.8, figure.title)
    panels = made.subplots(1, 2, sharex=True, sharey=True)
    for side, axes in zip(SIDES, panels, strict=True):
        axes.set_title(side, fontsize="medium")
        if figure.draw == "goodput":
            _goodputs(axes, figure, runs, side)
        else:
            _distributions(axes, figure, folders, side)
    panels[0].set_ylabel("Mbps" if figure.draw == "goodput" else "part of all")
    style.legend_below(made)
    made.savefig(to, metadata={"Software": None})


def _goodputs(axes: "Axes", figure: Figure, runs: Sequence[Sequence[Found]], side: str) -> None:
    """A bar for each combination and class, from the least to the greatest of the runs."""
    classes = sorted(runs[0][0][side]["goodput_mbps"])
    width = WIDTH / len(classes)
    for number, name in enumerate(classes):
        look = style.PLAIN[number]
        spreads = [
            sorted(run[at][side]["goodput_mbps"][name] / figure.scale for run in runs)
            for at in range(len(figure.lines))
        ]
        middles = [spread[len(spread) // 2] for spread in spreads]
        errors = [
            [middle - spread[0] for middle, spread in zip(middles, spreads, strict=True)],
            [spread[-1] - middle for middle, spread in zip(middles, spreads, strict=True)],
        ]
        places = [at + width * (number - (len(classes) - 1) / 2) for at in range(len(spreads))]
        label = f"service {int(name) + 1}"
        bars = axes.bar(places, middles, width=width, color=look.colour, label=label)
        axes.errorbar(places, middles, yerr=errors, fmt="none", ecolor=style.GREY, capsize=3)
        axes.bar_label(bars, fmt="%.0f", fontsize="small", padding=2)
    axes.margins(y=0.1)
    axes.set_xticks(range(len(figure.lines)), figure.lines)


def _distributions(axes: "Axes", figure: Figure, folders: Sequence[Path], side: str) -> None:
    """A line for each combination, of all runs together."""
    names = [_scheme(_combinations(folders[0], figure)[at]) for at in range(len(figure.lines))]
    schemes = len(set(names)) == len(names)
    for at, label in enumerate(figure.lines):
        look = style.own(names[at]) if schemes else style.PLAIN[at]
        times = sorted(
            time * figure.scale * 1e3
            for folder in folders
            for time in _times(_combinations(folder, figure)[at], figure, side)
        )
        parts = [(i + 1) / len(times) for i in range(len(times))]
        axes.step(times, parts, where="post", color=look.colour, ls=look.dashes, label=label)
    if figure.draw == "fct":
        axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    what = "FCT of small flows" if figure.draw == "fct" else "round-trip time"
    axes.set_xlabel(f"{what}, ms")


def _combinations(folder: Path, figure: Figure) -> list[Path]:
    """A lab's folders, one for each combination."""
    return (
        [folder / str(at) for at in range(len(figure.lines))] if len(figure.lines) > 1 else [folder]
    )


def _scheme(folder: Path) -> str:
    scheme: str = json.loads((folder / "scenario.json").read_text())["scheme"]["name"]
    return scheme


def _times(folder: Path, figure: Figure, side: str) -> "pl.Series":
    """In seconds, as measured."""
    import polars as pl

    if figure.draw == "rtt":
        return pl.read_parquet(folder / side / "pings.parquet")["rtt_s"]
    measure = json.loads((folder / "scenario.json").read_text())["measure"]
    flows = pl.read_parquet(folder / side / "flows.parquet")
    small = pl.col("size_bytes") <= size_bytes(measure["small"])
    counts = pl.col("start_s") >= seconds(measure["warmup"])
    return flows.filter(small & counts)["fct_s"].drop_nulls()
