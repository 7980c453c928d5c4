"""The recipes of docs/contributing name places that there are, and what they say is in them."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "docs/contributing").glob("*.md"))
PLACE = re.compile(r"`((?:crates|python|examples|docs|CHANGELOG)[\w/.-]*(?:\.\w+|/))`(?! \(new)")


def names_of(row: str) -> list[str]:
    """The Rust names that a row of a recipe's table has in backticks."""
    return re.findall(r"`([A-Za-z_]{3,})`", row)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_the_places_of_a_recipe_are_there(recipe: Path) -> None:
    places = PLACE.findall(recipe.read_text())
    assert len(places) >= 2
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_what_a_recipe_names_is_where_it_says(recipe: Path) -> None:
    rows = re.findall(r"^\| `([\w/.-]+\.(?:rs|py))` \| (.*) \|$", recipe.read_text(), re.M)
    assert rows
    for place, what in rows:
        text = (ROOT / place).read_text() if (ROOT / place).exists() else ""
        assert [name for name in names_of(what) if name not in text] == [], place


def test_the_code_of_the_recipe_is_of_the_scheme_that_is_built_and_run() -> None:
    recipe = (ROOT / "docs/contributing/scheme.md").read_text()
    scheme = (ROOT / "python/switchbed/data/scheme/lib.rs").read_text().split()
    blocks = re.findall(r"^ *```rust\n(.*?)^ *```$", recipe, re.M | re.S)
    assert len(blocks) == 2
    assert [block for block in blocks if " ".join(block.split()) not in " ".join(scheme)] == []


def test_the_policy_of_the_recipe_is_compiled() -> None:
    """It is the example of the trait, which `cargo test --doc` runs."""
    source = (ROOT / "crates/qdisc/src/memory/of_switch.rs").read_text()
    (block,) = blocks("policy.md")
    assert " ".join(block.split()) in " ".join(re.sub(r"^///", "", source, flags=re.M).split())


def test_a_scheme_is_a_line_of_the_registry_and_nowhere_else_by_name() -> None:
    """Where a scheme's name stands in quotes in the crates, but for its own file and tests."""
    of = re.compile(r'name: "([a-z-]+)",\n\s+paper:')
    definitions = {
        name: file
        for file in (ROOT / "crates/qdisc/src").rglob("*.rs")
        for name in of.findall(file.read_text())
    }
    assert len(definitions) >= 19
    elsewhere = []
    for file in (ROOT / "crates").glob("*/src/**/*.rs"):
        code = file.read_text().split("#[cfg(test)]")[0]
        code = re.sub(r"//.*", "", code)
        for name, home in definitions.items():
            # Messages and defaults show names as examples; `none` is many a word.
            compared = re.search(rf'(?:==|!=)\s*"{name}"|^\s*"{name}"\s*(?:=>|\|)', code, re.M)
            if file != home and name != "none" and compared:
                elsewhere.append((name, file.name))
    assert elsewhere == []


