"""Tables that are being written: what a scenario says of each queue, and what the device has."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from switchbed import asic, links, queues
from switchbed.sonic.device import Device
from switchbed.sonic.finding import Findings
from switchbed.sonic.normalised import Tables

NAME = "SWITCHBED"
Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True)
class Choices:
    """Options of an export: values that the user chose, and losses that the user accepts."""

    ports: Sequence[str] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    """`scheme`: a static scheme in place of one that the switch lacks; `buffer`: `device`, which
    leaves the device's buffers as they are."""
    ramp: int = 0
    """A threshold's WRED ends so many bytes above where it begins."""
    nvidia: bool = False
    """Whether the chip is NVIDIA's: there `wred_green_enable` = false marks, and elsewhere it does
    nothing."""
    cell: int = 1


def of_chip(choices: Choices, name: str) -> Choices:
    """Fill in the choices that follow from the scenario's chip."""
    cell = int(asic.named(name)["cell_bytes"])
    return replace(choices, cell=cell, nvidia=choices.nvidia or name.startswith("spectrum"))


class Draft:
    """A scenario on its way to a switch's tables."""

    def __init__(
        self, scenario: Mapping[str, Any], choices: Choices, device: Device | None
    ) -> None:
        self.scenario: Mapping[str, Any] = scenario
        self.switch: Mapping[str, Any] = scenario["switch"]
        if "asic" in self.switch:
            choices = of_chip(choices, str(self.switch["asic"]))
        self.choices, self.device = choices, device
        self.said = Findings()
        self.made: Tables = {} if device is None else device.rest
        self.mtu = links.mtu(scenario)
        self.count = int(self.switch["queues"])
        own = device.ports if device is not None else ["Ethernet0"]
        self.ports = list(choices.ports) or own
        self.says = queues.said(scenario)
        self.sonic: list[int] = []
        """SONiC's index of each queue."""

    def row(self, table: str, key: str) -> dict[str, str]:
        """To be filled in."""
        return self.made.setdefault(table, {}).setdefault(key, {})

    def own(self, table: str, key: str) -> Mapping[str, str]:
        """The device's row."""
        return {} if self.device is None else self.device.tables[table].get(key, {})

    def keep(self, table: str) -> None:
        """Leaves a table, or all whose names begin so, as the device has it."""
        if self.device is None:
            return
        for each, row, name in self.device.modelled:
            if each.startswith(table):
                self.made[each][row][name] = self.device.tables[each][row][name]

    def each_queue(self, table: str, queue: int) -> list[dict[str, str]]:
        """The rows of a queue at every port."""
        return [self.row(table, f"{port}|{self.sonic[queue]}") for port in self.ports]

    def fill(
        self,
        table: str,
        names: Mapping[int, str],
        values: Mapping[int, Value],
        put: Callable[[dict[str, str], Value, str], None],
        refer: tuple[str, str],
    ) -> None:
        """Rows that queues name: each says what most of its queues do, and one that differs gets
        a row of its own. `put` fills a row, whose origin it is told; `refer`: table and field that
        name it."""
        for name in dict.fromkeys(names.values()):
            mine = [queue for queue in names if names[queue] == name]
            kinds = list(dict.fromkeys(values[queue] for queue in mine))
            # Most queues keep the row; the sort is stable, so of equally many the first.
            kinds.sort(key=lambda value: -sum(values[queue] == value for queue in mine))
            put(self.made[table][name], kinds[0], name)
            self._others(table, name, refer)
            for value in kinds[1:]:
                queues = [queue for queue in mine if values[queue] == value]
                other = f"{name}_q{self.sonic[queues[0]]}"
                row = self.row(table, other)
                row.update(self.own(table, name))
                put(row, value, name)
                for queue in queues:
                    for each in self.each_queue(refer[0], queue):
                        each[refer[1]] = other

    def _others(self, table: str, name: str, refer: tuple[str, str]) -> None:
        """Says whose queues change with these ports'."""
        own = self.own(table, name)
        if self.device is None or not own or self.made[table][name] == own:
            return
        # Keys are `PORT|QUEUE`.
        users = {
            key.partition("|")[0]
            for key, row in self.device.tables.get(refer[0], {}).items()
            if row.get(refer[1]) == name
        }
        others = users - set(self.ports)
        if others:
            self.said.approximated(
                f"{table}|{name}", f"queues of {len(others)} other ports have it, too, and change"
            )
