"""`switchbed topology`: what networks come to, forms of others and back, generated files."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest
from conftest import Program

SCENARIO = """\
[topology]
kind = "file"
path = "{path}"
[switch]
buffer = "1MB"
[scheme]
name = "none"
[[traffic]]
kind = "poisson"
load = 0.2
flows = 20
sizes = "10KB"
"""


def shown(switchbed: Program, *args: str) -> dict[str, object]:
    return dict(json.loads(switchbed("topology", "show", *args, "--json").stdout))


def test_show_says_what_a_scenarios_network_comes_to(switchbed: Program, tmp_path: Path) -> None:
    small = ("topology", "show", "@fat-tree", "--set", "topology.k=4", "--out", "x.svg")
    lines = switchbed(*small).stdout.splitlines()
    assert lines[0].startswith("@fat-tree: 16 hosts, 20 switches with 80 ports, 48 links")
    assert lines[2].split() == ["edge", "8", "4", "16Gbps", "160Gbps", "0.1:1"]
    assert any(line.strip().startswith("bisection   8Gbps (oversubscribed 1:1)") for line in lines)
    drawn = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    names = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "host0" in names
    assert {"16 × 1Gbps", "16 × 10Gbps", "16 × 100Gbps"} <= set(names)
    paths = list(drawn.iter("{http://www.w3.org/2000/svg}path"))
    assert len(paths) == 48
    # A picture of ours may be drawn again, any other file may not.
    switchbed(*small)
    (tmp_path / "y.svg").write_text("mine")
    assert (
        "is there already"
        in switchbed("topology", "show", "@fat-tree", "--out", "y.svg", code=2).stderr
    )


def test_a_large_network_is_drawn_by_tiers(switchbed: Program, tmp_path: Path) -> None:
    more = ("--set", "topology.k=12", "--out", "x.svg")
    switchbed("topology", "show", "@fat-tree", *more)
    drawn = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    names = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"432 × host", "72 × edge", "36 × core", "432 × 1Gbps"} <= set(names)


@pytest.mark.parametrize("form", ["table", "hpcc", "simai", "htsim"])
def test_a_converted_network_comes_to_the_same(
    switchbed: Program, tmp_path: Path, form: str
) -> None:
    for scenario in ("@fat-tree", "@roce-leaf-spine"):
        done = switchbed("topology", "convert", scenario, "--to", form, "--out", "t", "--force")
        assert ("not in the form" in done.stderr) == (form != "table")
        first, again = shown(switchbed, scenario), shown(switchbed, "t")
        for measures in (first, again):
            measures.pop("name")
            for tier in measures["tiers"]:  # type: ignore[attr-defined]
                tier.pop("name")
        first["rtt_ps"] = again["rtt_ps"]  # of host.mtu
        first["packet_bytes"] = again["packet_bytes"]
        assert first == again
    # A file that is converted to its own form stays as it is.
    before = (tmp_path / "t").read_text()
    switchbed("topology", "convert", "t", "--to", form, "--out", "t2")
    assert (tmp_path / "t2").read_text() == before


def test_networks_that_htsim_cannot_say_are_refused(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "ring").write_text(
        "node,tier\na,host\nb,host\ns,x\nt,x\nu,x\nfrom,to,rate,delay\na,s,1Gbps,1us\n"
        "b,t,1Gbps,1us\ns,t,1Gbps,1us\nt,u,1Gbps,1us\nu,s,1Gbps,1us\n"
    )
    refused = switchbed("topology", "convert", "ring", "--to", "htsim", code=2).stderr
    assert "ring: is no fat-tree that htsim's form can say: s and t are linked" in refused
    (tmp_path / "uneven").write_text(
        "node,tier\na,host\nb,host\nc,host\ns,x\nt,x\nu,y\nfrom,to,rate,delay\n"
        "a,s,1Gbps,1us\nb,t,1Gbps,1us\nc,t,1Gbps,1us\ns,u,1Gbps,1us\nt,u,1Gbps,1us\n"
    )
    refused = switchbed("topology", "convert", "uneven", "--to", "htsim", code=2).stderr
    assert (
        "links down of switches of tier 0 must be the same for all, and there are 1, 2" in refused
    )


def test_rails_are_one_hop_from_their_leaf(switchbed: Program, tmp_path: Path) -> None:
    more = ("--servers", 8, "--gpus", 4, "--segment", 4, "--spines", 2, "--out", "rail.csv")
    switchbed("topology", "new", "rail", *map(str, more))
    text = (tmp_path / "rail.csv").read_text()
    assert "server5.gpu2,leaf6,400Gbps,500ns,," in text
    found = shown(switchbed, "rail.csv")
    assert (found["hosts"], found["switches"], found["diameter_links"]) == (32, 10, 4)
    # Four links down, two up: 2:1.
    assert found["oversubscription"] == 2
    (tmp_path / "s.toml").write_text(SCENARIO.format(path="rail.csv"))
    switchbed("run", "s.toml")
    inside = ("--servers", "2", "--gpus", "2", "--spines", "1", "--nvlink", "2880Gbps")
    switchbed("topology", "new", "rail", *inside, "--out", "rail.csv", "--force")
    assert "server1.gpu0,server1.nvswitch,2.88Tbps,25ns,," in (tmp_path / "rail.csv").read_text()
    # Both GPUs of a server over its NVSwitch, else over leaf, spine and leaf.
    assert shown(switchbed, "rail.csv")["diameter_links"] == 4
    # A load is of both links together, and the card has an eighth of the NVLink's rate.
    switchbed("run", "s.toml", "--set", "load=0.02")


@pytest.mark.parametrize("kind", ["dual-tor", "dual-plane"])
def test_hosts_with_two_links_use_both(switchbed: Program, tmp_path: Path, kind: str) -> None:
    switchbed("topology", "new", kind, "--pairs", "2", "--hosts", "4", "--out", "d.csv")
    text = (tmp_path / "d.csv").read_text()
    assert "h0,tor0.a,400Gbps,500ns,," in text
    assert "h0,tor0.b,400Gbps,500ns,," in text
    found = shown(switchbed, "d.csv")
    # A pair's four hosts have 8 links of 400 Gbps.
    assert (found["hosts"], found["bisection_bps"], found["diameter_links"]) == (8, 3200 * 10**9, 4)
    (tmp_path / "s.toml").write_text(SCENARIO.format(path="d.csv"))
    switchbed("run", "s.toml")


def test_a_tier_is_left_out_and_hosts_get_cards(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "simai").write_text(
        "6 2 1 3 7 H100\n2 3 4 5\n0 2 2880Gbps 25ns 0\n1 2 2880Gbps 25ns 0\n"
        "0 3 400Gbps 0.5us 0\n1 4 400Gbps 0.5us 0\n3 5 400Gbps 0.5us 0\n4 5 400Gbps 0.5us 0\n"
        "4 5 400Gbps 0.5us 0\n"
    )
    (tmp_path / "s.toml").write_text(SCENARIO.format(path="simai"))
    switchbed("run", "s.toml")
    assert shown(switchbed, "simai")["diameter_links"] == 2
    switchbed("topology", "convert", "simai", "--without", "nvswitch", "--out", "fabric.csv")
    assert shown(switchbed, "fabric.csv")["diameter_links"] == 4
    (tmp_path / "s.toml").write_text(SCENARIO.format(path="fabric.csv"))
    switchbed("run", "s.toml")
    refused = switchbed("topology", "convert", "simai", "--without", "spine", code=2).stderr
    assert "--without spine: simai has the tiers nvswitch, tier1, tier2" in refused
    switchbed("topology", "convert", "simai", "--nics", "--out", "nics.csv")
    assert "host0,host0.nic,3.28Tbps,12500ps,," in (tmp_path / "nics.csv").read_text()
    back = switchbed("topology", "convert", "simai", "--to", "simai").stdout
    assert back.splitlines()[0] == "6 2 1 3 7 NONE"
    assert "0 2 2880Gbps 25ns 0" in back  # ns-3 knows no Tbps


def test_what_is_wrong_is_one_line(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("node,tier\na,host\nfrom,to,rate,delay\na,b,1Gbps,1us\n")
    for args, told in (
        (("show", "bad"), 'bad:4: column 2: there is no node "b"'),
        (("show", "none"), "none: cannot read the topology"),
        (("show", "@fat-tree", "--out", "x.png"), "--out x.png: only .svg is drawn"),
        (("show", "bad", "--set", "a=1"), "--set: bad is no scenario"),
        (("show", "@fat-tree", "--format", "hpcc"), "--format hpcc: @fat-tree is a scenario"),
        (("new", "rail", "--segment", "3"), "--segment 3: 32 servers are no whole number"),
        (("new", "rail", "--rate", "fast"), "--rate fast: it must begin with a number"),
        (("new", "rail", "--delay", "1"), "--delay 1: it has no unit"),
    ):
        refused = switchbed("topology", *args, code=2).stderr
        assert refused.count("\n") == 1
        assert told in refused


HPCC = """\
[topology]
{topology}
[switch]
queues = 4
pool = "32MB"
[switch.pfc]
priorities = [3]
[scheme]
name = "none"
[transport]
kind = "hpcc"
[[traffic]]
kind = "list"
file = "flow.txt"
[measure]
queues = "off"
"""


def test_hpccs_fabric_and_flow_file_are_run_as_they_are(switchbed: Program, tmp_path: Path) -> None:
    switchbed("topology", "convert", "@roce-fabric", "--to", "hpcc", "--out", "fat.txt")
    text = (tmp_path / "fat.txt").read_text()
    # 20 edges and 20 aggregations with four links each, 16 cores; hosts have the first numbers.
    assert text.startswith("376 56 480\n")
    flows = [(src, (src * 77 + 161) % 320) for src in range(0, 320, 8)]
    rows = [f"{a} {b} 3 100 {3000 + 50 * a} {2 + i * 1e-4:.9f}" for i, (a, b) in enumerate(flows)]
    # As published: more flows than the first line says, and a note.
    rest = [
        "5 1 3 100 5000000 2",
        "6 1 3 100 5000000 2",
        "",
        "First line: # of flows",
        "src0 dst0 3 ...",
    ]
    (tmp_path / "flow.txt").write_text("\n".join([str(len(rows)), *rows, *rest, ""]))
    kind = """kind = "clos"\npods = 5\nedges_per_pod = 4\naggregations_per_pod = 4\ncores = 16
