"""What MQ-ECN's claims need beyond the built-in measures."""

from switchbed.reproduce.experiment import fct
from switchbed.reproduce.measures import Points
from switchbed.reproduce.rows import Figures, Rows
from switchbed.result import Result

USUAL = "0.75, 1.2us"
SMALL_BYTES = 102_400
MICE_BYTES = 24_000


def fct_and_mice(result: Result) -> Figures:
    """The summary's figures, and how many in a hundred small flows are under 24 KB."""
    sizes = result.flows["size_bytes"]
    small = sizes.filter(sizes < SMALL_BYTES)
    return fct(result) | {"mice": 100 * float((small < MICE_BYTES).mean())}


def fig13_overall(rows: Rows) -> Points:
    """All flows' average FCT of the other settings above the usual one's, in percent."""
    return _against_usual(rows, "all.mean_us")


def fig13_small(rows: Rows) -> Points:
    """The same of small flows."""
    return _against_usual(rows, "small.mean_us")


def _against_usual(rows: Rows, metric: str) -> Points:
    found: Points = {}
    for load in rows.values("load"):
        usual = rows.where({"scheme": USUAL, "load": load}).by_seed(metric)
        for scheme in rows.values("scheme"):
            if scheme != USUAL:
                of = rows.where({"scheme": scheme, "load": load}).by_seed(metric)
                found[f"({scheme}) at load {load}"] = {
                    seed: 100 * (value / usual[seed] - 1) for seed, value in of.items()
                }
    return found
