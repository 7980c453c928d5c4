"""A discipline as `tc -d qdisc show` prints it, as JSON (`-j`) or text. Options that nothing reads
are named.

`UNREAD` has keys of iproute2 (tc/q_*.c) that a scenario has no place for.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from switchbed import files, foreign, quantity
from switchbed._native import Mistake
from switchbed.sonic.finding import Findings
from switchbed.tc import times

MOST = 2**32 - 1
"""Of bytes and microseconds: tc has 32 bits."""
PLACE = ("kind", "handle", "parent", "root", "refcnt", "dev", "options")
"""Keys of a discipline that set nothing, and its options."""
STATISTICS = (
    *("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"),
    *("rate", "pps"),
    # Of the kinds' own statistics (tc/q_*.c, print_xstats).
    *("marked", "early", "pdrop", "other"),
    *("count", "lastcount", "ldelay", "dropping", "drop_next", "maxpacket", "ecn_mark", "ce_mark"),
    *("drop_overlimit", "drop_overmemory", "memory_used", "new_flow_count", "new_flows_len"),
    *("old_flows_len", "prob", "delay", "avg_dq_rate", "packets_in", "overlimit", "maxq"),
    *("dropped", "flows", "inactive", "throttled", "gc", "highprio", "fastpath", "latency"),
    *("flows_plimit", "pkts_too_long", "alloc_errors", "next_packet_delay", "unthrottle_latency"),
    *("memory_limit", "capacity_estimate", "min_network_size", "max_network_size"),
    *("min_adj_size", "max_adj_size", "avg_hdr_offset", "tins"),
    *("delay-c", "delay-l", "pkts-in-c", "pkts-in-l", "ecn-mark", "step-mark", "credit"),
    *("memory-used", "max-memory-used", "memory-limit"),
)
"""Keys that `tc -s` adds."""
ANY = object()


@dataclass(frozen=True)
class Unread:
    """An option that a scenario has no place for."""

    kind: str
    key: str
    means: str
    """Effect that it may have."""
    idle: tuple[Any, ...] = ()
    """Values that change nothing here; of `ANY` all."""


def _shaping(kind: str) -> tuple[Unread, ...]:
    return (
        Unread(kind, "mpu", "shorter packets take as long as this many bytes", (0,)),
        Unread(kind, "overhead", "each packet takes so many bytes more", (0,)),
        Unread(kind, "linklayer", "packets take whole cells", ("ethernet",)),
    )


FQ = "how fq paces, a sender's: host.nic and transport.pacing have it"
UNREAD = (
    Unread("tbf", "burst", "so much leaves at once, above the rate"),
    Unread("tbf", "peakrate", "bursts leave at this rate; here at the line's own"),
    Unread("tbf", "mtu", "so much leaves at once, above peakrate"),
    Unread("tbf", "minburst", "so much leaves at once, above peakrate"),
    Unread("tbf", "lat", "tbf's own queue, which the discipline under it replaces", (ANY,)),
    Unread("tbf", "limit", "tbf's own queue, which the discipline under it replaces", (ANY,)),
    *_shaping("tbf"),
    Unread("htb", "r2q", "quanta of classes, of which one is read", (ANY,)),
    Unread("htb", "ver", "a version", (ANY,)),
    Unread("htb", "direct_packets_stat", "a counter", (ANY,)),
    Unread("htb", "default", "the class of packets that no filter knows"),
    Unread("htb", "direct_qlen", "packets that no class has wait in a queue of so many"),
    Unread("htb", "offload", "the card shapes, by its own rules", (False,)),
    Unread("prio", "multiqueue", "bands are the card's queues", (False, "off")),
    Unread("red", "Scell_log", "how the average falls while the queue is empty"),
    Unread(
        "red", "Plog", "the probability in the form of old kernels; probability is read", (ANY,)
    ),
    Unread("red", "early_drop", "what a filter does to packets that are dropped early"),
    Unread("red", "mark", "what a filter does to packets that are marked"),
    Unread("fq", "initial_quantum", "a new flow sends so much in its first turn; here a quantum"),
    Unread("fq", "maxrate", "a flow sends no faster; here as fast as the line"),
    Unread("fq", "defrate", "a flow is paced so before it says a rate"),
    Unread("fq", "low_rate_threshold", FQ),
    Unread("fq", "refill_delay", "a flow that was silent so long has a new credit"),
    Unread("fq", "orphan_mask", "how flows without a socket are told apart; here by their hash"),
    Unread("fq", "timer_slack", FQ),
    Unread("fq", "horizon", FQ),
    Unread("fq", "horizon_drop", FQ),
    Unread("fq", "horizon_cap", FQ),
    Unread("fq", "offload_horizon", FQ),
    Unread("fq", "bands", "flows of three priorities; here one", (1,)),
    Unread("fq", "priomap", "flows of three priorities; here one"),
    Unread("fq", "weights", "flows of three priorities; here one"),
    Unread("fq_codel", "ce_threshold_mask", "ce_threshold marks certain DSCPs alone; here all"),
    Unread("fq_codel", "ce_threshold_selector", "ce_threshold marks certain DSCPs alone; here all"),
    Unread(
        "dualpi2", "split-gso", "long segments of a sender wait as one; here as packets", (None,)
    ),
    Unread("cake", "nat", "how flows are told apart; with flowblind they are not", (ANY,)),
    Unread("cake", "fwmark", "the tin by a filter's mark; with besteffort there is one", (ANY,)),
    Unread("cake", "wash", "DSCPs are cleared behind it; here they stay", (False,)),
    Unread("cake", "ingress", "what is dropped counts as sent by its shaper", (False,)),
    Unread("cake", "split_gso", "long segments of a sender wait as one; here as packets", (True,)),
    Unread("cake", "raw", "no overhead", (ANY,)),
    Unread("cake", "atm", "its shaper counts whole cells", ("noatm",)),
    Unread("cake", "overhead", "its shaper counts so many bytes more a packet", (0,)),
    Unread("cake", "mpu", "its shaper counts shorter packets as this long", (0,)),
)
KNOWN = {(each.kind, each.key): each for each in UNREAD}


@dataclass(frozen=True)
class Rounded:
    """A value that tc's text has rounded."""

    text: str
    ends: tuple[int, int]
    """The least and the greatest that the device may have, in the unit that JSON has it in."""

    def __str__(self) -> str:
        low, high = self.ends
        if self.text.endswith("bit"):
            between = f"{quantity.gbps(8 * low)} to {quantity.gbps(8 * high)}"
        else:
            between = f"{low} to {high} {'us' if self.text.endswith('s') else 'bytes'}"
        return f"{self.text} as tc's text rounds it: {between}; tc -j shows it whole"


