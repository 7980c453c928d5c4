"""`switchbed plot KIND RUN…`: figures by name."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from switchbed import files, options
from switchbed._native import Mistake
from switchbed.terminal import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from switchbed.alone import Over
    from switchbed.plots.methods import Plots

PATH = click.Path(path_type=Path)
METRIC = click.option(
    "--metric", default="fct.all.mean_us", show_default=True, help="A figure of the summary."
)
OF_FLOWS = ("fct", "cdf", "sizes", "curve", "heatmap")
"""Kinds that may draw FCTs and slowdowns, under which there may be timers."""


def apart(command: "Callable[..., Any]") -> "Callable[..., Any]":
    """Give a command the options of `AXES` but the axis: that is time, or what is measured."""
    for option in reversed(options.AXES[1:]):
        command = option(command)
    return command


@click.group()
def plot() -> None:
    """Draw runs: RUN is a result directory, one of a comparison, or a sweep's
    STORE/sweeps/NAME.parquet."""


def kind(draw: "Callable[..., Figure]") -> None:
    """Makes a command of a function that draws runs."""

    @click.argument("paths", nargs=-1, required=True, type=PATH, metavar="RUN...")
    @options.output(
        "--out", type=PATH, required=True, help="File to draw into: .pdf, .png or .svg."
    )
    @click.option("--title", default="", help="Title. Default: none.")
    @options.ONLY
    @click.option("--width", metavar="LENGTH", help="Of the figure, as a column: 3.3in, 84mm.")
    @click.option(
        "--height", metavar="LENGTH", help="Height of the figure. Default: in proportion."
    )
    @click.option(
        "--style", metavar="STYLE", help="A style of matplotlib's: a name, or an .mplstyle file."
    )
    @click.option("--log", type=click.Choice(["x", "y", "xy"]), help="Logarithmic axes.")
    @click.option("--data", is_flag=True, help="Write what is drawn beside the file, too, as .csv.")
    def command(
        paths: tuple[Path, ...],
        out: Path,
        only: tuple[str, ...],
        width: str | None,
        height: str | None,
        style: str | None,
        log: str | None,
        data: bool,
        over: "Over" = "ideal",
        **others: Any,
    ) -> None:
        from switchbed.plots import output
        from switchbed.plots.methods import Plots
        from switchbed.plots.style import look
        from switchbed.series import runs

        output.check(out)
        beside = out.with_suffix(".csv")
        if data:
            files.free(beside, "--data")
        with files.believing(paths), look(width, height, style):
            found = runs.read(paths, only, over)
            made = draw(Plots(found), **others)
            if log is not None:
                output.logarithmic(made, log)
            output.save(made, out)
        say(f"written to {out}")
        if data:
            output.data(made, beside)
            say(f"written to {beside}")
        if draw.__name__ in OF_FLOWS:
            from switchbed import printing

            printing.print_timers([run.outcome for run in found])

    if draw.__name__ in OF_FLOWS:
        command = options.OVER(command)
    command.__doc__ = draw.__doc__
    command.__click_params__ += getattr(draw, "__click_params__", [])  # type: ignore[attr-defined]
    plot.command(draw.__name__)(command)


@kind
@options.over
@click.option(
    "--value",
    type=click.Choice(["relative", "slowdown", "us"]),
    default="relative",
    show_default=True,
    help="FCT divided by the first scheme's, over that of --over, or as it is; one scheme's alone "
    "is drawn as it is.",
)
def fct(plots: "Plots", title: str, value: Any, **keys: Any) -> "Figure":
    """FCT against load, or any setting, by size class."""
    return plots.fct(value=value, **keys, title=title)


@kind
@apart
@click.option(
    "--value",
    type=click.Choice(["fct", "slowdown"]),
    default="fct",
    show_default=True,
    help="What is distributed.",
)
@click.option(
    "--ccdf", "--complement", "ccdf", is_flag=True, help="The share of flows that took longer."
)
def cdf(plots: "Plots", title: str, value: Any, ccdf: bool, **keys: Any) -> "Figure":
    """Distribution of FCT or slowdown by size class."""
    return plots.cdf(value=value, complement=ccdf, **keys, title=title)


@kind
@apart
@click.option(
    "--bins",
    type=options.Whole(1, 100),
    default=20,
    show_default=True,
    help="Of flow sizes, with as many flows each; fewer where flows are few.",
)
def sizes(plots: "Plots", title: str, bins: int, **keys: Any) -> "Figure":
    """Slowdown over flow size, at the 50th, 95th and 99th percentile."""
    return plots.sizes(bins=bins, **keys, title=title)


@kind
@options.measured
@options.over
def curve(
    plots: "Plots",
    title: str,
    metric: tuple[str, ...],
    since: str | None,
    until: str | None,
    **keys: Any,
) -> "Figure":
    """Any figures over any settings: axis, colour and panels are keys that were swept."""
    begin, end = options.seconds("--from", since), options.seconds("--until", until)
    return plots.curve(metric=metric, since=begin, until=end, **keys, title=title)


@kind
@apart
@click.option("--port", help="Which, such as switch:8. Default: the longest queues'.")
@click.option("--window", metavar="FROM,TO", help="Only this time, in ms, such as 40,44.")
def queue(
    plots: "Plots", title: str, port: str | None, window: str | None, **keys: Any
) -> "Figure":
    """Queue lengths over time, with thresholds and marks; with --colour or --panel the port's
    queues together, a line a setting."""
    return plots.queue(port=port, window=_window(window), **keys, title=title)


@kind
@click.option(
    "--flow",
    "--flows",
    "flows",
    type=options.Whole(0, 2**63 - 1),
    multiple=True,
    metavar="ROW",
    help="A row of the table flows.",
)
@click.option(
    "--show",
    "--quantities",
    "show",
    default="window,rtt,rate",
    metavar="NAMES",
    help="Of window, threshold, rtt, sample, flight, pacing, rate, alpha.",
    show_default=True,
)
@click.option("--window", metavar="FROM,TO", help="Only this time, in ms, such as 40,44.")
def flow(
    plots: "Plots", title: str, flows: tuple[int, ...], show: str, window: str | None
) -> "Figure":
    """Window, round trip and rate of flows over time (measure.flow_series), a panel each."""
    return plots.flow(
        quantities=_quantities(show), flows=flows, window=_window(window), title=title
    )


def _quantities(text: str) -> list[str]:
    from switchbed.series.flows import QUANTITIES

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in QUANTITIES:
            raise Mistake(f"--show {text}: {name!r} is none of {', '.join(QUANTITIES)}")
    return names


@kind
@options.over
def shares(plots: "Plots", title: str, **keys: Any) -> "Figure":
    """Each class's share of the throughput over time, or over the setting --x."""
    return plots.shares(**keys, title=title)


