"""What the pages of the documentation show works: commands, Python and scenarios, in the order of
the page and in a directory of its own, with short scenarios of the same names.

A block of commands runs unless its first line says why not (`MARK`); then its commands must at
least be ones. `make` is only asked whether it could.
"""

import ast
import contextlib
import io
import itertools
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import pytest
from forked import Forks

import switchbed as sb
from switchbed._native import plans
from switchbed.cli import cli

ROOT = Path(__file__).parents[3]
DOCS = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
PAGES = ["README.md", "CONTRIBUTING.md", "papers/README.md", *DOCS]
LONG = {
    f"docs/{name}.md"
    for name in (
        "choosing",
        "coexistence",
        "collectives",
        "fabric-for-collectives",
        "mixed-stacks",
        "plots",
        "prototyping",
        "python",
        "roce",
        "sweeps",
        "theory",
        "tune",
        "tutorial",
    )
}
"""Pages whose commands take longest: `make validate` runs them."""
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)
SAVED = re.compile(r"as `([\w-]+\.\w+)`:\n\n```\w+\n(.*?)^```$", re.S | re.M)
SHOWN = ("", "{commands}", "{toctree}", "{eval-rst}", "rust", "yaml", "ini")
"""Blocks that are no commands: `rust` is the doc tests' business, others are other programs'."""
MARK = re.compile(
    r"# (Needs (?:root|ns-3|a Ray cluster|Slurm|SONiC's models|a switch's files|a live switch)|"
    r"Takes (?:minutes|an hour|hours)|Writes into your home): "
    r"not run by the tests\.\n"
)
PROGRAMS = r"(?:sudo )?(?:\.venv/bin/)?(?:switchbed|python|make|cargo) "
SHORT = {
    "mqecn-fig1": {'until = "5s"': 'until = "150ms"'},
    "mqecn-fig3": {'until = "10s"': 'until = "600ms"'},
    "mqecn-fig6": {'until = "10s"': 'until = "600ms"'},
    "star-dctcp": {'until = "200ms"': 'until = "50ms"'},
    "dumbbell": {'until = "200ms"': 'until = "60ms"'},
}
"""What makes a scenario of `scenarios/` a short one beside few flows, one load and one seed."""


def blocks(page: str) -> list[tuple[str, str]]:
    """The page's blocks: language and content."""
    return FENCE.findall((ROOT / page).read_text())


def folder(page: str, place: Path) -> None:
    """What a page's commands find: short scenarios, the program, and the files that it shows."""
    (place / "scenarios").mkdir()
    for file in (ROOT / "scenarios").iterdir():
        text = file.read_text()
        for old, new in SHORT.get(file.stem, {}).items():
            assert old in text, file
            text = text.replace(old, new)
        if file.suffix == ".toml":
            text = re.sub(r"^flows = [\d_]+", "flows = 50", text, flags=re.M)
            text = re.sub(r"^load = \[.*\]", "load = [0.5]", text, flags=re.M)
            text = re.sub(r"^seed = \[.*\]", "seed = [1]", text, flags=re.M)
        (place / "scenarios" / file.name).write_text(text)
    (place / ".venv").symlink_to(sys.prefix)
    for name, content in SAVED.findall((ROOT / page).read_text()):
        (place / name).write_text(content)


def small(commands: str) -> str:
    """The same with few flows where they are set or a file of the page has many, with two seeds and
    the last two loads of three; of `make` only what it would do; without what other tests run."""
    commands = re.sub(r"\bflows=\d+", "flows=20", commands)
    commands = re.sub(r"--seeds \d+", "--seeds 2", commands)
    commands = commands.replace("--precision 5%", "--precision 50%")
    commands = re.sub(r"(compare\.load=\[)[^,\]]+, *(?=[^,\]]+,)", r"\1", commands)
    commands = re.sub(
        r"switchbed sweep (?!scenarios/|@l4s-)", "switchbed sweep --set flows=20 ", commands
    )
    commands = re.sub(
        r"switchbed tune (\S+)",
        r"switchbed tune \1 --seeds 5 --set flows=10 --set measure.warmup=0us --rtt 90us",
        commands,
    )
    return re.sub(r"^make ([\w-]+)", rf"make -n -C '{ROOT}' \1", commands, flags=re.M)


