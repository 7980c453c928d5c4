"""A scenario as SONiC's QoS and buffer tables: docs/sonic.md has the mapping, line by line."""

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from switchbed.sonic import buffers, trimming, wred
from switchbed.sonic.device import Device
from switchbed.sonic.draft import NAME, Choices, Draft
from switchbed.sonic.finding import Findings
from switchbed.sonic.normalised import Tables

SHIPPED_QUEUES, MOST_QUEUES = 8, 10
MOST_WEIGHT = 100
LEAST_SHARE = 0.005
WARN = 0.01
EXACT = 1e-9
"""Error of a share that is none."""


def export(
    scenario: Mapping[str, Any], choices: Choices, device: Device | None = None
) -> tuple[Tables, Findings]:
    """The tables of a resolved scenario; with `device` these as its own, by its own names."""
    draft = Draft(scenario, choices, device)
    for index, other in enumerate(scenario.get("deploy", [])):
        draft.said.refused(
            f"deploy.{index}",
            f"{other['switches']}: a fragment is one switch's: export without it, and the "
            "other switches from a scenario of their own",
        )
    if _queues(draft):
        _classes(draft)
        _schedulers(draft)
        wred.Writer(draft).write()
        buffers.Writer(draft).write()
        trimming.write(draft)
    draft.said.settle()
    return {name: rows for name, rows in draft.made.items() if rows}, draft.said


# Queues and classes.


def _queues(draft: Draft) -> bool:
    """SONiC's index of each queue."""
    device, count, said = draft.device, draft.count, draft.said
    strict = [says.index for says in draft.says if says.strict]
    highest = draft.switch.get("strict_order") == "highest"
    if device is not None:
        if device.count != count:
            said.refused(
                "switch.queues",
                f"the device's ports have {device.count} queues and the scenario {count}: import "
                "the device's configuration anew, or export without it",
            )
            return False
        if len(strict) > 1 and not highest:
            said.refused(
                "switch.strict_order",
                "lowest: of SONiC's strict queues the highest index goes first: highest",
            )
        # An import gives queues the device's own numbers.
        draft.sonic = list(range(count))
        return True
    if count > MOST_QUEUES:
        said.refused(
            "switch.queues",
            f"{count} queues: SONiC's maps end at queue {MOST_QUEUES - 1}: at most {MOST_QUEUES}",
        )
        return False
    if count > SHIPPED_QUEUES:
        said.approximated(
            "switch.queues",
            f"{count} queues: every switch that SONiC ships for has {SHIPPED_QUEUES}",
        )
    else:
        said.exact("switch.queues", f"{count}")
    draft.sonic = list(range(count))
    if highest:
        said.exact("switch.strict_order", "highest: so SONiC's strict queues go")
    elif strict:
        free = iter(range(count))
        place = {queue: count - 1 - rank for rank, queue in enumerate(strict)}
        # Strict ones from the top, since SONiC's highest goes first; the others keep their order
        # below.
        draft.sonic = [place[i] if i in place else next(free) for i in range(count)]
        order = ", ".join(f"{i} is {q}" for i, q in enumerate(draft.sonic))
        said.exact(
            "switch.strict",
            "among SONiC's strict queues the highest index goes first, so indices turn "
            f"round (the scenario's {order})",
        )
    return True


def _classes(draft: Draft) -> None:
    """Every DSCP has its class, and every class its queue."""
    how, count, said = draft.switch["classify"], draft.count, draft.said
    if how not in ("class", "single") and count > 1:
        said.refused(
            "switch.classify",
            f"{how}: SONiC queues packets by DSCP alone: classify = class would do",
        )
        return
    if draft.device is not None:
        said.exact("switch.classify", "the device's maps stay as they are")
        return
    single = how == "single"
    for dscp in range(64):
        # All DSCPs need a class: they go round, as the simulator's classifier has it.
        tc = 0 if single else dscp % count
        draft.row("DSCP_TO_TC_MAP", NAME)[str(dscp)] = str(tc)
    for tc, queue in enumerate(draft.sonic):
        draft.row("TC_TO_QUEUE_MAP", NAME)[str(tc)] = str(queue)
    for port in draft.ports:
        draft.row("PORT_QOS_MAP", port).update(dscp_to_tc_map=NAME, tc_to_queue_map=NAME)
    said.exact("switch.classify", f"{how}: all 64 DSCPs, by class modulo {count} queues")


# Scheduling.


