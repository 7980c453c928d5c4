"""The figures of `switchbed plot` as methods: of a run, of a sweep, of any runs."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from switchbed._native import Mistake

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from switchbed.result import Result
    from switchbed.series.runs import Line


class Plots:
    """`Plots(runs).fct()` draws what `switchbed plot fct` does and gives matplotlib's `Figure`, to
    show in a notebook or to save by `savefig("fct.pdf")`. A result and a sweep have it as `.plot`.
    """

    def __init__(self, runs: "Iterable[Result] | Callable[[], Iterable[Result]]") -> None:
        self._runs = runs

    def fct(
        self,
        *,
        value: Literal["relative", "slowdown", "us"] = "relative",
        x: str | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """FCT against load, or the setting `x`, by size class: divided by the first scheme's (or of
        `colour` the first), over the empty network's, or as it is."""
        from switchbed.plots import curve, fct
        from switchbed.series import curves, runs

        found = self._read()
        if x is None and colour is None and panel is None:
            return fct.figure(runs.lines(found, over=runs.load_key(found)), value, title)
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
        """Any figures over any settings: `x`, `colour` and `panel` are keys that were swept, or
        `scheme`; `against`, such as `scheme=MQ-ECN` or `host.lso=false`, divides by the runs that
        have it, seed by seed. `since` and `until`, in seconds, are for figures of tables."""
        from switchbed.plots import curve
        from switchbed.series.curves import Asked

        metrics = (metric,) if isinstance(metric, str) else tuple(metric)
        asked = Asked(metrics, x, colour, panel, against, (since, until))
        return curve.figure(self._read(), asked, title)

    def cdf(
        self,
        *,
        value: Literal["fct", "slowdown"] = "fct",
        complement: bool = False,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Distribution of FCT or slowdown by size class, or its complement: the share of flows that
        took longer. `colour` and `panel` are keys that were swept, or `scheme`."""
        from switchbed.plots import cdf

        drawn = self._lines(colour, panel)
        return cdf.figure(drawn, value, title, complement=complement)

    def sizes(
        self,
        *,
        bins: int = 20,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Slowdown over flow size, at the 50th, 95th and 99th percentile of at most so many bins of
        equal count. `colour` and `panel` are keys that were swept, or `scheme`."""
        from switchbed.plots import sizes

        return sizes.figure(self._lines(colour, panel), title, bins)

    def queue(
        self,
        *,
        port: str | None = None,
        window: tuple[float, float] | None = None,
        colour: str | None = None,
        panel: str | None = None,
        title: str = "",
    ) -> "Figure":
        """Queue lengths over time, with thresholds and marks: of this `port`, such as `switch:8`,
        or the one with the longest queues, within this `window` in ms. With `colour` or `panel`,
        keys that were swept, the port's queues together, a line a setting."""
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
        """Window, round trip and rate of flows over time in one run, a panel a quantity (`window`,
        `rtt`, `flight`, `pacing`, `rate`, `alpha`); `flows` are rows, `window` is in ms."""
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
        """Each class's share of the throughput over time; with `colour` or `panel`, keys that were
        swept, a panel a class and a line a setting; with `x` means over time, over this setting."""
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
        """A figure of the summary over two settings of a sweep, by default its first two."""
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
        """How busy each switch port is; with `colour` or `panel`, keys that were swept, a line a
        setting; with `x` the ports' mean and the busiest over this setting."""
        from switchbed.plots import utilisation
        from switchbed.series.maps import METRICS

        if x is not None:
            return self.curve(metric=METRICS, x=x, colour=colour, panel=panel, title=title)
        drawn = self._lines(colour, panel)
        if colour is None and panel is None:
            return utilisation.figure(drawn, title)
        return utilisation.together(drawn, title)

    def _lines(self, colour: str | None = None, panel: str | None = None) -> "list[Line]":
        from switchbed.series import runs

        found = self._read()
        runs.check(found, colour=colour, panel=panel)
        return runs.lines(found, colour=colour, panel=panel)

    def _read(self) -> "list[Result]":
        found = list(self._runs() if callable(self._runs) else self._runs)
        if not found:
            raise Mistake("there are no runs to draw")
        return found
