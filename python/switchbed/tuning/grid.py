"""The points of a race: a grid of parameters, with published settings and the user's own."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from switchbed import foreign, library, links, quantity
from switchbed._native import Mistake

STEPS = 13
"""Thresholds of a grid: C·RTT·λ, λ from 1/8 to 8 in steps of √2."""
RAMP_STEPS = 7
"""Beginnings of a ramp, in steps of 2."""
RATIOS = (2, 4)
CHANCES = (0.05, 0.2, 1.0)
ALPHAS = tuple(2.0**n for n in range(-4, 4))
MOST = 1_000
"""Settings of a race at most: each is planned and runs in every scene before any is out."""


@dataclass(frozen=True)
class Link:
    """Link whose C·RTT thresholds are in proportion to."""

    rate: int
    """Rate of a host's link in bits per second."""
    rtt: float
    """RTT of the empty network in seconds."""
    mtu: int

    @property
    def product(self) -> float:
        """Return C·RTT in bytes."""
        return self.rate * self.rtt / 8


@dataclass(frozen=True)
class Published:
    """A setting that somebody published."""

    name: str
    kmin: float
    """Threshold Kmin in bytes."""
    kmax: float
    chance: float

    @property
    def is_step(self) -> bool:
        """Return whether it has one threshold."""
        return self.kmin == self.kmax


def published(link: Link) -> list[Published]:
    """Return published settings for this rate. Those in proportion to the rate are so by their
    authors."""
    # As their authors scale them, in proportion to the line.
    scale = link.rate / 10e9
    # 65 packets at 10 Gbps and 20 at 1 Gbps are DCTCP's own (SIGCOMM 2010).
    packets = 65 if link.rate >= 10**10 else 20 if link.rate >= 10**9 else None
    found = [
        Published("HPCC's DCTCP (30 KB per 10 Gbps)", 30e3 * scale, 30e3 * scale, 1.0),
        Published(
            "HPCC's DCQCN (100/400 KB at 25 Gbps)", 100e3 * scale / 2.5, 400e3 * scale / 2.5, 0.2
        ),
        Published("DCQCN as often quoted (5/200 KB, 1 %)", 5e3, 200e3, 0.01),
        Published("SONiC's templates (1/2 MiB, 5 %)", 2.0**20, 2.0**21, 0.05),
    ]
    if packets is not None:
        k = float(packets * link.mtu)
        found.insert(0, Published(f"DCTCP ({packets} packets)", k, k, 1.0))
    return found


@dataclass(frozen=True)
class Point:
    settings: Mapping[str, Any] = field(compare=False)
    """By keys of a scenario, as a file has them."""
    place: tuple[float, ...]
    """Setting as numbers: bytes, seconds, or neither."""
    names: tuple[str, ...] = field(default=())
    """`yours`, or who published it."""

    @property
    def label(self) -> str:
        """Name for people: `30 KB`, `30 KB / 120 KB / 5 %`."""
        parts = [_word(key, each) for key, each in self.settings.items()]
        return " / ".join(part for part in parts if part)


def _word(key: str, value: Any) -> str:
    text = str(value)
    if text.endswith("B") and text[:-1].isdigit():
        return quantity.kb(int(text[:-1]))
    if text.endswith("ns") and text[:-2].isdigit():
        return quantity.us(int(text[:-2]) / 1e9)
    if key.endswith((".weight", ".spacing")):
        return ""
    if isinstance(value, float) and key.endswith("pmax"):
        return f"{100 * value:g} %"
    return f"{value:g}" if isinstance(value, float) else text


@dataclass(frozen=True)
class Grid:
    """Points in order, those of one number from small to large."""

    keys: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def own(self) -> int:
        """Return the index of the user's setting."""
        return next(i for i, point in enumerate(self.points) if "yours" in point.names)


Round = Callable[[int], int]
"""A threshold in bytes as the target holds it."""
Changed = Callable[[str, Any], Mapping[str, Any]]
"""The resolved scenario where a key has a value."""


