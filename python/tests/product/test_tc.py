"""Linux's tc: scripts, and scenarios of what it shows. `make validate` runs scripts in a guest."""

import json
import re
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_sonic import FABRIC

import switchbed as sb
from switchbed import quantity
from switchbed._native import Mistake
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.tc import exporting, importing
from switchbed.tc.encoding import burst, exponent, gain_on_device

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


def dualpi2(words: list[str]) -> dict[str, Any]:
    """By tc/q_dualpi2.c and dualpi2_dump."""
    given = dict(pairwise(words))

    def gain(name: str) -> float:
        steps = int(float(given[name]) * 256) * (2**32 - 1) // 4 // 10**9
        return float(f"{steps * 4 * 10**9 // (2**32 - 1) / 256:g}")

    step = given["step_thresh"]
    in_packets = step.endswith("p")
    limit = int(given["limit"])
    return {
        "limit": limit,
        "memory-limit": 1514 * limit,
        "target": int(given["target"].removesuffix("us")),
        "tupdate": int(given["tupdate"].removesuffix("us")),
        "alpha": gain("alpha"),
        "beta": gain("beta"),
        f"step-thresh-{'pkts' if in_packets else 'us'}": int(step.rstrip("pus")),
        "min-qlen-step": int(given.get("min_qlen_step", 0)),
        "coupling": int(given["coupling_factor"]),
        "drop-overload": "drop" if "drop_on_overload" in words else "overflow",
        "drop-early": "drop-dequeue",
        "c-protection": int(given["classic_protection"]),
        "ecn-mask": "l4s-ect",
        "split-gso": None,
    }


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
    if kind == "dualpi2":
        return dualpi2(words)
    if kind == "cake":
        mode = {"diffserv": "besteffort", "flowmode": "flowblind", "bandwidth": "unlimited"}
        return mode | {"rtt": number("rtt"), "memlimit": number("memlimit")}
    found = {
        name: number(name)
        for name in (
            *("limit", "target", "interval", "ce_threshold", "tupdate", "alpha", "beta"),
            *("flows", "quantum", "memory_limit", "drop_batch", "ecn_prob"),
        )
        if name in words
    }
    # codel_time_to_us of ns >> 10, and PSCHED_TICKS2NS of ns >> 6 over 1000.
    shift = 6 if kind in ("pie", "fq_pie") else 10
    for name in ("target", "interval", "ce_threshold"):
        if name in found:
            found[name] = (found[name] * 1000 >> shift << shift) // 1000
    if "quantum" in found:
        found["quantum"] = max(256, found["quantum"])
    return found | {"ecn": "ecn" in words}


def unlike(own: dict[str, Any], found: dict[str, Any], said: Findings) -> None:
    """A parameter that comes back as another is not said to be exact."""
    exact = {each.key for each in said.all if each.kind == "exact"}
    for key, value in own["scheme"]["params"].items():
        if found["scheme"]["params"].get(key) != value:
            assert f"scheme.params.{key}" not in exact, (key, value, said.all)
            whole = f"scheme.params.{key}"
            assert any(each.key == whole for each in said.all), (key, value)


