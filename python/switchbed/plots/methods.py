"""The figures of `switchbed plot` as methods: of a run, of a sweep, of any runs."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from switchbed._native import Mistake

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from switchbed.result import Result
    from switchbed.series.runs import Line


class Plots:
    """Figures of runs: `Plots(runs).fct()` draws what `switchbed plot fct` does.

    Each method returns matplotlib's `Figure`, to show in a notebook or to save by
    `savefig("fct.pdf")`. A result and a sweep have it as `.plot`. Methods raise `Mistake` where the
    runs lack what the figure needs. Arguments are the command's options: `window=(40, 44)` is
    `--window 40,44`. `colour` and `panel` are keys that were swept, or `scheme`:
    each value becomes a line, or a panel.

    Example:
        >>> sb.Plots(runs).fct(value="slowdown").savefig("fct.pdf")
    """

    def __init__(self, runs: "Iterable[Result] | Callable[[], Iterable[Result]]") -> None:
        self._runs = runs

    def __repr__(self) -> str:
        kinds = [name for name in vars(type(self)) if not name.startswith("_")]
        return f"Plots: {', '.join(f'.{name}()' for name in kinds)}"

    def fct(
        self,
        *,
        value: Literal["relative", "slowdown", "us"] = "relative",
        x: str | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw FCT by size class over load, or over what was compared where none is offered.

        Args:
            value: `relative`: divided by the first scheme's, or that of the first `colour`;
                `slowdown`: divided by the FCT in an empty network; `us`: in microseconds.
            x: Setting on the x axis in place of the load.
            colour: Key whose values become lines, or `scheme`.
            panel: Key whose values become panels, or `scheme`.
            title: Title of the figure.

        Example:
            >>> found.plot.fct(value="slowdown").savefig("fct.pdf")
        """
        from switchbed.plots import curve, fct
        from switchbed.series import curves, runs

        found = self._read()
        if x is None and colour is None and panel is None:
            if runs.have_load(found):
                return fct.figure(runs.lines(found, over=runs.load_key(found)), value, title)
            # One scheme alone has nothing to be relative to.
            if value == "relative" and runs.SCHEME not in runs.swept(found):
                value = "us"
        return curve.figure(found, curves.of_fct(found, value, x, colour, panel), title)

    def curve(
        self,
        *,
        metric: str | Sequence[str] = "fct.all.mean_us",
        x: str | None = None,
        colour: str | None = None,
        panel: str | None = None,
        against: str | None = None,
        since: float | None = None,
        until: float | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw any metrics over any setting.

        Args:
            metric: Dotted name of a figure of the summary, or of a table, or several of them.
            x: Key on the x axis that was swept, or `scheme`, or of flows `transport`, `hosts`,
                `traffic`, `class`.
            colour: Key whose values become lines, likewise.
            panel: Key whose values become panels, likewise.
            against: Setting such as `scheme=MQ-ECN` or `host.lso=false`; values are divided by
                those of
                the runs that have it, seed by seed.
            since: Only rows of tables from this time on, in seconds; the command's `--from`.
            until: Only rows of tables before this time, in seconds.
            title: Title of the figure.

        Example:
            >>> found.plot.curve(metric="queue[port=switch:8].mean_kb", x="load")
        """
        from switchbed.plots import curve
        from switchbed.series import curves, runs
        from switchbed.series.curves import Asked

        metrics = (metric,) if isinstance(metric, str) else tuple(metric)
        asked = Asked(metrics, x, colour, panel, against, (since, until))
        curves.check(asked)
        return curve.figure(runs.divided(self._read(), x, colour, panel), asked, title)

    def cdf(
        self,
        *,
        value: Literal["fct", "slowdown"] = "fct",
        complement: bool = False,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw the distribution of FCT or slowdown by size class.

        Args:
            value: `fct` or `slowdown`.
            complement: Draw the share of flows that took longer instead; the command's `--ccdf`.
            colour: Key whose values become lines, or `scheme`, or of flows `transport`, `hosts`,
                `traffic`, `class`.
            panel: Key whose values become panels, likewise.
            title: Title of the figure.

        Example:
            >>> found.plot.cdf(value="slowdown", complement=True)
        """
        from switchbed.plots import cdf

        drawn = self._lines(colour, panel, divided=True)
        return cdf.figure(drawn, value, title, complement=complement)

    def sizes(
        self,
        *,
        bins: int = 20,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw slowdown over flow size, at the 50th, 95th and 99th percentile.

        Args:
            bins: Greatest number of bins; all have the same number of flows.
            colour: Key whose values become lines, or `scheme`, or of flows `transport`, `hosts`,
                `traffic`, `class`.
            panel: Key whose values become panels, likewise.
            title: Title of the figure.

        Example:
            >>> found.plot.sizes(bins=10, panel="load")
        """
        from switchbed.plots import sizes

        return sizes.figure(self._lines(colour, panel, divided=True), title, bins)

    def queue(
        self,
        *,
        port: str | None = None,
        window: tuple[float, float] | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw queue lengths over time, with thresholds and marks. Needs `measure.series_every`.

        Args:
            port: Port such as `switch:8`. Default: the one with the longest queues.
            window: First and last time in ms. Default: all.
            colour: Key whose values become lines. The port's queues are then drawn together.
            panel: Key whose values become panels.
            title: Title of the figure.

        Example:
            >>> run.plot.queue(port="switch:8", window=(40, 44))
        """
        from switchbed.plots import queue

        drawn = self._lines(colour, panel)
        if colour is None and panel is None:
            return queue.figure(drawn, port, window, title)
        return queue.together(drawn, port, window, title)

    def flow(
        self,
        *,
        quantities: Sequence[str] = ("window", "rtt", "rate"),
        flows: Sequence[int] = (),
        window: tuple[float, float] | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw window, round trip and rate of flows over time. Needs `measure.flow_series`.

        Args:
            quantities: A panel each, the command's `--show`: `window`, `threshold`, `rtt`, `sample`
                (each round trip), `flight`, `pacing`, `rate` or `alpha`.
            flows: Rows of the table `flows`, the command's `--flow`. Default: the first that were
                sampled.
            window: Only this time, from and to in ms.
            title: Title of the figure.

        Returns:
            The figure.

        Example:
            >>> run.plot.flow(quantities=["window", "rtt"], flows=[0, 4])
        """
        from switchbed.plots import flow

        return flow.figure(self._lines(None, None), quantities, flows, window, title)

    def shares(
        self,
        *,
        x: str | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw each class's share of the goodput over time. Needs `measure.goodput_every`.

        Args:
            x: Setting over which means over time are drawn instead.
            colour: Key whose values become lines; each class then has a panel.
            panel: Key whose values become panels.
            title: Title of the figure.

        Example:
            >>> run.plot.shares()
        """
        from switchbed.plots import shares
        from switchbed.series.shares import metrics

        if x is not None:
            found = self._read()
            over = Plots(found)
            return over.curve(metric=metrics(found), x=x, colour=colour, panel=panel, title=title)
        drawn = self._lines(colour, panel)
        if colour is None and panel is None:
            return shares.figure(drawn, title)
        return shares.together(drawn, title)

    def heatmap(
        self,
        *,
        metric: str = "fct.all.mean_us",
        x: str | None = None,
        y: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw a figure of the summary over two settings of a sweep.

        Args:
            metric: Dotted name of the figure.
            x: Key on the x axis. Default: the first that was swept.
            y: Key on the y axis. Default: the second that was swept.
            title: Title of the figure.

        Example:
            >>> found.plot.heatmap(metric="bottleneck.mean_bytes", x="load", y="topology.delay")
        """
        from switchbed.plots import heatmap

        return heatmap.figure(self._read(), metric, x, y, title)

    def utilisation(
        self,
        *,
        x: str | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw how busy each switch port is.

        Args:
            x: Setting over which the ports' mean and the busiest port are drawn instead.
            colour: Key whose values become lines.
            panel: Key whose values become panels.
            title: Title of the figure.

        Example:
            >>> run.plot.utilisation()
        """
        from switchbed.plots import utilisation
        from switchbed.series.maps import METRICS

        if x is not None:
            return self.curve(metric=METRICS, x=x, colour=colour, panel=panel, title=title)
        drawn = self._lines(colour, panel)
        if colour is None and panel is None:
            return utilisation.figure(drawn, title)
        return utilisation.together(drawn, title)

    def links(
        self,
        *,
        window: tuple[float, float] | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw how busy links were over time, by the tiers that they join. Needs
        `measure.link_series`.

        Args:
            window: Only this time, from and to in ms.
            colour: Key whose values become lines, or `scheme`; each pair of tiers is a panel then.
            panel: Key whose values become panels, or `scheme`.
            title: Title of the figure.

        Example:
            >>> run.plot.links(window=(40, 44))
        """
        from switchbed.plots import links

        drawn = self._lines(colour, panel)
        if colour is None and panel is None:
            return links.over_time(drawn, window, title)
        return links.together(drawn, window, title)

    def paths(
        self, *, colour: str | None = None, panel: str | None = None, title: str = ""
    ) -> "Figure":
        """Draw how evenly links between tiers of switches were used.

        Args:
            colour: Key whose values become lines, or `scheme`.
            panel: Key whose values become panels, or `scheme`.
            title: Title of the figure.

        Example:
            >>> routing = {"routing.kind": ["ecmp", "spray"]}
            >>> sb.Plots(scenario.with_({"compare": routing}).run_all()).paths()
        """
        from switchbed.plots import links

        return links.by_link(self._lines(colour, panel), title)

    def busbw(
        self,
        *,
        traffic: int | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw the bus bandwidth of collectives over their size, and that in an empty network.

        Args:
            traffic: Only this entry of `[[traffic]]`, from 0. Default: all.
            colour: Key whose values become lines, or `scheme`.
            panel: Key whose values become panels, or `scheme`.
            title: Title of the figure.

        Example:
            >>> sizes = {"traffic.0.bytes": ["64KB", "1MB", "16MB"]}
            >>> sb.Plots(scenario.with_({"compare": sizes}).run_all()).busbw()
        """
        from switchbed.plots import busbw
        from switchbed.series import operations, runs

        found = self._read()
        runs.check(found, colour=colour, panel=panel)
        over = operations.size_key(found)
        return busbw.figure(
            runs.lines(found, over=over, colour=colour, panel=panel), traffic, title
        )

    def timeline(
        self,
        *,
        traffic: int | None = None,
        window: tuple[float, float] | None = None,
        title: str = "",
    ) -> "Figure":
        """Draw what ranks of collectives do over time. Needs `measure.operations`.

        Args:
            traffic: Only this entry of `[[traffic]]`, from 0. Default: all.
            window: Only this time, from and to in ms.
            title: Title of the figure.

        Example:
            >>> run.plot.timeline(traffic=0)
        """
        from switchbed.plots import timeline

        return timeline.figure(self._lines(), traffic, window, title)

    def _lines(
        self, colour: str | None = None, panel: str | None = None, *, divided: bool = False
    ) -> "list[Line]":
        from switchbed.series import runs

        found = runs.divided(self._read(), colour, panel) if divided else self._read()
        runs.check(found, colour=colour, panel=panel)
        return runs.lines(found, colour=colour, panel=panel)

    def _read(self) -> "list[Result]":
        found = list(self._runs() if callable(self._runs) else self._runs)
        if not found:
            raise Mistake("there are no runs to draw")
        return found
