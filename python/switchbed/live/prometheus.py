"""Statistics in Prometheus' text format, version 0.0.4."""

from collections.abc import Iterator
from typing import Any

COUNTERS = ("_packets", "_errors", "_drops", "overruns", "received_bytes", "sent_bytes")


def text(stats: dict[str, Any]) -> str:
    """Every number of the statistics, with its port and queue as labels."""
    series: dict[str, list[str]] = {}
    for name, labels, value in _numbers(stats):
        inside = ",".join(f'{key}="{label}"' for key, label in labels.items())
        series.setdefault(name, []).append(
            f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"
        )
    lines: list[str] = []
    for name, samples in series.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        # Samples of one name stand together: the format wants its TYPE once.
        lines += [f"# TYPE {name} {kind}", *samples]
    return "\n".join(lines) + "\n"


def _numbers(stats: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], float]]:
    yield "switchbed_time_seconds", {}, stats["time_s"]
    yield "switchbed_frames", {}, stats["frames"]
    yield "switchbed_flooded_total", {}, stats["flooded"]
    yield "switchbed_notified_total", {}, stats["notified"]
    for why, count in stats["refused"].items():
        yield "switchbed_refused_total", {"reason": why}, count
    for name, value in stats["wakes"].items():
        yield f"switchbed_wakes_{name}", {}, value
    for port in stats["ports"]:
        labels = {"port": port["port"]}
        for name, value in port.items():
            # Before numbers: `True` is an `int`, too.
            if isinstance(value, bool):
                yield f"switchbed_port_{name}", labels, int(value)
            elif name.startswith("drops_"):
                reason = name.removeprefix("drops_")
                yield "switchbed_drops_total", labels | {"reason": reason}, value
            elif name.endswith(COUNTERS):
                yield f"switchbed_{name}_total", labels, value
            elif isinstance(value, int | float):
                yield f"switchbed_port_{name}", labels, value
        for queue in port["queues"]:
            where = labels | {"queue": str(queue["queue"])}
            for name, value in queue.items():
                if name != "queue" and value is not None:
                    yield f"switchbed_queue_{name}", where, value