@pytest.mark.parametrize(
    ("scheme", "switch"),
    [
        (SCHEME, ""),
        (SCHEME, 'unmarkable = "pass"'),
        ('name = "none"', ""),
        ('name = "red"\nparams = { kmin = "30KB", kmax = "90KB", pmax = 0.02, weight = 0.5 }', ""),
        ('name = "red"\nparams = { kmin = "30KB", kmax = "90KB", weight = 0.001953125 }', ""),
        ('name = "codel"\nparams = { interval = "1ms", target = "50us" }', ""),
        ('name = "pie"\nparams = { target = "15ms", t_update = "20ms" }', ""),
        ('name = "pie"\nparams = { target = "15ms", t_update = "20ms", ecn_up_to = 0 }', ""),
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
    unlike(own, found, said)
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
    for low in (1500, 3000, 30_000, 97_500, 97_600, 1_048_576):
        for wanted in (1, 2, 5, 9):
            count = burst(low, wanted)
            assert count is not None
            assert (exponent(low, count) or 0) >= wanted
            assert count == 1 or (exponent(low, count - 1) or 0) < wanted
    assert burst(97_500, 1) == 65


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


def test_bands_without_a_discipline_have_the_kernels_pfifo() -> None:
    tree = shown(lines(PORT))
    left = [each for each in tree if each.get("parent") not in ("2:2", "2:4")]
    text, said = importing.load(left, "x.json", by_class=True)
    found = resolved(text)
    assert [each["name"] for each in found["scheme"]["queues"]] == [
        *("per-queue", "none", "per-queue", "none")
    ]
    assert any("band 2, 4 have pfifo, of which no limit" in str(each) for each in said.all)
    twice = [*tree, next(each for each in tree if each.get("parent") == "2:2")]
    with pytest.raises(Mistake, match="parent: is '2:2': a band of its own from 1 to 4"):
        importing.load(twice, "x.json")
    at = next(each for each in left if each.get("parent") == "2:1")
    at["parent"] = "2:9"
    with pytest.raises(Mistake, match="parent: is '2:9': a band of its own from 1 to 4"):
        importing.load(left, "x.json")


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        # Rate x lat + burst: 12.5 MB/s for 50 ms and 1,600 bytes.
        ({"burst": "1600b/1", "lat": 50_000}, 626_600),
        ({"burst": 1600, "lat": 50_000}, 626_600),
        ({"burst": "4Kb", "lat": 1000}, 16_596),
        ({"burst": "1600b/1", "limit": 90_000}, 90_000),
    ],
)
def test_tbf_alone_has_a_queue_that_tc_does_not_show(options: dict[str, Any], limit: int) -> None:
    tbf = {"kind": "tbf", "handle": "1:", "root": True, "options": options | {"rate": 12_500_000}}
    text, _ = importing.load([tbf], "x.json")
    found = resolved(text)
    assert quantity.size(found["switch"]["buffer"]) == limit
    assert (found["topology"]["rate"], found["scheme"]["name"]) == ("100Mbps", "none")


def test_a_burst_that_is_no_size_is_said() -> None:
    tbf = {"kind": "tbf", "root": True, "options": {"rate": 10**6, "lat": 10, "burst": "much"}}
    with pytest.raises(Mistake, match="burst: is 'much': bytes are needed, as 1600b/1"):
        importing.load([tbf], "x.json")


@pytest.mark.parametrize("begin", ["0B", "700B", "1499B"])
def test_a_red_that_begins_under_a_packet_is_refused_at_once(begin: str) -> None:
    """tc has no burst for it (tc_red_eval_ewma), and the search for one had no end."""
    size = int(begin[:-1])
    assert burst(size, 5) is None
    scheme = f'name = "red"\nparams = {{ kmin = "{begin}", kmax = "90KB", weight = 0.03125 }}'
    _, said = exporting.export(resolved(PORT.replace(SCHEME, scheme)), exporting.Choices())
    (refusal,) = said.refusals
    assert refusal.key == "scheme.params.kmin"
    assert "begin it at 1500 bytes or more" in refusal.text


def test_bursts_are_found_without_counting_up_to_them() -> None:
    count = burst(4 * 10**9, 31)
    assert count is not None
    assert exponent(4 * 10**9, count) == 31
    assert (exponent(4 * 10**9, count - 1) or 0) < 31


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
    # 50 us are 48 units of 1.024 us, and a millisecond 976.
    has = {"target": "49.152us", "interval": "999.424us", "sqrt": "linux"}
    assert resolved(text)["scheme"]["params"] == own["scheme"]["params"] | has
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
    # tc cuts off 256ths: 0.160156 would be 40 of them, and 0.16015625 is 41.
    assert "tupdate 16000us alpha 0.16015625 beta 3.19921875 coupling_factor 2" in line
    assert "step_thresh 1000us classic_protection 10 drop_on_overload" in line


@pytest.mark.parametrize(
    "params",
    [
        "",
        'target = "1ms", t_update = "500us", step = "67us"',
        'step = "50us", min_qlen_step = 4, coupling = 3',
        'step = "0us", th_len = 8, drop_overload = false',
        "classic_weight = 0.25, alpha = 12.5, beta = 250",
        "alpha = 0.00390625, beta = 0.0078125",
    ],
)
def test_a_dualpi2_comes_back_as_the_device_has_it(params: str) -> None:
    scheme = f'name = "dualpi2"\nparams = {{ {params} }}'
    made = ALONE.replace(SCHEME, scheme)
    (line,) = lines(made)
    text, said = importing.load(shown([line]), "x.json")
    own, back = (resolved(each)["scheme"]["params"] for each in (made, text))
    gains = {name: (back.pop(name), own.pop(name)) for name in ("alpha", "beta")}
    assert back == own
    for has, wanted in gains.values():
        # A 256th, and what the kernel cuts off.
        assert has == pytest.approx(wanted, abs=2 / 256)
    # An export of the import has the same values, to the digit.
    again, found = exporting.export(resolved(text), exporting.Choices())
    assert again == [line]
    verdicts = {each.key: each.kind for each in found.all}
    assert {verdicts[f"scheme.params.{name}"] for name in gains} == {"exact"}
    assert {each.kind for each in said.all if each.key.startswith("scheme.params")} == {"exact"}
    assert len(sb.Scenario(tomllib.loads(text)).plans) == 1


