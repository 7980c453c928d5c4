"""Who stands beside the simulator, under which profile, and what is kept of their runs."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from evidence.hosts import kernel, ns2, ns3, packets, simulated
from evidence.hosts.differences import Difference
from evidence.hosts.patterns import PATTERNS, Pattern, named

Kept = dict[str, Any]
WIDE = "1000pkt"
NS2 = {"kind": "reno", "mss": "1460B", "receive_window": WIDE, "initial_ssthresh": WIDE}
"""Its own window of 20 packets would hide what happens to larger ones."""
NS3 = {"mss": "1448B", "receive_window": "90pkt"}
"""Full packets, with the two bytes of PPP; its buffers hold so many."""
NO_GRO = {"merge_packets": 1}
"""A TAP has none."""


@dataclass(frozen=True)
class Peer:
    """One of them."""

    title: str
    profile: str
    run: Callable[..., packets.Trace]
    """A pattern, with settings of its own."""
    version: Callable[[], str]
    takes: Callable[[Pattern], bool]
    """Whether it can do what a pattern says."""
    repeats: int = 1
    """The kernel's clock is real."""
    host: Kept = field(default_factory=dict)
    transport: Kept = field(default_factory=dict)
    """What is set alike on both sides, other than by default."""

    @property
    def patterns(self) -> list[Pattern]:
        """What it can do."""
        return [each for each in PATTERNS if self.takes(each)]

    def ours(
        self,
        pattern: Pattern,
        host: Mapping[str, Any] | None = None,
        transport: Mapping[str, Any] | None = None,
    ) -> packets.Trace:
        """The pattern in the simulator under the profile, and with other keys."""
        return simulated.run(
            pattern,
            {"profile": self.profile} | dict(self.host) | dict(host or {}),
            dict(self.transport) | dict(transport or {}),
        )

    def measured(self, before: Kept, only: Collection[str]) -> Kept:
        """Its patterns of these names anew, or all of them; the others are as before."""
        found = before.get("theirs", {})
        for pattern in self.patterns:
            if only and pattern.name not in only:
                continue
            runs = sorted((self.run(pattern) for _ in range(self.repeats)), key=_fct)
            found[pattern.name] = kept(runs)
            print(f"{self.title}: {pattern.name}: {runs[len(runs) // 2].fct_ms:.1f} ms", flush=True)
        order = [pattern.name for pattern in self.patterns if pattern.name in found]
        return before | {
            "version": self.version(),
            "theirs": {name: found[name] for name in order},
        }

    def simulated(self) -> Kept:
        """All its patterns by ours."""
        return {pattern.name: kept([self.ours(pattern)]) for pattern in self.patterns}


def _fct(found: packets.Trace) -> float:
    return found.fct_ms


def kept(runs: list[packets.Trace]) -> Kept:
    """The completion times of runs in their order, and of the middle one the rest."""
    middle = runs[len(runs) // 2]
    found: Kept = {
        "fct_ms": [round(run.fct_ms, 2) for run in runs],
        "sent_again": middle.retransmissions,
        "timeouts": middle.timeouts,
        "acks": middle.acks,
        "outstanding": packets.sampled(middle.outstanding, middle.fct_ms),
    }
    if middle.window:
        found["window"] = packets.sampled(middle.window, middle.fct_ms)
    return found


PEERS = {
    "kernel": Peer(
        title="Linux",
        profile="linux-6.x",
        run=kernel.run,
        version=kernel.version,
        takes=lambda _: True,
        repeats=3,
        host=NO_GRO,
    ),
    "ns-3": Peer(
        title="ns-3",
        profile="ns-3",
        run=ns3.run,
        version=lambda: ns3.chosen().version,
        takes=lambda pattern: not (pattern.mark or pattern.offload or pattern.answer),
        host={"mtu": "1502B", "nic_buffer": WIDE},
        transport=NS3,
    ),
    "ns-2-sack": Peer(
        title="ns-2, Sack1",
        profile="ns-2-sack",
        run=partial(ns2.run, "sack1"),
        version=lambda: ns2.VERSION,
        takes=ns2.takes,
        transport=NS2,
    ),
    "ns-2-fulltcp": Peer(
        title="ns-2, FullTcp/Sack",
        profile="ns-2-fulltcp",
        run=partial(ns2.run, "fulltcp"),
        version=lambda: ns2.VERSION,
        takes=ns2.takes,
        transport=NS2,
    ),
}


def tried(peer: Peer, each: Difference, before: Kept | None, *, anew: bool) -> Kept:
    """The experiment of a difference: ours anew, and the peer's where it is asked to run or has not
    run yet. What is not set otherwise is as it was."""
    found = {}
    for name in each.patterns:
        pattern = named(name)
        pattern = replace(pattern, buffer=each.buffer or pattern.buffer)
        if anew or before is None or name not in before:
            runs = sorted((peer.run(pattern, *each.theirs) for _ in range(peer.repeats)), key=_fct)
            theirs = _times(runs)
        else:
            theirs = before[name]["theirs"]
        ours = peer.ours(pattern, each.host, each.transport)
        found[name] = {"theirs": theirs, "ours": _times([ours])}
    return found


def _times(runs: list[packets.Trace]) -> Kept:
    return {"fct_ms": [round(run.fct_ms, 2) for run in runs]}
