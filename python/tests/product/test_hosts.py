"""Host profiles: listed, shown, compared; named by scenarios, and what a file's own may say. Hosts
that differ: what is shown of them, and their column and metrics."""

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import SINGLE, Program

import switchbed as sb
from switchbed.result import Result

PINNED = '[host]\nprofile = "switchbed-0.1"\n'


def file(place: Path, text: str) -> Path:
    path = place / "f.toml"
    path.write_text(text)
    return path


def test_profiles_are_listed_with_one_default(switchbed: Program) -> None:
    listed = json.loads(switchbed("host", "list", "--json").stdout)
    names = {profile["name"] for profile in listed}
    assert {"ideal", "ns-2-fulltcp", "ns-2-sack", "ns-3", "ns-3-dctcp", "switchbed-0.1"} <= names
    assert {"linux-2.6.38", "linux-3.18", "linux-6.x"} <= names
    assert [profile["name"] for profile in listed if profile["default"]] == ["linux-6.x"]
    assert all(profile["about"] in switchbed("host", "list").stdout for profile in listed)


def test_a_profile_shows_every_key_with_its_source_and_what_it_models(switchbed: Program) -> None:
    shown = json.loads(switchbed("host", "show", "linux-3.18", "--json").stdout)
    settings = {setting["key"]: setting for setting in shown["settings"]}
    assert settings["transport.initial_window"]["value"] == "10pkt"
    assert settings["transport.initial_window"]["from"] == "linux-3.18"
    assert settings["transport.header"]["from"] == shown["based_on"] == "linux-2.6.38"
    assert all(setting["source"] for setting in settings.values())
    modelled = {row["behaviour"]: row["modelled"] for row in shown["behaviours"]}
    assert modelled["initial window"]
    assert not modelled["clock granularity"]
    said = switchbed("host", "show", "linux-3.18").stdout
    assert all(key in said for key in settings)
    assert "not modelled" in said


def test_two_profiles_are_compared(switchbed: Program) -> None:
    found = json.loads(switchbed("host", "diff", "linux-2.6.38", "linux-3.18", "--json").stdout)
    differing = {row["key"]: (row["linux-2.6.38"], row["linux-3.18"]) for row in found}
    assert differing["transport.rto_initial"] == ("3s", "1s")
    assert "transport.rto_min" not in differing
    said = switchbed("host", "diff", "ns-3", "ns-3").stdout
    assert said == "ns-3 and ns-3 give every key the same value\n"


def test_a_file_that_names_none_has_the_default_and_one_line_says_so(
    switchbed: Program, tmp_path: Path
) -> None:
    assert PINNED in SINGLE
    path = file(tmp_path, SINGLE.replace(PINNED, ""))
    run = switchbed("run", path, "--set", "flows=10", "--json")
    assert "hosts are linux-6.x, the default" in run.stderr
    assert "hosts are" not in switchbed("run", file(tmp_path, SINGLE), "--set", "flows=10").stderr


def test_the_manifest_lists_what_overrides_the_profile(switchbed: Program, tmp_path: Path) -> None:
    text = SINGLE.replace('kind = "dctcp"', 'kind = "dctcp"\nrto_min = "5ms"\nack_every = 1')
    switchbed("run", file(tmp_path, text), "--set", "flows=10", "--out", tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    # An ACK a packet is what the profile has, too.
    assert manifest["hosts"] == {
        "profile": "switchbed-0.1",
        "named": True,
        "overrides": ["transport.rto_min"],
    }
    assert manifest["scenario"]["host"]["profile"] == "switchbed-0.1"


def test_migration_keeps_results_and_all_else_in_the_file(
    switchbed: Program, tmp_path: Path
) -> None:
    before = "# As measured in May.\n" + SINGLE.replace(PINNED, "")
    path = file(tmp_path, before)
    assert "host.profile is now named" in switchbed("scenario", "migrate", path).stdout
    after = path.read_text()
    assert after.replace("\n" + PINNED, "") == before
    assert "names its host profile" in switchbed("scenario", "migrate", path).stdout
    assert path.read_text() == after
    assert sb.Scenario.from_file(path).resolved["transport"]["header"] == "40B"


def test_migration_keeps_line_ends_marks_and_modes(switchbed: Program, tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    before = "\ufeff" + SINGLE.replace(PINNED, "").replace("\n", "\r\n")
    path.write_bytes(before.encode())
    path.chmod(0o600)
    switchbed("scenario", "migrate", path)
    after = path.read_bytes().decode()
    assert after.count("\r\n") == after.count("\n") > before.count("\n")
    assert after.replace("\r\n" + PINNED.replace("\n", "\r\n"), "") == before
    assert path.stat().st_mode & 0o777 == 0o600


def test_migration_refuses_what_is_no_scenario(switchbed: Program, tmp_path: Path) -> None:
    path = file(tmp_path, "[package]\nname = 'a'\n")
    refused = switchbed("scenario", "migrate", path, code=2)
    assert f"{path}:1: package is unknown" in refused.stderr
    assert path.read_text() == "[package]\nname = 'a'\n"


def test_profiles_can_be_compared_in_one_file() -> None:
    star = sb.Scenario(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "1Gbps", "delay": "5us"},
            "switch": {"buffer": "300KB"},
            "scheme": {"name": "none"},
            "traffic": [{"kind": "long-lived", "from": [0, 1], "to": 2}],
            "run": {"until": "3ms"},
            "compare": {"host.profile": ["ns-3", "linux-6.x"]},
        }
    )
    runs = star.run_all()
    kinds = [run.scenario["transport"]["kind"] for run in runs]
    assert kinds == ["cubic", "dctcp"]
    assert [run.settings["host.profile"] for run in runs] == ["ns-3", "linux-6.x"]


