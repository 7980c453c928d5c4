"""Senders that never stop, into one plain queue: by ns-3 with its own defaults, and by ours."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import peers
from hosts import ns3
from switchbed import toml

STARS = (("cubic", 2), ("cubic", 8), ("reno", 2), ("reno", 8))
"""Control, senders."""
TOLERANCE = 0.10
RATE, DELAY, STAGGER = "100Mbps", "5ms", "10ms"
BUFFER_PACKETS, PACKET_BYTES = 200, 1500
WARMUP, END = "10s", "40s"
SEEDS = (1, 2, 3, 4, 5)
FIGURES = {
    "goodput_mbps": "goodput, Mbps",
    "jain": "Jain's index",
    "queue_mean_pkt": "mean queue, packets",
}

Figures = dict[str, float]


def name(control: str, senders: int) -> str:
    """What results call it."""
    return f"{control}-{senders}"


def measured() -> dict[str, Figures]:
    """By ns-3."""
    return {name(*star): _theirs(*star) for star in STARS}


def simulated(host: Mapping[str, Any], transport: Mapping[str, Any]) -> dict[str, Figures]:
    """By ours: the mean over seeds, which draw the order of packets that arrive at one instant."""
    return {name(*star): _ours(*star, host, transport) for star in STARS}


def _theirs(control: str, senders: int) -> Figures:
    found = peers.run(
        ns3.chosen().build("star"),
        f"--own={control}",
        f"--senders={senders}",
        f"--rate={RATE}",
        f"--delay={DELAY}",
        f"--stagger={STAGGER}",
        f"--buffer={BUFFER_PACKETS * PACKET_BYTES}",
        f"--warmup={WARMUP}",
        f"--end={END}",
        "--sampling=1ms",
    )
    print(f"ns-3: {senders} {control} senders", flush=True)
    return {
        "goodput_mbps": 1e3 * found["goodput_gbps"],
        "jain": found["jain"],
        "queue_mean_pkt": found["queue_mean_pkt"],
    }


def _ours(
    control: str, senders: int, host: Mapping[str, Any], transport: Mapping[str, Any]
) -> Figures:
    scenario = {
        "topology": {"kind": "star", "hosts": senders + 1, "rate": RATE, "delay": DELAY},
        "switch": {"buffer": f"{BUFFER_PACKETS}pkt"},
        "scheme": {"name": "none"},
        "host": dict(host),
        "transport": {"kind": control, **transport},
        "traffic": [
            {
                "kind": "long-lived",
                "from": f"0-{senders - 1}",
                "to": senders,
                "stagger": STAGGER,
            }
        ],
        "measure": {"warmup": WARMUP, "queues": [f"switch:{senders}"]},
        "run": {"until": END},
    }
    with TemporaryDirectory() as folder:
        file = Path(folder, "star.toml")
        file.write_text(toml.document(scenario))
        runs = [peers.ours(file, seed=seed).summary for seed in SEEDS]
    return {
        "goodput_mbps": mean(run["goodput_bps"] / 1e6 for run in runs),
        "jain": mean(run["endless"]["jain"] for run in runs),
        "queue_mean_pkt": mean(run["bottleneck"]["mean_bytes"] / PACKET_BYTES for run in runs),
    }
