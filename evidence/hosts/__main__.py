"""`make validate`: one flow and what is lost of it, by this machine's kernel, ns-3 and ns-2, each
beside the simulator under its profile (`patterns.py`). Writes results.json, from which
docs/hosts-evidence.md is made, and ends with 1 if a figure is neither within the tolerance nor
explained.

    python -m evidence.hosts                       ours anew, beside what the others found before
    python -m evidence.hosts kernel ns-3           and these anew (kernel: as root)
    python -m evidence.hosts kernel --only tail    of these one pattern alone
"""

import argparse
import sys

from evidence.hosts import beside, page, stars
from evidence.hosts.differences import DIFFERENCES
from switchbed import ending


def main() -> int:
    """Everything; returns the exit code."""
    parser = argparse.ArgumentParser(description="One flow by several hosts, under equal losses.")
    parser.add_argument("anew", nargs="*", metavar="PEER", help=f"of {', '.join(page.PEERS)}")
    parser.add_argument("--only", default="", help="patterns that run anew, with commas between")
    arguments = parser.parse_args()
    unknown = set(arguments.anew) - set(page.PEERS)
    if unknown:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(page.PEERS)}")
    only = [name for name in arguments.only.split(",") if name]
    before = page.read()
    for name in page.PEERS:
        if name in arguments.anew or name in before:
            found = _run(name, before.get(name, {}), only, anew=name in arguments.anew)
            page.results(name).write(found)
    found = page.read()
    off = page.disagreements(found)
    for line in off:
        print(f"disagrees: {line}", file=sys.stderr)
    return 1 if off else 0


def _run(name: str, found: page.Found, only: list[str], *, anew: bool) -> page.Found:
    """A peer's patterns where they are to run anew, and ours."""
    peer = beside.PEERS[name]
    if anew:
        found = peer.measured(found, only)
    found["ours"] = peer.simulated()
    if name == "ns-3":
        if anew and not only:
            found["stars"] = stars.measured()
        if "stars" in found:
            host = {"profile": peer.profile} | peer.host
            found["our_stars"] = stars.simulated(host, peer.transport)
            kept = None if anew and not only else found.get("star_experiment", {}).get("theirs")
            found["star_experiment"] = stars.experiment(host, peer.transport, kept)
    tried = found.get("experiments", {})
    found["experiments"] = {
        each.name: beside.tried(peer, each, tried.get(each.name), anew=anew and not only)
        for each in DIFFERENCES
        if each.peer == name
    }
    return found


if __name__ == "__main__":
    ending.finish(main)
