"""The wait of the live tests: for as long as something moves, and no longer."""

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

STALLED_S = 10.0
"""How long nothing may change."""
MOST_S = 120.0
"""How long something may change without an end."""
LOOKS_EVERY_S = 0.02
MOVES_EVERY_S = 1.0

State = TypeVar("State")


def wait_for(
    look: Callable[[], State],
    happens: Callable[[State], object] = bool,
    *,
    moves: Callable[[], object] = lambda: None,
    stalled_s: float = STALLED_S,
    most_s: float = MOST_S,
) -> State:
    """Looks until it happens, and returns what it saw then. It fails, with what it saw last, once
    neither that nor `moves` has changed for `stalled_s`."""
    begin = changed = time.monotonic()
    asked, seen, moved = begin, None, None
    while not happens(state := look()):
        now, before = time.monotonic(), (seen, moved)
        seen = state
        if now - asked >= MOVES_EVERY_S:
            asked, moved = now, moves()
        if (seen, moved) != before:
            changed = now
        if now - changed >= stalled_s or now - begin >= most_s:
            raise AssertionError(
                f"it did not happen in {now - begin:.1f} s, and the last change was "
                f"{now - changed:.1f} s ago: {seen!r}"
            )
        time.sleep(LOOKS_EVERY_S)
    return state


def worked(pid: int) -> int:
    """Ticks of processor time that a process and its descendants have had (proc(5))."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        number = int(path.parent.name)
        children[int(fields[1])].append(number)
        ticks[number] = sum(map(int, fields[11:15]))
    family = [pid]
    for each in family:
        family += children[each]
    return sum(ticks.get(each, 0) for each in family)