def plain(commands: str) -> list[list[str]] | None:
    """The words of each command, if nothing but `switchbed` is called and a shell has nothing to
    add to them."""
    commands = commands.replace("\\\n", " ")
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", commands)
    if re.search(r"[|<>;&$*?~`()]", bare):
        return None
    # What is in quotes may have lines.
    lines = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^\n])+", commands)
    words = [split for line in lines if (split := shlex.split(line, comments=True))]
    called = all(Path(split[0]).name == "switchbed" for split in words)
    return [split[1:] for split in words] if called else None


def shell(commands: str, place: Path, forks: Forks) -> str:
    """What the commands print."""
    commands = small(commands)
    if (runs := plain(commands)) is not None:
        printed = ""
        for words in runs:
            done = forks.run(words, place)
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            printed += done.stdout
        return printed
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (commands, done.stdout, done.stderr)
    return done.stdout


def python(snippet: str, names: dict[str, Any]) -> str:
    """What the snippet prints. Where a line says `# 21.9`, that is what it comes to."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(snippet, "<page>", "exec"), names)
        for line in snippet.splitlines():
            told = re.match(r"(\S.*\S)\s+# ([\d.]+)", line)
            if told and isinstance(ast.parse(told[1]).body[0], ast.Expr):
                digits = len(told[2].partition(".")[2])
                assert f"{eval(told[1], names):.{digits}f}" == told[2], line
    return printed.getvalue()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if page in LONG else [])
        for page in PAGES
        if any(language for language, _ in blocks(page))
    ],
)
def test_what_a_page_shows_runs(page: str, tmp_path: Path, forks: Forks) -> None:
    folder(page, tmp_path)
    saved = {content for _, content in SAVED.findall((ROOT / page).read_text())}
    names: dict[str, Any] = {}
    printed = ""
    for language, content in blocks(page):
        if language not in ("toml", "python") and content in saved:
            continue
        if language == "sh":
            mark = MARK.match(content)
            if mark is None:
                printed = shell(content, tmp_path, forks)
            elif mark[1] == "Needs root":
                assert "sudo " in content, content
        elif language == "python" and content not in saved:
            with contextlib.chdir(tmp_path):
                printed = python(content.replace("precision=0.05", "precision=0.5"), names)
        elif language == "toml":
            scenario(content, tmp_path, forks)
        elif language == "text":
            have = [line.split() for line in printed.splitlines()]
            for line in content.splitlines():
                assert line.split() in have, f"{page} shows {line!r}; printed was {printed}"
        elif language == "json":
            files = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
            assert json.loads(content) in files, f"{page} shows {content}"
        elif language not in ("python", *SHOWN):
            raise AssertionError(f"{page} has a block of {language!r}; commands are `sh`")


def scenario(content: str, place: Path, forks: Forks) -> None:
    """It would run: whole, or with what it does not say as in an ordinary scenario."""
    values = tomllib.loads(content)
    if "live" in values:
        (place / "shown.toml").write_text(content)
        shell("switchbed live check shown.toml", place, forks)
        return
    if "based_on" in values:
        (place / "shown.toml").write_text(content)
        shell("switchbed host show shown.toml", place, forks)
        return
    if {"topology", "traffic"} <= values.keys():
        (place / "shown.toml").write_text(content)
        plans(place / "shown.toml")
        return
    base: dict[str, Any] = {
        "topology": {"kind": "star", "hosts": 64, "rate": "10Gbps", "delay": "5us"},
        "switch": {"queues": 4, "discipline": "dwrr", "buffer": "300KB"},
        "scheme": {"name": "per-queue", "params": {"threshold": "20pkt"}},
        "transport": {"kind": "dctcp"},
        "traffic": [{"kind": "poisson", "load": 0.1, "flows": 50, "sizes": "30KB"}],
    }
    if "memory" in values.get("switch", {}):
        del base["switch"]
        base["topology"]["hosts"] = 8
    with contextlib.chdir(place):
        assert sb.Scenario({**base, **values}).plans


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_where_they_are_run(page: str) -> None:
    text = (ROOT / page).read_text()
    for language, content in blocks(page):
        if language in SHOWN:
            assert not re.search(rf"^(?:\$ )?{PROGRAMS}", content, re.M), (page, content)
    outside = FENCE.sub("", text)
    assert not re.search(rf"^ {{4,}}(?:\$ )?{PROGRAMS}", outside, re.M), page


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_are_the_programs(page: str) -> None:
    check_commands_in_text(page, (ROOT / page).read_text())


def check_commands_in_text(page: str, text: str) -> None:
    """Of a page: what it names in passing, and in blocks that tests do not run."""
    unrun = "\n".join(content for _, content in FENCE.findall(text) if MARK.match(content))
    inline = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    lines = unrun.replace("\\\n", " ").splitlines()
    for command in (*inline, *lines):
        words = re.sub(r"^(?:sudo )?(?:\.venv/bin/)?", "", command)
        if words.startswith("switchbed "):
            program(words, page)
        elif words.startswith("make "):
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{re.escape(words.split()[1])}:", makefile, re.M), (page, command)


def program(text: str, page: str) -> None:
    """A command of `switchbed` that there is, with options that it has; `…` and capitals stand for
    others."""
    words = shlex.split(text, comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group) and words and re.fullmatch(r"[a-z][\w-]*", words[0]):
        found = command.get_command(click.Context(command), words[0])
        assert found, f"{page}: {text}: there is no command {words[0]!r}"
        command, words = found, words[1:]
    params = [param for one in below(command) for param in one.params]
    has = {option for param in params for option in (*param.opts, *param.secondary_opts)}
    for word in words:
        if word.startswith("--") and word != "--help":
            assert word.partition("=")[0] in has | {"--version"}, f"{page}: {text}: no {word}"


def below(command: click.Command) -> Iterator[click.Command]:
    """The command, and those of a group."""
    yield command
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from below(one)


def test_the_readmes_example_says_what_it_finds() -> None:
    said = re.search(
        r"here: ([\d.]+) KB .* ([\d.]+) KB when departures", (ROOT / "README.md").read_text()
    )
    assert said is not None
    whole = sb.Scenario.from_file(ROOT / "scenarios/star-dctcp.toml")
    for value, at in zip(said.groups(), ("enqueue", "dequeue"), strict=True):
        found = whole.with_({"scheme.params.mark_at": at}).run().summary()["bottleneck"]
        assert f"{found['mean_bytes'] / 1e3:.1f}" == value


SCHEMES = ROOT / "docs/schemes"
FIGURE_2 = ROOT / "scenarios/cqrd-fig2.toml"
COMMAND = "`switchbed run scenarios/cqrd-fig2.toml`"


@pytest.fixture(scope="module")
def averages() -> dict[str, str]:
    """The small flows' of each scheme of the figure, as pages print them."""
    found = sb.Scenario.from_file(FIGURE_2).run_all()
    return {
        run.scenario["scheme"]["label"]: f"{run.summary()['fct']['small']['mean_us']:.1f} µs"
        for run in found
    }


