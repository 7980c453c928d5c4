"""docs/hosts-evidence.md from results.json, and what counts as agreement."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from evidence.hosts import differences, stars
from evidence.hosts.patterns import named
from evidence.kept import Kept
from evidence.site import picture

TOLERANCE = 0.05
PEERS = ("kernel", "ns-3", "ns-2-sack", "ns-2-fulltcp")

Found = dict[str, Any]

TEXT = """\
# Hosts beside the kernel, ns-3 and ns-2

One flow from one host to another, and each time the same of its packets are lost, marked or held
up: by a kernel's TCP, by ns-3's and by ns-2's, and here under the [profile](hosts.md) of each.
Completion times (from the SYN to the arrival of the last byte) agree if they are within
{tolerance:.0%}; where they are not, an experiment says why.

**Repeat it** with `make setup-peers` (as root, once) and, as root,
`.venv/bin/python -m evidence.hosts kernel ns-3 ns-2-sack ns-2-fulltcp`, some minutes.
`make validate` runs ours anew beside what is there, and ends with an error where a figure is off
and nothing explains it.

Two hosts and a switch, 20 ms there and back. The bottleneck is the switch's port, 50 Mbps, with
room for 1000 packets but where the pattern says otherwise. Lost and marked packets are data,
counted as the sender sends them, or ACKs where the pattern says so.

{sections}
"""

STARS = f"""\
Senders that never stop, with SACK and ns-3's defaults, into one plain queue of
{stars.BUFFER_PACKETS} packets at {stars.RATE}, 20 ms there and back, from {stars.WARMUP} to
{stars.END}; within {stars.TOLERANCE:.0%}, means of starts {", ".join(stars.STAGGERS)} apart:
"""

TITLES = {
    "kernel": "The kernel",
    "ns-3": "ns-3",
    "ns-2-sack": "ns-2: Sack1",
    "ns-2-fulltcp": "ns-2: FullTcp with SACK",
}
INTRODUCTIONS = {
    "kernel": """\
Linux {version} under profile `linux-6.x`, with CUBIC, or with Reno where the pattern's name says
so. Two network namespaces, and between them the live switch ([live.md](live.md)) with the delay
and the pattern's faults; what passes is captured at the switch, and the congestion window is what
the trace point `tcp_probe` tells. All is as the kernel has it by default, but that it keeps
nothing from earlier connections. Offload is off, or on where the name says so. Three runs each:
the median, and the least and the greatest.

![What is under way, and the window, by the kernel and simulated](hosts-evidence.png)
""",
    "ns-3": """\
ns-3 {version} with its own defaults under profile `ns-3`: `evidence/peers/ns3/flow.cc`, where a
`ReceiveListErrorModel` loses the packets.
""",
    "ns-2-sack": """\
ns-2 {version}, `Agent/TCP/Sack1` and `Agent/TCPSink/Sack1`, under profile `ns-2-sack`:
`evidence/peers/ns2/flow.tcl`. On both sides the window is 1000 packets in place of 20.
""",
    "ns-2-fulltcp": """\
`Agent/TCP/FullTcp/Sack` at both ends under profile `ns-2-fulltcp`. On both sides the window is 1000
packets in place of 20, and a segment 1460 bytes in place of 536.
""",
}


def results(peer: str) -> Kept:
    """Where a peer's are kept."""
    return Kept(Path(__file__).parent, peer)


def read() -> dict[str, Found]:
    """What there is, by peer."""
    found = {peer: results(peer).read() for peer in PEERS}
    return {peer: of for peer, of in found.items() if of}


def render(found: dict[str, Found]) -> str:
    """The page."""
    sections = "\n".join(_section(peer, of) for peer, of in found.items())
    return TEXT.format(tolerance=TOLERANCE, sections=sections.rstrip())


def _section(peer: str, found: Found) -> str:
    introduction = INTRODUCTIONS[peer].format(version=found["version"])
    body = f"## {TITLES[peer]}\n\n{introduction}\n{_table(peer, found)}\n"
    if "stars" in found:
        body += f"\n{STARS}\n{_stars(found)}\n"
    said = [each for each in differences.DIFFERENCES if each.peer == peer]
    for i, each in enumerate(said, 1):
        body += f"\n{i}. {each.why}\n\n{_experiment(each, found)}\n"
    return body