def build(
    scenario: Mapping[str, Any],
    wanted: Sequence[str],
    link: Link,
    hold: Round,
    alphas: Sequence[float] = ALPHAS,
    shipped: float | None = None,
    changed: Changed | None = None,
) -> Grid:
    """The grid of `--param` options, or of the scheme's main parameter. `scenario` is resolved;
    `alphas` are what the target can hold, `shipped` its own where the scenario says none. `changed`
    makes keys of any section known."""
    scheme = scenario["scheme"]["name"]
    main = library.definition(scheme)["main"]
    if not wanted and _is_ramp(scheme):
        return _ramps(scenario, link, hold)
    if not wanted and not main:
        raise Mistake(
            f"scheme.name is {scheme}: it has no parameter that is tuned unless one is named: "
            "--param KEY, or --param KEY=VALUE,VALUE"
        )
    ramps = [text for text in wanted if text.partition("=")[0].strip() == "ramp"]
    if ramps:
        _, _, listed = ramps[0].partition("=")
        found = _ramps(scenario, link, hold, listed or None, alone=len(wanted) == 1)
        others = [text for text in wanted if text not in ramps[:1]]
        if not others:
            return found
        return _crossed(found, build(scenario, others, link, hold, alphas, shipped, changed))
    if shipped is not None and "alpha" not in scenario["switch"]:
        scenario = {**scenario, "switch": {**scenario["switch"], "alpha": shipped}}
    axes = [
        _other(scenario, text, link, changed) or _axis(scenario, text, link, hold, alphas)
        for text in wanted or (main,)
    ]
    keys = tuple(axis.key for axis in axes)
    if len(set(keys)) < len(keys):
        raise Mistake("--param: names a parameter twice")
    _check(math.prod(len(axis.values) for axis in axes))
    points = [
        Point(dict(zip(keys, (v.value for v in each), strict=True)), tuple(v.place for v in each))
        for each in itertools.product(*(axis.values for axis in axes))
        if _rises(keys, [v.place for v in each])
    ]
    own = Point(
        dict(zip(keys, (a.own.value for a in axes), strict=True)),
        tuple(a.own.place for a in axes),
        ("yours",),
    )
    extra = [own]
    if len(axes) == 1 and axes[0].is_size and keys[0].endswith(".threshold"):
        for each in published(link):
            if each.is_step:
                k = hold(round(each.kmin))
                extra.append(Point({keys[0]: quantity.bytes_of(k)}, (float(k),), (each.name,)))
    return Grid(keys, _merged([*extra, *points]))


