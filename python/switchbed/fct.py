"""Flow completion times in the files of others' simulators, so that their scripts read ours.

`hpcc` is that of HPCC's ns-3 and its forks, `ns3-datacenter` that of PowerTCP and ABM, `mq-ecn` the
file `flow.tr` of MQ-ECN's ns-2.

Only flows that have finished are in them, in the order in which they did. docs/results.md says what
each column is.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from switchbed import files, foreign, links, options
from switchbed._native import Mistake
from switchbed.quantity import size as size_bytes

if TYPE_CHECKING:
    from switchbed.result import Result

Form = Literal["hpcc", "ns3-datacenter", "mq-ecn"]
FORMS: tuple[Form, ...] = get_args(Form)

PATH = click.Path(path_type=Path)
HPCC_PORT = 100
"""The destination port by which HPCC's scripts know flows that are not incast's."""
NS3_HEADER = "time flowsize fct basefct slowdown basertt flowstart priority incast"


@dataclass(frozen=True)
class Flow:
    """A flow that has finished. What a form does not have is `None`."""

    size_bytes: int
    fct_s: float
    start_s: float | None = None
    standalone_s: float | None = None
    """FCT in an empty network."""
    src: int | None = None
    dst: int | None = None
    service: int | None = None
    timeouts: int | None = None


def flows_of(result: "Result") -> list[Flow]:
    """A run's finished flows that count, as the summary has it, in the order in which they
    finished."""
    table = result.flows
    rows = table.filter(table["fct_s"].is_not_null() & table["counted"]).with_row_index("place")
    finished = sorted(rows.to_dicts(), key=lambda row: (row["start_s"] + row["fct_s"], row["row"]))
    return [
        Flow(
            size_bytes=int(row["size_bytes"]),
            fct_s=row["fct_s"],
            start_s=row["start_s"],
            standalone_s=row["fct_s"] / row["slowdown"],
            src=row["src"],
            dst=row["dst"],
            service=row["class"],
            timeouts=row["timeouts"],
        )
        for row in finished
    ]


def text_of(flows: Sequence[Flow], form: Form, mss_bytes: int) -> str:
    """The file; `mss_bytes` turns sizes into packets."""
    if form == "hpcc":
        lines: Iterable[str] = (_hpcc(flow, number) for number, flow in enumerate(flows))
    elif form == "ns3-datacenter":
        base_rtt_us = 1e6 * min((flow.standalone_s or 0.0 for flow in flows), default=0.0)
        lines = [NS3_HEADER, *(_ns3_datacenter(flow, base_rtt_us) for flow in flows)]
    else:
        lines = (_mq_ecn(flow, mss_bytes) for flow in flows)
    return "".join(f"{line}\n" for line in lines)


def write(folder: Path, form: Form, to: Path | None) -> None:
    """Writes the file of a result directory; without `to` to standard output."""
    from switchbed.result import Result

    result = Result.load(folder)
    text = text_of(flows_of(result), form, _mss_bytes(result.scenario) if form == "mq-ecn" else 0)
    if to is None:
        sys.stdout.write(text)
        return
    with files.whole(to, "--to") as draft:
        draft.write_text(text)


def _mss_bytes(scenario: Mapping[str, Any]) -> int:
    """Payload of a full packet, where all flows have the same."""
    found = {size_bytes(of["mss"]) for of in links.transports(scenario)[0]}
    if len(found) > 1:
        several = " and ".join(map(str, sorted(found)))
        raise Mistake(
            f"--form mq-ecn counts packets, and flows have several mss here: {several} bytes; "
            " hpcc and ns3-datacenter count bytes"
        )
    return found.pop() if found else size_bytes(scenario["transport"]["mss"])


def _ns(seconds: float | None) -> int:
    return round((seconds or 0.0) * 1e9)


def _hpcc(flow: Flow, number: int) -> str:
    ends = f"{_hpcc_ip(flow.src or 0):08x} {_hpcc_ip(flow.dst or 0):08x}"
    ports = f"{10_000 + number % 50_000} {HPCC_PORT}"
    times = f"{_ns(flow.start_s)} {_ns(flow.fct_s)} {_ns(flow.standalone_s)}"
    return f"{ends} {ports} {flow.size_bytes} {times}"


def _hpcc_ip(host: int) -> int:
    """11.x.y.1: host 256·x + y."""
    return 0x0B000001 + (host << 8)


def _ns3_datacenter(flow: Flow, base_rtt_us: float) -> str:
    start_s, base_s = flow.start_s or 0.0, flow.standalone_s or 0.0
    times = f"{_ns(start_s + flow.fct_s)} {flow.size_bytes} {_ns(flow.fct_s)} {_ns(base_s)}"
    slowdown = flow.fct_s / base_s if base_s else math.nan
    start_us = 1e6 * start_s
    return f"{times} {slowdown:.9g} {base_rtt_us:.9g} {start_us:.9g} {flow.service or 0} 0"


def _mq_ecn(flow: Flow, mss_bytes: int) -> str:
    packets = -(-flow.size_bytes // mss_bytes)
    ends = f"{flow.src or 0} {flow.dst or 0} {flow.service or 0}"
    return f"{packets} {flow.fct_s:.9f} {flow.timeouts or 0} {ends}"


def read(path: Path, form: Form, mss_bytes: int = 1460) -> list[Flow]:
    """The flows of a file; `mss_bytes` turns packets into sizes."""
    lines = files.read_text(path).splitlines()
    wanted, parse = _READERS[form]
    flows = []
    for number, line in enumerate(lines, 1):
        fields = line.split()
        header = form == "ns3-datacenter" and fields[:1] == ["time"]
        if not fields or header:
            continue
        try:
            if len(fields) < len(wanted.split()):
                raise ValueError
            flows.append(parse(fields, mss_bytes))
        except ValueError:
            raise Mistake(f"{path}:{number}: is no line of {form}, which has {wanted}") from None
    return flows


def _read_hpcc(fields: list[str], _: int) -> Flow:
    src, dst = (_hexadecimal(field) >> 8 & 0xFFFF for field in fields[:2])
    size, start, fct, standalone = (foreign.integer(field) for field in fields[4:8])
    return Flow(size, fct / 1e9, start / 1e9, standalone / 1e9, src, dst)


def _hexadecimal(text: str) -> int:
    if not re.fullmatch(r"[0-9a-fA-F]{1,16}", text):
        raise ValueError
    return int(text, 16)


def _read_ns3_datacenter(fields: list[str], _: int) -> Flow:
    size, fct, base = (foreign.real(field) for field in fields[1:4])
    start_us, priority = foreign.real(fields[6]), foreign.integer(fields[7])
    return Flow(int(size), fct / 1e9, start_us / 1e6, base / 1e9, service=priority)


def _read_mq_ecn(fields: list[str], mss_bytes: int) -> Flow:
    # Tcl writes whole numbers as 3 or 3.0.
    packets, fct = foreign.real(fields[0]), foreign.real(fields[1])
    timeouts, src, dst, service = (int(foreign.real(field)) for field in fields[2:6])
    size = round(packets) * mss_bytes
    return Flow(size, fct, src=src, dst=dst, service=service, timeouts=timeouts)


_READERS: dict[Form, tuple[str, Callable[[list[str], int], Flow]]] = {
    "hpcc": ("sip dip sport dport size start_ns fct_ns standalone_fct_ns", _read_hpcc),
    "ns3-datacenter": (NS3_HEADER, _read_ns3_datacenter),
    "mq-ecn": ("packets fct timeouts src dst service", _read_mq_ecn),
}


@click.command()
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--form",
    type=click.Choice(FORMS),
    required=True,
    help="Whose: HPCC's, ns3-datacenter's, or MQ-ECN's flow.tr.",
)
@options.output("--to", type=PATH, metavar="FILE", help="Where to. Default: standard output.")
def fct(folder: Path, form: Form, to: Path | None) -> None:
    """Write the flow completion times of the result directory DIR in the form of others' files."""
    with files.believing([folder]):
        write(folder, form, to)
