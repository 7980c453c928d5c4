"""The report, one HTML file that needs nothing else, and the page of the documentation."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from textwrap import fill

from switchbed_papers.live.figures import Figure, load
from switchbed_papers.live.results import Line, Result, read, text

REPORT = "report.html"
TITLE = "The papers' testbeds, simulated and live"
STYLE = "img { max-width: 100%; }\n.wide { max-height: none; }\n"
HEAD = ("metric", "paper", "simulated", "live")


@dataclass(frozen=True)
class Part:
    """A figure with what came of it."""

    figure: Figure
    result: Result
    picture: Path
    """File that the picture is drawn into."""

    @property
    def lines(self) -> list[Line]:
        """Return the lines of the table."""
        return self.result.lines(self.figure)


def write_report(parts: Sequence[Part], out: Path) -> None:
    """Write `report.html` from the parts."""
    css = (files("switchbed.report") / "page.css").read_text(encoding="utf-8")
    body = "\n".join(map(_section, parts))
    (out / REPORT).write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>\n{css}{STYLE}</style>\n"
        f"</head>\n<body>\n<main>\n<h1>{escape(TITLE)}</h1>\n"
        f'<p>{escape(_how(parts))}</p>\n<div class="wide">\n{_table(parts)}</div>\n'
        f"{body}\n</main>\n</body>\n</html>\n",
        encoding="utf-8",
    )


def _table(parts: Sequence[Part]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("figure", *HEAD))
    rows = (
        "".join(f"<td>{escape(cell)}</td>" for cell in (part.figure.name, *cells(line)))
        for part in parts
        for line in part.lines
    )
    return (
        f"<table>\n<tr>{head}</tr>\n" + "".join(f"<tr>{row}</tr>\n" for row in rows) + "</table>\n"
    )


def _section(part: Part) -> str:
    image = base64.b64encode(part.picture.read_bytes()).decode("ascii")
    says = "".join(f"<li>{escape(each)}</li>" for each in _says(part))
    return (
        f"<section>\n<h2>{escape(part.figure.title)}</h2>\n"
        f'<img alt="{escape(part.figure.title)}" src="data:image/png;base64,{image}">\n'
        f"<ul>{says}</ul>\n</section>"
    )


def render() -> str:
    """The page of the committed results."""
    results = read()
    parts = [
        Part(figure, results[figure.name], Path("live-papers") / f"{figure.name}.png")
        for figure in load()
        if figure.name in results
    ]
    return f"{_intro(parts)}\n" + "\n".join(map(_markdown, parts))


def _intro(parts: Sequence[Part]) -> str:
    return (
        f"# {TITLE}\n\n"
        "<!-- Written by live/page.py of papers/switchbed_papers from results.json. -->\n\n"
        f"{fill(_how(parts), 100)}\n\n"
        "`papers/switchbed_papers/live/figures.toml` holds the scenarios, what is measured and\n"
        "what is said of it.\n"
        "`make live-papers` (as root, half an hour) runs all of it again and writes\n"
        "`results.json` beside it and `target/live-papers/report.html`, the same as one file.\n"
        "[Labs](live-labs.md) says how they work, [live.md](live.md) how accurate they are.\n"
    )


def _how(parts: Sequence[Part]) -> str:
    machines = [machine for part in parts for machine in part.result.machines]
    loads = [machine["load"] for machine in machines]
    runs = " or ".join(map(str, sorted({part.result.runs for part in parts})))
    kernels = ", ".join(sorted({machine["kernel"].partition("-")[0] for machine in machines}))
    counts = [machine["cores"] for machine in machines]
    cores = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return (
        "Experiments that the papers ran on hosts and a real switch, run twice here with the same "
        "flows: in the simulator, and by the kernel's TCP between network namespaces through the "
        "live switch. Both go at a part of the paper's speed; times and rates are given at the "
        f"paper's. Numbers are medians of {runs} runs with seeds of their own, and in brackets the "
        f"least and the greatest. Linux {kernels} on {cores} virtual cores, whose load average "
        f"was {min(loads):.0f} to {max(loads):.0f} while labs ran."
    )


def _markdown(part: Part) -> str:
    figure = part.figure
    rows = "".join(f"| {' | '.join(cells(line))} |\n" for line in part.lines)
    says = "".join(fill(f"- {e}", 100, subsequent_indent="  ") + "\n" for e in _says(part))
    shown = f"![{figure.title}: simulated and live]({part.picture.as_posix()})\n\n"
    return (
        f"## {figure.title}\n\n{shown if part.result.drawn else ''}"
        f"| {' | '.join(HEAD)} |\n| --- | --- | --- | --- |\n{rows}\n{says}"
    )


def _says(part: Part) -> list[str]:
    figure, result = part.figure, part.result
    switch = (
        f"{figure.scenario.name} at {figure.scale:g} of its speed ({result.rate} a link), "
        f"{result.hosts} hosts, live TCP: {result.congestion_control}."
    )
    return [switch, *figure.notes, *figure.comments, *result.notes]


def cells(line: Line) -> tuple[str, ...]:
    """A line of the table."""
    named = (
        f"{line.metric.name}, {line.unit}" if line.unit not in ("", "×", "%") else line.metric.name
    )
    unit = {"%": " %", "×": "×"}.get(line.unit, "")
    both = (text(spread, line.unit) for spread in (line.simulated, line.live))
    return (
        named,
        line.metric.paper or "–",
        *(f"{each}{unit}" if each != "–" else each for each in both),
    )
