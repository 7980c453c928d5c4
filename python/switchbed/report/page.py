"""A report of runs as one HTML file that works without a network."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from switchbed import comparing, files, links, printing, stats, toml
from switchbed._native import Mistake
from switchbed.report import comparison, goodput, listing, pauses, queues
from switchbed.report.chart import Chart, order
from switchbed.result import Result
from switchbed.series import runs
from switchbed.series.runs import Line, words

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " + (
    "img-src data: blob:; connect-src data: blob:"
)
"""Content security policy: the browser may load nothing but the page itself."""
PLOTLY = "plotly-cartesian.min.js"
"""plotly.js with the kinds of charts that reports have; it comes with a licence of its own."""
STATISTICS = (("all", "mean_us"), ("small", "p99_us"))
"""Statistics of the headline, by size class."""


def check(path: Path) -> None:
    """Refuses what cannot be written, before anything is read."""
    if path.suffix not in (".html", ".htm"):
        raise Mistake(f"--out {path}: a report is an HTML file; end it with .html")
    if not path.parent.is_dir():
        raise Mistake(f"--out {path}: cannot be written: there is no directory {path.parent}")


@dataclass(frozen=True)
class Asked:
    """How the runs are to be shown: each a key that was swept, or `scheme`."""

    x: str | None = None
    """On the axis; else the load."""
    colour: str | None = None
    panel: str | None = None
    """Panel chosen above each chart."""
    against: str | None = None
    """`KEY=VALUE`: what others are compared with; else the first scheme, or where one ran alone the
    first value of the first setting."""
    name: str = ""
    """Title where neither the reader nor the scenario gives one."""


def write(
    results: Sequence[Result],
    path: Path,
    title: str = "",
    failed: Sequence[str] = (),
    asked: Asked = Asked(),
) -> None:
    """Writes the report, whole or not at all. `failed` are runs that have no results, and why."""
    check(path)
    text = page(results, title, failed, asked)
    with files.whole(path, "--out") as draft:
        draft.write_text(text, encoding="utf-8")


def page(
    results: Sequence[Result],
    title: str = "",
    failed: Sequence[str] = (),
    asked: Asked = Asked(),
) -> str:
    """Return the HTML text of the report."""
    runs.check(results, x=asked.x, colour=asked.colour, panel=asked.panel)
    over = asked.x or runs.load_key(results)
    # A setting cannot be the axis and tell lines apart.
    if over in (asked.colour, asked.panel):
        over = None
    drawn = runs.lines(results, over=over, colour=asked.colour, panel=asked.panel)
    base = _base(results, asked.against)
    # Charts without data are left out, not drawn empty.
    made = charts(results, drawn)
    named = title or str(results[0].scenario.get("title") or asked.name or results[0].label)
    data = [{"name": c.name, "traces": c.traces, "layout": c.layout} for c in made]
    own = resources.files("switchbed.report")
    sections = [
        f"<h1>{escape(named)}</h1>",
        _ran(results, drawn),
        _headline(results, base),
        _warnings(results, failed),
        _toggles(drawn),
        *map(_chart, made),
        _tables(results, drawn, base),
        _repeat(drawn),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="generator" content="{files.OURS}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(named)}</title>\n"
        f"<style>\n{(own / 'page.css').read_text(encoding='utf-8')}</style>\n"
        "</head>\n<body>\n<main>\n" + "\n".join(filter(None, sections)) + "\n</main>\n"
        f'<script type="application/json" id="charts">{_json(data)}</script>\n'
        f"<script>{(own / PLOTLY).read_text(encoding='utf-8')}</script>\n"
        f"<script>\n{(own / 'page.js').read_text(encoding='utf-8')}</script>\n"
        "</body>\n</html>\n"
    )


def charts(results: Sequence[Result], drawn: Sequence[Line]) -> list[Chart]:
    """All that the runs have data for."""
    made = [
        comparison.chart(drawn),
        comparison.sweep(results),
        goodput.chart(drawn),
        *queues.charts(drawn),
        *goodput.charts(drawn),
        *pauses.charts(drawn),
        comparison.fabric(drawn),
    ]
    return [chart for chart in made if chart.traces]


def _base(results: Sequence[Result], against: str | None) -> tuple[str | None, str | None]:
    """The setting that is compared, `None` for the scheme, and the value that others are compared
    with, `None` for the first."""
    schemes = any(comparing.is_scheme(key) for run in results for key in run.settings)
    if against is None:
        return None if schemes else next(iter(runs.swept(results)), None), None
    key, _, value = against.partition("=")
    runs.check(results, against=key)
    values = dict.fromkeys(comparing.text(runs.setting(run, key)) for run in results)
    if value not in values:
        has = ", ".join(values)
        raise Mistake(f"--against {against}: no run has it; {key} is {has}")
    return None if key == runs.SCHEME else key, value


def _json(value: Any) -> str:
    """JSON that no text in it can end as a script."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # A `</script>` in a label would end the block.
    return text.replace("<", "\\u003c")


