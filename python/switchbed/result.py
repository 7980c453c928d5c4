"""Result of a run: its summary, and its tables as data frames."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from switchbed import comparing, files, stats, tables
from switchbed._native import (
    SCHEMA_VERSION,
    Mistake,
    Plan,
    Results,
    Table,
    __build__,
    __version__,
    check_summary,
    size_bytes,
)
from switchbed.runner import Outcome

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from switchbed.plots.methods import Plots


class Result:
    """One run: its scenario, its summary, and its tables as data frames.

    `Scenario.run` and `Result.load` make one. docs/results.md describes all tables.

    Example:
        >>> import switchbed as sb
        >>> run = sb.Scenario.from_file("@star-dctcp").run()
        >>> run.summary()["goodput_bps"]
        >>> run.flows.filter(run.flows["timeouts"] > 0)
    """

    def __init__(
        self,
        outcome: Outcome,
        scenario: dict[str, Any],
        read: Callable[[str], "pl.DataFrame | None"],
        arrow: dict[str, Table] | None = None,
        program: str = f"{__version__} (build {__build__})",
        folder: Path | None = None,
    ) -> None:
        """Use `Scenario.run` or `Result.load`. `read` gives a table by its name."""
        self.outcome = outcome
        self.scenario = scenario
        """The scenario as resolved, every default filled in."""
        self._read = read
        self._arrow = arrow
        self.program = program
        """The version and build of Switchbed that ran it."""
        self._folder = folder
        self.over = "ideal"
        """Divisor of its slowdowns: `ideal`, or `alone` (`switchbed.alone`)."""

    def with_flows(self, outcome: Outcome, flows: "pl.DataFrame", over: str) -> Self:
        """Return the run with another table of flows, and with the figures that follow from it.

        Args:
            outcome: Outcome with the new figures.
            flows: The new table `flows`.
            over: Divisor of the slowdowns, `ideal` or `alone`.

        Example:
            >>> result.with_flows(result.outcome, result.flows.head(10), "ideal")
        """

        def read(name: str) -> "pl.DataFrame | None":
            # All other tables stay those of the files or of the run in memory.
            return flows if name == "flows" else self._read(name)

        made = type(self)(outcome, self.scenario, read, program=self.program, folder=self._folder)
        made.over = over
        return made

    @classmethod
    def of_run(cls, plan: Plan, results: Results, outcome: Outcome) -> Self:
        """Make a result in memory from a run that has finished.

        Args:
            plan: Plan that was run.
            results: Tables and summary that it returned.
            outcome: Settings and summary of the run.
        """
        native = tables.of(results)

        def read(name: str) -> "pl.DataFrame | None":
            import polars as pl

            return pl.DataFrame(native[name]) if name in native else None

        return cls(outcome, dict(json.loads(plan.scenario)), read, native)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], settings: dict[str, Any] | None = None) -> Self:
        """Load a run's result directory, in any of its formats. Tables are read when asked for.

        Args:
            folder: Directory that `switchbed run --out` wrote, or one run of a comparison.
            settings: Coordinates of the run in a sweep, where the directory does not have them.

        Returns:
            The run, equal to the one that was written.

        Raises:
            Mistake: The folder is no result directory, holds several runs, or is damaged.

        Example:
            >>> sb.Result.load("results/dctcp").flows
        """
        place = Path(folder)
        files.utf8(place)
        if not (place / "manifest.json").exists():
            raise Mistake(f"{place}: is no result directory: it has no manifest.json")
        with _naming(place):
            manifest = files.read_json(place / "manifest.json")
        if "runs" in manifest:
            first = min((found for found in place.iterdir() if found.is_dir()), default="")
            raise Mistake(f"{place}: holds several runs: give one of its folders, as {first}")
        with _naming(place):
            _check(place, manifest)
        # Tables are read later, on demand: a sweep opens thousands of results for their summaries
        # alone.
        summary = read_summary(place)
        columns = manifest["tables"]

        def read(name: str) -> "pl.DataFrame | None":
            with _naming(place):
                return tables.read(place / name, columns[name]) if name in columns else None

        scheme = manifest["scenario"]["scheme"]["name"]
        # Index and wall time are not in a result directory; 0 stands for both.
        outcome = Outcome(0, settings or manifest["settings"], scheme, summary, 0.0)
        program = f"{manifest['version']} (build {manifest['build']})"
        return cls(outcome, manifest["scenario"], read, program=program, folder=place)

    @classmethod
    def of_frames(
        cls,
        outcome: Outcome,
        scenario: dict[str, Any],
        frames: "dict[str, pl.DataFrame]",
        program: str,
    ) -> Self:
        """Make a run of data frames, as one that was pickled is.

        Args:
            outcome: Settings and summary of the run.
            scenario: Scenario, resolved.
            frames: Tables by their names.
            program: Name and version of the program that ran it.
        """
        return cls(outcome, scenario, frames.get, program=program)

    def __reduce__(self) -> tuple[Any, ...]:
        """With its tables, so that it can go to any process or machine."""
        frames = {name: self._table(name) for name in tables.NAMES}
        # Tables that the scenario does not ask for have no columns, and need no place in the
        # pickle.
        frames = {name: frame for name, frame in frames.items() if frame.columns}
        return type(self).of_frames, (self.outcome, self.scenario, frames, self.program)

    def __eq__(self, other: object) -> bool:
        """Whether the two are the same run with the same results; how long they took, and where
        they are, does not count."""
        if not isinstance(other, Result):
            return NotImplemented
        return (
            self.scenario == other.scenario
            and self.settings == other.settings
            and self.summary() == other.summary()
            and all(_same(self._table(name), other._table(name)) for name in tables.NAMES)
        )

    def __hash__(self) -> int:
        # Equal runs have equal labels and seeds; comparing tables is left to `__eq__`.
        return hash((self.label, self.seed))

    @property
    def plot(self) -> "Plots":
        """Figures of this run, as `switchbed plot` draws them.

        Example:
            >>> run.plot.queue(window=(40, 60)).savefig("queue.pdf")
        """
        from switchbed.plots.methods import Plots

        return Plots([self])

    @property
    def settings(self) -> dict[str, Any]:
        """Coordinates of the run in `[compare]`, by key; empty without `[compare]`.

        Example:
            >>> [result.settings["seed"] for result in runs]
        """
        return self.outcome.settings

    @property
    def seed(self) -> int:
        """Seed of the run: runs of one seed have the same flows."""
        return int(self.outcome.summary["seed"])

    @property
    def label(self) -> str:
        """Label of the scheme, or its name in the registry."""
        return str(self.scenario["scheme"].get("label") or self.outcome.scheme)

    def size_bytes(self, section: str, key: str) -> int:
        """Return a size in the scenario, in bytes.

        Args:
            section: Section of the scenario, such as `"host"`.
            key: Key of that section, such as `"mtu"`.

        Raises:
            ValueError: The value is no size, or tables of a list (`[[host]]`) differ in it.
            KeyError: The scenario has no such key.

        Example:
            >>> run.size_bytes("host", "mtu")
            1500
        """
        values = self.scenario[section]
        tables = values if isinstance(values, list) else [values]
        try:
            # A set: `[[host]]` entries that agree count as one value.
            first, *others = {size_bytes(table[key]) for table in tables}
        except Mistake as error:
            raise ValueError(f"{section}.{key}: {error}") from error
        if others:
            raise ValueError(f"{section}.{key}: [[{section}]] has several")
        return first

    def summary(self) -> dict[str, Any]:
        """Return the headline figures: the object that `--json` writes, without `wall_s`.

        Names end in their units: `_us`, `_s`, `_bps`, `_bytes`. docs/results.md describes them.

        Example:
            >>> run.summary()["fct"]["small"]["p99_us"]
        """
        return self.outcome.summary

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """Flows, one row each, in the order of starts or of the flow list.

        Columns:
            row: Number in the order of starts, or row of the flow list, from 0.
            src: Sending host.
            dst: Receiving host.
            class: Service class (DSCP).
            traffic: Index of its source among `[[traffic]]`, from 0.
            size_bytes: Payload in bytes; null: it sends as long as it runs.
            start_s: Time in seconds when the application wrote it, or asked for it.
            fct_s: Flow completion time in seconds; null: not finished.
            slowdown: FCT over the ideal one: packets back to back at line rate, no handshake, no
                window.
            received_bytes: Payload that the receiver took in order since the warm-up.
            timeouts: Retransmission timeouts since the warm-up.
            retransmissions: Segments sent again since the warm-up.
            ecn_cuts: Window cuts for marks since the warm-up.
            counted: Whether FCTs, slowdowns and numbers of flows count it.
            handshake: Whether it opened its connection.
            waited_for: Longest kind of wait since the warm-up: syn, rto_initial, rto, probe,
                delayed_ack or pause; or empty.
            waited_s: Sum of all such waits since the warm-up in seconds.
            failed: Whether its connection gave up.
            met: Giant flows on its way (nothing, output or path); only with `measure.giant`.

        Example:
            >>> result.flows.filter(pl.col("counted"))["fct_s"].median()
        """
        return self._table("flows")

    @cached_property
    def queues(self) -> "pl.DataFrame":
        """Measured queues, one row each, and one row a port for all its queues together.

        Lengths are weighted by the time that they last, since the warm-up.

        Columns:
            port: Switch and port number (`leaf0:3`), or host.
            queue: Queue number, or `all` for the port.
            mean_bytes: Mean length in bytes.
            p50_bytes: Median length in bytes.
            p95_bytes: 95th percentile in bytes.
            p99_bytes: 99th percentile in bytes.
            max_bytes: Greatest length in bytes.

        Example:
            >>> result.queues.select("port", "queue", "mean_bytes")
        """
        return self._table("queues")

    @cached_property
    def counters(self) -> "pl.DataFrame":
        """Ports, one row each, those of hosts included: the table `ports`.

        Counts are since the warm-up.

        Columns:
            port: Switch and port number (`leaf0:3`), or host.
            to: Host or switch at the other end of its line.
            rate_bps: Line rate in bit/s.
            utilisation: Share of its line's up-time in which it was sending, pause frames included.
            underflow_s: Seconds that the line idled while a sender had data for it; null: not
                monitored.
            sent_packets: Packets whose transmission began, without pause frames.
            sent_bytes: Bytes of these packets.
            marked_packets: Packets that left with a CE mark of this port.
            unmarkable_packets: Marks not carried out because the packet was not ECN-capable.
            notified_packets: Packets whose source was sent a congestion notification.
            lost_packets: Sent packets that the line lost, as an `[[event]]` asked.
            drops_full: Arrivals refused because memory was full.
            drops_not_ecn_capable: Arrivals to be marked that were not ECN-capable.
            drops_early: Arrivals dropped on purpose.
            drops_pushed_out: Queued packets displaced by arrivals.
            drops_at_departure: Packets dropped instead of sent.
            tiers: Tiers of the nodes at its line's ends, such as `leaf-spine`; a host's is `host`.

        Example:
            >>> result.counters.select("port", "utilisation", "marked_packets")
        """
        return self._table("ports")

    @cached_property
    def series(self) -> "pl.DataFrame":
        """Samples of queues over time, one row a sample and queue.

        Empty without `measure.series_every`.

        Columns:
            time_s: Time of the sample in seconds.
            port: Switch and port number (`leaf0:3`), or host.
            queue: Queue number.
            bytes: Length in bytes.
            threshold_bytes: Marking threshold in force in bytes; null: there is none.
            round_time_s: Smoothed round time in seconds; 0: the scheme has none.
            port_marked_packets: Packets that had left the port with a CE mark of it so far.
            port_dropped_packets: Packets that the port had dropped so far.

        Example:
            >>> star.with_({"measure.series_every": "10us"}).run().series
        """
        return self._table("series")

    @cached_property
    def goodput(self) -> "pl.DataFrame":
        """Goodput over time, one row an interval and class, the warm-up included.

        Empty without `measure.goodput_every`.

        Columns:
            time_s: End of the interval in seconds.
            class: Service class (DSCP).
            goodput_bps: Payload that receivers took in order over the interval, in bit/s.
            fair_bps: Payload in bit/s that endless flows would get in max-min fair shares.

        Example:
            >>> star.with_({"measure.goodput_every": "1ms"}).run().goodput
        """
        return self._table("goodput")

    @cached_property
    def probes(self) -> "pl.DataFrame":
        """Probes of the RTT sent since the warm-up, one row each.

        Empty without `kind = "probe"` among the traffic.

        Columns:
            time_s: Time when it was sent, in seconds.
            src: Host that sent it.
            dst: Host that sent it back.
            class: Service class (DSCP), there and back.
            rtt_s: Round-trip time in seconds; null: lost, or still on its way.

        Example:
            >>> result.probes["rtt_s"].quantile(0.99)
        """
        return self._table("probes")

    @cached_property
    def flow_series(self) -> "pl.DataFrame":
        """Samples of senders over time, one row a sample, or change, of a flow under way.

        Empty without `measure.flow_series`. The last five columns are there with BBR alone.

        Columns:
            time_s: Time of the sample or change in seconds.
            row: Row of the flow in the table `flows`.
            cwnd_packets: Congestion window in packets; null: it has none.
            ssthresh_packets: Threshold of slow start in packets; null: it has none.
            in_flight_bytes: Payload in bytes that the sender takes to be in the network.
            srtt_s: Smoothed round-trip time in seconds; null before the first sample.
            pacing_bps: Rate of pacing in bit/s, headers not counted; null: it is not paced.
            alpha: Smoothed marked fraction; null: it has none.
            delivered_bps: Payload in bit/s acknowledged since the sample before; of changes, in the
                last round trip.
            rtt_s: Round trip measured then, in seconds; null: none. Only without `every`.
            mode: State of BBR, such as `startup`; empty: no BBR.
            bw_bps: Bandwidth in bit/s that BBR takes the path for.
            mrtt_s: Least round trip that BBR goes by, in seconds.
            pacing_gain: Gain of BBR's pacing rate over `bw_bps`.
            cwnd_gain: Gain of BBR's window over `bw_bps` times `mrtt_s`.

        Example:
            >>> star.with_({"measure.flow_series": {"every": "1ms"}}).run().flow_series
        """
        return self._table("flow_series")

    def table(self, name: str) -> "pl.DataFrame":
        """Return a table as a Polars data frame.

        Args:
            name: `flows`, `queues`, `ports`, `series`, `goodput`, `probes`, or a monitor's table.

        Returns:
            The table; empty where the scenario does not ask for it.

        Raises:
            Mistake: No table has this name.

        Example:
            >>> run.table("ports").sort("utilisation")
        """
        return self._table(_known(name))

    def arrow(self, name: str) -> Table:
        """Return a table that speaks Arrow (`__arrow_c_stream__`).

        pyarrow, DuckDB, Polars and others take it without a copy. Only a run in memory has one.

        Args:
            name: Name of the table, as for `table`.

        Raises:
            Mistake: The run was loaded, or the scenario does not ask for the table.

        Example:
            >>> import pyarrow as pa
            >>> pa.table(run.arrow("flows"))
        """
        _known(name)
        if self._arrow is None:
            raise Mistake("arrow() hands over a run in memory; a loaded one has data frames")
        if name not in self._arrow:
            raise Mistake(f"the scenario does not ask for the table {name!r}")
        return self._arrow[name]

    def to_pandas(self, name: str) -> "pd.DataFrame":
        """Return a table as a pandas data frame. Switchbed does not install pandas.

        Args:
            name: Name of the table, as for `table`.

        Raises:
            Mistake: No table has this name.
            ImportError: pandas is not installed.

        Example:
            >>> run.to_pandas("flows")["fct_s"].median()
        """
        frame = self._table(_known(name))
        import pandas as pd

        # Not by Polars' to_pandas(), which needs pyarrow.
        return pd.DataFrame({column.name: column.to_numpy() for column in frame})

    def __repr__(self) -> str:
        settings = ", ".join(
            f"{key}={value}" for key, value in self.settings.items() if not comparing.is_seed(key)
        )
        place = f", {self._folder}" if self._folder else ""
        return f"Result({settings or self.label}, seed {self.seed}{place})"

    def _repr_html_(self) -> str:
        from switchbed import notebook

        return notebook.result(self)

    def _table(self, name: str) -> "pl.DataFrame":
        import polars as pl

        found = self._read(name)
        return pl.DataFrame() if found is None else found


def _same(one: "pl.DataFrame", other: "pl.DataFrame") -> bool:
    """A table that was not asked for is not even written."""
    return (one.is_empty() and other.is_empty()) or one.equals(other)


@dataclass(frozen=True)
class Comparison:
    """FCTs and jobs' times of a scheme against those of another, paired over the seeds of both.

    `comparison["small", "p99_us"]` is one change; `print` shows all of them.

    Example:
        >>> print(sb.compare(with_mq_ecn, with_per_queue)["small", "p99_us"])
        4.1 % lower (95 % CI 1.2–7.0 %, 5 seeds)
    """

    scheme: str
    base: str
    changes: dict[tuple[str, str], stats.Change]
    """By size class and statistic, such as ("small", "p99_us")."""

    def __getitem__(self, key: tuple[str, str]) -> stats.Change:
        return self.changes[key]

    @property
    def frame(self) -> "pl.DataFrame":
        """All changes as a data frame, one row a size class and statistic.

        Columns:
            class: Size class (all, small, medium or large), or `job` for a collective.
            statistic: Statistic of the FCT, such as `p99_us`, or a job's `time_us`.
            ratio: Geometric mean over seeds of the first scheme's time over the second's.
            ci_low: Lower end of the 95 % interval of the ratio; null: no interval.
            ci_high: Upper end of the 95 % interval of the ratio; null: no interval.
            seeds: Number of pairs.
            text: The change in words: `4.1 % lower (95 % CI 1.2–7.0 %, 5 seeds)`.
        """
        import polars as pl

        return pl.DataFrame(
            {
                "class": size_class,
                "statistic": statistic,
                "ratio": change.ratio.estimate,
                "ci_low": change.ratio.low,
                "ci_high": change.ratio.high,
                "seeds": change.ratio.n,
                "text": str(change),
            }
            for (size_class, statistic), change in self.changes.items()
        )

    @property
    def looked(self) -> str | None:
        """A line on how many of the intervals miss the truth by chance, or `None`."""
        return stats.looked(sum(change.bounds is not None for change in self.changes.values()))

    def __str__(self) -> str:
        lines = (
            f"{size_class} {statistic.removesuffix('_us')}: {change}"
            for (size_class, statistic), change in self.changes.items()
        )
        same = self.scheme == self.base
        # Two settings of one scheme have the same label, which would say nothing.
        names = ("the first", "the second") if same else (self.scheme, self.base)
        head = f"FCT of {names[0]} against {names[1]}"
        if not self.changes:
            return f"{head}: no flow has finished in both"
        return "\n".join(filter(None, (head, *lines, self.looked)))

    def _repr_html_(self) -> str:
        from switchbed import notebook

        return notebook.comparison(self)


def compare(a: Result | Iterable[Result], b: Result | Iterable[Result]) -> Comparison:
    """Compare FCTs and jobs' times of two schemes, seed by seed.

    Both should differ in the scheme alone: runs of one seed have the same flows.

    Args:
        a: One run, or the runs of one setting with a seed each.
        b: Runs of the setting that `a` is compared with.

    Returns:
        The changes of `a` against `b` with their 95 % intervals, over the seeds that both have.

    Raises:
        Mistake: No seed is common to both, or two runs of one side have the same seed.

    Example:
        >>> red, ecn = (sb.Scenario.from_file(f) for f in ("red.toml", "ecn.toml"))
        >>> print(sb.compare([red.with_(seed=n).run() for n in range(5)],
        ...                  [ecn.with_(seed=n).run() for n in range(5)]))
    """
    first, second = _runs(a), _runs(b)
    pairs = [(run, second[seed]) for seed, run in first.items() if seed in second]
    if not pairs:
        raise Mistake(
            f"the two have no seed in common: {_seeds(first)} and {_seeds(second)}; "
            "only runs of the same seed meet the same flows"
        )
    changes = {}
    every = [run.outcome for pair in pairs for run in pair]
    for size_class, statistic in comparing.statistics(every):
        values = [
            (above, below)
            for run, base in pairs
            # A class without finished flows has no FCT, and a ratio to 0 has no logarithm.
            if (above := comparing.time(run.outcome, size_class, statistic))
            and (below := comparing.time(base.outcome, size_class, statistic))
        ]
        if values:
            changes[size_class, statistic] = stats.paired(
                [v for v, _ in values], [v for _, v in values]
            )
    return Comparison(pairs[0][0].label, pairs[0][1].label, changes)


def _runs(given: Result | Iterable[Result]) -> dict[int, Result]:
    runs: Sequence[Result] = [given] if isinstance(given, Result) else list(given)
    found = {run.seed: run for run in runs}
    # A dict keeps the last run of a seed, so fewer entries than runs means that two share one.
    if len(found) < len(runs):
        raise Mistake("two runs have the same seed: give the runs of one setting, a seed each")
    return found


def _seeds(runs: dict[int, Result]) -> str:
    return ", ".join(map(str, runs)) or "none"


def _known(name: str) -> str:
    if name not in tables.NAMES:
        raise Mistake(f"there is no table {name!r}: tables are {', '.join(tables.NAMES)}")
    return name


def read_summary(place: Path) -> dict[str, Any]:
    """Return the summary in a run's result directory."""
    path = place / "summary.json"
    with _naming(place):
        text = files.read_text(path)
        try:
            # Rust checks the fields and types, since it also writes them.
            check_summary(text)
        except Mistake as error:
            raise Mistake(f"{path}: is damaged: {error}") from error
    return dict(json.loads(text))


