"""Warnings about measures, whatever the verdict: the page and `show` print them beside the claim.

| warning | why it matters |
| --- | --- |
| runs have nothing to measure | what is left is a mean of survivors |
| a percentile is a timer | it measures the timer, not the scheme |
| small flows are slower than medium ones | they wait for a timer or a handshake |
| no drops or marks where the text has some (`expects`) | the set-up is another than the paper's |
| what is compared is equal | the scheme had nothing to do |
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from switchbed import _native, links
from switchbed_papers.reproduce import experiment as experiments
from switchbed_papers.reproduce import measures
from switchbed_papers.reproduce.claims import Claim, Experiment, Paper
from switchbed_papers.reproduce.rows import Rows
from switchbed_papers.reproduce.setup import JOINT

TIMERS = ("transport.rto_min", "transport.rto_initial", "transport.ack_delay")
NEAR = 0.01
"""A percentile this near a timer, as a part of it, is the timer."""
SAME = 1e-4
"""Schemes whose figures differ by no more, as a part, did the same."""


def of_rows(paper: Paper, experiment: Experiment, rows: Rows) -> list[str]:
    """Warnings about an experiment's runs."""
    found = list(_events(experiment, rows))
    slower = [row.settings for row in rows if _over(row.figures, "small", "medium")]
    if slower:
        found.append(
            f"in {len(slower)} of {len(rows.rows)} runs small flows are slower than medium "
            f"ones, in the mean; one is {_words(slower[0])}"
        )
    timers = timers_us(paper, experiment)
    for row in rows:
        for name, value in row.figures.items():
            timer = _timer(name, value, timers)
            if timer:
                found.append(f"{name} is {timer} at {_words(row.settings)}, seed {row.seed}")
                return found
    return found


def of_claim(paper: Paper, claim: Claim, rows: Rows) -> list[str]:
    """Warnings about a claim's measure."""
    found = []
    lost = measures.dropped(paper, claim, rows)
    if lost:
        found.append(f"{lost} runs have nothing to measure and are left out")
    points = measures.by_point(paper, claim, rows)
    kind = claim.measure.get("kind")
    if kind in measures.RATIOS:
        none = measures.RATIOS[kind](1.0)
        scale = SAME if kind == "ratio" else 100 * SAME
        if points and all(abs(each.estimate - none) <= scale for each in points.values()):
            found.append("what is compared is equal to four digits: neither did anything")
    return found


def timers_us(paper: Paper, experiment: Experiment) -> dict[str, float]:
    """The hosts' timers in microseconds, by name."""
    first = experiments.jobs(paper, experiment, experiment.quick, 1, JOINT)[0]
    return timers_of(json.loads(first.plan.scenario))


def timers_of(scenario: Mapping[str, Any]) -> dict[str, float]:
    """TCP's timers in microseconds, by name; of several kinds of TCP with the kind."""
    found: dict[str, float] = {}
    for transport in links.transports(scenario)[0]:
        for name in _running(transport):
            value = transport.get(name.partition(".")[2])
            if isinstance(value, str) and value[:1].isdigit():
                us = _native.time_ps(value) / 1e6
                known = us in (found.get(name), found.get(f"{name} ({transport['kind']})"))
                if us > 0 and not known:
                    found[f"{name} ({transport['kind']})" if name in found else name] = us
    return found


def _running(transport: Mapping[str, Any]) -> tuple[str, ...]:
    """The timers that may ever run out: senders without TCP have none, whatever the section says,
    and an ACK for each packet waits for nothing."""
    if transport["kind"] == "udp":
        return ()
    return TIMERS if transport.get("ack_every", 2) > 1 else TIMERS[:-1]


def _timer(name: str, value: object, timers: Mapping[str, float]) -> str | None:
    """The timer that a percentile of a flow's time is."""
    _, _, statistic = name.rpartition(".")
    if not (statistic.startswith("p") and statistic.endswith("_us")):
        return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    for timer, us in timers.items():
        if abs(value - us) <= NEAR * us:
            return f"{timer}, {us / 1e3:g} ms,"
    return None


def _events(experiment: Experiment, rows: Rows) -> Iterator[str]:
    for event in experiment.expects:
        counts = [row.figures[event] for row in rows if row.figures.get(event) is not None]
        without = sum(count == 0 for count in counts)
        if without:
            yield f"{without} of {len(counts)} runs have no {event}, and the paper's text has some"


def _over(figures: Mapping[str, Any], of: str, base: str) -> bool:
    one, other = (figures.get(f"{size}.mean_us") for size in (of, base))
    return one is not None and other is not None and one > other


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items()) or "the only point"
