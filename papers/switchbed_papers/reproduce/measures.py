"""From rows to a number with its interval: the kinds of measure that `claims.toml` names.

`below` and `above` compare `metric` of the runs `of` with those of `base`, in percent, paired
over seeds; `ratio` likewise as a ratio (all three by the ratios' logarithms, as everywhere);
`difference` subtracts; `value` is the metric itself. `at` says where: settings
that fix the point, a list of such (each point must be within), or over all points that are left
"largest" or "smallest" (the paper's "up to x %", which is one run's: each seed's own extreme; the
null model is measured in the same way, so that looking for the best point does not flatter it) or
"every" (each must be within). `reading = "larger"` takes a percentage as a part of the larger of
the two, as a paper's text does, and notes the other reading beside it. `where` chooses among the
runs first; `also` lists settings (and a `metric` or `function`, and what it `says`) to take in its
place for a second opinion, which is reported and judges nothing. `function` names one of
`measure.py`, which gives each point's values by seed itself.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from switchbed import stats
from switchbed._native import Mistake
from switchbed_papers.reproduce.claims import Claim, Paper
from switchbed_papers.reproduce.rows import Row, Rows
from switchbed_papers.reproduce.verdict import WORDS, Measured, Target, Word, judge

LARGER = "larger"
Points = dict[str, dict[int, float]]
"""Values by seed at each point; a point's name is its settings in words."""

RATIOS: dict[str, Callable[[float], float]] = {
    "below": lambda ratio: 100 * (1 - ratio),
    "above": lambda ratio: 100 * (ratio - 1),
    "ratio": lambda ratio: ratio,
}


def of_the_larger(ratio: float) -> float:
    """How far one is above the other, as a percentage of the larger one."""
    return 100 * (1 - 1 / ratio) if ratio >= 1 else 100 * (ratio - 1)


def _shown(asked: Mapping[str, Any]) -> Callable[[float], float] | None:
    """A measure's value, from a ratio."""
    kind = asked.get("kind", "")
    return of_the_larger if kind == "above" and asked.get("reading") == LARGER else RATIOS.get(kind)


def null_model(paper: Paper, claim: Claim, rows: Rows) -> tuple[str, Word]:
    """Return a null model that should fail the claim, in words, and the verdict on it. If the null
    model is reproduced, the claim cannot fail.

    - Of a formula: a constant set wrong, which the claim names.
    - Of a comparison: the same scheme on both sides, each seed's run beside another seed's.
    - Of what a function makes of several schemes' or set-ups' runs: every one's runs are one's, of
      other seeds; each in turn is that one, and one that fails is enough.
    - Of one scheme's value, or how near it is to another's: that of each other scheme; one that
      fails is enough.
    - Of what has a stated "no effect": that value.
    - Where no run should fail it: what was measured, displaced by twice the tolerance past each
      bound that there is, or further away where the claim is not reproduced.
    """
    asked, target = claim.measure, claim.target
    alone = replace(claim, measure={**asked, "also": ()})

    def verdict(of: Claim, runs: Rows = rows) -> Word:
        return judge(target, measure(paper, of, runs))

    if claim.wrong is not None:
        return "a constant set wrong", verdict(replace(claim, measure=claim.wrong))
    if target.null is not None and asked.get("kind") in (*RATIOS, "difference"):
        same = {**alone.measure, "of": asked.get("base", {}), "shifted": True}
        name = _name(_settings(asked.get("base", {}))).removeprefix("scheme ")
        return f"{name} on both sides", verdict(replace(claim, measure=same))
    if "function" in asked:
        alike = {name: verdict(alone, runs) for name, runs in _alike(rows)}
        if found := _failing(alike):
            return f"each run replaced by one of {found[0].partition(' or ')[0]}", found[1]
    others = {name: verdict(other) for name, other in _others(alone, rows).items()}
    if found := _failing(others):
        return f"the same measure of {found[0]}", found[1]
    if others and asked.get("kind") == "value" and math.inf in (-target.low, target.high):
        return f"the same measure of {', '.join(others)}", "reproduced"
    measured = measure(paper, alone, rows)
    if target.null is not None:
        none = f"{target.null:g} {claim.unit}".strip() + ", which is no effect"
        return none, judge(target, _displaced(measured, target.null - measured.estimate))
    ends = [sign for sign in (-1, 1) if math.isfinite((target.low, target.high)[sign > 0])]
    # A claim that is not reproduced is pushed further off, not across to the other side.
    good = judge(target, measured) == "reproduced"
    signs = ends if good else [_away(target, measured.estimate)]
    words = {judge(target, _displaced(measured, sign * 2 * target.tolerance)) for sign in signs}
    word = "reproduced" if "reproduced" in words else max(words, key=WORDS.index)
    moved = " or ".join(f"{sign * 2 * target.tolerance:+g}" for sign in signs)
    given = f", as the same measure of {', '.join(others)} is reproduced" if others else ""
    return (
        f"no run that should fail it{given}: the value moved by {moved} {claim.unit}".strip(),
        word,
    )


