"""SONiC's tables: what they may hold, round trips, and that no change is lost on the way."""

import copy
import json
import math
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sonic_configs import Config, base, changed, configs, differing, lossy

import switchbed as sb
from switchbed import _native
from switchbed._native import Mistake
from switchbed.sonic import schema
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export, weights, worst
from switchbed.sonic.importing import Imported, load
from switchbed.sonic.normalised import Tables, folded, meant, normalised

CONFIGS = configs()
FABRIC = """
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"
[switch]
queues = 4
policy = "dynamic"
pool = "12MB"
buffer = "12MB"
alpha = 1
quantum = ["1500B", "1500B", "3000B", "6000B"]
[scheme]
name = "per-queue"
params = { threshold = "65pkt" }
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 10
sizes = "web-search"
"""


def resolved(text: str) -> dict[str, Any]:
    return sb.Scenario(tomllib.loads(text)).resolved


def imported(found: Imported) -> dict[str, Any]:
    """The scenario of an import, resolved."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in found.files.items():
            (Path(folder) / name).write_text(text)
        (plan,) = _native.plans_of("x", found.text, folder, [], lines=True)
    return dict(json.loads(plan.scenario))


def again(found: Imported, choices: Choices | None = None) -> Tables:
    """The export of an import."""
    made, said = export(imported(found), choices or Choices(), found.device)
    assert not said.refusals, said.refusals
    return made


def same(config: Config) -> Tables:
    return meant(normalised(config))


def test_there_are_twenty_shapes_and_the_schema_takes_them() -> None:
    assert len(CONFIGS) >= 20
    for name, config in CONFIGS.items():
        assert schema.check(normalised(config)) == [], name


@pytest.mark.parametrize("name", CONFIGS)
def test_the_export_of_an_import_is_the_switch_itself(name: str) -> None:
    found = load(CONFIGS[name], name)
    made = again(found)
    assert same(made) == same(CONFIGS[name])
    assert schema.check(made) == []
    assert meant(normalised(folded(made))) == meant(made)


@pytest.mark.parametrize("name", CONFIGS)
def test_what_the_scenario_says_is_taken_from_it_alone(name: str) -> None:
    """The fields beside the scenario that it says, too, may be anything."""
    found = load(CONFIGS[name], name)
    wrong = copy.deepcopy(found.device)
    for table, key, field in wrong.modelled:
        wrong.tables[table][key][field] = "77"
    made, _ = export(imported(found), Choices(), wrong)
    assert same(made) == same(CONFIGS[name])


def fields() -> list[tuple[str, str, str, str]]:
    return [
        (shape, table, key, field)
        for shape, config in CONFIGS.items()
        for table in config
        if table in schema.TABLES
        for key, row in config[table].items()
        for field in row
    ]


VALUES = {
    "type": ["DWRR", "WRR", "STRICT", "ingress", "egress", "both"],
    "mode": ["static", "dynamic"],
    "ecn": [f"ecn_{name}" for name in schema.ECN],
    "action": ["drop", "forward", "alert"],
    "pfc_enable": ["", "3", "3,4,5"],
    "pfcwd_sw_enable": ["", "3"],
    "packet_discard_action": ["drop", "trim"],
    "meter_type": ["bytes", "packets"],
}
NUMBERS = ["0", "1", "2", "3", "5", "7", "14", "63", "100", "1500", "60000", "1048576", "999999999"]


def test_marks_with_thresholds_of_their_own_are_refused() -> None:
    config = base()
    (name, row), *_ = config["WRED_PROFILE"].items()
    row["ecn_green_min_threshold"] = "1000"
    with pytest.raises(Mistake, match=rf"WRED_PROFILE\|{name}: ecn_green_min_threshold: marks"):
        load(config, "config_db.json", pool=12_000_000)


def test_a_threshold_over_the_memory_that_the_port_gets_is_off() -> None:
    config = base()
    (row, *_) = config["WRED_PROFILE"].values()
    row.update(green_min_threshold="13000000", green_max_threshold="13000000")
    for row in config["BUFFER_POOL"].values():
        row.pop("size", None)
    for pool, scheme in ((12_000_000, "none"), (14_000_000, "per-queue")):
        made = imported(load(config, "x.json", pool=pool))
        assert made["scheme"]["name"] == scheme


@pytest.mark.parametrize("table", ["QUEUE", "SCHEDULER", "WRED_PROFILE", "BUFFER_PROFILE", "PORT"])
@pytest.mark.parametrize("row", ["text", {"weight": 1}])
def test_names_of_ten_kilobytes_are_cut_in_messages(table: str, row: object) -> None:
    config: Any = base()
    config[table]["|" + "x" * 10_000] = row
    with pytest.raises(Mistake) as said:
        load(config, "x.json", pool=12_000_000)
    assert len(str(said.value)) < 1000


def test_a_profile_without_its_greatest_threshold_is_refused() -> None:
    config = CONFIGS["one port"]
    other = changed(config, "WRED_PROFILE", "AZURE_LOSSLESS", "green_max_threshold", None)
    with pytest.raises(Mistake, match="AZURE_LOSSLESS: green_max_threshold is missing"):
        load(other, "one port")


def test_colours_and_the_transport_of_lossless_classes_are_said_by_name() -> None:
    shape, name = CONFIGS["one port"], "AZURE_LOSSLESS"
    config = changed(shape, "WRED_PROFILE", name, "yellow_max_threshold", "9")
    said = {each.key: each for each in load(config, "one port").findings.all}
    assert said["WRED_PROFILE|AZURE_LOSSLESS"].kind == "exact"
    assert said["WRED_PROFILE|AZURE_LOSSLESS|yellow"].kind == "left out"
    lossless = {each.key: each for each in load(CONFIGS["a ToR"], "a ToR").findings.all}
    assert "dcqcn where they send RoCE" in lossless["transport.kind"].text


@pytest.mark.long
@settings(max_examples=400)
@given(st.sampled_from(fields()), st.data())
@example(("a ToR", "WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold"), None)
def test_changing_any_field_shows(place: tuple[str, str, str, str], data: st.DataObject) -> None:
    shape, table, key, field = place
    config = CONFIGS[shape]
    if data is None:
        value: str | None = "5000"
    else:
        known = schema.TABLES[table].fields.get(field)
        others = list(config.get(known.to, {})) if known is not None and known.to else []
        value = data.draw(
            st.sampled_from([None, *(others or VALUES.get(field, [*NUMBERS, "true", "false"]))])
        )
    other = changed(config, table, key, field, value)
    assume(not schema.check(normalised(other)))
    try:
        made = again(load(other, shape))
    except Mistake:
        return  # it shows by being refused
    assert same(made) == same(other)
    if same(other) != same(config):
        assert same(made) != same(config)


def test_ports_that_differ_are_said_and_can_be_chosen() -> None:
    config = differing()
    most = load(config, "x.json")
    assert most.device.ports == ["Ethernet0", "Ethernet8", "Ethernet12"]
    assert any("--port Ethernet4 imports these" in str(each) for each in most.findings.all)
    assert same(again(most)) == same(config)
    found = load(config, "x.json", ["Ethernet4"])
    assert found.device.ports == ["Ethernet4"]
    assert '"75000B"' in found.text  # its weight of 50
    assert same(again(found)) == same(config)
    with pytest.raises(Mistake, match="--port Ethernet8: its queues differ"):
        load(config, "x.json", ["Ethernet4", "Ethernet8"])


def test_ports_of_several_speeds_have_their_own() -> None:
    config = base()
    for port, speed in (("Ethernet0", "400000"), ("Ethernet12", "10000")):
        config["PORT"][port]["speed"] = speed
    config["CABLE_LENGTH"] = {"AZURE": {"Ethernet0": "5m", "Ethernet4": "40m", "Ethernet12": "0m"}}
    found = load(config, "x.json", stem="tor")
    lines = found.files["tor.csv"].splitlines()
    assert lines[-4:] == [
        "Ethernet0,switch,400Gbps,25ns",
        "Ethernet4,switch,100Gbps,200ns",
        "Ethernet8,switch,100Gbps,5000ns",
        "Ethernet12,switch,10Gbps,5ns",
    ]
    scenario = imported(found)
    assert scenario["topology"]["kind"] == "file"
    # Traffic is among the ports of the most common speed: no service port is overloaded.
    assert scenario["traffic"][0]["from"] == "1-2"
    for narrow in (
        load(config, "x.json", mbps=100_000),
        load(config, "x.json", ["Ethernet4"]),
    ):
        assert narrow.device.ports == ["Ethernet4", "Ethernet8"]
        assert same(again(narrow)) == same(config)
    with pytest.raises(Mistake, match=r"--like 25Gbps: .* there are 10Gbps, 100Gbps, 400Gbps"):
        load(config, "x.json", mbps=25_000)
    with pytest.raises(Mistake, match="--port Ethernet0: --like asks for another speed"):
        load(config, "x.json", ["Ethernet0"], mbps=10_000)


def test_parts_of_a_voq_chassis_are_refused_as_such() -> None:
    voq = base()
    voq["DEVICE_METADATA"] = {"localhost": {"switch_type": "voq"}}
    system = base() | {"SYSTEM_PORT": {"lc1|asic0|Ethernet0": {"speed": "100000"}}}
    far = base()
    far["QUEUE"]["lc1|asic0|Ethernet0|3"] = {"scheduler": "scheduler.0"}
    for config, sign in (
        (voq, "switch_type is voq"),
        (system, "it has SYSTEM_PORT"),
        (far, r"QUEUE has lc1\|asic0\|Ethernet0\|3"),
    ):
        with pytest.raises(Mistake, match=rf"{sign}: this is a part of a VOQ chassis"):
            load(config, "x.json")


def test_a_pool_that_the_switch_sizes_itself_needs_a_size() -> None:
    config = lossy()
    for row in config["BUFFER_POOL"].values():
        row.pop("size", None)
        row.pop("xoff", None)
    config["PORT_QOS_MAP"] = {}
    with pytest.raises(Mistake, match=r"ingress_lossless_pool: has no size .* --pool SIZE"):
        load(config, "x.json")
    found = load(config, "x.json", pool=16_000_000)
    assert same(again(found)) == same(config)
    assert imported(found)["switch"]["pool"] == "16MB"


@pytest.mark.parametrize(
    ("shape", "scheme", "switch"),
    [
        ("lossy throughout", "red", {"alpha": 8.0, "unmarkable": "drop", "policy": "asic"}),
        ("a step", "per-queue", {"egress_pool": "24709.632KB"}),
        ("a ToR", "red", {"policy": "asic"}),
        ("Nvidia marks and never drops, with a blank", "red", {"unmarkable": "pass"}),
        ("disabled elsewhere", "none", {}),
        ("enable missing", "none", {}),
        ("off by size", "none", {}),
        ("ecn yellow alone", "none", {}),
        ("two strict queues", "red", {"strict_order": "highest", "queues": 7}),
        ("static parts", "red", {"alpha": 1000.0}),
    ],
)
def test_an_import_means_what_the_switch_does(
    shape: str, scheme: str, switch: dict[str, Any]
) -> None:
    found = imported(load(CONFIGS[shape], shape))
    assert found["scheme"]["name"] == scheme
    assert {key: found["switch"][key] for key in switch} == switch


def test_strict_queues_turn_round_and_back() -> None:
    found = imported(load(CONFIGS["two strict queues"], "x"))
    # Among SONiC's strict queues 6 goes before 5.
    assert [rules["queue"] for rules in found["switch"]["queue"] if rules["strict"]] == [5, 6]
    assert found["switch"]["strict_order"] == "highest"
    made, said = export(
        resolved(FABRIC.replace("queues = 4", "queues = 4\nstrict = 2\nstrict_order = 'highest'")),
        Choices(),
    )
    assert made["SCHEDULER"][made["QUEUE"]["Ethernet0|1"]["scheduler"]] == {"type": "STRICT"}
    assert made["TC_TO_QUEUE_MAP"]["SWITCHBED"] == {str(i): str(i) for i in range(4)}
    text = FABRIC.replace("queues = 4", "queues = 4\nstrict = 2")
    made, said = export(resolved(text), Choices(["Ethernet0"]))
    kinds = [made["SCHEDULER"][made["QUEUE"][f"Ethernet0|{q}"]["scheduler"]] for q in range(4)]
    assert kinds == [
        {"type": "DWRR", "weight": "2"},
        {"type": "DWRR", "weight": "4"},
        {"type": "STRICT"},
        {"type": "STRICT"},
    ]
    assert made["TC_TO_QUEUE_MAP"]["SWITCHBED"] == {"0": "3", "1": "2", "2": "0", "3": "1"}
    assert any("turn round" in str(each) for each in said.all)


def test_a_scenario_of_ones_own_has_all_its_tables() -> None:
    made, said = export(resolved(FABRIC), Choices(["Ethernet0", "Ethernet4"]))
    assert not said.refusals
    assert schema.check(made) == []
    assert len(made["DSCP_TO_TC_MAP"]["SWITCHBED"]) == 64
    assert made["WRED_PROFILE"]["SWITCHBED"]["green_min_threshold"] == "97500"
    assert made["WRED_PROFILE"]["SWITCHBED"]["green_max_threshold"] == "97500"
    assert made["WRED_PROFILE"]["SWITCHBED"]["wred_red_enable"] == "true"
    assert any("yellow and red are set as green" in str(each) for each in said.all)
    assert made["BUFFER_PROFILE"]["egress_lossy_profile"]["dynamic_th"] == "0"
    assert [made["SCHEDULER"][f"SWITCHBED_{w}"]["weight"] for w in (1, 2, 4)] == ["1", "2", "4"]
    back = load(made, "x.json")
    assert same(again(back)) == same(made)
    found, own = imported(back), resolved(FABRIC)
    for key in ("queues", "strict", "quantum", "pool", "alpha"):
        assert found["switch"][key] == own["switch"][key], key
    assert found["scheme"]["params"] == own["scheme"]["params"]


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('name = "per-queue"', 'name = "mq-ecn"', "scheme.name", "--instead scheme=per-queue-min"),
        ('name = "per-queue"', 'name = "per-port"', "scheme.name", "WRED is a queue's"),
        (
            'name = "per-queue"\nparams = { threshold = "65pkt" }',
            'name = "codel"',
            "scheme.name",
            "no such state",
        ),
        (
            'name = "per-queue"\nparams = { threshold = "65pkt" }',
            'name = "red"\nparams = { kmax = "90KB", pmax = 0.005, weight = 1 }',
            "scheme.params.pmax",
            "0.01 would do",
        ),
        (
            'name = "per-queue"\nparams = { threshold = "65pkt" }',
            'name = "red"\nparams = { kmax = "90KB" }',
            "scheme.params.weight",
            "0.002, the default: SONiC always compares the present length: scheme.params.",
        ),
        (
            'name = "per-queue"\nparams = { threshold = "65pkt" }',
            'name = "red"\nparams = { kmax = "90KB", weight = 1, gentle = true }',
            "scheme.params.gentle",
            "gentle = false",
        ),
        ("queues = 4", 'queues = 4\nclassify = "hash"', "switch.classify", "class would do"),
        ('policy = "dynamic"\npool = "12MB"', "", "switch.buffer", "buffer=device"),
        ("queues = 4", 'queues = 4\nunmarkable = "pass"', "switch.unmarkable", "nvidia"),
        ("queues = 4", 'queues = 4\ndiscipline = "fifo"', "switch.discipline", "queues = 1"),
        (
            '"1500B", "1500B", "3000B", "6000B"',
            '"1B", "1500B", "1500B", "1500B"',
            "quantum",
            "raise",
        ),
        ('threshold = "65pkt"', 'threshold = "3GB"', "scheme.params", "2147483647"),
    ],
)
def test_what_sonic_lacks_is_refused_with_what_would_do(
    old: str, new: str, key: str, said: str
) -> None:
    assert old in FABRIC
    text = FABRIC.replace(old, new)
    if "pool" not in text:
        text = text.replace("alpha = 1\n", "")
    if "3GB" in text:
        text = text.replace("12MB", "12GB")
    _, findings = export(resolved(text), Choices())
    refused = [each for each in findings.refusals if key in each.key]
    assert len(refused) == 1, findings.all
    assert said in refused[0].text


def test_a_curve_is_exported_for_the_lines_that_there_are() -> None:
    curve = 'name = "red"\nparams = { curve = "hpcc" }'
    text = FABRIC.replace('name = "per-queue"\nparams = { threshold = "65pkt" }', curve)
    made, _ = export(resolved(text), Choices())
    profile = made["WRED_PROFILE"]["SWITCHBED"]
    # 100 to 400 KB at 25 Gbps are 40 to 160 KB at 10.
    assert profile["green_min_threshold"] == "40000"
    assert profile["green_max_threshold"] == "160000"
    uneven = 'kind = "dumbbell"\nleft = 2\nright = 2\nbottleneck_rate = "5Gbps"'
    text = text.replace('kind = "star"\nhosts = 4', uneven).replace("load = 0.5", "load = 0.2")
    _, findings = export(resolved(text), Choices())
    assert any("lines differ" in refused.text for refused in findings.refusals)


def test_a_chips_cells_are_told_and_its_buffers_stay() -> None:
    text = FABRIC.replace('policy = "dynamic"\npool = "12MB"\nbuffer = "12MB"\nalpha = 1\n', "")
    text = text.replace("queues = 4", 'queues = 4\nasic = "spectrum-2"\nunmarkable = "pass"')
    made, findings = export(resolved(text), Choices())
    assert not findings.refusals  # Nvidia's chips mark without dropping
    assert made["WRED_PROFILE"]["SWITCHBED"]["wred_green_enable"] == "false"
    assert "BUFFER_POOL" not in made
    assert any("97500 bytes are 677.08 cells" in str(each) for each in findings.all)


def test_a_chips_alpha_goes_into_the_profile_that_the_switch_has() -> None:
    memory = 'policy = "dynamic"\npool = "12MB"\nbuffer = "12MB"\nalpha = 1'
    with_alpha = resolved(FABRIC.replace(memory, 'asic = "trident-3"\nalpha = 0.25'))
    _, said = export(with_alpha, Choices())
    assert [f.key for f in said.refusals] == ["switch.alpha"]
    config = lossy()
    config["PORT_QOS_MAP"] = {}
    device = load(config, "x").device
    spectrum = resolved(FABRIC.replace(memory, 'asic = "spectrum-4"\nalpha = 64'))
    for scenario, power in ((with_alpha, "-2"), (spectrum, "0")):
        scenario["switch"]["queues"] = device.count
        scenario["switch"]["quantum"] = "1500B"
        made, _ = export(scenario, Choices(), device)
        assert made["BUFFER_PROFILE"]["egress_lossy_profile"]["dynamic_th"] == power


def parts(switch: str = "", scheme: str = "", more: str = "") -> tuple[Tables, dict[str, str]]:
    """Tables and verdicts of a static policy's scenario, whose star has four ports."""
    text = FABRIC.replace('policy = "dynamic"\npool = "12MB"\nbuffer = "12MB"\nalpha = 1\n', switch)
    text = text.replace("[scheme]", f"{more}\n[scheme]")
    text = text.replace('threshold = "65pkt"', f'threshold = "65pkt"{scheme}')
    made, said = export(resolved(text), Choices())
    keys = [each.key for each in said.all]
    assert len(set(keys)) == len(keys), keys
    return made, {each.key: str(each) for each in said.all}


