"""Senders that never stop, into one plain queue: by ns-3 with its own defaults, and by ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from evidence.hosts import ns3
from evidence.peers import simulators
from switchbed import toml

STARS = (("cubic", 2), ("cubic", 8), ("reno", 8))
"""Control, senders."""
TOLERANCE = 0.10
RATE, DELAY = "100Mbps", "5ms"
STAGGERS = ("6ms", "7ms", "9ms", "10ms", "12ms", "13ms")
"""From one sender's start to the next's: ns-3 draws nothing, and stars differ by so much."""
BUFFER_PACKETS, PACKET_BYTES = 200, 1500
WARMUP, END = "5s", "25s"
FIGURES = {
    "goodput_mbps": "goodput, Mbps",
    "jain": "Jain's index",
    "queue_mean_pkt": "mean queue, packets",
}

EXPERIMENT = "cubic-8"
"""The star whose mean queue is off, and is not where ns-3's recovery and ours cut at once."""
CLASSIC = "--ns3::TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery"
AT_ONCE = {"reduction": "at-once"}

Figures = dict[str, float]


def name(control: str, senders: int) -> str:
    """What results call it."""
    return f"{control}-{senders}"


def measured() -> dict[str, Figures]:
    """By ns-3: means over the staggers."""
    return {name(*star): _mean([_theirs(*star, stagger) for stagger in STAGGERS]) for star in STARS}


def simulated(host: Mapping[str, Any], transport: Mapping[str, Any]) -> dict[str, Figures]:
    """By ours."""
    return {
        name(*star): _mean([_ours(*star, stagger, host, transport) for stagger in STAGGERS])
        for star in STARS
    }


def experiment(
    host: Mapping[str, Any], transport: Mapping[str, Any], before: Figures | None
) -> dict[str, Figures]:
    """Figures where both cut the window at once; ns-3's are from before, if there are any."""
    control, _, senders = EXPERIMENT.partition("-")
    star = control, int(senders)
    theirs = before or _mean([_theirs(*star, each, CLASSIC) for each in STAGGERS])
    ours = [_ours(*star, each, host, {**transport, **AT_ONCE}) for each in STAGGERS]
    return {"theirs": theirs, "ours": _mean(ours)}


def _mean(found: Sequence[Figures]) -> Figures:
    return {key: mean(figures[key] for figures in found) for key in FIGURES}


def _theirs(control: str, senders: int, stagger: str, *settings: str) -> Figures:
    found = simulators.run(
        ns3.chosen().build("star"),
        f"--own={control}",
        f"--senders={senders}",
        f"--rate={RATE}",
        f"--delay={DELAY}",
        f"--stagger={stagger}",
        f"--buffer={BUFFER_PACKETS * PACKET_BYTES}",
        f"--warmup={WARMUP}",
        f"--end={END}",
        "--sampling=1ms",
        *settings,
    )
    print(f"ns-3: {senders} {control} senders, {stagger} apart", flush=True)
    return {
        "goodput_mbps": 1e3 * found["goodput_gbps"],
        "jain": found["jain"],
        "queue_mean_pkt": found["queue_mean_pkt"],
    }


def _ours(
    control: str,
    senders: int,
    stagger: str,
    host: Mapping[str, Any],
    transport: Mapping[str, Any],
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
                "stagger": stagger,
            }
        ],
        "measure": {"warmup": WARMUP, "queues": [f"switch:{senders}"]},
        "run": {"until": END},
    }
    with TemporaryDirectory() as folder:
        file = Path(folder, "star.toml")
        file.write_text(toml.document(scenario))
        summary = simulators.ours(file).summary
    return {
        "goodput_mbps": summary["goodput_bps"] / 1e6,
        "jain": summary["endless"]["jain"],
        "queue_mean_pkt": summary["bottleneck"]["mean_bytes"] / PACKET_BYTES,
    }
