"""Differences between hosts are explained by experiments; captures are read as they are."""

import struct

from evidence.hosts import differences, packets, page, simulated, trace
from evidence.hosts.packets import Packet
from evidence.hosts.patterns import PATTERNS, Pattern, named

MSS = 1000


def test_what_is_explained_is_there() -> None:
    found = page.read()
    for each in differences.DIFFERENCES:
        assert set(each.patterns) <= {pattern.name for pattern in PATTERNS}
        if each.peer in found:
            assert set(found[each.peer]["experiments"][each.name]) == set(each.patterns)


def test_a_figure_that_is_off_is_named() -> None:
    theirs = {"one": {"fct_ms": [90.0, 100.0, 300.0]}}
    for ours, off in ((104.9, 0), (95.1, 0), (105.2, 1), (94.0, 1)):
        times = {"theirs": theirs, "ours": {"one": {"fct_ms": [ours]}}}
        assert len(page.disagreements({"kernel": times})) == off


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
    found = trace.of(sender, receiver, 3 * MSS, MSS, 0)
    assert round(found.fct_ms, 6) == 42
    assert (found.retransmissions, found.again) == (1, 4)
    assert [n for _, n in found.outstanding] == [1, 2, 3, 2, 1, 0]
    assert trace.sampled(found.outstanding, 13) == [0] * 10 + [1, 2, 3, 3]


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
