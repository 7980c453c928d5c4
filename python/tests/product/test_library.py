"""Parts that come with the program: scenarios by name, beginnings of one's own, flow-size tables,
chips, runs that train a build; and a scenario from standard input."""

import json
import re
import shlex
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import SINGLE, SWEEP, Done, Program

import switchbed as sb
from switchbed import library
from switchbed.bench import train

ROOT = Path(__file__).parents[3]


def piped(command: list[str], place: Path, text: str, *arguments: str, code: int = 0) -> Done:
    """The program with this text on standard input."""
    done = subprocess.run(
        [*command, *arguments], cwd=place, input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("kind", library.templates())
def test_a_new_scenario_would_run_as_it_is(switchbed: Program, tmp_path: Path, kind: str) -> None:
    said = switchbed("new", kind).stdout
    assert f"switchbed run {kind}.toml" in said
    (found,) = json.loads(switchbed("scenario", "check", f"{kind}.toml", "--json").stdout)
    assert (found["ok"], found["runs"]) == (True, 1)
    assert " ".join(found) == (
        "file ok runs memory_bytes busiest_links packet_hops repetitions headroom warnings"
    )
    text = (tmp_path / f"{kind}.toml").read_text()
    assert tomllib.loads(text)["host"] == {"profile": "linux-6.x"}
    # The commands at its top would run too, and so would the comparison that is its last comment.
    commands = [
        shlex.split(line)[1:] for line in re.findall(r"^#\s+(switchbed run .*?)  ", text, re.M)
    ]
    assert any("--set" in words for words in commands)
    for words in commands:
        assert words[1] == f"{kind}.toml"
        sets = [value for option, value in pairwise(words) if option == "--set"]
        assert library.given(tmp_path / words[1]).plans(sets)
    head, compare, tail = text.partition("# [compare]")
    compared = f"{head}{compare}{tail}".replace(compare + tail, (compare + tail).replace("# ", ""))
    assert len(sb.Scenario(tomllib.loads(compared)).plans) > 1


def test_a_new_scenario_runs(switchbed: Program) -> None:
    switchbed("new", "incast", "--out", "mine.toml")
    found = json.loads(switchbed("run", "mine.toml", "--json").stdout)
    assert found["flows"]["finished"] == found["flows"]["count"] > 1000


def test_new_replaces_nothing_unasked(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text("mine")
    assert "star.toml: is there already" in switchbed("new", code=2).stderr
    assert (tmp_path / "star.toml").read_text() == "mine"
    switchbed("new", "--force")
    assert "[topology]" in (tmp_path / "star.toml").read_text()
    assert "'incast'" in switchbed("new", "incats", code=2).stderr
    assert "no/x.toml: cannot be written" in switchbed("new", "--out", "no/x.toml", code=2).stderr


def test_every_scenario_is_listed_with_its_paper(switchbed: Program) -> None:
    listed = json.loads(switchbed("scenario", "list", "--json").stdout)
    assert [each["name"] for each in listed] == sorted(
        path.stem for path in (ROOT / "scenarios").glob("*.toml")
    )
    assert listed == sb.scenarios()
    said = switchbed("scenario", "list").stdout
    for each in listed:
        assert f"@{each['name']} " in said
        assert each["title"] in said
        if "-fig" in each["name"] or "-table" in each["name"]:
            assert each["paper"], each["name"]


def test_what_ships_is_in_the_package() -> None:
    package = Path(library.__file__).parent
    assert library.SCENARIOS.resolve().is_relative_to(package.resolve())
    assert (ROOT / "scenarios").resolve() == library.SCENARIOS.resolve()


def test_a_scenario_runs_by_its_name_anywhere(switchbed: Program, tmp_path: Path) -> None:
    # This one has a file beside it.
    whole = json.loads(switchbed("run", "@flow-list", "--json").stdout)
    assert whole["flows"]["finished"] == 7
    again = sb.Scenario.from_file("@flow-list").run().summary()
    assert again == {key: value for key, value in whole.items() if key != "wall_s"}
    assert "@star-dctcp: ok, 1 run" in switchbed("scenario", "check", "@star-dctcp").stdout
    switchbed("sweep", "@flow-list", "--seeds", "2")
    assert (tmp_path / "switchbed-store/sweeps/flow-list.parquet").exists()
    assert sb.sweep(sb.Scenario.from_file("@flow-list"), tmp_path / "s").name == "flow-list"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "@mqecn-fg9"], "@mqecn-fg9: no such scenario comes with switchbed; did you mean "),
        (["sweep", "@xyz"], "@xyz: no such scenario comes with switchbed; switchbed scenario list"),
        (["run", "mqecn-fig9"], "mqecn-fig9: there is no such file; @mqecn-fig9 comes with"),
        (["scenario", "check", "scenarios/incast.toml"], "no such file; @incast comes with"),
        (["scenario", "migrate", "@incast"], "@incast: is no file of yours to change"),
        (["scenario", "migrate", "-"], "-: is no file of yours to change"),
        (["run", "@flow-list", "--set", "laod=1"], "--set laod=1: laod is unknown: did you mean"),
        (["run", "@flow-list", "--set", "scheme=sp_pifo"], "SP-PIFO (NSDI 2020) is not among"),
        (["run", "@flow-list", "--set", "scheme=droptail"], 'did you mean "none"?'),
    ],
)
def test_wrong_names_are_told(switchbed: Program, arguments: list[str], says: str) -> None:
    done = switchbed(*arguments, code=2)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_from_file_tells_a_wrong_name_too() -> None:
    with pytest.raises(sb.Mistake, match=r"did you mean @incast\?"):
        sb.Scenario.from_file("@incats")


