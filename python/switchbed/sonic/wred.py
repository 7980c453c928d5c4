"""Schemes of queues as WRED profiles."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from switchbed import library, links, quantity
from switchbed.queues import Says
from switchbed.sonic.draft import NAME, Draft
from switchbed.sonic.schema import INT_MAX

OTHERS = ("yellow", "red")
"""Colours beside green, which all packets without a policer have."""
PARTS = ("min_threshold", "max_threshold", "drop_probability")


@dataclass(frozen=True)
class Wred:
    """A ramp."""

    low: int
    high: int
    chance: int | None
    """Percent; `None`: a step, whose chance says nothing."""
    enable: bool


class Writer:
    """Writes the marking of all queues."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.said = draft, draft.said
        self.device, self.choices = draft.device, draft.choices
        self.key = "scheme"

    def write(self) -> None:
        """Profiles, and which queues have them."""
        before = len(self.said.refusals)
        wreds = self._wreds()
        if len(self.said.refusals) > before:
            self.draft.keep("WRED_PROFILE")
            return
        marks = self.device.marks if self.device is not None else {}
        self._known({queue: wreds[queue] for queue in marks if queue in wreds}, marks)
        new = {queue: wred for queue, wred in wreds.items() if queue not in marks and wred}
        kinds = list(dict.fromkeys(new.values()))
        for wred in kinds:
            queues = [queue for queue in new if new[queue] == wred]
            # A single profile for all needs no number.
            last = f"_{self.draft.sonic[queues[0]]}" if len(kinds) > 1 or marks else ""
            self._profile(f"{NAME}{last}", wred, queues)

    def _wreds(self) -> dict[int, Wred | None]:
        """By queue; what is said of several alike is said once."""
        found: dict[int, Wred | None] = {}
        once: dict[str, Wred | None] = {}
        apart = len({(says.scheme, json.dumps(dict(says.params))) for says in self.draft.says}) > 1
        for says in self.draft.says:
            name = self._name(says.index)
            named = (says.scheme, self.choices.instead.get("scheme"))
            by_share = any(library.definition(scheme)["by_quantum"] for scheme in named)
            shares = says.quantum if by_share else 0
            key = json.dumps([says.scheme, dict(says.params), says.drops, shares, name])
            if key not in once:
                self.key = f"switch.queue.{says.index}.scheme" if apart else "scheme"
                once[key] = self._wred(says)
            found[says.index] = once[key]
        return found

    def _name(self, queue: int) -> str | None:
        return self.device.marks.get(queue) if self.device is not None else None

    def _known(self, wreds: Mapping[int, Wred | None], marks: Mapping[int, str]) -> None:
        """Fills the device's own profiles; queues that mark no more have none."""
        for queue, wred in wreds.items():
            if wred is None:
                for row in self.draft.each_queue("QUEUE", queue):
                    row.pop("wred_profile", None)
        left = {queue: wred for queue, wred in wreds.items() if wred is not None}
        # A profile that no queue has any more keeps its fields, for other ports.
        for name in set(marks.values()) - {marks[queue] for queue in left}:
            self.draft.made["WRED_PROFILE"][name].update(self.draft.own("WRED_PROFILE", name))
        for name in sorted({marks[queue] for queue in left}):
            own = self.draft.own("WRED_PROFILE", name)
            stay = [each for each in OTHERS if _ramp_of(own, each) and not _alike(own, each)]
            if stay:
                has = (
                    "stays as the device has it"
                    if len(stay) == 1
                    else "stay as the device has them"
                )
                self.said.approximated(
                    f"WRED_PROFILE|{name}",
                    f"{' and '.join(stay)} {has}: unlike green, which the scenario sets",
                )
        self.draft.fill(
            "WRED_PROFILE",
            {queue: marks[queue] for queue in left},
            left,
            lambda row, wred, name: _fill(row, wred, self.draft.own("WRED_PROFILE", name)),
            ("QUEUE", "wred_profile"),
        )

    def _wred(self, says: Says) -> Wred | None:
        """A queue's scheme as WRED, if it can be one."""
        name, params = says.scheme, dict(says.params)
        of_it = library.definition(name)
        nearest = of_it["nearest"]
        if nearest and self.choices.instead.get("scheme") == nearest:
            key = of_it["main"]
            self.said.approximated(
                f"{self.key}.name",
                f"{name} as {nearest} with its {key}, {params[key]}: static, as --instead chose",
            )
            # A queue's length as the packet comes, which is what the schemes replaced look at.
            name, params = nearest, {"threshold": params[key], "mark_at": "enqueue"}
            of_it = library.definition(name)
        form = of_it["wred"]
        if form == "off":
            self.said.exact(f"{self.key}.name", f"{name}: no WRED")
            return None
        # A step without the choice looks as packets leave.
        late = bool(form) and params.get("mark_at", "dequeue") == "dequeue"
        self._enable(drops=says.drops, late=late)
        if late:
            self.said.approximated(
                f"{self.key}.params.mark_at",
                "whether a chip looks as a packet comes or leaves is the chip's: no table says it",
            )
        found: Wred | None = None
        if form == "step":
            found = self._step(name, params, says)
        elif form == "ramp":
            found = self._ramp(params, says)
        else:
            hint = f"; the nearest is --instead scheme={nearest}" if nearest else ""
            usual = "no such state is in SONiC's tables, which have a ramp a queue (WRED)"
            why = of_it["no_wred"] or usual
            self.said.refused(f"{self.key}.name", f"{name}: {why}{hint}")
        if found is not None:
            self._fits(found)
        return found

    def _fits(self, wred: Wred) -> None:
        """Says what the daemon or the chip makes of the thresholds."""
        low, high, cell = wred.low, wred.high, self.choices.cell
        if high > INT_MAX:
            self.said.refused(
                f"{self.key}.params", f"{high} bytes: SONiC's daemon reads up to {INT_MAX}"
            )
        elif cell > 1 and (low % cell or high % cell):
            self.said.approximated(
                f"{self.key}.params",
                f"the chip counts cells of {cell} bytes: {low} bytes are {low / cell:.2f} cells",
            )

    def _enable(self, *, drops: bool, late: bool) -> None:
        """Says whether what cannot be marked is dropped; `late`: marked as packets leave."""
        if drops and late:
            self.said.approximated(
                "switch.unmarkable",
                "drop: wred_green_enable = true drops what cannot be marked; the scenario marks as "
                "packets leave, and passes it",
            )
        elif drops:
            self.said.exact(
                "switch.unmarkable",
                "drop: wred_green_enable = true. ACKs and SYNs that are not ECN-capable are "
                "dropped where data is marked",
            )
        elif self.choices.nvidia or (self.device is not None and self.device.nvidia):
            self.said.exact("switch.unmarkable", "pass: wred_green_enable = false, as Nvidia ships")
        else:
            self.said.refused(
                "switch.unmarkable",
                "pass: wred_green_enable = false marks on Nvidia's chips (--vendor nvidia) and "
                "does nothing on others: drop, with ACKs in a class without WRED",
            )

    def _step(self, name: str, params: Mapping[str, Any], says: Says) -> Wred:
        k = quantity.size(params["threshold"], self.draft.mtu)
        each = ""
        if library.definition(name)["by_quantum"]:
            # The threshold is the port's: a queue has its share by quantum.
            k = round(k * says.quantum / sum(other.quantum for other in self.draft.says))
            each = ", a profile a queue by its quantum's share"
        ramp = self.choices.ramp
        if ramp:
            self.said.approximated(
                f"{self.key}.params.threshold", f"{k} bytes as a ramp from {k} to {k + ramp}"
            )
        else:
            self.said.exact(
                f"{self.key}.params.threshold",
                f"{k} bytes as min = max, probability 100{each} (whether a chip takes min = max as "
                "a step is to be tried; --ramp SIZE makes a ramp of it)",
            )
        return Wred(k, k + ramp, None, says.drops)

    def _ramp(self, params: Mapping[str, Any], says: Says) -> Wred | None:
        mtu = self.draft.mtu
        high = quantity.size(params["kmax"], mtu)
        low = quantity.size(params["kmin"], mtu) if "kmin" in params else high // 2
        key = f"{self.key}.params"
        if "rate" in params:
            speeds = links.rates(self.draft.scenario["topology"])
            if len(speeds) > 1:
                self.said.refused(
                    f"{key}.rate",
                    f"{params['rate']}: lines differ, and thresholds with them: kmin and kmax of "
                    "one speed, without rate and curve",
                )
                return None
            share = speeds.pop() / quantity.rate(params["rate"])
            low, high = round(low * share), round(high * share)
        percent = 100 * float(params["pmax"])
        end = self._beyond_memory(self._name(says.index))
        # An import cut the ramp off at the memory: extended to its old end, with the chance there.
        if end is not None and low < high < end:
            percent, high = percent * (end - low) / (high - low), end
        problems = (
            (
                abs(percent - round(percent)) > 1e-6,
                "pmax",
                f"{params['pmax']:g} is no whole percent: {max(1, round(percent)) / 100:g} "
                "would do",
            ),
            (
                float(params["weight"]) != 1,
                "weight",
                f"{params['weight']:g}{_usual('weight', params)}: SONiC always compares the "
                f"present length: {key}.weight = 1",
            ),
            (
                bool(params["gentle"]),
                "gentle",
                "true: above max everything is marked: gentle = false",
            ),
        )
        for wrong, name, why in problems:
            if wrong:
                self.said.refused(f"{key}.{name}", why)
                return None
        self.said.exact(key, f"{low} to {high} bytes, {round(percent)} %")
        if params["spacing"] != "geometric":
            self.said.approximated(
                f"{key}.spacing",
                f"{params['spacing']}: chips draw for each packet by itself (geometric)",
            )
        return Wred(low, high, round(percent), says.drops)

    def _beyond_memory(self, name: str | None) -> int | None:
        """Where the device's ramp ends, if that is above its memory: a scenario ends there."""
        device = self.device
        if device is None or name is None:
            return None
        if device.says("WRED_PROFILE", name, "green_max_threshold"):
            return None
        end = device.tables["WRED_PROFILE"][name].get("green_max_threshold")
        return None if end is None else int(end)

    def _profile(self, name: str, wred: Wred, queues: list[int]) -> None:
        """A new one; yellow and red are green's copies, as they ship."""
        row = self.draft.row("WRED_PROFILE", name)
        _fill(row, wred)
        # SONiC's templates set all three colours alike.
        for colour in OTHERS:
            for part in PARTS:
                row[f"{colour}_{part}"] = row[f"green_{part}"]
            row[f"wred_{colour}_enable"] = row["wred_green_enable"]
        self.said.exact(f"WRED_PROFILE|{name}", "yellow and red are set as green, the scenario's")
        for queue in queues:
            for each in self.draft.each_queue("QUEUE", queue):
                each["wred_profile"] = name


