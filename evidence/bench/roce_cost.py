"""What a packet-hop of RoCE costs beside one of TCP, on the fabric of HPCC's paper (320 hosts at
100 Gbps): the least of interleaved repeats, as ratios to DCTCP on the same switches.

    python -m evidence.bench.roce_cost [REPEATS]     (5)
"""

import sys
import time
import tomllib
from pathlib import Path

import switchbed as sb

FABRIC = Path(__file__).parents[2] / "scenarios" / "roce-fabric.toml"
BASE = "dctcp"
KINDS = (BASE, "dcqcn", "timely", "hpcc", "swift")


def main() -> None:
    """Prints a line a control."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    least: dict[str, float] = {}
    for _ in range(repeats):
        for kind in KINDS:
            least[kind] = min(least.get(kind, float("inf")), _ns_a_hop(kind))
    for kind in KINDS:
        print(f"{kind:8} {least[kind]:6.0f} ns a packet-hop, {least[kind] / least[BASE]:.2f}")


def _ns_a_hop(kind: str) -> float:
    tree = tomllib.loads(FABRIC.read_text())
    del tree["compare"]
    tree["transport"]["kind"] = kind
    tree["traffic"][0]["flows"] = 600
    tree["run"]["until"] = "1ms"
    scenario = sb.Scenario(tree)
    start = time.process_time()
    run = scenario.run()
    took = time.process_time() - start
    return took * 1e9 / float(run.summary()["packet_hops"])


if __name__ == "__main__":
    main()
