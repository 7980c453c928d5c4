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
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchbed import _native, library, toml
from switchbed._native import Mistake, Plan
from switchbed.live import (
    agent,
    control,
    hosts,
    instructions,
    measured,
    netns,
    picture,
    stacks,
    system,
)
from switchbed.live.scale import scaled, seconds
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
WATCH_S = 0.01
"""How often receivers read what has reached them."""
POLL_S = 0.5
"""How often hosts are asked whether their flows have ended."""
MOST_HOSTS = 64
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
    notes: list[str]
    iperf3: bool

    @property
    def hosts(self) -> int:
        """Number of hosts in the lab."""
        return int(self.scenario["topology"]["hosts"])

    @cached_property
    def transports(self) -> stacks.Stacks:
        """Transports of its hosts."""
        return stacks.Stacks(self.file, self.scenario)

    @cached_property
    def ends(self) -> list[stacks.Ends]:
        """Entry, sender and receiver of its flows, each once."""
        return self.flows.select("traffic", "src", "dst").unique().sort("traffic", "src").rows()

    @cached_property
    def kernels(self) -> dict[str, str]:
        """The kernel's congestion controls, by the kind of transport that flows have."""
        kinds = [each.kind for each in self.transports.kinds(self.ends)]
        return {kind: stacks.control(kind) for kind in kinds}

    @property
    def controls(self) -> list[str]:
        """The kernel's congestion controls, each once."""
        return list(dict.fromkeys(self.kernels.values())) or [stacks.OTHERWISE]

    @property
    def congestion_control(self) -> str:
        """Names of these."""
        return ", ".join(self.controls)


def run(request: Request) -> list[dict[str, Any]]:
    """Runs every combination of the file, one after the other: simulated and live."""
    given = library.given(request.file)
    name = given.stem if request.name is None else request.name
    netns.check(name, "the lab's name" if request.name is None else "--name")
    plans = given.plans(request.sets, request.seed)
    if request.out is not None and request.out.exists():
        raise Mistake(
            f"--out {request.out}: exists, and --force replaces files alone; name another"
        )
    for plan in plans:
        _check(request, json.loads(plan.scenario))
    for program in ("ip", "setpriv", *(["iperf3"] if request.iperf3 else [])):
        system.need(program)
    if os.geteuid() != 0:
        raise Mistake("a lab makes network namespaces and interfaces: run it with sudo")
    # Before the simulations, which may take long.
    netns.check_free(name, max(_hosts(plan) for plan in plans))
    setups = [_setup(request, plan) for plan in plans]
    for setup in setups:
        stacks.check_allowed(setup.controls)
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
    if sources.schemes(scenario):
        raise Mistake(f"{file}: scheme.name is 'python': it runs in the simulator alone")
    # A list's times are absolute: slower links would meet them all the same.
    if request.scale != 1 and any(source["kind"] == "list" for source in scenario["traffic"]):
        raise Mistake(f"{file}: --scale {request.scale:g}: the times of a flow list do not scale")
    of = stacks.Stacks(file, scenario)
    of.check(of.planned())
    if "roce" in scenario:
        raise Mistake(f"{file}: roce: a lab's hosts have no queue pairs: leave it out")
    if "pfc" in scenario["switch"]:
        raise Mistake(
            f"{file}: switch.pfc: a lab's switch and hosts send no pause frames: leave it out"
        )
    instructions.check(file, scenario["traffic"])
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
    if any(source["kind"] == "long-lived" for source in scenario["traffic"]):
        until = scenario["run"].get("until")
        scenario["measure"]["flow_series"] = {"every": _goodput_every(until)}
    _as_the_kernel(scenario)
    # A resolved scenario names files from here.
    result = Scenario(scenario, name=str(file)).run()
    summary = result.summary()
    # Without an end the simulation's own length says how long to wait.
    until = result.scenario["run"].get("until")
    until_s = seconds(until) if until else LINGER * summary["simulated_s"] + 1.0
    notes: list[str] = []
    if not _may_be_punctual():
        notes.append("no real-time priority here: the switch wakes late on a busy machine")
    simulated = measured.Measured(
        flows=result.flows,
        series=result.series,
        pings=_probes(result.probes),
        goodput=measured.simulated_goodput(result),
        counters={name: summary[name] for name in ("marks", "drops", "timeouts")},
    )
    setup = Setup(file, result.scenario, result.flows, simulated, until_s, notes, request.iperf3)
    # A flow list's ends are known by now.
    setup.transports.check(setup.ends)
    notes += filter(None, map(stacks.missing, setup.transports.kinds(setup.ends)))
    return setup


def _as_the_kernel(scenario: dict[str, Any]) -> None:
    """Gives the simulation what the lab's hosts cannot have otherwise."""
    entries = scenario["host"] if isinstance(scenario["host"], list) else [scenario["host"]]
    transports = [
        each["transport"] for each in (*entries, *scenario["traffic"]) if "transport" in each
    ]
    # A lost SYN waits as long as with the kernel's timer.
    for transport in (scenario["transport"], *transports):
        transport["rto_initial"] = LINUX_RTO_INITIAL
    # A TAP interface joins no packets on their way up.
    for host in entries:
        host["merge_packets"] = 1