def unbound(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario's RED with the same thresholds, but free to have others: without the curve that
    fixes them, and for the line of its hosts' links."""
    scheme = scenario["scheme"]
    params = {key: value for key, value in scheme["params"].items() if value is not None}
    if not _is_ramp(scheme["name"]) or not {"curve", "rate"} & set(params):
        return {}
    params.pop("curve", None)
    if "rate" in params:
        line = links.host_rate(scenario["topology"])
        scale = line / quantity.rate(params["rate"])
        for key in ("kmin", "kmax"):
            params[key] = quantity.bytes_of(scale * quantity.size(params[key]))
        params["rate"] = quantity.gbps(line)
    return {"scheme": {"name": scheme["name"], "params": params}}


def _is_ramp(scheme: str) -> bool:
    """Whether its rule is a ramp, as WRED's is."""
    return bool(library.definition(scheme)["wred"] == "ramp")


def _check(settings: int) -> None:
    """Refuses a grid of too many settings before each of them is made and checked."""
    if settings > MOST:
        raise Mistake(
            f"--param: its values make {settings:,} settings, and a race compares {MOST:,} at most;"
            " give fewer values"
        )


def _crossed(one: Grid, other: Grid) -> Grid:
    """Each setting of one with each of the other; yours are both of yours."""
    keys = (*one.keys, *other.keys)
    if len(set(keys)) < len(keys):
        raise Mistake("--param: names a parameter twice; ramp has kmin, kmax and pmax")
    _check(len(one.points) * len(other.points))
    pairs = itertools.product(one.points, other.points)
    points = [
        Point(
            {**a.settings, **b.settings},
            (*a.place, *b.place),
            ("yours",) if "yours" in a.names and "yours" in b.names else (),
        )
        for a, b in pairs
    ]
    return Grid(keys, _merged(points))


def _ramps(
    scenario: Mapping[str, Any],
    link: Link,
    hold: Round,
    listed: str | None = None,
    *,
    alone: bool = True,
) -> Grid:
    """WRED's: where it begins, where it ends, and how likely a mark is there; those listed, as
    `30KB:90KB:20%`, or around C·RTT. Published ones are added where nothing else varies."""
    if not _is_ramp(scenario["scheme"]["name"]):
        raise Mistake("--param ramp: is red's: add --set scheme=red")
    keys = tuple(f"scheme.params.{name}" for name in ("kmin", "kmax", "pmax"))
    params = scenario["scheme"]["params"]

    def point(low: float, high: float, chance: float, *names: str) -> Point:
        k, most = hold(round(low)), hold(round(high))
        values = (quantity.bytes_of(k), quantity.bytes_of(most), chance)
        return Point(dict(zip(keys, values, strict=True)), (float(k), float(most), chance), names)

    top = quantity.size(params["kmax"])
    bottom = quantity.size(params["kmin"]) if "kmin" in params else top // 2
    points = [point(bottom, top, float(params["pmax"]), "yours")]
    points += [point(p.kmin, p.kmax, p.chance, p.name) for p in published(link) if alone]
    texts = [text for text in (listed or "").split(",") if text]
    _check(len(texts))
    points += [point(*_ramp(text, link)) for text in texts]
    for low in () if listed is not None else _around(link.product, RAMP_STEPS, 2):
        if low < link.mtu:
            # A threshold below a packet marks whatever waits.
            continue
        points.append(point(low, low, 1.0))
        points += [point(low, low * r, c) for r in RATIOS for c in CHANCES]
    return Grid(keys, _merged(points))


def _ramp(text: str, link: Link) -> tuple[float, float, float]:
    parts = text.split(":")
    try:
        low, high = (quantity.size(part, link.mtu) for part in parts[:2])
        chance = foreign.real(parts[2].removesuffix("%")) / 100
        if len(parts) == 3 and low <= high and 0 <= chance <= 1:
            return low, high, chance
    except (Mistake, ValueError, IndexError):
        pass
    raise Mistake(f"--param ramp={text}: such as 30KB:90KB:20% is needed")


def _rises(keys: Sequence[str], place: Sequence[float]) -> bool:
    """A ramp ends no sooner than it begins."""
    at = {key.rpartition(".")[2]: value for key, value in zip(keys, place, strict=True)}
    return "kmin" not in at or "kmax" not in at or at["kmin"] <= at["kmax"]


def _merged(points: Sequence[Point]) -> tuple[Point, ...]:
    """Each place once, with all its names."""
    found: dict[tuple[float, ...], Point] = {}
    for point in points:
        known: Point | None = found.get(point.place)
        named = (*known.names, *point.names) if known else point.names
        # The first who names a place keeps its settings: the user's own comes first.
        found[point.place] = replace(known or point, names=named)
    return tuple(found[place] for place in sorted(found))


@dataclass(frozen=True)
class _Value:
    value: Any
    place: float


@dataclass(frozen=True)
class _Axis:
    key: str
    own: _Value
    values: list[_Value]
    is_size: bool


TRIM_SIZE = "switch.trimming.size"
"""Bytes that trimming leaves of a packet: no multiple of C·RTT, so its values are always listed."""


def _axis(
    scenario: Mapping[str, Any], text: str, link: Link, hold: Round, alphas: Sequence[float]
) -> _Axis:
    """Read an axis: `threshold`, `switch.alpha` or `threshold=20KB,40KB`."""
    name, _, listed = text.partition("=")
    key, takes = _key(scenario, name.strip())
    own = _own(scenario, key)
    make = _reader(takes, link, hold)
    if own is None:
        raise Mistake(f"--param {name}: the scenario has no {key}: give it one, to compare with")
    if listed:
        values = [make(part.strip(), name) for part in listed.split(",")]
    elif takes.startswith("a size") and key != TRIM_SIZE:
        sizes = (hold(round(k)) for k in _around(link.product, STEPS, math.sqrt(2)))
        values = [make(quantity.bytes_of(k), name) for k in sizes if k >= link.mtu]
    elif takes.startswith("a time"):
        values = [make(_ns(t), name) for t in _around(link.rtt, STEPS, math.sqrt(2))]
    elif key == "switch.alpha":
        values = [_Value(alpha, alpha) for alpha in alphas]
    else:
        raise Mistake(f"--param {name}: takes {takes}: say which, as --param {name}=VALUE,VALUE")
    # The user's own stays as it is, even where the target would round it.
    mine = _reader(takes, link, lambda k: k)(own, name)
    # A value that the target holds as yours is yours.
    held = make(own, name).place
    values = [mine if each.place == held else each for each in values]
    return _Axis(key, mine, values, takes.startswith("a size"))


def _other(
    scenario: Mapping[str, Any], text: str, link: Link, changed: Changed | None
) -> _Axis | None:
    """Read an axis of any key of the file, `switch.queue.1.scheme.params.kmin=30KB,60KB`; `None`:
    it is one of those that a scheme or a switch's memory has."""
    name, _, listed = text.partition("=")
    key = name.strip()
    if changed is None or "." not in key or key.startswith("scheme.params."):
        return None
    if key in ("switch.alpha", "switch.buffer", "switch.pool"):
        return None
    values = [part.strip() for part in listed.split(",") if part.strip()]
    if not values:
        raise Mistake(f"--param {name}: say which values, as --param {name}=VALUE,VALUE")
    raw = [_raw(value) for value in values]
    # The file's own value is the one that goes as another comes.
    pairs = [pair for value in raw for pair in _differ(scenario, changed(key, value))]
    # Queues' values are a list of the switch's, or one value where all are alike.
    last = key.rpartition(".")[2]
    told = ((path, old) for path, old in pairs if not isinstance(old, list))
    own = next((old for path, old in told if last in path[-2:]), None)
    if pairs and own is None:
        raise Mistake(f"--param {name}: the scenario has no {key}: give it one, to compare with")
    own = raw[0] if own is None else own
    if str(own).endswith("pkt"):
        # Windows are whole numbers of packets.
        own, values = str(own)[:-3], [value.removesuffix("pkt") for value in values]
    takes = "a whole number" if isinstance(_raw(str(own)), int) else _takes(own)
    if takes == "a whole number" and not all(isinstance(_raw(value), int) for value in values):
        takes = "a number"
    make = _reader(takes, link, lambda k: k)
    made = [make(value, name) for value in values]
    return _Axis(key, make(own, name), made, takes.startswith("a size"))


def _raw(text: str) -> Any:
    """A value as a file has it: a number, or a text."""
    for read in (int, foreign.real):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _differ(one: Any, other: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Places where two resolved scenarios differ, with the first one's values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = dict.fromkeys([*one, *other])
        return [at for k in keys for at in _differ(one.get(k), other.get(k), (*path, k))]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        each = enumerate(zip(one, other, strict=True))
        return [at for n, (a, b) in each for at in _differ(a, b, (*path, str(n)))]
    return [] if one == other else [(path, one)]


def _key(scenario: Mapping[str, Any], name: str) -> tuple[str, str]:
    """The key that is meant, and what it takes."""
    scheme = scenario["scheme"]["name"]
    params = {p["name"]: p["takes"] for p in library.definition(scheme)["parameters"]}
    for own, value in scenario["scheme"]["params"].items():
        params.setdefault(own, _takes(value))
    short = name.removeprefix("scheme.params.")
    if short in params:
        return f"scheme.params.{short}", str(params[short])
    if name in ("alpha", "switch.alpha"):
        return "switch.alpha", "a number"
    if name in ("trimming.size", TRIM_SIZE):
        return TRIM_SIZE, "a size"
    if name in ("buffer", "switch.buffer", "pool", "switch.pool"):
        return f"switch.{name.removeprefix('switch.')}", "a size"
    has = ", ".join([*params, "switch.alpha", "switch.buffer", "switch.pool", TRIM_SIZE])
    raise Mistake(f"--param {name}: {scheme} has no such parameter; there are {has}")


def _takes(value: object) -> str:
    """Values that a key takes, by one that it has."""
    kinds = (("a time", quantity.time), ("a size", quantity.size), ("a rate", quantity.rate))
    for words, read in kinds:
        try:
            read(value)
        except Mistake:
            continue
        return words
    return "a number"


def _own(scenario: Mapping[str, Any], key: str) -> Any:
    value: Any = scenario
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _reader(takes: str, link: Link, hold: Round) -> Callable[[Any, str], _Value]:
    def read(value: Any, name: str) -> _Value:
        try:
            if takes.startswith("a size"):
                count = hold(quantity.size(value, link.mtu))
                return _Value(quantity.bytes_of(count), float(count))
            if takes.startswith("a time"):
                return _Value(_ns(quantity.time(value)), quantity.time(value))
            if takes == "a rate":
                return _Value(str(value), float(quantity.rate(value)))
            if takes.startswith(("a number", "a whole number")):
                real = foreign.real(str(value))
                number = int(real) if takes.startswith("a whole") else real
                if number != real:
                    raise ValueError
                return _Value(number, float(number))
        except (Mistake, ValueError):
            raise Mistake(f"--param {name}: {value!r} is not {takes}") from None
        raise Mistake(f"--param {name}: takes {takes}, which has no order to tune by")

    return read


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"


def _around(middle: float, steps: int, ratio: float) -> list[float]:
    # Steps around the middle on a scale of ratios.
    half = steps // 2
    return [middle * ratio ** (i - half) for i in range(steps)]
