"""Settings of each queue of a port in a resolved scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switchbed import quantity


@dataclass(frozen=True)
class Says:
    """A queue."""

    index: int
    strict: bool
    quantum: int
    drops: bool
    alpha: float | None
    reserve: int | None
    limit: int | None
    lossless: bool
    scheme: str
    params: Mapping[str, Any]


def by_priority(queues: Sequence[Says], *, highest: bool) -> list[Says]:
    """Strict queues in the order that they go, then the others."""
    strict = sorted((each for each in queues if each.strict), key=lambda each: each.index)
    return [*(reversed(strict) if highest else strict), *(e for e in queues if not e.strict)]


def said(scenario: Mapping[str, Any]) -> list[Says]:
    """Each queue of a port, as a resolved scenario has it."""
    switch, scheme = scenario["switch"], scenario["scheme"]
    count, quantum = int(switch["queues"]), switch["quantum"]
    quanta = quantum if isinstance(quantum, list) else [quantum] * count
    rules = {int(each["queue"]): each for each in switch.get("queue", [])}
    schemes = scheme.get("queues") or [scheme] * count
    classes = (switch.get("pfc") or {}).get("priorities", [])
    found = []
    for index in range(count):
        own = rules.get(index, {})
        sizes = {key: own.get(key) for key in ("reserve", "limit")}
        found.append(
            Says(
                index,
                strict=own.get("strict", index < int(switch["strict"])),
                quantum=quantity.size(quanta[index]),
                drops=own.get("unmarkable", switch["unmarkable"]) == "drop",
                alpha=own.get("alpha", switch.get("alpha")),
                lossless=index in classes,
                scheme=schemes[index]["name"],
                params=schemes[index]["params"],
                **{
                    key: None if text is None else quantity.size(text)
                    for key, text in sizes.items()
                },
            )
        )
    return found
