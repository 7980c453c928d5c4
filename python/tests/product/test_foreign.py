"""Files of other programs: a line says what is wrong in them, and what is written runs."""

import copy
import json
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from conftest import SINGLE, Program
from sonic_configs import base, lossy

import switchbed as sb
from switchbed import fct, foreign, options, quantity
from switchbed._native import Mistake
from switchbed.cli import cli
from switchbed.sonic import fragment
from switchbed.sonic.draft import Choices
from switchbed.sonic.finding import Findings
from switchbed.sonic.importing import Imported, load
from switchbed.tc import encoding, exporting, importing, shown, times
from switchbed.tc.encoding import damps

SHARED = Path(__file__).resolve().parents[4] / "shared" / "sonic" / "devices"
DEVICE_PORT = {
    "alias": "etp1",
    "index": "1",
    "admin_status": "up",
    "fec": "rs",
    "autoneg": "off",
    "mtu": "9100",
    "from_a_newer_release": "7",
}


NO_NUMBERS = ["1_0", "\u0663", "nan", "inf", "1e400", "0x10", "", " ", "1,5"]
"""Python takes most of them for numbers."""
OPTIONS = [
    ["run", "@star-dctcp", "--seed"],
    ["sweep", "@star-dctcp", "--seeds"],
    ["sweep", "@star-dctcp", "--jobs"],
    ["theory", "cqrd-memory", "--ports"],
    ["theory", "cedm", "--rate", "10Gbps", "--rtt", "100us", "--flows"],
    ["live", "stats", "--every"],
    ["live", "stats", "--count"],
]


@pytest.mark.parametrize("arguments", OPTIONS, ids=" ".join)
def test_options_take_ascii_digits_alone(arguments: list[str]) -> None:
    for text in NO_NUMBERS:
        done = CliRunner().invoke(cli, [*arguments, text])
        assert (done.exit_code, arguments[-1] in done.output) == (2, True), (text, done.output)


@pytest.mark.parametrize(
    "arguments",
    [
        ["sizes", "--json", "web-search"],
        ["schemes", "--json", "mq-ecn"],
        ["host", "list", "--json", "linux-6.x"],
        ["scenario", "list", "--json", "star-dctcp"],
        ["theory", "standard", "--rate", "10Gbps", "--rtt", "80us", "--csv", "@star-dctcp"],
    ],
    ids=" ".join,
)
def test_a_name_after_json_is_no_file(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    *_, option, name = arguments
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, Mistake)
    assert f"{option} {name}: is a name and no file; write {name} {option}" in str(done.exception)
    assert not list(tmp_path.iterdir())
    # The name is that of a file where it is written as one.
    assert CliRunner().invoke(cli, [*arguments[:-2], f"{option}=./{name}"]).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_whole_number_has_an_end() -> None:
    for name, command in commands(cli):
        for each in command.params:
            if isinstance(each.type, options.Whole):
                with pytest.raises(click.BadParameter):
                    each.type.convert("9" * 30, None, None)
                assert each.type.max is None or each.type.max < 2**63, f"{name} {each.name}"


def test_every_numeric_option_is_of_one_type() -> None:
    for name, command in commands(cli):
        for each in command.params:
            builtin = type(each.type) in (click.IntRange, click.FloatRange) or each.type in (
                click.INT,
                click.FLOAT,
            )
            assert not builtin or getattr(each, "count", False), f"{name} {each.name}"