def _section(name: str, heading: str, body: str) -> str:
    return f'<section id="{name}">\n<h2>{escape(heading)}</h2>\n{body}</section>' if body else ""


def _ran(results: Sequence[Result], drawn: Sequence[Line]) -> str:
    """Summarise the runs in a few words each."""
    scenario = results[0].scenario
    over = drawn[0].over
    # Places by their text, which is printed, with the value that orders them.
    at = {comparing.text(p): p for line in drawn for run in line.runs for p in [line.place(run)]}
    seeds = sorted({run.seed for run in results})
    facts = {
        "runs": f"{len(results):,}",
        "lines": _few(list(dict.fromkeys(line.label for line in drawn))),
        f"{words(over or '')}s": _few(sorted(at, key=lambda p: order(at[p]))) if over else "",
        "seeds": _few(list(map(str, seeds))),
        "topology": _section_of(scenario["topology"]),
        "switch": _each(results, _switch),
        "schemes": _each(results, _scheme),
        "hosts": _each(results, _profiles),
        "transport": ", ".join(_transports(results[0])),
        "traffic": _each(results, _sources),
        "Switchbed": ", ".join(sorted({run.program for run in results})),
    }
    rows = (f"<dt>{key}</dt><dd>{escape(value)}</dd>" for key, value in facts.items() if value)
    return _section("ran", "What was run", "<dl>" + "\n".join(rows) + "</dl>\n")


def _transports(run: Result) -> list[str]:
    """The transports of a run's flows by their names in its summary."""
    several = run.summary().get("by_transport")
    if several:
        return [each["transport"] for each in several]
    tcp, pairs = links.transports(run.scenario)
    kinds = [of.get("kind") or of["control"] for of in (*tcp, *pairs)]
    return list(dict.fromkeys(map(str, kinds))) or [str(run.scenario["transport"]["kind"])]


def _each(results: Sequence[Result], described: Callable[[dict[str, Any]], str]) -> str:
    """A part of the runs' scenarios; where runs differ in it, each form once."""
    found = list(dict.fromkeys(described(run.scenario) for run in results))
    return "; ".join(found) if len(found) <= 12 else f"{found[0]}; and {len(found) - 1} others"


def _switch(scenario: dict[str, Any]) -> str:
    """`queues 2, discipline dwrr, buffer 300KB`: what bounds the queues of a port."""
    keys = ("queues", "discipline", "asic", "policy", "buffer", "pool", "alpha")
    switch = scenario["switch"]
    return ", ".join(f"{key} {switch[key]}" for key in keys if key in switch)


