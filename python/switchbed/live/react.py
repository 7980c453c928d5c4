"""`switchbed live react`: QCN's reaction point for a host that sends. It is a live switch of two
ports, the host's new interface and its line, whose host's card obeys notifications."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switchbed import toml
from switchbed._native import Mistake
from switchbed.live import switch, system

QUEUE = "1000pkt"
"""Length of the line's queue: Linux's default for a card."""


@dataclass(frozen=True)
class Card:
    """The command line of `switchbed live react`."""

    line: str
    """Interface that exists and is sent through."""
    rate: str
    """Rate of that interface's line."""
    address: str | None
    """The host's, with a prefix length."""
    host: str
    """Name of the interface to make."""
    netns: str | None
    """The network namespace that it is put in."""


def run(card: Card, sets: tuple[str, ...], socket: Path | None, seconds: float | None) -> int:
    """Runs the card to its end: the exit code."""
    links = {link["ifname"]: link for link in system.ip_json("address", "show")}
    if card.line not in links:
        raise Mistake(f"there is no interface {card.line}; ip link lists them")
    _check(card, links[card.line])
    document = toml.document(_switch(card, links[card.line]["mtu"]))
    name = Path(f"react-{card.line}")
    return switch.run(switch.Request(name, sets, socket, seconds=seconds), document)


def _check(card: Card, link: dict[str, Any]) -> None:
    """Refuses a line by which the host's stack would speak beside the card."""
    # Two stacks with one address would both answer ARP.
    if "NOARP" not in link["flags"]:
        raise Mistake(
            f"{card.line} answers for the addresses of {card.host}: "
            f"ip link set dev {card.line} arp off"
        )
    if any(address["family"] == "inet" for address in link["addr_info"]):
        raise Mistake(
            f"{card.line} has an address, which belongs to {card.host} (--address): "
            f"ip -4 address flush dev {card.line}"
        )


def _switch(card: Card, mtu: int) -> dict[str, Any]:
    """Make the scenario of the live switch."""
    optional = {"netns": card.netns, "address": card.address}
    host = {
        "name": card.host,
        # Frames that come in are on the host's side of the line already.
        "rate": "100Gbps",
        "host_rate": card.rate,
        "reaction": True,
    }
    host |= {key: value for key, value in optional.items() if value is not None}
    line = {"name": card.line, "device": "interface"}
    return {
        "live": {"mtu": f"{mtu}B", "rate": card.rate, "fraction": 1.0},
        "port": [host, line],
        "switch": {"queues": 1, "classify": "single", "discipline": "fifo", "buffer": QUEUE},
        "scheme": {"name": "none"},
    }
