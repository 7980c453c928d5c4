"""`switchbed theory`: the theory's functions on the command line, as tables, JSON or CSV."""

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from switchbed import _native, foreign, options
from switchbed._native import Mistake
from switchbed.terminal import say
from switchbed.theory import cedm, cqrd, eecn, mqecn, standard

Rows = list[dict[str, Any]]


class Quantity(click.ParamType[float]):
    """A number with its unit, as scenario files write it."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The value in SI units."""
        if not isinstance(value, str):
            return float(value)
        try:
            return self._read(value)
        except (Mistake, ValueError, ZeroDivisionError, OverflowError) as error:
            self.fail(f"is {json.dumps(value)}: {error}", param, ctx)


RATE = Quantity("RATE", _native.rate_bps)
TIME = Quantity("TIME", lambda text: _native.time_ps(text) / 1e12)
SIZE = Quantity("SIZE", _native.size_bytes)


def _packet(text: str) -> float:
    if not (size := _native.size_bytes(text)):
        raise ValueError("a packet has at least 1 byte")
    return size


PACKET = Quantity("SIZE", _packet)
FRACTION = Quantity("FRACTION", foreign.fraction)
NUMBER = Quantity("FLOAT", foreign.real)


def _listed(read: Callable[[str], float], text: str) -> list[float]:
    return [read(word) for word in text.split(",") if word.strip()]


class Many(click.ParamType[list[float]]):
    """Such quantities, with commas between them."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        self.name = name
        self._read = partial(_listed, read)

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        if not isinstance(value, str):
            return [float(item) for item in value]
        try:
            return self._read(value)
        except (Mistake, ValueError) as error:
            self.fail(f"is {json.dumps(value)}: {error}", param, ctx)


rate = click.option("--rate", type=RATE, required=True, help="C, such as 10Gbps.")
rtt = click.option(
    "--rtt", type=TIME, required=True, help="Round trip without queueing, such as 100us."
)
packet = click.option(
    "--packet", type=PACKET, default=1500, show_default="1500B", help="A packet's size."
)


def printing(command: Callable[..., Rows]) -> Callable[..., None]:
    """A command that prints the rows it returns in the format asked for."""

    @options.JSON
    @options.CSV
    def printed(json_to: str | None, csv_to: str | None, **values: Any) -> None:
        show(command(**values), json_to, csv_to)

    printed.__doc__ = command.__doc__
    printed.__click_params__ += getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return printed


def show(rows: Rows, json_to: str | None, csv_to: str | None) -> None:
    """Rows with the same keys; a value that does not exist is null, or empty in CSV."""
    rows = [{key: _tidy(value) for key, value in row.items()} for row in rows]
    if json_to is not None:
        options.write_json(rows, json_to)
    if csv_to is not None:
        table = io.StringIO()
        writer = csv.DictWriter(table, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        options.write(table.getvalue(), csv_to)
    if json_to is None and csv_to is None:
        from switchbed import printing

        printing.print_rows(rows)


def _tidy(value: Any) -> Any:
    """Without the last digits, which are rounding errors of units."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


@click.group()
def theory() -> None:
    """Thresholds and bounds from the papers' analysis."""


@theory.command("standard")
@printing
@rate
@rtt
@packet
@click.option("--lambda", "lam", type=FRACTION, help="One's own λ beside the transports'.")
def standard_(rate: float, rtt: float, packet: float, lam: float | None) -> Rows:
    """The standard threshold C·RTT·λ of a queue."""
    lambdas = standard.LAMBDAS | ({} if lam is None else {"given": lam})
    found = {name: standard.threshold(rate, rtt, value) for name, value in lambdas.items()}
    return [
        {
            "transport": name,
            "lambda": lambdas[name],
            "threshold_packets": size / packet,
            "threshold_bytes": size,
            "delay_us": size * 8 / rate * 1e6,
            "source": "Bai et al. 2016, eq. 1",
        }
        for name, size in found.items()
    ]


@theory.command("mq-ecn")
@printing
@rate
@rtt
@packet
@click.option("--lambda", "lam", type=FRACTION, default=1.0, show_default=True, help="λ.")
@click.option(
    "--quanta",
    type=Many("SIZES", _native.size_bytes),
    required=True,
    help="Each queue's quantum, such as 1500B,1500B,3000B.",
)
@click.option(
    "--backlogged",
    type=Many("QUEUES", foreign.integer),
    default="",
    help="Queues with packets all the time, from 0, such as 0,2.",
)
def mq_ecn(
    rate: float,
    rtt: float,
    packet: float,
    lam: float,
    quanta: list[float],
    backlogged: list[float],
) -> Rows:
    """MQ-ECN's thresholds while given queues are backlogged, beside the fixed ones."""
    busy = {int(queue) for queue in backlogged}
    whole = standard.threshold(rate, rtt, lam)
    own = mqecn.thresholds(rate, whole, quanta, sorted(busy))
    shares = mqecn.minimum(whole, quanta)
    return [
        {
            "queue": i,
            "quantum_bytes": quantum,
            "backlogged": i in busy,
            "mq_ecn_packets": threshold / packet,
            "mq_ecn_bytes": threshold,
            "standard_bytes": whole,
            "minimum_bytes": share,
            "source": "Bai et al. 2016, eq. 5; eq. 1; eq. 2",
        }
        for i, (quantum, threshold, share) in enumerate(zip(quanta, own, shares, strict=True))
    ]