def test_the_figure_of_the_recipe_is_drawn(tmp_path: Path) -> None:
    """In a copy of the package, in three files."""
    shown = re.findall(r"^```(?:python)?\n(.*?)^```$", recipe_of("plot.md"), re.M | re.S)
    code, method, command = shown
    package = tmp_path / "switchbed"
    shutil.copytree(ROOT / "python/switchbed", package, symlinks=True)
    plots = package / "plots"
    (plots / "marks.py").write_text(code)
    insert(plots / "methods.py", "    def sizes(\n", f"{method}\n")
    insert(plots / "command.py", "def _window(text", f"{command}\n\n")

    def ran(*words: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "switchbed", *words],
            check=False,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    ran("run", str(ROOT / "scenarios/star-dctcp.toml"), "--set", "run.until=45ms", "--out", "run")
    ran("plot", "marks", "run", "--out", "marks.png", "--data")
    assert (tmp_path / "marks.png").stat().st_size > 1_000
    with (tmp_path / "marks.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["y"]) > 0


PROGRAM = """
//! Runs a file.
fn main() {
    let file = std::env::args().nth(1).expect("a file");
    let sets: Vec<String> = std::env::args().skip(2).collect();
    let plans = switchbed_scenario::plans(file.as_ref(), &sets, None);
    for plan in plans.unwrap_or_else(|mistake| panic!("{mistake}")) {
        let run = switchbed_sim::run(&plan.scenario, &switchbed_sim::Progress::new());
        let results = run.unwrap_or_else(|why| panic!("{why}"));
        let column = results.ports.columns.iter().find(|column| column.name == "drops");
        println!("{} {:?}", results.summary.flows.finished, column.expect("it was added").values);
        println!("{} marks", results.summary.marks);
        for (name, table) in &results.monitors {
            println!("{name} {:?}", table.columns[1].values);
        }
    }
    println!("{}", switchbed_scenario::reference());
}
"""
"""Runs a file; prints what its recipes' column has, and the page of keys."""

SCENARIO = """
topology = { kind = "pair", rate = "10Gbps" }
switch = { queues = 1, buffer = "3KB" }
scheme = { name = "none" }
host = { nic = "fifo", nic_buffer = "3KB" }
traffic = [{ kind = "stride", size = "150KB" }]
run = { until = "20s" }
"""


def recipe_of(name: str) -> str:
    return (ROOT / "docs/contributing" / name).read_text()


def blocks(recipe: str) -> list[str]:
    return re.findall(r"^```rust\n(.*?)^```$", recipe_of(recipe), re.M | re.S)


def insert(file: Path, before: str, lines: str) -> None:
    text = file.read_text()
    assert text.count(before) == 1, (file, before)
    file.write_text(text.replace(before, lines + before))


def places(recipe: str, *files: str) -> list[list[str]]:
    """The lines that a recipe's table puts into each of these files."""
    rows = dict(re.findall(r"^\| `\S*/([\w.]+)` \| (.*) \|$", recipe_of(recipe), re.M))
    return [re.findall(r"`((?:///)?[^`]*[;,.])`", rows[file]) for file in files]


def add_scheme(tree: Path) -> None:
    """A file, and in that of all schemes the lines that make it known and list it."""
    source = (ROOT / "python/switchbed/data/scheme/lib.rs").read_text()
    # Without what a crate of its own has: its list of schemes, and its golden trace.
    source = re.sub(
        r"/// What the crate adds.*?;\n\n", "", source.split("\n#[cfg(test)]")[0], flags=re.S
    )
    source = source.replace("SchemeInfo, ", "")
    folder = tree / "crates/qdisc/src/schemes"
    (folder / "waiting.rs").write_text(source.replace("switchbed_qdisc::", "crate::"))
    ((declared, used, line),) = places("scheme.md", "mod.rs")
    insert(folder / "mod.rs", "mod step;\n", f"{declared}\n")
    insert(folder / "mod.rs", "pub use step::", f"{used}\n")
    insert(folder / "mod.rs", "];\n\nstatic OWN", f"{line}\n")


def add_kind(tree: Path, recipe: str, kinds: str, file: str, before: tuple[str, str]) -> None:
    """A file, the two lines that make it known, and its variant with what it says."""
    code, lines, variant = blocks(recipe)
    home = tree / "crates/scenario/src" / kinds / "mod.rs"
    (home.parent / file).write_text(code)
    insert(home, before[0], lines)
    insert(home, before[1], variant)


def add_transport(tree: Path) -> None:
    """A file, the two lines that make it known, and one of the registry with what it says."""
    folder = tree / "crates/congestion/src"
    (code,) = blocks("transport.md")
    (folder / "scalable.rs").write_text(code)
    (declared, used), (says, line) = places("transport.md", "lib.rs", "registry.rs")
    insert(folder / "lib.rs", "mod udp;\n", f"{declared}\n")
    insert(folder / "lib.rs", "pub use udp::", f"{used}\n")
    insert(folder / "registry.rs", "    /// no window, no ACKs", f"{says}\n{line}\n")


def add_monitor(tree: Path) -> None:
    """A file, the two lines that make it known, and one of the registry with what it says."""
    keys, key, code, used, line, _ = blocks("monitor.md")
    home = tree / "crates/scenario/src/measure"
    insert(home / "monitors.rs", "params! {\n    /// The monitors", f"{keys}\n")
    insert(home / "monitors.rs", "        /// Ports whose lines' idle", key)
    folder = tree / "crates/sim/src/observe"
    (folder / "first_marks.rs").write_text(code)
    ((declared,),) = places("monitor.md", "mod.rs")
    insert(folder / "mod.rs", "pub mod goodput;\n", f"{declared}\n")
    insert(folder / "monitors.rs", "use super::observer::", used)
    insert(folder / "monitors.rs", "    underflow: PortNames;", line)


@pytest.mark.long
def test_what_is_added_is_what_its_recipe_says_and_nothing_else() -> None:
    tree = ROOT / "target/contributing"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("crates", "examples"):
        shutil.copytree(ROOT / folder, tree / folder)
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy2(ROOT / file, tree / file)
    *_, column = blocks("monitor.md")
    before = ("mod parking_lot;\n", "        /// switches in a row,")
    add_kind(tree, "topology.md", "topology", "pair.rs", before)
    before = ("mod seconds;\n", "        /// flows from a CSV file.")
    add_kind(tree, "traffic.md", "traffic", "stride.rs", before)
    insert(tree / "crates/sim/src/run/results.rs", '        ("drops_full", "", "arrivals', column)
    add_scheme(tree)
    add_transport(tree)
    add_monitor(tree)
    (tree / "examples/own-scheme/src/main.rs").write_text(PROGRAM)
    (tree / "pair.toml").write_text(SCENARIO)
    # Ours quickly and unoptimised, the others as for all other tests.
    quick = [
        option
        for name in ("qdisc", "congestion", "scenario", "sim")
        for setting in ("opt-level=0", "debug=false")
        for option in ("--config", f"profile.dev.package.switchbed-{name}.{setting}")
    ]
    run = ["cargo", "run", "--quiet", "--locked", "--offline", "-p", "own-scheme", *quick]
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*run, "--", *words],
            check=False,
            cwd=tree,
            env=os.environ | {"CARGO_TARGET_DIR": target},
            capture_output=True,
            text=True,
        )

    done = ran("pair.toml")
    assert done.returncode == 0, done.stderr
    first, page = done.stdout.split("\n", 1)
    flows, column_of = first.split(" ", 1)
    drops = json.loads(re.sub(r"^U64\((.*)\)$", r"\1", column_of))
    assert flows == "2"
    assert len(drops) == 4
    assert sum(drops) > 0
    assert "pair: two hosts and a switch between them. parking-lot:" in page
    assert "| `rate` | a rate, such as 10Gbps | required | pair: rate of both links. |" in page
    assert "| `delay` | a time, such as 85.2us | `1us` | pair: propagation of both links" in page
    assert "stride: each host to the one so many on. list: flows from a CSV file." in page
    assert (
        "| `size` | a size, such as 300KB or 65pkt | required | stride: payload of each flow. |"
        in page
    )
    itself = ran("pair.toml", "traffic.stride=2").stderr
    assert "traffic.stride is 2: a host cannot send to itself" in itself
    own = ["examples/own-scheme/waiting.toml", "scheme=waiting"]
    marks = [
        re.findall(r"^([1-9]\d*) marks$", ran(*own, *settings).stdout, re.M)
        for settings in (
            ["transport.kind=reno"],
            ["transport.kind=scalable"],
            ["transport.kind=scalable", "transport.a=0.5"],
        )
    ]
    assert len({*map(tuple, marks)}) == 3
    assert all(marks)
    first = ran(*own, 'measure.first_marks={ports=["switch:4", "switch:1"]}').stdout
    (times,) = re.findall(r"^first_marks F64\(\[([0-9.e-]+), NaN\]\)$", first, re.M)
    assert 0 < float(times) < 1
    nowhere = ran(*own, 'measure.first_marks={ports=["switch:99"]}').stderr
    assert "measure.first_marks.ports.0" in nowhere
    assert "did you mean threshold?" in ran(*own, "scheme.params.treshold=5us").stderr
    assert 'did you mean "scalable"?' in ran(*own, "transport.kind=scalabel").stderr
