"""A network drawn by tiers, as SVG."""

from xml.sax.saxutils import escape

from switchbed import files, quantity
from switchbed.topology.network import Network, between

WIDTH, MARGIN, TIER = 1000, 70, 150
"""Of the picture, of its sides, and between tiers."""
MOST_NODES, MOST_LINKS = 64, 2000
"""A network with more in a tier, or in all, is drawn by tiers alone."""
INK, SOFT, FILL, HOST = "#222222", "#7a8ca3", "#dce6f2", "#f3ecd8"


def svg(network: Network) -> str:
    """The picture: each node and link, or of large networks each tier."""
    tiers = _tiers(network)
    small = all(len(nodes) <= MOST_NODES for _, nodes in tiers)
    drawn = _nodes if small and len(network.links) <= MOST_LINKS else _boxes
    height = TIER * (len(tiers) - 1) + 2 * MARGIN
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">\n'
        f"<desc>{files.OURS}</desc>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
    )
    return head + "\n".join(drawn(network, tiers, height)) + "\n</svg>\n"


Tiers = list[tuple[str | None, list[int]]]


def _tiers(network: Network) -> Tiers:
    """Hosts, then the tiers from the lowest, each with its nodes: under the nodes above them."""
    named = [tier["name"] for tier in network.measures["tiers"]]
    tiers: Tiers = [
        (tier, [at for at, node in enumerate(network.nodes) if node.tier == tier])
        for tier in (None, *named)
    ]
    place = {at: nth for _, nodes in tiers[1:] for nth, at in enumerate(nodes)}
    above: dict[int, int] = {}
    for link in network.links:
        for host, switch in (link.ends, link.ends[::-1]):
            above.setdefault(host, place.get(switch, 0))
    tiers[0][1].sort(key=lambda host: above.get(host, 0))
    return tiers


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" {more}>{escape(text)}</text>'


def _box(x: float, y: float, size: tuple[float, float], fill: str, title: str) -> str:
    wide, high = size
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" '
        f'height="{high:.1f}" rx="3" fill="{fill}" stroke="{INK}"><title>{escape(title)}</title>'
        "</rect>"
    )


def _nodes(network: Network, tiers: Tiers, height: int) -> list[str]:
    """Each node and each link; a link's width goes by its rate."""
    where: dict[int, tuple[float, float]] = {}
    for level, (_, nodes) in enumerate(tiers):
        step = (WIDTH - 2 * MARGIN) / len(nodes)
        for nth, at in enumerate(nodes):
            where[at] = (MARGIN + step * (nth + 0.5), height - MARGIN - TIER * level)
    fastest = max(link.rate_bps for link in network.links)
    found = []
    parallel: dict[tuple[int, ...], int] = {}
    for link in network.links:
        (x1, y1), (x2, y2) = (where[end] for end in link.ends)
        ends = tuple(sorted(link.ends))
        nth = parallel[ends] = parallel.get(ends, -1) + 1
        shift = 4 * ((nth + 1) // 2) * (-1 if nth % 2 else 1)
        wide = max(0.5, 3 * (link.rate_bps / fastest) ** 0.5)
        # Links within a tier go round below it.
        low = max(y1, y2) + (abs(x2 - x1) / 8 + 24 if y1 == y2 else 0)
        mid = f"Q {(x1 + x2) / 2 + shift:.1f} {low:.1f} " if y1 == y2 else "L "
        a, b = (network.nodes[end].name for end in link.ends)
        found.append(
            f'<path d="M {x1 + shift:.1f} {y1:.1f} {mid}{x2 + shift:.1f} {y2:.1f}" fill="none" '
            f'stroke="{SOFT}" stroke-width="{wide:.1f}"><title>'
            f"{escape(f'{a} to {b}: {quantity.gbps(link.rate_bps)}')}</title></path>"
        )
    for tier, nodes in tiers:
        wide = min(70.0, (WIDTH - 2 * MARGIN) / len(nodes) * 0.85)
        for at in nodes:
            x, y = where[at]
            name = network.nodes[at].name
            found.append(_box(x, y, (wide, 18), HOST if tier is None else FILL, name))
            if len(name) * 6.5 <= wide + 8:
                found.append(_text(x, y + 4, name))
    return found + _rates(network, tiers, height)


def _rates(network: Network, tiers: Tiers, height: int) -> list[str]:
    """List the links between two tiers, to the left of the space between them."""
    level = {tier: nth for nth, (tier, _) in enumerate(tiers)}
    found = []
    lines: dict[float, int] = {}
    for (a, b), rates in between(network).items():
        y = height - MARGIN - TIER * (level[a] + level[b]) / 2
        for rate, count in sorted(rates.items()):
            nth = lines[y] = lines.get(y, -1) + 1
            text = f"{count:,} × {quantity.gbps(rate)}"
            halo = 'paint-order="stroke" stroke="white" stroke-width="4" font-weight="bold"'
            found.append(_text(MARGIN, y + 14 * nth, text, halo))
    return found


def _boxes(network: Network, tiers: Tiers, height: int) -> list[str]:
    """A box a tier, and a line between tiers that are linked."""
    level = {tier: nth for nth, (tier, _) in enumerate(tiers)}
    found = []
    for nth, (a, b) in enumerate(between(network)):
        x = WIDTH / 2 + (0 if abs(level[a] - level[b]) == 1 else 20 * (nth + 1))
        y1, y2 = (height - MARGIN - TIER * level[tier] for tier in (a, b))
        found.append(f'<path d="M {x} {y1} L {x} {y2}" stroke="{SOFT}" stroke-width="4"/>')
    for tier, nodes in tiers:
        y = height - MARGIN - TIER * level[tier]
        text = f"{len(nodes):,} × {tier or 'host'}"
        found.append(_box(WIDTH / 2, y, (260, 40), HOST if tier is None else FILL, text))
        found.append(_text(WIDTH / 2, y + 4, text))
    return found + _rates(network, tiers, height)