def test_a_scenario_comes_from_standard_input(command: list[str], tmp_path: Path) -> None:
    done = piped(command, tmp_path, SINGLE, "run", "-", "--set", "flows=20", "--json")
    assert json.loads(done.stdout)["flows"]["finished"] == 20
    assert piped(command, tmp_path, SWEEP, "scenario", "check", "-").stdout == "-: ok, 8 runs\n"
    done = piped(command, tmp_path, SINGLE, "run", "-", "--set", "flows=x", code=2)
    assert done.stderr.startswith("switchbed: --set flows=x: traffic.flows is ")
    done = piped(command, tmp_path, "x = 1", "run", "-", code=2)
    assert done.stderr.startswith("switchbed: standard input:1: x is unknown")


def test_a_sweep_of_standard_input_needs_a_name(command: list[str], tmp_path: Path) -> None:
    words = ("sweep", "-", "--set", "flows=20", "--seeds", "2")
    assert "give it a --name" in piped(command, tmp_path, SINGLE, *words, code=2).stderr
    assert not (tmp_path / "switchbed-store").exists()
    piped(command, tmp_path, SINGLE, *words, "--name", "piped")
    assert (tmp_path / "switchbed-store/sweeps/piped.parquet").exists()


def test_sizes_are_listed_with_mean_percentiles_and_source(switchbed: Program) -> None:
    tables = {each["name"]: each for each in json.loads(switchbed("sizes", "--json").stdout)}
    web = tables["web-search"]
    assert web["mean_bytes"] == pytest.approx(1_671_357, abs=20)
    assert web["percentiles_bytes"]["p50"] == 49 * 1460
    assert web["percentiles_bytes"]["p100"] == web["points"][-1][0] == 20_000 * 1460
    assert "SIGCOMM 2010" in web["source"]
    assert tables["hadoop-hpcc"]["percentiles_bytes"]["p90"] == 120_000
    said = switchbed("sizes").stdout
    for table in tables.values():
        assert said.count(f"{table['name']} ") >= 2
        assert table["source"] in said
    assert list(tables.values()) == sb.sizes()


def test_every_run_of_the_training_is_one_that_the_check_takes() -> None:
    plans = list(train.chosen())
    assert len(plans) >= len(train.CASES)
    seeds = {json.loads(plan.scenario)["run"]["seed"] for plan in plans}
    assert seeds == {train.SEED}, "a profile of the benchmarks themselves would be no test of it"


CHIPS = {chip["name"]: chip for chip in sb.chips()}


@pytest.mark.parametrize("name", [n for n, chip in CHIPS.items() if chip["observed"]])
def test_a_chip_holds_what_was_counted_on_a_switch(name: str) -> None:
    for seen in CHIPS[name]["observed"]:
        assert abs(seen["modelled_cells"] - seen["cells"]) <= 2


def test_show_says_what_is_not_known_and_what_was_seen(switchbed: Program, tmp_path: Path) -> None:
    listed = switchbed("asic", "list").stdout.splitlines()
    assert len(listed) == len(CHIPS) == 15
    assert sum(line.endswith("unverified") for line in listed) == 10
    shown = switchbed("asic", "show", "tomahawk").stdout
    assert "Counted on a switch: 4 lossless groups paused at 2,620; here 2,620.2" in shown
    assert "In cells, of 4 partitions each" in shown
    shown = switchbed("asic", "show", "tomahawk-4").stdout
    assert "partitions                 not known" in shown
    assert "a lossless group pauses at     not known" in shown
    assert "Unverified:" in shown
    switchbed("asic", "show", "spectrum-2", "--json", "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == CHIPS["spectrum-2"]
    assert "did you mean trident-3?" in switchbed("asic", "show", "trident3", code=2).stderr