def _goodput_every(until: str | None) -> str:
    """Return the interval of goodput over time: some 100 to a run, none under what hosts count."""
    least_ps = round(agent.BIN_S * 1e12)
    steps = _native.time_ps(until) // (100 * least_ps) if until else 10
    return f"{max(steps, 1) * least_ps}ps"


def _probes(probes: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    if probes.is_empty():
        return pl.DataFrame(schema=measured.PINGS)
    return probes.select("time_s", "class", "rtt_s").drop_nulls()


def _may_be_punctual() -> bool:
    """Whether this machine lets the switch have real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


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
        tcp = [setup.transports.tcp(host, setup.ends) for host in range(setup.hosts)]
        hosts.configure(lab.namespaces, interfaces, tcp)
        agents = []
        for namespace in lab.namespaces:
            agents.append(hosts.Agent(namespace, lab.environment, setup.controls))
            stack.callback(agents[-1].end)
        for each in agents:
            each.wait_ready()
        return _measure(setup, agents, interfaces, lab.socket, switch, out)


def _switch_file(
    scenario: dict[str, Any], namespaces: list[str], interfaces: list[str]
) -> dict[str, Any]:
    """The live switch's file. A link's delay, both ways of both hosts' links, is put where a
    frame leaves the switch."""
    topology, of = scenario["topology"], stacks.Stacks(Path(), scenario)
    # A full frame takes as long as the simulated packet.
    rate = f"{round(_native.rate_bps(topology['rate']) / measured.ip_part(scenario))}bps"
    ports = [
        {
            "name": interface,
            "netns": namespace,
            "address": f"{hosts.address(i)}/16",
            "host_rate": rate,
            "delay": _delay(topology, of.host(i)),
            "reaction": "reaction" in scenario,
            # Receivers acknowledge joined packets less often than the simulated ones.
            "offload": False,
        }
        | _faults(scenario.get("event", []), f"host{i}")
        for i, (namespace, interface) in enumerate(zip(namespaces, interfaces, strict=True))
    ]
    live = {
        "mtu": of.host(0)["mtu"],
        "rate": rate,
        # As fast as the hosts' links, as in the simulation: with less, what a host alone sends
        # would fill the port.
        "fraction": 1.0,
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


def _delay(topology: dict[str, Any], host: Mapping[str, Any]) -> str:
    delay_ps = _native.time_ps(topology["delay"]) + _native.time_ps(host["delay"])
    return f"{2 * delay_ps}ps"


def _faults(events: list[dict[str, Any]], port: str) -> dict[str, list[int]]:
    """Return the numbers of the packets that a host's line loses or marks."""
    mine = [event for event in events if event["port"] == port]
    found = {key: [n for event in mine for n in event.get(key, [])] for key in FAULTS}
    return {key: numbers for key, numbers in found.items() if numbers}


def _at_least_1ms(every: str) -> str:
    return every if _native.time_ps(every) >= 10**9 else SERIES


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
    for host, name, order in _instructions(setup, start, end):
        agents[host].order(name, order)
    watch = {"every": WATCH_S, "until": end}
    for receiver in setup.flows["dst"].unique().sort():
        agents[receiver].order("watch", watch | {"interface": interfaces[receiver]})
    zero = _began(socket)
    _wait_until(start + seconds(setup.scenario["measure"]["warmup"]), switch)
    warm = control.stats(socket)
    warm_reports = [each.report("counters") for each in agents]
    if not setup.scenario["run"].get("until"):
        last: Any = setup.flows["start_s"].max()
        _wait_for_flows(agents, start + last, end, switch)
    else:
        _wait_until(end, switch)
    reports = [each.report() for each in agents]
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
    while time.monotonic() < end and any(each.report("counters")["left"] for each in agents):
        _wait_until(min(time.monotonic() + POLL_S, end), switch)


def _instructions(setup: Setup, start: float, end: float) -> Iterator[instructions.Order]:
    traffic = setup.scenario["traffic"]
    # A place in the table: the rows of two flow lists have the same numbers.
    flows = setup.flows.with_row_index("place")
    number = count()
    # Agents take instructions in the order of time.
    for row in flows.sort("start_s").iter_rows(named=True):
        if setup.iperf3 and row["size_bytes"] is None:
            control = _controls(setup, row)[0]
            yield from instructions.iperf3(row, next(number), control, start, end)
        else:
            yield instructions.flow(row, traffic, _controls(setup, row), start, end)
    for probe in (source for source in traffic if source["kind"] == "probe"):
        yield from instructions.pings(probe, setup.hosts, start, end)


def _controls(setup: Setup, row: dict[str, Any]) -> tuple[str, str]:
    """Return the kernel's congestion controls of a flow's sender and receiver."""
    sends, takes = (
        setup.kernels[setup.transports.of(row["traffic"], row[host]).kind]
        for host in ("src", "dst")
    )
    return sends, takes


def _wait_until(end: float, switch: "subprocess.Popen[str]") -> None:
    while (left := end - time.monotonic()) > 0:
        if switch.poll() is not None:
            raise OSError(0, "the switch has ended before the lab")
        time.sleep(min(left, 0.2))
