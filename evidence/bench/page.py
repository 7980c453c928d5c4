"""The measured parts of the pages performance, live, roce and trimming, and their pictures."""

import json
from functools import partial
from pathlib import Path

from evidence.bench import connections, core, live, memory, peers, roce, schemes, sizes, trimming
from evidence.peers import beside
from evidence.site import fill, picture

BLOCKS = {
    "connections": connections,
    "core": core,
    "memory": memory,
    "peers": peers,
    "schemes": schemes,
    "sizes": sizes,
}
"""Modules by their block of docs/performance.md: each renders its own results."""


def write(site: Path) -> None:
    """Fills the pages' blocks."""
    for name, block in BLOCKS.items():
        found = block.RESULTS.read()
        fill(site / "performance.md", name, block.render(found))
    fill(site / "live.md", "bench-live", live.render(live.RESULTS.read()))
    fill(site / "live.md", "beside", beside.render(beside.RESULTS.read()))
    fill(site / "roce.md", "fabrics", roce.render(roce.read()))
    fill(site / "trimming.md", "grid", trimming.render(trimming.RESULTS.read()))


def draw(site: Path) -> None:
    """Draws the pages' pictures."""
    found = sizes.RESULTS.read()
    file = site / "performance-sizes.png"
    picture(file, partial(sizes.draw, found), json.dumps(found))
    grid = trimming.RESULTS.read()
    picture(site / "trimming-grid.png", partial(trimming.draw, grid), json.dumps(grid))
    for name, of in roce.read().items():
        if "drawn" in of:
            series = json.dumps(of["drawn"])
            picture(site / f"roce-{name}.png", partial(roce.draw, of["drawn"]), series)
