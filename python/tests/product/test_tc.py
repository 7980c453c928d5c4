"""Linux's tc: scripts, and scenarios of what it shows. `make validate` runs scripts in a guest."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from test_sonic import FABRIC

import switchbed as sb
from switchbed._native import Mistake
from switchbed.tc import exporting, importing
from switchbed.tc.ewma import burst, exponent

PORT = FABRIC.replace(
    'policy = "dynamic"\npool = "12MB"\nbuffer = "12MB"\nalpha = 1\n',
    'policy = "static"\nbuffer = "1200KB"\nstrict = 1\n',
)
SCHEME = 'name = "per-queue"\nparams = { threshold = "65pkt" }'


def resolved(text: str) -> dict[str, Any]:
    return sb.Scenario(tomllib.loads(text)).resolved


def lines(text: str, **choices: Any) -> list[str]:
    made, said = exporting.export(resolved(text), exporting.Choices(**choices))
    assert not said.refusals, said.refusals
    return made


def shown(made: list[str]) -> list[dict[str, Any]]:
    """What `tc -j -d qdisc show` prints after these lines, as Linux 6.1 does: rates in bytes,
    ets without quanta of strict bands, red's probability by its scale."""
    found: list[dict[str, Any]] = []
    for line in made:
        words = line.split()
        if words[:2] != ["tc", "qdisc"]:
            continue
        place = words[words.index('"$dev"') + 1 :]
        entry: dict[str, Any] = {"handle": f"80{len(found):02x}:"}
        if place[0] == "root":
            entry["root"], rest = True, place[1:]
        else:
            entry["parent"], rest = place[1], place[2:]
        if rest[0] == "handle":
            entry["handle"], rest = rest[1], rest[2:]
        entry["kind"], rest = rest[0], rest[1:]
        entry["options"] = options(entry["kind"], rest)
        found.append(entry)
    return found