def test_the_table_of_cqrd_is_what_its_command_prints(averages: dict[str, str]) -> None:
    text = (SCHEMES / "cqrd.md").read_text()
    head, here = (
        re.search(pattern, text, re.MULTILINE)
        for pattern in (r"^\| \|( `oq` .*)\|$", r"^\| here \|(.*)\|$")
    )
    assert COMMAND in text
    assert head is not None
    assert here is not None
    names = [cell.strip(" `") for cell in head[1].split("|")]
    values = [cell.strip() for cell in here[1].split("|")]
    assert dict(zip(names, values, strict=True)) == averages


def table(page: str, head: str) -> list[list[str]]:
    """The cells of the page's table whose first line begins so."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(head))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[at + 2 :])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.long
@pytest.mark.parametrize("figure", ["8", "11"])
def test_the_figures_of_cqrd_are_what_their_scenarios_find(figure: str) -> None:
    means: dict[str, dict[float, list[float]]] = {}
    for run in sb.Scenario.from_file(ROOT / f"scenarios/cqrd-fig{figure}.toml").run_all():
        by_load = means.setdefault(run.scenario["scheme"]["label"], {})
        small = by_load.setdefault(run.scenario["traffic"][0]["load"], [])
        small.append(run.summary()["fct"]["small"]["mean_us"])

    def lower(name: str) -> str:
        pairs = zip(means[name].values(), means["oq"].values(), strict=True)
        return ", ".join(f"{100 * (1 - fmean(ours) / fmean(oq)):.0f}" for ours, oq in pairs) + " %"

    lines = {line[0]: line[1:] for line in table("schemes/cqrd.md", "| lower than `oq` at")}
    names = ["hcf", "cq", "cqrd", "cqrd-configured"]
    assert lines[f"figure {figure}"] == [lower(name) if name in means else "" for name in names]


Found = dict[str, dict[str, Any]]


def less(found: Found, one: str, base: str) -> float:
    """By how many percent the busiest line is less full."""
    full = [found[name]["bottleneck"]["utilisation"] for name in (one, base)]
    return float(100 * (1 - full[0] / full[1]))


def part(found: Found, one: str, base: str) -> float:
    """The mean of the busiest queue in percent of another scheme's."""
    means = [found[name]["bottleneck"]["mean_bytes"] for name in (one, base)]
    return float(100 * means[0] / means[1])


