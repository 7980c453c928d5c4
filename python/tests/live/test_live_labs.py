"""Labs: the kernel's TCP through the live switch. Margins are wide, and a network may become slower
until it shows what it should (`shows`): the machine has other things to do."""

import fcntl
import os
import struct
from pathlib import Path

import polars as pl
import pytest
from live_lab import (
    DCTCP,
    ECN,
    FOR_LONGER,
    MQ_ECN,
    NO_ECN,
    NOTHING,
    PER_PORT,
    SPEEDS,
    STEP,
    both,
    bulk,
    lab,
    shows,
)

from switchbed.live import dctcp, system
from switchbed.live.lab import Request, run

pytestmark = pytest.mark.needs("namespaces")
LONG = pytest.mark.long
"""Ports decide as the simulator does (`crates/live/tests/decisions.rs`): of labs that differ by a
scheme alone, `make test` has two."""


@pytest.mark.long
def test_marks_reach_the_receiver_and_come_back(tmp_path: Path) -> None:
    def happens(scale: float) -> tuple[bool, object]:
        found = lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=ECN, scale=scale)
        seen = marks, ce, ece, drops = [
            found[name] for name in ("marks", "ce_received", "ece_delivered", "drops")
        ]
        return marks > 20 and ce >= 0.9 * marks and ece > 0 and drops < marks, seen

    shows(happens)