def test_a_static_policys_pool_holds_every_ports_memory() -> None:
    made, said = parts('policy = "static"\nbuffer = "1200KB"\n')
    # Four ports of 1.2 MB, of which each of four queues has a quarter.
    for side in ("egress", "ingress"):
        assert made["BUFFER_POOL"][f"{side}_lossy_pool"]["size"] == "4800000"
    assert made["BUFFER_PROFILE"]["egress_lossy_profile"]["static_th"] == "300000"
    assert said["switch.buffer"].startswith("exact: switch.buffer: 4800000 bytes of a pool")
    assert "1200000 for each of 4 ports" in said["switch.buffer"]
    # A limit below a queue's part is what it may hold; one above it is not.
    for limit, held in (("100KB", "100000"), ("900KB", "300000")):
        made, said = parts(
            'policy = "static"\nbuffer = "1200KB"\n',
            more=f'[[switch.queue]]\nqueue = 1\nlimit = "{limit}"',
        )
        profile = made["BUFFER_QUEUE"]["Ethernet0|1"]["profile"]
        assert made["BUFFER_PROFILE"][profile]["static_th"] == held


def test_a_queue_that_may_have_all_that_is_free_is_bounded_by_the_pool() -> None:
    made, said = parts('policy = "dynamic"\npool = "12MB"\nbuffer = "12MB"\nalpha = 1000\n')
    profile = made["BUFFER_PROFILE"]["egress_lossy_profile"]
    assert profile == {"pool": "egress_lossy_pool", "size": "0", "static_th": "12000000"}
    assert said["switch.alpha"].endswith("1000: whatever is free, as static_th")


