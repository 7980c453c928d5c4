"""Command `switchbed tune` with its options."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from switchbed import foreign, library, options, progress_bar, signals, toml
from switchbed._native import Mistake
from switchbed.plots import output
from switchbed.sonic import fragment
from switchbed.store import Store
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.sweep import check
from switchbed.terminal import say
from switchbed.tuning import fragment as fragments
from switchbed.tuning import target as targets
from switchbed.tuning.outline import Outline
from switchbed.tuning.tune import Question, run


def tune(
    given: library.Given,
    sets: Sequence[str],
    asked: Question,
    store: Path,
    name: str | None,
    engine: Engine,
    picture: Path | None,
    fragment_to: Path | None,
    json_to: str | None,
    *,
    quiet: bool,
) -> int:
    """Prints the advice, or writes it. Returns the exit code."""
    if picture is not None:
        output.check(picture)
    called = name or f"tune-{given.stem}" if given.path is not None else name or "tune"
    check(called, given.plans(sets), None)
    loud = not quiet and json_to is None
    found = run(
        lambda settings: given.plans(
            [*sets, *(f"{key}={toml.value(key, value)}" for key, value in settings.items())]
        ),
        given.name,
        asked,
        Store(store),
        called,
        engine,
        quiet=quiet,
        device=fragment.known(given.path),
        tell=(lambda text: say(text, err=True)) if loud else lambda _: None,
        # A terminal has a bar.
        note=(lambda text: say(text, err=True))
        if loud and not progress_bar.drawn()
        else lambda _: None,
    )
    if picture is not None:
        from switchbed.tuning import picture as pictures

        pictures.draw(found, picture)
    if fragment_to is not None and found.fragment is not None:
        fragments.write(found.fragment, fragment_to)
        if not quiet:
            say(f"{fragment_to}: written", err=True)
    elif fragment_to is not None:
        why = "yours is advised"
        if found.advised is None:
            to = "tc" if asked.target == "tc" else "sonic"
            why = f"nothing is advised; switchbed export {to} --set KEY=VALUE writes any setting"
        say(f"{fragment_to}: is not written: {why}", err=True)
    if json_to is not None:
        options.write_json(found.to_json(), json_to)
        if not quiet and json_to != "-":
            say(found.sentence, err=True)
    else:
        from switchbed.tuning import printing

        printing.show(found)
    if found.stopped_by is not None:
        say("switchbed: interrupted; the same command goes on from here", err=True)
        return signals.code(found.stopped_by)
    return 0


def given(
    file: Path | None, outline: Mapping[str, Any], rtt: str | None, target: str
) -> tuple[library.Given, list[str]]:
    """The file, or the scenario of a few numbers, with the weights of its workloads."""
    said = {key: value for key, value in outline.items() if value not in (None, ())}
    if file is not None:
        if said:
            option = {"loads": "load", "workloads": "workload"}.get(
                first := next(iter(said)), first
            )
            raise Mistake(f"--{option}: is for a scenario without FILE; change {file}'s by --set")
        return library.given(file), []
    to = said.pop("out", None)
    if "rate" not in said or rtt is None:
        raise Mistake(
            "FILE is missing: name a scenario, or say what there is: --rate 10Gbps/40Gbps "
            "--rtt 80us --buffer 12MB --workload web-search"
        )
    targets.of(target)  # an unknown chip has no memory
    chip = target if target not in ("sim", "tc", "sonic") else None
    made = Outline(rtt=rtt, chip=chip, **said)
    text = made.text()
    if to is not None:
        library.Given(str(to), to, text).plans()  # before the file is there
        options.write(text, str(to))
    return library.Given("tune", to, text), made.weights


def weights(given: Sequence[str]) -> dict[str, float]:
    """Read weights, each given as in `load=0.8:2`."""
    found = {}
    for text in given:
        scene, _, number = text.rpartition(":")
        try:
            found[scene] = foreign.real(number)
        except ValueError:
            found[scene] = 0.0
        if "=" not in scene or found[scene] <= 0:
            raise Mistake(
                f"--weight {foreign.name(text)}: such as load=0.8:2 is needed, a number over 0"
            )
    return found