def test_a_line_loses_and_marks_the_packets_that_it_should(tmp_path: Path) -> None:
    # What is counted before it starts is taken off.
    (tmp_path / "flow.csv").write_text("start_s,src,dst,packets\n0.3,0,1,100\n")
    traffic = '[[traffic]]\nkind = "list"\nfile = "flow.csv"\n'
    # The SYN and the handshake's ACK are the first two.
    traffic += '[[event]]\nat = "0s"\nport = "host0"\nlose = [20, 23]\n'
    traffic += '[[event]]\nat = "0s"\nport = "host0"\nmark = [60]\n'
    found = both(tmp_path, NOTHING, traffic, hosts=2, transport=ECN, measure="", scale=1)["live"]
    assert found["fct"]["all"]["finished"] == 1
    assert (found["drops"], found["ce_received"]) == (2, 1)
    assert found["retransmissions"] >= 2


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
[[host]]
profile = "linux-6.x"
[[host]]
hosts = 2
label = "old"
transport = { kind = "reno", initial_window = 4 }
[transport]
kind = "cubic"
ecn = false
[[traffic]]
kind = "list"
file = "cubic.csv"
[[traffic]]
kind = "list"
file = "bbr.csv"
transport = "bbr"
[[traffic]]
kind = "request-response"
from = 1
to = 0
sizes = "30KB"
load = 0.1
flows = 3
transport = "bbr"
"""


def test_each_socket_has_the_congestion_control_of_its_entry(tmp_path: Path) -> None:
    # By [transport], by [[host]], and by the entry; pushed, and asked for. The kernel may refuse
    # namespaces CUBIC as a default.
    (tmp_path / "cubic.csv").write_text("start_s,src,dst,size_bytes\n0,0,3,40000\n0,2,3,40000\n")
    (tmp_path / "bbr.csv").write_text("start_s,src,dst,size_bytes\n0,0,3,40000\n0,1,3,40000\n")
    file = tmp_path / f"mixed{os.getpid()}.toml"
    file.write_text(MIXED)
    (found,) = run(Request(file, out=tmp_path / "out"))
    flows = pl.read_parquet(tmp_path / "out/live/flows.parquet")
    assert flows["fct_s"].null_count() == 0
    by = (
        flows.select("traffic", "src", "hosts", "congestion_control")
        .unique()
        .sort("traffic", "src")
    )
    assert by.rows() == [
        (0, 0, "linux-6.x", "cubic"),
        (0, 2, "old", "reno"),
        (1, 0, "linux-6.x", "bbr"),
        (1, 1, "linux-6.x", "bbr"),
        (2, 1, "linux-6.x", "bbr"),
    ]
    assert found["congestion_control"] == "cubic, reno, bbr"
    for of in ("simulated", "live"):
        finished = {
            name: each["fct"]["all"]["finished"] for name, each in found[of]["by_transport"].items()
        }
        assert finished == {"cubic": 1, "reno": 1, "bbr (linux-6.x)": 5}


OVER_TIME = """
[topology]
kind = "star"
hosts = 3
rate = "50Mbps"
delay = "1ms"
[switch]
buffer = "100pkt"
[scheme]
name = "none"
[host]
profile = "linux-6.x"
[transport]
kind = "cubic"
ecn = false
[[traffic]]
kind = "long-lived"
from = 0
to = 2
[[traffic]]
kind = "long-lived"
from = 1
to = 2
transport = "bbr"
[[traffic]]
kind = "probe"
from = 0
to = 2
every = "10ms"
[run]
until = "500ms"
"""


def test_goodput_over_time_is_all_that_receivers_took(tmp_path: Path) -> None:
    file = tmp_path / f"times{os.getpid()}.toml"
    file.write_text(OVER_TIME)
    run(Request(file, out=tmp_path / "out"))
    for of in ("simulated", "live"):
        goodput = pl.read_parquet(tmp_path / "out" / of / "goodput.parquet")
        flows = pl.read_parquet(tmp_path / "out" / of / "flows.parquet")
        assert goodput["time_s"].max() == pytest.approx(0.5)
        per = goodput.group_by("row").agg(pl.col("goodput_bps").sum() * 0.01 / 8)
        taken = per.sort("row")["goodput_bps"].to_list()
        # The sender knows what was acknowledged, the receiver what it read.
        slack = 0 if of == "live" else 100_000
        assert taken == pytest.approx(flows["received_bytes"].to_list(), abs=1 + slack)
        pings = pl.read_parquet(tmp_path / "out" / of / "pings.parquet")
        assert pings["time_s"].is_sorted()
        assert 0 <= pings["time_s"][0] <= pings["time_s"][-1] < 0.5
    # PNG: two rows of two panels, 9 inches by 5.8 at 150 dots an inch.
    header = (tmp_path / "out/lab.png").read_bytes()[16:24]
    assert struct.unpack("!II", header) == (1350, 870)


def test_without_ecn_nothing_is_marked(tmp_path: Path) -> None:
    for scale, _, _ in SPEEDS:
        found = lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=NO_ECN, scale=scale)
        assert (found["marks"], found["ce_received"], found["ece_delivered"]) == (0, 0, 0)
        # Marking drops what is not ECN-capable (RFC 3168).
        if found["drops"] > 0:
            return
    pytest.fail("nothing is dropped either")


def test_step_marking_keeps_the_queue_short_and_the_link_full(tmp_path: Path) -> None:
    def happens(scale: float) -> tuple[bool, object]:
        marked, full = (
            lab(tmp_path, scheme, bulk("0-1", 2, 0), scale=scale) for scheme in (STEP, NOTHING)
        )
        short, long = (run["bottleneck"]["mean_bytes"] for run in (marked, full))
        slow, fast = (run["goodput_mbps"]["0"] for run in (marked, full))
        return short < long / 3 and slow > 0.8 * fast and fast > 80 * scale, (
            short,
            long,
            slow,
            fast,
        )

    shows(happens)


AQMS = {
    "tcn": 'threshold = "2ms"',
    "codel": 'interval = "20ms"',
    "fq-codel": 'interval = "20ms"',
    "fq-pie": 'target = "2ms"',
    "cobalt": 'interval = "20ms"',
    "pie": 'target = "2ms"',
    "dualpi2": 'target = "2ms"',
    "ecn-sharp": 'ins_target = "3ms"\npst_target = "500us"\npst_interval = "3ms"',
    "pmsb": 'threshold = "20pkt"',
}
"""Round trips are a millisecond at rest, at full speed."""


@pytest.mark.parametrize(
    "scheme",
    [pytest.param(each, marks=[] if each in ("codel", "dualpi2") else LONG) for each in AQMS],
)
def test_an_aqm_marks_and_keeps_the_link_full(tmp_path: Path, scheme: str) -> None:
    seen = []
    for scale, _, _ in SPEEDS:
        text = f'name = "{scheme}"\n[scheme.params]\n{AQMS[scheme]}'
        found = lab(tmp_path, text, bulk("0-1", 2, 0), scale=scale)
        marks, goodput = found["marks"], found["goodput_mbps"]["0"]
        mean = found["bottleneck"]["mean_bytes"]
        # Without marks two flows fill the buffer of 200 packets.
        if marks > 0 and goodput > 70 * scale and mean < 100 * 1500:
            return
        seen.append((marks, goodput, mean))
    pytest.fail(f"marks, goodput and length were {seen}")


POLICIES = {
    "dynamic": (0.4, 0.51),
    "abm": (0.26, 0.34),
    "fab": (0.4, 0.7),
    "lqd": (0.8, 1.02),
    "occamy": (0.7, 0.91),
}
"""What a queue alone may come to hold of the memory that ports share: a half, a third, all and
eight ninths. Under FAB a flow that was silent for 5 ms may have more than the others' half."""


