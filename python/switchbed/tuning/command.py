"""`switchbed tune`."""

from collections.abc import Sequence
from pathlib import Path

from switchbed import library, options, toml
from switchbed._native import Mistake
from switchbed.plots import output
from switchbed.sweeps.archive import Archive
from switchbed.sweeps.engine import Engine
from switchbed.sweeps.sweep import check
from switchbed.terminal import say
from switchbed.tuning.tune import Question, run


def tune(
    file: Path,
    sets: Sequence[str],
    asked: Question,
    store: Path,
    name: str | None,
    engine: Engine,
    picture: Path | None,
    json_to: str | None,
    *,
    quiet: bool,
) -> None:
    """Prints the advice, or writes it."""
    given = library.given(file)
    if picture is not None:
        output.check(picture)
    called = name or f"tune-{given.stem}"
    check(called, given.plans(sets), None)
    loud = not quiet and json_to is None
    found = run(
        lambda settings: given.plans(
            [*sets, *(f"{key}={toml.value(key, value)}" for key, value in settings.items())]
        ),
        given.name,
        asked,
        Archive(store),
        called,
        engine,
        quiet=quiet,
        tell=(lambda text: say(text, err=True)) if loud else lambda _: None,
    )
    if picture is not None:
        from switchbed.tuning import picture as pictures

        pictures.draw(found, picture)
    if json_to is not None:
        options.write_json(found.to_json(), json_to)
    else:
        from switchbed.tuning import report

        report.show(found)


def weights(given: Sequence[str]) -> dict[str, float]:
    """`load=0.8:2` each."""
    found = {}
    for text in given:
        scene, _, number = text.rpartition(":")
        try:
            found[scene] = float(number)
        except ValueError:
            raise Mistake(f"--weight {text}: such as load=0.8:2 is needed") from None
        if "=" not in scene:
            raise Mistake(f"--weight {text}: such as load=0.8:2 is needed")
    return found