def test_a_devices_pool_that_is_less_than_static_parts_is_said() -> None:
    found = load(CONFIGS["lossy throughout"], "x")
    for buffer, kind in (("70MB", "approximated"), ("70KB", "exact")):
        scenario = imported(found)
        scenario["switch"] |= {"policy": "static", "buffer": buffer}
        scenario["switch"].pop("alpha")
        _, said = export(scenario, Choices(), found.device)
        assert [each.kind for each in said.all if each.key == "switch.buffer"] == [kind]


@pytest.mark.parametrize("policy", ["abm", "fab", "lqd", "occamy"])
def test_a_policy_over_the_pool_is_refused_for_what_it_is(policy: str) -> None:
    text = FABRIC.replace('policy = "dynamic"', f'policy = "{policy}"').replace("alpha = 1\n", "")
    _, said = export(resolved(text), Choices())
    assert [each.key for each in said.refusals] == ["switch.policy"]
    assert "of a port's own" not in said.refusals[0].text


def test_buffers_that_no_device_names_are_not_exact() -> None:
    limit = '[[switch.queue]]\nqueue = 1\nlimit = "900KB"'
    _, said = parts('policy = "asic"\npool = "12MB"\n', more=limit)
    assert said["switch.queue.1.limit"].startswith("refused: ")
    assert said["switch.pool"].startswith("left out: ")


