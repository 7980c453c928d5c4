"""Joint set-ups: their evidence, what runs have of them, and their reader."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from switchbed._native import Mistake
from switchbed_papers.reproduce import claims, evidence, findings, lint, places, setup
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce.setup import JOINT, LITERAL, Setup

PAPERS = claims.papers()
BRACKETED = re.compile(r"\((\S+ ‹[^›]+›)\)")


@pytest.mark.parametrize("name", PAPERS)
def test_every_quoted_place_is_in_the_papers_numbering(name: str) -> None:
    folder = PAPERS[name].folder
    known = places.read(folder)
    quoted = [
        one.place
        for of in setup.load(folder).values()
        for one in (of.by, *of.settings, *of.states)
        if one.place is not None
    ]
    texts = [(folder / file).read_text(encoding="utf-8") for file in ("setup.toml", "claims.toml")]
    found = [place for text in texts for place in BRACKETED.findall(text)]
    quoted += filter(None, map(places.parse, found))
    assert quoted
    for place in quoted:
        assert places.exists(place, known), (name, str(place))


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_quotes_the_place_that_makes_it(name: str) -> None:
    known = places.read(PAPERS[name].folder)
    for claim in PAPERS[name].claims.values():
        quoted = list(filter(None, map(places.parse, BRACKETED.findall(claim.paper))))
        assert quoted, claim.id
        assert all(places.exists(place, known) for place in quoted), claim.id


def test_a_wrong_section_or_sentence_is_no_place() -> None:
    known = places.read(PAPERS["cedm"].folder)
    there = places.Place("II-C.3", "When TSO is")
    assert places.exists(there, known)
    assert not places.exists(replace(there, section="VI-C"), known)
    assert not places.exists(replace(there, section="V"), known)
    assert not places.exists(replace(there, words="When GSO is"), known)


def test_sections_and_sentences_are_found_in_a_papers_text() -> None:
    text = "# A title\nIt has begun. Well.\n## II. SOME THINGS\nThis is one. (Here it goes on).\n"
    text += "### B. More\nAnd so on.\n2) Deeper: Now it is 3. Last of them all.\n"
    text += "1. Introduction\nA b c."
    found = places.digests(text + "\nReferences\nNot a part of it.")
    assert list(found) == ["abstract", "II", "II-B", "II-B.2", "1"]
    assert places.digest("Here it goes on") in found["II"].split()
    assert places.digest("Last of them") in found["II-B.2"].split()
    assert places.digest("not a part") not in " ".join(found.values())


@pytest.mark.parametrize("name", PAPERS)
def test_no_run_differs_from_the_joint_set_up_but_in_what_its_figure_varies(name: str) -> None:
    """Each run has all that the set-up settles; other settings of hosts are the profile's, the
    same in all experiments of the kind."""
    paper = PAPERS[name]
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for experiment in paper.experiments.values():
        own = experiment.setup
        for reading in own.readings:
            scale = replace(experiment.quick, seeds=1)
            wanted = own.values(reading)
            for job in experiments.jobs(paper, experiment, scale, 1, reading):
                found = setup.flat(json.loads(job.plan.scenario))
                varied = {*experiment.varies, *job.settings, setup.PROFILE}
                for key, value in wanted.items():
                    if key in varied or not setup.of_hosts(key):
                        continue
                    assert same(found[key], value), (experiment.id, reading, key)
                settled = varied | wanted.keys() | {each.key for each in own.ranges}
                derived = re.compile(
                    r"transport\.(g|alpha|cut|ecn|mark_least|initial_(receive|ssthresh))"
                )
                rest = {
                    key: value
                    for key, value in found.items()
                    if setup.of_hosts(key) and key not in settled and not derived.match(key)
                }
                before = seen.setdefault((own.name, reading), rest)
                differing = {k for k in before.keys() & rest.keys() if before[k] != rest[k]}
                assert not differing, (experiment.id, reading, differing)


@pytest.mark.parametrize("name", PAPERS)
def test_runs_have_what_the_scenario_files_are_said_to_have(name: str) -> None:
    paper = PAPERS[name]
    for experiment in paper.experiments.values():
        jobs = experiments.jobs(paper, experiment, replace(experiment.quick, seeds=1), 1, JOINT)
        runs = [(job.settings, setup.flat(json.loads(job.plan.scenario))) for job in jobs]
        for one in experiment.setup.states:
            for key, value in one.values.items():
                # A variant of a figure, such as another threshold, is none of the paper's settings.
                found = [
                    (run[key], in_bytes(value, run))
                    for varied, run in runs
                    if key in run and key not in varied and "," not in str(varied.get("scheme"))
                ]
                assert found, (experiment.id, key)
                assert all(same(*pair) for pair in found), (experiment.id, key, found[0])


def in_bytes(value: Any, run: dict[str, Any]) -> Any:
    """A number of packets as bytes, which runs have."""
    if not str(value).endswith("pkt"):
        return value
    mtu = re.fullmatch(r"([\d.]+)(K?)B", str(run["host.mtu"]))
    assert mtu is not None
    return f"{float(str(value)[:-3]) * float(mtu[1]) * (1000 if mtu[2] else 1)}B"


def same(found: Any, wanted: Any) -> bool:
    """Equal, or the same quantity written otherwise."""
    if found == wanted:
        return True
    number = re.compile(r"([\d.]+)\s*([a-zA-Z]*)")
    factors = {
        "": 1,
        "pkt": 1,
        "B": 1,
        "KB": 1e3,
        "ps": 1,
        "ns": 1e3,
        "us": 1e6,
        "ms": 1e9,
        "s": 1e12,
    }
    values = []
    for each in (found, wanted):
        match = number.fullmatch(str(each))
        if match is None or match[2] not in factors:
            return False
        values.append(float(match[1]) * factors[match[2]])
    return abs(values[0] - values[1]) <= 1e-6 * abs(values[1])


def test_readings_take_what_is_open_and_defaults_as_they_should() -> None:
    of = setup.load(PAPERS["eecn"].folder)["simulation"].of("fig10")
    assert of.readings == (JOINT, LITERAL, "linux-6.x", "ideal")
    assert of.values(LITERAL)["transport.initial_window"] == 10
    point = of.literal | {"initial_window": "2 packets", "flows": "2 and 2"}
    assert of.values(JOINT, point)["transport.initial_window"] == 2
    other = of.values("linux-6.x", point)
    assert "transport.initial_window" not in other, "hosts of another profile have their own"
    assert other["traffic.1.from"] == "5-6"
    assert other["host.mtu"] == "1000B", "what the paper prints stands under every reading"
    assert other["host.profile"] == "linux-6.x"
    assert of.digest("linux-6.x") != of.digest(JOINT)


def test_a_seed_has_its_own_value_of_what_nobody_settles() -> None:
    jitter = setup.Range("host.jitter", 100_000, 2_000_000)
    found = [int(jitter.at(seed).removesuffix("ps")) for seed in range(1, 41)]
    assert len(set(found)) == 40
    assert min(found) >= 100_000
    assert max(found) <= 2_000_000
    # Evenly over the logarithms: a quarter of them in each quarter.
    middle = (100_000 * 2_000_000) ** 0.5
    assert sum(value < middle for value in found) == 20


def test_set_ups_leave_hosts_out_but_for_what_the_figure_varies() -> None:
    values = {
        "host": {"profile": "ns-3", "lso": True},
        "transport": {"kind": "dctcp", "rto_min": "1ms"},
        "compare": {"load": [0.1], "host": {"lso": [True, False]}, "transport.g": [1, 0.5]},
    }
    assert setup.bare(values, ("transport.kind", "host.lso")) == {
        "host": {"lso": True},
        "transport": {"kind": "dctcp"},
        "compare": {"load": [0.1], "host.lso": [True, False]},
    }
    assert setup.bare(values) == {"compare": {"load": [0.1]}}


HOSTS = """
topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
switch = { buffer = "1MB" }
scheme = { name = "none" }
traffic = [{ kind = "incast", from = "1-3", to = 0, sizes = "10KB" }]
[[host]]
profile = "ns-3"
[[host]]
hosts = 1
delay = "7us"
transport = { kind = "cubic" }
"""


def test_hosts_that_differ_are_kept_where_the_figure_varies_them(tmp_path: Path) -> None:
    file = tmp_path / "mixed.toml"
    file.write_text(HOSTS)
    made = read(tmp_path)
    (plan,) = made.plans(file, (), ("host",), setup.JOINT, 1)
    usual, other = json.loads(plan.scenario)["host"]
    assert (usual["profile"], other["delay"], other["hosts"]) == ("ideal", "7us", [1])
    assert json.loads(plan.scenario)["transport"]["kind"] == "dctcp"
    assert experiments.digest(plan)
    assert lint.timers_of(json.loads(plan.scenario))
    with pytest.raises(Mistake, match=r"\[\[host\]\]: hosts differ.*varies"):
        made.plans(file, (), (), setup.JOINT, 1)


GOOD = """
others = ["ns-3"]
[open.acks]
says = "ACKs"
literal = "2"
grid = { "1" = { "transport.ack_every" = 1 }, "2" = { "transport.ack_every" = 2 } }
[kind.testbed]
profile = "ideal"
default = "a test"
settings = [
  { set = { "transport.kind" = "dctcp" }, implied = "II ‹It is so›", excludes = "Reno" },
]
"""


def read(folder: Path, text: str = GOOD) -> Setup:
    (folder / "setup.toml").write_text(text)
    return setup.load(folder)["testbed"]


def test_a_set_up_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    folder.mkdir()
    found = read(folder)
    (one,) = found.settings
    assert (one.by, one.note, str(one.place)) == ("implied", "Reno", "II ‹It is so›")
    assert found.joint == found.literal == {"acks": "2"}
    (tmp_path / "search.json").write_text('{"paper": {"joint": {"acks": "1"}}}')
    assert read(folder).joint == {"acks": "1"}
    (tmp_path / "search.json").write_text('{"paper": {"joint": {"acks": "3"}}}')
    with pytest.raises(Mistake, match=r"search\.json: no '3' in the grid: 1, 2"):
        read(folder)
    (tmp_path / "search.json").write_text('{"paper": {"joint": {"rtt": "3"}}}')
    with pytest.raises(Mistake, match="run the search again"):
        read(folder)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[kind", "[[kind", "is no TOML"),
        ('literal = "2"', 'literal = "4"', r"open\.acks\.literal: no '4' in the grid: 1, 2"),
        ('literal = "2"', "", r"open\.acks: needs literal"),
        (', "2" = { "transport.ack_every" = 2 }', "", "needs two values at least|no '2'"),
        ('profile = "ideal"', 'profile = "idea"', "no profile 'idea'; there is "),
        ('others = ["ns-3"]', "", "needs others"),
        ('default = "a test"', "", "needs one of printed, implied, default, assumed"),
        (', excludes = "Reno"', "", r"settings\.0: needs excludes"),
        ('"II ‹It is so›"', '"II"', "is not a place such as"),
        ('"II ‹It is so›"', '"II ‹It is›"', "three words at least"),
        ('profile = "ideal"', 'profile = "ideal"\nlast = 1', "does not know last; takes"),
    ],
)
def test_bad_set_ups_are_refused(before: str, after: str, message: str, tmp_path: Path) -> None:
    assert before in GOOD
    with pytest.raises(Mistake, match=message):
        read(tmp_path, GOOD.replace(before, after, 1))


def test_at_most_six_settings_are_open(tmp_path: Path) -> None:
    one = GOOD[GOOD.index("[open") : GOOD.index("[kind")]
    more = "".join(one.replace("open.acks", f"open.s{index}") for index in range(6))
    with pytest.raises(Mistake, match="7 settings; at most 6"):
        read(tmp_path, GOOD.replace("[kind", f"{more}[kind"))
    for paper in PAPERS.values():
        names = {each.name for e in paper.experiments.values() for each in e.setup.open}
        assert len(names) <= setup.MOST_OPEN


def test_the_joint_verdict_is_the_literal_one_where_the_set_ups_are_the_same() -> None:
    paper = PAPERS["mqecn"]
    same = paper.experiments["fig11"]
    assert same.setup.is_literal
    assert not paper.experiments["fig7"].setup.is_literal
    found = findings.findings(paper, same, {JOINT: evidence.read(paper, same)[JOINT]})
    assert len(found) > 2
    assert all(of.literal == of.verdict for of in found)
