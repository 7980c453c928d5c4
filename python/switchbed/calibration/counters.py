"""A SONiC switch's watermarks and counters: what its `show` commands print, or JSON."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switchbed import files, foreign
from switchbed._native import Mistake

KINDS = {
    "queue": "show queue watermark unicast",
    "shared": "show priority-group watermark shared",
    "headroom": "show priority-group watermark headroom",
    "pfc_rx": "show pfc counters",
    "pfc_tx": "show pfc counters",
    "marked": "show queue wredcounters",
    "wred_drops": "show queue wredcounters",
    "drops": "show queue counters",
}
"""Kinds of counters with the command that prints them; these are the keys of the JSON form, too."""
COLUMNS = {
    "EcnMarked/pkts": "marked",
    "WredDrp/pkts": "wred_drops",
    "Drop/pkts": "drops",
}
"""Columns of tables with a row for each queue."""
JSON_FIELDS = {
    "ecnmarkedpacket": "marked",
    "wreddroppacket": "wred_drops",
    "droppacket": "drops",
}
"""The same in `show queue counters --json`."""
ELLIPSES = (["…"], ["..."])
"""Lines that stand for rows that were cut out."""
MOST = 2**63
QUEUE = re.compile(r"(?:UC|ALL)([0-9]{1,2})", re.ASCII)
CLASS = re.compile(r"(?:PG|PFC|UC|ALL)([0-9]{1,2})", re.ASCII)

Values = dict[tuple[str, int], int]
"""By port and queue or class."""


@dataclass(frozen=True)
class Counters:
    """Counters by kind."""

    by_kind: Mapping[str, Values] = field(default_factory=dict)

    def of(self, kind: str, number: int) -> list[int]:
        """Every port's value of a queue or class."""
        return [value for (_, n), value in self.by_kind.get(kind, {}).items() if n == number]

    def most(self, kind: str, number: int) -> tuple[int, str] | None:
        """The largest value and its port, the first of several; `None` where there is none."""
        rows = [(value, port) for (port, n), value in self.by_kind[kind].items() if n == number]
        return max(rows, key=lambda row: row[0], default=None)

    def numbers(self, *kinds: str) -> list[int]:
        """Queues or classes that are over 0 at some port."""
        rows = (row for kind in kinds for row in self.by_kind.get(kind, {}).items())
        return sorted({n for (_, n), value in rows if value > 0})


def read(path: Path, ports: Collection[str] | None) -> Counters:
    """Read a file of either form; `ports` are those of the configuration."""
    text = files.read_text(path)
    # A `show` command's output never begins with a brace.
    if text.lstrip().startswith(("{", "[")):
        found = _of_json(path, foreign.read(path))
    else:
        found = _Text(str(path), ports).read(text)
    for values in found.values():
        for port, _ in values:
            _known(str(path), port, ports)
    if not any(found.values()):
        commands = ", ".join(dict.fromkeys(KINDS.values()))
        raise Mistake(
            f"{path}: has no counters: the output of one of {commands} is needed, or JSON"
        )
    return Counters(found)


def _known(where: str, port: str, ports: Collection[str] | None) -> None:
    if ports is not None and port not in ports:
        raise Mistake(
            f"{where}: {foreign.name(port)} is no port of the configuration: it has "
            f"{foreign.some(ports)}"
        )


def _count(where: str, text: str) -> int | None:
    """A value of a table; `None` where the switch has none."""
    if text == "N/A":
        return None
    # `show` groups digits by commas.
    value = foreign.whole(text.replace(",", ""))
    if value is None or not 0 <= value < MOST:
        raise Mistake(f"{where}: {foreign.shown(text)} is no counter: a whole number, or N/A")
    return value


def _put(where: str, values: Values, key: tuple[str, int], value: int) -> None:
    if key in values:
        port, number = key
        raise Mistake(
            f"{where}: {foreign.name(port)} has {number} twice: one snapshot of each is needed"
        )
    values[key] = value


def _of_json(path: Path, given: Any) -> dict[str, Values]:
    """`{"queue": {"Ethernet0": {"3": 2057328}}}`."""
    found: dict[str, Values] = {kind: {} for kind in KINDS}
    if not isinstance(given, dict):
        raise Mistake(f"{path}: is no object of counters: keys are {', '.join(KINDS)}")
    for kind, rows in given.items():
        if _of_queues(f"{path}: {foreign.name(kind)}", kind, rows, found):
            continue
        if kind not in KINDS:
            raise Mistake(
                f"{path}: {foreign.shown(kind)} is no kind of counter: one of {', '.join(KINDS)}"
            )
        if not isinstance(rows, dict):
            raise Mistake(f"{path}: {kind} is no object of ports")
        for port, row in rows.items():
            where = f"{path}: {kind}.{foreign.name(port)}"
            if not isinstance(row, dict):
                raise Mistake(f"{where}: is no object of queues or classes")
            for name, value in row.items():
                number = foreign.whole(name)
                match = CLASS.fullmatch(name)
                number = int(match[1]) if match else number
                if number is None or not 0 <= number < 100:
                    raise Mistake(f"{where}: {foreign.shown(name)} is no queue: a number, or UC3")
                # Texts as `show … --json` prints them.
                count = _count(f"{where}.{name}", value) if isinstance(value, str) else value
                if count is None:
                    continue
                # `true` is an int in Python, and no counter.
                if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < MOST:
                    raise Mistake(
                        f"{where}.{name}: {foreign.shown(value)} is no counter: a whole number"
                    )
                _put(where, found[kind], (port, number), count)
    return found