class Line(dict[str, Any]):
    """A discipline of a line of text, as JSON has it."""

    rounded: Mapping[str, Rounded] = MappingProxyType({})
    """Options that are rounded."""


ROUNDED = {
    **dict.fromkeys(("rate", "bandwidth"), "topology.rate"),
    **dict.fromkeys(("limit", "memory_limit", "memory-limit", "memlimit", "lat"), "switch.buffer"),
    **dict.fromkeys(("min", "max"), "scheme.params"),
    **{name: f"scheme.params.{name}" for name in ("target", "interval", "ce_threshold")},
    **{"tupdate": "scheme.params.t_update", "rtt": "scheme.params.interval"},
    "step-thresh-us": "scheme.params.step",
}
"""Keys of a scenario that follow from options that text rounds."""


@dataclass
class Shown:
    """One discipline of a file."""

    where: str
    """The file."""
    one: Mapping[str, Any]
    options: Mapping[str, Any] = field(init=False)
    kind: str = field(init=False)
    rounded: Mapping[str, Rounded] = field(init=False)
    read: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kind = str(self.one.get("kind", ""))
        options = self.one.get("options", {})
        if not isinstance(options, Mapping):
            raise Mistake(f"{self.at}: options: an object is needed")
        self.options = options
        self.rounded = self.one.rounded if isinstance(self.one, Line) else {}

    @property
    def at(self) -> str:
        """Where the discipline stands."""
        return f"{self.where}: {named(self.one)}".rstrip()

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def get(self, name: str) -> Any:
        """An option as it is, or `None`."""
        self.read.add(name)
        return self.options.get(name)

    def number(self, name: str, least: int = 0, most: int = MOST, usual: int | None = None) -> int:
        """A whole number; `usual`: where none is shown."""
        value = self.get(name)
        return self.whole(name, usual if name not in self.options else value, (least, most))

    def whole(self, name: str, value: Any, ends: tuple[int, int]) -> int:
        """Check a whole number."""
        if not isinstance(value, int) or isinstance(value, bool):
            found = "" if value is None else f" {foreign.shown(value)} is none"
            raise Mistake(
                f"{self.where}: {foreign.name(self.kind)}: {name}: a whole number is "
                f"needed{';' if found else ''}{found}"
            )
        if not ends[0] <= value <= ends[1]:
            raise Mistake(
                f"{self.at}: {name}: is {foreign.shown(value)}: it must be from {ends[0]} to "
                f"{ends[1]}"
            )
        return value

    def time(self, said: Findings, key: str, name: str, clock: times.Clock, least: int = 0) -> str:
        """A time in us as a scenario has it; what the device may have is said."""
        us = self.number(name, least)
        if name not in self.rounded:
            return times.read(said, key, us, clock)
        # Rounded text is what the device was given, rather than what is left of it there.
        return times.kept(us, clock)

    def numbers(self, name: str, least: int, most: int) -> list[int]:
        """A list of whole numbers."""
        values = self.get(name) if name in self.options else []
        if not isinstance(values, list):
            raise Mistake(f"{self.at}: {name}: a list of whole numbers is needed")
        return [self.whole(name, value, (least, most)) for value in values]

    def flag(self, name: str) -> bool:
        """A flag, which tc prints as true, or as null, where it is set."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return name in self.options and value is not False
        raise Mistake(f"{self.at}: {name}: is {foreign.shown(value)}: true or false is needed")

    def rest(self, said: Findings) -> None:
        """Name the options that were not read, and what they may change."""
        kind = foreign.name(self.kind)
        for name in filter(self.read.__contains__, self.rounded):
            said.approximated(ROUNDED.get(name, f"{kind}.{name}"), f"{self.rounded[name]}")
        for name, value in self.options.items():
            known = KNOWN.get((self.kind, name))
            if name in self.read or (known is not None and _idle(known, value)):
                continue
            means = "is no option that is known here" if known is None else known.means
            said.left_out(f"{kind}.{foreign.name(name)}", f"{foreign.shown(value)}: {means}")
        more = [name for name in self.one if name not in (*PLACE, *STATISTICS)]
        if more:
            said.left_out(kind, f"{foreign.some(more)}: beside its options: nothing reads them")


def named(one: Mapping[str, Any]) -> str:
    """A discipline in a message: `ets 1`, since more colons follow."""
    kind, handle = (foreign.name(str(one.get(key, ""))) for key in ("kind", "handle"))
    return f"{kind} {handle.removesuffix(':')}".strip()


def read(path: Path) -> Sequence[Mapping[str, Any]]:
    """All disciplines of a file of either form."""
    text = files.read_text(path)
    if text.lstrip().startswith(("[", "{")):
        given = foreign.read(path)
        if isinstance(given, list) and all(isinstance(each, dict) for each in given):
            return given
    else:
        found = [
            _of_line(f"{path}:{number}", line)
            for number, line in enumerate(text.splitlines(), 1)
            # Indented lines are statistics (-s).
            if line.startswith("qdisc ")
        ]
        if found:
            return found
    raise Mistake(
        f"{path}: is not what tc -j -d qdisc show prints, a list of objects, or without -j its "
        "lines, as: qdisc fq_codel 0: root refcnt 2 limit 10240p …"
    )


LISTS = ("quanta", "priomap", "weights", "map")
"""Options with several values."""
SIZES = {"b": 1, "Kb": 1024, "Mb": 1024**2, "Gb": 1024**3}
"""Units of tc's sizes (lib/utils.c, print_size)."""
UNITS = SIZES | {
    **{"": 1, "p": 1, "us": 1, "ms": 1000, "s": 10**6},
    # A rate in bytes a second, as JSON has it.
    **{f"{prefix}bit": 1000**power / 8 for power, prefix in enumerate(("", "K", "M", "G", "T"))},
}
CAKE_WORDS: Mapping[str, tuple[str, Any]] = {
    **{
        word: ("diffserv", word)
        for word in ("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8")
    },
    **{
        word: ("flowmode", word)
        for word in (
            *("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost"),
            *("dual-dsthost", "triple-isolate"),
        )
    },
    **{word: (word, True) for word in ("nat", "wash", "ingress", "raw")},
    **{f"no{word}": (word, False) for word in ("nat", "wash")},
    **{word: ("atm", word) for word in ("atm", "ptm", "noatm")},
    "split-gso": ("split_gso", True),
    "no-split-gso": ("split_gso", False),
    "ack-filter": ("ack-filter", "enabled"),
    "ack-filter-aggressive": ("ack-filter", "aggressive"),
    "no-ack-filter": ("ack-filter", "disabled"),
    "autorate-ingress": ("autorate", True),
}
"""Words of cake's text, with the JSON's key and value (tc/q_cake.c)."""
DUALPI2_WORDS: Mapping[str, tuple[str, Any]] = {
    "drop_on_overload": ("drop-overload", "drop"),
    "overflow": ("drop-overload", "overflow"),
    "drop_enqueue": ("drop-early", "drop-enqueue"),
    "drop_dequeue": ("drop-early", "drop-dequeue"),
    "l4s_ect": ("ecn-mask", "l4s-ect"),
    "any_ect": ("ecn-mask", "any-ect"),
    "split_gso": ("split-gso", None),
}
"""Words of dualpi2's text, with the JSON's key and value (tc/q_dualpi2.c)."""
DUALPI2_KEYS = {
    **{"memlimit": "memory-limit", "min_qlen_step": "min-qlen-step"},
    **{"coupling_factor": "coupling", "classic_protection": "c-protection"},
}
"""Names of its text that the JSON has otherwise."""


