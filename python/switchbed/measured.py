"""Metrics of `--metric`: a figure of a run's summary by its dotted name, or one of its tables.

`fct[class=1,size<=100KB].p99.9_us`, `slowdown[src=3].mean`, `query.p99_us` are of flows;
`queue[port=switch:8].mean_kb`, `goodput[class=0].mean_gbps` and `share[class=0].mean_pct` (of all
goodput) of series, `utilisation.max` of switches' ports, `rate[transport=bbr].mean_mbps` of flows
without an end: the goodput of each. Tables can be asked for a window of time.
`job.mean_us`, `busbw[traffic=1].mean_gbps` are of collectives: the time of a repetition and the
bandwidth that it comes to. A `query` is a round of an incast, from its start to its last flow's
end, or a request with its answer.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from switchbed import comparing, foreign, links, quantity, stats
from switchbed._native import Mistake
from switchbed.sweeps.stopping import figure

if TYPE_CHECKING:
    import polars as pl

    from switchbed.result import Result

GRAMMAR = re.compile(r"(\w+)(?:\[([^]]*)\])?\.(mean|max|min|n|p\d+(?:\.\d+)?)(?:_([a-z]+))?")
CONDITION = re.compile(r"(\w+)\s*(<=|>=|!=|=|<|>)\s*(\S.*)")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
UNITS = {
    "fct": {"us": 1e6, "ms": 1e3, "s": 1.0},
    "query": {"us": 1e6, "ms": 1e3, "s": 1.0},
    "job": {"us": 1e6, "ms": 1e3, "s": 1.0},
    "busbw": {"bps": 1.0, "mbps": 1e-6, "gbps": 1e-9},
    "algbw": {"bps": 1.0, "mbps": 1e-6, "gbps": 1e-9},
    "slowdown": {"": 1.0},
    "queue": {"bytes": 1.0, "kb": 1e-3, "pkt": 1.0},
    "goodput": {"bps": 1.0, "mbps": 1e-6, "gbps": 1e-9},
    "rate": {"bps": 1.0, "mbps": 1e-6, "gbps": 1e-9},
    "share": {"": 1.0, "pct": 100.0},
    "utilisation": {"": 1.0, "pct": 100.0},
}
"""Units of each quantity. The first is used where none is named."""
FLOWS = ("traffic", "transport", "hosts", "class", "src", "dst", "size")
JOBS = ("traffic", "operation", "algorithm", "ranks")
COLUMNS = {
    "fct": FLOWS,
    "query": FLOWS,
    "job": JOBS,
    "busbw": JOBS,
    "algbw": JOBS,
    "slowdown": FLOWS,
    "queue": ("port", "queue"),
    "goodput": ("class",),
    "rate": ("traffic", "transport", "hosts", "class", "src", "dst"),
    "share": ("class",),
    "utilisation": ("port", "to"),
}
"""Columns that each table may be filtered by."""
WORDS = {
    "fct": "FCT",
    "query": "query completion time",
    "job": "time of a collective",
    "busbw": "bus bandwidth",
    "algbw": "algorithm bandwidth",
    "slowdown": "slowdown",
    "queue": "queue",
    "goodput": "goodput",
    "rate": "goodput of a flow",
    "share": "share of goodput",
    "utilisation": "utilisation",
}
SHOWN = {
    "us": "µs",
    "kb": "KB",
    "mbps": "Mbps",
    "gbps": "Gbps",
    "pkt": "packets",
    "bps": "bit/s",
    "pct": "%",
}
Window = tuple[float | None, float | None]
"""From and until, in seconds."""


@dataclass(frozen=True)
class Metric:
    """A figure of a run."""

    text: str
    of: str = ""
    """A quantity of `UNITS`; empty: the text is a name in summaries."""
    conditions: tuple[tuple[str, str, str], ...] = ()
    statistic: str = ""
    unit: str = ""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the text of an option."""
        found = GRAMMAR.fullmatch(text)
        whole = found is not None and found[1] in UNITS
        if found is None or not whole:
            # A percentile that no summary has, such as fct.small.p99.9_us, is taken of the table.
            short = re.fullmatch(r"(fct|slowdown)\.(all|small|medium|large)\.(p\d.*)", text)
            return cls(text) if short is None or short[3] in KEPT else cls._of_class(text, short)
        of, conditions, statistic, unit = found.groups()
        units = UNITS[of]
        # Without a unit it is the first that the quantity has.
        unit = next(iter(units)) if unit is None else unit
        if statistic != "n" and unit not in units:
            there = ", ".join(filter(None, units)) or "none"
            raise Mistake(f"--metric {text}: {of} is in no {unit}; units are {there}")
        return cls(text, of, tuple(_conditions(text, of, conditions or "")), statistic, unit)

    @classmethod
    def _of_class(cls, text: str, short: re.Match[str]) -> Self:
        """`fct.small.p99.9_us`, which no summary has."""
        where = () if short[2] == "all" else (("size_class", "=", short[2]),)
        statistic, _, unit = short[3].partition("_")
        if not re.fullmatch(r"p\d+(\.\d+)?", statistic) or unit not in UNITS[short[1]]:
            return cls(text)
        return cls(text, short[1], where, statistic, unit)

    def value(self, run: "Result", window: Window = (None, None)) -> float | None:
        """Return the metric of a run; `None` where it has none. `window` bounds the starts of
        flows, and the times of series."""
        if not self.of:
            if window != (None, None):
                raise Mistake(
                    f"--metric {self.text}: is of the whole run; --from and --until are for "
                    f"figures of tables: {', '.join(UNITS)}"
                )
            return figure(run.summary(), self.text)
        values = READERS.get(self.of, _flows)(self, run, window)
        if self.statistic == "n":
            return float(len(values))
        if not values:
            return None
        return _statistic(values, self.statistic) * UNITS[self.of][self.unit]

    def range(self, over: str) -> stats.Range:
        """The values that it can have, slowdowns being `over` that."""
        found = comparing.range_of(self.text, over)
        return found.times(UNITS[self.of][self.unit]) if self.of and self.unit else found

    @property
    def quantity(self) -> str:
        """Name of the quantity in words: `FCT`."""
        return WORDS[self.of] if self.of else _of_summary(self.text)[0]

    @property
    def detail(self) -> str:
        """Describe the selection and the statistic: `99th percentile, class 1`."""
        if not self.of:
            return _of_summary(self.text)[1]
        where = (
            f"{key.replace('_', ' ')} {'' if sign == '=' else sign + ' '}{value}"
            for key, sign, value in self.conditions
        )
        statistic = _percentile(self.statistic)
        # Of ports and classes, "maximum" would read as one in time.
        if self.of in ("share", "utilisation"):
            statistic = {"max": "highest", "min": "lowest"}.get(self.statistic, statistic)
        return ", ".join([statistic, *where])

    @property
    def shown_in(self) -> str:
        """Unit in which it is shown."""
        if self.statistic == "n":
            return ""
        unit = self.unit if self.of else _of_summary(self.text)[2]
        return SHOWN.get(unit, unit)


