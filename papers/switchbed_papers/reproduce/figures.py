"""Figures that several papers draw alike; the others are in a paper's `draw.py`."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from switchbed import stats
from switchbed.plots import style
from switchbed_papers.reproduce.claims import Claim
from switchbed_papers.reproduce.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def beside(file: Path, name: str) -> Path:
    """Where another figure of the same runs goes: `eecn-fig7--fig2.png`."""
    return file.with_name(f"{file.stem}--{name}{file.suffix}")


def mean_and_reach(values: Iterable[float]) -> "Reaching":
    """The mean over seeds of a positive quantity, and how far its 95 % interval reaches below and
    above it."""
    mean = stats.mean(list(values), within=stats.POSITIVE)
    low = mean.estimate if mean.low is None else mean.low
    high = mean.estimate if mean.high is None else mean.high
    return mean.estimate, (mean.estimate - low, high - mean.estimate)


def logarithmic(axes: "Axes") -> None:
    """A logarithmic y axis with plain numbers at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def apart(labels: Iterable[tuple[str, str]]) -> dict[str, style.Style]:
    """The looks of `style.of` with no colour twice: further variants of a scheme have colours that
    none of the schemes has."""
    looks = style.of(labels)
    taken = {look.colour for look in looks.values()}
    # Taken colours are those of other schemes: a variant must not look like one of them.
    free = [colour for colour in style.IN_TURN if colour not in taken]
    used: set[str] = set()
    for label, look in looks.items():
        colour = free.pop(0) if look.colour in used and free else look.colour
        looks[label] = replace(look, colour=colour)
        used.add(colour)
    return looks


def cumulative(
    axes: "Axes", groups: Mapping[str, Sequence[float]], looks: Iterable[tuple[str, str]]
) -> None:
    """The share of values that are at most so large, a line a group: of all values, sorted, or of
    evenly spaced quantiles. A look is a colour and dashes."""
    for (label, values), (colour, dashes) in zip(groups.items(), looks, strict=False):
        # From 0 at the least value to 1 at the greatest.
        share = [i / (len(values) - 1) for i in range(len(values))]
        axes.plot(values, share, dashes, color=colour, label=label)
    axes.grid(alpha=0.3)


NAMES = {
    "ecn-star": "ECN*",
    "dctcp": "DCTCP",
    "oq": "OQ",
    "oq, TCP": "OQ, TCP",
    "hcf": "HCF",
    "cq": "CQ",
    "cqrd": "CQRD",
    "cqrd-configured": "configured",
}
"""Schemes and transports as the papers call them, where a label is not that already."""


def named(label: str) -> str:
    """A scheme's name in the paper."""
    return NAMES.get(label, label)


Reaching = tuple[float, tuple[float, float]]
"""A value, and how far its error bar reaches below and above it."""


def bars(
    axes: "Axes", series: Mapping[str, tuple[str, Sequence[Reaching]]], names: Sequence[str]
) -> None:
    """A group of bars for each name: of each series its colour and a value a name."""
    width = 0.8 / len(series)
    for index, (label, (colour, values)) in enumerate(series.items()):
        # The group's middle is at the name's tick.
        places = [at + width * (index - (len(series) - 1) / 2) for at in range(len(names))]
        reach = list(zip(*(reach for _, reach in values), strict=True))
        heights = [value for value, _ in values]
        axes.bar(places, heights, 0.95 * width, yerr=reach, capsize=3, color=colour, label=label)
    axes.set_xticks(range(len(names)), names)


PANELS = {
    "all.mean_us": "All flows, average",
    "small.mean_us": "Small flows, average",
    "small.p99_us": "Small flows, 99th percentile",
    "large.mean_us": "Large flows, average",
}


