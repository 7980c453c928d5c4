"""Output of `switchbed run`: compact tables for people. Scripts read `--json`."""

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from switchbed import comparing, quantity
from switchbed.runner import Outcome
from switchbed.terminal import say

if TYPE_CHECKING:
    from switchbed import stats
    from switchbed._native import Plan
    from switchbed.console import Console

CLASSES = ("all", "small", "medium", "large")
FIELDS = ("mean_us", "p50_us", "p95_us", "p99_us", "p999_us")
LOAD = "load: payload bits that a sender offers over its link's rate"
GAP = "   "
"""Between the columns of a table."""
NONE = "–"
"""In place of a figure that does not exist."""
WIDE = 200
"""Columns where the output is no terminal."""
LEAST_WORDS = 4
"""Words before its first colon by which a warning's kind is known."""


def print_run(outcome: Outcome) -> None:
    """One run: FCT by class, counters, the bottleneck's queue."""
    say_wrapped(losses([outcome]))
    if outcome.summary["fct"]["all"]["n"]:
        found = times(outcome.summary)
        rows = [
            (name, f"{row['n']:,}", *(duration(row[field]) for field in FIELDS))
            for name, row in found.items()
        ]
        print_table(("FCT", "n", "mean", "p50", "p95", "p99", "p99.9"), rows)
    say_wrapped([*headline(outcome.summary), _speed(outcome.summary, outcome.wall_s)])