KEPT = ("p50_us", "p95_us", "p99_us", "p999_us", "p50", "p95", "p99", "p999")
"""Percentiles that summaries have."""


def _conditions(text: str, of: str, given: str) -> list[tuple[str, str, str]]:
    found = []
    for part in filter(None, (each.strip() for each in given.split(","))):
        match = CONDITION.fullmatch(part)
        if match is None or match[1] not in COLUMNS[of]:
            keys = ", ".join(COLUMNS[of])
            raise Mistake(f"--metric {text}: {part!r} chooses nothing: {of} has {keys}, as class=1")
        found.append((match[1], match[2], match[3]))
    return found


def _statistic(values: Sequence[float], name: str) -> float:
    if name.startswith("p"):
        return stats.percentile(values, float(name[1:]) / 100)
    if name == "mean":
        return math.fsum(values) / len(values)
    return max(values) if name == "max" else min(values)


def _chosen(frame: "pl.DataFrame", metric: Metric, run: "Result") -> "pl.DataFrame":
    import polars as pl

    for key, sign, text in metric.conditions:
        if key == "size_class":
            small, large = (run.size_bytes("measure", name) for name in ("small", "large"))
            # The classes of summaries: small up to the bound, large over it, medium between.
            size = pl.col("size_bytes")
            fits = {"small": size <= small, "large": size > large}
            frame = frame.filter(fits.get(text, (size > small) & (size <= large)))
            continue
        column = "size_bytes" if key == "size" else key
        if column == "transport" and column not in frame.columns:
            raise Mistake(f"--metric {metric.text}: all flows of {run} have one transport")
        if column == "hosts" and column not in frame.columns:
            raise Mistake(f"--metric {metric.text}: all hosts of {run} are alike")
        if column not in frame.columns:
            raise Mistake(
                f"--metric {metric.text}: {run} was run by a version whose tables do not tell "
                f"{key}; run it again"
            )
        kept = COMPARED[sign]
        try:
            value: Any = quantity.size(text) if key == "size" else text
            # A text compared with a number would match nothing, without a word.
            if frame[column].dtype.is_numeric():
                value = foreign.real(str(value))
        except ValueError as error:
            raise Mistake(f"--metric {metric.text}: {key} is {text!r}: {error}") from error
        frame = frame.filter(kept(pl.col(column), value))
    return frame


