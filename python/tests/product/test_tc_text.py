"""Text that `tc` prints, which makes the scenario that its JSON does."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

from switchbed.tc import importing

TEXTS: dict[str, tuple[str, list[Any]]] = {
    "dualpi2, of a time": (
        "qdisc dualpi2 1: dev eth0 root refcnt 2 limit 10000p memlimit 15140000B target 15ms "
        "tupdate 16ms alpha 0.156250 beta 3.195312 step_thresh 1ms min_qlen_step 0p "
        "coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect "
        "split_gso \n",
        [
            {
                "kind": "dualpi2",
                "handle": "1:",
                "root": True,
                "options": {
                    **{"limit": 10_000, "memory-limit": 15_140_000, "target": 15_000},
                    **{"tupdate": 16_000, "alpha": 0.15625, "beta": 3.19531},
                    **{"step-thresh-us": 1000, "min-qlen-step": 0, "coupling": 2},
                    **{"drop-overload": "drop", "drop-early": "drop-dequeue"},
                    **{"c-protection": 10, "ecn-mask": "l4s-ect", "split-gso": None},
                },
            }
        ],
    ),
    "dualpi2, of packets": (
        "qdisc dualpi2 8001: root refcnt 2 limit 800p memlimit 1211200B target 999us tupdate 500us "
        "alpha 12.500000 beta 250.000000 step_thresh 8p min_qlen_step 2p coupling_factor 3 "
        "overflow drop_enqueue classic_protection 0% l4s_ect no_split_gso \n",
        [
            {
                "kind": "dualpi2",
                "handle": "8001:",
                "root": True,
                "options": {
                    **{"limit": 800, "memory-limit": 1_211_200, "target": 999, "tupdate": 500},
                    **{"alpha": 12.5, "beta": 250, "step-thresh-pkts": 8, "min-qlen-step": 2},
                    **{"coupling": 3, "drop-overload": "overflow", "drop-early": "drop-enqueue"},
                    **{"c-protection": 0, "ecn-mask": "l4s-ect"},
                },
            }
        ],
    ),
    "a default": (
        "qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms "
        "interval 100ms memory_limit 32Mb ecn drop_batch 64 \n"
        " Sent 1055 bytes 10 pkt (dropped 0, overlimits 0 requeues 1) \n"
        "  maxpacket 1700 drop_overlimit 0 new_flow_count 5 ecn_mark 0\n",
        [
            {
                "kind": "fq_codel",
                "handle": "0:",
                "root": True,
                "options": {
                    **{"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999},
                    **{"interval": 99_999, "memory_limit": 2**25, "ecn": True, "drop_batch": 64},
                },
            }
        ],
    ),
    "a tree": (
        "$ tc -d qdisc show dev swp21\n"
        "qdisc tbf 1: root refcnt 2 rate 1Gbit burst 1600b/1 lat 1.5ms \n"
        "qdisc ets 10: parent 1:1 bands 2 strict 1 quanta 4000 priomap  1 0 1\n"
        "qdisc red 101: parent 10:2 limit 2Mb min 500Kb max 1536Kbecn nodrop ewma 2 "
        "probability 0.1 \n"
        "qdisc codel 102: parent 10:1 limit 1000p target 4.99ms interval 99.9ms "
        "ce_threshold 80us \n",
        [
            {
                "kind": "tbf",
                "handle": "1:",
                "root": True,
                "options": {"rate": 125_000_000, "burst": "1600b/1", "lat": 1500},
            },
            {
                "kind": "ets",
                "handle": "10:",
                "parent": "1:1",
                "options": {"bands": 2, "strict": 1, "quanta": [4000], "priomap": [1, 0, 1]},
            },
            {
                "kind": "red",
                "handle": "101:",
                "parent": "10:2",
                "options": {
                    **{"limit": 2**21, "min": 512_000, "max": 1_572_864, "ecn": True},
                    **{"nodrop": True, "ewma": 2, "probability": 0.1},
                },
            },
            {
                "kind": "codel",
                "handle": "102:",
                "parent": "10:1",
                "options": {
                    **{"limit": 1000, "target": 4989, "interval": 99_899},
                    "ce_threshold": 80,
                },
            },
        ],
    ),
    "cake": (
        "qdisc cake 8001: root refcnt 2 bandwidth 250Mbit besteffort flowblind nonat nowash "
        "no-ack-filter split-gso rtt 100.0ms raw overhead 0\n memory used: 4148544b of 12500000b\n",
        [
            {
                "kind": "cake",
                "handle": "8001:",
                "root": True,
                "options": {
                    **{"bandwidth": 31_250_000, "diffserv": "besteffort", "flowmode": "flowblind"},
                    **{"nat": False, "wash": False, "ack-filter": "disabled", "split_gso": True},
                    **{"rtt": 100_000, "raw": True, "overhead": 0},
                },
            }
        ],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_and_json_make_the_same_scenario(
    name: str, switchbed: Program, tmp_path: Path
) -> None:
    text, given_json = TEXTS[name]
    (tmp_path / "shown.txt").write_text(text)
    (tmp_path / "shown.json").write_text(json.dumps(given_json))
    switchbed("import", "tc", "shown.txt", "--out", "text.toml")
    switchbed("import", "tc", "shown.json", "--out", "json.toml")
    of_text, of_json = (
        (tmp_path / f"{form}.toml").read_text().splitlines()[1:] for form in ("text", "json")
    )
    assert of_text == of_json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("qdisc noqueue 0: dev lo root refcnt 2 \n", "noqueue holds no packets"),
        ("nothing\n", "is not what tc -j -d qdisc show prints"),
        ("qdisc red\n", "x.txt:1: is cut off"),
        ("\nqdisc pfifo 1: root limit 10parsecs\n", "x.txt:2: limit: '10parsecs' is no number"),
        (
            "qdisc prio 1: root bands 3 priomap 1 2 2\nqdisc tbf 10: parent 1:1 rate 1Mbit\n",
            "tbf 10: under 1:1: a scenario's queues are not shaped or divided again",
        ),
        (
            "qdisc codel 1: dev a root limit 10p\nqdisc codel 1: dev b root limit 10p\n",
            "2 root disciplines (of a, b): one device's are needed",
        ),
    ],
)
def test_a_text_that_is_no_ports_is_refused(
    text: str, says: str, switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text(text)
    assert says in switchbed("import", "tc", "x.txt", code=2).stderr


def test_of_a_whole_machine_the_one_device_that_queues_is_read(
    switchbed: Program, tmp_path: Path
) -> None:
    text = "qdisc noqueue 0: dev lo root refcnt 2\n" + TEXTS["a default"][0]
    (tmp_path / "all.txt").write_text(text)
    done = switchbed("import", "tc", "all.txt")
    assert "exact: dev: eth0: no other queues packets" in done.stderr


@pytest.mark.parametrize(
    ("bandwidth", "rtt", "memory"),
    [
        # As `tc -s` printed it ("memory used: … of …").
        (31_250_000, 100_000, 12_500_000),
        (1_250_000, 10_000, 4 * 2**20),
        ("unlimited", 100_000, 15_140 * 1024),
    ],
)
def test_cake_has_the_kernels_memory_without_a_limit(
    bandwidth: object, rtt: int, memory: int
) -> None:
    (made,) = copy.deepcopy(TEXTS["cake"][1])
    made["options"] |= {"bandwidth": bandwidth, "rtt": rtt}
    assert f'buffer = "{memory}B"' in importing.load([made], "x")[0]
