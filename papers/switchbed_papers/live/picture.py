"""A figure as the paper drew it, twice: simulated and live side by side, at the paper's speed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed.live.scale import seconds, size_bytes
from switchbed.plots import style
from switchbed_papers.live.figures import Figure
from switchbed_papers.live.results import SIDES, Drawn, Found
from switchbed_papers.reproduce.figures import bars, cumulative

if TYPE_CHECKING:
    import polars as pl


def measured(
    figure: Figure, folders: Sequence[Path], runs: Sequence[Sequence[Found]]
) -> tuple[list[str], Drawn]:
    """The schemes of the combinations, and what the runs in the folders measured."""
    of_one = [_combinations(folder, figure) for folder in folders]
    schemes = [_scheme(folder) for folder in of_one[0]]
    of = _goodputs if figure.draw == "goodput" else _percentiles
    return schemes, {side: of(figure, of_one, runs, side) for side in SIDES}


def draw(figure: Figure, schemes: Sequence[str], drawn: Drawn, to: Path) -> None:
    """Draw the measurements of both sides."""
    made = style.figure(9, 3.8, figure.title)
    panels = made.subplots(1, 2, sharex=True, sharey=True)
    for side, axes in zip(SIDES, panels, strict=True):
        axes.set_title(side, fontsize="medium")
        if figure.draw == "goodput":
            shown = {
                label: (look.colour, [(m, (m - low, high - m)) for m, low, high in values])
                for (label, values), look in zip(drawn[side].items(), style.PLAIN, strict=False)
            }
            bars(axes, shown, figure.lines)
            continue
        alone = len(set(schemes)) == len(schemes)
        looks = map(style.own, schemes) if alone else style.PLAIN
        cumulative(axes, drawn[side], ((look.colour, look.dashes) for look in looks))
        if figure.draw == "fct":
            axes.set_xscale("log")
        axes.set_ylim(0, 1)
        what = "FCT of small flows" if figure.draw == "fct" else "round-trip time"
        axes.set_xlabel(f"{what}, ms")
    panels[0].set_ylabel("Mbps" if figure.draw == "goodput" else "part of all")
    style.legend_below(made)
    made.savefig(to, metadata={"Software": None})


def _goodputs(
    figure: Figure, _: object, runs: Sequence[Sequence[Found]], side: str
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name in sorted(runs[0][0][side]["goodput_mbps"]):
        spreads = [
            sorted(run[at][side]["goodput_mbps"][name] / figure.scale for run in runs)
            for at in range(len(figure.lines))
        ]
        middles = [[spread[len(spread) // 2], spread[0], spread[-1]] for spread in spreads]
        found[f"service {int(name) + 1}"] = middles
    return found


def _percentiles(
    figure: Figure, folders: Sequence[Sequence[Path]], _: object, side: str
) -> dict[str, list[Any]]:
    """Return the percentiles over all runs together."""
    import numpy as np

    found = {}
    for at, label in enumerate(figure.lines):
        times = [s * figure.scale * 1e3 for of in folders for s in _times(of[at], figure, side)]
        found[label] = [round(float(q), 4) for q in np.percentile(times, range(101))]
    return found


def _combinations(folder: Path, figure: Figure) -> list[Path]:
    """A lab's folders, one for each combination."""
    return (
        [folder / str(at) for at in range(len(figure.lines))] if len(figure.lines) > 1 else [folder]
    )


def _scheme(folder: Path) -> str:
    scheme: str = json.loads((folder / "scenario.json").read_text())["scheme"]["name"]
    return scheme


def _times(folder: Path, figure: Figure, side: str) -> "pl.Series":
    """Return the measured times in seconds."""
    import polars as pl

    if figure.draw == "rtt":
        return pl.read_parquet(folder / side / "pings.parquet")["rtt_s"]
    measure = json.loads((folder / "scenario.json").read_text())["measure"]
    flows = pl.read_parquet(folder / side / "flows.parquet")
    small = pl.col("size_bytes") <= size_bytes(measure["small"])
    counts = pl.col("start_s") >= seconds(measure["warmup"])
    return flows.filter(small & counts)["fct_s"].drop_nulls()