def _within(frame: "pl.DataFrame", column: str, window: Window) -> "pl.DataFrame":
    import polars as pl

    since, until = window
    if since is not None:
        frame = frame.filter(pl.col(column) >= since)
    return frame if until is None else frame.filter(pl.col(column) < until)


def _flows(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the values of flows that count and have ended."""
    import polars as pl

    column = "fct_s" if metric.of == "fct" else "slowdown"
    found = counted(run).filter(pl.col(column).is_not_null())
    return list(_within(_chosen(found, metric, run), "start_s", window)[column])


def _queries(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the completion times of queries all of whose flows have ended. Requests stand alone;
    the flows of an incast that start together are a round."""
    import polars as pl

    kinds = [source["kind"] for source in run.scenario["traffic"]]
    asked = [place for place, kind in enumerate(kinds) if kind in ("incast", "request-response")]
    if not asked:
        why = "has neither incast nor request-response among its traffic"
        raise Mistake(f"--metric {metric.text}: {run} {why}")
    # Other sources are left out by conditions, so that the user's own still hold.
    sources = tuple(("traffic", "!=", str(n)) for n in range(len(kinds)) if n not in asked)
    of_it = replace(metric, conditions=(*metric.conditions, *sources))
    flows = _within(_chosen(counted(run), of_it, run), "start_s", window)
    alone = [place for place in asked if kinds[place] == "request-response"]
    # Null for an incast: its flows of one start are one group, while each request is its own.
    each = pl.when(pl.col("traffic").is_in(alone)).then(pl.col("row"))
    rounds = flows.group_by("traffic", "start_s", each.alias("row"), maintain_order=True).agg(
        pl.col("fct_s").max(), pl.col("fct_s").null_count().alias("open")
    )
    # A round with a flow still under way has no end yet.
    return rounds.filter(pl.col("open") == 0)["fct_s"].to_list()


def counted(run: "Result") -> "pl.DataFrame":
    """Flows that have a length and count, as the summary has it."""
    import polars as pl

    return run.flows.filter(pl.col("size_bytes").is_not_null(), pl.col("counted"))


def _since_warm(run: "Result", window: Window) -> Window:
    """The window of series that was asked for, else that of the summary: from the warm-up on."""
    since, until = window
    if since is None and run.flows["counted"].any():
        since = warmup_s(run)
    return since, until


def warmup_s(run: "Result") -> float:
    """The time from which on a run counts.

    Raises:
        ValueError: Its manifest has another thing in its place.
    """
    try:
        return quantity.time(run.scenario["measure"]["warmup"])
    except Mistake as error:
        raise ValueError(f"measure.warmup: {error}") from error


def _lengths(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the lengths of the sampled queues: of a port all together unless one is asked for."""
    import polars as pl

    if run.series.is_empty():
        raise Mistake(f"--metric {metric.text}: {run} has no series; it needs measure.series_every")
    window = _since_warm(run, window)
    chosen = _within(_chosen(run.series, metric, run), "time_s", window)
    # A port's queues add up at each sample.
    together = chosen.group_by("time_s", "port", maintain_order=True).agg(pl.col("bytes").sum())
    if metric.unit == "pkt":
        return list(together["bytes"] / links.mtu(run.scenario))
    return list(together["bytes"].cast(pl.Float64))


def _rates(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the goodput of the intervals: of all classes together unless one is asked for."""
    import polars as pl

    if run.goodput.is_empty():
        why = "has no goodput over time; it needs measure.goodput_every"
        raise Mistake(f"--metric {metric.text}: {run} {why}")
    since, until = _since_warm(run, window)
    chosen = _chosen(run.goodput, metric, run)
    if since is not None:
        # Rows name the ends of intervals: one that ends as the window begins lies before it.
        chosen = chosen.filter(pl.col("time_s") > since)
    chosen = _within(chosen, "time_s", (None, until))
    together = chosen.group_by("time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())
    return list(together["goodput_bps"])


def _goodputs(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return what each flow without an end has got a second since the warm-up, as Jain's index has
    it."""
    import polars as pl

    if window != (None, None):
        raise Mistake(
            f"--metric {metric.text}: is of all the time since the warm-up; "
            "leave out --from and --until"
        )
    flows = run.flows.filter(pl.col("size_bytes").is_null(), pl.col("counted"))
    lasts_s = run.summary()["simulated_s"] - warmup_s(run)
    return [bytes_ * 8 / lasts_s for bytes_ in _chosen(flows, metric, run)["received_bytes"]]


def _shares(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the class's share in the intervals in which anything arrived."""
    every = replace(metric, conditions=())
    pairs = zip(_rates(metric, run, window), _rates(every, run, window), strict=True)
    # Nothing arrived: no class has a share of that.
    return [one / all_of_it for one, all_of_it in pairs if all_of_it > 0]


def _busy(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the utilisation of switches' ports, unless one is asked for by its name."""
    import polars as pl

    if window != (None, None):
        raise Mistake(
            f"--metric {metric.text}: is of all the time since the warm-up; "
            "leave out --from and --until"
        )
    ports = run.counters
    if not any(key == "port" for key, _, _ in metric.conditions):
        ports = ports.filter(pl.col("port").str.contains(":"))
    return list(_chosen(ports, metric, run)["utilisation"])


def _jobs(metric: Metric, run: "Result", window: Window) -> list[float]:
    """Return the values of collectives of which a repetition was completed."""
    import polars as pl

    jobs = run.table("jobs")
    if jobs.is_empty():
        raise Mistake(f"--metric {metric.text}: {run} has no collective among its traffic")
    column = {"job": "time_s", "busbw": "busbw_bps", "algbw": "algbw_bps"}[metric.of]
    found = jobs.filter(pl.col(column).is_not_null())
    return list(_within(_chosen(found, metric, run), "start_s", window)[column])


READERS = {
    "job": _jobs,
    "busbw": _jobs,
    "algbw": _jobs,
    "query": _queries,
    "queue": _lengths,
    "goodput": _rates,
    "rate": _goodputs,
    "share": _shares,
    "utilisation": _busy,
}
"""Where values come from; else from flows."""


def _percentile(statistic: str) -> str:
    """Name of a statistic in words: `99.9th percentile`, `average`."""
    if not statistic.startswith("p"):
        return {"mean": "average", "max": "longest", "min": "least", "n": "number"}[statistic]
    share = "99.9" if statistic == "p999" else statistic[1:]
    if share == "50":
        return "median"
    last = {"1": "st", "2": "nd", "3": "rd"}.get(share[-1], "th")
    return f"{share}{'th' if share[-2:] in ('11', '12', '13') else last} percentile"


def _of_summary(text: str) -> tuple[str, str, str]:
    """A figure of the summary: quantity, detail, unit."""
    parts = text.split(".")
    last, _, unit = parts[-1].rpartition("_")
    if not last or unit not in (*SHOWN, "bytes", "s"):
        last, unit = parts[-1], ""
    if parts[0] in ("fct", "slowdown") and len(parts) == 3:
        statistic = _percentile(last) if re.fullmatch(r"mean|n|p\d+", last) else last
        return WORDS[parts[0]], f"{statistic}, {parts[1]} flows", unit
    return " ".join([*parts[:-1], last]).replace("_", " "), "", unit