def commands(of: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(of, click.Group):
        # Commands of other packages are there too, the papers' among them.
        context = click.Context(of)
        for name in of.list_commands(context):
            each = of.get_command(context, name)
            assert each is not None, name
            yield from commands(each)
    else:
        yield of.name or "", of


FCT = {
    "hpcc": ["0b000001", "0b000101", "10000", "100", "1000", "2000", "3000", "2500"],
    "ns3-datacenter": ["1", "1000", "2000", "1500", "1.3", "1000", "5.5", "3", "0"],
    "mq-ecn": ["3.0", "0.001", "0", "1", "2", "0"],
}


@pytest.mark.parametrize("form", fct.FORMS)
def test_lists_of_fcts_hold_finite_numbers(form: fct.Form, tmp_path: Path) -> None:
    file = tmp_path / "fct.txt"
    file.write_text(" ".join(FCT[form]) + "\n")
    assert len(fct.read(file, form)) == 1
    read = {"hpcc": (0, 1, 4, 5, 6, 7), "ns3-datacenter": (1, 2, 3, 6, 7), "mq-ecn": range(6)}
    for place in read[form]:
        for text in ("1_0", "\u0663", "nan", "inf", "1e400", "x"):
            if form == "hpcc" and place < 2 and text == "1e400":
                continue  # a hexadecimal number
            file.write_text(" ".join([*FCT[form][:place], text, *FCT[form][place + 1 :]]))
            with pytest.raises(Mistake, match=f"fct.txt:1: is no line of {form}"):
                fct.read(file, form)


def of_a_device(config: Any) -> Any:
    """The same with what devices' PORT rows have besides, and keys of a newer release."""
    made = copy.deepcopy(config)
    for row in made["PORT"].values():
        row.update(DEVICE_PORT)
    for table in ("QUEUE", "BUFFER_PROFILE", "SCHEDULER"):
        next(iter(made[table].values()))["from_a_newer_release"] = "7"
    return made


def unchanged(found: Imported) -> Any:
    resolved = sb.Scenario(tomllib.loads(found.text)).resolved
    tables, said = fragment.made("x", resolved, Choices(), found.device, changes=True)
    assert not said.refusals, said.refusals
    return tables


def by_chance(config: Any) -> Any:
    """A profile that leaves its probability out, which means 100."""
    for row in config["WRED_PROFILE"].values():
        del row["green_drop_probability"]
    return config


def by_reserve(config: Any) -> Any:
    """Queues that have their reserve alone."""
    for row in config["BUFFER_QUEUE"].values():
        name = row["profile"]
        pool = config["BUFFER_PROFILE"][name]["pool"]
        config["BUFFER_PROFILE"][name] = {"pool": pool, "size": "340000", "static_th": "0"}
    return config


@pytest.mark.parametrize("change", [lambda c: c, by_chance, by_reserve])
@pytest.mark.parametrize("make", [base, lossy])
def test_a_devices_rows_come_back_as_they_were(make: Any, change: Any) -> None:
    found = load(change(of_a_device(make())), "x.json")
    assert unchanged(found) == {}
    said = [str(each) for each in found.findings.all]
    assert any("from_a_newer_release" in each and "kept" in each for each in said)


@pytest.mark.parametrize(
    ("table", "field", "value", "says"),
    [
        ("SCHEDULER", "weight", "0", "a whole number from 1 to 100 is needed"),
        ("SCHEDULER", "weight", "101", "a whole number from 1 to 100 is needed"),
        ("SCHEDULER", "weight", "\u0661\u0662", "a whole number from 1 to 100 is needed"),
        ("SCHEDULER", "type", "RR", "one of DWRR, WRR, STRICT is needed"),
        ("WRED_PROFILE", "green_drop_probability", "101", "from 0 to 100 is needed"),
        ("WRED_PROFILE", "green_min_threshold", "1e6", "a whole number from 0 to 2147483647"),
        ("WRED_PROFILE", "green_max_threshold", "2147483648", "from 0 to 2147483647"),
        ("BUFFER_PROFILE", "dynamic_th", "8", "a whole number from -8 to 7 is needed"),
        ("BUFFER_PROFILE", "dynamic_th", "9" * 30, "a whole number from -8 to 7 is needed"),
        ("BUFFER_PROFILE", "pool", "none-such", "BUFFER_POOL has no none-such"),
        ("BUFFER_POOL", "size", "12MB", "a whole number from 0 to"),
        ("BUFFER_POOL", "size", "1000", "1000 bytes hold no two packets: at least 3000"),
        ("QUEUE", "scheduler", "", "SCHEDULER has no ''"),
        ("QUEUE", "wred_profile", "x" * 10_000, "x…"),
        ("PORT", "speed", "0", "a whole number from 1 to 1600000 is needed"),
        ("PORT", "speed", 100, 'SONiC has texts alone: "100"'),
        ("PORT", "speed", ["100", True], 'SONiC has texts alone: "100,true"'),
    ],
)
def test_a_value_out_of_range_is_named_with_table_row_key_and_range(
    table: str, field: str, value: Any, says: str
) -> None:
    config: Any = lossy()
    for row in config[table].values():
        if field in row or table in ("QUEUE", "SCHEDULER"):
            row[field] = value
            row.pop("static_th", None) if field == "dynamic_th" else None
    with pytest.raises(Mistake) as refused:
        load(config, "x.json")
    said = str(refused.value)
    assert said.startswith(f"x.json: {table}|")
    assert says in said
    assert len(said) < 500


@pytest.mark.parametrize(
    "key", ["Ethernet0|0-2000000000", "Ethernet0|2-1", "Ethernet0|", "Ethernet0|banana"]
)
def test_a_range_is_checked_before_it_is_expanded(key: str) -> None:
    config = lossy()
    config["QUEUE"][key] = {"scheduler": "scheduler.0"}
    with pytest.raises(Mistake, match=r"is no queue or range of queues: from 0 to 63, as 3 or 0-2"):
        load(config, "x.json")


def test_many_ports_take_linear_time() -> None:
    config = lossy()
    ports = [f"Ethernet{n}" for n in range(20_000)]
    config["PORT"] = {port: {"lanes": "1", "speed": "100000"} for port in ports}
    row = next(iter(config["QUEUE"].values()))
    config["QUEUE"] = {f"{','.join(ports)}|0-3": row}
    config["BUFFER_QUEUE"] = {f"{','.join(ports)}|0-3": next(iter(config["BUFFER_QUEUE"].values()))}
    begun = time.process_time()
    load(config, "x.json")
    assert time.process_time() - begun < 20


def test_keys_that_change_marking_make_no_exact_finding() -> None:
    config = lossy()
    (name, row), *_ = config["WRED_PROFILE"].items()
    row["green_ect_min_threshold"] = "1000"
    row["foo"] = "bar"
    kinds = [(f.kind, f.key) for f in load(config, "x.json").findings.all]
    assert ("approximated", f"WRED_PROFILE|{name}") in kinds
    assert ("left out", f"WRED_PROFILE|{name}|foo") in kinds


def test_marking_that_differs_by_queue_is_said_queue_by_queue() -> None:
    config = lossy()
    (name, row), *_ = config["WRED_PROFILE"].items()
    config["WRED_PROFILE"]["ALIKE"] = dict(row)
    config["WRED_PROFILE"]["OTHER"] = dict(row) | {"green_max_threshold": "3000000"}
    queues = sorted(key for key in config["QUEUE"] if key.startswith("Ethernet0|"))
    for key, queue in config["QUEUE"].items():
        place = queues.index("Ethernet0|" + key.partition("|")[2])
        if "wred_profile" in queue and place < 2:
            queue["wred_profile"] = ("ALIKE", "OTHER")[place]
    found = load(config, "x.json")
    assert found.device.marks == {0: "ALIKE", 1: "OTHER"} | dict.fromkeys(range(2, 7), name)
    scenario = sb.Scenario(tomllib.loads(found.text)).resolved
    ends = [quantity.size(each["params"]["kmax"]) for each in scenario["scheme"]["queues"]]
    assert ends == [2_097_152, 3_000_000, *[2_097_152] * 5]
    said = [str(each) for each in found.findings.all if each.key == "QUEUE"]
    assert any("queue 1: marks as OTHER's" in each for each in said)
    assert unchanged(found) == {}


def test_a_ramp_beyond_the_memory_is_cut_where_the_memory_ends() -> None:
    config = lossy()
    for row in config["WRED_PROFILE"].values():
        row["green_min_threshold"], row["green_max_threshold"] = "1000000", "90000000"
        row["green_drop_probability"] = "50"
    found = load(config, "x.json")
    params = sb.Scenario(tomllib.loads(found.text)).resolved["scheme"]["params"]
    size = int(config["BUFFER_POOL"]["egress_lossy_pool"]["size"])
    assert params["pmax"] == pytest.approx(0.5 * (size - 1e6) / 89e6)
    assert quantity.size(params["kmax"]) == size
    assert unchanged(found) == {}


def test_alpha_out_of_sonics_range_is_refused_with_the_range() -> None:
    found = load(lossy(), "x.json")
    for alpha in (0.001, 500):
        resolved = sb.Scenario(tomllib.loads(found.text)).with_({"switch.alpha": alpha}).resolved
        _, said = fragment.made("x", resolved, Choices(), found.device, changes=True)
        assert "dynamic_th is from -8 to 7" in str(said.refusals[0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"QUEUE": {}, "QUEUE": {}}', "the key 'QUEUE' stands twice in one object"),
        ('{"A": {"b": NaN}}', "NaN is no number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"A": ' + "9" * 5000 + "}", "has 5000 digits"),
        ("[1]", "an object of tables is needed"),
        ('{"PORT": 3}', "PORT: an object of rows is needed"),
        ("{", "is no JSON"),
    ],
)
def test_json_that_is_none_is_refused_in_a_line(
    text: str, says: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text(text)
    said = switchbed("import", "sonic", "x.json", code=2).stderr
    assert says in said
    assert "x.json" in said
    assert not (tmp_path / "x.toml").exists()


def test_a_command_imports_and_exports_nothing_new(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps(of_a_device(lossy())))
    switchbed("import", "sonic", "d.json")
    assert json.loads(switchbed("export", "sonic", "d.toml", "--changes").stdout) == {}
    assert "--pool nan" in switchbed("import", "sonic", "d.json", "--pool", "nan", code=2).stderr


@pytest.mark.parametrize(
    "bits", [1, 999, 500_000, 1_234_567_896, 10**10, 9_950_000_000, 10**12 + 1]
)
def test_a_rate_survives_with_all_digits(bits: int) -> None:
    assert quantity.rate(quantity.gbps(bits)) == bits


def test_red_on_a_device_is_what_the_kernel_computes() -> None:
    # 1 is 2^32, which 32 bits have as 0: then 2^-Plog a byte counts. By hand: a ramp of one byte
    # has Plog 1 and so a half; of 32,768 bytes 16 and so 65,535 · 32,768 / 2^32.
    assert encoding.chance_on_device(30_000, 30_001, 1.0) == pytest.approx(0.5)
    assert encoding.chance_on_device(0, 32_768, 1.0) == pytest.approx(65_535 * 32_768 / 2**32)
    assert encoding.chance_on_device(0, 65_536, 0.5) == 0.5
    # 0.1 of 60,000 bytes: 7,158 of 2^-32 a byte.
    assert encoding.chance_on_device(0, 60_000, 0.1) == 7158 * 60_000 / 2**32
    assert encoding.chance_on_device(0, 2**32, 0.5) is None
    # 50 us are 48 units of 1.024 us, which show as 49 us.
    assert times.CODEL.ns(50) == 49_152
    assert times.CODEL.of_shown(49) == [49_152]
    # 50 us are 781 ticks of 64 ns, which show as 49 us; 15 and 15.001 ms both show as 15 ms.
    assert times.PIE.of_shown(49) == [49_984]
    assert times.PIE.of_shown(15_000) == [15_000_000, 15_000_960]


RED = {"limit": 100000, "min": 30000, "max": 30001, "ecn": True, "ewma": 2, "probability": 0.5}


def tc(kind: str, options: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, "handle": "1:", "root": True, "options": options, **more}]


