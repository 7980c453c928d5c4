"""A switch's ports and queues as a table for the terminal."""

from typing import Any

from rich.table import Table


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