hosts_per_edge = 16\nhost_rate = "100Gbps"\nhost_delay = "1us"\naggregation_rate = "400Gbps"
"""
    found = []
    for name, topology in (("file", 'kind = "file"\npath = "fat.txt"'), ("clos", kind)):
        (tmp_path / f"{name}.toml").write_text(HPCC.format(topology=topology))
        switchbed("run", f"{name}.toml", "--out", name)
        table = pl.read_parquet(tmp_path / name / "flows.parquet")
        found.append(table.select("src", "dst", "size_bytes", "start_s", "fct_s", "slowdown"))
    assert found[0].rows() == found[1].rows()
    warned = switchbed("scenario", "check", "file.toml").stderr
    assert "first line says 40 flows: these are read, and 2 rows behind them are not" in warned
    assert [(a, b) for a, b, *_ in found[0].rows()] == flows
    # Each is alone, and a message of few packets is as fast as the links are.
    assert all(slowdown < 1.05 for slowdown in found[0]["slowdown"])


@pytest.mark.parametrize("text", ["0 0 0\n", "node,tier\nfrom,to,rate,delay\n"])
def test_a_network_without_nodes_is_refused(switchbed: Program, tmp_path: Path, text: str) -> None:
    """It was shown as nothing, and then an internal error."""
    (tmp_path / "none.csv").write_text(text)
    said = switchbed("topology", "show", "none.csv", code=2).stderr
    assert said == (
        "switchbed: none.csv: has no nodes: a network has hosts, and links between them\n"
    )


def test_a_command_that_is_not_there_leads_to_those_that_are(switchbed: Program) -> None:
    said = switchbed("topology", "new", "star", code=2).stderr
    assert "No such command 'star': switchbed topology new has dual-plane, dual-tor, rail;" in said
