"""What each scheme and AQM costs: instructions a packet-hop by valgrind, which a busy machine
cannot change. Writes results.json, of which docs/performance.md has a table.

    python -m evidence.bench.schemes [LABEL…]     these anew, the others as they were
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from evidence.bench import instructions
from evidence.kept import Kept
from switchbed import _native
from switchbed._native import Mistake

STAR = Path(__file__).parents[2] / "python/switchbed/bench/star.toml"
RESULTS = Kept(Path(__file__).parent, "schemes")
SHORT_MS, LONG_MS = 4, 12
"""The difference of two runs: the start of the program does not count."""

Found = dict[str, Any]

TEXT = """\
## Schemes

Instructions a packet-hop that each scheme and AQM costs on the star of `switchbed bench`, whose
link is always busy with eight DCTCP senders, as valgrind counts them ({version};
`python -m evidence.bench.schemes`). Settings are those of [the same fabrics](fabrics-linux.md). A
scheme that keeps another queue meets other packets, so that small differences are not its own.

{table}"""


def main() -> None:
    """Counts and writes."""
    found: Found = RESULTS.read() or {"rows": {}}
    found["version"] = _native.__version__
    for label, sets in cases().items():
        if not sys.argv[1:] or label in sys.argv[1:]:
            found["rows"][label] = round(counted(sets), 1)
            print(label, found["rows"][label], flush=True)
            RESULTS.write(found)


def cases() -> dict[str, list[str]]:
    """Each scheme's overrides by its label: those of `switchbed fabrics --linux` at the star's
    rate."""
    # The site renders results where the papers are not installed.
    from switchbed_papers.fabrics.cells import FOLDER
    from switchbed_papers.fabrics.page import label_of

    settings = FOLDER / "linux-10-40.toml"
    entries = tomllib.loads(settings.read_text(encoding="utf-8"))["compare"]["scheme"]
    return {label_of(entry): ["switch.pool=3MB", f"scheme={_inline(entry)}"] for entry in entries}


def _inline(value: Any) -> str:
    """As TOML writes it in a line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def counted(sets: list[str]) -> float:
    """Instructions a packet-hop."""

    def command(milliseconds: int) -> list[str]:
        until = f"run.until={milliseconds}ms"
        return [sys.executable, "-m", "switchbed.bench", str(STAR), until, *sets]

    found = instructions.per_hop(command(SHORT_MS), command(LONG_MS), STAR.parent)
    if found is None:
        raise Mistake("valgrind is not there: `make setup-system` (as root) installs it")
    return found


def render(found: Found) -> str:
    """The block."""
    rows = found["rows"]
    base = rows["per-queue"]
    lines = ["| scheme | instructions | over step marking |", "| --- | --- | --- |"]
    for label, count in sorted(rows.items(), key=lambda row: float(row[1])):
        lines.append(f"| `{label}` | {count:,.0f} | {count - base:+,.0f} |")
    return TEXT.format(version=f"Switchbed {found['version']}", table="\n".join(lines))


if __name__ == "__main__":
    main()
