"""A scenario in Python: from a file, from a dict, or built step by step; varied and run."""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from switchbed import _native, files, library, runner, toml
from switchbed._native import Mistake, Plan, Results
from switchbed.progress_bar import progress_bar
from switchbed.result import Result
from switchbed.runner import Outcome
from switchbed.threads import cores, taken


class Scenario:
    """One experiment. It never changes: `add` and `with_` return a new one.

    A mistake in it raises `Mistake` with one line, as on the command line, when it is first used:
    by `plans`, `resolved`, `run` or `run_all`.

    Example:
        >>> import switchbed as sb
        >>> sb.Scenario.from_file("@star-dctcp").with_(seed=2).run()
    """

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        name: str = "scenario",
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        """Make a scenario from the sections of a scenario file as a dict.

        Args:
            values: Sections by name; `traffic` and `event` are lists of dicts.
            name: Name in messages.
            folder: Folder in which files that the scenario names are looked for.

        Raises:
            Mistake: `values` is no dict.
        """
        if not isinstance(values, Mapping | None):
            raise Mistake(
                f"Scenario({values!r}): takes a dict of sections; Scenario.from_file reads a file"
            )
        self._values: dict[str, Any] | None = dict(values or {})
        self._text = ""
        self._name = name
        self._folder = Path(folder)
        self._overrides: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario file.

        Args:
            path: Path of the file, or `@NAME` for one that comes with switchbed
                (`switchbed.scenarios()` lists them).

        Returns:
            The scenario. Its text is read now, and checked when it is first used.

        Raises:
            Mistake: The file cannot be read.

        Example:
            >>> star = sb.Scenario.from_file("@star-dctcp")
        """
        name = os.fspath(path)
        file = library.shipped(name) if name.startswith("@") else Path(name)
        made = cls(name=name, folder=file.parent)
        try:
            files.check(file)
            made._text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise Mistake(f"{path}: cannot read the scenario: {error.strerror}") from error
        except UnicodeDecodeError as error:
            line = 1 + error.object[: error.start].count(b"\n")
            why = f"line {line} is no UTF-8 text; save the file as UTF-8"
            raise Mistake(f"{path}: cannot read the scenario: {why}") from error
        made._values = None
        return made

    def add(self, section: str, /, **keys: Any) -> Self:
        """Return the scenario with these keys in a section, for building one step by step.

        Args:
            section: Name of the section. Each `add("traffic", …)` adds one more source of traffic.
            keys: Keys of the section with their values, written as in a file: `buffer="300KB"`.

        Raises:
            Mistake: The scenario was read from a file; `with_` changes such a one.

        Example:
            >>> sb.Scenario().add("topology", kind="star", hosts=9, rate="10Gbps", delay="1us")
        """
        if self._values is None:
            raise Mistake(
                f"{self._name}: add() builds a scenario from nothing; change a file's with with_()"
            )
        made = self._copy()
        before = self._values.get(section)
        if section == "traffic":
            made._values = self._values | {section: [*_listed(before), keys]}
        else:
            made._values = self._values | {section: {**(before or {}), **keys}}
        return made

    def with_(self, values: Mapping[str, Any] | None = None, /, **keys: Any) -> Self:
        """Return a variation, as `--set` makes it.

        Args:
            values: Values by dotted key; `compare.KEY` with a list compares.
            keys: Values by key without its section, for keys that one section alone has.

        Example:
            >>> star.with_(load=0.5, seed=3)
            >>> star.with_({"scheme.params.threshold": "20pkt", "compare.seed": [1, 2, 3]})
        """
        made = self._copy()
        made._overrides = (*self._overrides, *(values or {}).items(), *keys.items())
        return made

    @property
    def name(self) -> str:
        """Name in messages: the file's, if there is one.

        Example:
            >>> sb.Scenario.from_file("@star-dctcp").name
        """
        return self._name

    @property
    def plans(self) -> list[Plan]:
        """Runs of the scenario, in the order of the file: each combination of `[compare]`, or one.

        Raises:
            Mistake: The scenario has a mistake.

        Example:
            >>> [plan.settings for plan in star.with_({"compare.seed": [1, 2]}).plans]
        """
        for key, _ in self._overrides:
            toml.quoted("a key of with_()", key)
        written = [(key, toml.value(key, item)) for key, item in self._overrides]
        return _native.plans_of(
            self._name,
            self._text if self._values is None else toml.document(self._values),
            self._folder,
            [(f"{key}={text}", f"with_({key}={text})") for key, text in written],
            self._values is None,
        )

    @property
    def resolved(self) -> dict[str, Any]:
        """Scenario that will run, as a dict with every default filled in.

        Raises:
            Mistake: The scenario has a mistake, or several runs in `[compare]`.

        Example:
            >>> star.resolved["transport"]["rto_min"]
        """
        return dict(json.loads(self._plan().scenario))

    def run(
        self, *, threads: int = 1, any_threads: bool = False, any_memory: bool = False
    ) -> Result:
        """Run the scenario. Ctrl-C ends it within milliseconds; other threads go on meanwhile.
        Standard error shows progress: a bar on a terminal, else a line a minute.

        Args:
            threads: Threads of the run, at most as many as there are cores. The result is the same.
            any_threads: Take as many threads as given, even more than there are cores.
            any_memory: Run even if it needs more memory than is free.

        Returns:
            The run with its summary and tables.

        Raises:
            Mistake: The scenario has a mistake or several runs, or needs more memory than is free.

        Example:
            >>> sb.Scenario.from_file("@star-dctcp").run(threads=2).summary()
        """
        plan = [self._plan()]
        return _run(plan, 1, _taken(threads, plan, 1, any_threads), any_memory)[0]

    def run_all(
        self,
        jobs: int | None = None,
        *,
        threads: int = 1,
        any_threads: bool = False,
        any_memory: bool = False,
    ) -> list[Result]:
        """Run every combination of `[compare]`.

        Args:
            jobs: Runs at a time; `None`: as many as there are cores.
            threads: Threads of each run, as for `run`.
            any_threads: As for `run`.
            any_memory: As for `run`.

        Returns:
            The runs in the order of the file.

        Raises:
            Mistake: The scenario has a mistake, or needs more memory than is free.

        Example:
            >>> runs = star.with_({"compare.seed": [1, 2, 3]}).run_all()
        """
        plans, jobs = self.plans, jobs or cores()
        return _run(plans, jobs, _taken(threads, plans, jobs, any_threads), any_memory)

    def __eq__(self, other: object) -> bool:
        """Whether the two say the same, in the same words."""
        return isinstance(other, Scenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._name, self._text))

    def __repr__(self) -> str:
        changed = "".join(f", {key}={item!r}" for key, item in self._overrides)
        return f"Scenario({self._name}{changed})"

    def _plan(self) -> Plan:
        plans = self.plans
        if len(plans) > 1:
            raise Mistake(f"{self._name}: has {len(plans)} runs in [compare]; use run_all()")
        return plans[0]

    def _copy(self) -> Self:
        made = type(self)(self._values, name=self._name, folder=self._folder)
        made._values = self._values
        made._text = self._text
        made._overrides = self._overrides
        return made


def _listed(traffic: Any) -> list[Any]:
    if traffic is None:
        return []
    return list(traffic) if isinstance(traffic, list | tuple) else [traffic]


def _taken(threads: int, plans: list[Plan], jobs: int, any_threads: bool) -> int:
    if threads < 1:
        raise Mistake(f"threads is {threads}: a run needs at least 1")
    found = taken(threads, plans, jobs, any_threads=any_threads)
    if found.threads < threads:
        warnings.warn(str(found), stacklevel=3)
    return found.threads


def _run(plans: list[Plan], jobs: int, threads: int, any_memory: bool) -> list[Result]:
    found: dict[int, Result] = {}

    def keep(plan: Plan, results: Results, outcome: Outcome) -> None:
        found[outcome.index] = Result.of_run(plan, results, outcome)

    with progress_bar() as shown:
        sweep = runner.run_all(plans, jobs, keep, shown, any_memory=any_memory, threads=threads)
    if sweep.stopped_by is not None:
        raise sweep.stopped_by
    return [found[index] for index in sorted(found)]
