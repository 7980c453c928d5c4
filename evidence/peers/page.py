"""docs/validation.md from results.json, and what counts as agreement."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from evidence.kept import Kept

HERE = Path(__file__).parent
RESULTS = Kept(HERE, "ns3")
TOLERANCE = 0.10

Found = dict[str, Any]

TCP = {"dctcp": "DCTCP", "ecn-star": "ECN*"}
STAR_FIGURES = {
    "queue_mean_pkt": ("mean queue, packets", ".1f"),
    "queue_p99_pkt": ("99th percentile", ".0f"),
    "goodput_gbps": ("goodput, Gbps", ".3f"),
    "jain": ("Jain's index", ".4f"),
}
FCT_FIGURES = {"mean_us": "mean", "p99_us": "99th percentile"}

TEXT = """\
# Validation against ns-3

ns-3 is an independent simulator: the same scenarios run in both, and what comes out is
compared. A figure agrees if ns-3's lies within {tolerance:.0%} of ours.

**Repeat it** with `make setup-peers` (as root, once: installs Debian's `libns3-dev` and what it
needs) and `.venv/bin/python -m evidence.peers.ns3_scenarios`, which compiles the scenarios, runs
both simulators and keeps what they find for this page; it takes 5 to 15 minutes on four cores and
ends with an error if a figure disagrees. `--ours` runs ours alone, beside the figures of ns-3 that
are there.

