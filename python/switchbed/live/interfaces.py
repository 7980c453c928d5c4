"""The interfaces that a live switch joins: what would break it is refused, with the command
that mends it, and TAP interfaces are put where they belong."""

import json
import socket
import sys
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from switchbed._native import Mistake
from switchbed.live import ethtool, system
from switchbed.live.scale import size_bytes

HOST_OFFLOADS = ("tx", "tso", "gso")
SWITCH_OFFLOADS = ("gro", "lro")
LOSSY_OFFLOADS = ("lro",)
"""Offloads that join packets so that they cannot be parted as they were."""


@contextmanager
def joined(live: dict[str, Any]) -> Iterator[None]:
    """Refuses what cannot be joined, before anything is opened: all of it at once. Meanwhile no
    other live switch joins the same interfaces."""
    with ExitStack() as claims:
        _check(live, claims)
        yield


def _check(live: dict[str, Any], claims: ExitStack) -> None:
    known = system.namespaces()
    links = {link["ifname"]: link for link in system.ip_json("address", "show")}
    found = [
        Mistake(f"port.{i}{why}")
        # All faults at once, to be mended in one go.
        for i, port in enumerate(live["port"])
        for why in _refusals(port, links.get(port["name"]), known, live["live"]["mtu"], claims)
    ]
    if len(found) == 1:
        raise found[0]
    if found:
        raise ExceptionGroup("ports that cannot be joined", found)


def _refusals(
    port: dict[str, Any],
    link: dict[str, Any] | None,
    known: Container[str],
    mtu: str,
    claims: ExitStack,
) -> Iterator[str]:
    """List the faults of a port, each to be read after its key."""
    name, attach = port["name"], port["attach"]
    if attach == "interface":
        if link is None:
            yield (
                f".name is {name!r}: there is no such interface; ip link lists them, and "
                f'device = "tap" makes one'
            )
        else:
            if not _claimed(link["ifindex"], claims):
                yield (
                    f": {name} is a port of another live switch, and each frame would be forwarded "
                    "twice: switchbed live stop ends that one"
                )
            whole = port["offload"]
            yield from (f": {why}" for why in _of_interface(link, mtu, offload=whole))
        return
    if link is not None:
        yield (
            f".name is {name!r}: there is such an interface already; write "
            f'device = "interface" to join it, or: ip link delete {name}'
        )
    netns = attach["tap"].get("netns")
    if netns is not None and netns not in known:
        yield f".netns is {netns!r}: there is no such namespace: ip netns add {netns}"


def _claimed(index: int, claims: ExitStack) -> bool:
    """Whether the interface is no other switch's. The sign is a socket without a file, of this
    network namespace, which goes when its process does."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0switchbed-port-{index}")
    except OSError:
        claim.close()
        return False
    claims.enter_context(claim)
    return True


def _of_interface(link: dict[str, Any], mtu: str, *, offload: bool) -> Iterator[str]:
    name = link["ifname"]
    if "UP" not in link["flags"]:
        yield f"{name} is down: ip link set dev {name} up"
    # A bridge or bond takes the frames before the switch sees them.
    if "master" in link:
        yield (
            f"{name} is in {link['master']}, which would forward its frames a second time: "
            f"ip link set dev {name} nomaster"
        )
    yield from _addresses(link)
    if link["mtu"] != size_bytes(mtu):
        yield (
            f"{name} has an MTU of {link['mtu']} and live.mtu is {mtu}: "
            f"ip link set dev {name} mtu {size_bytes(mtu)}"
        )
    refused = LOSSY_OFFLOADS if offload else SWITCH_OFFLOADS
    on = [each for each in refused if ethtool.offloads(name)[each]]
    if on:
        yield (
            # A frame over the MTU could not be sent on.
            f"{name} joins packets to frames over the MTU ({', '.join(on)}): "
            f"ethtool -K {name} {' '.join(f'{each} off' for each in on)}"
        )
    # A veth filters nothing; a card drops what is for other stations, unless promiscuous.
    veth = link.get("linkinfo", {}).get("info_kind") == "veth"
    if veth:
        yield from _of_peer(link, mtu, offload=offload)
    elif "PROMISC" not in link["flags"]:
        yield f"{name} drops what is not for itself: ip link set dev {name} promisc on"


def _addresses(link: dict[str, Any]) -> Iterator[str]:
    """Addresses by which this host would answer beside the switch. IPv6's link-local ones come by
    themselves and hear nothing but their neighbours."""
    for family, flag, scope in (("inet", "-4", ""), ("inet6", "-6", " scope global")):
        found = [
            address["local"]
            for address in link["addr_info"]
            # Link-local addresses of IPv6 come with the interface.
            if address["family"] == family and (family == "inet" or address["scope"] == "global")
        ]
        if found:
            yield (
                f"{link['ifname']} has an address ({', '.join(found)}), and this host would answer "
                f"beside the switch: ip {flag} address flush dev {link['ifname']}{scope}"
            )


def _of_peer(link: dict[str, Any], mtu: str, *, offload: bool) -> Iterator[str]:
    """A veth's other end must send packets that fit. Where the port takes no offload headers, they
    must be whole: what the end leaves to its peer is not there when the switch forwards them."""
    found = _peer(link)
    if found is None:
        return  # in a namespace without a name: nothing can be asked there
    netns, peer = found
    name, within = peer["ifname"], f"-n {netns} " if netns else ""
    if peer["mtu"] != size_bytes(mtu):
        yield (
            f"the other end of {link['ifname']}, {name}, has an MTU of {peer['mtu']} and "
            f"live.mtu is {mtu}: ip {within}link set dev {name} mtu {size_bytes(mtu)}"
        )
    if offload:
        return
    on = [each for each in HOST_OFFLOADS if _offloads(netns, name)[each]]
    if on:
        within = f"ip netns exec {netns} " if netns else ""
        yield (
            f"the other end of {link['ifname']}, {name}, leaves checksums or segments "
            f"to it ({', '.join(on)}), and TCP would fail: {within}ethtool -K {name} "
            f"{' '.join(f'{each} off' for each in on)}"
        )


def _peer(link: dict[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    """Namespace and state of a veth's other end."""
    index, number = link.get("link_index"), link.get("link_netnsid")
    names = [None] if number is None else [n for n, i in system.namespaces().items() if i == number]
    for netns in names:
        for other in system.ip_json("link", "show", netns=netns):
            if (other["ifindex"] == index) if index else (other["ifname"] == link.get("link")):
                return netns, other
    return None


def _offloads(netns: str | None, name: str) -> dict[str, bool]:
    if netns is None:
        return ethtool.offloads(name)
    program = str(Path(ethtool.__file__))
    text = system.run(["ip", "netns", "exec", netns, sys.executable, program, name])
    found: dict[str, bool] = json.loads(text)
    return found


def place_taps(live: dict[str, Any]) -> None:
    """Puts TAP interfaces into their namespaces, with address and MTU, and up."""
    mtu = size_bytes(live["live"]["mtu"])
    for port in live["port"]:
        if port["attach"] == "interface":
            continue
        name, tap = port["name"], port["attach"]["tap"]
        netns = tap.get("netns")
        if netns is not None:
            system.ip("link", "set", "dev", name, "netns", netns)
        lines = [f"link set dev {name} mtu {mtu}"]
        if "address" in tap:
            lines.append(f"address add {tap['address']} dev {name}")
        lines.append(f"link set dev {name} up")
        system.ip_batch(lines, netns=netns)