def _of_queues(where: str, port: str, rows: Any, found: dict[str, Values]) -> bool:
    """Read a port of `show queue counters --json`; whether it is one."""
    rows = rows if isinstance(rows, dict) else {}
    queues = {name: row for name, row in rows.items() if isinstance(row, dict)}
    matches = {name: QUEUE.fullmatch(name) for name in queues}
    if not any(matches.values()) or not any(set(row) & set(JSON_FIELDS) for row in queues.values()):
        return False
    for name, match in matches.items():
        for field_, kind in JSON_FIELDS.items():
            value = queues[name].get(field_)
            if match is None or value is None:
                continue
            count = _count(f"{where}.{name}.{field_}", str(value))
            if count is not None:
                _put(where, found[kind], (port, int(match[1])), count)
    return True


class _Text:
    """The tables in a text, by their headings; lines between tables are passed over."""

    def __init__(self, file: str, ports: Collection[str] | None) -> None:
        self.file, self.ports = file, ports
        self.found: dict[str, Values] = {kind: {} for kind in KINDS}
        self.title = ""
        """The last line above a table, in small letters."""
        self.table: list[str] | None = None
        self.kinds: list[str | None] = []
        self.numbers: list[int] = []
        """The queue or class of each column; 0 of one that is not read."""

    def read(self, text: str) -> dict[str, Values]:
        """All counters of the text."""
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                self.table = None
            elif words in ELLIPSES:
                continue
            elif words[0] in ("Port", "Interface"):
                self._heading(f"{self.file}:{number}", words)
            # A line of dashes is the rule under a heading.
            elif not set(line) <= set("- \t"):
                self._line(f"{self.file}:{number}", line, words)
        return self.found

    def _heading(self, where: str, words: list[str]) -> None:
        """The kind of each column; `None`: not read."""
        # `show pfc counters` prints two tables alike but for the heading's second word.
        direction = {"Rx": "pfc_rx", "Tx": "pfc_tx"}.get(words[1] if len(words) > 1 else "")
        self.table = words[2:] if direction else words[1:]
        group = "headroom" if "headroom" in self.title else "shared"
        # Groups' drops (`show priority-group drop counters`) have the watermarks' columns.
        drops = "drop" in self.title
        kinds = {} if drops else {"PG": group, "UC": "queue", "ALL": "queue"}
        self.kinds = []
        for column in self.table:
            name = column.rstrip("0123456789")
            kind = direction if direction and name == "PFC" else kinds.get(name)
            self.kinds.append(COLUMNS.get(column, kind))
        if not self.table or (direction and not any(self.kinds)):
            raise Mistake(f"{where}: a heading without columns: show prints UC0, PG0 or PFC0")
        # Tables of queue counters have a row for each queue; all others have a column for each.
        by_row = self.table[0] == "TxQ"
        columns = zip(self.kinds, self.table, strict=True)
        self.numbers = [
            self._number(where, column) if kind and not by_row else 0 for kind, column in columns
        ]

    @staticmethod
    def _number(where: str, column: str) -> int:
        match = CLASS.fullmatch(column)
        if match is None:
            raise Mistake(
                f"{where}: column {foreign.shown(column)} is of no queue or class: UC3, PG3 and "
                "PFC3 are, and others stand behind TxQ"
            )
        return int(match[1])

    def _line(self, where: str, line: str, words: list[str]) -> None:
        port, *cells = words
        # `Ethernet0 Last cached time was …` stands above a table.
        counts = any(re.fullmatch(r"[0-9][0-9,]*|N/A", cell) for cell in cells)
        known = counts and self.ports is not None and port in self.ports
        if self.table is None:
            if known and len(cells) > 1:
                raise Mistake(
                    f"{where}: a row of {foreign.name(port)} without the heading of its table"
                )
            # A title above the heading is all that tells headroom from shared watermarks: both have
            # columns PG0 to PG7.
            self.title = line.lower()
            return
        if len(cells) != len(self.table):
            # A row of a port is damaged if it has another length; any other line ends the table.
            if any(self.kinds) and (known or (counts and port.startswith("Ethernet"))):
                raise Mistake(
                    f"{where}: {foreign.name(port)} has {len(cells)} values: its table has "
                    f"{len(self.table)} columns"
                )
            if any(self.kinds) or not known:
                self.table, self.title = None, line.lower()
            return
        if not any(self.kinds):
            return
        _known(where, port, self.ports)
        if self.table[0] == "TxQ":
            match = QUEUE.fullmatch(cells[0])
            # Multicast and virtual output queues are known and not compared.
            if match is None and not re.fullmatch(r"(MC|VOQ)[0-9]+", cells[0]):
                raise Mistake(f"{where}: {foreign.shown(cells[0])} is no queue, as UC3 is")
            numbers = [int(match[1])] * len(cells) if match else None
        else:
            numbers = self.numbers
        for place, (kind, cell) in enumerate(zip(self.kinds, cells, strict=True)):
            if kind is not None and numbers is not None:
                value = _count(where, cell)
                if value is not None:
                    _put(where, self.found[kind], (port, numbers[place]), value)