def options(kind: str, words: list[str]) -> dict[str, Any]:
    text = " ".join(words)

    def number(name: str) -> int:
        match = re.search(rf"\b{name} (\d+)", text)
        assert match, (name, text)
        return int(match[1])

    if kind == "tbf":
        return {"rate": number("rate") // 8, "burst": "1b/1", "lat": 805}
    if kind == "ets":
        quanta = re.search(r"quanta ([\d ]+) priomap", text)
        assert quanta
        strict = number("strict") if "strict" in text else 0
        return {
            "bands": number("bands"),
            "strict": strict,
            "quanta": list(map(int, quanta[1].split())),
            "priomap": [3] * 16,
        }
    if kind == "prio":
        return {"bands": number("bands"), "priomap": [3] * 16}
    if kind == "red":
        low, high = number("min"), number("max")
        chance = float(text.rpartition("probability ")[2])
        n = exponent(low, number("burst"))
        assert n is not None, "tc refuses this burst"
        # A probability is kept times the width of the ramp: of one byte it comes back as a half.
        kept = 0.5 if high - low == 1 else chance
        flags = {"ecn": "ecn" in words, "nodrop": "nodrop" in words}
        flags |= {"harddrop": False, "adaptive": False}
        limit = number("limit")
        return {"limit": limit, "min": low, "max": high, "ewma": n, "probability": kept, **flags}
    if kind == "cake":
        mode = {"diffserv": "besteffort", "flowmode": "flowblind", "bandwidth": "unlimited"}
        return mode | {"rtt": number("rtt"), "memlimit": number("memlimit")}
    return (
        {"limit": number("limit")}
        | {
            name: number(name)
            for name in (
                *("target", "interval", "tupdate", "alpha", "beta"),
                *("flows", "quantum", "memory_limit", "drop_batch", "ecn_prob"),
            )
            if name in words
        }
        | {"ecn": "ecn" in words}
    )


@pytest.mark.parametrize(
    ("scheme", "switch"),
    [
        (SCHEME, ""),
        (SCHEME, 'unmarkable = "pass"'),
        ('name = "none"', ""),
        ('name = "red"\nparams = { kmin = "30KB", kmax = "90KB", pmax = 0.02, weight = 0.5 }', ""),
        ('name = "red"\nparams = { kmin = "30KB", kmax = "90KB", weight = 0.001953125 }', ""),
        ('name = "codel"\nparams = { interval = "1ms", target = "50us" }', ""),
        ('name = "pie"\nparams = { target = "15ms", t_update = "1ms" }', ""),
        ('name = "cobalt"\nparams = { interval = "1ms" }', ""),
    ],
)
@pytest.mark.parametrize("rate", [None, 9_950_000_000])
def test_what_tc_shows_after_a_script_is_the_scenario_again(
    scheme: str, switch: str, rate: int | None
) -> None:
    own = resolved(PORT.replace(SCHEME, scheme).replace("strict = 1", f"strict = 1\n{switch}"))
    made, said = exporting.export(own, exporting.Choices(rate=rate))
    assert not said.refusals, said.refusals
    text, _ = importing.load(shown(made), "x.json", rate=10**10)
    found = resolved(text)
    for key in ("queues", "strict", "quantum", "policy", "unmarkable", "discipline", "classify"):
        assert found["switch"][key] == own["switch"][key], key
    assert found["scheme"]["name"] == own["scheme"]["name"]
    for key, value in own["scheme"]["params"].items():
        assert found["scheme"]["params"][key] == value, key
    assert found["topology"]["rate"] == ("9.95Gbps" if rate else "10Gbps")


def test_bands_go_first_as_queues_do_and_every_dscp_has_one() -> None:
    made = lines(PORT)
    assert "ets bands 4 strict 1 quanta 1500 3000 6000 priomap" in made[0]
    assert [re.search(r"parent (2:\w)", line)[1] for line in made[1:5]] == [  # type: ignore[index]
        "2:1",
        "2:2",
        "2:3",
        "2:4",
    ]
    assert "$((dscp % 4 + 1))" in made[-2]
    assert "prio bands 4" in lines(PORT.replace("strict = 1", "strict = 3"))[0]


def test_tc_has_the_weight_that_is_asked_for() -> None:
    # iproute2 6.1 refuses 64 packets for 65, and takes these.
    assert exponent(97_500, 64) is None
    assert exponent(97_500, burst(97_500, 1)) == 1
    for low in (1500, 3000, 30_000, 97_500, 97_600, 1_048_576):
        for wanted in (1, 2, 5, 9):
            found = exponent(low, burst(low, wanted))
            assert found is not None
            assert found >= wanted
            assert burst(low, wanted) == 1 or (exponent(low, burst(low, wanted) - 1) or 0) < wanted


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('policy = "static"', 'policy = "shared"', "switch.policy", "--instead buffer=static"),
        (
            SCHEME,
            'name = "mq-ecn"\nparams = { threshold = "65pkt" }',
            "scheme.name",
            "per-queue-min",
        ),
        (SCHEME, 'name = "tcn"\nparams = { threshold = "85us" }', "scheme.name", "no such"),
        ('rate = "10Gbps"', 'rate = "40Gbps"', "topology.rate", "at most 34 Gbps"),
        ("queues = 4", 'queues = 4\nclassify = "hash"', "switch.classify", "by DSCP"),
        ("queues = 4", 'queues = 4\ndiscipline = "fifo"', "switch.discipline", "queues = 1"),
    ],
)
def test_what_tc_lacks_is_refused_with_what_would_do(
    old: str, new: str, key: str, said: str
) -> None:
    assert old in PORT
    _, findings = exporting.export(resolved(PORT.replace(old, new)), exporting.Choices())
    refused = [each for each in findings.refusals if each.key == key]
    assert len(refused) == 1, findings.all
    assert said in refused[0].text


