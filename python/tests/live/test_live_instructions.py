"""Orders that a lab's hosts get, what is refused before a lab makes anything, and what a lab says
of flows that did not finish and of losses."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from switchbed import _native
from switchbed._native import Mistake
from switchbed.live import dctcp, instructions, lab, measured, stacks, system
from switchbed.live.lab import Setup

ROW = {"place": 7, "src": 1, "dst": 0, "class": 3, "size_bytes": 2e4, "start_s": 0.25, "traffic": 0}
ASKED = {"kind": "request-response", "request": "100B"}


def told(row: dict[str, Any], *traffic: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
    return instructions.flow(row | {"handshake": False}, traffic, ("bbr", "cubic"), 10.0, 20.0)


def test_a_request_is_the_clients_and_names_its_server() -> None:
    host, name, order = told(ROW | {"traffic": 1}, {"kind": "long-lived"}, ASKED)
    assert (host, name) == (0, "ask")
    assert order["from"] == "10.77.0.2"
    assert (order["request"], order["size"], order["dscp"], order["at"]) == (100, 20_000, 3, 10.25)
    # The client takes, the server sends.
    assert (order["control"], order["other"]) == ("cubic", "bbr")


def test_a_flow_is_its_senders() -> None:
    host, name, order = told(ROW, {"kind": "poisson"})
    assert (host, name, order["to"], order["size"]) == (1, "send", "10.77.0.1", 20_000)
    assert (order["control"], order["other"]) == ("bbr", "cubic")


def test_each_flow_goes_by_its_own_entry() -> None:
    others = {"kind": "poisson"}, ASKED, ASKED | {"request": "1KB"}
    names = [told(ROW | {"traffic": nth}, *others)[1:] for nth in range(3)]
    assert [name for name, _ in names] == ["send", "ask", "ask"]
    assert [order.get("request") for _, order in names] == [None, 100, 1000]


def test_bulk_beside_requests_is_sent() -> None:
    host, name, order = told(ROW | {"size_bytes": None}, {"kind": "long-lived"}, ASKED)
    assert (host, name, order["size"], order["until"]) == (1, "send", None, 20.0)


def test_probes_go_out_in_each_class_and_end_when_they_should() -> None:
    probe = {"from": "1-2", "to": 0, "classes": [0, 3], "size": "84B", "every": "1ms"}
    told = list(instructions.pings(probe | {"stop": "2s"}, 3, 10.0, 20.0))
    assert [(host, order["dscp"]) for host, _, order in told] == [(1, 0), (1, 3), (2, 0), (2, 3)]
    assert {order["until"] for _, _, order in told} == {12.0}


@pytest.mark.parametrize(
    ("traffic", "complaint"),
    [
        ([{"kind": "long-lived", "stop": "1s"}], "long-lived flows send to the end"),
    ],
)
def test_traffic_that_hosts_cannot_send_is_refused(
    traffic: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(Mistake, match=complaint):
        instructions.check(Path("a.toml"), traffic)


STAR = """
[topology]
kind = "star"
hosts = 2
rate = "1Gbps"
delay = "1us"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[run]
until = "1s"
"""


@pytest.mark.parametrize(
    "event",
    [
        'at = "1ms"\nport = "host0"\nlose = [3]',
        'at = "0s"\nport = "switch:1"\nlose = [3]',
        'at = "0s"\nport = "host0"\nlose = [3]\nflow = 0',
        'at = "0s"\nport = "host0"\nrate = "1Gbps"',
    ],
)
def test_what_changes_in_no_lab_is_refused(tmp_path: Path, event: str) -> None:
    file = tmp_path / "f.toml"
    file.write_text(f"{STAR}[[event]]\n{event}\n")
    with pytest.raises(Mistake, match="event: of changes a lab has lose and mark alone"):
        lab.run(lab.Request(file))


MIXED = """
[topology]
kind = "star"
hosts = 4
rate = "50Mbps"
delay = "1ms"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
{host}
[transport]
kind = "cubic"
ecn = false
[[traffic]]
kind = "long-lived"
from = 0
to = 3
[[traffic]]
kind = "long-lived"
from = "1-2"
to = 3
transport = {own}
[run]
until = "1s"
"""
ALIKE = '[host]\nprofile = "linux-6.x"'


def mixed(own: str, host: str = ALIKE) -> stacks.Stacks:
    plan = _native.plans_of("m.toml", MIXED.format(own=own, host=host), Path(), [], True)[0]
    return stacks.Stacks(Path("m.toml"), json.loads(plan.scenario))


def test_each_end_of_a_flow_has_the_transport_of_its_entry() -> None:
    found = mixed('"bbr"')
    found.check(found.planned())
    assert found.planned() == [(0, 0, 3), (1, 1, 3), (1, 2, 3)]
    kinds = [[found.of(entry, host).kind for host in ends] for entry, *ends in found.planned()]
    assert kinds == [["cubic", "cubic"], ["bbr", "bbr"], ["bbr", "bbr"]]
    assert [each.kind for each in found.kinds(found.planned())] == ["cubic", "bbr"]


def test_ecn_of_the_connections_that_always_have_it_is_not_the_namespaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dctcp, "available", lambda: ["reno", "cubic", dctcp.NAME])
    with pytest.raises(Mistake, match=r"^m.toml: traffic.1.transport.ecn is false: the kernel's "):
        mixed('"dctcp"').check([(1, 1, 3)])
    found = mixed('{ kind = "dctcp", ecn = true }')
    found.check(found.planned())
    tcp = [found.tcp(host, found.planned()) for host in range(4)]
    assert [each.ecn for each in tcp] == [False, True, True, False]
    assert [each.congestion_control for each in tcp] == ["cubic", *[dctcp.NAME] * 3]
    # Reno in its place has the namespace's.
    monkeypatch.setattr(dctcp, "available", lambda: ["reno", "cubic"])
    with pytest.raises(Mistake, match=r"^m.toml: traffic.1.transport.ecn: host3 has false by "):
        found.check(found.planned())
    notes = [stacks.missing(each) for each in found.kinds(found.planned())]
    assert notes[0] is None
    assert str(notes[1]).startswith("this kernel has no dctcp: Reno with ECN instead; ")


ONCE = {
    "initial_window = 4": "initial_window: host3 has 10 by transport.initial_window and 4 here",
    'rto_min = "10ms"': "rto_min: host3 has 200ms by transport.rto_min and 10ms here",
    'mss = "1.3KB"': "mss: host3 has 1.448KB by transport.mss and 1.3KB here",
    "ack_every = 1": "ack_every: host3 has 2 by transport.ack_every and 1 here",
    'restart = "keep"': "restart: host3 has halve-per-rto by transport.restart and keep here",
    "ecn = true": "ecn: host3 has false by transport.ecn and true here",
}


@pytest.mark.parametrize("key", ONCE)
def test_what_a_namespace_has_once_must_agree(key: str) -> None:
    found = mixed(f'{{ kind = "reno", ecn = false, {key} }}'.replace("ecn = false, ecn", "ecn"))
    with pytest.raises(Mistake) as refused:
        found.check(found.planned())
    said = f"m.toml: traffic.1.transport.{ONCE[key]}, and a namespace has one: give both the same"
    assert str(refused.value) == said
    # Hosts apart may differ.
    found.check([(0, 0, 3), (1, 1, 2)])


TWO = """
[[host]]
profile = "linux-6.x"
[[host]]
hosts = 1
label = "other"
{keys}
"""


def test_hosts_that_differ_have_a_namespace_each() -> None:
    keys = 'delay = "3us"\nlso = false\ntransport = { kind = "bbr", initial_window = 4 }'
    found = mixed('"reno"', TWO.format(keys=keys))
    flows = [(0, 0, 3), (0, 1, 3)]
    found.check(flows)
    assert [found.of(0, host).kind for host in range(4)] == ["cubic", "bbr", "cubic", "cubic"]
    tcp = [found.tcp(host, flows) for host in (0, 1)]
    assert [each.initial_window for each in tcp] == [10, 4]
    assert [each.bursts for each in tcp] == [True, False]
    assert [found.host(host)["delay"] for host in (0, 1)] == ["0ps", "3us"]


REFUSED_HOSTS = {
    "share = 0.5": "host.1.share: a lab draws no hosts: name them in hosts alone",
    'delay = { kind = "uniform", min = "1us", max = "2us" }': "host.1.delay: a lab's hosts have "
    'one delay, such as "2us"',
}


@pytest.mark.parametrize("key", REFUSED_HOSTS)
def test_hosts_that_a_lab_cannot_have_are_refused(key: str) -> None:
    with pytest.raises(Mistake) as refused:
        mixed('"reno"', TWO.format(keys=key)).check([(0, 0, 3)])
    assert str(refused.value) == f"m.toml: {REFUSED_HOSTS[key]}"


def test_a_congestion_control_that_the_kernel_refuses_is_named() -> None:
    stacks.check_allowed(["reno"])
    with pytest.raises(Mistake, match="cannot have the congestion control none-such: no such file"):
        stacks.check_allowed(["none-such"])


SHIPPED = Path(__file__).parents[3] / "scenarios"
# A file, what is set in it, and what is said.
REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "dcqcn": ("roce-incast", (), "transport.kind is 'dcqcn'"),
    "pfc": ("pfc-incast", (), "switch.pfc: "),
    "pauses by a setting": (
        "star-dctcp",
        ("switch.pool=3MB", "switch.buffer=3MB", "switch.pfc.priorities=[0]"),
        "switch.pfc: ",
    ),
    "timely": ("star-dctcp", ("transport.kind=timely",), "transport.kind is 'timely'"),
    "udp": ("afd-unequal", (), "transport.kind is 'udp'"),
    "a rate": ("star-dctcp", ("topology.rate=100Gbps",), "topology.rate is 100Gbps"),
    "packets": (
        "star-dctcp",
        ("host.mtu=9500B", "transport.mss=9460B", "scheme.params.threshold=20pkt"),
        'host.mtu is "9.5KB"',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_lab_can_do_is_refused_before_it_writes_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    stem, sets, what = REFUSED[name]
    monkeypatch.setattr(system, "runtime_folder", lambda: tmp_path / "run")
    monkeypatch.setattr(lab, "_setup", lambda *_: pytest.fail("it was simulated"))
    file = SHIPPED / f"{stem}.toml"
    with pytest.raises(Mistake) as refused:
        lab.run(lab.Request(file, sets=sets, out=tmp_path / "out"))
    assert str(refused.value).startswith(f"{file}: {what}")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_the_labs_switch_complains_of_is_of_the_users_file() -> None:
    made = "/run/switchbed/labs/a/switch.toml"
    user = Path("a.toml")
    said = lab._of_user(f"{made}:12: live.rate is wrong; live.bucket too", made, user)
    assert said == "a.toml: topology.rate is wrong; live.bucket too"


def test_iperf3s_ports_count_its_own_flows() -> None:
    row = {"place": 70_000, "src": 0, "dst": 1, "start_s": 0.5, "class": 0}
    ends = list(instructions.iperf3(row, 2, "cubic", 1.0, 9.0))
    assert [order["port"] for _, _, order in ends] == [5203, 5203]
    with pytest.raises(Mistake, match=r"flow 70000 would have port 65536: .* at most 60335 flows"):
        list(instructions.iperf3(row, 60_335, "cubic", 1.0, 9.0))


SCENARIO = {
    "title": "",
    "scheme": {"label": "none"},
    "topology": {"rate": "100Mbps"},
    "measure": {"warmup": "1s", "small": "100KB", "large": "10MB"},
    "run": {"until": "9s"},
}
COUNTERS = {
    "marks": 0,
    "drops": 12,
    "host_drops": 0,
    "overruns": 0,
    "timeouts": 4,
    "retransmissions": 7,
}


PUNCTUAL = {"count": 500, "p50_late_ns": 9_000, "p99_late_ns": 16_383, "max_late_ns": 1_200_000}


def notes(
    rows: Sequence[tuple[float, float | None, int]],
    counters: dict[str, int],
    wakes: dict[str, int] = PUNCTUAL,
    size: int | None = 1000,
    ports: tuple[dict[str, int], ...] = (),
) -> list[str]:
    """Of a lab whose flows of 1000 bytes have these starts, FCTs and received bytes."""
    flows = pl.DataFrame(
        {
            "class": [0] * len(rows),
            "size_bytes": pl.Series([size] * len(rows), dtype=pl.Int64),
            "start_s": [start for start, _, _ in rows],
            "counted": [start >= 1 for start, _, _ in rows],
            "fct_s": pl.Series([fct for _, fct, _ in rows], dtype=pl.Float64),
            "received_bytes": [got for _, _, got in rows],
        }
    )
    none = pl.DataFrame(schema={"time_s": pl.Float64, "port": pl.Utf8, "bytes": pl.UInt64})
    pings = pl.DataFrame(schema=measured.PINGS)
    found = measured.Measured(
        flows, none, pings, COUNTERS | counters, stats={"wakes": wakes, "ports": ports}
    )
    setup: Any = SimpleNamespace(
        scenario=SCENARIO,
        simulated=found,
        until_s=9.0,
        hosts=2,
        congestion_control="cubic",
        notes=["first"],
    )
    others: list[str]
    first, *others = measured.beside({}, cast("Setup", setup), found)["notes"]
    assert first == "first"
    return others


def test_flows_that_all_finish_and_lose_nothing_need_no_word() -> None:
    assert notes([(1, 0.1, 1000), (2, 0.1, 1000)], {}) == []


def test_why_a_flow_did_not_finish_is_said() -> None:
    early = (0.5, None, 0)  # started within the warm-up: it does not count
    rows = [early, (1, 0.1, 1000), (1, None, 0), (2, None, 400), (2, None, 1000), (9.5, None, 0)]
    (said,) = notes(rows, {})
    assert said.startswith("live: 4 of 5 flows did not finish in 9 s: 1 were to start after that; ")
    for part in (
        "1 had no byte at the receiver",
        "1 had a part of their bytes there",
        "1 had all bytes there",
        "4 timeouts, 7 segments sent again",
    ):
        assert part in said


def test_flows_without_an_end_that_never_got_through_are_named() -> None:
    rows = [(1.0, None, 7_000), (1.0, None, 0), (0.5, None, 0)]
    (said,) = notes(rows, {}, size=None)
    assert said == (
        "live: 1 of 2 flows without an end had no byte at the receiver: not connected, or the "
        "first packets lost"
    )
    (said,) = notes(rows, {}, size=None, ports=({"drops_not_ecn_capable": 4}, {}))
    assert "the switch dropped 4 packets that are not ECN-capable, as SYNs are not" in said
    assert notes(rows[:1], {}, size=None) == []


def test_losses_of_cards_and_before_the_switch_are_named() -> None:
    (said,) = notes([(1, 0.1, 1000)], {"host_drops": 8, "overruns": 3})
    assert said.startswith("live: of 12 drops 8 are the hosts' cards' ")
    assert "and 3 came before the switch read them" in said


def test_wakes_that_cost_a_port_its_rate_are_named() -> None:
    (said,) = notes([(1, 0.1, 1000)], {}, PUNCTUAL | {"max_late_ns": 4_250_000})
    assert said.startswith(
        "live: the switch woke up to 4.2 ms late (99 % of 500 times at most 16 us)"
    )
    assert "ports make up for 1.2 ms" in said


def test_losses_are_counted_by_where_they_are() -> None:
    port = {"marked_packets": 5, "drops_tail": 1, "host_drops": 2, "overruns": 3, "received": 99}
    found = measured.count([], {"ports": [port, port]})
    kinds = {name: found[name] for name in ("drops", "host_drops", "overruns", "marks")}
    assert kinds == {"drops": 12, "host_drops": 4, "overruns": 6, "marks": 10}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("@roce-incast", "transport.kind is 'dcqcn'"),
        ("@pfc-incast", "switch.pfc: a lab's switch and hosts send no pause frames"),
        ("@fat-tree", "topology.kind is 'fat-tree'"),
    ],
)
def test_what_a_lab_cannot_do_is_refused_by_the_name_that_was_given(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Mistake) as told:
        lab.run(lab.Request(Path(name), (), 1.0, None, tmp_path / "out", None, False))
    assert str(told.value).startswith(f"{name}: {says}")
    assert not list(tmp_path.iterdir())