def _failing(verdicts: Mapping[str, Word]) -> tuple[str, Word] | None:
    """The null models that fail a claim, by name, and the plainest word for it."""
    for word in ("not reproduced", "undecided", "in direction"):
        names = [name for name, given in verdicts.items() if given == word]
        if names:
            return " or ".join(names), word
    return None


def _others(claim: Claim, rows: Rows) -> dict[str, Claim]:
    """A claim about one scheme's value as claims about the others', by scheme; likewise a claim
    that a scheme is near another."""
    asked = claim.measure
    of, base = asked.get("of"), asked.get("base")
    if asked.get("kind") in RATIOS and isinstance(of, str) and isinstance(base, str):
        schemes = [name for name in rows.values("scheme") if name not in (of, base)]
        return {name: replace(claim, measure={**asked, "of": name}) for name in schemes}
    for key in ("at", "where"):
        places = asked.get(key)
        if asked.get("kind") == "value" and isinstance(places, Mapping) and "scheme" in places:
            given = dict(asked.get("where", {}))
            given |= asked["at"] if isinstance(asked.get("at"), Mapping) else {}
            return {
                name: replace(claim, measure={**asked, key: {**places, "scheme": name}})
                for name in rows.values("scheme")
                # A scheme may have no run at the claim's point.
                if name != places["scheme"]
                and any(row.fits({**given, "scheme": name}) for row in rows)
            }
    return {}