RED = {
    "kind": "red",
    "handle": "1:",
    "root": True,
    "options": {
        "limit": 300000,
        "min": 30000,
        "max": 90000,
        "ecn": True,
        "ewma": 9,
        "probability": 0.02,
    },
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ecn": False}, "red without ecn"),
        ({"adaptive": True}, "Floyd's adaptive RED"),
        ({"probability": None}, "with -d alone"),
        ({"min": "30Kb"}, "red: min: a whole number is needed"),
    ],
)
def test_what_no_scenario_has_is_refused_by_name(change: dict[str, Any], said: str) -> None:
    options = {k: v for k, v in {**RED["options"], **change}.items() if v is not None}  # type: ignore[dict-item]
    with pytest.raises(Mistake, match=said):
        importing.load([{**RED, "options": options}], "x.json")


def test_bands_that_differ_are_queues_that_differ_and_come_back() -> None:
    tree = shown(lines(PORT))
    at = {entry["parent"]: entry for entry in tree if "parent" in entry}
    at["2:2"]["options"] |= {"min": 15_000, "max": 15_001, "limit": 200_000}
    at["2:3"] |= {"kind": "bfifo", "options": {"limit": 90_000, "ecn": False}}
    text, said = importing.load(tree, "x.json", by_class=True)
    assert any("bands differ" in str(each) for each in said.all)
    found = resolved(text)
    assert [each["limit"] for each in found["switch"]["queue"]] == [
        "300KB",
        "200KB",
        "90KB",
        "300KB",
    ]
    assert [each["name"] for each in found["scheme"]["queues"]] == [
        *("per-queue", "per-queue", "none", "per-queue")
    ]
    again = shown(lines(text))
    assert [each["options"] for each in again] == [each["options"] for each in tree]


def test_strict_queues_are_the_first_bands_whatever_their_numbers() -> None:
    strict = "[[switch.queue]]\nqueue = [1, 3]\nstrict = true\n[scheme]"
    for order, bands in (("lowest", "1 3 0 2"), ("highest", "3 1 0 2")):
        text = PORT.replace("strict = 1\n", f'strict_order = "{order}"\n').replace(
            "[scheme]", strict
        )
        made = lines(text)
        assert any("ets bands 4 strict 2 quanta 1500 3000 " in line for line in made)
        first = {queue: band for band, queue in enumerate(bands.split(), 1)}
        place = " ".join(str(first[str(queue)]) for queue in range(4))
        assert any(f"$(echo {place} | cut -d ' ' -f $((dscp % 4 + 1)))" in line for line in made)


def test_what_no_scenario_has_is_refused() -> None:
    with pytest.raises(Mistake, match="sfq: is no discipline of a scenario's; there are tbf, htb"):
        importing.load([{"kind": "sfq", "root": True, "handle": "1:"}], "x.json")
    with pytest.raises(Mistake, match="0 root disciplines"):
        importing.load([], "x.json")