def _check(place: Path, manifest: dict[str, Any]) -> None:
    """Refuses what is not the manifest of one run, as this program reads it."""
    path = place / "manifest.json"
    version = manifest.get("schema_version")
    if version != SCHEMA_VERSION:
        raise Mistake(
            f"{path}: is of schema_version {version}, and this program reads {SCHEMA_VERSION}"
        )
    for name, kind in KINDS.items():
        value: Any = manifest
        for part in name.split("."):
            # A damaged manifest may have anything at each level of the dotted name.
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise Mistake(f"{path}: is damaged: its {name} is missing or of another type")
    for name, columns in manifest["tables"].items():
        named = isinstance(columns, list) and all(
            isinstance(column, dict) and isinstance(column.get("name"), str) for column in columns
        )
        if not named:
            raise Mistake(f"{path}: is damaged: its tables.{name} is no list of columns")


KINDS: dict[str, type] = {
    "version": str,
    "build": str,
    "settings": dict,
    "scenario.topology.kind": str,
    "scenario.scheme.name": str,
    "scenario.transport.kind": str,
    "scenario.transport.mss": str,
    "scenario.traffic": list,
    "scenario.measure": dict,
    **{f"tables.{name}": list for name in tables.ALWAYS},
}
"""Type of each entry that every manifest has."""


@contextmanager
def _naming(place: Path) -> Iterator[None]:
    """Add advice to the message of a damaged file."""
    try:
        yield
    except Mistake as error:
        from switchbed.store import is_store

        again = "run it again"
        # A store has runs in `runs/KEY`; sweeping again makes only the removed one.
        if is_store(place.parent.parent):
            again = f"remove {place} and sweep again"
        raise Mistake(f"{error}; {again}") from error