def times(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """FCTs by size; by class, source and transport where there are several; queries' completion
    times."""
    found = {name: summary["fct"][name] for name in CLASSES}
    classes = [each for each in summary["classes"] if each["fct"]["n"]]
    sources = summary["by_traffic"]
    if len(classes) > 1:
        found |= {f"class {each['class']}": each["fct"] for each in classes}
    named = {each["traffic"]: f"{each['kind']}, traffic {each['traffic']}" for each in sources}
    if len(sources) > 1:
        found |= {named[each["traffic"]]: each["fct"] for each in sources}
    transports = summary.get("by_transport", [])
    found |= {each["transport"]: each["fct"] for each in transports if each["fct"]["n"]}
    return found | {f"queries of {named[place]}": row for place, row in queries(summary).items()}


def headline(summary: dict[str, Any]) -> list[str]:
    """Return a run's figures besides its FCTs, a line each."""
    lines = [_counters(summary)]
    classes = summary["classes"]
    # With one class its share is all of the goodput.
    if summary["endless"] and len(classes) > 1:
        shares = (f"{rates([c['goodput_bps']])} of class {c['class']}" for c in classes)
        lines.append(f"goodput: {', '.join(shares)}")
    lines += map(_transport, summary.get("by_transport", []))
    lines += map(_job, summary.get("jobs", []))
    lines += map(_probes, summary["probes"])
    lines += map(_load, summary["offered"])
    if trims := summary.get("trims"):
        lines.append(
            f"{trims['trim_packets']:,} packets trimmed, "
            f"{trims['dropped_trim_packets']:,} of these dropped"
        )
    if "pauses" in summary:
        lines += _pauses(summary["pauses"])
    if summary["bottleneck"]:
        lines.append(_bottleneck(summary["bottleneck"]))
    return lines


def losses(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each scheme and point whose lossless classes lost packets."""
    found = []
    for row in comparing.rows(outcomes):
        # `lost_most` names the class and port that lost most; without losses there is none.
        lossy = [p for run in row.runs if (p := run.summary.get("pauses") or {}).get("lost_most")]
        if not lossy:
            continue
        where = [row.scheme or "", *(f"{key} {value}" for key, value in row.point)]
        named = f"{', '.join(filter(None, where))}: " if any(where) else ""
        lost, dropped = (sum(p[key] for p in lossy) for key in ("lost", "dropped"))
        why = [f"{lost:,} for want of headroom"] * bool(lost)
        why += [f"{dropped:,} by the scheme or the watchdog"] * bool(dropped)
        runs = f" in {len(lossy)} of {len(row.runs)} runs" if len(row.runs) > 1 else ""
        most = max(lossy, key=lambda p: p["lost"] + p["dropped"])["lost_most"]
        found.append(
            f"{named}lossless classes lost packets{runs}: {' and '.join(why)}, most at {most}"
        )
    return found


def load() -> None:
    """Loads what `print_sweep` needs: half a second of a core. A command that calls it before its
    runs has the time to print when a signal ends them."""
    from rich import box, table  # noqa: F401

    from switchbed import console  # noqa: F401


def print_sweep(outcomes: Sequence[Outcome], wall_s: float) -> None:
    """A row a scheme and point, then the paired ratios to the first scheme."""
    rows = comparing.rows(outcomes)
    keys = [key for key, _ in rows[0].point]
    columns = measured(rows)
    counters = {"marks": "marks", "drops": "drops", "timeouts": "timeouts"}
    if any(outcome.summary.get("lost") for outcome in outcomes):
        counters["lost"] = "lost on links"
    early = [reordered(outcome.summary) for outcome in outcomes]
    if any(early) and None not in early:
        counters["reordered"] = "packets reordered"
    schemes = ["scheme"] if rows[0].scheme is not None else []
    # Means stand beside these: the heading says that they are sums.
    several = any(len(row.runs) > 1 for row in rows)
    headings = [f"{head}, all seeds" if several else head for head in counters.values()]
    console, table = ruled(*schemes, *keys, "seeds", *columns, *headings)
    for row in rows:
        table.add_row(
            *([row.scheme] if row.scheme is not None else []),
            *(str(value) for _, value in row.point),
            str(len(row.runs)),
            *(cell(row) for cell in columns.values()),
            *(f"{_total(row, counter):,}" for counter in counters),
        )
    for line in losses(outcomes):
        console.print(line)
    console.print(table)
    if any(cell(row) == NONE for cell in columns.values() for row in rows):
        console.print(f"{NONE}: nothing of this kind has finished")
    _print_loads(console, rows)
    _print_ratios(console, comparing.ratios(outcomes), keys)
    for line in (*comparing.identical(outcomes), *comparing.populations(outcomes)):
        console.print(line)
    total = {key: sum(o.summary[key] for o in outcomes) for key in ("packet_hops", "events")}
    console.print(
        f"{len(outcomes)} runs, {total['packet_hops']:,} packet-hops, {total['events']:,} events, "
        f"{wall_s:.2f} s"
    )


def _total(row: comparing.Row, counter: str) -> int:
    if counter == "reordered":
        return sum(reordered(run.summary) or 0 for run in row.runs)
    return row.total(counter)


def measured(rows: Sequence[comparing.Row]) -> dict[str, Callable[[comparing.Row], str]]:
    """Return the columns of a comparison, by heading. FCTs of flows that end; goodputs and the
    busiest switch port's queue of those that do not; round-trip times of probes."""
    summaries = [run.summary for row in rows for run in row.runs]
    columns: dict[str, Callable[[comparing.Row], str]] = {}
    if any(summary["fct"]["all"]["n"] for summary in summaries):
        for statistic in comparing.STATISTICS:
            columns[heading(statistic)] = partial(_fct_cell, statistic)
    incasts = sorted({place for summary in summaries for place in queries(summary)})
    for place in incasts:
        # A heading names the entry only where there are several.
        whose = "query" if len(incasts) == 1 else f"query, traffic {place},"
        for field in ("mean_us", "p99_us"):
            columns[f"{whose} {field.removesuffix('_us')}"] = partial(_query_cell, place, field)
    jobs = sorted({job["traffic"] for summary in summaries for job in summary.get("jobs", ())})
    for place in jobs:
        whose = "" if len(jobs) == 1 else f", traffic {place}"
        columns[f"time{whose}"] = partial(_job_cell, place, "time_us")
        columns[f"busbw{whose} Gbps"] = partial(_job_cell, place, "busbw_bps")
        columns[f"over ideal{whose}"] = partial(_job_cell, place, "slowdown")
    if any(summary["endless"] for summary in summaries):
        columns["goodput by class"] = _goodput_cell
        # One run without queue statistics would make a mean over other seeds than its
        # neighbours'.
        if all(s["bottleneck"] and s["bottleneck"]["mean_bytes"] is not None for s in summaries):
            columns["busiest queue"] = _queue_cell
    if any(summary.get("by_transport") for summary in summaries):
        columns["share by transport"] = _share_cell
    probes = {_probe(probe) for summary in summaries for probe in summary["probes"]}
    for probe in sorted(probes):
        whose = "RTT" if len(probes) == 1 else "RTT {} to {}, class {}".format(*probe)
        for field in ("mean_us", "p99_us"):
            columns[f"{whose} {field.removesuffix('_us')}"] = partial(_rtt_cell, probe, field)
    return columns


def _fct_cell(statistic: tuple[str, str], row: comparing.Row) -> str:
    return _estimate(row.mean(*statistic))


def _job(job: dict[str, Any]) -> str:
    """A collective's time and bandwidth; a schedule from a file has no bandwidth."""
    how = f"{job['algorithm']}, " if job["algorithm"] else ""
    of = f"{job['operation']} ({how}{job['ranks']} ranks)"
    # A repetition was still under way when the run ended.
    if job["time_us"] is None:
        return f"{of}: not completed"
    took = f"{of}: {duration(job['time_us'])}, {job['slowdown']:.3f} of the ideal"
    if job["busbw_bps"] is None:
        return took
    bandwidths = (job[field] / 1e9 for field in ("busbw_bps", "algbw_bps"))
    return "{}; busbw {:.4g} Gbps, algbw {:.4g} Gbps".format(took, *bandwidths)


def _job_cell(place: int, field: str, row: comparing.Row) -> str:
    """Mean over the seeds that completed it."""
    jobs = (job for run in row.runs for job in run.summary.get("jobs", ()))
    found = [job[field] for job in jobs if job["traffic"] == place and job[field] is not None]
    if field == "time_us":
        return _estimate(comparing.over_seeds(found))
    # Bandwidths in Gbps; a slowdown has no unit.
    scaled = (value / (1e9 if field == "busbw_bps" else 1) for value in found)
    mean = comparing.over_seeds(scaled, comparing.range_of(field))
    return NONE if mean is None else f"{mean.estimate:.4g}{_reaching(mean)}"


def queries(summary: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Completion times of incasts' rounds, by source; a request's is its flow's FCT."""
    incasts = (each for each in summary.get("by_traffic", ()) if each["kind"] == "incast")
    return {each["traffic"]: each["query"] for each in incasts if each["query"]["n"]}


def _query_cell(place: int, field: str, row: comparing.Row) -> str:
    """Mean over the seeds that have any."""
    found = (queries(run.summary).get(place, {}).get(field) for run in row.runs)
    return _estimate(comparing.over_seeds(found))


def _share_cell(row: comparing.Row) -> str:
    """Each transport's share of the goodput, mean over the seeds."""
    from switchbed import stats

    shares: dict[str, list[float]] = {}
    for run in row.runs:
        for each in run.summary.get("by_transport", ()):
            # By name: a seed whose flows of a transport all failed lacks it.
            shares.setdefault(each["transport"], []).append(each["share"])
    means = ((name, comparing.over_seeds(values, stats.SHARE)) for name, values in shares.items())
    return ", ".join(
        f"{name} {mean.estimate:.1%}{_reaching(mean)}" for name, mean in means if mean is not None
    )


def _goodput_cell(row: comparing.Row) -> str:
    """Each class's, mean over the seeds."""
    classes = sorted({c["class"] for run in row.runs for c in run.summary["classes"]})
    found = [
        comparing.over_seeds(
            sum(c["goodput_bps"] for c in run.summary["classes"] if c["class"] == k)
            for run in row.runs
        )
        for k in classes
    ]
    means = [mean for mean in found if mean is not None]
    return rates([mean.estimate for mean in means], list(map(_reaching, means)))


def _queue_cell(row: comparing.Row) -> str:
    """The busiest port's, mean over time and the seeds."""
    mean = comparing.over_seeds(run.summary["bottleneck"]["mean_bytes"] for run in row.runs)
    return NONE if mean is None else f"{mean.estimate / 1e3:.1f} KB{_reaching(mean)}"


def _rtt_cell(probe: tuple[int, int, int], field: str, row: comparing.Row) -> str:
    """Mean over the seeds in which probes came back."""
    found = [p[field] for run in row.runs for p in run.summary["probes"] if _probe(p) == probe]
    return _estimate(comparing.over_seeds(found))


def _probe(probe: dict[str, Any]) -> tuple[int, int, int]:
    return probe["src"], probe["dst"], probe["class"]


def _print_loads(console: "Console", rows: Sequence[comparing.Row]) -> None:
    """A load by both of its definitions."""
    # The first source stands for all: a swept load is the same for each.
    wire = {
        str(value): f"{row.runs[0].summary['offered'][0]['wire']:.4g} at {value}"
        for row in rows
        for key, value in row.point
        if key == "load" and row.runs[0].summary["offered"]
    }
    if wire:
        console.print(f"{LOAD}; with headers {', '.join(wire.values())}")


def _print_ratios(console: "Console", ratios: Sequence[comparing.Ratio], keys: list[str]) -> None:
    from switchbed import stats

    if not ratios:
        return
    found = dict.fromkeys((ratio.size_class, ratio.statistic) for ratio in ratios)
    jobs = [statistic for statistic in found if comparing.is_job(statistic[0])]
    statistics = [*comparing.STATISTICS, *jobs]
    console.print(
        f"{'FCT and time' if jobs else 'FCT'} against that of {ratios[0].to}: geometric mean over "
        f"paired seeds ({100 * stats.LEVEL:g} % confidence interval, in %)"
    )
    _, table = ruled("scheme", *keys, "pairs", *map(heading, statistics))
    groups: dict[tuple[str, comparing.Point], list[comparing.Ratio]] = {}
    for ratio in ratios:
        groups.setdefault((ratio.scheme, ratio.point), []).append(ratio)
    for (scheme, point), group in groups.items():
        cells = {(r.size_class, r.statistic): _change(r) for r in group}
        table.add_row(
            scheme,
            *(str(value) for _, value in point),
            # Cells of one row may rest on fewer pairs, where a size class is empty in some seeds.
            str(max(r.pairs for r in group)),
            *(cells.get(statistic, NONE) for statistic in statistics),
        )
    console.print(table)
    if looked := comparing.looked(ratios):
        console.print(looked)


def print_schemes(schemes: Sequence[dict[str, Any]]) -> None:
    """Each scheme with its source, and a line a parameter."""
    for scheme in schemes:
        seats = (f"{seat}: {who}" for seat, who in scheme["seats"].items() if who != "any")
        source = ", ".join(filter(None, (scheme["paper"], scheme["source"])))
        say(scheme["name"])
        say(f"  {scheme['summary']}")
        if source:
            say(f"  {source}")
        say(f"  {'; '.join(seats)}")
        for parameter in scheme["parameters"]:
            default = parameter["default"]
            value = "required" if parameter["required"] else default and f"default {default}"
            takes = ", ".join(filter(None, (parameter["takes"], value)))
            say(f"    {parameter['name']}: {parameter['meaning']} ({takes})")
        say()


def print_classes(classes: Sequence[dict[str, Any]]) -> None:
    """Each class that has a scheme's name, and a line a parameter."""
    for of in classes:
        say(of["name"])
        say(f"  {of['summary'] or 'No summary: the class has no docstring.'}")
        say(f"  In Python: {of['class']}")
        for parameter in of["parameters"]:
            default = parameter["default"]
            value = "required" if parameter["required"] else f"default {default}"
            say(f"    {parameter['name']} ({value})")
        say()


def print_bench(found: Sequence[dict[str, Any]]) -> None:
    """Print one row for each benchmark."""
    columns = (
        "ns/packet-hop",
        "queues off",
        "M packet-hops/s/core",
        "packet-hops",
        "events",
        "CPU",
        "peak memory",
    )
    console, table = ruled("benchmark", *columns)
    for row in found:
        each = row["ns_per_packet_hop"]
        table.add_row(
            row["scenario"],
            f"{each:.1f}",
            f"{row['queues_off']['ns_per_packet_hop']:.1f}",
            f"{1e3 / each:.2f}",
            f"{row['packet_hops']:,}",
            f"{row['events']:,}",
            f"{row['cpu_s']:.2f} s",
            f"{row['peak_rss_bytes'] / 1e6:.1f} MB",
        )
    console.print(table)


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Rows with the same keys, as a table."""
    print_frame(list(rows[0]), [list(row.values()) for row in rows])


def print_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Columns and their rows, as a table."""
    console, table = ruled(*columns)
    for row in rows:
        table.add_row(*map(_cell, row))
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def busiest_links(plans: "Sequence[Plan]") -> list[dict[str, Any]]:
    """The links that traffic offers most to, of the run that offers its own the most: `port`,
    `load` (payload over what the link carries), and whether it joins switches (`fabric`)."""
    offered = [json.loads(plan.offered) for plan in plans]
    return max(offered, key=lambda links: links[0]["load"] if links else 0.0, default=[])


def expected(hops: float, runs: int) -> str:
    """Expected packet-hops of a run, and the order of the time that all take."""
    from switchbed.links import HOP_S

    seconds = hops * runs * HOP_S
    orders = ((1, "1 s"), (10, "10 s"), (60, "a minute"), (600, "10 minutes"), (3600, "an hour"))
    order = next((f"below {name}" for most, name in orders if seconds <= most), "hours")
    count = f"{hops / 1e6:.2g} million" if hops >= 1e6 else f"{float(f'{hops:.1g}'):,.0f}"
    each = f" a run, {runs} runs" if runs > 1 else ""
    return f"about {count} packet-hops{each}: {order} of a core, at 0.5 us a packet-hop"


def in_words(links: Sequence[Mapping[str, Any]]) -> str:
    """The busiest links in a line; there are some."""
    named = ", ".join(f"{link['port']} {link['load']:.4g}" for link in links[:3])
    most = {
        fabric: max((link["load"] for link in links if link["fabric"] == fabric), default=0.0)
        for fabric in (False, True)
    }
    busier = most[True] > most[False] * (1 + 1e-9)
    note = (
        f"; the fabric's are busier than the hosts' ({most[False]:.4g} at most)" if busier else ""
    )
    return f"busiest links by offered load: {named}{note}"


def repetitions(plans: "Sequence[Plan]") -> list[dict[str, Any]]:
    """Return the links that carry most of a repetition of each collective and schedule, of the run
    in which that takes longest: `traffic`, `kind`, and `links`, each with `port`, `bytes`, `time_s`
    and `fabric`."""
    found: dict[int, dict[str, Any]] = {}
    for each in (each for plan in plans for each in json.loads(plan.repetitions)):
        longest = [links[0]["time_s"] for links in (each["links"],) if links]
        before = found.get(each["traffic"])
        if longest and (before is None or longest[0] > before["links"][0]["time_s"]):
            found[each["traffic"]] = each
    return [found[place] for place in sorted(found)]


def repetition(each: Mapping[str, Any]) -> str:
    """A repetition's busiest links in a line, one between switches among them if there is any."""
    links = each["links"]
    most = int(not any(link["fabric"] for link in links[:3]))
    named = ", ".join(
        f"{link['port']} {quantity.kb(link['bytes'])} ({quantity.us(link['time_s'])})"
        for link in [*links[:3], *[link for link in links[3:] if link["fabric"]][:most]]
    )
    return (
        f"a repetition of traffic {each['traffic']} ({each['kind']}) puts on its busiest links, "
        f"payload and time at the link's rate: {named}"
    )


def headrooms(plans: "Sequence[Plan]") -> list[dict[str, Any]]:
    """Headroom of runs with lossless classes, each once."""
    texts = dict.fromkeys(plan.headroom for plan in plans)
    return [found for text in texts if (found := json.loads(text))["links"]]


def headroom(found: Mapping[str, Any]) -> list[str]:
    """Headroom of lossless groups by kind of link and of switch, a line each."""
    lines = [
        f"headroom of a group: {of['links']:,} links of {quantity.gbps(of['rate_bps'])} and "
        f"{duration((of['delay_ns'] - of['host_ns']) / 1e3)}{_behind(of)} need "
        f"{of['needed_bytes']:,} B, {_has(of)}"
        for of in found["links"]
    ]
    for of in found["switches"]:
        others = f" and {of['switches'] - 1:,} alike" if of["switches"] > 1 else ""
        groups = of["classes"] * of["ports"]
        over = of["all_bytes"] / max(of["pool_bytes"], 1)
        held = (
            f"holds all {groups:,} groups at once"
            if of["holds_all"]
            else f"{over:.3g} times over-subscribed: all {groups:,} groups come to "
            f"{quantity.kb(of['all_bytes'])}; it holds those of the {of['holds_ports']:,} largest "
            f"of {of['ports']:,} ports at once"
        )
        pool = quantity.kb(of["pool_bytes"])
        lines.append(f"headroom pool of {of['switch']}{others}: {pool}, {held}")
    return lines


def _behind(of: Mapping[str, Any]) -> str:
    """The hosts' delay, which a device's headroom does not need."""
    if not of["host_ns"]:
        return ""
    host = duration(of["host_ns"] / 1e3)
    return f" with host.delay {host} (pauses wait for it here, not at a host's card)"


def _has(of: Mapping[str, Any]) -> str:
    if of["computed"]:
        return (
            "which they have, as the file gives none (SONiC: pg_profile_lookup.ini decides on the "
            "device)"
        )
    little = ": too little" if of["configured_bytes"] < of["needed_bytes"] else ""
    return f"and have {of['configured_bytes']:,} B{little}"


def print_warnings(outcomes: Sequence[Outcome]) -> None:
    """Print the runs' warnings to standard error."""
    for text in warnings(outcomes):
        say(f"warning: {text}", err=True)


TIMERS = "FCTs are mostly idle waits"
"""Begin of the warning that names timers under a run's means and percentiles."""
TIMED = re.compile(rf"{TIMERS} for (?:a timer|pauses), which decides? them: (of .+?\)), for (.+)")
"""The warning's populations with their statistics, and its timers."""
GROUPS = re.compile(r"of (.+?) \(((?:mean|median|\d|slowdown: )[^()]*)\)(?:, |$)")
"""A group of its populations, and their statistics."""
MAIN = ("all flows", "small flows", "medium flows", "large flows", "queries")
"""Populations that comparisons show; a class or a transport is named where none of them is."""
CELLS = 6
"""Most cells of a comparison that a warning names."""


def print_timers(outcomes: Sequence[Outcome]) -> None:
    """Print the runs' timers that figures of FCTs are mostly of to standard error."""
    for text in warnings(outcomes):
        if text.startswith(TIMERS):
            say(f"warning: {text}", err=True)


def warnings(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each kind of warning: the text that most runs gave, the number of these runs,
    and the number of runs that gave other texts of this kind."""
    kinds: dict[str, dict[str, set[int]]] = {}
    for run, outcome in enumerate(outcomes):
        for text in outcome.summary["warnings"]:
            kinds.setdefault(_kind(text), {}).setdefault(text, set()).add(run)
    if len(outcomes) == 1:
        return [text for texts in kinds.values() for text in texts]
    lines = []
    for kind, texts in kinds.items():
        if kind.startswith(TIMERS):
            lines += _timed(texts, outcomes)
            continue
        most = max(texts, key=lambda text: len(texts[text]))
        others = len(texts) - 1
        more = len(set().union(*texts.values()))
        alike = (
            f"; {others} like it, {more} runs in all: their summaries have them" if others else ""
        )
        lines.append(f"{most} ({len(texts[most])} of {len(outcomes)} runs{alike})")
    return lines


def _timed(texts: Mapping[str, set[int]], outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each timer: the cells of the comparison whose FCTs are mostly idle waits for it,
    the statistics, and the number of seeds."""
    # By timer and cell: the runs, and the populations with their statistics.
    found: dict[str, dict[str, tuple[set[int], dict[str, set[str]]]]] = {}
    for text, runs in texts.items():
        if (match := TIMED.fullmatch(text)) is None:
            continue
        for run in sorted(runs):
            cell = found.setdefault(match[2], {}).setdefault(_compared(outcomes[run]), (set(), {}))
            cell[0].add(run)
            for names, figures in GROUPS.findall(match[1]):
                statistics = {part for words in figures.split(";") for part in _deciding(words)}
                for name in re.split(", | and ", names):
                    cell[1].setdefault(name, set()).update(statistics)
    sizes = Counter(map(_compared, outcomes))
    lines = []
    for timers, cells in found.items():
        shown = [
            f"{cell} ({_populations(populations)}; {len(runs)} of {sizes[cell]} runs)"
            for cell, (runs, populations) in cells.items()
        ]
        more = [f"{len(shown) - CELLS} more cells"] if len(shown) > CELLS else []
        lines.append(f"{TIMERS} for {timers}: {'; '.join(shown[:CELLS] + more)}")
    return lines


STATISTICS = ("mean", "median", "95th", "99th", "99.9th")
"""Figures that a timer can decide, as warnings have them."""
ALL_STATISTICS = "mean and all percentiles"


def _deciding(words: str) -> Sequence[str]:
    """The figures of `slowdown: 95th, 99th percentile`."""
    words = words.strip().removeprefix("slowdown: ").removesuffix(" percentile")
    if words == ALL_STATISTICS:
        return STATISTICS
    # Brackets have other things, too, such as what kind of traffic an entry is.
    return [part for part in words.split(", ") if part in STATISTICS]


def _populations(found: Mapping[str, set[str]]) -> str:
    """`all flows: 99.9th percentile; large flows: 99th, 99.9th percentile`."""
    shown = {name: of for name, of in found.items() if name.startswith(MAIN)} or found
    alike: dict[str, list[str]] = {}
    for name, statistics in shown.items():
        alike.setdefault(_statistics(statistics), []).append(name)
    return "; ".join(f"{' and '.join(names)}: {said}" for said, names in alike.items())


def _statistics(found: Collection[str]) -> str:
    """`mean, 95th, 99th percentile`, in this order."""
    if len(found) == len(STATISTICS):
        return ALL_STATISTICS
    ranks = [name for name in STATISTICS if name in found]
    return ", ".join(ranks) + (" percentile" if ranks and ranks[-1].endswith("th") else "")


def _compared(outcome: Outcome) -> str:
    """Scheme and settings of a run without its seed: `MQ-ECN, load 0.3`."""
    of = [f"{key.rpartition('.')[2]} {value}" for key, value in comparing.point(outcome)]
    return ", ".join(filter(None, (comparing.label(outcome), *of))) or "all runs"


def _kind(warning: str) -> str:
    """Key that warnings share which differ in numbers, or only after a whole sentence."""
    head = warning.partition(": ")[0]
    return re.sub(r"\d[\d.,]*", "#", head if head.count(" ") + 1 >= LEAST_WORDS else warning)


def duration(us: float | None) -> str:
    """Microseconds in the unit that reads best, four digits."""
    if us is None:
        return NONE
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{us / size:.4g} {unit}"
    return f"{us:.4g} us"


def rates(bps: Sequence[float], reaches: Sequence[str] = ()) -> str:
    """Rates in one unit, four digits, each with how far its interval reaches: `12.3 ±1.2% +
    9.87 ±0.4% Gbps`."""
    scale, unit = (1e9, "Gbps") if max(bps, default=0) >= 10e9 else (1e6, "Mbps")
    ends = reaches or [""] * len(bps)
    each = (f"{one / scale:.4g}{end}" for one, end in zip(bps, ends, strict=True))
    return " + ".join(each) + f" {unit}"


def _estimate(mean: "stats.Interval | None") -> str:
    """The mean over seeds, with how far its interval reaches where there are several."""
    if mean is None:
        return duration(None)
    return f"{duration(mean.estimate)}{_reaching(mean)}"


def _reaching(mean: "stats.Interval") -> str:
    """The reach of an interval behind its estimate; nothing for one seed."""
    return f" {reach(mean)}" if mean.n > 1 else ""


def reach(mean: "stats.Interval") -> str:
    """How far an interval reaches in percent of its estimate: `±3.1%` or, where it is not
    symmetric, `−24 to +31%`."""
    if mean.low is None or mean.high is None:
        from switchbed import stats

        return f"({stats.FEW})"
    if mean.low == mean.high:
        return "±0%"
    below, above = (100 * abs(end / mean.estimate - 1) for end in (mean.low, mean.high))
    if above <= 1.1 * below and below <= 1.1 * above:
        return f"±{_percent(max(below, above))}%"
    return f"−{_percent(below)} to +{_percent(above)}%"


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _change(ratio: comparing.Ratio) -> str:
    bounds = ratio.change.bounds
    return ratio.change.words + (f" ({bounds})" if bounds else "")


def heading(statistic: tuple[str, str]) -> str:
    """`small p99` for ("small", "p99_us")."""
    size_class, field = statistic
    return f"{size_class} {field.removesuffix('_us')}"


def of_flows(statistic: tuple[str, str]) -> str:
    """`FCT small p99`, or `job time`."""
    return ("" if comparing.is_job(statistic[0]) else "FCT ") + heading(statistic)


def _counters(summary: dict[str, Any]) -> str:
    return (
        f"{_flows(summary)} · {summary['marks']:,} marks"
        f"{_notifications(summary)} · {summary['drops']:,} drops"
        f"{_lost(summary)}{_reordered(summary)}"
        f" · {summary['timeouts']:,} timeouts{_waits(summary)}"
        f" · {summary['goodput_bps'] / 1e9:.4g} Gbps goodput"
    )


def _lost(summary: dict[str, Any]) -> str:
    """Packets that lines lost, as events said: no port dropped them."""
    lost = summary.get("lost", 0)
    return f" · {lost:,} lost on links" if lost else ""


def reordered(summary: dict[str, Any]) -> int | None:
    """Packets that came ahead of others; `None` where those may have been lost."""
    if summary["drops"] or summary.get("lost", 0):
        return None
    return int((summary.get("early") or {}).get("packets", 0))


def _reordered(summary: dict[str, Any]) -> str:
    packets = reordered(summary)
    return f" · {packets:,} packets reordered" if packets else ""


def _waits(summary: dict[str, Any]) -> str:
    """Timeouts of a run or transport other than those of sent data, and waits for other timers
    beside them; older summaries do not say."""
    waits = summary.get("waits", {})

    def counted(words: Mapping[str, str], what: str) -> str:
        found = (f"{waits[name]:,} {what}{of}" for name, of in words.items() if waits.get(name))
        return ", ".join(found)

    timeouts = counted({"syn": "lost SYNs", "rto_initial": "rto_initial"}, "for ")
    beside = counted({"probe": "tail loss probes", "delayed_ack": "delayed ACKs"}, "waits for ")
    return (f" ({timeouts})" if timeouts else "") + (f", {beside}" if beside else "")


def _transport(each: dict[str, Any]) -> str:
    """One transport's share of the goodput, and what its flows counted."""
    shared = f", Jain's index {each['endless']['jain']:.4f}" if each["endless"] else ""
    return (
        f"{each['transport']}: {each['goodput_bps'] / 1e9:.4g} Gbps goodput"
        f" ({each['share']:.1%}){shared} · {each['flows']:,} flows · {each['timeouts']:,} timeouts"
        f"{_waits(each)} · {each['retransmissions']:,} retransmissions"
        f" · {each['ecn_cuts']:,} cuts for marks"
        f" · {each['marks']:,} marks · {each['drops']:,} drops{_wait(each['wait'])}"
    )


def _wait(wait: dict[str, Any]) -> str:
    """How long the packets of a transport's data were queued at a switch."""
    if not wait["n"]:
        return ""
    mean, p99 = (duration(wait[field]) for field in ("mean_us", "p99_us"))
    return f" · wait in a queue: mean {mean}, p99 {p99}"


def _probes(probe: dict[str, Any]) -> str:
    src, dst, service = _probe(probe)
    times = (f"{name} {duration(probe[f'{name}_us'])}" for name in ("mean", "p50", "p99"))
    lost = f", {probe['lost']:,} not back" if probe["lost"] else ""
    whose = f"{probe['n']:,} probes from {src} to {dst} in class {service}"
    return f"round trips of {whose}: {', '.join(times)}{lost}"


def _flows(summary: dict[str, Any]) -> str:
    flows, endless = summary["flows"], summary["endless"]
    finished = f"{flows['finished']:,} of {flows['count']:,} flows finished"
    if failed := flows.get("failed"):
        finished += f", {failed:,} failed"
    if endless is None:
        return finished
    shared = f"{endless['n']:,} endless flows, Jain's index {endless['jain']:.4f}"
    return f"{finished} · {shared}" if flows["finished"] else shared


def _load(offered: dict[str, Any]) -> str:
    load = f"{LOAD}, {offered['payload']:.4g}; with headers {offered['wire']:.4g}"
    means = (f"{table['name']} {table['mean_bytes'] / 1e3:,.1f} KB" for table in offered["sizes"])
    return f"{load}; mean flow sizes: {', '.join(means)}"


def _pauses(pauses: dict[str, Any]) -> list[str]:
    if not pauses["count"]:
        return ["nothing was paused"]
    longest = f"{pauses['longest_port']} longest, {duration(pauses['longest_s'] * 1e6)}"
    line = f"{pauses['count']:,} pauses of {duration(pauses['held_s'] * 1e6)} in all, {longest}"
    # Flows without a path of their own are not counted.
    if pauses["flows"] is not None:
        line += f"; they held {pauses['flows']:,} flows, {pauses['victims']:,} of them victims"
    storms = f"storms that the watchdog ended: {pauses['storms']:,}" if pauses["storms"] else ""
    deadlocks = f"deadlocks: {pauses['deadlocks']:,}" if pauses["deadlocks"] else ""
    return ["; ".join(filter(None, (line, storms, deadlocks)))]


def _bottleneck(port: dict[str, Any]) -> str:
    text = f"busiest switch port {port['port']}: {port['utilisation']:.1%} of the time sending"
    if port["mean_bytes"] is None:
        return text
    mean, longest = port["mean_bytes"] / 1e3, port["max_bytes"] / 1e3
    return f"{text}; its queues held {mean:.1f} KB on average, {longest:.1f} KB at most"


def _speed(summary: dict[str, Any], wall_s: float) -> str:
    hops = summary["packet_hops"]
    each = f" of {wall_s * 1e9 / hops:.0f} ns" if hops else ""
    return f"{hops:,} packet-hops{each}, {summary['events']:,} events, {wall_s:.2f} s"


def columns() -> int:
    """Return the width of the output."""
    if not sys.stdout.isatty():
        return WIDE
    import shutil

    return shutil.get_terminal_size().columns


def say_wrapped(lines: Iterable[str]) -> None:
    """Print lines, wrapped to the width of the output."""
    for line in lines:
        for part in textwrap.wrap(line, columns(), break_on_hyphens=False):
            say(part)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: as rich does it, which takes longer to import than a short run takes, where
    the width of a cell is known and the table is no wider than the output."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    total = sum(widths) + len(GAP) * (len(widths) - 1)
    texts = "".join(text for row in (headings, *rows) for text in row)
    if total + 2 > columns() or not texts.replace(NONE, "").isascii():
        console, table = ruled(*headings)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    lines = [" " * total]
    for row in (headings, *rows):
        first, *others = zip(row, widths, strict=True)
        lines.append(GAP.join((first[0].ljust(first[1]), *(text.rjust(n) for text, n in others))))
    lines[2:2] = ["─" * total]
    lines.append(" " * total)
    for nth, line in enumerate(lines):
        say(f" {line} ", bold=nth == 1)


def ruled(first: str, *others: str) -> tuple["Console", Any]:
    from rich import box
    from rich.table import Table

    from switchbed.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDE, soft_wrap=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return console, table


def _notifications(summary: dict[str, Any]) -> str:
    """How many were sent, if any."""
    sent = summary.get("notifications", 0)
    return f" · {sent:,} notifications" if sent else ""


def print_conformance(found: dict[str, Any]) -> None:
    """Prints a scheme's result of the conformance suite."""
    failure = found["failure"]
    if failure is None:
        say(
            f"{found['scheme']} keeps every promise: {found['cases']} cases, {found['sequences']} "
            f"sequences each, {found['operations']:,} operations"
        )
        return
    say(f"{failure['case']}: {failure['message']}")
    operations = failure["operations"]
    say(f"after these {len(operations)} operations (sequence {failure['sequence']}):")
    for operation in operations:
        say(f"  {operation}")