def _table(peer: str, found: Found) -> str:
    said = [each for each in differences.DIFFERENCES if each.peer == peer]
    rows = [
        "| pattern | the flow | FCT, ms | ours | off | sent again, ours | timeouts, ours |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, theirs in found["theirs"].items():
        ours, pattern = found["ours"][name], named(name)
        why = differences.explains(peer, name)
        mark = f" ({said.index(why) + 1})" if why else ""
        rows.append(
            f"| {name} | {pattern.segments} packets: {pattern.title} "
            f"| {_times(theirs)} | {_times(ours)} "
            f"| {_off(theirs, ours):+.1%}{mark} | {theirs['sent_again']}, {ours['sent_again']} "
            f"| {theirs['timeouts']}, {ours['timeouts']} |"
        )
    return "\n".join(rows)


def _stars(found: Found) -> str:
    names = " | ".join(stars.FIGURES.values())
    rows = [f"| senders | {names} |", "| --- " * (len(stars.FIGURES) + 1) + "|"]
    for name, theirs in found["stars"].items():
        ours = found["our_stars"][name]
        cells = [f"{theirs[key]:.3g}, ours {ours[key]:.3g}" for key in stars.FIGURES]
        control, _, senders = name.partition("-")
        rows.append(f"| {senders} {control.upper()} | {' | '.join(cells)} |")
    each = found["star_experiment"]
    theirs, ours = (each[side]["queue_mean_pkt"] for side in ("theirs", "ours"))
    rows.append(
        f"\nThe mean queue of {stars.EXPERIMENT} depends on ns-3's proportional rate reduction, as "
        "a loss in the first window does below. Where windows come down at once on both sides it "
        f"is {theirs:.3g} packets, ours {ours:.3g}."
    )
    return "\n".join(rows)


def _experiment(each: differences.Difference, found: Found) -> str:
    rows = ["   | pattern | FCT, ms | ours | off |", "   | --- | --- | --- | --- |"]
    for name, tried in found["experiments"][each.name].items():
        rows.append(
            f"   | {name} | {_times(tried['theirs'])} | {_times(tried['ours'])} "
            f"| {_off(tried['theirs'], tried['ours']):+.1%} |"
        )
    return "\n".join(rows)


def _times(found: Found) -> str:
    times = found["fct_ms"]
    if len(times) == 1:
        return f"{times[0]:.1f}"
    return f"{median(times):.1f} ({times[0]:.1f} to {times[-1]:.1f})"


def _off(theirs: Found, ours: Found) -> float:
    """How much longer ours takes."""
    return float(median(ours["fct_ms"]) / median(theirs["fct_ms"]) - 1)


def disagreements(found: dict[str, Found]) -> list[str]:
    """Figures that are off, and that no experiment explains."""
    return [line for peer, of in found.items() for line in _off_in(peer, of)]


def _off_in(peer: str, found: Found) -> Iterator[str]:
    for name, star in found.get("stars", {}).items():
        for key, figure in stars.FIGURES.items():
            theirs, ours = star[key], found["our_stars"][name][key]
            tried = found.get("star_experiment")
            if tried and name == stars.EXPERIMENT and key in tried["theirs"]:
                theirs, ours = (tried[side][key] for side in ("theirs", "ours"))
            if abs(ours / theirs - 1) > stars.TOLERANCE:
                yield f"{TITLES[peer]}: {name}: {figure}: {theirs:.3g}, ours {ours:.3g}"
    for name, theirs in found["theirs"].items():
        why = differences.explains(peer, name)
        if why is not None:
            tried = found["experiments"][why.name][name]
            off = _off(tried["theirs"], tried["ours"])
            if abs(off) > TOLERANCE:
                yield f"{TITLES[peer]}: {name}: {off:+.1%} even where {why.name} is undone"
        elif abs(off := _off(theirs, found["ours"][name])) > TOLERANCE:
            yield f"{TITLES[peer]}: {name}: ours takes {off:+.1%}"


def write(site: Path) -> None:
    """Writes the page."""
    (site / "hosts-evidence.md").write_text(render(read()), encoding="utf-8")


def draw(site: Path) -> None:
    """Draws the page's picture."""
    found = read()["kernel"]
    picture(site / "hosts-evidence.png", partial(panels, found), json.dumps(found))


SHOWN = (
    "slow-start",
    "one",
    "several",
    "tail",
    "again",
    "acks",
    "mark-reno",
    "overflow",
    "own-queue",
)
COLUMNS = 3
KERNEL, WINDOW, OURS = "#1f5fa8", "#9cc3e6", "#d1495b"


def panels(found: dict[str, Any], file: Path) -> None:
    """A pattern a panel."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(SHOWN) // COLUMNS)
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(12, 3 * rows), squeeze=False)
    for axes, name in zip(grid.flat, SHOWN, strict=False):
        theirs, ours = found["theirs"][name], found["ours"][name]
        for series, colour, width, label in (
            (theirs.get("window", []), WINDOW, 1.2, "the kernel's window"),
            (theirs["outstanding"], KERNEL, 1.8, "under way, kernel"),
            (ours["outstanding"], OURS, 1.2, "under way, simulated"),
        ):
            axes.step(range(len(series)), series, where="post", color=colour, lw=width, label=label)
        times = [theirs["fct_ms"][len(theirs["fct_ms"]) // 2], ours["fct_ms"][0]]
        axes.set_title(f"{name}: {times[0]:.0f} and {times[1]:.0f} ms", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.grid(visible=True, lw=0.3)
    for axes in grid[-1]:
        axes.set_xlabel("ms since the SYN")
    for row in grid:
        row[0].set_ylabel("packets")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
