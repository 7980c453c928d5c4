"""`switchbed live lab`: a scenario on real TCP. The scenario is simulated first; then the same
flows are sent by the kernel's TCP between network namespaces through the live switch, and both
are measured alike."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, toml
from switchbed._native import Mistake, Plan
from switchbed.live import control, dctcp, hosts, measured, netns, orders, picture, system
from switchbed.live.scale import scaled, seconds, size_bytes
from switchbed.prototype import sources
from switchbed.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

START_S = 0.5
"""Seconds from the instructions to the first flow: all hosts must have theirs."""
LINGER = 2.0
"""A run without an end has at most this many times what the simulation took, and a second."""
SERIES = "1ms"
LINUX_RTO_INITIAL = "1s"
"""Initial RTO of Linux, which no network namespace can change."""
HEADER_WITH_TIMESTAMPS = 52
"""IPv4, TCP and the timestamps' option (RFC 7323), in bytes."""
WATCH_S = 0.01
"""How often receivers read what has reached them."""
POLL_S = 0.5
"""How often hosts are asked whether their flows have ended."""
MOST_HOSTS = 64
CONTROLS = {
    "bbr": ["bbr"],
    "cubic": ["cubic"],
    "dctcp": ["dctcp", dctcp.NAME],
    "ecn-star": ["reno"],
    "prague": ["prague"],
    "reno": ["reno"],
}
"""The kernel's congestion controls for a scenario's. ECN* is Reno's answer to marks."""
KEYS = {
    "delay": "topology.delay",
    "mtu": "host.mtu",
    "rate": "topology.rate",
    "seed": "run.seed",
    "series_every": "measure.series_every",
}
"""Keys of a scenario that become some of `[live]`."""
MOST_RATE = "100Gbps"
"""Greatest rate of a live switch's port."""
FAULTS = {"lose", "mark"}
"""Keys of faults, in `[[event]]` and in a live switch's `[[port]]`."""


@dataclass(frozen=True)
class Request:
    """The command line of `switchbed live lab`."""

    file: Path
    sets: tuple[str, ...] = ()
    scale: float = 1.0
    name: str | None = None
    out: Path | None = None
    seed: int | None = None
    iperf3: bool = False
    """Flows without a size are iperf3's."""


@dataclass(frozen=True)
class Setup:
    """Scenario and simulation that a lab is made from."""

    file: Path
    """File that the user gave."""
    scenario: dict[str, Any]
    """Scenario as resolved, with rates scaled."""
    flows: "pl.DataFrame"
    """Flows that the simulation started."""
    simulated: measured.Measured
    until_s: float
    congestion_control: str
    notes: list[str]
    iperf3: bool

    @property
    def hosts(self) -> int:
        """Number of hosts in the lab."""
        return int(self.scenario["topology"]["hosts"])


def run(request: Request) -> list[dict[str, Any]]:
    """Runs every combination of the file, one after the other: simulated and live."""
    name = request.file.stem if request.name is None else request.name
    netns.check(name, "the lab's name" if request.name is None else "--name")
    plans = _native.plans(request.file, request.sets, request.seed)
    if request.out is not None and request.out.exists():
        raise Mistake(f"--out {request.out}: exists; name another")
    for plan in plans:
        _check(request, json.loads(plan.scenario))
    for program in ("ip", "setpriv", *(["iperf3"] if request.iperf3 else [])):
        system.need(program)
    if os.geteuid() != 0:
        raise Mistake("a lab makes network namespaces and interfaces: run it with sudo")
    # Before the simulations, which may take long.
    netns.check_free(name, max(_hosts(plan) for plan in plans))
    setups = [_setup(request, plan) for plan in plans]
    rows: list[picture.Row] = []
    for i, (plan, setup) in enumerate(zip(plans, setups, strict=True)):
        live = _live(name, setup)
        found = measured.beside(dict(json.loads(plan.settings)), setup, live)
        rows.append((found, setup.scenario, {"simulated": setup.simulated, "live": live}))
        if request.out is not None:
            folder = request.out if len(plans) == 1 else request.out / str(i)
            measured.write(folder, found, setup, live)
    if request.out is not None:
        picture.draw(rows, request.out / "lab.png")
    return [found for found, _, _ in rows]


def _hosts(plan: Plan) -> int:
    return int(json.loads(plan.scenario)["topology"]["hosts"])