def _alike(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """The runs with all schemes alike, each scheme in turn as the one that all are, by its name;
    and so with set-ups and with schemes of some switches (`[[deploy]]`)."""
    keys = dict.fromkeys(key for row in rows for key in row.settings)
    for key in keys:
        if key in ("scheme", "scenario") or key.endswith(".scheme"):
            values = rows.values(key)
            if len(values) > 1:
                yield from ((str(value), _all_are(rows, key, value)) for value in values)


def _all_are(rows: Rows, key: str, one: Any) -> Rows:
    """Whatever a setting is, the figures are those of `one`, of other seeds. Runs without the
    setting, or without a counterpart, stay."""
    others = [value for value in rows.values(key) if value != one]
    seeds = sorted({row.seed for row in rows})
    by_seed = {
        (row.seed, _name(row.settings)): row.figures for row in rows if row.settings.get(key) == one
    }

    def of(row: Row) -> Row:
        if key not in row.settings:
            return row
        # Each setting gets figures of another seed: equal ones would make ratios of exactly 1.
        later = [one, *others].index(row.settings[key])
        seed = seeds[(seeds.index(row.seed) + later) % len(seeds)]
        figures = by_seed.get((seed, _name({**row.settings, key: one})), row.figures)
        return replace(row, figures=figures)

    return Rows([of(row) for row in rows])


def _away(target: Target, value: float) -> int:
    """The side of the target on which a value is."""
    return -1 if value < target.low or not math.isfinite(target.high) else 1


def _displaced(found: Measured, by: float) -> Measured:
    ends = {name: getattr(found, name) for name in ("low", "high", "least", "most")}
    moved: dict[str, Any] = {name: None if end is None else end + by for name, end in ends.items()}
    return replace(found, estimate=found.estimate + by, **moved)


def measure(paper: Paper, claim: Claim, rows: Rows) -> Measured:
    """Measures a claim on the runs of its experiment."""
    where = _settings(claim.measure.get("where", {}))
    found = _measure(paper, claim, rows.where(where))
    notes = [found.note] if found.note else []
    if claim.measure.get("reading") == LARGER:
        plain = {key: value for key, value in claim.measure.items() if key != "reading"}
        other = _measure(paper, replace(claim, measure=plain), rows.where(where))
        notes.append(f"as a part of the smaller: {_in_words(other)}")
    for other in claim.measure.get("also", ()):
        settings = {k: v for k, v in other.items() if k not in ("metric", "function", "says")}
        # A further reading may have another metric or function, other settings, or both.
        metric = {key: value for key, value in other.items() if key in ("metric", "function")}
        asked = replace(claim, measure={**claim.measure, **metric})
        second = _measure(paper, asked, rows.where({**where, **settings}))
        name = other.get("says") or ", ".join(filter(None, [*metric.values(), _name(settings)]))
        notes.append(f"{name}: {_in_words(second)}")
    return replace(found, note="; ".join(notes))


def by_point(paper: Paper, claim: Claim, rows: Rows) -> dict[str, stats.Interval]:
    """A claim's value at each of its points, with an interval of its own."""
    found = _points(paper, claim, rows.where(_settings(claim.measure.get("where", {}))))
    exact, show = bool(claim.measure.get("exact", False)), _shown(claim.measure)
    return {
        name: _interval(list(values.values()), stats.LEVEL, exact, show)
        for name, values in found.items()
        if values
    }


def dropped(paper: Paper, claim: Claim, rows: Rows) -> int:
    """Runs of the seeds that a claim's points leave out, because they have nothing to measure."""
    chosen = rows.where(_settings(claim.measure.get("where", {})))
    seeds = {row.seed for row in chosen}
    found = _points(paper, claim, chosen)
    return sum(len(seeds - values.keys()) for values in found.values())


def _in_words(found: Measured) -> str:
    if found.low is None or found.high is None:
        return f"{found.estimate:.4g}"
    every = ""
    if found.least is not None and found.most is not None:
        every = f"; all points {found.least:.4g} to {found.most:.4g}"
    return f"{found.estimate:.4g} ({found.low:.4g} to {found.high:.4g}{every})"


def _measure(paper: Paper, claim: Claim, rows: Rows) -> Measured:
    asked = claim.measure
    points = {name: values for name, values in _points(paper, claim, rows).items() if values}
    if not points:
        return Measured(math.nan, None, None, 0, None, "no run has what it measures")
    exact = bool(asked.get("exact", False))
    at = asked.get("at")
    pick = at if isinstance(at, str) else "every"
    # "Up to" is of the largest point, so that one alone is judged.
    if pick != "every" and len(points) > 1:
        return _up_to(points, pick, _shown(asked), _flows(claim, rows))
    # Bonferroni: all intervals hold together with the confidence of one.
    level = 1 - (1 - stats.LEVEL) / len(points)
    show = _shown(asked)
    found = {
        name: _interval(list(values.values()), level, exact, show)
        for name, values in points.items()
    }
    # The point with the fewest seeds bounds what is known.
    seeds = min(interval.n for interval in found.values())
    flows = _flows(claim, rows)
    if len(found) == 1:
        ((name, only),) = found.items()
        return Measured(only.estimate, only.low, only.high, seeds, flows, _at(name, found))
    return _every(claim, found, seeds, flows)


def _points(paper: Paper, claim: Claim, rows: Rows) -> Points:
    asked = claim.measure
    if "function" in asked:
        found: Points = paper.function(asked["function"])(rows)
        return found
    kind = asked.get("kind")
    metric = asked.get("metric")
    if not isinstance(metric, str) or kind not in (*RATIOS, "difference", "value"):
        raise Mistake(f"{claim.id}: measure needs a kind and a metric, or a function")
    at = asked.get("at", {})
    if isinstance(at, list):
        places = [{**asked, "at": place} for place in at]
        return {k: v for place in places for k, v in _compared(rows, place, kind, metric).items()}
    return _compared(rows, asked, kind, metric)


def _compared(rows: Rows, asked: Mapping[str, Any], kind: str, metric: str) -> Points:
    at = asked.get("at", {})
    # A list of places was taken apart above.
    fixed = at if isinstance(at, Mapping) else {}
    of = _settings(asked.get("of", {}))
    rows_of = rows.where({**fixed, **of})
    if kind == "value":
        points = {_name(p): rows_of.where(p).by_seed(metric) for p in rows_of.points(())}
        return points if points else {"": rows_of.by_seed(metric)}
    base = _settings(asked.get("base", {}))
    rows_base = rows.where({**fixed, **base})
    both = (*of, *base)
    compared: Points = {}
    for point in rows_of.points(both):
        above = rows_of.where(point).by_seed(metric)
        below = rows_base.where(point).by_seed(metric)
        if asked.get("shifted") and above:
            seeds = sorted(above)
            # Of the null model: both sides are one scheme, paired with the next seed.
            above = dict(zip(seeds, [above[s] for s in (*seeds[1:], seeds[0])], strict=True))
        compared[_name(point)] = {
            seed: value - below[seed] if kind == "difference" else _over(value, below[seed])
            for seed, value in above.items()
            if seed in below
        }
    return compared


def _settings(given: Any) -> dict[str, Any]:
    """Settings, or a scheme's label for short."""
    return {"scheme": given} if isinstance(given, str) else dict(given)


def _name(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items())


def _over(of: float, base: float) -> float:
    """Return the ratio; 1 where both counts are zero."""
    return 1.0 if of == base == 0 else of / base if base else math.inf


def _interval(
    values: list[float], level: float, exact: bool, show: Callable[[float], float] | None
) -> stats.Interval:
    """Student's over the seeds, of ratios on their logarithms; a value that no chance enters is
    its own interval."""
    if exact and max(values) - min(values) <= 1e-9 * max(map(abs, values)):
        value = show(values[0]) if show else values[0]
        return stats.Interval(value, value, value, len(values), level)
    if show is None:
        return stats.mean(values, level)
    if not all(0 < value < math.inf for value in values):
        return stats.mean([show(value) for value in values], level)
    found = stats.mean([math.log(value) for value in values], level)
    middle = show(math.exp(found.estimate))
    if found.low is None or found.high is None:
        return stats.Interval(middle, None, None, found.n, level)
    low, high = sorted((show(math.exp(found.low)), show(math.exp(found.high))))
    return stats.Interval(middle, low, high, found.n, level)


def _up_to(
    points: Points, pick: str, show: Callable[[float], float] | None, flows: int | None
) -> Measured:
    """Each seed's own extreme over the points, and where it is most often."""
    choose = min if pick == "smallest" else max
    shared = set.intersection(*(set(of) for of in points.values()))
    if not shared:
        return Measured(math.nan, None, None, 0, flows, "no seed has all points")
    at = {
        seed: choose(points, key=lambda name: (show or float)(points[name][seed]))
        for seed in sorted(shared)
    }
    found = _interval([points[at[seed]][seed] for seed in at], stats.LEVEL, False, show)
    often = max(at.values(), key=list(at.values()).count)
    note = f"each seed's {pick} of {len(points)} points, most often at {often}"
    return Measured(found.estimate, found.low, found.high, found.n, flows, note)


def _every(
    claim: Claim, found: dict[str, stats.Interval], seeds: int, flows: int | None
) -> Measured:
    target = claim.target

    def off(interval: stats.Interval) -> float:
        return max(target.low - interval.estimate, interval.estimate - target.high)

    name, worst = max(found.items(), key=lambda item: off(item[1]))
    if any(i.low is None for i in found.values()):
        return Measured(worst.estimate, None, None, seeds, flows, _at(name, found))
    least = min(i.low for i in found.values() if i.low is not None)
    most = max(i.high for i in found.values() if i.high is not None)
    outside = any(
        (i.high is not None and i.high < target.low - target.tolerance)
        or (i.low is not None and i.low > target.high + target.tolerance)
        for i in found.values()
    )
    ends = (worst.low, worst.high)
    return Measured(worst.estimate, *ends, seeds, flows, _at(name, found), outside, least, most)


def _at(name: str, found: Mapping[str, object]) -> str:
    if not name:
        return ""
    worst = f"worst at {name}, of {len(found)} points of the figure"
    return worst if len(found) > 1 else f"at {name}"


def _flows(claim: Claim, rows: Rows) -> int | None:
    """Fewest flows of the claim's size class in any run that counts."""
    metric = claim.measure.get("metric", "")
    size_class = str(metric).rpartition(".")[0]

    def count(row: Row) -> int | None:
        value = row.figures.get(f"{size_class}.n", row.figures.get("all.n"))
        return int(value) if value else None

    counts = [n for row in rows if (n := count(row)) is not None]
    return min(counts) if counts else None