def longest(found: Found) -> list[float]:
    """Of each scheme, in KB."""
    return [each["bottleneck"]["max_bytes"] / 1e3 for each in found.values()]


def full(found: Found) -> list[float]:
    """The share of the time that the busiest line sends, in percent."""
    return [100 * each["bottleneck"]["utilisation"] for each in found.values()]


def of_two_queues(found: Found) -> list[float]:
    """The one flow's goodput, and both queues', in Gbps; the mean queue beside a step a queue's."""
    each = [row["goodput_bps"] / 1e9 for row in found["step a port, 65 packets"]["classes"]]
    return [each[0], sum(each), part(found, "PMSB, 65 packets", "step a queue, 65 packets")]


def of_ten_senders(found: Found) -> list[float]:
    """How far goodputs under AFD are from an equal share in percent, the ends of those without, in
    Mbps, and the mean queue in KB."""
    rates = {
        name: [row["goodput_bps"] / 1e6 for row in each["classes"]] for name, each in found.items()
    }
    off = max(abs(rate / 960 - 1) for rate in rates["afd"])
    queue = found["afd"]["bottleneck"]["mean_bytes"] / 1e3
    return [100 * off, min(rates["none"]), max(rates["none"]), queue]


STEP = "step, 65 packets"
PRINTED: dict[str, tuple[str, str, Callable[[Found], list[float]]]] = {
    "pie": (
        "@aqm-joining",
        r"the link (\d+) % less full than under the step",
        lambda found: [less(found, "PIE, 50 us", STEP)],
    ),
    "ecn-sharp": (
        "@aqm-joining",
        r"keeps the queue at (\d+) % of the step's average, for ([\d.]+) % of the link",
        lambda found: [
            part(found, "ECN#, 70 and 10 us", STEP),
            less(found, "ECN#, 70 and 10 us", STEP),
        ],
    ),
    "pmsb": (
        "@aqm-two-queues",
        r"leaves the one flow ([\d.]+) of ([\d.]+) Gbps; PMSB .* with (\d+) % of the queue",
        of_two_queues,
    ),
    "e-ecn": (
        "@e-ecn-joining",
        r"the queue to (\d+) KB under step marking .* reaches (\d+) KB .* and (\d+) KB under",
        longest,
    ),
    "afd": (
        "@afd-unequal",
        r"within ([\d.]+) %\. Tail drop .* (\d+) and ([\d,]+)\. .* (\d+) KB where",
        of_ten_senders,
    ),
    "cedm": ("@cedm-bursts", r"is (\d+) % used instead of (\d+) %", lambda f: full(f)[::-1]),
    "dualpi2": (
        "@l4s-joining",
        r"is (\d+) % of that under a step of 65 packets, and the line is (\d+) % less full",
        lambda found: [
            part(found, "DualPI2, 50 us", STEP),
            less(found, "DualPI2, 50 us", STEP),
        ],
    ),
}
"""By page: its scenario, what it prints of it, and where that comes from."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page == "afd" else []) for page in PRINTED],
)
def test_what_a_schemes_page_prints_is_what_its_scenario_finds(page: str) -> None:
    name, pattern, find = PRINTED[page]
    text = (SCHEMES / f"{page}.md").read_text().replace("\n", " ")
    assert f"scenarios/{name[1:]}.toml" in text
    printed = re.search(pattern, text)
    assert printed is not None
    after = re.search(r"`--set measure.warmup=(\w+)`", text)
    sets = {"measure.warmup": after[1]} if after else {}
    runs = sb.Scenario.from_file(name).with_(sets).run_all()
    found = find({run.label: run.summary() for run in runs})
    for digits, value in zip(printed.groups(), found, strict=True):
        assert f"{value:,.{len(digits.partition('.')[2])}f}" == digits


RATES = ("time_s", "class", "goodput_bps", "fair_bps")


@pytest.mark.long
def test_the_goodputs_of_af_qcn_are_what_its_scenarios_find() -> None:
    text = (SCHEMES / "af-qcn.md").read_text().replace("\n", " ")

    def goodputs(name: str, sets: dict[str, Any]) -> list[list[float]]:
        runs = sb.Scenario.from_file(name).with_(sets).run_all()
        return [[row["goodput_bps"] / 1e9 for row in run.summary()["classes"]] for run in runs]

    def printed(pattern: str) -> tuple[str, ...]:
        found = re.search(pattern, text)
        assert found is not None, pattern
        return found.groups()

    # All six flows; then flow 0 is capped.
    window = {"measure.warmup": "5500ms", "run.until": "6999ms", "event": []}
    qcn, af_qcn = goodputs("@afqcn-fig10", window)
    within, left = printed(r"within (\d+) % of their max-min .* three links (\d+) % of its share")
    share = sum(af_qcn[flow] for flow in (0, 1, 2, 4)) / 4
    shares = [share, share, share, 2 * share, share, 2 * share]
    assert af_qcn == pytest.approx(shares, rel=int(within) / 100)
    assert f"{100 * qcn[0] / share:.0f}" == left
    held, whole = printed(r"it is held to ([\d.]+) Gbps of payload .* and gets ([\d.]+) where")
    sets = {"measure.warmup": "1s", "compare.scheme": ["af-qcn"]}
    low, high = goodputs("@afqcn-fig11", sets)
    assert (f"{high[3]:.2f}", f"{low[3]:.2f}") == (held, whole)
    gets, brought = printed(r"that flow gets (\d+) Mbps .* of 2 KB brings it to (\d+)\.")
    _, weighted, lower = goodputs("@afqcn-fig13", {})
    assert (f"{1e3 * weighted[0]:.0f}", f"{1e3 * lower[0]:.0f}") == (gets, brought)
    # Weights, and from 2 s on a cap; half a second after each change is left out.
    (far,) = printed(r"Payload is within (\d+) % of what is due")
    sampled = sb.Scenario.from_file("@afqcn-fig9").run_all()[1].goodput
    both: list[float] = []
    for begin, end in ((0.5, 2), (2.5, 4)):
        by_class: dict[int, list[tuple[float, float]]] = {}
        for at, flow, rate, fair in sampled.select(*RATES).rows():
            if begin < at <= end:
                by_class.setdefault(flow, []).append((rate, fair))
        columns = [zip(*pairs, strict=True) for pairs in by_class.values()]
        both += [fmean(rates) / fmean(fair) - 1 for rates, fair in columns]
    assert f"{100 * max(map(abs, both)):.0f}" in (far, f"{int(far) - 1}")


@pytest.mark.long
def test_fairness_and_short_flows_of_qcn_are_what_its_scenarios_find() -> None:
    page = (SCHEMES / "qcn.md").read_text().replace("\n", " ")
    printed = re.search(r"(\d+) % are off the fair share by .* quarter; with .* (\d+) %\.", page)
    assert printed is not None
    off = []
    for run in sb.Scenario.from_file("@afqcn-fig8").run_all():
        rows = [row for row in run.goodput.select(*RATES).rows() if row[0] > 0.5]
        far = sum(abs(rate / fair - 1) > 0.25 for _, _, rate, fair in rows)
        off.append(f"{100 * far / len(rows):.0f}")
    assert tuple(off) == printed.groups()
    ends = (1e3, 1e4, 1e5, 1e6, math.inf)
    runs = [
        [row for row in run.flows.select("size_bytes", "fct_s").rows() if row[1] is not None]
        for run in sb.Scenario.from_file("@afqcn-table1").run_all()
    ]
    lines = table("schemes/af-qcn.md", "| flow size |")
    for (size, here, _), (low, high) in zip(lines, itertools.pairwise(ends), strict=True):
        bins = [[1e3 * fct for bytes_, fct in flows if low <= bytes_ < high] for flows in runs]
        assert f"({len(bins[0])} flows)" in size or high < math.inf
        qcn, af_qcn = map(fmean, bins)
        digits = 2 if qcn < 10 else 1
        assert here == f"{qcn:.{digits}f} → {af_qcn:.{digits}f}, {100 * (1 - af_qcn / qcn):.0f} %"


@pytest.mark.long
def test_what_hosts_without_ecn_get_is_what_the_sweep_finds() -> None:
    sets = {"compare.host.1.share": [0.25, 0.5, 0.75], "compare.run.seed": [1, 2, 3, 4, 5]}
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for run in sb.Scenario.from_file("@mixed-stacks").with_(sets).run_all():
        by = {each["transport"]: each for each in run.summary()["by_transport"]}
        case = (run.scenario["scheme"]["label"], f"{100 * run.scenario['host'][1]['share']:.0f} %")
        cubic, dctcp = by["cubic"], by["dctcp"]
        found.setdefault(case, []).append((100 * cubic["share"], dctcp["marks"], cubic["drops"]))
    means = {
        case: [fmean(column) for column in zip(*rows, strict=True)] for case, rows in found.items()
    }
    for scheme, share, *cells in table(
        "mixed-stacks.md", "| scheme | without ECN | CUBIC's share |"
    ):
        got = means[scheme, share]
        printed = [cell.split(" ")[0] for cell in cells]
        assert printed == [f"{got[0]:.1f}", f"{got[1]:,.0f}", f"{got[2]:,.0f}"]


@pytest.mark.long
def test_what_a_storm_costs_is_what_each_watchdog_finds() -> None:
    page = (ROOT / "docs/pfc.md").read_text().replace("\n", " ")
    said = re.search(r"held for ([\d.]+) ms, .* for ([\d.]+) ms, .* forwards for ([\d.]+) ms", page)
    assert said is not None
    found: dict[str, tuple[str, str]] = {}
    polls = {"looks every 100 us": "100us", "every 200 us": "200us"}
    for words, poll in {
        "exact": None,
        **polls,
        "every 500 us": "500us",
        "every 1 ms": "1ms",
    }.items():
        sets = {} if poll is None else {"switch.pfc.poll": poll}
        for nth, run in enumerate(sb.Scenario.from_file("@pfc-storm").with_(sets).run_all()):
            kind, told = run.scenario["switch"]["pfc"]["watchdog"], run.summary()
            name = kind if kind == "off" else f"`{kind}`, {words}"
            found[name] = (f"{told['goodput_bps'] / 1e9:.1f} Gbps", f"{told['drops']:,}")
            if poll is None:
                waited = 1e3 * max(run.flows["waited_s"].to_list()[:2])
                assert f"{waited:.1f}" == said[nth + 1]
    for name, _, goodput, lost, _ in table("watchdog.md", "| watchdog |"):
        whole = name if name in found else f"`drop`, {name}"
        assert (goodput, lost) == found[whole]


def test_shares_of_transports_are_what_their_commands_find() -> None:
    page = (ROOT / "docs/coexistence.md").read_text().replace("\n", " ")
    (told,) = sb.Scenario.from_file("@dctcp-beside-cubic").run_all()
    cubic, dctcp = (f"{100 * each['share']:.1f}" for each in told.summary()["by_transport"])
    assert f"CUBIC gets {cubic} % of the goodput, DCTCP {dctcp} %;" in page


def test_sprayed_messages_end_when_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs/unordered.md").read_text()
    for name, content in SAVED.findall(page):
        (tmp_path / name).write_text(content)
    said = re.search(
        r"after ([\d.]+) µs \(`rccc`\), ([\d.]+) \(`nscc`\) and ([\d.]+) \(`nscc-rccc`\)",
        page.replace("\n", " "),
    )
    assert said is not None
    for kind, printed in zip(("rccc", "nscc", "nscc-rccc"), said.groups(), strict=True):
        run = sb.Scenario.from_file(tmp_path / "sprayed.toml").with_({"transport.kind": kind}).run()
        assert f"{1e6 * max(run.flows['fct_s'].to_list()):.1f}" == printed


def test_the_queue_under_each_policy_is_what_its_scenario_finds() -> None:
    text = (ROOT / "docs/buffers.md").read_text().replace("\n", " ")
    printed = re.search(r"`lqd` takes (\d+) of its (\d+) packets back within 0.3 ms;", text)
    assert printed is not None
    whole = sb.Scenario.from_file("@buffers-sharing")
    policies = {
        run.scenario["switch"]["policy"]: run
        for run in whole.with_({"measure.warmup": "5ms", "run.until": "5.3ms"}).run_all()
    }

    def taken(run: sb.Result) -> int:
        ports = run.table("ports")
        return int(ports.filter(ports["port"] == "switch:28")["drops_pushed_out"].item())

    assert {name: taken(run) for name, run in policies.items() if taken(run)} == {
        "lqd": int(printed[1])
    }
    alone = {
        name: run.series.filter(run.series["time_s"] < 5.005e-3) for name, run in policies.items()
    }
    assert alone["lqd"]["bytes"][-1] == 1500 * int(printed[2])
    # Of 1 MB; samples may miss the last packets.
    parts = {"dynamic": 1 / 2, "abm": 1 / 3, "fab": 1 / 2, "lqd": 1, "occamy": 8 / 9}
    most = {name: max(series["bytes"].to_list()) / 1e6 for name, series in alone.items()}
    assert most == pytest.approx(parts, rel=0.01)


def test_the_numbers_of_lossless_classes_are_what_their_commands_find() -> None:
    page = (ROOT / "docs/pfc.md").read_text().replace("\n", " ")
    assert "switchbed run @pfc-incast" in page

    def found(**sets: object) -> list[tuple[int, float]]:
        runs = sb.Scenario.from_file("@pfc-incast").with_(sets).run_all()
        told = [run.summary() for run in runs]
        return [(each["drops"], each["by_traffic"][0]["query"]["mean_us"]) for each in told]

    (lost, lossy), (none, lossless) = found()
    assert none == 0
    dctcp = f"loses {lost} packets and the latter none, and a round takes as long "
    assert f"{dctcp}({lossy:.0f} and {lossless:.0f} µs)" in page
    (_, late), (none, lossless) = found(**{"scheme.name": "none", "transport.kind": "cubic"})
    assert none == 0
    assert f"takes {late / 1000:.0f} ms in the lossy class, because of a timeout" in page
    assert f"timeout, and {lossless:.0f} µs in the lossless one" in page
