"""Pages and pictures of the site that come from the product itself: the keys of files, which
`switchbed scenario keys` and `switchbed live keys` print, and curves that a command draws."""

import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

from evidence.site import ROOT, picture
from switchbed import _native

THEORY = {
    "theory-cedm": ("theory", "plot", "cedm"),
    "theory-e-ecn": ("theory", "plot", "e-ecn"),
}
"""The command that draws each."""
BY_PAGES = {
    "coexistence.md": {"bbr.png": "coexistence-bbr.png"},
    "prototyping.md": {"waiting.png": "prototyping-tcn.png"},
    "trimming.md": {"incast.png": "trimming-incast.png"},
    "plots.md": {
        f"{kind}.png": f"plots/{kind}.png"
        for kind in (
            "curve",
            "fct",
            "cdf",
            "queue",
            "shares",
            "heatmap",
            "utilisation",
            "links",
            "paths",
        )
    },
}
"""Pages whose commands draw pictures: by the name that a command has for a file, the site's."""
DOCS = Path(__file__).resolve().parent
SAVED = re.compile(r"as `([\w-]+\.\w+)`:\n\n```\w+\n(.*?)^```$", re.S | re.M)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)


def write(site: Path) -> None:
    """Writes the pages of keys."""
    (site / "scenario.md").write_text(_native.reference(), encoding="utf-8")
    (site / "live-keys.md").write_text(_native.live_reference(), encoding="utf-8")


def draw(site: Path) -> None:
    """Draws the pictures."""
    for name, words in THEORY.items():
        picture(site / f"{name}.png", partial(by_command, words), _native.__build__, *words)
    for page, pictures in BY_PAGES.items():
        source, wanted = DOCS / page, tuple(pictures)
        for name, shown in pictures.items():
            (site / shown).parent.mkdir(exist_ok=True)
            drawn = partial(by_page, source, wanted, name)
            picture(site / shown, drawn, _native.__build__, source, name)


def by_command(words: tuple[str, ...], file: Path) -> None:
    """Draws by a command of the product."""
    switchbed(*words, "--out", str(file), folder=file.parent)


def by_page(page: Path, wanted: tuple[str, ...], name: str, file: Path) -> None:
    """Draws the file `name` of those that a page's commands write."""
    file.write_bytes(written(page, wanted)[name])


@cache
def written(page: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Runs a page's commands, with the files that it shows, until all that is wanted is there."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
        for name, content in SAVED.findall(text):
            (folder / name).write_text(content, encoding="utf-8")
        for commands in COMMANDS.findall(text):
            if all((folder / name).exists() for name in wanted):
                break
            for line in commands.replace("\\\n", " ").splitlines():
                if line.startswith("#"):
                    continue
                program, *words = shlex.split(line)
                if program != "switchbed":
                    raise ValueError(f"{page}: {line}: runs {program}, not switchbed")
                switchbed(*words, folder=folder)
        return {name: (folder / name).read_bytes() for name in wanted}


def switchbed(*words: str, folder: Path) -> None:
    """Runs the command line in a folder."""
    command = [sys.executable, "-m", "switchbed", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