def _check(request: Request, scenario: dict[str, Any]) -> None:
    """Refuses what a lab cannot do."""
    file, topology = request.file, scenario["topology"]
    if topology["kind"] != "star":
        raise Mistake(
            f'{file}: topology.kind is {topology["kind"]!r}: a lab has one switch, "star"'
        )
    if topology["hosts"] > MOST_HOSTS:
        raise Mistake(
            f"{file}: topology.hosts is {topology['hosts']}: a lab has {MOST_HOSTS} at most"
        )
    if isinstance(scenario["host"], list):
        raise Mistake(f"{file}: [[host]]: a lab's hosts are alike: write [host]")
    if not isinstance(scenario["host"]["delay"], str):
        raise Mistake(f'{file}: host.delay: a lab\'s hosts have one delay, such as "2us"')
    if sources.schemes(scenario):
        raise Mistake(f"{file}: scheme.name is 'python': it runs in the simulator alone")
    # A list's times are absolute: slower links would meet them all the same.
    if request.scale != 1 and any(source["kind"] == "list" for source in scenario["traffic"]):
        raise Mistake(f"{file}: --scale {request.scale:g}: the times of a flow list do not scale")
    kind = scenario["transport"]["kind"]
    if kind not in CONTROLS:
        raise Mistake(
            f"{file}: transport.kind is {kind!r}: a lab's hosts have the kernel's TCP: "
            f"make it {', '.join(CONTROLS)}"
        )
    if "roce" in scenario:
        raise Mistake(f"{file}: roce: a lab's hosts have no queue pairs: leave it out")
    if "pfc" in scenario["switch"]:
        raise Mistake(
            f"{file}: switch.pfc: a lab's switch and hosts send no pause frames: leave it out"
        )
    orders.check(file, scenario["traffic"])
    if scenario.get("deploy"):
        raise Mistake(f"{file}: deploy: a lab has one switch: leave it out")
    if not all(_is_fault(event) for event in scenario.get("event", [])):
        raise Mistake(
            f"{file}: event: of changes a lab has lose and mark alone, of a host's port "
            f'("host0"), from 0s on and of every packet (without flow)'
        )
    rate_bps = _native.rate_bps(topology["rate"]) / measured.ip_part(scenario)
    if rate_bps * request.scale > _native.rate_bps(MOST_RATE):
        raise Mistake(
            f"{file}: topology.rate is {topology['rate']}: a lab's ports have {MOST_RATE} at most, "
            f"headers included: give a smaller --scale"
        )
    names = [f"host{host}" for host in range(topology["hosts"])]
    _check_switch(file, _switch_file(scaled(scenario, request.scale), names, names))


def _check_switch(file: Path, switch: dict[str, Any]) -> None:
    """Refuses what the live switch cannot do, before it is started with what was made of the
    file; a line's number would be that of another file."""
    try:
        _native.live_plan_of(str(file), toml.document(switch))
    except Mistake as mistake:
        raise Mistake(_of_user(str(mistake), str(file), file)) from None


def _of_user(complaint: str, made: str, file: Path) -> str:
    """A complaint about a file that was made, as one about the file that it was made of."""
    found = re.sub(rf"{re.escape(made)}(:\d+)*", lambda _: str(file), complaint)
    return re.sub(r"\blive\.(\w+)", lambda key: KEYS.get(key[1], key[0]), found)


def _is_fault(event: dict[str, Any]) -> bool:
    """Return whether a live switch's port can carry out the event."""
    # The live switch counts packets of a port from its start.
    whole = "flow" not in event and _native.time_ps(event["at"]) == 0
    return whole and event.keys() - {"at", "port"} <= FAULTS and event["port"].startswith("host")


def _setup(request: Request, plan: Plan) -> Setup:
    scenario = scaled(json.loads(plan.scenario), request.scale)
    file = request.file
    scenario["measure"] |= {"queues": "all"}
    scenario["measure"].setdefault("series_every", SERIES)
    # Simulated with the timer that the lab's kernel has: a lost SYN waits as long.
    scenario["transport"]["rto_initial"] = LINUX_RTO_INITIAL
    # A TAP interface joins no packets on their way up.
    scenario["host"]["merge_packets"] = 1
    # A resolved scenario names files from here.
    result = Scenario(scenario, name=str(file)).run()
    summary = result.summary()
    # Without an end the simulation's own length says how long to wait.
    until = result.scenario["run"].get("until")
    until_s = seconds(until) if until else LINGER * summary["simulated_s"] + 1.0
    control, notes = _congestion_control(result.scenario["transport"])
    if not _may_be_punctual():
        notes.append("no real-time priority here: the switch wakes late on a busy machine")
    simulated = measured.Measured(
        flows=result.flows,
        series=result.series,
        pings=_probes(result.probes),
        counters={name: summary[name] for name in ("marks", "drops", "timeouts")},
    )
    return Setup(
        file, result.scenario, result.flows, simulated, until_s, control, notes, request.iperf3
    )