def test_packets_that_pass_where_marks_are_made_as_packets_leave_are_said() -> None:
    memory = 'policy = "static"\nbuffer = "1200KB"\n'
    _, said = parts(memory)
    assert said["switch.unmarkable"].startswith("exact: ")
    _, said = parts(memory, scheme=', mark_at = "dequeue"')
    assert said["switch.unmarkable"].startswith("approximated: ")
    assert said["scheme.params.mark_at"].startswith("approximated: ")


@pytest.mark.parametrize("name", CONFIGS)
def test_keys_that_no_import_reads_are_named_and_each_key_has_one_verdict(name: str) -> None:
    config = copy.deepcopy(CONFIGS[name])
    config["WHATEVER"] = {"a": {"b": "c"}}
    named = []
    for table, rows in config.items():
        known = schema.TABLES.get(table)
        if known is None or known.mapping is not None:
            continue
        # A row that no queue of the ports has is named itself.
        key = next(iter(rows))
        rows[key] = dict(rows[key]) | {"whatever": "7"}
        named.append((table, key))
    said = [str(each) for each in load(config, name).findings.all]
    assert any("WHATEVER" in line for line in said)
    for table, key in named:
        of_it = [line for line in said if f": {table}" in line]
        assert any("whatever" in line or key in line for line in of_it), (table, key)
    keys = [each.key for each in load(config, name).findings.all]
    assert len(set(keys)) == len(keys), keys


