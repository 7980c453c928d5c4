"""Pages and pictures of the site that come from the product itself: the keys of files, which
`switchbed scenario keys` and `switchbed live keys` print, the columns of results, parameters of
schemes, and curves that a command draws."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

from evidence.site import ROOT, fill, picture
from switchbed import _native

THEORY = {
    "theory-cedm": ("theory", "plot", "cedm"),
    "theory-e-ecn": ("theory", "plot", "e-ecn"),
}
"""The command that draws each."""
BY_PAGES = {
    "coexistence.md": {
        f"{case}.png": f"coexistence-{case}.png" for case in ("dctcp", "l4s", "bbr", "roce", "fq")
    },
    "trimming.md": {"incast.png": "trimming-incast.png"},
    "prototyping.md": {"waiting.png": "prototyping-tcn.png"},
    "plots.md": {
        f"{kind}.png": f"plots/{kind}.png"
        for kind in (
            "curve",
            "fct",
            "cdf",
            "queue",
            "shares",
            "heatmap",
            "utilisation",
            "links",
            "paths",
        )
    },
}
"""Pages whose commands draw pictures: by the name that a command has for a file, the site's."""
MEASURED = {
    "tcp.toml": """
run.until = "2ms"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"

[switch]
queues = 2
buffer = "300KB"

[[switch.queue]]
queue = 0
scheme = { name = "tcn", params = { threshold = "10us" } }

[scheme]
name = "per-queue"
params = { threshold = "20pkt" }

[[host]]

[[host]]
hosts = [0]
label = "old"
profile = "linux-3.18"

[[traffic]]
kind = "poisson"
load = 0.1
flows = 20
sizes = "30KB"

[[traffic]]
kind = "long-lived"
from = 0
to = 1
transport = "bbr"

[[traffic]]
kind = "probe"
from = 2
to = 3
every = "100us"

[measure]
series_every = "100us"
goodput_every = "100us"
giant = "20KB"
underflow = ["switch:0"]
changes = { ports = ["switch:0"], until = "1ms", slope_over = "10us" }
bursts = { ports = ["switch:0"], apart = "50us" }
convergence = { port = "switch:0", window = "50us" }
flow_series = {}
link_series = { every = "100us" }
waits = { every = "100us" }
""",
    "sprayed.toml": """
measure.operations = true
scheme.name = "none"
transport.kind = "nscc"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"

[switch]
queues = 2
buffer = "20KB"
trimming = { queue = 1, dscp = 1 }

[[traffic]]
kind = "collective"
operation = "all-to-all"
bytes = "300KB"

[[traffic]]
kind = "incast"
from = "0-2"
to = 3
sizes = "300KB"
""",
}
"""Scenarios whose runs, with that of `@pfc-deadlock`, have every table with every column."""
DOCS = Path(__file__).resolve().parent
SAVED = re.compile(r"as `([\w-]+\.\w+)`:\n\n```\w+\n(.*?)^```$", re.S | re.M)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)


def write(site: Path) -> None:
    """Writes the pages of keys, the columns of results and the parameters of schemes."""
    (site / "scenario.md").write_text(_native.reference(), encoding="utf-8")
    (site / "live-keys.md").write_text(_native.live_reference(), encoding="utf-8")
    fill(site / "results.md", "columns", columns())
    pages = sorted(site.glob("schemes/*.md"))
    for scheme in json.loads(_native.schemes()):
        part = f"parameters of {scheme['name']}"
        # A family of schemes has one page; some schemes have no part.
        for page in pages:
            if f"<!-- generated: {part} -->" in page.read_text(encoding="utf-8"):
                fill(page, part, parameters(scheme["parameters"]))


def parameters(listed: list[dict[str, Any]]) -> str:
    """The table of a scheme's parameters."""
    lines = ["| parameter | takes | default | meaning |", "| --- | --- | --- | --- |"]
    for each in listed:
        default = "required" if each["required"] else each["default"] or ""
        lines += [f"| `{each['name']}` | {each['takes']} | {default} | {each['meaning']} |"]
    return "\n".join(lines)


def columns() -> str:
    """Every table of a result directory with its columns, as a run's manifest describes them."""
    stormy = ("@pfc-deadlock", "--set", "switch.pfc.watchdog=drop", "--set", "run.until=20ms")
    runs = [*((name,) for name in MEASURED), stormy]
    tables: dict[str, dict[str, dict[str, str]]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in MEASURED.items():
            (folder / name).write_text(text, encoding="utf-8")
        for number, words in enumerate(runs):
            switchbed("run", *words, "--quiet", "--out", f"{number}", folder=folder)
            manifest = json.loads((folder / f"{number}/manifest.json").read_text(encoding="utf-8"))
            for table, listed in manifest["tables"].items():
                known = tables.setdefault(table, {})
                known.update({each["name"]: each for each in listed if each["name"] not in known})
    lines = []
    for table, known in tables.items():
        lines += [f"### `{table}`", "", "| column | unit | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{c['name']}` | {c['unit']} | {c['meaning']} |" for c in known.values()]
        lines += [""]
    return "\n".join(lines)


def draw(site: Path) -> None:
    """Draws the pictures."""
    for name, words in THEORY.items():
        picture(site / f"{name}.png", partial(by_command, words), _native.__build__, *words)
    for page, pictures in BY_PAGES.items():
        source, wanted = DOCS / page, tuple(pictures)
        for name, shown in pictures.items():
            (site / shown).parent.mkdir(exist_ok=True)
            drawn = partial(by_page, source, wanted, name)
            picture(site / shown, drawn, _native.__build__, source, name)


def by_command(words: tuple[str, ...], file: Path) -> None:
    """Draws by a command of the product."""
    switchbed(*words, "--out", str(file), folder=file.parent)


def by_page(page: Path, wanted: tuple[str, ...], name: str, file: Path) -> None:
    """Draws the file `name` of those that a page's commands write."""
    file.write_bytes(written(page, wanted)[name])


@cache
def written(page: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Runs a page's commands, with the files that it shows, until all that is wanted is there."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
        for name, content in SAVED.findall(text):
            (folder / name).write_text(content, encoding="utf-8")
        for commands in COMMANDS.findall(text):
            if all((folder / name).exists() for name in wanted):
                break
            for line in commands.replace("\\\n", " ").splitlines():
                if line.startswith("#"):
                    continue
                program, *words = shlex.split(line)
                if program != "switchbed":
                    raise ValueError(f"{page}: {line}: runs {program}, not switchbed")
                switchbed(*words, folder=folder)
        return {name: (folder / name).read_bytes() for name in wanted}


def switchbed(*words: str, folder: Path) -> None:
    """Runs the command line in a folder."""
    command = [sys.executable, "-m", "switchbed", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