DEFAULTS = (
    "limit 10000 target 15000us tupdate 16000us alpha 0.16015625 beta 3.19921875 "
    "coupling_factor 2 step_thresh 1000us classic_protection 10 drop_on_overload"
)
LINUX = dualpi2(DEFAULTS.split())
"""The kernel's defaults."""


def test_what_dualpi2_has_and_a_scenario_has_not_is_said() -> None:
    def load(**changed: Any) -> tuple[dict[str, Any], dict[str, str]]:
        has = {**LINUX, **{key.replace("_", "-"): value for key, value in changed.items()}}
        has = {key: value for key, value in has.items() if value is not ...}
        one = {"kind": "dualpi2", "handle": "1:", "root": True, "options": has}
        text, said = importing.load([one], "x.json")
        return resolved(text), {each.key: f"{each.kind}: {each.text}" for each in said.all}

    scenario, said = load()
    params = scenario["scheme"]["params"]
    # 41 and 819 of 256 are shown as 40 and 818: the kernel cuts off twice.
    assert (LINUX["alpha"], LINUX["beta"]) == (40 / 256, float(f"{818 / 256:g}"))
    assert (params["alpha"], params["beta"]) == (gain_on_device(41), gain_on_device(819))
    assert (params["target"], params["t_update"], params["step"]) == ("15ms", "16ms", "1ms")
    assert said["switch.buffer"].startswith("approximated: 10000 packets")
    assert not any(each.startswith("left out") for each in said.values())
    _, said = load(drop_early="drop-enqueue")
    assert "judged as they arrive there" in said["dualpi2.drop-early"]
    _, said = load(split_gso=...)
    assert "long segments" in said["dualpi2.split-gso"]
    scenario, said = load(memory_limit=1_000_000)
    assert scenario["switch"]["buffer"] == "1MB"
    assert "the kernel's memory" in said["switch.buffer"]
    _, said = load(newer=3)
    assert "no option that is known here" in said["dualpi2.newer"]
    for key, bad in (
        *(("limit", 0), ("limit", "x"), ("target", 0), ("tupdate", -1), ("coupling", 0)),
        *(("coupling", 256), ("c_protection", 101), ("alpha", "x"), ("beta", -1), ("beta", ...)),
        *(("drop_overload", True), ("ecn_mask", "any-ect"), ("drop_early", None)),
        *(("step_thresh_us", -1), ("min_qlen_step", 2**30), ("target", ...)),
    ):
        with pytest.raises(Mistake, match=key.replace("_", "-")):
            load(**{key: bad})


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


# Findings: one verdict for each key, and none that says exact where Linux does otherwise.


def findings(scheme: str, switch: str = "", text: str = ALONE) -> dict[str, tuple[str, str]]:
    text = text.replace(SCHEME, scheme).replace("[scheme]", f"{switch}\n[scheme]")
    _, said = exporting.export(resolved(text), exporting.Choices())
    keys = [each.key for each in said.all]
    assert len(set(keys)) == len(keys), keys
    return {each.key: (each.kind, each.text) for each in said.all}