def test_fields_that_a_scenario_has_no_place_for_are_named() -> None:
    config = lossy()
    port = next(iter(config["PORT"]))
    for table, key, name, value in (
        ("PORT", port, "autoneg", "on"),
        ("PORT", port, "pfc_asym", "on"),
        ("PORT", port, "admin_status", "down"),
        ("PORT_QOS_MAP", port, "scheduler", "scheduler.0"),
    ):
        changed = copy.deepcopy(config)
        changed.setdefault(table, {}).setdefault(key, {})[name] = value
        said = [str(each) for each in load(changed, "x", [port]).findings.all]
        assert any(line.startswith(f"left out: {table}|{name}: {value}: ") for line in said), said


def test_eleven_queues_are_too_many() -> None:
    text = FABRIC.replace("queues = 4", "queues = 11").replace(
        'quantum = ["1500B", "1500B", "3000B", "6000B"]', ""
    )
    made, findings = export(resolved(text), Choices())
    assert not made
    assert "at most 10" in findings.refusals[0].text


def test_the_nearest_static_scheme_is_taken_where_it_is_chosen() -> None:
    text = FABRIC.replace('"per-queue"', '"mq-ecn"')
    made, findings = export(resolved(text), Choices(instead={"scheme": "per-queue-min"}))
    assert not findings.refusals
    # 65 packets by the quanta's shares: 1, 1, 2 and 4 of 8.
    found = [
        made["WRED_PROFILE"][made["QUEUE"][f"Ethernet0|{q}"]["wred_profile"]]["green_max_threshold"]
        for q in range(4)
    ]
    assert found == ["12188", "12188", "24375", "48750"]


