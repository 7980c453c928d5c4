"""Figures of a run by names that operators use, for objectives and guards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from switchbed._native import Mistake
from switchbed.sweeps.stopping import figure

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure of a summary."""

    words: str
    """Name for people."""
    path: str
    """Where a summary has it; of lists, the path within each item."""
    of_each: str = ""
    """A list whose items have it: the worst counts."""
    floor: float = 0.0
    """Added before ratios are taken, since it may be nought."""
    larger: bool = False
    """More of it is better."""

    def of(self, summary: Summary, option: str) -> float | None:
        """Return the figure; `None`: the run has none."""
        name = next((name for name, each in NAMES.items() if each is self), None)
        try:
            if not self.of_each:
                return figure(summary, self.path, option)
            found = [figure(item, self.path, option) for item in summary.get(self.of_each) or ()]
            return max((value for value in found if value is not None), default=None)
        except Mistake as mistake:
            if name is not None:
                why = f"the scenario's runs tell no {self.words}"
                raise Mistake(f"{option} {name}: {why}") from None
            raise Mistake(f"{mistake}; or a name: {', '.join(NAMES)}") from None

    def group(self, summary: Summary) -> Any:
        """Return the figures of the same flows, with their number `n`."""
        kind = self.path.rpartition(".")[0]
        items = (summary.get(self.of_each) or ()) if self.of_each else (summary,)
        found = [_within(item, kind) for item in items]
        known = [group for group in found if isinstance(group, Mapping)]
        return min(known, key=lambda group: group.get("n") or 0, default=None)


def _within(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


NAMES: Mapping[str, Figure] = {
    "small-p99": Figure("99th percentile of small flows' FCTs", "fct.small.p99_us"),
    "query": Figure("mean query completion time", "query.mean_us", "by_traffic"),
    "query-p99": Figure("99th percentile of query completion times", "query.p99_us", "by_traffic"),
    "job": Figure("time of a collective", "time_us", "jobs"),
    "pauses": Figure("time that pauses held ports", "pauses.held_s", floor=1e-6),
    "headroom": Figure("most headroom in use", "pauses.headroom_max_bytes", floor=1500.0),
    "throughput": Figure("throughput", "goodput_bps", larger=True),
}
"""By name. A floor is 1 us of pauses, a packet of headroom."""


def named(text: str) -> Figure:
    """The figure that a name or a path of a summary stands for."""
    return NAMES.get(text) or Figure(text, text)
