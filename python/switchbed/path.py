"""A critical path as it is printed, and as JSON."""

from dataclasses import asdict
from typing import Any

from switchbed.series.operations import Path, Step, beyond
from switchbed.terminal import say

SLOWEST = 5


def described(path: Path) -> dict[str, Any]:
    """The path as JSON: times in seconds, shares from 0 to 1."""
    return {
        "traffic": path.traffic,
        "repetition": path.repetition,
        "took_s": path.took_s,
        "shares": path.shares,
        "places": [
            {"port": port, "queue": queue, "share": share} for port, queue, share in path.places
        ],
        "slowest": [asdict(step) for step in path.slowest(SLOWEST)],
        "steps": [asdict(step) for step in path.steps],
    }


def show(path: Path) -> None:
    """Prints the shares, and the messages that were late the most."""
    count = len(path.steps)
    say(
        f"traffic {path.traffic}, repetition {path.repetition}: {path.took_s * 1e6:.2f} us, "
        f"{count} operation{'s' * (count != 1)} one after the other"
    )
    for part, share in path.shares.items():
        say(f"  {100 * share:5.1f} %  {part}")
    for port, queue, share in path.places[:SLOWEST]:
        say(f"  {100 * share:5.1f} %  waits at {port}, queue {queue}")
    for step in path.slowest(SLOWEST):
        where = f", most at {step.places[0][0]}, queue {step.places[0][1]}" if step.places else ""
        say(f"  {_message(step)}: {beyond(step) * 1e6:.2f} us late{where}")


def _message(step: Step) -> str:
    ends = (step.peer, step.rank) if step.kind == "receive" else (step.rank, step.peer)
    return f"flow {step.row}, rank {ends[0]} to {ends[1]}, at {step.start_s * 1e6:.2f} us"
