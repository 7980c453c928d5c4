"""A paper's folder: its experiments and claims, as `claims.toml` has them."""

import importlib.util
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from switchbed import library
from switchbed._native import Mistake
from switchbed_papers.reproduce import setup
from switchbed_papers.reproduce.setup import Setup
from switchbed_papers.reproduce.verdict import Target

FOLDER = Path(__file__).parents[1]
INFINITE = float("inf")
PLACE = re.compile(r"\S+ ‹[^›]*›")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Scale:
    """How large an experiment is run."""

    sets: tuple[str, ...]
    """Overrides, as `--set` takes them."""
    seeds: int
    note: str
    """Effect of running it at this small scale; empty where it is the paper's scale."""


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper."""

    id: str
    title: str
    scenarios: tuple[Path, ...]
    sets: tuple[str, ...]
    setup: Setup
    """The paper's joint set-up, as far as it concerns this experiment."""
    varies: tuple[str, ...]
    """Host settings that the figure itself varies."""
    figures: str
    """Function that extracts the kept figures of a run: one of `measure.py`, or a built-in one."""
    draw: str | None
    """Function that draws it: one of `draw.py`, or a built-in one."""
    draws_also: tuple[str, ...]
    """The names of further figures that this function draws of the same runs."""
    quick: Scale
    full: Scale
    other: Scale
    """Under readings that do not judge: at fewer points where that saves hours."""
    search: Scale
    """Of the joint search: fewer seeds, and only the points that claims are about."""
    assumes: tuple[str, ...]
    """Assumptions made where the paper leaves something open."""
    expects: tuple[str, ...] = ()
    """Counts that the paper's text has some of: `drops`, `marks`, `timeouts`."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper that runs can refute."""

    id: str
    experiment: str
    meaning: str
    paper: str
    """The paper's value or range, as text."""
    target: Target
    why: str
    """Reason for this tolerance."""
    unit: str
    measure: Mapping[str, Any]
    untestable: str = ""
    """Why the paper's statement cannot be tested; empty where it can."""
    wrong: Mapping[str, Any] | None = None
    """Of a formula: the same with a constant set wrong, which must not hold."""

    @property
    def prints(self) -> bool:
        """Whether the paper prints the value or the bounds; others are ours, for its words."""
        # Quotes of a place may hold numbers of sections, and thousands have commas.
        words = PLACE.sub("", self.paper).replace(",", "")
        printed = [float(each) for each in NUMBER.findall(words)]
        bounds = [end for end in (self.target.low, self.target.high) if math.isfinite(end)]
        return all(any(math.isclose(abs(end), each) for each in printed) for end in bounds)


@dataclass(frozen=True)
class Paper:
    """Folder of one paper, with its claims and experiments."""

    name: str
    title: str
    folder: Path
    experiments: dict[str, Experiment]
    claims: dict[str, Claim]
    believe: str = ""
    """A paragraph by hand: the belief about the scheme that the results support."""
    _modules: dict[str, ModuleType] = field(default_factory=dict, compare=False)

    def function(self, name: str, of: str = "measure") -> Any:
        """A function of `measure.py` or `draw.py` in its folder."""
        file = self.folder / f"{of}.py"
        if of not in self._modules and file.exists():
            # Papers' modules have the same file names, so each gets a module name with the paper's.
            spec = importlib.util.spec_from_file_location(f"switchbed_{self.name}_{of}", file)
            assert spec is not None
            assert spec.loader is not None
            self._modules[of] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self._modules[of])
        found = getattr(self._modules.get(of), name, None)
        if found is None:
            raise Mistake(f"{self.folder / 'claims.toml'}: {file.name} has no function {name!r}")
        return found


def papers() -> dict[str, Paper]:
    """Every paper by its short name."""
    files = sorted(FOLDER.glob("*/claims.toml"))
    return {file.parent.name: load(file) for file in files}


