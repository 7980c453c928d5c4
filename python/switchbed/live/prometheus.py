"""Statistics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.0."""

from collections.abc import Iterator
from typing import Any

COUNTERS = (
    *("_packets", "_frames", "_errors", "_drops", "_offloads"),
    *("overruns", "received_bytes", "sent_bytes"),
)
QUEUE_COUNTERS = ("storms", "storm_drops")
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
HELP = {
    "switchbed_time_seconds": "Time since the switch began.",
    "switchbed_frames": "Frames in the switch, those on links included.",
    "switchbed_flooded_total": "Frames that went to all ports.",
    "switchbed_notified_total": "Congestion messages sent to sources (802.1Qau).",
    "switchbed_refused_total": "Frames that reached no port, by reason.",
    "switchbed_drops_total": "Packets that a port dropped, by reason.",
    "switchbed_received_packets_total": "Frames that entered the switch by the port.",
    "switchbed_received_bytes_total": "Bytes that entered the switch by the port.",
    "switchbed_sent_packets_total": "Frames that the port sent.",
    "switchbed_sent_bytes_total": "Bytes that the port sent.",
    "switchbed_marked_packets_total": "Packets that left the port with CE by its scheme.",
    "switchbed_overruns_total": "Frames lost before the switch read them.",
    "switchbed_received_frames_total": "Frames that the interface handed over, of any packets.",
    "switchbed_sent_frames_total": "Frames that the interface took, of any packets.",
    "switchbed_bad_offloads_total": "Frames dropped as their offload header contradicts them.",
    "switchbed_tx_pfc_frames_total": "Frames of priority-based flow control that the port sent.",
    "switchbed_rx_pfc_frames_total": "Frames of priority-based flow control that came in.",
    "switchbed_bad_pfc_frames_total": "Such frames that were cut short.",
    "switchbed_port_rate_bps": "Rate at which the port sends.",
    "switchbed_port_gone": "1 if the port's interface no longer exists.",
    "switchbed_queue_bytes": "Bytes in the queue.",
    "switchbed_queue_packets": "Packets in the queue.",
    "switchbed_queue_threshold_bytes": "Marking threshold of the queue.",
    "switchbed_queue_mean_bytes": "Mean length of the queue since it was last set.",
    "switchbed_queue_max_bytes": "Greatest length of the queue since it was last set.",
    "switchbed_queue_paused_s": "Time for which the peer paused the queue since it was last set.",
    "switchbed_queue_storms_total": "Storms of pauses that the watchdog has seen.",
    "switchbed_queue_storm_drops_total": "Packets that the watchdog dropped.",
    "switchbed_group_lost_packets_total": "Arrivals of a lossless class without room.",
    "switchbed_group_paused": "1 if the port's peer is to pause the class.",
}
"""Descriptions of the families that most dashboards show; docs/live.md has every field."""


def text(stats: dict[str, Any], *, openmetrics: bool = False) -> str:
    """Every number of the statistics, with its port and queue as labels."""
    series: dict[str, list[str]] = {}
    for name, labels, value in _numbers(stats):
        inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        series.setdefault(name, []).append(
            f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"
        )
    lines: list[str] = []
    for name, samples in series.items():
        counter = name.endswith("_total")
        # OpenMetrics names a family of counters without the ending of its samples.
        family = name.removesuffix("_total") if openmetrics else name
        lines += [f"# HELP {family} {HELP[name]}"] if name in HELP else []
        # Samples of one name stand together: the format wants its TYPE once.
        lines += [f"# TYPE {family} {'counter' if counter else 'gauge'}", *samples]
    return "\n".join([*lines, *(["# EOF"] if openmetrics else [])]) + "\n"


def _escaped(label: str) -> str:
    """Names of interfaces may hold quotes and backslashes."""
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


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
                if name in QUEUE_COUNTERS:
                    yield f"switchbed_queue_{name}_total", where, value
                elif name != "queue" and value is not None:
                    yield f"switchbed_queue_{name}", where, value
        for group in port.get("groups", ()):
            where = labels | {"class": str(group["class"])}
            for name, value in group.items():
                if name.endswith("_packets"):
                    yield f"switchbed_group_{name}_total", where, value
                elif name != "class":
                    yield f"switchbed_group_{name}", where, int(value)