@theory.command("cedm")
@printing
@rate
@rtt
@packet
@click.option("--flows", type=options.Whole(2), default=2, show_default=True, help="N, at least 2.")
@click.option("--beta", type=FRACTION, default="1/3", show_default=True, help="β of LSO.")
@click.option("--lso", type=SIZE, default="64KB", show_default=True, help="L, the largest segment.")
@click.option("--k", type=SIZE, help="K for the amplitudes, in bytes. Default: the standard's.")
def cedm_(
    rate: float, rtt: float, packet: float, flows: int, beta: float, lso: float, k: float | None
) -> Rows:
    """Queue swings and thresholds where senders batch, and CEDM's own settings."""
    cd = standard.bdp(rate, rtt) / packet
    rows: Rows = []

    def add(what: str, form: str, low: float, high: float | None, at: float, source: str) -> None:
        fits = cedm.batches_fit(flows, beta, cd, at, lso / packet)
        rows.append(
            {
                "quantity": what,
                "form": form,
                "low_packets": low,
                "high_packets": high,
                "k_packets": at,
                "bursts_fit": "all" if fits else "some",
                "source": f"Shan and Ren 2017, {source}",
            }
        )

    own = None if k is None else k / packet
    at = cd if own is None else own
    swing = cedm.amplitude_ecnstar(flows, beta, cd, at)
    add("ECN* amplitude", "as printed", swing.low, swing.high, at, "eq. 9")
    least = cedm.threshold_ecnstar(flows, beta, cd)
    add("ECN* lowest K", "as printed", least, None, least, "eq. 12")
    at = standard.LAMBDAS["dctcp"] * cd if own is None else own
    for form in cedm.FORMS:
        swing = cedm.amplitude_dctcp(flows, beta, cd, at, form)
        add("DCTCP amplitude", form, swing.low, swing.high, at, "eq. 17")
    for form in cedm.FORMS:
        least = cedm.threshold_dctcp(flows, beta, cd, form)
        add("DCTCP lowest K", form, least, None, least, "eq. 23")
    add("CEDM's K2", "as printed", cedm.k2(at, flows, beta, cd), None, at, "section IV-C")
    return rows


@theory.command("e-ecn")
@printing
@rate
@rtt
@packet
@click.option("--k", type=SIZE, required=True, help="The threshold, in bytes.")
@click.option(
    "--flows",
    type=Many("NUMBERS", foreign.integer),
    default="1,2,4,8,16",
    show_default=True,
    help="Numbers of flows.",
)
def e_ecn(rate: float, rtt: float, packet: float, k: float, flows: list[float]) -> Rows:
    """E-ECN's longest advance time T_a that leaves the link full; empty: no limit follows."""
    bdp = standard.bdp(rate, rtt) / packet
    return [_advance(int(n), bdp, k / packet, rtt) for n in flows]


def _advance(n: int, bdp: float, k: float, rtt: float) -> dict[str, Any]:
    exact = eecn.t_a_max(n, bdp, k, "exact")
    return {
        "flows": n,
        "lambda": bdp / n,
        "t_a_max_rtts": exact,
        "t_a_max_us": None if exact is None else exact * rtt * 1e6,
        "t_a_max_rtts_paper": eecn.t_a_max(n, bdp, k, "paper"),
        "source": "Wang et al., eq. 7, 8, 11; paper: eq. 12, 13",
    }


@theory.command("cqrd-loss")
@printing
@click.option("--queue", type=NUMBER, required=True, help="Packets that a crosspoint queue holds.")
@click.option("--of-flow", type=NUMBER, required=True, help="The short flow's among them.")
def cqrd_loss(queue: float, of_flow: float) -> Rows:
    """When random drop loses fewer of a short flow's packets than a shared output queue."""
    return [
        {
            "queue_packets": queue,
            "of_flow_packets": of_flow,
            "loss_ratio_below": cqrd.loss_ratio_limit(queue, of_flow),
            "source": "Chen et al. 2015, eq. 6: crosspoint's loss rate over the output's",
        }
    ]


@theory.command("cqrd-memory")
@printing
@rate
@rtt
@click.option("--ports", type=options.Whole(1), required=True, help="Inputs, and outputs.")
@click.option(
    "--inputs",
    type=options.Whole(1),
    default=1,
    show_default=True,
    help="Inputs that long flows to one output come from; 1 is the worst case.",
)
@click.option(
    "--chip", type=SIZE, help="Memory there is. Default: what the paper's chip has room for."
)
def cqrd_memory(rate: float, rtt: float, ports: int, inputs: int, chip: float | None) -> Rows:
    """Memory of a switch with a queue for each input-output pair, and whether a chip has it."""
    each = cqrd.crosspoint_bytes(standard.bdp(rate, rtt), inputs)
    room = cqrd.chip_bytes() if chip is None else chip
    total = cqrd.memory_bytes(ports, each)
    return [
        {
            "ports": ports,
            "crosspoint_bytes": each,
            "memory_bytes": total,
            "chip_bytes": room,
            "fits": total <= room,
            "ports_max": cqrd.ports_max(room, each),
            "source": "Chen et al. 2015, sections 4.3.2, 5.2",
        }
    ]


@theory.command()
@click.argument("kind", type=click.Choice(["e-ecn", "cedm"]))
@click.option("--rate", type=RATE, default="10Gbps", show_default=True, help="C.")
@click.option("--rtt", type=TIME, default="100us", show_default=True, help="RTT without queueing.")
@packet
@options.output(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to draw into: .pdf, .png or .svg.",
)
def plot(kind: str, rate: float, rtt: float, packet: float, out: Path) -> None:
    """Draw E-ECN's figure 4, or CEDM's thresholds against N and β."""
    from switchbed.plots import output
    from switchbed.theory import plot as drawing

    output.check(out)
    bdp = standard.bdp(rate, rtt) / packet
    output.save(drawing.KINDS[kind](bdp), out)
    say(f"written to {out}")
