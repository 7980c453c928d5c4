"""The committed results of other simulators, of hosts and of benchmarks agree with ours. A
difference is explained by an experiment, or noticed."""

import copy
import re
import statistics
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import switchbed as sb
from evidence import validate
from evidence.bench import memory, peers, schemes, sizes
from evidence.hosts import differences, packets, simulated
from evidence.hosts import page as hosts
from evidence.hosts.packets import Packet
from evidence.hosts.patterns import PATTERNS, Pattern, named
from evidence.peers import aqm_star, beside, offered, page, simulators
from evidence.robustness import cedm
from switchbed import _native
from switchbed.prototype import scheme


@pytest.fixture
def found() -> dict[str, Any]:
    results: dict[str, Any] = page.RESULTS.read()
    return results


def test_every_script_is_of_a_page_or_of_a_target() -> None:
    """The Makefile or a page has the command of each script; helpers are started by others."""
    root = Path(__file__).parents[3]
    said = (root / "Makefile").read_text() + (root / "CONTRIBUTING.md").read_text()
    said += "".join(f"-m {' '.join(step.words[2:])}\n" for step in validate.STEPS)
    said += "".join(file.read_text() for file in (root / "docs").rglob("*.md"))
    started = {
        "evidence.bench.measured",
        "evidence.hosts.ends",
        "evidence.robustness.mutants_worker",
    }
    scripts = set()
    for file in (root / "evidence").rglob("*.py"):
        if '__name__ == "__main__"' in file.read_text():
            name = ".".join(file.relative_to(root).with_suffix("").parts)
            scripts.add(name.removesuffix(".__main__"))
    assert len(scripts) > 20
    assert started < scripts
    untold = [name for name in scripts - started if not re.search(rf"-m {re.escape(name)}\b", said)]
    assert untold == []


def test_the_committed_results_agree(found: dict[str, Any]) -> None:
    assert page.disagreements(found) == []