@pytest.mark.needs("namespaces", "tc")
def test_a_script_sets_a_device_up_gives_it_back_and_leaves_none_half_done(
    switchbed: Program, tmp_path: Path
) -> None:
    """What any kernel has: tbf and bfifo. The rest is for the guest of `make validate`."""
    one = PORT.replace("queues = 4\n", "queues = 1\n").replace("strict = 1\n", "")
    one = re.sub(r"quantum = .*\n", "", one).replace(SCHEME, 'name = "none"')
    (tmp_path / "one.toml").write_text(one)
    switchbed("export", "tc", "one.toml", "--port", "lo", "--rate", "100Mbps", "--out", "one.sh")
    (tmp_path / "broken.sh").write_text(
        (tmp_path / "one.sh").read_text().replace("bfifo limit", "bfifo limit x")
    )
    done = subprocess.run(
        [
            *("unshare", "-rn", "sh", "-c"),
            "ip link set lo up; sh one.sh && tc -j -d qdisc show dev lo > shown.json && "
            "sh one.sh lo undo && tc -j -d qdisc show dev lo > undone.json; "
            "sh broken.sh; tc -j -d qdisc show dev lo > whole.json",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    tree = json.loads((tmp_path / "shown.json").read_text())
    assert [each["kind"] for each in tree] == ["tbf", "bfifo"]
    for name in ("undone.json", "whole.json"):
        assert json.loads((tmp_path / name).read_text())[0]["kind"] == "noqueue", done.stderr
    switchbed("import", "tc", "shown.json", "--out", "back.toml")
    found = sb.Scenario.from_file(tmp_path / "back.toml").resolved
    assert found["topology"]["rate"] == "100Mbps"
    assert found["switch"]["buffer"] == "1200KB" or found["switch"]["buffer"] == "1.2MB"
    assert found["scheme"]["name"] == "none"


def test_the_commands_refuse_in_one_line(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PORT)
    assert (
        "no name of a device"
        in switchbed("export", "tc", "own.toml", "--port", "eth0; rm", code=2).stderr
    )
    (tmp_path / "x.json").write_text("{}")
    assert "a list of objects" in switchbed("import", "tc", "x.json", code=2).stderr
    (tmp_path / "y.json").write_text("[")
    assert "is no JSON" in switchbed("import", "tc", "y.json", code=2).stderr


ALONE = PORT.replace("queues = 4", "queues = 1").replace("strict = 1\n", "")
ALONE = ALONE.replace('quantum = ["1500B", "1500B", "3000B", "6000B"]', "")


def test_a_discipline_with_queues_of_its_own_is_the_ports_only_one() -> None:
    scheme = 'name = "fq-codel"\nparams = { interval = "1ms", target = "50us", quantum = "1500B" }'
    own = resolved(PORT.replace(SCHEME, scheme))
    (line,) = lines(PORT.replace(SCHEME, scheme))
    assert " root fq_codel limit 10240 flows 1024 quantum 1500 target 50us" in line
    text, _ = importing.load(shown([line]), "x.json")
    assert resolved(text)["scheme"]["params"] == own["scheme"]["params"]
    (line,) = lines(PORT.replace(SCHEME, 'name = "fq-codel"'))
    assert " quantum 1500 target 5000us interval 100000us" in line
    fair = 'name = "fq-pie"\nparams = { quantum = "1500B", ecn_up_to = 0.2 }'
    (line,) = lines(PORT.replace(SCHEME, fair))
    assert " root fq_pie limit 10240 flows 1024 quantum 1500 target 15000us" in line
    assert " tupdate 15000us alpha 2 beta 20 memory_limit " in line
    assert line.endswith(" ecn_prob 20 ecn")
    text, _ = importing.load(shown([line]), "x.json")
    own = resolved(PORT.replace(SCHEME, fair))
    assert resolved(text)["scheme"]["params"] == own["scheme"]["params"]
    (line,) = lines(ALONE.replace(SCHEME, 'name = "dualpi2"'))
    assert "target 15000us tupdate 16000us alpha 0.160156 beta 3.19922 coupling_factor 2" in line
    assert "step_thresh 1000us classic_protection 10 drop_on_overload" in line


@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        ('name = "cobalt"\nparams = { interval = "1ms", target = "10us" }', "target"),
        ('name = "cobalt"\nparams = { increment = 0.1 }', "increment"),
        ('name = "cobalt"\nparams = { ecn = false }', "ecn"),
        ('name = "dualpi2"\nparams = { coupling = 1.5 }', "coupling"),
    ],
)
def test_what_a_discipline_of_linux_cannot_hold_is_refused(scheme: str, key: str) -> None:
    _, said = exporting.export(resolved(ALONE.replace(SCHEME, scheme)), exporting.Choices())
    assert [f.key for f in said.refusals] == [f"scheme.params.{key}"]


def test_cake_with_more_than_its_cobalt_is_refused() -> None:
    options = {"diffserv": "diffserv3", "rtt": 100000, "bandwidth": "unlimited"}
    whole = {"kind": "cake", "root": True, "options": options}
    with pytest.raises(
        Mistake, match="diffserv is diffserv3: a scenario has its COBALT alone: besteffort, or ets"
    ):
        importing.load([whole], "x.json")


