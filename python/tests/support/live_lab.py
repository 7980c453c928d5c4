"""What the live tests share: labs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LAB = """
[topology]
kind = "star"
hosts = {hosts}
rate = "100Mbps"
delay = "250us"
[switch]
{queues}
{memory}
[scheme]
{scheme}
[host]
profile = "switchbed-0.1"
[transport]
{transport}
{traffic}
{measure}
"""
FOR_A_WHILE = '[measure]\nwarmup = "150ms"\n[run]\nuntil = "500ms"'
FOR_LONGER = '[measure]\nwarmup = "300ms"\n[run]\nuntil = "1s"'
STEP = 'name = "per-queue"\nparams = { threshold = "20pkt" }'
PER_PORT = 'name = "per-port"\nparams = { threshold = "20pkt" }'
MQ_ECN = 'name = "mq-ecn"\nparams = { threshold = "20pkt" }'
NOTHING = 'name = "none"'
ECN = 'kind = "ecn-star"'
DCTCP = 'kind = "dctcp"'
NO_ECN = 'kind = "reno"\necn = false'


def bulk(senders: str, to: int, service: int, each: int = 1) -> str:
    """Flows that send as long as the lab runs."""
    return (
        f'[[traffic]]\nkind = "long-lived"\nfrom = "{senders}"\nto = {to}\n'
        f"classes = [{service}]\nflows_each = {each}\n"
    )


def queues_of(quanta: tuple[int, ...]) -> str:
    """Queues with these quanta in bytes."""
    sizes = ", ".join(f'"{quantum}B"' for quantum in quanta)
    return f"queues = {len(quanta)}\nquantum = [{sizes}]"


def lab(
    folder: Path,
    scheme: str,
    traffic: str,
    *,
    hosts: int = 3,
    quanta: tuple[int, ...] | None = (1500,),
    transport: str = ECN,
    memory: str = 'buffer = "200pkt"',
    measure: str = FOR_A_WHILE,
    scale: float = 0.5,
) -> dict[str, Any]:
    """What a lab measured live."""
    live: dict[str, Any] = both(
        folder,
        scheme,
        traffic,
        hosts=hosts,
        quanta=quanta,
        transport=transport,
        memory=memory,
        measure=measure,
        scale=scale,
    )["live"]
    return live


def both(
    folder: Path,
    scheme: str,
    traffic: str,
    *,
    hosts: int = 3,
    quanta: tuple[int, ...] | None = (1500,),
    transport: str = ECN,
    memory: str = 'buffer = "200pkt"',
    measure: str = FOR_A_WHILE,
    iperf3: bool = False,
    scale: float = 0.5,
) -> dict[str, Any]:
    """What a lab found, simulated and live. Within a test each is another run; what one test has
    run, others look at too."""
    queues = "" if quanta is None else queues_of(quanta)
    text = LAB.format(
        hosts=hosts,
        queues=queues,
        scheme=scheme,
        transport=transport,
        memory=memory,
        traffic=traffic,
        measure=measure,
    )
    runs = _RUNS.setdefault((text, scale, iperf3), [])
    looks = _LOOKS.setdefault((text, scale, iperf3), {})
    nth = looks.get(folder, 0)
    looks[folder] = nth + 1
    if nth == len(runs):
        runs.append(_run(folder, text, scale, iperf3))
    return runs[nth]


def _run(folder: Path, text: str, scale: float, iperf3: bool) -> dict[str, Any]:
    from switchbed.live.lab import Request, run

    # Of this process: others may test at the same time.
    file = folder / f"test{os.getpid()}.toml"
    file.write_text(text)
    (found,) = run(Request(file, scale=scale, iperf3=iperf3))
    return found


Lab = tuple[str, float, bool]
"""Its scenario, its scale, and whether iperf3 sends."""
_RUNS: dict[Lab, list[dict[str, Any]]] = {}
_LOOKS: dict[Lab, dict[Path, int]] = {}
"""How many of a lab's runs a test has looked at, by the test's folder."""

SPEEDS = ((0.5, 3, 3), (0.25, 6, 7), (0.125, 7, 9))
"""Scales of the network, and of how many runs at most there it must happen in how many. The first
leaves two cores time for three labs: each takes a tenth of a core at 50 Mbps."""


def shows(happens: Callable[[float], tuple[bool, object]]) -> None:
    """It happens in three runs of three at half speed, or else in most of more runs in a slower
    network, where a machine that is slow or busy is less in the way. What was seen is said if it
    never does.

    If runs do not depend on each other, what happens in 30 % of them passes in 3.5 % of tests, what
    happens in half, in 25 %. What happens in 90 % fails in one test of 465; in 95 %, in one of
    18,900; where nothing shows at half speed, in one of 126 and 2,700.
    `test_live_waits.py` computes it.
    """
    seen = []
    for scale, enough, most in SPEEDS:
        runs: list[bool] = []
        while runs.count(True) < enough and runs.count(False) <= most - enough:
            try:
                fits, what = happens(scale)
            except (TypeError, ZeroDivisionError) as nothing:  # so slow that it measured none
                fits, what = False, nothing
            runs.append(fits)
            seen.append(what)
        if runs.count(True) == enough:
            return
    pytest.fail(f"at no speed often enough: {seen}")
