"""Printing of a network's measures."""

from switchbed import quantity
from switchbed.terminal import say
from switchbed.topology.network import Network


def show(network: Network) -> None:
    """Counts, tiers, bisection, diameter, ideal round trip."""
    found = network.measures
    say(
        f"{network.name}: {found['hosts']:,} hosts, {found['switches']:,} switches with "
        f"{found['switch_ports']:,} ports, {found['links']:,} links"
    )
    width = max(len("tier"), *(len(tier["name"]) for tier in found["tiers"]))
    say(f"  {'tier':{width}} {'switches':>8} {'ports':>6} {'down':>10} {'up':>10} oversubscribed")
    for tier in found["tiers"]:
        up = quantity.gbps(tier["up_bps"]) if tier["up_bps"] else "-"
        over = "-" if tier["oversubscription"] is None else ratio(tier["oversubscription"])
        say(
            f"  {tier['name']:{width}} {tier['switches']:>8,} {tier['ports']:>6,} "
            f"{quantity.gbps(tier['down_bps']):>10} {up:>10} {over}"
        )
    half = ratio(found["oversubscription"]) if found["bisection_bps"] else "none"
    say(f"  bisection   {quantity.gbps(found['bisection_bps'])} (oversubscribed {half})")
    if found["diameter_links"] is None:
        say("  diameter    none: some hosts cannot reach others")
        return
    say(f"  diameter    {found['diameter_links']} links, {_us(found['propagation_ps'])} one way")
    say(
        f"  ideal RTT   {_us(found['rtt_ps'])} between the hosts farthest apart: "
        f"{found['packet_bytes']:,} B there, {found['ack_bytes']} B back"
    )


def ratio(value: float) -> str:
    """3 is 3:1."""
    return f"{value:.4g}:1"


def _us(ps: int) -> str:
    return quantity.us(ps / 1e12)