def test_a_changed_threshold_changes_its_rows_alone() -> None:
    found = load(CONFIGS["lossy throughout"], "x")
    scenario = imported(found)
    scenario["scheme"]["params"] |= {"kmin": "30KB", "kmax": "90KB", "pmax": 0.2}
    made, findings = export(scenario, Choices(), found.device)
    assert not findings.refusals
    before, after = same(CONFIGS["lossy throughout"]), same(made)
    differs = {
        (table, key, name)
        for table in before
        for key in before[table]
        for name in before[table][key]
        if after[table][key][name] != before[table][key][name]
    }
    # The device has all colours alike.
    assert differs == {
        ("WRED_PROFILE", "AZURE_LOSSLESS", f"{colour}_{name}")
        for colour in ("green", "yellow", "red")
        for name in ("min_threshold", "max_threshold", "drop_probability")
    }


def test_buffers_that_stay_the_devices_are_whole() -> None:
    found = load(CONFIGS["lossy throughout"], "x")
    made = again(found, Choices(instead={"buffer": "device"}))
    assert same(made) == same(CONFIGS["lossy throughout"])


def test_a_profile_whose_kind_of_threshold_changes_has_another_name() -> None:
    found = load(CONFIGS["lossy throughout"], "x")
    scenario = imported(found)
    scenario["switch"] |= {"policy": "static", "buffer": "7MB"}
    scenario["switch"].pop("alpha")
    made, _ = export(scenario, Choices(), found.device)
    assert made["BUFFER_QUEUE"]["Ethernet0|0"] == {"profile": "egress_lossy_profile_static"}
    assert made["BUFFER_PROFILE"]["egress_lossy_profile_static"]["static_th"] == "1000000"
    assert made["BUFFER_PROFILE"]["egress_lossy_profile"]["dynamic_th"] == "3"
    assert schema.check(made) == []


def test_a_queue_whose_weight_changes_leaves_the_others_theirs() -> None:
    found = load(CONFIGS["lossy throughout"], "x")
    scenario = imported(found)
    scenario["switch"]["quantum"] = ["45000B", *scenario["switch"]["quantum"][1:]]
    made, _ = export(scenario, Choices(), found.device)
    of = [
        made["SCHEDULER"][made["QUEUE"][f"Ethernet8|{q}"]["scheduler"]]["weight"] for q in range(7)
    ]
    assert of == ["30", "14", "14", "15", "15", "14", "14"]


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=8))
def test_weights_are_the_nearest(quanta: list[int]) -> None:
    assume(min(quanta) / sum(quanta) >= 0.005)
    made = weights(quanta)
    assert all(1 <= w <= 100 for w in made)
    shares = [q / sum(quanta) for q in quanta]
    plain = [min(100, max(1, round(100 * share))) for share in shares]
    assert worst(shares, made) <= worst(shares, plain) + 1e-12


