"""Damages every file of a result directory, of a comparison and of a store of sweeps in every way,
and hands it to every command that reads one. Each must do its work, or say in one line which file
is wrong and exit with 2. `make validate` runs it all, `make test` a part.

    python -m evidence.robustness.damage [SEED]

A process for each core reads some 5,700 cases; a reader that takes over five minutes is a fault.
"""

import faulthandler
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
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


LIMIT_S = 300
"""Time that a reader may take: a second on an idle machine, far more on a busy one."""
STUCK_S = 2 * LIMIT_S
"""Time after which a process that no signal interrupts is ended, which fails the whole."""
STEP = 500
"""Cases from one line of progress to the next."""


def every(place: Place, whole: Path, seed: int) -> list[Case]:
    """All cases of a place, in the same order in every process."""
    return [*cases(place, whole), *mistyped_cases(place, whole, random.Random(seed))]


class _LateError(BaseException):
    """A reader takes too long."""


_READS: list[Case] = []
"""The case under way: what comes after its end is no fault of it."""


def _late(*_: object) -> None:
    if _READS:
        raise _LateError


def in_time(case: Case, whole: Path, folder: Path) -> list[str]:
    """The faults of a case; one that does not end in time is a fault."""
    signal.signal(signal.SIGALRM, _late)
    faulthandler.dump_traceback_later(STUCK_S, exit=True)
    # Again each second: a reader may swallow the first.
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, 1)
    begun, faults = time.monotonic(), []
    _READS.append(case)
    try:
        try:
            faults = case.faults(whole, folder)
        finally:
            _READS.clear()
    except _LateError:
        _READS.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()
    late = time.monotonic() - begun > LIMIT_S
    return [f"took over {LIMIT_S} s"] if late else faults


def _part(nth: int, parts: int, root: Path, seed: int, done: Any) -> list[str]:
    """Every `parts`-th case of all places, from the `nth`; `done` counts those of all processes."""
    found = []
    for place in PLACES:
        whole = root / place.name
        for case in every(place, whole, seed)[nth::parts]:
            random.seed(f"{seed} {case}")
            found += [f"{case}: {why}" for why in in_time(case, whole, root / f"damaged-{nth}")]
            with done.get_lock():
                done.value += 1
                if done.value % STEP == 0:
                    print(f"{done.value:,} read", file=sys.stderr, flush=True)
    return found


_DONE: list[Any] = []


def _begin(done: Any) -> None:
    _DONE.append(done)


def _work(nth: int, parts: int, root: Path, seed: int) -> list[str]:
    return _part(nth, parts, root, seed, _DONE[0])


def main(arguments: list[str]) -> int:
    """All of them; 1 if any reader did what it should not."""
    seed = int(arguments[0]) if arguments else 1
    parts = os.cpu_count() or 1
    # A fork of a process with polars' threads can stand still.
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for place in PLACES:
            (root / place.name).mkdir()
            place.make(root / place.name)
        with ProcessPoolExecutor(parts, context, _begin, (done,)) as pool:
            work = [pool.submit(_work, nth, parts, root, seed) for nth in range(parts)]
            faults = [fault for part in work for fault in part.result()]
    print("\n".join(faults))
    print(f"{done.value:,} damaged results and stores read: {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