def said(claims: Iterable[Claim], rows: Rows, metric: str) -> Iterator["Said"]:
    """A paper's numbers for a metric of one scheme beside the first one's, as ratios."""
    schemes = rows.values("scheme")
    for claim in claims:
        asked = claim.measure
        # Of a figure that shows a part of the rows, claims about others are not drawn.
        if not any(row.fits(asked.get("where", {})) for row in rows):
            continue
        kind = asked.get("kind")
        if asked.get("metric") != metric or kind not in ("below", "above"):
            continue
        of, base = asked.get("of"), asked.get("base")
        if base != schemes[0] or of not in schemes:
            continue
        # "29 % larger" may mean a ratio of 1.29, or that the other is 29 % smaller.
        larger = asked.get("reading") == "larger"

        def ratio(percent: float, kind: object = kind, larger: bool = larger) -> float:
            if kind == "below":
                return 1 - percent / 100
            return 1 / (1 - percent / 100) if larger else 1 + percent / 100

        target, at = claim.target, asked.get("at")
        ends = sorted(ratio(end) for end in (target.low, target.high) if math.isfinite(end))
        # A claim of no difference would draw a line at 1, which the figure has.
        if not ends or (ends[0], ends[-1]) == (1.0, 1.0):
            continue
        # `at` is a point, a list of points, or a word such as "every".
        loads = [at] if isinstance(at, Mapping) else at if isinstance(at, list) else []
        yield Said(
            str(of), ends[0], ends[-1], tuple(float(p["load"]) for p in loads if "load" in p)
        )


@dataclass(frozen=True)
class Said:
    """A paper's value or range of one scheme's ratio to the first one's."""

    scheme: str
    low: float
    high: float
    """Equal to `low` where it is one value."""
    loads: tuple[float, ...]
    """Loads of which it is said; empty for all, or for the best of them."""

    def draw(self, axes: "Axes", colour: str) -> None:
        """A band, or a line, over its loads."""
        label = "printed, in the scheme's colour (over all loads: at its best one)"
        spans = [(100 * load - 3, 100 * load + 3) for load in self.loads] or [(0.0, 100.0)]
        for left, right in spans:
            if self.high > self.low:
                axes.fill_between(
                    (left, right), self.low, self.high, color=colour, alpha=0.2, lw=0, label=label
                )
            else:
                axes.plot(
                    (left, right), (self.low,) * 2, color=colour, ls=(0, (1, 1)), lw=2, label=label
                )


CLAIMS: ContextVar[Sequence[Claim]] = ContextVar("claims", default=())
"""The claims of the figure that is being drawn: what the paper says is drawn in."""


def fct_over_load(rows: Rows, title: str, file: Path) -> None:
    """Each scheme's FCT over the first one's against load, a panel a statistic: geometric means
    over paired seeds with 95 % confidence intervals; side by side where there is one load."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), layout="constrained", dpi=130)
    figure.suptitle(f"{title} (means over seeds, 95 % intervals)", fontsize="medium")
    schemes = rows.values("scheme")
    looks = apart((row.settings["scheme"], row.scheme) for row in rows)
    loads = rows.values("load")
    # Marks at a single load would lie over each other.
    gap = 1.0 if len(loads) == 1 else 0.0
    for axes, (metric, heading) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        axes.set_title(heading, fontsize="medium")
        for index, scheme in enumerate(schemes):
            xs, ys, errors = [], [], []
            for load in loads:
                of = rows.where({"scheme": scheme, "load": load}).by_seed(metric)
                base = rows.where({"scheme": schemes[0], "load": load}).by_seed(metric)
                both = [seed for seed in of if seed in base]
                if not both:
                    continue
                ratio = stats.paired([of[s] for s in both], [base[s] for s in both]).ratio
                low, high = ratio.low or ratio.estimate, ratio.high or ratio.estimate
                xs.append(100 * load + gap * (index - (len(schemes) - 1) / 2))
                ys.append(ratio.estimate)
                errors.append((ratio.estimate - low, high - ratio.estimate))
            look = looks[scheme]
            axes.errorbar(
                xs,
                ys,
                yerr=list(zip(*errors, strict=True)) if errors else None,
                color=look.colour,
                marker=look.marker,
                linestyle=look.dashes,
                capsize=3,
                label=scheme,
            )
        for each in said(CLAIMS.get(), rows, metric):
            each.draw(axes, looks[each.scheme].colour)
        axes.grid(alpha=0.3)
        axes.set_ylabel(f"FCT relative to {schemes[0]}")
        axes.set_xlabel("load (%)")
        if len(loads) == 1:
            axes.set_xticks([100 * loads[0]])
    # One legend for all panels: a dict keeps each label once.
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    named = {
        label: h for handles, labels in found for h, label in zip(handles, labels, strict=True)
    }
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=len(named),
        frameon=False,
    )
    figure.savefig(file, metadata={"Software": None})


BUILT_IN: dict[str, Callable[[Rows, str, Path], None]] = {"fct-over-load": fct_over_load}