@pytest.mark.parametrize(("profile", "least"), [("ns-3", 1), ("ns-3-dctcp", 1), ("linux-6.x", 2)])
def test_a_mark_leaves_what_a_profiles_dctcp_does(profile: str, least: int) -> None:
    star = sb.Scenario(
        {
            "topology": {"kind": "star", "hosts": 2, "rate": "1Gbps", "delay": "5us"},
            "switch": {"buffer": "300KB"},
            "scheme": {"name": "none"},
            "host": {"profile": profile},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "incast", "from": [0], "to": 1, "sizes": "1KB"}],
        }
    )
    assert star.resolved["transport"]["mark_least"] == least


def test_a_profile_of_ones_own_is_a_file_beside_the_scenario(
    switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "ours.toml").write_text(
        'about = "our servers"\nbased_on = "linux-6.x"\n'
        '[transport]\nrto_min = "7ms" # ip route\necn_syn = "follows"\n'
    )
    path = file(tmp_path, SINGLE.replace("switchbed-0.1", "ours.toml"))
    resolved = sb.Scenario.from_file(path).resolved
    assert resolved["host"]["profile"] == str(tmp_path / "ours.toml")
    assert (resolved["transport"]["rto_min"], resolved["transport"]["ack_every"]) == ("7ms", 2)
    shown = switchbed("host", "show", tmp_path / "ours.toml").stdout
    assert "ip route" in shown
    assert "our servers" in shown
    row = next(line for line in shown.splitlines() if "transport.rto_min" in line)
    assert row.split()[1] == "7ms"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb", "ours.toml:2: this is no TOML"),
        ('basedon = "ns-3"', "ours.toml:1: basedon is unknown: did you mean based_on?"),
        ('based_on = "ns-4"', 'ours.toml:1: based_on is "ns-4": there is no such host profile'),
        ('based_on = "ours.toml"', "ours.toml: the host profile is based on itself"),
        ("[transport]\nack_every = 2", 'host.mtu is missing: write based_on = "linux-6.x" first'),
        ('based_on = "ns-3"\n[transport]\nrto_mn = "1s"', "ours.toml:3: transport.rto_mn is unk"),
        ('based_on = "ns-3"\n[transport]\nrto_min = 1', "ours.toml:3: transport.rto_min is 1: "),
        ('based_on = "ns-3"\n[transport]\ng = 7', "ours.toml:3: transport.g is 7: "),
        ('based_on = "ns-3"\n[transport]\nrto_min = "90s"', "ours.toml:3: transport.rto_min is"),
        ('based_on = "ns-3"\n[host]\nprofile = "ns-3"', "ours.toml:3: host.profile has no place"),
        ('based_on = "ns-3"\n[transport]\nwarm = {}', "ours.toml:3: transport.warm has no place"),
        ("host = 3", "ours.toml:1: host must be written as [host]"),
    ],
)
def test_what_is_wrong_in_it_is_told_with_its_line(
    switchbed: Program, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "ours.toml").write_text(text)
    path = file(tmp_path, SINGLE.replace("switchbed-0.1", "ours.toml"))
    refused = switchbed("scenario", "check", path, code=2).stderr
    assert said in refused
    assert refused.count("\n") == 1


def test_a_profile_that_is_not_there_is_refused(switchbed: Program, tmp_path: Path) -> None:
    path = file(tmp_path, SINGLE.replace("switchbed-0.1", "linux-6"))
    assert 'did you mean "linux-6.x"?' in switchbed("scenario", "check", path, code=2).stderr
    path = file(tmp_path, SINGLE.replace("switchbed-0.1", "none.toml"))
    assert "there is no file" in switchbed("scenario", "check", path, code=2).stderr
    for command in (["show", "linux"], ["diff", "ns-3", "nothing.toml"]):
        assert switchbed("host", *command, code=2).stderr.count("\n") == 1


MIXED = """
topology = { kind = "star", hosts = 9, rate = "10Gbps", delay = "5us" }
switch = { queues = 1, buffer = "1MB" }
scheme = { name = "per-queue", params = { threshold = "100KB" } }
run.until = "20ms"

[[host]]
profile = "linux-6.x"
delay = { kind = "uniform", min = "1us", max = "10us" }
[[host]]
share = 0.5
label = "old"
profile = "linux-3.18"
transport = { kind = "cubic", ecn = false }

[[traffic]]
kind = "poisson"
load = 0.4
flows = 200
sizes = "20KB"
"""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return path