def _probes(probes: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    if probes.is_empty():
        return pl.DataFrame(schema={"class": pl.UInt32, "rtt_s": pl.Float64})
    return probes.select("class", "rtt_s").drop_nulls()


def _may_be_punctual() -> bool:
    """Whether this machine lets the switch have real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def _congestion_control(transport: dict[str, Any]) -> tuple[str, list[str]]:
    """The kernel's for the scenario's, and what must be said of it."""
    known = dctcp.available()
    names = CONTROLS[transport["kind"]]
    for name in names:
        if name in known:
            return name, []
    other = "Reno with ECN" if transport["ecn"] else "Reno"
    load = "; switchbed live dctcp load adds it" if dctcp.NAME in names else ""
    return "reno", [f"this kernel has no {names[0]}: {other} instead{load}"]


def _live(name: str, setup: Setup) -> measured.Measured:
    """Makes the lab, runs it, measures, and removes everything whatever happens."""
    with ExitStack() as stack:
        stack.enter_context(_interrupted_by_signals())
        lab = stack.enter_context(netns.lab(name, setup.hosts))
        interfaces = [f"sb{lab.owner}h{host}" for host in range(setup.hosts)]
        file, out = lab.folder / "switch.toml", lab.folder / "out"
        made = _switch_file(setup.scenario, lab.namespaces, interfaces)
        file.write_text(toml.document(made))
        switch = _start_switch(file, lab, out)
        stack.callback(_end, switch)
        _wait_for(switch, file, setup.file)
        hosts.configure(lab.namespaces, interfaces, _tcp(setup))
        agents = []
        for namespace in lab.namespaces:
            agents.append(hosts.Agent(namespace, lab.environment))
            stack.callback(agents[-1].end)
        for agent in agents:
            agent.wait_ready()
        return _measure(setup, agents, interfaces, lab.socket, switch, out)


def _switch_file(
    scenario: dict[str, Any], namespaces: list[str], interfaces: list[str]
) -> dict[str, Any]:
    """The live switch's file. A link's delay, both ways of both hosts' links, is put where a
    frame leaves the switch."""
    topology, host = scenario["topology"], scenario["host"]
    delay_ps = 2 * (_native.time_ps(topology["delay"]) + _native.time_ps(host["delay"]))
    # A full frame takes as long as the simulated packet.
    rate = f"{round(_native.rate_bps(topology['rate']) / measured.ip_part(scenario))}bps"
    ports = [
        {
            "name": interface,
            "netns": namespace,
            "address": f"{hosts.address(i)}/16",
            "host_rate": rate,
            "reaction": "reaction" in scenario,
        }
        | _faults(scenario.get("event", []), f"host{i}")
        for i, (namespace, interface) in enumerate(zip(namespaces, interfaces, strict=True))
    ]
    live = {
        "mtu": host["mtu"],
        "rate": rate,
        # As fast as the hosts' links, as in the simulation: with less, what a host alone sends
        # would fill the port.
        "fraction": 1.0,
        "delay": f"{delay_ps}ps",
        # Stations are known: nothing is flooded while addresses are learnt.
        "learn": False,
        "realtime": _may_be_punctual(),
        "routes": [f"{hosts.station(i)}={name}" for i, name in enumerate(interfaces)],
        "series_every": _at_least_1ms(scenario["measure"].get("series_every", SERIES)),
        "seed": scenario["run"]["seed"],
    }
    file = {"live": live, "port": ports, "switch": scenario["switch"], "scheme": scenario["scheme"]}
    # How notifications travel is the live switch's own matter.
    limiters = scenario.get("reaction", {}).items()
    limiters = {key: value for key, value in limiters if not key.startswith("notification")}
    return file | ({"reaction": limiters} if limiters else {})


def _faults(events: list[dict[str, Any]], port: str) -> dict[str, list[int]]:
    """Return the numbers of the packets that a host's line loses or marks."""
    mine = [event for event in events if event["port"] == port]
    found = {key: [n for event in mine for n in event.get(key, [])] for key in FAULTS}
    return {key: numbers for key, numbers in found.items() if numbers}


def _at_least_1ms(every: str) -> str:
    return every if _native.time_ps(every) >= 10**9 else SERIES


def _tcp(setup: Setup) -> hosts.Tcp:
    transport = setup.scenario["transport"]
    mss = size_bytes(transport["mss"])
    return hosts.Tcp(
        congestion_control=setup.congestion_control,
        ecn=bool(transport["ecn"]),
        mtu=size_bytes(setup.scenario["host"]["mtu"]),
        initial_window=int(transport["initial_window"]),
        receive_window=int(transport["receive_window"]),
        initial_receive_window=size_bytes(transport["initial_receive_window"]) // mss,
        mss=mss,
        timestamps=size_bytes(transport["header"]) >= HEADER_WITH_TIMESTAMPS,
        sack=transport["sack_blocks"] > 0,
        ack_each=transport["ack_every"] == 1,
        bursts=bool(setup.scenario["host"]["lso"]),
        rto_min_ms=round(seconds(transport["rto_min"]) * 1000),
        restart_after_idle=transport["restart"] != "keep",
    )


def _start_switch(file: Path, lab: netns.Lab, out: Path) -> "subprocess.Popen[str]":
    words = ["live", "run", str(file), "--socket", str(lab.socket), "--out", str(out)]
    # In a session of its own: Ctrl-C ends the lab, which ends the switch in order.
    return subprocess.Popen(
        [sys.executable, "-m", "switchbed", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=lab.environment,
    )


def _wait_for(switch: "subprocess.Popen[str]", made: Path, file: Path) -> None:
    """Until it forwards; what it complains of is the lab's mistake."""
    assert switch.stderr is not None
    line = system.line_of(switch, switch.stderr, "the lab's switch")
    # The first line says that it forwards; any other is a complaint.
    if " ports, " not in line:
        complaint = _of_user(line.strip().removeprefix("switchbed: "), str(made), file)
        raise Mistake(complaint or "the switch did not start")


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    if process.stderr:
        process.stderr.close()


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP clean up as Ctrl-C does; another one does not stop the cleaning."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(_number: int, _frame: object) -> None:
        # A second signal must not interrupt the removal.
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _measure(
    setup: Setup,
    agents: list[hosts.Agent],
    interfaces: list[str],
    socket: Path,
    switch: "subprocess.Popen[str]",
    out: Path,
) -> measured.Measured:
    """Sends the instructions, waits, and gathers the measurements."""
    # All hosts share the monotonic clock: one start for all.
    start = time.monotonic() + START_S
    end = start + setup.until_s
    for host, name, order in _orders(setup, start, end):
        agents[host].order(name, order)
    watch = {"every": WATCH_S, "until": end}
    for receiver in setup.flows["dst"].unique().sort():
        agents[receiver].order("watch", watch | {"interface": interfaces[receiver]})
    zero = _began(socket)
    _wait_until(start + seconds(setup.scenario["measure"]["warmup"]), switch)
    warm = control.stats(socket)
    warm_reports = [agent.report("counters") for agent in agents]
    if not setup.scenario["run"].get("until"):
        last: Any = setup.flows["start_s"].max()
        _wait_for_flows(agents, start + last, end, switch)
    else:
        _wait_until(end, switch)
    reports = [agent.report() for agent in agents]
    for error in sorted({error for report in reports for error in report["errors"]}):
        setup.notes.append(f"iperf3: {error}")
    control.ask(socket, "stop")
    system.end_of(switch, "the lab's switch")
    stats = json.loads((out / "stats.json").read_text())
    counters = measured.count(reports, stats, measured.count(warm_reports, warm))
    return measured.gather(setup, reports, stats, counters, out / "series.parquet", start, zero)


def _began(socket: Path) -> float:
    """When the switch did, from which it counts time. It answers within its slice, and then at
    once: the earliest that answers allow is the best."""
    # An answer can only be late: the least difference is the nearest.
    began: float = min(time.monotonic() - control.stats(socket)["time_s"] for _ in range(5))
    return began


def _wait_for_flows(
    agents: list[hosts.Agent], last: float, end: float, switch: "subprocess.Popen[str]"
) -> None:
    """Until all flows have ended, the last to begin too; but not for ever."""
    _wait_until(last, switch)
    while time.monotonic() < end and any(agent.report("counters")["left"] for agent in agents):
        _wait_until(min(time.monotonic() + POLL_S, end), switch)


def _orders(setup: Setup, start: float, end: float) -> Iterator[orders.Order]:
    traffic = setup.scenario["traffic"]
    # Agents take orders in the order of time.
    for row in setup.flows.sort("start_s").iter_rows(named=True):
        if setup.iperf3 and row["size_bytes"] is None:
            yield from orders.iperf3(row, setup.congestion_control, start, end)
        else:
            yield orders.flow(row, traffic, start, end)
    for probe in (source for source in traffic if source["kind"] == "probe"):
        yield from orders.pings(probe, setup.hosts, start, end)


def _wait_until(end: float, switch: "subprocess.Popen[str]") -> None:
    while (left := end - time.monotonic()) > 0:
        if switch.poll() is not None:
            raise OSError(0, "the switch has ended before the lab")
        time.sleep(min(left, 0.2))
