"""Damages every file of a result directory, of a comparison and of a store of sweeps in every way,
and hands it to every command that reads one. Each must do its work, or say in one line which file
is wrong and exit with 2. `make validate` runs it all, `make test` a part.

    python -m evidence.robustness.damage [SEED]
"""

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import switchbed as sb
from evidence.robustness.in_process import Done, ended, switchbed
from switchbed.store import Store
from switchbed.sweeps import key
from switchbed.tables import NAMES

SCENARIO = """
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "5us"
[switch]
queues = 2
discipline = "dwrr"
buffer = "300KB"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.6
flows = 30
sizes = "30KB"
[measure]
series_every = "50us"
goodput_every = "50us"
"""
COMPARE = """
[compare]
scheme = ["per-queue", "mq-ecn"]
load = [0.4, 0.8]
"""


@dataclass(frozen=True)
class Place:
    """Something with files: what it is made of, and the commands that read it."""

    name: str
    make: Callable[[Path], None]
    readers: dict[str, Callable[[Path], Done]]

    def files(self, folder: Path) -> list[Path]:
        """All that it has; of runs that are alike, one's."""
        found = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        first = {(len(path.parts), path.name): path for path in reversed(found)}
        return sorted(path for path in first.values() if path.suffix != ".toml")


def _make_result(folder: Path) -> None:
    (folder / "one.toml").write_text(SCENARIO)
    assert switchbed("run", folder / "one.toml", "--out", folder / "out").code == 0


def _make_text(folder: Path) -> None:
    (folder / "one.toml").write_text(SCENARIO)
    where = ("--out", folder / "out", "--tables", "csv")
    assert switchbed("run", folder / "one.toml", *where).code == 0


def _make_comparison(folder: Path) -> None:
    (folder / "all.toml").write_text(SCENARIO + COMPARE)
    assert switchbed("run", folder / "all.toml", "--out", folder / "out").code == 0


def _make_store(folder: Path) -> None:
    (folder / "all.toml").write_text(SCENARIO + COMPARE)
    assert switchbed("sweep", folder / "all.toml", "--store", folder / "out").code == 0
    # One of its runs has failed.
    plan = sb.plans(folder / "all.toml")[0]
    store = Store(folder / "out")
    shutil.rmtree(store.run(key.of(plan)))
    store.fail(key.of(plan), plan, "because")
    store.end()
    assert switchbed("sweep", folder / "all.toml", "--store", folder / "out").code == 1


def _load(folder: Path) -> Done:
    def work() -> None:
        result = sb.Result.load(folder / "out")
        for name in NAMES:
            result.table(name)
        repr(result)

    return ended(work)


def _frame(folder: Path) -> Done:
    def work() -> None:
        found = sb.sweep(folder / "all.toml", folder / "out")
        assert len(found.frame) == 4
        for result in found.results():
            assert len(result.flows) in (0, 30)  # some are damaged so that they have none

    return ended(work)


def _plot(kind: str, *more: str) -> Callable[[Path], Done]:
    return lambda folder: switchbed(
        "plot", kind, folder / "out", "--out", folder / "figure.svg", *more
    )


def _report(folder: Path) -> Done:
    return switchbed("report", folder / "out", "--out", folder / "report.html")


def _query(sql: str) -> Callable[[Path], Done]:
    return lambda folder: switchbed("query", sql, "--store", folder / "out", "--json")


PLACES = (
    Place(
        "result",
        _make_result,
        {
            "report": _report,
            "plot cdf": _plot("cdf"),
            "plot queue": _plot("queue"),
            "plot shares": _plot("shares"),
            "plot utilisation": _plot("utilisation"),
            "fct": lambda folder: switchbed("fct", folder / "out", "--form", "ns3-datacenter"),
            "run --force": lambda folder: switchbed(
                "run", folder / "one.toml", "--out", folder / "out", "--force"
            ),
            "Result.load": _load,
        },
    ),
    Place("result in CSV", _make_text, {"report": _report, "Result.load": _load}),
    Place(
        "comparison",
        _make_comparison,
        {
            "report": _report,
            "plot fct": _plot("fct"),
            "plot heatmap": _plot("heatmap", "--x", "load", "--y", "scheme"),
            "run --force": lambda folder: switchbed(
                "run", folder / "all.toml", "--out", folder / "out", "--force"
            ),
        },
    ),
    Place(
        "store",
        _make_store,
        {
            "report": _report,
            "plot cdf": _plot("cdf"),
            "query runs": _query("select scheme, avg(fct_all_mean_us) from runs group by all"),
            "query flows": _query("select count(*) from flows join runs using (run)"),
            "sweep": lambda folder: switchbed(
                "sweep", folder / "all.toml", "--store", folder / "out"
            ),
            "sweep --retry": lambda folder: switchbed(
                "sweep", folder / "all.toml", "--store", folder / "out", "--retry"
            ),
            "SweepResult": _frame,
        },
    ),
)