def kinds(shown: list[dict[str, Any]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    text, said = importing.load(shown, "x.json", 10**10)
    return sb.Scenario(tomllib.loads(text)).resolved, [(f.kind, f.key) for f in said.all]


def test_a_half_that_was_written_as_one_is_said() -> None:
    made, said = kinds(tc("red", RED))
    assert made["scheme"]["params"]["pmax"] == 0.5
    assert ("approximated", "scheme.params.pmax") in said
    made, said = kinds(tc("red", RED | {"probability": 0.3}))
    assert ("approximated", "scheme.params.pmax") not in said


def test_bands_are_imported_as_they_are_shown() -> None:
    tree = tc("ets", {"bands": 4, "strict": 4, "quanta": [], "priomap": [3] * 16})
    tree += [
        {"kind": "bfifo", "handle": f"1{n}:", "parent": f"1:{n}", "options": {"limit": 9000}}
        for n in (1, 2, 3, 4)
    ]
    made, said = kinds(tree)
    assert (made["switch"]["queues"], made["switch"]["buffer"]) == (1, "9KB")
    assert ("exact", "priomap") in said
    tree[0]["options"]["priomap"] = [1, 2] * 8
    made, said = kinds(tree)
    assert made["switch"]["queues"] == 4
    assert ("approximated", "priomap") in said


def test_a_cards_hardware_queues_are_queues() -> None:
    def mq(kind: str, options: Any) -> list[dict[str, Any]]:
        under = {"kind": kind, "handle": "0:", "options": options}
        return [
            {"kind": "mq", "handle": "0:", "root": True, "options": {}},
            *({**under, "parent": f":{n}"} for n in (1, 2, 3)),
        ]

    codel = {"limit": 100, "target": 4999, "interval": 99999, "ecn": True}
    made, said = kinds(mq("codel", codel))
    assert (made["switch"]["queues"], made["switch"]["classify"]) == (3, "hash")
    assert ("approximated", "mq") in said
    other = mq("codel", codel)
    other[2]["options"] = codel | {"limit": 7}
    made, _ = kinds(other)
    limits = [queue["limit"] for queue in made["switch"]["queue"]]
    assert limits[0] == limits[2] != limits[1]


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (
            tc("red", RED | {"probability": float("nan")}),
            "1: probability: is nan: a number from 0",
        ),
        (tc("red", RED | {"min": -5}), "min: is -5: it must be from 0 to 100000"),
        (tc("red", RED | {"ewma": "a"}), "red: ewma: a whole number is needed; 'a' is none"),
        (tc("red", RED | {"limit": 10**30}), "limit: is 1000000000000000000000000000000: it must"),
        (tc("red", RED | {"max": 200000}), "max: is 200000, over limit, 100000"),
        (tc("bfifo", {"limit": 100}), "limit: 100 bytes hold no packet: at least 1500"),
        (tc("ets", {"bands": 2, "quanta": ["a"]}), "ets: quanta: a whole number is needed"),
        (tc("ets", {"bands": 2, "quanta": 3}), "quanta: a list of whole numbers is needed"),
        (tc("ets", {"bands": 10**9}), "bands: is 1000000000: it must be from 1 to 16"),
        (tc("tbf", {"rate": 0}), "rate: is 0: it must be from 300 to"),
        (tc("codel", {"limit": 9, "target": 9, "interval": 9}), "target: is 9 us: it must be less"),
        (tc("pfifo", {"limit": 10**8}), "limit: is 100000000: it must be from 1 to 10000000"),
        (tc("codel", {"limit": 9, "ecn": "yes"}), "ecn: is 'yes': true or false is needed"),
        (tc("mq", {}), "mq 1: has no discipline under it"),
        (tc("x" * 10_000, {}), "is no discipline of a scenario's"),
        (tc("pie", []), "pie 1: options: an object is needed"),
    ],
)
def test_what_tc_never_shows_is_refused_by_discipline_and_key(shown: Any, says: str) -> None:
    with pytest.raises(Mistake) as refused:
        importing.load(shown, "x.json")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "\u0663", "1_0", "", "0x1", "1 "])
