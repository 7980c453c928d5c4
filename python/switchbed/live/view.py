"""A switch's ports and queues as a table for the terminal."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table

from switchbed._native import Mistake
from switchbed.console import Console
from switchbed.live import control
from switchbed.terminal import plain

REFRESH_S = 0.25
WINDOW_S = 1.0


def table(stats: dict[str, Any], before: dict[str, Any] | None = None) -> Table:
    """A row a queue, and one a port; rates since `before`, or since the switch began."""
    title = f"{stats['scheme']} after {stats['time_s']:.1f} s"
    found = Table(title=title, title_justify="left")
    for name in ("port", "queue"):
        found.add_column(name)
    for name in ("bytes", "threshold", "mean", "max", "Mbps", "marked", "dropped"):
        found.add_column(name, justify="right")
    for i, port in enumerate(stats["ports"]):
        old = before["ports"][i] if before else None
        _add_port(found, port, old, stats["time_s"] - (before["time_s"] if before else 0.0))
    return found


def _add_port(
    found: Table, port: dict[str, Any], old: dict[str, Any] | None, seconds: float
) -> None:
    def grown(name: str) -> int:
        return int(port[name]) - (int(old[name]) if old else 0)

    drops = sum(grown(name) for name in port if name.startswith("drops_"))
    rate = grown("sent_bytes") * 8 / 1e6 / seconds if seconds > 0 else 0.0
    total = sum(queue["bytes"] for queue in port["queues"])
    found.add_row(
        port["port"],
        "all",
        str(total),
        f"round {port['round_time_s'] * 1e6:.0f} us" if port["round_time_s"] else "",
        f"{port['mean_bytes']:.0f}",
        str(port["max_bytes"]),
        f"{rate:.2f}",
        str(grown("marked_packets")),
        str(drops),
    )
    if len(port["queues"]) == 1:
        return
    for queue in port["queues"]:
        threshold = queue["threshold_bytes"]
        found.add_row(
            "",
            str(queue["queue"]),
            str(queue["bytes"]),
            "" if threshold is None else f"{threshold:.0f}",
            f"{queue['mean_bytes']:.0f}",
            str(queue["max_bytes"]),
        )


def watch(path: Path) -> None:
    """Shows the table until Ctrl-C or the switch's end, with the rates of the last second or
    so."""
    recent = deque([control.stats(path)], maxlen=round(WINDOW_S / REFRESH_S))
    console = Console()
    with Live(table(recent[0]), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(REFRESH_S)
            try:
                stats = control.stats(path)
            except Mistake:
                return
            shown = table(stats, recent[0])
            if plain():
                console.print(shown)
            live.update(shown, refresh=True)
            recent.append(stats)


def print_labs(found: Sequence[dict[str, Any]]) -> None:
    """A lab a table: what was simulated beside what was measured."""
    console = Console()
    for lab in found:
        console.print(_beside(lab))
        for note in lab["notes"]:
            console.print(f"note: {note}")


def _beside(lab: dict[str, Any]) -> Table:
    settings = " ".join(f"{key}={value}" for key, value in lab["settings"].items())
    title = f"{lab['title'] or lab['scheme']} {settings}".strip()
    table = Table(
        title=f"{title}; {lab['hosts']} hosts at {lab['rate']}, {lab['congestion_control']}",
        title_justify="left",
    )
    table.add_column("")
    for name in ("simulated", "live"):
        table.add_column(name, justify="right")
    for name, simulated, live, form in _figures(lab["simulated"], lab["live"]):
        if simulated is not None or live is not None:
            table.add_row(name, *("" if v is None else format(v, form) for v in (simulated, live)))
    return table


Figure = tuple[str, float | None, float | None, str]


def _figures(a: dict[str, Any], b: dict[str, Any]) -> Iterator[Figure]:
    """Name, what was simulated, what was measured, and how to print both."""
    for name in a["goodput_mbps"]:
        of = "goodput_mbps"
        yield f"goodput of class {name}, Mbps", a[of].get(name), b[of].get(name), ".2f"
    for name, of in a.get("by_transport", {}).items():
        other = b["by_transport"].get(name, {})
        yield f"goodput of {name}, Mbps", of["goodput_mbps"], other.get("goodput_mbps"), ".2f"
    for size in ("all", "small", "medium", "large"):
        for name in ("mean", "p99"):
            key = f"{name}_us"
            yield f"{name} FCT, {size}, us", a["fct"][size][key], b["fct"][size][key], ",.0f"
    for name in ("mean", "p99"):
        yield f"{name} RTT, us", a["rtt"][f"{name}_us"], b["rtt"][f"{name}_us"], ",.0f"
    if a["bottleneck"] and b["bottleneck"]:
        for name in ("mean", "p99", "max"):
            key = f"{name}_bytes"
            yield f"{name} queue, bytes", a["bottleneck"][key], b["bottleneck"][key], ",.0f"
    for name in ("marks", "drops", "timeouts", "retransmissions"):
        yield name, a.get(name), b.get(name), ",.0f"
    yield "highest rate over 100 ms, Mbps", a.get("peak_mbps"), b.get("peak_mbps"), ".2f"