def _fill(row: dict[str, str], wred: Wred, own: Mapping[str, str] = MappingProxyType({})) -> None:
    """`own`: the row as the device has it, whose missing minimum means 0, missing chance 100,
    missing enable false."""
    row["green_min_threshold"], row["green_max_threshold"] = str(wred.low), str(wred.high)
    # A missing minimum is 0: left out again.
    if own and "green_min_threshold" not in own and wred.low == 0:
        del row["green_min_threshold"]
    if wred.chance is not None:
        row["green_drop_probability"] = str(wred.chance)
    chance = row.setdefault("green_drop_probability", "100")
    if own and "green_drop_probability" not in own and chance == "100":
        del row["green_drop_probability"]
    row["wred_green_enable"] = "true" if wred.enable else "false"
    if own and "wred_green_enable" not in own and not wred.enable:
        del row["wred_green_enable"]
    row.setdefault("ecn", "ecn_all")
    for colour in OTHERS:
        # Colours that the device has alike stay so.
        if not _ramp_of(own, colour) or not _alike(own, colour):
            continue
        for part in (*PARTS, "enable"):
            green, other = (_field(each, part) for each in ("green", colour))
            if green in row:
                row[other] = row[green]
            else:
                row.pop(other, None)


def _field(colour: str, part: str) -> str:
    return f"wred_{colour}_enable" if part == "enable" else f"{colour}_{part}"


def _ramp_of(own: Mapping[str, str], colour: str) -> bool:
    """Whether a profile has thresholds of a colour."""
    return any(f"{colour}_{part}" in own for part in PARTS)


def _alike(own: Mapping[str, str], colour: str) -> bool:
    """Whether a colour is set as green."""
    return all(
        own.get(_field(colour, part)) == own.get(_field("green", part))
        for part in (*PARTS, "enable")
    )


def _usual(name: str, params: Mapping[str, Any]) -> str:
    """Say that a value is the scheme's default, which the file need not have."""
    found = next(each for each in library.definition("red")["parameters"] if each["name"] == name)
    return ", the default" if float(found["default"]) == float(params[name]) else ""