@pytest.mark.parametrize(
    ("scheme", "key", "kind", "text"),
    [
        # tc takes whole us, and dualpi2 keeps them.
        ('name = "dualpi2"\nparams.step = "1500ns"', "step", "approximated", "1.5 us as 2 us"),
        ('name = "dualpi2"\nparams.step = "2us"', "step", "exact", "2 us"),
        # tc sends no 0, so that the kernel would take its 1 ms.
        ('name = "dualpi2"\nparams.step = "0us"', "step", "approximated", "0 us as 1 us"),
        ('name = "dualpi2"\nparams.step = "4294967295ns"', "step", "approximated", "4294967 us"),
        ('name = "dualpi2"\nparams.t_update = "4294968us"', "t_update", "refused", "4294967 us"),
        ('name = "dualpi2"\nparams.alpha = 0', "alpha", "refused", "1/256"),
        ('name = "dualpi2"\nparams.target = "1500ns"', "target", "approximated", "1.5 us as 2 us"),
        # 31 ticks of 64 ns.
        ('name = "pie"\nparams.target = "1500ns"', "target", "approximated", "1.5 us as 1.984 us"),
        ('name = "pie"\nparams.t_update = "16ms"', "t_update", "approximated", "ticks"),
        ('name = "pie"\nparams.max_burst = "1ms"', "max_burst", "approximated", "150000 us"),
        ('name = "pie"\nparams.ecn_up_to = 0.5', "ecn_up_to", "approximated", "0.5 as 0.1"),
        ('name = "pie"\nparams.derandomize = false', "derandomize", "approximated", "Linux"),
        ('name = "pie"\nparams.alpha = 0', "alpha", "refused", "1/16"),
        ('name = "codel"\nparams.target = "1500ns"', "target", "approximated", "1.024 us"),
        ('name = "codel"\nparams.target = "1024us"', "target", "exact", "1024 us"),
        # 1 us would be no unit of 1.024 us, and so no wait at all.
        ('name = "codel"\nparams.target = "600ns"', "target", "approximated", "as 1.024 us"),
        ('name = "codel"', "sqrt", "approximated", "exact as linux"),
        ('name = "codel"\nparams.sqrt = "linux"', "sqrt", "exact", "linux"),
        ('name = "codel"\nparams.next_mark = "now"', "next_mark", "approximated", "now as due"),
        ('name = "codel"\nparams.ce_threshold = "0us"', "ce_threshold", "exact", "0 us"),
        ('name = "codel"\nparams.ce_threshold = "50us"', "ce_threshold", "approximated", "49.152"),
        # A twentieth of 1010 us in whole us.
        ('name = "cobalt"\nparams.interval = "1010us"', "target", "approximated", "50.5 us as 50"),
        ('name = "fq-codel"\nparams.quantum = "100B"', "quantum", "approximated", "256"),
        ('name = "fq-codel"\nparams.quantum = "2MB"', "quantum", "refused", "1048576"),
        (
            'name = "per-queue"\nparams = { threshold = "65pkt", mark_at = "dequeue" }',
            *("mark_at", "approximated", "dequeue as enqueue"),
        ),
    ],
)
def test_what_tc_or_linux_rounds_is_said(scheme: str, key: str, kind: str, text: str) -> None:
    has = findings(scheme)[f"scheme.params.{key}"]
    assert has[0] == kind
    assert text in has[1]


def test_packets_that_cannot_be_marked_have_a_verdict_under_every_scheme() -> None:
    expected = {
        'name = "codel"': "exact",  # here as there codel drops them itself
        'name = "fq-codel"': "exact",
        'name = "cobalt"': "exact",
        'name = "dualpi2"': "exact",
        'name = "pie"': "refused",
        'name = "pie"\nparams.ecn_up_to = 0': "exact",
        SCHEME: "exact",
    }
    for scheme, kind in expected.items():
        assert findings(scheme, 'unmarkable = "pass"')["switch.unmarkable"][0] == kind, scheme
        assert findings(scheme)["switch.unmarkable"][0] == "exact", scheme
    # Marked as they leave, packets pass that cannot be marked, whatever unmarkable says.
    late = SCHEME.replace("threshold", 'mark_at = "dequeue", threshold')
    assert " ecn nodrop " in lines(ALONE.replace(SCHEME, late))[0]


def test_a_memory_in_bytes_that_becomes_packets_has_one_verdict() -> None:
    for scheme in ("dualpi2", "pie", "codel"):
        kind, text = findings(f'name = "{scheme}"')["switch.buffer"]
        assert kind == "approximated"
        assert "1200000 bytes as 800 packets of 1500 bytes (host.mtu)" in text
    for scheme in ("fq-codel", "cobalt"):
        kind, text = findings(f'name = "{scheme}"')["switch.buffer"]
        assert (kind, "the kernel's memory" in text) == ("approximated", True)
    assert findings(SCHEME)["switch.buffer"][0] == "exact"
    # A scheme with a buffer of its own has the port's, not a queue's part of it.
    assert " memory_limit 1200000 " in lines(PORT.replace(SCHEME, 'name = "fq-codel"'))[0]