def _of_line(where: str, line: str) -> dict[str, Any]:
    """`qdisc red 10: dev eth0 parent 1:10 limit 100000b …` as JSON has it."""
    # iproute2 5.7 printed no blank before the flags of red: `max 300Kbecn`.
    words = re.sub(r"([0-9][KMG]?b)(ecn|adaptive|harddrop|nodrop)\b", r"\1 \2", line).split()[1:]
    if len(words) < 2:
        raise Mistake(f"{where}: is cut off: qdisc KIND HANDLE root or parent … is needed")
    options: dict[str, Any] = {}
    found = Line({"kind": words[0], "handle": words[1], "options": options})
    rounded: dict[str, Rounded] = {}
    at = 2
    while at < len(words):
        name, at = words[at], at + 1
        if name in ("dev", "parent") and at < len(words):
            found[name], at = words[at], at + 1
            continue
        values = []
        while at < len(words) and re.match(r"[0-9]|unlimited$", words[at]):
            values.append(_value(f"{where}: {name}", words[at]))
            if (ends := _ends(words[at])) is not None:
                rounded[name] = Rounded(words[at], ends)
            at += 1
        if name in ("root", "offloaded", "refcnt"):
            found[name] = values[0] if values else True
        elif words[0] == "cake" and name in CAKE_WORDS:
            key, value = CAKE_WORDS[name]
            options[key] = value
        elif words[0] == "dualpi2":
            _dualpi2(options, rounded, name, values, words[at - 1])
        elif name in LISTS:
            options[name] = values
        else:
            options[name] = values[0] if values else True
    found.rounded = rounded
    return found