def _schedulers(draft: Draft) -> None:
    discipline, said = draft.switch["discipline"], draft.said
    free = [says for says in draft.says if not says.strict]
    if discipline == "fifo" and len(free) > 1:
        said.refused(
            "switch.discipline",
            "fifo over several queues: SONiC has none: queues = 1, or dwrr",
        )
        draft.keep("SCHEDULER")
        return
    quanta = [says.quantum for says in free]
    # Neither has weights: equal ones are nearest to taking turns.
    if discipline in ("round-robin", "fifo"):
        quanta = [1] * len(free)
    made = weights(quanta)
    total, sum_made = sum(quanta), sum(made)
    shares = [quantum / total for quantum in quanta]
    off = worst(shares, made)
    if min(shares) < LEAST_SHARE and off > EXACT:
        said.refused(
            "switch.quantum",
            f"a share of {100 * min(shares):.2g} % is less than weights of 1 to 100 can give "
            f"({100 * LEAST_SHARE:g} %): raise the least quantum",
        )
        draft.keep("SCHEDULER")
        return
    parts = ", ".join(
        f"{100 * share:.4g} % as {w} ({100 * w / sum_made:.4g} %)"
        for share, w in zip(shares, made, strict=True)
    )
    if off > EXACT:
        warn = ": over a hundredth of a share" if off > WARN else ""
        said.approximated(
            "switch.quantum", f"{parts}; a share is off by up to {100 * off:.2g} % of it{warn}"
        )
    elif len(free) > 1:
        said.exact("switch.quantum", parts)
    if discipline in ("wfq", "round-robin") and len(free) > 1:
        said.approximated(
            "switch.discipline",
            f"{discipline} as DWRR: the same shares, in rounds of the chip's length",
        )
    elif len(free) > 1:
        said.exact("switch.discipline", f"{discipline} as DWRR; a round is the chip's")
    by_queue = {says.index: weight for says, weight in zip(free, made, strict=True)}
    only = free[0].index if len(free) == 1 else None
    for says in draft.says:
        strict = says.strict or (says.index == only and _is_strict(draft, says.index))
        _scheduler(draft, says.index, None if strict else by_queue[says.index])
    _leave_out(draft)


def _leave_out(draft: Draft) -> None:
    """Leave out weights of 1 that the device's rows mean without a field. Only now: until all
    queues have theirs, the field holds the weight of a row that several share."""
    for name in set(draft.device.schedulers.values()) if draft.device is not None else ():
        row = draft.made["SCHEDULER"][name]
        if "weight" not in draft.own("SCHEDULER", name) and row.get("weight") == "1":
            del row["weight"]


def _is_strict(draft: Draft, queue: int) -> bool:
    """The device has the last of queues that are all strict, which a scenario cannot say."""
    if draft.device is None:
        return False
    known = draft.device.schedulers.get(queue)
    return known is not None and draft.own("SCHEDULER", known).get("type") == "STRICT"


def _scheduler(draft: Draft, queue: int, weight: int | None) -> None:
    """A queue's, by the device's name if that says the same of all that have it."""
    name = f"{NAME}_STRICT" if weight is None else f"{NAME}_{weight}"
    device = draft.device
    if device is not None:
        known = device.schedulers.get(queue)
        # No scheduler is the chip's default, which an import reads as weight 1.
        if known is None and weight == 1:
            return  # as the device has it: by default
        if known is not None:
            row = draft.made["SCHEDULER"][known]
            said = device.says("SCHEDULER", known, "type")  # then it was DWRR
            strict = not said and row.get("type") == "STRICT"
            free = row.get("weight", str(weight)) == str(weight)
            if strict and weight is None:
                return
            if not strict and weight is not None and free:
                row["weight"] = str(weight)
                if said:
                    row["type"] = "DWRR"
                return
            # Others may have the scheduler, and keep it: a row of the queue's own.
            name = f"{known}_q{queue}"
    row = draft.row("SCHEDULER", name)
    row.update({"type": "STRICT"} if weight is None else {"type": "DWRR", "weight": str(weight)})
    for each in draft.each_queue("QUEUE", queue):
        each["scheduler"] = name


# Quanta as weights of 1 to 100.


def weights(quanta: Sequence[int]) -> list[int]:
    """The weights whose shares are nearest to the quanta's: the same shares if some have them, else
    the set with the least error of its worst share; of equal ones that which sums to 100."""
    common = gcd(*quanta)
    exact = [q // common for q in quanta]
    # An import makes a quantum of 1500 bytes of a weight of 1: these go back unchanged.
    for unit in (1500, common):
        if all(q % unit == 0 and q // unit <= MOST_WEIGHT for q in quanta):
            return [q // unit for q in quanta]
    if max(exact) <= MOST_WEIGHT:
        return exact
    total = sum(quanta)
    shares = [q / total for q in quanta]
    found = []
    # Every sum of weights that keeps the largest at 100.
    for scale in range(1, int(MOST_WEIGHT / max(shares)) + 1):
        made = [min(MOST_WEIGHT, max(1, round(scale * share))) for share in shares]
        # At the same error a sum of 100, which reads as percent; then the lesser weights.
        found.append((worst(shares, made), sum(made) != MOST_WEIGHT, made))
    return min(found)[2]


def worst(shares: Sequence[float], made: Sequence[int]) -> float:
    """The largest error of a share, as a part of it."""
    total = sum(made)
    return max(abs(w / total / share - 1) for w, share in zip(made, shares, strict=True))