def test_limits_of_queues_are_those_that_bind() -> None:
    limit = '[[switch.queue]]\nqueue = "0-3"\nlimit = "500KB"'
    assert " limit 300000 " in lines(PORT.replace("[scheme]", f"{limit}\n[scheme]"))[1]
    shared = PORT.replace('policy = "static"', 'policy = "shared"')
    _, said = exporting.export(
        resolved(shared.replace("[scheme]", f"{limit}\n[scheme]")), exporting.Choices()
    )
    assert [each.key for each in said.refusals] == ["switch.policy"]
    less = limit.replace("500KB", "300KB")
    assert " limit 300000 " in lines(shared.replace("[scheme]", f"{less}\n[scheme]"))[1]


def test_what_other_switches_have_and_trimming_are_refused() -> None:
    own = ALONE + '[[deploy]]\nswitches = "switch"\nscheme = { name = "none" }\n'
    _, said = exporting.export(resolved(own), exporting.Choices())
    assert [(each.key, "its own" in each.text) for each in said.refusals] == [("deploy.0", False)]
    trimmed = resolved(ALONE) | {}
    trimmed["switch"] = trimmed["switch"] | {"trimming": {"size": "64B"}}
    _, said = exporting.export(trimmed, exporting.Choices())
    assert [each.key for each in said.refusals] == ["switch.trimming"]


def test_queues_that_differ_have_keys_of_their_own() -> None:
    codel = '[[switch.queue]]\nqueue = 1\nscheme = { name = "codel" }'
    _, said = exporting.export(
        resolved(PORT.replace("[scheme]", f"{codel}\n[scheme]")), exporting.Choices()
    )
    keys = [each.key for each in said.all]
    assert "switch.queue.1.scheme.params.target" in keys
    assert "switch.queue.0.scheme.params.threshold" in keys
    assert len(set(keys)) == len(keys)