def _scheme(scenario: dict[str, Any]) -> str:
    """`per-queue (mark_at enqueue, threshold 60KB)`."""
    scheme = scenario["scheme"]
    params = ", ".join(f"{key} {value}" for key, value in scheme.get("params", {}).items())
    return f"{scheme.get('label') or scheme['name']}" + (f" ({params})" if params else "")


def _profiles(scenario: dict[str, Any]) -> str:
    """The host profiles."""
    hosts = scenario["host"]
    each = hosts if isinstance(hosts, list) else [hosts]
    return ", ".join(dict.fromkeys(str(host["profile"]) for host in each if "profile" in host))


def _sources(scenario: dict[str, Any]) -> str:
    """`poisson (web-search), long-lived`: kinds of traffic with their sizes."""
    described = []
    for source in scenario["traffic"]:
        sizes = source.get("sizes")
        tables = sizes if isinstance(sizes, list) else [sizes]
        names = [each["name"] for each in tables if isinstance(each, dict) and "name" in each]
        described.append(source["kind"] + (f" ({', '.join(names)})" if names else ""))
    return ", ".join(described)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{len(names)} of them"


def _section_of(values: dict[str, Any]) -> str:
    """`star, hosts 4, rate 10Gbps`."""
    named = [f"{key} {value}" for key, value in values.items() if key != "kind"]
    return ", ".join([str(values["kind"]), *named])


def _headline(results: Sequence[Result], base: tuple[str | None, str | None]) -> str:
    """One run's figures, or how far each scheme is from the first."""
    if len(results) == 1:
        summary = results[0].summary()
        fct = summary["fct"]["all"]
        first = (
            [
                f"mean FCT {printing.duration(fct['mean_us'])}, 99th percentile "
                f"{printing.duration(fct['p99_us'])}"
            ]
            if fct["n"]
            else []
        )
        first = [*printing.losses([results[0].outcome]), *first]
        return _section("headline", "In short", _list([*first, *printing.headline(summary)]))
    found = comparing.ratios([run.outcome for run in results], *base)
    groups: dict[tuple[str, tuple[str, str]], list[comparing.Ratio]] = {}
    # A job's messages are not what one compares jobs by.
    jobs = any(comparing.is_job(ratio.size_class) for ratio in found)
    for ratio in found:
        statistic = (ratio.size_class, ratio.statistic)
        if comparing.is_job(ratio.size_class) or (statistic in STATISTICS and not jobs):
            groups.setdefault((ratio.scheme, statistic), []).append(ratio)
    what = f"{words(base[0])} " if base[0] else ""
    times = "" if jobs else "FCT of "
    lines = [
        f"{what}{scheme} against {group[0].to}, "
        f"{times}{printing.heading(statistic)}: {_range(group)}"
        for (scheme, statistic), group in groups.items()
    ]
    lost = printing.losses([run.outcome for run in results])
    return _section("headline", "In short", _list([*lost, *lines]))


def _range(group: Sequence[comparing.Ratio]) -> str:
    """The change, or the lowest and highest of several points."""
    known = [ratio.change.ratio for ratio in group if ratio.change.bounds is not None]
    unclear = bool(known) and all(of.holds(1) for of in known)
    nothing = "no difference shown: " if unclear else ""
    if len(group) == 1:
        return nothing + str(group[0].change)
    low, high = (end(group, key=lambda ratio: ratio.ratio) for end in (min, max))
    return f"{nothing}from {low.change} at {_point(low)} to {high.change} at {_point(high)}"


def _point(ratio: comparing.Ratio) -> str:
    return ", ".join(runs.name(key, value) for key, value in ratio.point)


def _warnings(results: Sequence[Result], failed: Sequence[str]) -> str:
    lines = [f"failed: {text}" for text in failed]
    lines += printing.warnings([run.outcome for run in results])
    lines += comparing.identical(run.outcome for run in results)
    # The point with the fewest seeds decides what can be said.
    alone = min(len(line.runs) for line in runs.lines(results))
    if len(results) > 1 and alone == 1:
        lines.append(f"{stats.seeds(1)} a point: nothing tells chance from a difference")
    return _section("warnings", "Warnings", _list(lines))


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<ul>\n{items}</ul>\n" if lines else ""