@pytest.mark.parametrize(
    "policy",
    [pytest.param(each, marks=[] if each in ("dynamic", "lqd") else LONG) for each in POLICIES],
)
def test_a_queue_alone_holds_what_its_policy_lets_it(tmp_path: Path, policy: str) -> None:
    memory = f'buffer = "200pkt"\npool = "200pkt"\npolicy = "{policy}"'
    flows = bulk("0-1", 2, 0, each=4)
    least, most = (share * 200 * 1500 for share in POLICIES[policy])

    def happens(scale: float) -> tuple[bool, object]:
        found = lab(tmp_path, NOTHING, flows, transport=NO_ECN, memory=memory, scale=scale)
        seen = held, goodput = found["bottleneck"]["max_bytes"], found["goodput_mbps"]["0"]
        # Flows that lose their first windows together wait for timers: simulated, LQD's have 68 %.
        return least < held < most and goodput > 45 * scale, seen

    shows(happens)


def test_dwrr_shares_the_link_by_quanta(tmp_path: Path) -> None:
    # One flow against four: no share by flows either.
    quanta, share = (4500, 1500), 3
    traffic = bulk("0", 2, 0) + bulk("1", 2, 1, each=4)

    def happens(scale: float) -> tuple[bool, object]:
        goodput = lab(tmp_path, STEP, traffic, quanta=quanta, scale=scale)["goodput_mbps"]
        ratio = goodput["0"] / goodput["1"]
        return 0.75 * share < ratio < 1.33 * share, ratio

    shows(happens)


@pytest.mark.long
def test_a_threshold_for_the_port_lets_eight_flows_take_more_than_one(tmp_path: Path) -> None:
    """MQ-ECN, figure 3."""
    traffic = bulk("0", 2, 0) + bulk("1", 2, 1, each=8)
    quanta = (1500, 1500)

    def happens(scale: float) -> tuple[bool, object]:
        goodput = lab(tmp_path, PER_PORT, traffic, quanta=quanta, scale=scale)["goodput_mbps"]
        ratio = goodput["1"] / goodput["0"]
        return ratio > 1.5, ratio

    shows(happens)


@pytest.mark.long
def test_mq_ecn_shortens_the_queues_of_busy_classes_at_the_same_goodput(tmp_path: Path) -> None:
    traffic = "".join(bulk(str(i), 4, i, each=2) for i in range(4))

    def happens(scale: float) -> tuple[bool, object]:
        standard, mq_ecn = (
            lab(tmp_path, scheme, traffic, hosts=5, quanta=(1500,) * 4, scale=scale)
            for scheme in (STEP, MQ_ECN)
        )
        queue = mq_ecn["bottleneck"]["mean_bytes"] / standard["bottleneck"]["mean_bytes"]
        goodput = sum(mq_ecn["goodput_mbps"].values()) / sum(standard["goodput_mbps"].values())
        return queue < 0.7 and 0.93 < goodput < 1.07, (queue, goodput)

    shows(happens)


@pytest.mark.long
def test_crosspoint_queues_spare_requests_the_bulk_of_others(tmp_path: Path) -> None:
    requests = (
        '[[traffic]]\nkind = "poisson"\nfrom = 2\nto = 3\nsizes = "10KB"\nload = 0.05\nflows = 40\n'
    )

    def happens(scale: float) -> tuple[bool, object]:
        shared, apart = (
            lab(
                tmp_path,
                f'name = "{scheme}"',
                bulk("0-1", 3, 0, each=4) + requests,
                hosts=4,
                quanta=None,
                transport=NO_ECN,
                memory='memory = "1200KB"',
                scale=scale,
            )["fct"]["small"]["p50_us"]
            for scheme in ("oq", "cq")
        )
        return apart < shared / 2, (apart, shared)

    shows(happens)


def test_the_client_times_its_requests_and_answers_come_in_their_class(tmp_path: Path) -> None:
    requests = (
        '[[traffic]]\nkind = "request-response"\nfrom = "0-1"\nto = 2\nsizes = "20KB"\n'
        'request = "100B"\nload = 0.1\nflows = 40\nservice = "random"\nshares = [0.5, 0.5]\n'
    )
    ended = '[measure]\nfct_end = "received"\nwarmup = "100ms"\n'

    def happens(scale: float) -> tuple[bool, object]:
        found = both(tmp_path, STEP, requests, quanta=(1500, 1500), measure=ended, scale=scale)
        simulated, live = (found[name]["fct"]["all"] for name in ("simulated", "live"))
        times = simulated["p50_us"], live["p50_us"]
        # An answer takes a round trip and 16 packets' times, 2.6 ms; not a second round trip.
        fits = live["n"] == live["finished"] == simulated["n"] and 0.7 < times[1] / times[0] < 1.5
        classes = found["live"]["goodput_mbps"]
        return fits and all(classes[name] > scale for name in ("0", "1")), (times, classes)

    shows(happens)


