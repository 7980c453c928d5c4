"""Cells of the comparison: a fabric, a workload and a condition each. Every scheme runs in every
cell, on the same flows."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from switchbed.scenario import Scenario

FOLDER = Path(__file__).parent

FABRICS = {"10-40": "10 and 40 Gbps", "25-100": "25 and 100 Gbps"}
"""Scenario files, and the rates of hosts' and of fabric links."""

WORKLOADS = {"web-search": (2000, 14), "data-mining": (1000, 31)}
"""Flow-size tables, with how many flows start, and how many rounds of incast fit into that time."""

CONDITIONS = {"plain": "Plain hosts", "lso": "Hosts with LSO", "incast": "With incast"}

INCAST = 1
"""Place of the incast among a file's sources of traffic."""


@dataclass(frozen=True)
class Cell:
    """One panel's worth of runs."""

    fabric: str
    workload: str
    condition: str
    load: str = ""
    """Offered load in place of the file's."""

    @property
    def name(self) -> str:
        """Names its results and its sweep."""
        return "-".join(filter(None, (self.fabric, self.workload, self.condition, self.load)))

    @property
    def where(self) -> str:
        """Fabric and workload, in words."""
        return f"{(FABRICS | LINUX_FABRICS)[self.fabric]}, {self.workload}"

    def scenario(self, flows: int | None = None) -> Scenario:
        """All schemes, or the first with each policy; `flows` instead of the workload's number."""
        file = FOLDER / f"{self.fabric}.toml"
        traffic = tomllib.loads(file.read_text(encoding="utf-8"))["traffic"]
        count, rounds = WORKLOADS[self.workload]
        traffic[0] |= {"sizes": self.workload, "flows": flows or count}
        if self.load:
            traffic[0] |= {"load": float(self.load)}
        if self.condition == "incast":
            traffic[INCAST] |= {"rounds": rounds if flows is None else 1}
        else:
            del traffic[INCAST:]
        # Linux's hosts have it as their profile has.
        lso = {} if self.fabric in LINUX_FABRICS else {"host.lso": self.condition == "lso"}
        made = Scenario.from_file(file).with_({"traffic": traffic, **lso})
        if self.condition != "memory":
            return made
        first = tomllib.loads(file.read_text(encoding="utf-8"))["compare"]["scheme"][0]
        return made.with_({"compare.scheme": [first], "compare.switch.policy": POLICIES})


CELLS = tuple(Cell(f, w, c) for c in CONDITIONS for f in FABRICS for w in WORKLOADS)
"""All, those without LSO and incast first."""

LINUX_FABRICS = {
    "linux-10-40": "10 and 40 Gbps",
    "linux-25-100": "25 and 100 Gbps",
    "linux-100-400": "100 and 400 Gbps",
}
"""The same with the AQMs besides, and hosts as Linux 6.x has them."""

LOADS = ("0.3", "0.6", "0.8")

LINUX = tuple(Cell(f, w, "plain", load) for f in LINUX_FABRICS for w in WORKLOADS for load in LOADS)
"""Every scheme and AQM on these, at each load."""

POLICIES = ["shared", "dynamic", "abm", "fab", "lqd", "occamy"]
"""How ports share a switch's memory; with the first each has its own."""

MEMORY = tuple(
    Cell(f, w, "memory", load) for f in LINUX_FABRICS for w in WORKLOADS for load in LOADS
)
"""Each policy on these, under the first scheme."""