def test_a_scenario_shows_which_hosts_have_what(switchbed: Program, mixed: Path) -> None:
    found = json.loads(switchbed("host", "show", mixed, "--json").stdout)
    assert [each["label"] for each in found] == ["linux-6.x", "old"]
    # Half of nine, rounded: five.
    assert [each["count"] for each in found] == [4, 5]
    assert [each["profile"] for each in found] == ["linux-6.x", "linux-3.18"]
    assert [each["ecn"] for each in found] == [True, False]
    said = switchbed("host", "show", mixed).stdout
    assert "old: 5 hosts" in said
    assert "no ECN" in said
    other = switchbed("host", "show", mixed, "--set", "host.share=0.2", "--json").stdout
    assert [each["count"] for each in json.loads(other)] == [7, 2]
    assert (
        "2 hosts" in switchbed("host", "show", "@mixed-stacks", "--set", "host.1.share=0.25").stdout
    )


def test_a_profile_takes_no_set(switchbed: Program) -> None:
    refused = switchbed("host", "show", "ideal", "--set", "host.delay=1us", code=2)
    assert "is a host profile" in refused.stderr


def test_flows_tell_their_senders_hosts(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    switchbed("run", mixed, "--out", "out")
    flows = pl.read_parquet(tmp_path / "out/flows.parquet")
    hosts = json.loads(switchbed("host", "show", mixed, "--json").stdout)
    old = set()
    for part in hosts[1]["hosts"].split(", "):
        first, _, last = part.partition("-")
        old |= set(range(int(first), int(last or first) + 1))
    assert flows.select(pl.col("hosts").eq("old").eq(pl.col("src").is_in(old)).all()).item()
    assert set(flows["transport"]) == {"dctcp", "cubic"}
    assert flows.filter(pl.col("hosts") == "old")["ecn_cuts"].sum() == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert [each["transport"] for each in summary["by_transport"]] == ["dctcp", "cubic"]
    table = switchbed("table", "out", "--metric", "fct[hosts=old].p50_us").stdout
    assert "old" in table


def test_hosts_that_are_alike_have_no_metric_of_their_own(switchbed: Program, single: Path) -> None:
    switchbed("run", single, "--out", "out")
    refused = switchbed("table", "out", "--metric", "fct[hosts=old].p50_us", code=2)
    assert "all hosts of" in refused.stderr


def test_shares_of_deployment_are_compared(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    switchbed("run", mixed, "--set", "compare.host.1.share=[0, 0.5, 1]", "--out", "out")
    runs = pl.read_parquet(tmp_path / "out/runs.parquet")
    assert len(runs) == 3


def test_commands_take_hosts_that_differ(switchbed: Program, mixed: Path, tmp_path: Path) -> None:
    """Readers of a scenario's hosts: exports, the API, the report, files of others."""
    switchbed("export", "tc", mixed, "--out", "mixed.sh")
    assert "limit 1000000" in (tmp_path / "mixed.sh").read_text()
    switchbed("run", mixed, "--out", "out")
    run = Result.load(tmp_path / "out")
    assert run.size_bytes("host", "mtu") == 1500
    own = MIXED.replace('label = "old"', 'label = "old"\nlso_max = "8KB"')
    mixed.write_text(own)
    switchbed("run", mixed, "--out", "own")
    with pytest.raises(ValueError, match=r"host\.lso_max: \[\[host\]\] has several"):
        Result.load(tmp_path / "own").size_bytes("host", "lso_max")
    switchbed("report", "out", "--out", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<dd>dctcp, cubic</dd>" in page
    switchbed("fct", "out", "--form", "mq-ecn", "--to", "flow.tr")
    switchbed("table", "out", "--over", "alone")


def test_packets_of_several_sizes_have_no_form_in_packets(switchbed: Program, mixed: Path) -> None:
    small = MIXED.replace("ecn = false", 'ecn = false, mss = "500B"')
    mixed.write_text(small)
    switchbed("run", mixed, "--out", "out")
    refused = switchbed("fct", "out", "--form", "mq-ecn", code=2)
    assert "several mss here: 500 and 1448" in refused.stderr
    switchbed("fct", "out", "--form", "hpcc", "--to", "fct.txt")


LOSING = """
topology = { kind = "star", hosts = 9, rate = "10Gbps", delay = "10us" }
switch = { queues = 1, buffer = "200KB" }
scheme = { name = "per-queue", params = { threshold = "65pkt" } }
transport.kind = "dctcp"
[[traffic]]
kind = "request-response"
from = "0-7"
to = 8
load = 0.9
flows = 1000
sizes = "web-search"
"""


@pytest.mark.parametrize("seed", [4, 5])
def test_without_reordering_no_repair_is_taken_back(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "losing.toml"
    file.write_text(LOSING)
    runs = [
        sb.Scenario.from_file(file).with_({"run.seed": seed, "transport.undo": undo}).run()
        for undo in (True, False)
    ]
    assert runs[0].summary()["drops"] > 100
    assert runs[0].flows.equals(runs[1].flows)