def test_a_figure_that_is_off_is_named(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    off["stars"][0]["ns3"]["classic"]["queue_mean_pkt"] *= 1.2
    off["leaf_spine"][1]["ns3"]["floored"]["small"]["mean_us"] *= 0.5
    star, fabric = page.disagreements(off)
    assert star.startswith("2 DCTCP senders: mean queue")
    assert fabric.startswith("leaf-spine at load 0.8: small flows: mean")


def test_what_the_seeds_span_is_no_disagreement(found: dict[str, Any]) -> None:
    off = copy.deepcopy(found)
    run = off["leaf_spine"][0]
    run["ns3"]["floored"]["large"]["p99_us"] *= 2
    assert len(page.disagreements(off)) == 1
    run["ours"][3]["large"]["p99_us"] *= 3
    assert page.disagreements(off) == []


def test_completion_times_are_split_by_size() -> None:
    sizes = [100_000.0, 100_001.0, 10_000_000.0, 10_000_001.0]
    flows = pl.DataFrame({"size_bytes": sizes, "fct_s": [1e-6, 2e-6, 4e-6, float("nan")]})
    assert simulators.fct_by_class(flows) == {
        "all": {"n": 3, "mean_us": pytest.approx(7 / 3), "p99_us": pytest.approx(4)},
        "small": {"n": 1, "mean_us": 1, "p99_us": 1},
        "medium": {"n": 2, "mean_us": 3, "p99_us": 4},
    }


def test_only_the_withdrawal_tells_the_broken_cedm_from_ours() -> None:
    file = Path(__file__).parents[3] / "scenarios" / "cedm-fig10-dctcp.toml"
    whole = scheme(cedm.Cedm, label="whole", withdraws=True)
    schemes = ["cedm", whole, scheme(cedm.Cedm, label="broken", withdraws=False)]
    sets = {"compare.scheme": schemes, "compare.host.lso_after_cut": [False]}
    short = {"measure.warmup": "1ms", "run.until": "12ms"}
    found = sb.Scenario.from_file(file).with_(sets | short).run_all()
    ours, same, broken = (run.table("ports") for run in found)
    assert same.equals(ours)
    assert not broken.equals(ours)


def test_what_aqms_differ_by_is_removed_by_an_experiment() -> None:
    """Of the list of packets, and of the star."""
    rows = offered.RESULTS.read()["rows"]
    assert list(offered.unexplained(rows)) == []
    stars = aqm_star.RESULTS.read()
    assert set(stars) == set(aqm_star.ROWS)
    for name, found in stars.items():
        by_rules = found.get("by_their_rules", found["ours"])
        assert aqm_star.apart(by_rules, found["ns3"]) <= aqm_star.TOLERANCE, name
        # None is made where none is needed.
        needed = aqm_star.apart(found["ours"], found["ns3"]) > aqm_star.TOLERANCE
        assert needed == ("by_their_rules" in found), name
    # Something is found where it is off.
    rows[0]["linux"]["mean_ms"] *= 1.2
    assert len(list(offered.unexplained(rows))) == 1


def test_no_more_than_three_explain_a_peer() -> None:
    """In the list; besides, ns-3's senders and its RED on the star."""
    causes = {peer: {row.why for row in offered.ROWS if row.beside == peer} for peer in PEERS}
    assert {peer: len(why) for peer, why in causes.items()} == {"linux": 1, "ns3": 1}


PEERS = ("linux", "ns3")


def test_one_link_by_the_kernel_the_live_switch_and_simulated_is_alike() -> None:
    found = beside.RESULTS.read()
    assert len(found) >= 2
    for name, row in found.items():
        kernel, *others = (
            {
                "mbps": statistics.fmean(sum(run["goodput_mbps"]) for run in row[way]),
                **{p: statistics.fmean(run[p] for run in row[way]) for p in ("p50_ms", "p99_ms")},
            }
            for way in (*beside.WAYS, "simulated")
        )
        for other in others:
            assert other["mbps"] == pytest.approx(kernel["mbps"], rel=0.01), name
            # Three packets' time on the line.
            assert other["p50_ms"] == pytest.approx(kernel["p50_ms"], abs=1.9), name
            assert other["p99_ms"] == pytest.approx(kernel["p99_ms"], abs=1.9), name
    assert f"| {name} | kernel |" in beside.render(found)


@pytest.fixture
def benched() -> dict[str, Any]:
    results: dict[str, Any] = peers.RESULTS.read()
    return results


def test_what_is_said_of_whole_runs_is_near_what_was_measured() -> None:
    found = memory.RESULTS.read()
    program = found["program"]
    for row in found["runs"]:
        # Of the process: a small run's own bytes are a part of the program's.
        ratio = (program + memory.said(row["what"])) / (program + row["bytes"])
        assert ratio == pytest.approx(1, rel=0.15), row


def test_every_row_of_the_sizes_is_a_scenario() -> None:
    for _, value, _, sets in sizes.rows():
        assert len(_native.plans(sizes.FIG9, sets)) == 1, value


def test_every_scheme_has_its_cost() -> None:
    counted = schemes.RESULTS.read()["rows"]
    cases = schemes.cases()
    assert counted.keys() == cases.keys()
    for label, sets in cases.items():
        assert len(_native.plans(schemes.STAR, sets)) == 1, label


def test_the_committed_runs_agree_on_what_happened(benched: dict[str, Any]) -> None:
    assert peers.disagreements(benched) == []


def test_a_run_that_did_something_else_is_named(benched: dict[str, Any]) -> None:
    off = copy.deepcopy(benched)
    off["benches"][0]["simulators"][1]["outcome"]["goodput_gbps"] *= 0.8
    for run in off["benches"][-1]["simulators"][1]["runs"]:
        run["packet_hops"] *= 2
    goodput, hops = peers.disagreements(off)
    assert goodput.startswith("star: ns-3.")
    assert "packet_hops" in hops


MSS = 1000


def test_what_is_explained_is_there() -> None:
    found = hosts.read()
    for each in differences.DIFFERENCES:
        assert set(each.patterns) <= {pattern.name for pattern in PATTERNS}
        if each.peer in found:
            assert set(found[each.peer]["experiments"][each.name]) == set(each.patterns)


def test_a_time_that_is_off_is_named() -> None:
    theirs = {"one": {"fct_ms": [90.0, 100.0, 300.0]}}
    for ours, off in ((104.9, 0), (95.1, 0), (105.2, 1), (94.0, 1)):
        times = {"theirs": theirs, "ours": {"one": {"fct_ms": [ours]}}}
        assert len(hosts.disagreements({"kernel": times})) == off


def data(at: float, seq: int) -> Packet:
    return Packet(at, True, seq * MSS, MSS, 0, (), syn=False, ce=False)


def ack(at: float, number: int, *sacks: tuple[int, int]) -> Packet:
    blocks = tuple((left * MSS, right * MSS) for left, right in sacks)
    return Packet(at, False, 0, 0, number * MSS, blocks, syn=False, ce=False)


SYN = Packet(1.0, True, -1, 0, 0, (), syn=True, ce=False)


def test_what_is_under_way_is_what_is_neither_acknowledged_nor_sacked() -> None:
    sender = [
        *(SYN, data(1.01, 0), data(1.011, 1), data(1.012, 2)),
        *(ack(1.03, 0, (1, 2)), ack(1.031, 0, (1, 3)), data(1.032, 0), ack(1.05, 3)),
    ]
    # The last byte is not the last to come.
    receiver = [data(1.021, 1), data(1.022, 2), data(1.042, 0)]
    found = packets.of(sender, receiver, 3 * MSS, MSS, 0)
    assert round(found.fct_ms, 6) == 42
    assert (found.retransmissions, found.again) == (1, 4)
    assert [n for _, n in found.outstanding] == [1, 2, 3, 2, 1, 0]
    assert packets.sampled(found.outstanding, 13) == [0] * 10 + [1, 2, 3, 3]


def frame(seq: int, ack: int, flags: int, length: int, *, out: bool) -> bytes:
    options = b"\x01\x01\x05\x0a" + struct.pack("!II", 3001, 4001) if not out else b""
    addresses = b"\x0a\0\0\1\x0a\0\0\2" if out else b"\x0a\0\0\2\x0a\0\0\1"
    total = 40 + len(options) + length
    ip = struct.pack("!BBHHHBBH", 0x45, 3, total, 0, 0, 64, 6, 0) + addresses
    offset = (20 + len(options)) // 4 << 4
    return ip + struct.pack("!HHIIBBHHH", 1, 2, seq, ack, offset, flags, 0, 0, 0) + options


def test_captures_of_all_kinds_tell_the_same() -> None:
    ips = [
        frame(0xFFFFFFFF, 0, 2, 0, out=True),
        frame(500, 0, 0x12, 0, out=False),
        frame(0, 501, 0x10, 1000, out=True),
        frame(501, 1000, 0x10, 0, out=False),
    ]
    ethernet = [bytes(12) + b"\x08\x00" + ip for ip in ips]
    pcap, ppp = (
        struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link)
        + b"".join(
            struct.pack("<IIII", 7, 1000 * i, len(each), len(each)) + each
            for i, each in enumerate(frames)
        )
        for link, frames in ((1, ethernet), (9, [b"\x00\x21" + ip for ip in ips]))
    )
    pcapng = struct.pack("<II", 0x0A0D0D0A, 28) + bytes(20)
    for i, each in enumerate(ethernet):
        padded = each + bytes(-len(each) % 4)
        at = 7_000_000_000 + 1000 * i
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(each), len(each))
        length = 12 + len(head) + len(padded)
        pcapng += struct.pack("<II", 6, length) + head + padded + struct.pack("<I", length)
    found = packets.read(pcap)
    assert found == packets.read(ppp) == packets.read(pcapng)
    _, _, sent, answer = found
    assert (sent.seq, sent.length, sent.ack, sent.out, sent.ce) == (0, 1000, 0, True, True)
    assert (answer.ack, answer.sacks, answer.out) == (1000, ((3001, 4001),), False)
    assert round(answer.at, 9) == 7.000003


def test_the_simulator_loses_the_packets_of_a_pattern() -> None:
    few = Pattern("few", "two of them", 12, control="reno", lose=(3, 5), rate="100Mbps")
    ideal = {"profile": "switchbed-0.1"}
    found = simulated.run(few, ideal, {})
    assert (found.retransmissions, found.timeouts, found.again) == (2, 0, 13)
    # A retransmission that is lost, too, waits for the timer.
    again = simulated.run(Pattern("again", "", 12, "reno", lose=(3,), lose_again=1), ideal, {})
    assert (again.retransmissions, again.timeouts) == (2, 1)
    assert named("one").segments == 300