@kind
@METRIC
@click.option("--x", help="A setting of [compare]. Default: its first.")
@click.option("--y", help="Another. Default: its second.")
def heatmap(plots: "Plots", title: str, metric: str, x: str | None, y: str | None) -> "Figure":
    """A figure of the summary over two settings of a sweep."""
    return plots.heatmap(metric=metric, x=x, y=y, title=title)


@kind
@options.over
def utilisation(plots: "Plots", title: str, **keys: Any) -> "Figure":
    """How busy each switch port is, or over the setting --x their mean and the busiest."""
    return plots.utilisation(**keys, title=title)


@kind
@apart
@click.option("--window", metavar="FROM,TO", help="Only this time, in ms, such as 40,44.")
def links(plots: "Plots", title: str, window: str | None, **keys: Any) -> "Figure":
    """How busy links were over time, by the tiers that they join (measure.link_series)."""
    return plots.links(window=_window(window), **keys, title=title)


@kind
@apart
def paths(plots: "Plots", title: str, **keys: Any) -> "Figure":
    """How evenly links between switches were used: Jain's index, the busiest over the mean."""
    return plots.paths(**keys, title=title)


TRAFFIC = click.option(
    "--traffic",
    type=options.Whole(0, 2**31 - 1),
    metavar="PLACE",
    help="Only this entry of [[traffic]], from 0. Default: all.",
)


@kind
@apart
@TRAFFIC
def busbw(plots: "Plots", title: str, traffic: int | None, **keys: Any) -> "Figure":
    """Bus bandwidth of collectives over their size, and that in an empty network."""
    return plots.busbw(traffic=traffic, **keys, title=title)


@kind
@TRAFFIC
@click.option("--window", metavar="FROM,TO", help="Only this time, in ms, such as 40,44.")
def timeline(plots: "Plots", title: str, traffic: int | None, window: str | None) -> "Figure":
    """Sends, receives and calculations of ranks over time (measure.operations)."""
    return plots.timeline(traffic=traffic, window=_window(window), title=title)


def _window(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise Mistake(f"--window {text}: must be two times in ms, such as 40,44") from None
    return low, high
