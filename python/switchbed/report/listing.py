"""The tables of a report: HTML whose columns sort, and what stands in them."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from switchbed import comparing, printing
from switchbed.comparing import text
from switchbed.result import Result
from switchbed.series.runs import Line


class Cell(NamedTuple):
    """Text of a table cell, and the value that its column is sorted by."""

    shown: str
    key: float | str

    @classmethod
    def of(cls, value: float | str) -> "Cell":
        """A number or a text as it is."""
        return cls(f"{value:,}" if isinstance(value, int) else str(value), value)

    @classmethod
    def duration(cls, us: float | None) -> "Cell":
        """A time in microseconds; none sorts last."""
        return cls(printing.duration(us).replace(" us", " µs"), float("inf") if us is None else us)


def table(name: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]]) -> str:
    """Each row with the line that it belongs to, so that it hides with it; empty without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col"><button>{escape(column)}</button></th>' for column in columns)
    body = "".join(
        f'<tr data-line="{escape(line)}">{"".join(map(_cell, cells))}</tr>\n'
        for line, cells in rows
    )
    return (
        f'<div class="wide"><table id="{name}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div>\n"
    )


def _cell(cell: Cell) -> str:
    kind = "" if isinstance(cell.key, str) else ' class="number"'
    return f'<td{kind} data-key="{escape(str(cell.key))}">{escape(cell.shown)}</td>'


def differences(drawn: Sequence[Line], by: str | None, to: str | None) -> str:
    """Every scheme, or value of the setting `by`, against the first or that called `to`, paired
    over seeds."""
    every = [(line, run.outcome) for line in drawn for run in line.runs]
    lines = {(comparing.label(o, by), comparing.point(o, by)): line for line, o in every}
    found = comparing.ratios([outcome for _, outcome in every], by, to)
    keys = [key for key, _ in found[0].point] if found else []
    rows = [
        (
            lines[ratio.scheme, ratio.point].label,
            [
                Cell.of(ratio.scheme),
                *(Cell.of(value) for _, value in ratio.point),
                Cell.of(printing.of_flows((ratio.size_class, ratio.statistic))),
                Cell(str(ratio.change), ratio.ratio),
            ],
        )
        for ratio in found
    ]
    against = f"time against {found[0].to}" if found else ""
    looked = comparing.looked(found)
    note = f'<p class="note">{escape(looked)}</p>\n' if looked else ""
    return table("differences", [by or "scheme", *keys, "of", against], rows) + note


def runs(drawn: Sequence[Line]) -> str:
    """A row a run: its settings and what it measured."""
    every = [(line, run) for line in drawn for run in line.runs]
    keys = list(dict.fromkeys(key for _, run in every for key in run.settings))
    keys = [key for key in keys if not comparing.is_seed(key)]
    statistics = [
        statistic
        for statistic in comparing.statistics(run.outcome for _, run in every)
        if any(comparing.time(run.outcome, *statistic) is not None for _, run in every)
    ]
    counters = ("marks", "drops", "timeouts")
    columns = keys or ["line"]
    headings = [printing.of_flows(statistic) for statistic in statistics]
    rows = []
    for line, run in every:
        settings = [_setting(run, key) for key in keys] or [Cell.of(line.label)]
        times = [Cell.duration(comparing.time(run.outcome, *each)) for each in statistics]
        summary = run.summary()
        goodput = Cell(f"{summary['goodput_bps'] / 1e9:.4g}", summary["goodput_bps"])
        counts = [Cell.of(int(summary[counter])) for counter in counters]
        rows.append((line.label, [*settings, Cell.of(run.seed), *times, goodput, *counts]))
    return table("runs", [*columns, "seed", *headings, "goodput (Gbps)", *counters], rows)


def _setting(run: Result, key: str) -> Cell:
    value = run.settings.get(key, "")
    return Cell.of(value) if isinstance(value, int | float) else Cell.of(text(value))


def ports(run: Result) -> str:
    """One run's ports, the busiest first."""
    frame = run.counters
    shown = [name for name in frame.columns if not frame[name].dtype.is_nested()]
    rows = [
        (run.label, [_value(value) for value in row])
        for row in frame.select(shown).sort("utilisation", descending=True).rows()
    ]
    return table("ports", shown, rows)


def _value(value: object) -> Cell:
    if value is None:
        return Cell("–", float("inf"))
    if isinstance(value, float):
        return Cell(f"{value:.4g}", value)
    return Cell.of(value if isinstance(value, int | str) else str(value))