PIE = {"limit": 1000, "target": 15000, "tupdate": 16000, "alpha": 2, "beta": 20}
CAKE = {"diffserv": "besteffort", "flowmode": "flowblind", "rtt": 100_000, "memlimit": 4_194_304}
CAKE |= {"bandwidth": "unlimited", "ack-filter": "disabled"}
FQ_CODEL = {"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "interval": 99999}
FQ_CODEL |= {"memory_limit": 33554432, "ecn": True, "drop_batch": 64}
WHOLE = {
    "red": RED["options"],
    "pie": PIE | {"ecn": True},
    "codel": {"limit": 1000, "target": 4999, "interval": 99999, "ecn": True},
    "fq_codel": FQ_CODEL,
    "fq": FQ,
    "cake": CAKE,
    "bfifo": {"limit": 30_000},
    "pfifo": {"limit": 100},
}
UNDER = {"kind": "bfifo", "handle": "2:", "parent": "1:1", "options": {"limit": 30_000}}


@pytest.mark.parametrize("kind", WHOLE)
def test_an_option_that_no_import_reads_is_named(kind: str) -> None:
    one = {"kind": kind, "handle": "1:", "root": True, "options": WHOLE[kind] | {"whatever": 7}}  # type: ignore[operator]
    _, said = _text([one])
    assert f"left out: {kind}.whatever: 7: is no option that is known here" in said
    for line in said:
        assert sum(each.split(": ")[1] == line.split(": ")[1] for each in said) == 1, line
    statistics = {"bytes": 3, "ecn_mark": 0, "early": 1, "maxpacket": 1514, "tins": []}
    _, said = _text([one | statistics | {"options": WHOLE[kind], "offloaded": True}])
    assert f"left out: {kind}: offloaded: beside its options: nothing reads them" in said


def test_options_of_shapers_and_trees_are_named_too() -> None:
    tbf = {"rate": 12_500_000, "burst": "10Kb/1", "peakrate": 15_000_000, "mpu": 64, "lat": 5000}
    tbf |= {"mtu": "1530b/1", "linklayer": "ethernet", "whatever": 1}
    _, said = _text([{"kind": "tbf", "handle": "1:", "root": True, "options": tbf}, UNDER])
    for key in ("burst", "peakrate", "mtu", "mpu", "whatever"):
        assert any(line.startswith(f"left out: tbf.{key}: ") for line in said), key
    assert not any("linklayer" in line or "tbf.lat" in line for line in said)
    htb = {
        "r2q": 10,
        "default": "0x1",
        "direct_packets_stat": 0,
        "ver": "3.17",
        "direct_qlen": 1000,
    }
    _, said = _text([{"kind": "htb", "handle": "1:", "root": True, "options": htb}, UNDER])
    assert [line.split(": ")[1] for line in said if line.startswith("left out")] == [
        *("htb.rate", "htb.default", "htb.direct_qlen")
    ]
    bands = {"bands": 1, "strict": 0, "quanta": [1500], "priomap": [0] * 16, "extra": 5}
    _, said = _text([{"kind": "ets", "handle": "1:", "root": True, "options": bands}, UNDER])
    assert "left out: ets.extra: 5: is no option that is known here" in said
    prio = {"bands": 2, "priomap": [1, 0] * 8, "multiqueue": True}
    _, said = _text([{"kind": "prio", "handle": "1:", "root": True, "options": prio}])
    assert any(line.startswith("left out: prio.multiqueue: True") for line in said)
    mq = {"kind": "mq", "handle": "0:", "root": True, "options": {"extra": 5}}
    _, said = _text([mq, UNDER | {"parent": ":1"}])
    assert "left out: mq.extra: 5: is no option that is known here" in said
    clsact = {"kind": "clsact", "handle": "ffff:", "parent": "ffff:fff1"}
    _, said = _text([UNDER | {"root": True}, clsact])
    assert any(line.startswith("left out: clsact ffff: ") for line in said)


def test_pie_is_read_with_its_flags() -> None:
    def pie(**more: Any) -> tuple[dict[str, Any], list[str]]:
        return _text([{"kind": "pie", "handle": "1:", "root": True, "options": PIE | more}])

    made, said = pie()
    assert made["scheme"]["params"]["ecn_up_to"] == 0
    assert "exact: scheme: pie without ECN, limit 1000 packets" in said
    made, said = pie(ecn=True)
    assert "ecn_up_to" not in made["scheme"]["params"]
    assert any(line.startswith("approximated: switch.buffer: 1000 packets as") for line in said)
    assert resolved_params(made)["max_burst"] == "150ms"
    with pytest.raises(Mistake, match="bytemode: short packets are dropped less"):
        pie(bytemode=True)
    _, said = pie(dq_rate_estimator=True)
    assert any(line.startswith("approximated: pie.dq_rate_estimator: ") for line in said)
    made, said = pie(target=50)
    assert any("its step of 0.02 comes at a wait of 250 ms" in line for line in said)


CELLS = PORT.replace('policy = "static"', 'policy = "asic"\npool = "1.2MB"').replace(
    'buffer = "1200KB"\n', ""
)


@pytest.mark.parametrize("text", [PORT.replace('"static"', '"shared"'), FABRIC, CELLS])
def test_a_memory_that_ports_or_queues_share_is_divided_where_that_is_chosen(text: str) -> None:
    _, said = exporting.export(resolved(text), exporting.Choices())
    assert "--instead buffer=static" in said.refusals[0].text
    limits = [line for line in lines(text, instead={"buffer": "static"}) if " limit " in line]
    parts = {int(line.split(" limit ")[1].split()[0]) for line in limits}
    whole = 1_200_000 if text != FABRIC else 12_000_000
    assert parts == {whole // len(limits)}


def test_every_refusal_of_a_memory_names_only_what_works() -> None:
    both = CELLS.replace('pool = "1.2MB"', 'pool = "12MB"\nbuffer = "1200KB"')
    for policy in ("abm", "dynamic", "occamy", "asic", "shared"):
        text = PORT if policy == "shared" else CELLS if policy == "asic" else both
        text = re.sub('policy = "(asic|static)"', f'policy = "{policy}"', text)
        _, said = exporting.export(resolved(text), exporting.Choices())
        (why,) = said.refusals
        chosen = exporting.Choices(instead={"buffer": "static"})
        _, again = exporting.export(resolved(text), chosen)
        assert bool(again.refusals) == ("--instead" not in why.text), policy


def test_a_ramp_beyond_the_memory_is_not_exact() -> None:
    ramp = 'name = "red"\nparams = { kmin = "100KB", kmax = "500KB", pmax = 0.2, weight = 0.5 }'
    _, said = exporting.export(resolved(PORT.replace(SCHEME, ramp)), exporting.Choices())
    (found,) = (each for each in said.all if each.key == "scheme.params")
    # 300,000 bytes a queue are half of the ramp.
    assert str(found).startswith("approximated: scheme.params: 100000 to 500000 bytes, but")
    assert "ends at 300000: at most 10 %" in found.text
    step = PORT.replace(SCHEME, 'name = "per-queue"\nparams = { threshold = "400KB" }')
    _, said = exporting.export(resolved(step), exporting.Choices())
    (found,) = (each for each in said.all if each.key == "scheme.params.threshold")
    assert "nothing is marked, as the queue ends at 300000" in found.text


def test_an_imported_switchs_own_map_of_dscps_is_taken() -> None:
    device = Device(
        {
            "PORT_QOS_MAP": {"e0": {"dscp_to_tc_map": "A", "tc_to_queue_map": "Q"}},
            "DSCP_TO_TC_MAP": {"A": {"3": "3", "8": "1", "46": "5"}},
            "TC_TO_QUEUE_MAP": {"Q": {"0": "0", "1": "2", "3": "3", "5": "5"}},
        },
        ports=["e0"],
    )
    found, said = exporting.export(resolved(PORT), exporting.Choices(), device)
    (line,) = {line for line in found if "classid" in line and "protocol ip " in line}
    bands = line.split("$(echo ")[1].split(" |")[0].split()
    # Queue 0 is strict, the first band; queue 5 is none of these: the last band.
    assert (len(bands), bands[0], bands[3], bands[8], bands[46]) == (64, "1", "4", "3", "4")
    (says,) = (each for each in said.all if each.key == "switch.classify")
    assert (says.kind, "device's A" in says.text) == ("approximated", True)


def resolved_params(made: dict[str, Any]) -> dict[str, Any]:
    return dict(sb.Scenario(made).resolved["scheme"]["params"])


def test_a_limit_in_packets_is_never_exact() -> None:
    for kind in ("pfifo", "codel", "pie", "fq"):
        one = {"kind": kind, "handle": "1:", "root": True, "options": WHOLE[kind]}
        _, said = _text([one])
        (line,) = [line for line in said if ": switch.buffer: " in line]
        assert line.startswith("approximated: ")
        assert "1500 each (host.mtu)" in line


def test_the_kernels_default_is_three_strict_bands_and_below_mq_a_pfifo() -> None:
    # As tc -j qdisc show prints it for a device of one queue, and of two.
    bands = {"bands": 3, "priomap": [1, 2, 2, 2, 1, 2, 0, 0, *[1] * 8], "multiqueue": False}
    one = {"kind": "pfifo_fast", "handle": "0:", "root": True, "refcnt": 2, "options": bands}
    made, _ = _text([one])
    assert (made["switch"]["queues"], made["switch"]["strict"]) == (3, 2)
    assert made["switch"]["buffer"] == "4500000B"
    mq = {"kind": "mq", "handle": "0:", "root": True, "options": {}}
    queues = [one | {"root": False, "parent": f":{i}"} for i in (1, 2)]
    made, said = _text([mq, *queues])
    assert (made["switch"]["queues"], made["switch"]["buffer"]) == (2, "3000000B")
    assert sum("pfifo_fast.bands" in line for line in said) == 1


def test_flags_of_cake_and_red_that_change_what_they_do_are_refused() -> None:
    for key, value in (("ack-filter", "enabled"), ("autorate", "autorate-ingress")):
        with pytest.raises(Mistake, match=f"{key}: is '{value}'"):
            importing.load(
                [{"kind": "cake", "root": True, "options": CAKE | {key: value}}], "x.json"
            )
    options = RED["options"] | {"harddrop": True}  # type: ignore[operator]
    with pytest.raises(Mistake, match="dropping above max"):
        importing.load([{**RED, "options": options}], "x.json")
    _, said = _text([{**RED, "options": RED["options"] | {"Scell_log": 9}}])  # type: ignore[operator]
    assert any(line.startswith("left out: red.Scell_log: 9: ") for line in said)


def test_cake_raises_its_target_on_a_slow_line() -> None:
    # 1514 bytes at 1 Mbps take 12.112 ms, of which the target is one and a half; the interval grows
    # by as much as the target did over 5 ms.
    made, _ = _text(
        [{"kind": "cake", "root": True, "handle": "1:", "options": CAKE | {"bandwidth": 125_000}}]
    )
    params = resolved_params(made)
    assert (params["target"], params["interval"]) == ("18.168ms", "113.168ms")


def _times(least: int, most: int) -> st.SearchStrategy[str]:
    return st.integers(least, most).map(lambda ns: f"{ns}ns")


def _gains(most: float) -> st.SearchStrategy[float]:
    return st.floats(1 / 16, most, allow_nan=False)


def _toml(name: str, params: dict[str, Any]) -> str:
    texts = {k: str(v).lower() if isinstance(v, bool) else repr(v) for k, v in params.items()}
    inner = ", ".join(f"{key} = {text}" for key, text in texts.items())
    return f'name = "{name}"\nparams = {{ {inner} }}'


LAW = {
    "interval": _times(1_000_000, 200_000_000),
    "target": _times(500, 900_000),
    "ecn": st.booleans(),
    "sqrt": st.sampled_from(["exact", "linux"]),
    "next_mark": st.sampled_from(["due", "now"]),
}
SCHEMES = st.one_of(
    st.tuples(
        st.just("codel"), st.fixed_dictionaries(LAW, optional={"ce_threshold": LAW["target"]})
    ),
    st.tuples(
        st.just("fq-codel"),
        st.fixed_dictionaries(
            LAW | {"quantum": st.integers(64, 9000).map(lambda n: f"{n}B")},
            optional={"flows": st.integers(1, 65_536), "batch": st.integers(1, 100)},
        ),
    ),
    st.tuples(
        st.just("pie"),
        st.fixed_dictionaries(
            {"target": _times(500, 40_000_000)},
            optional={
                "t_update": _times(500, 40_000_000),
                "alpha": _gains(4),
                "beta": _gains(4),
                "max_burst": _times(1, 10**9),
                "ecn_up_to": st.sampled_from([0, 0.05, 0.1, 1]),
                "derandomize": st.booleans(),
            },
        ),
    ),
    st.tuples(
        st.just("red"),
        st.fixed_dictionaries(
            {
                "kmin": st.integers(3000, 60_000).map(lambda n: f"{n}B"),
                "kmax": st.integers(60_002, 290_000).map(lambda n: f"{n}B"),
                "pmax": st.floats(0.001, 1),
                "weight": st.sampled_from([1, 0.5, 0.1, 0.002, 2**-9]),
                "spacing": st.sampled_from(["uniform", "geometric", "wait"]),
                "mark_at": st.sampled_from(["enqueue", "dequeue"]),
            }
        ),
    ),
    st.tuples(
        st.just("cobalt"),
        st.fixed_dictionaries({"interval": st.integers(1, 10**6).map(lambda n: f"{n * 100}ns")}),
    ),
)


@given(SCHEMES, st.sampled_from(["drop", "pass"]))
@example(("pie", {"target": "1500ns"}), "pass")
@example(("pie", {"target": "500ns"}), "drop")
@example(("cobalt", {"interval": "100ns"}), "drop")
@settings(max_examples=150, deadline=None)
def test_what_comes_back_as_another_was_never_exact(
    scheme: tuple[str, dict[str, Any]], unmarkable: str
) -> None:
    """An export, and an import of what Linux shows then, make the same scheme; what differs has a
    verdict that says so."""
    own = resolved(
        ALONE.replace(SCHEME, _toml(*scheme)).replace(
            "queues = 1", f'queues = 1\nunmarkable = "{unmarkable}"'
        )
    )
    made, said = exporting.export(own, exporting.Choices())
    if said.refusals:
        assert all(each.text for each in said.refusals)
        return
    text, _ = importing.load(shown(made), "x.json", rate=10**10)
    found = resolved(text)
    assert found["scheme"]["name"] == own["scheme"]["name"]
    unlike(own, found, said)
    kinds = {each.key: each.kind for each in said.all}
    if found["switch"]["buffer"] != own["switch"]["buffer"]:
        assert kinds["switch.buffer"] == "approximated"


def test_an_import_begins_with_traffic_that_tune_can_work_with() -> None:
    text, _ = importing.load([RED], "x.json", rate=10**9)
    flows, incast = tomllib.loads(text)["traffic"]
    assert (flows["load"], flows["flows"]) == (0.5, 4000)
    red: Any = RED["options"]
    # Half of the queue's memory in a round, of eight senders.
    assert incast["sizes"] == f"{red['limit'] // 2 // 8}B"
    assert incast["rounds"] > 100