Damage = Callable[[Path], object]


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable(path: Path) -> None:
    """Its rights bind root to nothing: a link to itself does."""
    if os.geteuid() == 0:
        path.unlink()
        path.symlink_to(path.name)
    else:
        path.chmod(0)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "a directory": _directory,
    "unreadable": _unreadable,
    "a pipe": _pipe,
}
"""Of any file."""


def _json(change: Callable[[Any], Any]) -> Damage:
    return lambda path: path.write_text(json.dumps(change(json.loads(path.read_text()))))


OTHERS: tuple[Any, ...] = (None, True, -1, 1.5, 10**400, "x", "", [], [None], {}, {"x": None})
"""What may stand where something else should."""

DEEP = 100_000
JSON_DAMAGES: dict[str, Damage] = {
    "a list": _json(lambda value: [value]),
    "nothing in it": _json(lambda value: {}),
    "a later schema": _json(lambda value: value | {"schema_version": 99}),
    "too deep": lambda path: path.write_text("[" * DEEP + "]" * DEEP),
}


def _table(change: Callable[[Any], Any]) -> Damage:
    def damage(path: Path) -> None:
        import polars as pl

        if path.suffix == ".csv":
            change(pl.read_csv(path)).write_csv(path)
        else:
            change(pl.read_parquet(path)).write_parquet(path)

    return damage


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(3):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


EMPTY = {"all null", "no rows", "tables.series left out", "tables.goodput left out"}
"""What a run may leave, for all that a reader knows: it may say that there is nothing to draw. Text
is a column like any other to SQL."""


def _of_text(frame: Any) -> Any:
    import polars as pl

    return frame.cast(pl.String)


TABLE_DAMAGES: dict[str, Damage] = {
    "other columns": _table(lambda frame: frame.rename({frame.columns[-1]: "other"})),
    "a column less": _table(lambda frame: frame.drop(frame.columns[0])),
    "all text": _table(_of_text),
    "all null": _table(lambda frame: frame.clear(len(frame))),
    "no rows": _table(lambda frame: frame.clear()),
    "bits flipped": _flip,
}


def kinds(path: Path) -> dict[str, Damage]:
    """The damages that a file can have."""
    of_form = JSON_DAMAGES if path.suffix == ".json" else TABLE_DAMAGES
    return DAMAGES | (of_form if path.suffix in (".json", ".parquet", ".csv") else {})


def keys(value: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """The way to each value in a JSON text; into the first of a list alone."""
    inner: dict[Any, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list) and value:
        inner = {0: value[0]}
    for name, item in inner.items():
        yield (*above, name)
        yield from keys(item, *above, name)


def mistyped(way: tuple[str | int, ...], other: Any) -> Damage:
    """Another value there, or with `...` none."""

    def change(value: Any) -> Any:
        inner = value
        for part in way[:-1]:
            inner = inner[part]
        if other is ...:
            del inner[way[-1]]
        else:
            inner[way[-1]] = other
        return value

    return _json(change)


@dataclass(frozen=True)
class Case:
    """A file of a place, damaged, and who reads it."""

    place: Place
    file: Path
    kind: str
    damage: Damage
    reader: str

    def __str__(self) -> str:
        return f"{self.place.name}: {self.file}: {self.kind}: {self.reader}"

    def faults(self, whole: Path, folder: Path) -> list[str]:
        """What the reader does that it should not; `whole` has the place undamaged."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        self.damage(folder / self.file)
        done = self.place.readers[self.reader](folder)
        faults = done.faults()
        may = EMPTY | ({"all text"} if self.reader.startswith("query") else set())
        if done.code == 2 and self.kind not in may and str(folder / "out") not in done.err:
            faults.append("names no file")
        return [f"{fault}: {done.err.strip()}" for fault in faults]


def cases(place: Place, whole: Path) -> Iterator[Case]:
    """Every file, damage and reader."""
    for file in place.files(whole):
        for kind, damage in kinds(file).items():
            for reader in place.readers:
                yield Case(place, file, kind, damage, reader)


def mistyped_cases(place: Place, whole: Path, draw: random.Random) -> Iterator[Case]:
    """Every key of every JSON file with some value that is not its, and without it."""
    for file in place.files(whole):
        if file.suffix != ".json":
            continue
        for way in keys(json.loads((whole / file).read_text())):
            for other in (..., draw.choice(OTHERS)):
                said = "left out" if other is ... else f"= {str(other)[:20]}"
                kind = f"{'.'.join(map(str, way))} {said}"
                yield Case(place, file, kind, mistyped(way, other), draw.choice([*place.readers]))


def main(arguments: list[str]) -> int:
    """All of them; 1 if any reader did what it should not."""
    seed = int(arguments[0]) if arguments else 1
    random.seed(seed)
    tried, bad = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        for place in PLACES:
            whole = Path(temporary) / place.name
            whole.mkdir()
            place.make(whole)
            every = [*cases(place, whole), *mistyped_cases(place, whole, random.Random(seed))]
            for case in every:
                faults = case.faults(whole, Path(temporary) / "damaged")
                tried, bad = tried + 1, bad + bool(faults)
                for fault in faults:
                    print(f"{case}: {fault}", flush=True)
    print(
        f"{tried:,} damaged results and stores read: {bad} with a traceback or no word of the file"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