def test_pauses_are_refused() -> None:
    lossless = PORT.replace("[switch]\n", "[switch]\npfc = { priorities = [1] }\n")
    lossless = lossless.replace('policy = "static"\nbuffer = "1200KB"', 'pool = "12MB"')
    _, said = exporting.export(resolved(lossless), exporting.Choices())
    assert any(each.key == "switch.pfc" for each in said.refusals)


def _text(shown: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    text, said = importing.load(shown, "x.json")
    return tomllib.loads(text), [str(finding) for finding in said.all]


def test_cakes_bandwidth_is_the_rate_and_what_cannot_be_said_names_what_can() -> None:
    options: dict[str, Any] = {"diffserv": "besteffort", "flowmode": "flowblind", "rtt": 100_000}
    options |= {"bandwidth": 12_500_000, "memlimit": 4_194_304}
    cake = {"kind": "cake", "handle": "1:", "root": True, "options": options}
    made, _ = _text([cake])
    assert made["topology"]["rate"] == "100Mbps"
    assert made["scheme"]["name"] == "cobalt"
    for key, value, instead in (
        ("flowmode", "triple-isolate", "flowblind, or fq_codel, which keeps flows apart"),
        ("flowmode", None, "fq_codel"),
        ("diffserv", "diffserv4", "besteffort, or ets with a queue for each tin"),
        ("bandwidth", "fast", "bandwidth: a whole number is needed"),
        ("bandwidth", 1, "bandwidth: is 1: it must be from"),
        ("bandwidth", None, "bandwidth: a whole number is needed"),
    ):
        with pytest.raises(Mistake, match=re.escape(instead)):
            importing.load([cake | {"options": options | {key: value}}], "x.json")


FQ = {"limit": 10_000, "flow_limit": 100, "buckets": 1024, "quantum": 3028, "refill_delay": 40_000}


def test_fq_has_flows_in_turns_and_never_drops_for_a_wait() -> None:
    fq = {"kind": "fq", "handle": "8001:", "root": True, "options": FQ | {"ce_threshold": 500}}
    made, said = _text([fq])
    params = made["scheme"]["params"]
    assert made["scheme"]["name"] == "fq-codel"
    assert (params["flows"], params["limit"], params["quantum"]) == (1024, 10_000, "3028B")
    assert params["ce_threshold"] == "500us"
    assert any("flow_limit" in line and "100 packets" in line for line in said)
    assert any("pacing" in line for line in said)
    plans = sb.Scenario(made).plans
    assert len(plans) == 1
    for key in ("limit", "buckets", "quantum", "flow_limit"):
        for bad in (0, -1, "x", 2**40, True):
            with pytest.raises(Mistake, match=key):
                importing.load([fq | {"options": FQ | {key: bad}}], "x.json")


def test_mq_may_have_children_that_differ() -> None:
    def child(number: int, limit: int, kind: str = "bfifo") -> dict[str, Any]:
        return {"kind": kind, "parent": f":{number:x}", "options": {"limit": limit}}

    mq = {"kind": "mq", "handle": "0:", "root": True}
    under = [child(1, 100_000), child(2, 200_000), child(3, 100_000)]
    made, said = _text([mq, *under])
    switch = made["switch"]
    assert (switch["queues"], switch["classify"], switch["buffer"]) == (3, "hash", "400000B")
    limits = [entry["limit"] for entry in switch["queue"]]
    assert limits == ["100000B", "200000B", "100000B"]
    assert any("queues differ" in line for line in said)
    assert len(sb.Scenario(made).plans) == 1
    alike, _ = _text([mq, *(child(n, 100_000) for n in range(1, 4))])
    assert "queue" not in alike["switch"]
    fq = {"kind": "fq", "parent": ":2", "options": FQ}
    with pytest.raises(Mistake, match="differs from that under"):
        importing.load([mq, under[0], fq], "x.json")
    many = [child(n, 100_000 + n) for n in range(1, 70)]
    with pytest.raises(Mistake, match="differs from that under"):
        importing.load([mq, *many], "x.json")