MOST_SHOWN = 8
"""Lines that are shown before the reader chooses."""


def _toggles(drawn: Sequence[Line]) -> str:
    """A switch a line, which is the legend of every chart as well."""
    once = list({line.label: line for line in drawn}.values())
    every = ""
    if len(once) > MOST_SHOWN:
        every = (
            f'<span class="note">the first {MOST_SHOWN} of {len(once)}, until you choose</span> '
            '<button data-all="1">all</button> <button data-all="">none</button><br>\n'
        )
    switches = "".join(
        f'<label><input type="checkbox"{" checked" if i < MOST_SHOWN else ""} '
        f'value="{escape(line.label)}">'
        f'<svg width="30" height="10" aria-hidden="true"><line x1="0" y1="5" x2="30" y2="5" '
        f'stroke="{line.look.colour}" stroke-width="3" '
        f'stroke-dasharray="{SWATCHES[line.look.dashes]}"/></svg>{escape(line.label)}</label>\n'
        for i, line in enumerate(once)
    )
    return f'<fieldset id="lines"><legend>Shown</legend>\n{every}{switches}</fieldset>'


SWATCHES = {"-": "none", "--": "8 4", "-.": "8 3 2 3", ":": "2 3"}


def _chart(chart: Chart) -> str:
    chosen = "".join(
        f'<label>{escape(key)} <select data-key="{escape(key)}">'
        + "".join(f"<option>{escape(value)}</option>" for value in values)
        + "</select></label>\n"
        for key, values in chart.choices.items()
    )
    slider = ""
    if chart.name == "instant":
        slider = (
            '<label class="slider">time <input type="range" min="0" value="0">'
            " <output></output></label>\n"
        )
    body = (
        f'<p class="note">{escape(chart.note)}</p>\n<div class="choices">{chosen}{slider}</div>\n'
    )
    return _section(
        f"about-{chart.name}",
        chart.heading,
        body + f'<div class="chart" id="{chart.name}"></div>\n',
    )


def _tables(
    results: Sequence[Result], drawn: Sequence[Line], base: tuple[str | None, str | None]
) -> str:
    tables = [
        _section("about-differences", "Differences", listing.differences(drawn, *base)),
        _section("about-runs", "Runs", listing.runs(drawn)),
    ]
    if len(results) == 1:
        tables.append(_section("about-ports", "Ports", listing.ports(results[0])))
    return "\n".join(filter(None, tables))


def _repeat(drawn: Sequence[Line]) -> str:
    """Each scenario as resolved, and the seeds that it ran with."""
    found: dict[str, tuple[str, list[int]]] = {}
    for line in drawn:
        for run in line.runs:
            names = [runs.named(*line.panel)] if line.panel else []
            if line.over and line.place(run) is not None:
                names.append(runs.named(line.over, line.place(run)))
            label = ", ".join([line.label, *names])
            found.setdefault(label, (repeatable(run), []))[1].append(run.seed)
    parts = "".join(
        f"<details><summary>{escape(label)}</summary>\n"
        + "".join(f"<pre>switchbed run scenario.toml --seed {seed}</pre>\n" for seed in seeds)
        + f"<pre>{escape(text)}</pre></details>\n"
        for label, (text, seeds) in found.items()
    )
    note = (
        "<p>Save the scenario, with every default filled in, as <code>scenario.toml</code> and run "
        "it with the same build of Switchbed: the results are the same, byte for byte. "
        "Files that it names, such as lists of flows, must be there.</p>\n"
    )
    return _section("repeat", "How to repeat it", note + parts)


def repeatable(run: Result) -> str:
    """The run's scenario as a file."""
    return toml.document(toml.given(run.scenario))
