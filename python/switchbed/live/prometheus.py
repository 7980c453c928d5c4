"""Statistics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.0."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

COUNTERS = (
    *("_packets", "_frames", "_errors", "_drops", "_offloads"),
    *("overruns", "received_bytes", "sent_bytes"),
)
QUEUE_COUNTERS = (
    *("storms", "storm_drops", "sent_packets", "sent_bytes"),
    *("marked_packets", "dropped_packets"),
)
NO_GAUGES = ("queue", "waits", "waited_s", "lengths", "left_bytes")
Number = tuple[str, dict[str, str], float]
"""Name, labels and value of a sample."""
WAIT = "switchbed_queue_wait_seconds"
LENGTH = "switchbed_queue_length_bytes"
HISTOGRAMS = (WAIT, LENGTH)
UNITS = {"_s": ("_seconds", 1), "_ns": ("_seconds", 10**9)}
"""Endings of fields, what families have in their place, and how many of the one make the other."""
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
    "switchbed_unmarkable_packets_total": "Packets to be marked that were not ECN-capable.",
    "switchbed_trim_packets_total": "Packets that the port trimmed.",
    "switchbed_tx_trim_packets_total": "Trimmed packets that the port sent.",
    "switchbed_dropped_trim_packets_total": "Trimmed packets that the port dropped.",
    "switchbed_host_drops_total": "Frames lost by a card (host_rate, reaction) or by a fault.",
    "switchbed_device_errors_total": "Errors of the port's device.",
    "switchbed_wakes_total": "Times that the switch slept until something was due.",
    "switchbed_wakes_p50_late_seconds": "Half of the wakes were no later than this.",
    "switchbed_wakes_p99_late_seconds": "99 % of the wakes were no later than this.",
    "switchbed_wakes_max_late_seconds": "Greatest lateness of a wake.",
    "switchbed_port_limiters": "Active rate limiters of the card before the port.",
    "switchbed_port_round_time_seconds": "Round time of the port's scheduler.",
    "switchbed_port_mean_bytes": "Mean length of the port's queues together.",
    "switchbed_port_max_bytes": "Greatest length of the port's queues together.",
    "switchbed_port_rate_bps": "Rate at which the port sends.",
    "switchbed_port_gone": "1 if the port's interface no longer exists.",
    "switchbed_queue_bytes": "Bytes in the queue.",
    "switchbed_queue_packets": "Packets in the queue.",
    "switchbed_queue_threshold_bytes": "Marking threshold of the queue.",
    "switchbed_queue_mean_bytes": "Mean length of the queue since it was last set.",
    "switchbed_queue_max_bytes": "Greatest length of the queue since it was last set.",
    "switchbed_queue_sent_packets_total": "Packets that the queue sent.",
    "switchbed_queue_sent_bytes_total": "Bytes that the queue sent.",
    "switchbed_queue_marked_packets_total": "Packets of the queue that left with CE by its scheme.",
    "switchbed_queue_dropped_packets_total": "Packets of the queue that were dropped.",
    "switchbed_queue_drops_total": "Packets of the queue that were dropped, by reason.",
    "switchbed_dscp_sent_packets_total": "Packets with this DSCP that the port sent.",
    "switchbed_dscp_sent_bytes_total": "Bytes of such packets.",
    "switchbed_dscp_marked_packets_total": "Such packets that left with CE by the port's scheme.",
    "switchbed_dscp_dropped_packets_total": "Packets with this DSCP that were dropped.",
    "switchbed_dscp_drops_total": "Packets with this DSCP that were dropped, by reason.",
    LENGTH: "Bytes that packets sent left behind them in the queue.",
    WAIT: "Waits of packets sent, from arrival to the start of transmission.",
    "switchbed_queue_paused_seconds": "Time that the peer paused the queue for.",
    "switchbed_queue_storms_total": "Storms of pauses that the watchdog has seen.",
    "switchbed_queue_storm_drops_total": "Packets that the watchdog dropped.",
    "switchbed_group_lost_packets_total": "Arrivals of a lossless class without room.",
    "switchbed_group_dropped_packets_total": "Packets of the class dropped by scheme or watchdog.",
    "switchbed_group_max_shared_bytes": "Most that the class held outside its headroom.",
    "switchbed_group_max_headroom_bytes": "Most that the class held in its headroom.",
    "switchbed_group_paused": "1 if the port's peer is to pause the class.",
}
"""Descriptions of families; docs/live.md has the fields that they are made of."""


def text(stats: dict[str, Any], *, openmetrics: bool = False) -> str:
    """Every number of the statistics, with its port and queue as labels."""
    families: dict[str, list[str]] = {}
    for name, labels, value in _numbers(stats):
        inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        sample = f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"
        family = next((each for each in HISTOGRAMS if name.startswith(each)), name)
        families.setdefault(family, []).append(sample)
    lines: list[str] = []
    for name, samples in families.items():
        kind = (
            "counter" if name.endswith("_total") else "histogram" if name in HISTOGRAMS else "gauge"
        )
        # OpenMetrics names a family of counters without the ending of its samples.
        family = name.removesuffix("_total") if openmetrics else name
        lines += [f"# HELP {family} {HELP[name]}"] if name in HELP else []
        # Samples of one name stand together: the format wants its TYPE once.
        lines += [f"# TYPE {family} {kind}", *samples]
    return "\n".join([*lines, *(["# EOF"] if openmetrics else [])]) + "\n"


def _escaped(label: str) -> str:
    """Names of interfaces may hold quotes and backslashes."""
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _numbers(stats: dict[str, Any]) -> Iterator[Number]:
    yield "switchbed_time_seconds", {}, stats["time_s"]
    yield "switchbed_frames", {}, stats["frames"]
    yield "switchbed_flooded_total", {}, stats["flooded"]
    yield "switchbed_notified_total", {}, stats["notified"]
    for why, count in stats["refused"].items():
        yield "switchbed_refused_total", {"reason": why}, count
    for name, value in stats["wakes"].items():
        counts = name == "count"
        yield ("switchbed_wakes_total", {}, value) if counts else _gauge("wakes", name, value, {})
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
                yield _gauge("port", name, value, labels)
        for queue in port["queues"]:
            where = labels | {"queue": str(queue["queue"])}
            for name, value in queue.items():
                if name in QUEUE_COUNTERS or name.startswith("drops_"):
                    yield _counter("queue", name, value, where)
                elif name not in NO_GAUGES and value is not None:
                    yield _gauge("queue", name, value, where)
            if "waits" in queue:
                yield from _histogram(WAIT, queue["waits"], 1e-6, queue["waited_s"], where)
            if "lengths" in queue:
                yield from _histogram(LENGTH, queue["lengths"], 1024, queue["left_bytes"], where)
        for dscp in port.get("dscps", ()):
            where = labels | {"dscp": str(dscp["dscp"])}
            for name, value in dscp.items():
                if name != "dscp":
                    yield _counter("dscp", name, value, where)
        for group in port.get("groups", ()):
            where = labels | {"class": str(group["class"])}
            for name, value in group.items():
                if name.endswith("_packets"):
                    yield f"switchbed_group_{name}_total", where, value
                elif name != "class":
                    yield _gauge("group", name, int(value), where)


def _gauge(of: str, field: str, value: float, labels: dict[str, str]) -> Number:
    for ending, (unit, parts) in UNITS.items():
        if field.endswith(ending):
            return f"switchbed_{of}_{field.removesuffix(ending)}{unit}", labels, value / parts
    return f"switchbed_{of}_{field}", labels, value


def _counter(of: str, field: str, value: float, labels: dict[str, str]) -> Number:
    if field.startswith("drops_"):
        reason = field.removeprefix("drops_")
        return f"switchbed_{of}_drops_total", labels | {"reason": reason}, value
    return f"switchbed_{of}_{field}_total", labels, value


def _histogram(
    name: str, counts: list[int], unit: float, total: float, labels: dict[str, str]
) -> Iterator[Number]:
    """Bounds are one unit, two and so on in powers of two; the last count is of what is over."""
    *within, _ = counts
    for i, count in enumerate(accumulate(within)):
        bound = f"{2**i * unit:.9g}" if unit < 1 else str(2**i * unit)
        yield f"{name}_bucket", labels | {"le": bound}, count
    yield f"{name}_bucket", labels | {"le": "+Inf"}, sum(counts)
    yield f"{name}_sum", labels, total
    yield f"{name}_count", labels, sum(counts)
