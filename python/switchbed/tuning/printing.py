"""Printing of an advice for people."""

from typing import TYPE_CHECKING

from switchbed import comparing, stats
from switchbed.printing import ruled
from switchbed.terminal import say
from switchbed.tuning.advice import BREAKS, REFUSED, Advice, Entry, Fresh, shown
from switchbed.tuning.objective import Guard

if TYPE_CHECKING:
    from switchbed.console import Console


def show(found: Advice) -> None:
    """Print the hints first, then the advice, then its assumptions."""
    if found.first:
        say("Before the setting:")
        for line in found.first:
            say(f"  {line}")
        say()
    console = _entries(found)
    if found.fresh:
        _fresh(console, found)
    say(found.sentence)
    if found.advised is not None and found.advised != found.own:
        say("To take it: " + " ".join(f"--set {k}={v}" for k, v in found.advised.settings.items()))
    if found.lost:
        say(found.lost)
    say()
    for line in (*found.robust, *found.rests_on):
        say(line)
    metrics = [found.objective, *(guard.metric for guard in found.guards)]
    if any(metric.startswith("slowdown") for metric in metrics):
        say(comparing.SLOWDOWNS["ideal"])
    say(f"{found.runs:,} runs, {found.core_minutes:.3g} core-minutes in this call")


def _entries(found: Advice) -> "Console":
    """Every point; the objective is over the leader's."""
    guards = list(map(str, found.guards))
    worst = ["worst regret"] if any(entry.regret for entry in found.entries) else []
    ratios = [f"{found.objective} / leader's", *worst]
    heads = ("verdict", "seeds", *ratios, *guards)
    console, made = ruled(f"{found.scheme} on {found.target}", *heads)
    for entry in found.entries:
        made.add_row(
            _name(entry.point.label, entry.point.names),
            f"{entry.verdict} {entry.why}" if entry.verdict == BREAKS else entry.verdict,
            str(entry.blocks or ""),
            _ratio(shown(entry.against, larger=found.larger))
            if entry.verdict != REFUSED
            else entry.why,
            *([_ratio(entry.regret)] if worst else []),
            *(_guard(entry, guard) for guard in found.guards),
        )
    console.print(made)
    return console


def _fresh(console: "Console", found: Advice) -> None:
    """Print the runs on seeds that the race had not used."""
    scenes = found.scenes if len(found.scenes) > 1 else ()
    guards = list(dict.fromkeys(guard.metric for guard in found.guards))
    mean = "all scenes" if scenes else f"{found.objective}"
    columns = ["fresh seeds", f"{mean} / yours", *scenes, *guards]
    console, made = ruled(*columns)
    for each in found.fresh:
        made.add_row(
            _name(each.point.label, each.point.names),
            _ratio(shown(each.overall, larger=found.larger)),
            *(
                _ratio(shown(ratio, larger=found.larger))
                for ratio in (each.ratios if scenes else ())
            ),
            *(_number(each, metric) for metric in guards),
        )
    console.print(made)


def _name(label: str, names: tuple[str, ...]) -> str:
    return f"{label} ({', '.join(names)})" if names and label else label or ", ".join(names)


def _ratio(found: stats.Interval | None) -> str:
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return f"{found.estimate:.3f}"
    if found.low == found.high:
        return f"{found.estimate:.3f}"
    return f"{found.estimate:.3f} ({_end(found.low)} to {_end(found.high)})"


def _end(value: float) -> str:
    return f"{value:.3f}" if 0.001 <= value < 100 else f"{value:.1g}"


def _guard(entry: Entry, guard: Guard) -> str:
    verdict = entry.guards.get(str(guard))
    if verdict is None or verdict.mean is None:
        return ""
    if verdict.over <= 0:
        return f"{verdict.mean:.4g}"
    # Points have unequal seeds, so their means do not tell by what the bound is missed.
    by = f"{100 * verdict.over:.3g} %" if guard.number else f"{verdict.over:.3g}"
    return f"{verdict.mean:.4g} (missed by {by}{'' if verdict.surely else ', not surely'})"


def _number(each: Fresh, metric: str) -> str:
    value = each.guards.get(metric)
    return "" if value is None else f"{value:.4g}"