def test_numbers_are_finite_and_in_ascii(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        foreign.real(text)


@pytest.mark.parametrize(
    "words",
    [
        ["theory", "standard", "--rate", "10Gbps", "--rtt", "85us", "--lambda", "1e400"],
        ["theory", "standard", "--rate", "10Gbps", "--rtt", "85us", "--lambda", "1e999999999"],
        ["tune", "@star-dctcp", "--budget", "nan"],
        ["tune", "@star-dctcp", "--delta", "inf"],
        ["tune", "@star-dctcp", "--weight", "load=0.8:nan"],
        ["sweep", "@star-dctcp", "--precision", "nan%"],
        ["export", "tc", "@star-dctcp", "--rate", "-1Gbps"],
        ["export", "sonic", "@star-dctcp", "--ramp", "infB"],
    ],
)
def test_an_option_that_is_no_number_is_named(words: list[str], switchbed: Program) -> None:
    said = switchbed(*words, code=2).stderr
    assert words[-2] in said


def test_an_import_that_could_not_run_is_refused() -> None:
    foreign.must_run(SINGLE, "config_db.json", {})
    with pytest.raises(Mistake, match="no scenario can be this switch"):
        foreign.must_run(SINGLE.replace("buffer = ", 'buffer = "0B" #'), "config_db.json", {})


def test_a_pool_of_outputs_alone_that_holds_no_packets_is_named_by_its_row() -> None:
    config: Any = lossy()
    pool = config["BUFFER_POOL"]["egress_lossy_pool"]
    config["BUFFER_POOL"] = {"egress_lossy_pool": pool}
    profile = config["BUFFER_PROFILE"]["egress_lossy_profile"]
    config["BUFFER_PROFILE"] = {"egress_lossy_profile": profile}
    for table in [name for name in config if name.startswith(("BUFFER_PG", "BUFFER_PORT"))]:
        del config[table]
    for size in ("0", "2999"):
        pool["size"] = size
        with pytest.raises(Mistake) as refused:
            load(config, "x.json")
        said = "x.json: BUFFER_POOL|egress_lossy_pool|size: "
        assert str(refused.value) == f"{said}{size} bytes hold no two packets: at least 3000"


@pytest.mark.parametrize(
    ("option", "key", "between"),
    [
        # As iproute2 6.1 printed what it was given: 30,730 bytes, 2,097,500 bytes, and others.
        ("bfifo 1: root limit 30Kb", "switch.buffer", "30705 to 30735 bytes"),
        ("bfifo 1: root limit 2Mb", "switch.buffer", "2096129 to 2098175 bytes"),
        ("bfifo 1: root limit 30001b", "switch.buffer", None),
        ("tbf 1: root rate 1234Mbit burst 1600b lat 50us", "topology.rate", "1.234999992Gbps"),
        ("tbf 1: root rate 1Gbit burst 1600b lat 50us", "topology.rate", "1Gbps to 1.000999992Gb"),
        ("tbf 1: root rate 10Gbit burst 1600b lat 50us", "topology.rate", "10Gbps to 10.000999992"),
        ("tbf 1: root rate 500Kbit burst 1600b lat 50ms", "topology.rate", None),
        ("tbf 1: root rate 1Gbit burst 1600b lat 373ms", "switch.buffer", "372500 to 373500 us"),
        ("codel 1: root limit 9p target 5ms interval 7ms", "target", "4995 to 5005 us"),
        ("codel 1: root limit 9p target 80us interval 7ms", "target", None),
        ("codel 1: root limit 9p target 5.0ms interval 1s", "target", "4950 to 5050 us"),
        ("codel 1: root limit 9p target 5.0ms interval 1s", "interval", "995000 to 1005000 us"),
        ("pie 1: root limit 9p target 15ms tupdate 16ms alpha 2 beta 20", "t_update", "15950 to"),
        ("red 1: root limit 9Mb min 30000b max 90Kb ecn ewma 5 probability 0.1", "params", "92145"),
    ],
)
def test_a_number_that_tcs_text_has_rounded_is_not_exact(
    option: str, key: str, between: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"qdisc {option}\n")
    _, said = importing.load(shown.read(path), "x.txt")
    found = next((each for each in said.all if each.key.endswith(key)), None)
    if between is None:
        assert found is None or "rounds" not in found.text
    else:
        assert found is not None
        assert found.kind == "approximated"
        assert between in found.text
        assert "tc -j shows it whole" in found.text


def red(
    ramp: tuple[int, int], weight: float, rate: int | None = None
) -> tuple[list[str], Findings]:
    """A red of one queue, as a script and its findings."""
    low, high = ramp
    params = {"kmin": f"{low}B", "kmax": f"{high}B", "pmax": 0.9, "weight": weight}
    star = sb.Scenario.from_file("@star-dctcp").with_(
        {"switch.buffer": "40MB", "scheme": {"name": "red", "params": params}}
    )
    return exporting.export(star.resolved, exporting.Choices(rate=rate))


@pytest.mark.parametrize(
    ("ramp", "weight", "kind"),
    [
        # Thresholds times 2^n have 31 bits: 4,194,303 bytes times 512 are the most.
        ((3_000_000, 4_194_303), 2**-9, "exact"),
        ((3_000_000, 4_194_304), 2**-9, "refused"),
        ((3_000_000, 9_000_000), 2**-7, "exact"),
        ((3_000_000, 9_000_000), 2**-8, "refused"),
        ((30_000, 90_000), 2**-14, "exact"),
        ((30_000, 90_000), 2**-15, "refused"),
    ],
)
def test_a_red_that_the_kernel_refuses_is_not_written(
    ramp: tuple[int, int], weight: float, kind: str
) -> None:
    made, said = red(ramp, weight)
    (found,) = [each for each in said.all if each.key == "scheme.params.weight"]
    assert found.kind == kind, said.all
    assert bool(made) == (kind == "exact")
    if kind == "refused":
        assert "Linux has thresholds times the weight's inverse in 31 bits: 2^-" in found.text


def test_an_average_that_tc_has_no_table_for_is_refused() -> None:
    assert damps(9, 10**7)
    assert damps(16, 10**9)
    # 1,500 bytes at 10 kbit/s take 1.2 s, 18,750,000 ticks; 31 times 2^12 of them are too many.
    assert not damps(12, 10**4)
    _, said = red((30_000, 60_000), 2**-12, rate=10**4)
    (found,) = said.refusals
    assert found.key == "scheme.params.weight"
    assert "finds no table for it at 10kbps" in found.text


def test_the_probability_of_a_device_follows_from_its_whole_numbers() -> None:
    def said(low: int, high: int, chance: float) -> Any:
        options = {"limit": 10**8, "min": low, "max": high, "ecn": True, "ewma": 2}
        one = {"kind": "red", "root": True, "options": options | {"probability": chance}}
        text, found = importing.load([one], "x.json")
        assert tomllib.loads(text)["scheme"]["params"]["pmax"] == chance
        (verdict,) = [each for each in found.all if each.key == "scheme.params.pmax"]
        return verdict

    # 0.02 of 2^32 are 14 for each of 6,000,000 bytes, and 4 bits are lost.
    wide = said(10**6, 7 * 10**6, 0.02)
    assert wide.kind == "approximated"
    assert "0.02 as shown; the device marks 0.01955777" in wide.text
    assert said(30_000, 30_000 + 2**14, 0.25).kind == "exact"


FLOWS = [
    fct.Flow(1460, 1e-4, 2e-3, 5e-5, 3, 700, 1, 0),
    fct.Flow(14_601, 0.25, 1.0, 0.125, 0, 1, 0, 2),
]


def test_lines_are_those_of_the_others() -> None:
    assert fct.text_of(FLOWS, "hpcc", 1460) == (
        "0b000301 0b02bc01 10000 100 1460 2000000 100000 50000\n"
        "0b000001 0b000101 10001 100 14601 1000000000 250000000 125000000\n"
    )
    assert fct.text_of(FLOWS, "ns3-datacenter", 1460) == (
        "time flowsize fct basefct slowdown basertt flowstart priority incast\n"
        "2100000 1460 100000 50000 2 50 2000 1 0\n"
        "1250000000 14601 250000000 125000000 2 50 1000000 0 0\n"
    )
    assert fct.text_of(FLOWS, "mq-ecn", 1460) == (
        "1 0.000100000 0 3 700 1\n11 0.250000000 2 0 1 0\n"
    )


@pytest.mark.parametrize("form", fct.FORMS)
def test_what_is_written_reads_as_it_was(form: fct.Form, tmp_path: Path) -> None:
    path = tmp_path / "fct.txt"
    path.write_text(fct.text_of(FLOWS, form, 1460))
    read = fct.read(path, form)
    assert [flow.fct_s for flow in read] == pytest.approx([1e-4, 0.25])
    if form == "mq-ecn":
        assert [flow.size_bytes for flow in read] == [1460, 11 * 1460]
        assert [flow.timeouts for flow in read] == [0, 2]
    else:
        assert [flow.size_bytes for flow in read] == [1460, 14_601]
        assert [flow.start_s for flow in read] == pytest.approx([2e-3, 1.0])
        assert [flow.standalone_s for flow in read] == pytest.approx([5e-5, 0.125])
    if form != "ns3-datacenter":
        assert [(flow.src, flow.dst) for flow in read] == [(3, 700), (0, 1)]
    assert fct.text_of(read, form, 1460).split()[:3] == path.read_text().split()[:3]


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "flow.tr"
    path.write_text("1 0.1 0 3 7 1\n\n1 zero 0 3 7 1\n")
    with pytest.raises(Mistake, match=r"flow\.tr:3: is no line of mq-ecn, which has packets fct"):
        fct.read(path, "mq-ecn")
    path.write_text("1 0.1\n")
    with pytest.raises(Mistake, match=r"flow\.tr:1"):
        fct.read(path, "mq-ecn")


def test_a_result_directory_becomes_such_a_file(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(SINGLE)
    switchbed("run", "f.toml", "--out", "out", "--tables", "csv")
    printed = switchbed("fct", "out", "--form", "mq-ecn").stdout
    switchbed("fct", "out", "--form", "mq-ecn", "--to", "flow.tr")
    assert (tmp_path / "flow.tr").read_text() == printed
    flows = fct.read(tmp_path / "flow.tr", "mq-ecn")
    assert len(flows) == 300
    # 30,000 bytes are 21 packets of 1460.
    assert {flow.size_bytes for flow in flows} == {21 * 1460}
    switchbed("fct", "out", "--form", "hpcc", "--to", "fct.txt")
    ends = [(flow.start_s or 0.0) + flow.fct_s for flow in fct.read(tmp_path / "fct.txt", "hpcc")]
    assert ends == sorted(ends)
    slow = [
        flow.fct_s / (flow.standalone_s or 1) for flow in fct.read(tmp_path / "fct.txt", "hpcc")
    ]
    assert min(slow) >= 0.999
    said = switchbed("fct", "nowhere", "--form", "hpcc", code=2)
    assert "nowhere" in said.stderr


def test_a_comparison_is_told_to_have_several_runs(switchbed: Program, sweep: Path) -> None:
    switchbed("run", sweep, "--set", "flows=20", "--out", "all")
    done = switchbed("fct", "all", "--form", "hpcc", code=2)
    told = "switchbed: all: holds several runs: give one of its folders, as all/0000-"
    assert done.stderr.startswith(told)