def _dualpi2(
    options: dict[str, Any], rounded: dict[str, Rounded], name: str, values: list[Any], word: str
) -> None:
    """An option of dualpi2 as JSON has it; `no_split_gso` is none there."""
    if name in DUALPI2_WORDS:
        key, value = DUALPI2_WORDS[name]
        options[key] = value
    elif name == "step_thresh":
        # Packets end in `p`; times do not.
        key = "step-thresh-pkts" if word.endswith("p") else "step-thresh-us"
        options[key] = values[0] if values else True
        if name in rounded:
            rounded[key] = rounded.pop(name)
    elif name != "no_split_gso":
        options[DUALPI2_KEYS.get(name, name)] = values[0] if values else True


NUMBER = r"([0-9]{1,15})(?:\.([0-9]{1,9}))?"


def _ends(text: str) -> tuple[int, int] | None:
    """The ends between which a number lies that tc has rounded; `None`: it is exact.

    Times have three digits from a millisecond on, or one after the point (lib/utils.c, print_time);
    sizes within 16 bytes of a KiB, and 1024 of a MiB, are shown as these (print_size); rates from
    1000 of a unit on lose what is less than one (tc_print_rate).
    """
    found = re.fullmatch(rf"{NUMBER}([A-Za-z]+)", text)
    if found is None or found[3] not in UNITS:
        return None
    whole, digits, unit = found[1], found[2] or "", found[3]
    number, scale = float(f"{whole}.{digits or 0}"), UNITS[unit]
    if unit in ("ms", "s"):
        # `5.0ms` is not what three digits are shown as.
        places = len(digits) if digits.endswith("0") else max(2 - len(str(int(whole))) + 1, 0)
        reach = scale * 0.5 / 10**places
        return math.ceil(scale * number - reach), math.floor(scale * number + reach)
    if unit in SIZES and unit != "b":
        size, reach = round(scale * number), SIZES[unit] // 1024 - 1 if unit != "Kb" else 15
        return size - reach, size + reach
    if unit.endswith("bit") and unit != "bit" and not digits:
        high = int(whole)
        for _ in range("KMGT".index(unit[0]) + 1):
            high = 1000 * high + (999 if high >= 1000 else 0)
        low = round(scale * number)
        return (low, high // 8) if high // 8 > low else None
    return None


def _value(where: str, text: str) -> Any:
    """A number with tc's unit, in packets, bytes, bytes a second or microseconds."""
    # dualpi2 has bytes as `15140000B` and parts as `10%`.
    text = re.sub("^([0-9]+)[B%]$", r"\1", text)
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z]*)", text)
    if found is None or found[2] not in UNITS:
        # Others are texts in JSON, too: `default 0x10`, `burst 1600b/1`, `unlimited`.
        if re.fullmatch(r"unlimited|0x[0-9a-f]+|[0-9.]+[KMG]?b/[0-9]+|[0-9]+@[0-9]+", text):
            return text
        raise Mistake(f"{where}: {foreign.shown(text)} is no number with a unit of tc's")
    number = float(found[1]) * UNITS[found[2]]
    # `probability 0.1` is the only number with a fraction in its unit.
    return number if not found[2] and "." in found[1] else round(number)


def _idle(known: Unread, value: Any) -> bool:
    return ANY in known.idle or any(
        type(value) is type(each) and value == each for each in known.idle
    )