@pytest.mark.long
@pytest.mark.needs("iperf3")
def test_iperf3_sends_in_its_class_and_hears_of_marks(tmp_path: Path) -> None:
    traffic = bulk("0", 2, 0) + bulk("1", 2, 1)

    def happens(scale: float) -> tuple[bool, object]:
        found = both(tmp_path, STEP, traffic, quanta=(4500, 1500), iperf3=True, scale=scale)
        live = found["live"]
        # Reno, which halves, does not keep its queue full all the time.
        first, second = (live["goodput_mbps"][name] for name in ("0", "1"))
        fits = 1.7 < first / second < 4 and 75 < (first + second) / scale < 105
        # A busy machine may wake the switch late.
        notes = [note for note in found["notes"] if "the switch woke" not in note]
        return fits and live["ece_delivered"] > 0 and notes == [], (first, second)

    shows(happens)


@LONG
def test_qcn_keeps_the_queue_of_tcp_senders_near_its_set_point(tmp_path: Path) -> None:
    # Reno without ECN fills any queue that its cards do not keep from it.
    slow = 'timer_cycle = "150ms"\nactive_increase = "500kbps"\nhyper_increase = "5Mbps"\n'
    transport = f'{NO_ECN}\n[reaction]\nmin_rate = "500kbps"\n{slow}'

    def happens(scale: float) -> tuple[bool, object]:
        qcn, full = (
            lab(
                tmp_path,
                f'name = "{scheme}"',
                bulk("0-1", 2, 0),
                transport=transport,
                # Some of its timer's cycles.
                measure=FOR_LONGER,
                scale=scale,
            )
            for scheme in ("qcn", "none")
        )
        queues = [run["bottleneck"]["mean_bytes"] for run in (qcn, full)]
        # 26 KB is the set point.
        fits = (
            5_000 < queues[0] < min(60_000, queues[1] / 2) and qcn["goodput_mbps"]["0"] > 60 * scale
        )
        return fits, (queues, qcn["goodput_mbps"])

    shows(happens)


@pytest.mark.long
def test_a_host_alone_fills_no_port(tmp_path: Path) -> None:
    """A port half a percent slower than the host's card had 100 KB at the end."""

    def happens(scale: float) -> tuple[bool, object]:
        found = lab(tmp_path, NOTHING, bulk("0", 2, 0), scale=scale)
        longest, goodput = found["bottleneck"]["max_bytes"], found["goodput_mbps"]["0"]
        return longest < 50_000 and goodput > 90 * scale, (longest, goodput)

    shows(happens)


@pytest.mark.long
def test_hosts_keep_to_the_scenarios_window(tmp_path: Path) -> None:
    transport = f'{NO_ECN}\nreceive_window = "11pkt"'

    def happens(scale: float) -> tuple[bool, object]:
        found = both(tmp_path, NOTHING, bulk("0-1", 2, 0), transport=transport, scale=scale)
        simulated, live = (found[s]["bottleneck"]["mean_bytes"] for s in ("simulated", "live"))
        return 0.7 < live / simulated < 1.3, (simulated, live)

    shows(happens)


def test_the_output_keeps_to_its_rate(tmp_path: Path) -> None:
    def happens(scale: float) -> tuple[bool, object]:
        peak = lab(tmp_path, NOTHING, bulk("0-1", 2, 0), scale=scale)["peak_mbps"] / scale
        return 85 < peak <= 102, peak

    shows(happens)


@pytest.mark.needs("clang", "bpftool", "libbpf-dev", "BTF")
def test_our_dctcp_keeps_the_queue_at_its_threshold(tmp_path: Path) -> None:
    # One for the whole machine: nobody else's test may take it away.
    lock = (system.make_runtime_folder() / "dctcp.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    loaded = dctcp.load()

    def happens(scale: float) -> tuple[bool, object]:
        found = lab(tmp_path, STEP, bulk("0-1", 2, 0), transport=DCTCP, scale=scale)
        queue, goodput = found["bottleneck"]["mean_bytes"], found["goodput_mbps"]["0"]
        # 20 packets are 30 KB; Reno, which halves, stays well below on average.
        fits = 20_000 < queue < 45_000 and goodput > 85 * scale and found["ece_delivered"] > 20
        return fits, (queue, goodput, found["ece_delivered"])

    try:
        shows(happens)
    finally:
        if loaded:
            assert dctcp.unload()
            assert dctcp.NAME not in dctcp.available()
        lock.close()