The figures below: ns-3 {ns3} (Debian's package), Switchbed {switchbed}; {machine}.

## Senders that never stop, into one link

`evidence/peers/star.toml` and `evidence/peers/ns3/star.cc`: N senders and one receiver at one
switch, 10 Gbps, 100 µs without load, step marking at K (DCTCP: 65 packets, ECN*: 84). Queue and
goodput of the receiver's port from 50 to 250 ms; the packet on the wire is not part of the queue.
Each cell is ours / ns-3's, and how much ns-3's is above ours.

{stars}

**How a mark cuts the window** is the modelling choice that matters here. RFC 3168 and RFC 8257
cut at once, and so do we. ns-3 treats a mark as it treats a loss and, unless told otherwise,
brings the window down over a round trip by proportional rate reduction (`TcpPrrRecovery`, RFC
6937). The packet that carries CWR then leaves while the queue is still long; where it is marked
itself, the window is cut a second time. With eight ECN* senders ns-3 cuts {cuts_prr} times this way
and {cuts_classic} times at once, so the queue runs empty and 1 % of the goodput is lost. With
`TcpClassicRecovery`, which cuts at once (`--recovery` switches), the difference is gone. The rows
that say "at once" are those that must agree.

## A leaf-spine fabric, one list of flows

`evidence/peers/leaf-spine.toml` and `evidence/peers/ns3/leaf_spine.cc`: MQ-ECN's fabric of figure 9
(144 hosts, 12 leaves, 12 spines, 10 Gbps) with one queue a port, DCTCP, K = 65 packets, 300 KB a
port. Both read the same list: {flows:,} web-search flows (`evidence/peers/flows.toml`), each with
the spine that its data crosses. A flow's time runs from its start to the arrival of its last byte,
the handshake included. In both, marks cut at once. Small flows have up to 100 KB, large ones over
10 MB.

Ours is the median of {seeds} runs that differ in the seed alone, and so in the spines of ACKs
and in the order of what happens at one instant; the last column is their range. A figure of
ns-3's, which is one run's, that is off by more than {tolerance:.0%} but inside that range is
noise of this list, not a disagreement.

{fabrics}

**The least window of DCTCP** is the modelling choice that matters here. ns-3's `TcpDctcp` has none:
when many flows meet, marks cut a window below one packet, nothing may be sent, no ACK comes that
could raise the window, and the flow sleeps until its retransmission timeout. We never cut below
one packet (Linux: two). `FlooredDctcp` in `common.h` gives ns-3 the same floor, and is what must
agree; `--floor=false` gives ns-3's own, in the last but one column. Without losses and with
few flows (`--card` and `--buffer`, ours likewise; the first 60 of the list) the mean times of all
classes are within 0.1 %. In this crowd the medium flows stay somewhat slower in ns-3; another draw
of the spines of its ACKs (`--seed`, 250 flows) moves them by 3 %, and the rest we have not traced.
The 99th percentile of small flows is the fifth longest time and turns on a timeout more or less:
it spans a factor of over two among our own seeds, and says little.

## What was set, and why

- ns-3's timestamps are off, so that a packet has 1500 bytes in both; PPP's two bytes a packet
  (0.13 %) are left to ns-3, and show in the goodput.
- A step is `RedQueueDisc` with equal thresholds, weight 1 and no gentle mode, counting bytes. It
  marks at its threshold and above, the arrival not counted, and does not see the packet that
  waits in the device's queue of one. Its threshold is therefore K − 1; ours is "over K, the
  arrival counted".
- With DCTCP, ns-3 sends SYNs and ACKs as ECN-capable; ours does so here (`ecn_acks`).
- Retransmission timeouts begin at and are at least 10 ms (star) and 5 ms (leaf-spine); every
  packet is acknowledged; initial window 16; socket buffers of 1 MB.
- ns-3's ECMP draws a spine for each packet; `leaf_spine.cc` routes flow by flow.
"""


def write(site: Path) -> None:
    """Writes the page."""
    found = RESULTS.read()
    (site / "validation.md").write_text(render(found), encoding="utf-8")


def render(found: Found) -> str:
    """The page's text."""
    first = found["leaf_spine"][0]
    (eight,) = (s["ns3"] for s in found["stars"] if (s["tcp"], s["senders"]) == ("ecn-star", 8))
    return TEXT.format(
        tolerance=TOLERANCE,
        ns3=found["ns3"],
        switchbed=found["switchbed"],
        machine=machine(found["machine"]),
        stars="\n".join(_star_table(found["stars"])),
        fabrics="\n\n".join("\n".join(_fabric_table(run)) for run in found["leaf_spine"]),
        cuts_prr=eight["prr"]["cuts"],
        cuts_classic=eight["classic"]["cuts"],
        flows=first["flows"],
        seeds=len(first["ours"]),
    )


def machine(found: Found) -> str:
    """The machine in a few words."""
    return f"{found['processor']}, {found['cores']} cores, {found['system']}, {found['compiler']}"


def tables(found: Found) -> str:
    """The tables alone, for the terminal."""
    parts = [_star_table(found["stars"]), *map(_fabric_table, found["leaf_spine"])]
    return "\n\n".join("\n".join(part) for part in parts)


def disagreements(found: Found) -> list[str]:
    """What is neither within the tolerance nor explained."""
    return [*_off_stars(found["stars"]), *_off_fabrics(found["leaf_spine"])]


def _off_stars(stars: Sequence[Found]) -> Iterator[str]:
    for star in stars:
        for figure, (name, form) in STAR_FIGURES.items():
            ours, theirs = star["ours"][figure], star["ns3"]["classic"][figure]
            if abs(_above(ours, theirs)) > TOLERANCE:
                yield f"{_star_name(star)}: {name}: {ours:{form}} against ns-3's {theirs:{form}}"


def _off_fabrics(runs: Sequence[Found]) -> Iterator[str]:
    for run in runs:
        for size, figure, values, theirs, _ in _fct_figures(run):
            if not agrees(values, theirs):
                what = f"leaf-spine at load {run['load']}: {size} flows: {FCT_FIGURES[figure]}"
                yield f"{what}: {median(values):.0f} against ns-3's {theirs:.0f} us"


def agrees(ours: Sequence[float], theirs: float) -> bool:
    """Whether a peer's figure is within the tolerance of our median, or among ours."""
    return abs(_above(median(ours), theirs)) <= TOLERANCE or min(ours) <= theirs <= max(ours)


def _fct_figures(run: Found) -> Iterator[tuple[str, str, list[float], float, float]]:
    """Size class, figure, ours with each seed, ns-3's with the floor and without."""
    for size, floored in run["ns3"]["floored"].items():
        for figure in FCT_FIGURES:
            values = [seed[size][figure] for seed in run["ours"]]
            yield size, figure, values, floored[figure], run["ns3"]["own"][size][figure]


def _star_name(star: Found) -> str:
    return f"{star['senders']} {TCP[star['tcp']]} senders"


def _star_table(stars: Sequence[Found]) -> Iterator[str]:
    heads = [name for name, _ in STAR_FIGURES.values()]
    yield f"| senders | ns-3 cuts | {' | '.join(heads)} |"
    yield "| --- | --- |" + " --- |" * len(heads)
    for star in stars:
        for recovery, words in (("classic", "at once"), ("prr", "over a round trip")):
            cells = [
                f"{star['ours'][figure]:{form}} / {star['ns3'][recovery][figure]:{form}} "
                f"({_above(star['ours'][figure], star['ns3'][recovery][figure]):+.1%})"
                for figure, (_, form) in STAR_FIGURES.items()
            ]
            yield f"| {_star_name(star)} | {words} | {' | '.join(cells)} |"


def _fabric_table(run: Found) -> Iterator[str]:
    heads = ("flows", "", "ours, µs", "ns-3, µs", "above ours", "ns-3 without floor", "our seeds")
    yield f"| load {run['load']} | {' | '.join(heads)} |"
    yield "| --- |" + " --- |" * len(heads)
    for size, figure, values, theirs, own in _fct_figures(run):
        ours = median(values)
        yield (
            f"| {size} | {run['ours'][0][size]['n']} | {FCT_FIGURES[figure]} | {ours:,.0f} "
            f"| {theirs:,.0f} | {_above(ours, theirs):+.1%} "
            f"| {own:,.0f} ({_above(ours, own):+.1%}) "
            f"| {min(values):,.0f} to {max(values):,.0f} |"
        )


def _above(ours: float, theirs: float) -> float:
    return theirs / ours - 1
