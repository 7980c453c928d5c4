"""Values by two coordinates: a figure over two settings of a sweep, and how busy the fabric's ports
were, a row a switch."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from switchbed import comparing
from switchbed.result import Result
from switchbed.series import runs


@dataclass(frozen=True)
class Cells:
    """Means over seeds by two settings."""

    name: str
    """Other settings that distinguish these runs."""
    xs: tuple[str, ...]
    ys: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]
    """A row a value of `ys`."""

    @property
    def known(self) -> list[float]:
        """Return the values of the cells that have one."""
        return [value for row in self.rows for value in row if value is not None]


def cells(
    results: Sequence[Result], measure: Callable[[Result], float | None], x: str, y: str
) -> list[Cells]:
    """A map for each scheme, and what differs besides `x` and `y`."""
    panels: dict[str, list[Result]] = {}
    for run in results:
        panels.setdefault(_panel(run, x, y), []).append(run)
    xs, ys = (tuple(values(results, key)) for key in (x, y))
    found = []
    for name, seeds in panels.items():
        means = _means(seeds, measure, x, y)
        rows = tuple(tuple(means.get((a, b)) for a in xs) for b in ys)
        found.append(Cells(name, xs, ys, rows))
    return found


def scale(maps: Sequence[Cells]) -> tuple[float, float] | None:
    """The lowest and highest value of maps that are shown together; `None` where none has any."""
    known = [value for one in maps for value in one.known]
    return (min(known), max(known)) if known else None


def _panel(run: Result, x: str, y: str) -> str:
    """Name the panel of a run by its scheme and further settings."""
    rest = (
        value if isinstance(value, str) else runs.name(key, value)
        for key, value in run.settings.items()
        if key not in (x, y) and not comparing.is_seed(key)
    )
    axis = any(comparing.is_scheme(key) for key in (x, y))
    return ", ".join(rest) or ("" if axis else run.label)


def _means(
    runs_of: Sequence[Result], measure: Callable[[Result], float | None], x: str, y: str
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs_of:
        value = measure(run)
        if value is not None:
            place = comparing.text(run.settings[x]), comparing.text(run.settings[y])
            found.setdefault(place, []).append(value)
    return {place: sum(seeds) / len(seeds) for place, seeds in found.items()}


def values(results: Sequence[Result], key: str) -> list[str]:
    """The setting's values in the order of the sweep."""
    return list(dict.fromkeys(comparing.text(run.settings[key]) for run in results))


UTILISATION = "utilisation (%)"
PORT = "port, by what is at its other end"
"""Titles of the axes."""
METRICS = ("utilisation.mean_pct", "utilisation.max_pct")
"""Over a setting: of all switch ports together, and of the busiest."""


@dataclass(frozen=True)
class Grid:
    """Switches of a kind, which have their ports alike."""

    kind: str
    """Beginning of the switches' names, such as `leaf`."""
    ports: tuple[str, ...]
    """Where each leads: a name where all switches' port of that number leads there, else which of
    the hosts, or switches of a kind, that it has: `host #3`."""
    used: dict[str, list[float]]
    """Percent of the time that each port of each switch sent, the mean of the runs."""

    @property
    def rows(self) -> list[list[float | None]]:
        """A row a switch, as long as the longest."""
        return [[*row, *[None] * (len(self.ports) - len(row))] for row in self.used.values()]

    @property
    def by_use(self) -> list[float]:
        """All ports', from the busiest on."""
        return sorted((value for row in self.used.values() for value in row), reverse=True)

    @property
    def described(self) -> str:
        """`mean 41.3 %, busiest 80.2 %`."""
        every = [value for row in self.used.values() for value in row]
        return f"mean {sum(every) / len(every):.1f} %, busiest {max(every):.1f} %"


def grids(results: Sequence[Result]) -> list[Grid]:
    """The switches of runs on one network, in the order of the table."""
    found: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for row in zip(*(_ports(run) for run in results), strict=True):
        switch, to, _ = row[0]
        kind = switch.rstrip("0123456789")
        ports = found.setdefault(kind, {}).setdefault(switch, [])
        ports.append((to, 100 * sum(used for _, _, used in row) / len(row)))
    return [
        Grid(
            kind,
            tuple(_names([[to for to, _ in ports] for ports in switches.values()])),
            {name: [used for _, used in ports] for name, ports in switches.items()},
        )
        for kind, switches in found.items()
    ]


def _names(ports: Sequence[Sequence[str]]) -> list[str]:
    """Name the columns by the neighbour of each switch port."""
    longest = max(ports, key=len)
    seen: dict[str, int] = {}
    found = []
    for column, to in enumerate(longest):
        kind = to.rstrip("0123456789")
        place = seen[kind] = seen.get(kind, -1) + 1
        same = {row[column] for row in ports if column < len(row)} == {to}
        found.append(to if same else f"{kind} #{place}")
    return found


def _ports(run: Result) -> list[tuple[str, str, float]]:
    """Switch, what the port leads to, and how busy it was; by its number in results of before."""
    told = "to" if "to" in run.counters.columns else "port"
    names = run.counters.select("port", told=told, utilisation="utilisation").rows()
    return [
        (m[1], to.rpartition(":")[2], used)
        for name, to, used in names
        if (m := re.fullmatch(r"(\w+):\d+", name))
    ]