def load(file: Path) -> Paper:
    """Read the folder of one paper."""
    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from error
    reader = _Reader(file, setup.load(file.parent))
    experiments = {
        name: reader.experiment(name, values) for name, values in text["experiment"].items()
    }
    claims = {name: reader.claim(name, values) for name, values in text["claim"].items()}
    for claim in claims.values():
        if claim.experiment not in experiments:
            raise reader.mistake(f"claim.{claim.id}", f"no experiment {claim.experiment!r}")
    return Paper(
        name=file.parent.name,
        title=text["title"],
        folder=file.parent,
        experiments=experiments,
        claims=claims,
        believe=text.get("believe", ""),
    )


@dataclass(frozen=True)
class _Reader:
    file: Path
    setups: Mapping[str, Setup]

    def mistake(self, key: str, what: str) -> Mistake:
        return Mistake(f"{self.file}: {key}: {what}")

    def experiment(self, name: str, values: dict[str, Any]) -> Experiment:
        at = f"experiment.{name}"
        scenario = self._need(at, values, "scenario")
        files = [scenario] if isinstance(scenario, str) else scenario
        scales = {
            scale: Scale(
                sets=tuple(values.get(scale, {}).get("sets", ())),
                seeds=int(values.get(scale, {}).get("seeds", 3)),
                note=str(values.get(scale, {}).get("note", "")),
            )
            for scale in ("quick", "full")
        }
        other = values.get("other", {})
        scales["other"] = Scale(
            # Later overrides win: `other` narrows the full scale.
            sets=(*scales["full"].sets, *other.get("sets", ())),
            seeds=int(other.get("seeds", scales["full"].seeds)),
            note=str(other.get("note", "")),
        )
        search = values.get("search", {})
        scales["search"] = Scale(
            # The search takes the quick scale's points unless it names some.
            sets=tuple(search.get("sets", scales["quick"].sets)),
            seeds=int(search.get("seeds", 2)),
            note=str(search.get("note", scales["quick"].note)),
        )
        kind = self._need(at, values, "setup")
        if kind not in self.setups:
            can = ", ".join(self.setups)
            raise self.mistake(f"{at}.setup", f"setup.toml has no {kind!r}; it has {can}")
        return Experiment(
            id=name,
            title=self._need(at, values, "title"),
            scenarios=tuple(self._scenario(path) for path in files),
            sets=tuple(values.get("sets", ())),
            setup=self.setups[kind].of(name),
            varies=tuple(values.get("varies", ())),
            figures=values.get("figures", "fct"),
            draw=values.get("draw"),
            draws_also=tuple(values.get("draws_also", ())),
            quick=scales["quick"],
            full=scales["full"],
            other=scales["other"],
            search=scales["search"],
            assumes=tuple(values.get("assumes", ())),
            expects=tuple(values.get("expects", ())),
        )

    def _scenario(self, name: str) -> Path:
        """`@NAME` comes with the program; others are in the folder."""
        return library.shipped(name) if name.startswith("@") else self.file.parent / name

    def claim(self, name: str, values: dict[str, Any]) -> Claim:
        at = f'claim."{name}"'
        measure = self._need(at, values, "measure")
        if "value" in values:
            # One value is a range of that value alone.
            low = high = float(values["value"])
        else:
            low = float(values.get("low", -INFINITE))
            high = float(values.get("high", INFINITE))
            if "low" not in values and "high" not in values:
                raise self.mistake(at, "needs value, or low and high, or one of them")
        # Without an effect a ratio is 1 and a difference 0; a bare value has no such number.
        null = values.get("null", {"ratio": 1.0, "value": None}.get(measure.get("kind"), 0.0))
        return Claim(
            id=name,
            experiment=self._need(at, values, "experiment"),
            meaning=self._need(at, values, "meaning"),
            paper=self._need(at, values, "paper"),
            target=Target(
                low=low,
                high=high,
                tolerance=float(self._need(at, values, "tolerance")),
                null=None if values.get("null") == "none" or null is None else float(null),
            ),
            why=self._need(at, values, "why"),
            unit=values.get("unit", "%"),
            measure=measure,
            untestable=values.get("untestable", ""),
            wrong=values.get("wrong"),
        )

    def _need(self, at: str, values: dict[str, Any], key: str) -> Any:
        if key not in values:
            raise self.mistake(at, f"{key} is missing")
        return values[key]
