"""Slowdowns over the flow alone: each flow of a run by itself in the empty network, under its own
transport, hosts and scheme.

A summary's slowdown is over the ideal FCT: packets back to back at the line's rate, no handshake,
as the field has it. A transport that opens a connection and grows a window does not reach it even
alone. Here the run's scenario is run again with one flow, without events, once for all flows of one
size, class and pair of hosts. A flow on a connection that stood already begins with an established
one.
"""

import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from switchbed import _native, quantity, runner, stats, tables, toml
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.threads import cores

if TYPE_CHECKING:
    import polars as pl

Over = Literal["ideal", "alone"]
OVERS: tuple[Over, ...] = get_args(Over)
LONGEST_S = 1000
"""Simulated time after which a flow alone has not finished."""


class Lone(NamedTuple):
    """A flow that has the network to itself."""

    traffic: int
    src: int
    dst: int
    service: int
    size_bytes: int
    handshake: bool


def over(run: Result, what: Over) -> Result:
    """The run with its slowdowns over this, in its table and its summary."""
    return run if what == "ideal" else _alone(run)


def _alone(run: Result) -> Result:
    import polars as pl

    flows = run.flows
    lone = [
        None if fct is None or size is None else Lone(traffic, src, dst, service, int(size), opened)
        for traffic, src, dst, service, size, opened, fct in flows.select(
            "traffic", "src", "dst", "class", "size_bytes", "handshake", "fct_s"
        ).rows()
    ]
    known = _times(run, {flow for flow in lone if flow is not None})
    base = pl.Series([None if flow is None else known[flow] for flow in lone], dtype=pl.Float64)
    flows = flows.with_columns((pl.col("fct_s") / base).alias("slowdown"))
    outcome = run.outcome
    divided = Outcome(
        outcome.index,
        outcome.settings,
        outcome.scheme,
        _summary(run, flows),
        outcome.wall_s,
        outcome.processor_s,
    )
    return run.with_flows(divided, flows, "alone")


def _summary(run: Result, flows: "pl.DataFrame") -> dict[str, Any]:
    """The run's, with these flows' slowdowns."""
    import polars as pl

    small, large = (run.size_bytes("measure", name) for name in ("small", "large"))
    counted = flows.filter(pl.col("fct_s").is_not_null(), pl.col("counted"))
    size = pl.col("size_bytes")
    classes = {
        "all": counted,
        "small": counted.filter(size <= small),
        "medium": counted.filter((size > small) & (size <= large)),
        "large": counted.filter(size > large),
    }
    summary = dict(run.summary())
    summary["slowdown"] = {name: _figures(frame["slowdown"]) for name, frame in classes.items()}
    summary["slowdown_over"] = "alone"
    for groups, column in (("by_traffic", "traffic"), ("by_transport", "transport")):
        if groups in summary:
            summary[groups] = [
                each
                | {"slowdown": _figures(counted.filter(pl.col(column) == each[column])["slowdown"])}
                for each in summary[groups]
            ]
    return summary


def _figures(slowdowns: Iterable[float | None]) -> dict[str, Any]:
    """Compute the figures of a summary."""
    known = [value for value in slowdowns if value is not None]
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    found: dict[str, Any] = {"n": len(known), "mean": sum(known) / len(known) if known else None}
    for name, share in shares.items():
        found[name] = stats.percentile(known, share) if known else None
    return found


def _times(run: Result, flows: set[Lone]) -> dict[Lone, float | None]:
    """How long each takes, in seconds; `None` of one that does not finish."""
    ordered = sorted(flows)
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(cores(), thread_name_prefix="alone") as pool,
    ):

        def one(numbered: tuple[int, Lone]) -> float | None:
            return _time(run, numbered[1], Path(folder) / f"{numbered[0]}.csv")

        return dict(zip(ordered, pool.map(one, enumerate(ordered)), strict=True))


def _time(run: Result, flow: Lone, listed: Path) -> float | None:
    import polars as pl

    plans = _native.plans_of(
        f"{run}, a flow alone", toml.document(_scenario(run, flow, listed)), Path(), [], False
    )
    results, _ = runner.run_one(0, plans[0], _native.Progress())
    listed.unlink(missing_ok=True)
    found: float | None = pl.DataFrame(tables.of(results)["flows"])["fct_s"][0]
    return found


def _scenario(run: Result, flow: Lone, listed: Path) -> dict[str, Any]:
    """The run's, with this flow as its only traffic."""
    given = toml.given(run.scenario)
    source = given["traffic"][flow.traffic]
    connections = "fresh" if flow.handshake else "fresh-no-handshake"
    size = quantity.bytes_of(flow.size_bytes)
    if source["kind"] == "request-response":
        asked = {"from": flow.src, "to": flow.dst, "sizes": size, "load": 1e-6, "flows": 1}
        served = {"service": "random", "shares": [0] * flow.service + [1]}  # by its class
        kept = {key: source[key] for key in ("kind", "request") if key in source}
        traffic = kept | asked | served | {"connections": connections}
    else:
        listed.write_text(
            "start_s,src,dst,size_bytes,class\n"
            f"0,{flow.src},{flow.dst},{flow.size_bytes},{flow.service}\n"
        )
        traffic = {"kind": "list", "file": str(listed), "connections": connections}
    if "transport" in source:
        traffic["transport"] = source["transport"]
    kept = {key: value for key, value in given.items() if key not in ("event", "compare")}
    return kept | {
        "traffic": [traffic],
        "measure": {"fct_end": given["measure"]["fct_end"]},
        "run": {"seed": run.seed, "until": f"{LONGEST_S}s"},
    }
