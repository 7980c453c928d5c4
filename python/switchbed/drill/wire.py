"""Segments that the model sends, and how those that a script expects are compared with them."""

from dataclasses import dataclass, replace

from switchbed.drill.script import DepartsError, Segment

CODEPOINTS = ("noecn", "ect1", "ect0", "ce")


@dataclass(frozen=True)
class Sent:
    """A segment of the model, with the sequence numbers of the script."""

    at: int
    segment: Segment
    syn: bool
    data: bool


def joined(parts: list[Sent]) -> Segment:
    """Several segments in a row as the one that segmentation offload would hand over."""
    first = parts[0].segment
    if len(parts) == 1:
        return first
    flags = "".join(letter for letter in "FEWU." if any(letter in p.segment.flags for p in parts))
    length = sum(part.segment.length for part in parts)
    return replace(first, flags=flags, length=length)


def follows(parts: list[Sent], other: Sent, tolerance: int) -> bool:
    """Whether a segment continues those before it, at the same time."""
    last = parts[-1]
    return (
        last.data
        and other.data
        and other.segment.start == last.segment.start + last.segment.length
        and "F" not in last.segment.flags
        and other.segment.ack == last.segment.ack
        and other.at - parts[0].at <= tolerance
    )


def letters(segment: Segment) -> frozenset[str]:
    """The segment's flags. PSH is left out: the model's segments have none."""
    return frozenset(segment.flags) - {"P"}


def compare(line: int, expected: Segment, got: Segment, handshake: bool) -> None:
    """Refuses what differs from what a script expects."""

    def differ(what: str) -> DepartsError:
        return DepartsError(line, f"{what} differ", str(expected), str(got))

    if letters(expected) != letters(got):
        raise differ("flags")
    if (expected.start, expected.length) != (got.start, got.length):
        raise differ("sequence numbers")
    if "." in expected.flags and expected.ack != got.ack:
        raise differ("acknowledgement numbers")
    if (expected.urgent, "U" in expected.flags) != (got.urgent, "U" in got.flags):
        raise differ("urgent pointers")
    if expected.ecn == "ect01":
        if got.ecn not in ("ect0", "ect1"):
            raise differ("ECN codepoints")
    elif expected.ecn and expected.ecn != got.ecn:
        raise differ("ECN codepoints")
    if expected.any_options:
        return
    if expected.sacks != got.sacks:
        raise differ("SACK blocks")
    if (expected.stamp is None) != (got.stamp is None):
        raise differ("time stamps")
    # The value is the host's clock; the echo is the peer's word.
    if expected.stamp and got.stamp and expected.stamp[1] != got.stamp[1]:
        raise differ("echoed time stamps")
    if handshake:
        if (expected.mss, expected.sack_ok) != (got.mss, got.sack_ok):
            raise differ("options")
        if (expected.wscale is None) != (got.wscale is None):
            raise differ("options")