def test_shares_that_weights_have_are_exact() -> None:
    assert weights([1500, 1500, 3000]) == [1, 1, 2]
    assert weights([14 * 1500] * 5 + [15 * 1500] * 2) == [14] * 5 + [15] * 2
    assert weights([4000, 4000]) == [1, 1]
    assert math.isclose(worst([1 / 3, 2 / 3], weights([10**6, 2 * 10**6])), 0, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("SCHEDULER", "scheduler.0", "weight"), "101", "from 1 to 100"),
        (("SCHEDULER", "scheduler.0", "weight"), "014", "a whole number"),
        (("SCHEDULER", "scheduler.0", "priority"), "3", "orchagent"),
        (("SCHEDULER", "scheduler.0", "pir"), "5", "cir: must be above 0"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold"), "2147483648", "2147483647"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "green_max_threshold"), "7", "less than green_min"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "green_drop_probability"), "0.5", "from 0 to 100"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "wred_green_enable"), True, "every value is a text"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "mode"), "x", "no such field"),
        (("QUEUE", "Ethernet0|0", "scheduler"), "none", "SCHEDULER has no none"),
        (("QUEUE", "Ethernet0|banana", "scheduler"), "scheduler.0", "is no key of QUEUE"),
        (("QUEUE", "Ethernet99|0", "scheduler"), "scheduler.0", "PORT has no Ethernet99"),
        (("BUFFER_PROFILE", "egress_lossy_profile", "static_th"), "1", "exactly one of"),
        (("BUFFER_PROFILE", "egress_lossy_profile", "dynamic_th"), "8", "from -8 to 7"),
        (("BUFFER_POOL", "egress_lossy_pool", "percentage"), "10", "beside size"),
        (("PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "3, 4", "no blanks"),
        (("DSCP_TO_TC_MAP", "AZURE", "64"), "1", "from 0 to 63"),
        (("DSCP_TO_TC_MAP", "AZURE", "03"), "1", "its name"),
        (("BUFFER_QUEUE", "Ethernet0|16", "profile"), "egress_lossy_profile", "is no key"),
    ],
)
def test_the_schema_refuses(place: tuple[str, str, str], value: Any, said: str) -> None:
    table, key, field = place
    config: Any = base()
    config[table].setdefault(key, {})[field] = value
    problems = schema.check(config)
    assert len(problems) == 1, problems
    assert problems[0].startswith(f"{table}|{key}")
    assert said in problems[0]


ENDS = ("min", "max")


def test_colours_unlike_green_stay_as_they_are() -> None:
    config = lossy(yellow_min_threshold="500000")
    (row,) = config["WRED_PROFILE"].values()

    def changed_to(low: str, high: str) -> tuple[dict[str, str], str]:
        found = load(config, "x.json")
        made = imported(found)
        made["scheme"]["params"] |= {"kmin": low, "kmax": high}
        tables, said = export(made, Choices(), found.device)
        assert not said.refusals
        return tables["WRED_PROFILE"]["AZURE_LOSSLESS"], "\n".join(map(str, said.all))

    new, said = changed_to("40000B", "90KB")
    ends = [new[f"{colour}_min_threshold"] for colour in ("green", "yellow", "red")]
    assert ends == ["40000", "500000", "40000"]
    assert [new[f"{c}_max_threshold"] for c in ("yellow", "red")] == ["2097152", "90000"]
    assert "|AZURE_LOSSLESS: yellow stays as the device has it" in said
    del row["wred_red_enable"]  # off, where green is on
    new, said = changed_to("40000B", "90KB")
    assert {key: value for key, value in new.items() if "green" not in key} == {
        key: value for key, value in row.items() if "green" not in key
    }
    assert "|AZURE_LOSSLESS: yellow and red stay as the device has them" in said


def test_the_commands_lead_there_and_back(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text(json.dumps(CONFIGS["lossy throughout"]))
    done = switchbed("import", "sonic", "config_db.json")
    assert "exact: WRED_PROFILE|AZURE_LOSSLESS: a ramp from 1048576" in done.stderr
    assert "exact: switch.pfc: classes 3 to 4 are lossless" in done.stderr
    assert "config_db.toml: ok" in switchbed("scenario", "check", "config_db.toml").stdout
    switchbed("export", "sonic", "config_db.toml", "--out", "whole.json")
    whole = json.loads((tmp_path / "whole.json").read_text())
    expected = same(CONFIGS["lossy throughout"])
    expected.pop("PORT")
    assert meant(normalised(whole)) == expected
    assert "PORT" not in whole
    change = ["--set", "scheme.params.kmin=30KB", "--set", "scheme.params.kmax=90KB"]
    done = switchbed("export", "sonic", "config_db.toml", *change, "--changes", "--out", "f.json")
    fragment = json.loads((tmp_path / "f.json").read_text())
    assert list(fragment) == ["WRED_PROFILE"]
    # The device's profile has three colours alike, and they stay so.
    for colour in ("green", "yellow", "red"):
        ends = [fragment["WRED_PROFILE"]["AZURE_LOSSLESS"][f"{colour}_{e}_threshold"] for e in ENDS]
        assert ends == ["30000", "90000"]
    findings = json.loads((tmp_path / "f.findings.json").read_text())
    assert {each["finding"] for each in findings} <= {"exact", "approximated"}
    refused = switchbed("import", "sonic", "config_db.json", code=2)
    assert "is there already" in refused.stderr


PFC_VALUES = {
    "headroom": "77KB",
    "reserve": "9KB",
    "threshold": "55KB",
    "alpha": "0.25",
    "xon": "19KB",
    "xon_offset": "7KB",
}


@pytest.mark.parametrize("name", ["lossy throughout", "groups with a profile"])
def test_no_key_of_pfc_is_lost_without_a_word(name: str) -> None:
    config = json.loads(json.dumps(CONFIGS["lossy throughout"]))
    if name != "lossy throughout":
        config["BUFFER_PROFILE"]["pg_lossless_100000_5m_profile"] = {
            "pool": "ingress_lossless_pool",
            "size": "0",
            "xoff": "50000",
            "xon_offset": "2496",
            "dynamic_th": "-3",
        }
        config["BUFFER_PG"]["Ethernet0|3-4"] = {"profile": "pg_lossless_100000_5m_profile"}
    found = load(config, "x")
    kept = []
    for key, value in PFC_VALUES.items():
        scenario = imported(found)
        scenario["switch"]["pfc"] |= {key: float(value) if key == "alpha" else value}
        made, said = export(scenario, Choices(), found.device)
        if f"switch.pfc.{key}" in {each.key for each in said.refusals}:
            continue
        assert same(made) != same(config), key
        kept.append(key)
    fields = ["headroom", "reserve", "alpha", "xon_offset"]
    assert kept == (fields if found.device.groups else [])
    scenario = imported(found)
    scenario["switch"]["pfc"] |= {"watchdog": "drop", "pipeline": "0us"}
    _, said = export(scenario, Choices(), found.device)
    assert [each.key for each in said.all if each.kind == "left out"] == ["switch.pfc.watchdog"]


def test_lossless_classes_need_the_devices_file(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text(json.dumps(CONFIGS["lossy throughout"]))
    switchbed("import", "sonic", "config_db.json", "--out", "tor.toml")
    (tmp_path / "tor.toml").rename(tmp_path / "other.toml")
    for more in ([], ["--instead", "buffer=device"]):
        done = switchbed("export", "sonic", "other.toml", *more, code=2)
        assert "refused: switch.pfc: without the device's own file" in done.stderr
    race = ["--target", "sonic", "--fragment", "f.json", "--param", "kmin=15KB"]
    done = switchbed("tune", "other.toml", *race, code=2)
    assert "switch.pfc: without the device's own file" in done.stderr
    assert not (tmp_path / "f.json").exists()


def test_nothing_is_written_where_something_is_refused_but_with_partial(
    switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(FABRIC.replace('"per-queue"', '"mq-ecn"'))
    done = switchbed("export", "sonic", "own.toml", "--out", "own.json", code=2)
    assert "refused: scheme.name: mq-ecn" in done.stderr
    assert not (tmp_path / "own.json").exists()
    switchbed("export", "sonic", "own.toml", "--out", "own.json", "--partial")
    assert "WRED_PROFILE" not in json.loads((tmp_path / "own.json").read_text())
    assert (
        "there are scheme=per-queue"
        in switchbed("export", "sonic", "own.toml", "--instead", "scheme=magic", code=2).stderr
    )
    bad = tmp_path / "bad.json"
    bad.write_text('{"QUEUE": {"Ethernet0|0": {"scheduler": true}}}')
    done = switchbed("import", "sonic", bad, code=2)
    assert 'QUEUE|Ethernet0|0|scheduler: is True, and SONiC has texts alone: "true"' in done.stderr


def test_from_a_switchs_configuration_to_advice_to_a_fragment(
    switchbed: Program, tmp_path: Path
) -> None:
    """As an operator would: what a switch ships with, a race, and the rows that change."""
    ships = lossy()
    (tmp_path / "config_db.json").write_text(json.dumps(ships))
    switchbed("import", "sonic", "config_db.json", "--out", "tor.toml")
    small = ["--set", "topology.rate=10Gbps", "--set", "flows=30", "--set", "load=0.8"]
    race = [
        "--objective",
        "fct.small.mean_us",
        "--param",
        "kmin=15KB",
        "--param",
        "kmax=15KB",
        "--delta",
        "90%",
    ]
    done = switchbed(
        *("tune", "tor.toml", *small, *race, "--seeds", "5", "--rtt", "40us", "--json"),
        *("--target", "sonic", "--fragment", "fragment.json", "--jobs", "2"),
    )
    found = json.loads(done.stdout)
    advised = found["advised"]
    fragment = json.loads((tmp_path / "fragment.json").read_text())
    assert fragment == found["fragment"]
    # The rows that differ and no other, by the switch's own names; all else in them as it was.
    ((name, row),) = fragment.pop("WRED_PROFILE").items()
    assert fragment == {}
    assert name == "AZURE_LOSSLESS"
    assert row["green_min_threshold"] == advised["scheme.params.kmin"].removesuffix("B")
    differs = {key for key, value in row.items() if ships["WRED_PROFILE"][name].get(key) != value}
    assert "green_min_threshold" in differs
    assert differs <= {
        f"{colour}_{part}"
        for colour in ("green", "yellow", "red")
        for part in ("min_threshold", "max_threshold", "drop_probability")
    }


def test_queues_that_differ_have_profiles_of_their_own() -> None:
    entries = """[[switch.queue]]
queue = 0
scheme = "none"
alpha = 4
[[switch.queue]]
queue = 3
strict = true
scheme = { params.threshold = "20pkt" }
[scheme]"""
    made, said = export(resolved(FABRIC.replace("[scheme]", entries)), Choices())
    assert not said.refusals, said.refusals
    assert schema.check(made) == []
    rows = {queue: made["QUEUE"][f"Ethernet0|{queue}"] for queue in range(4)}
    assert "wred_profile" not in rows[0]
    ends = [
        made["WRED_PROFILE"][rows[queue]["wred_profile"]]["green_min_threshold"]
        for queue in range(1, 4)
    ]
    assert ends == ["97500", "97500", "30000"]
    assert made["SCHEDULER"][rows[3]["scheduler"]] == {"type": "STRICT"}
    alphas = [
        made["BUFFER_PROFILE"][made["BUFFER_QUEUE"][f"Ethernet0|{queue}"]["profile"]]["dynamic_th"]
        for queue in range(4)
    ]
    assert alphas == ["2", "0", "0", "0"]
    assert same(again(load(made, "x.json"))) == same(made)
    limited = entries.replace("alpha = 4", 'limit = "100KB"')
    _, said = export(resolved(FABRIC.replace("[scheme]", limited)), Choices())
    assert [each.key for each in said.refusals] == ["switch.queue.0.limit"]
