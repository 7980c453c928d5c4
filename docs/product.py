"""Pages and pictures of the site that come from the product itself: the keys of files, which
`switchbed scenario keys` and `switchbed live keys` print, and curves that a command draws."""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from evidence.site import picture
from switchbed import _native

THEORY = {
    "theory-cedm": ("theory", "plot", "cedm"),
    "theory-e-ecn": ("theory", "plot", "e-ecn"),
}
"""The command that draws each."""
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
    page = DOCS / "prototyping.md"
    tcn = partial(by_page, page, "waiting.png")
    picture(site / "prototyping-tcn.png", tcn, _native.__build__, page)


def by_command(words: tuple[str, ...], file: Path) -> None:
    """Draws by a command of the product."""
    switchbed(*words, "--out", str(file), folder=file.parent)


def by_page(page: Path, name: str, file: Path) -> None:
    """Draws what a page's commands write as `name`, with the files that the page shows."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for saved, content in SAVED.findall(text):
            (folder / saved).write_text(content, encoding="utf-8")
        (commands,) = [block for block in COMMANDS.findall(text) if f"--out {name}" in block]
        for line in commands.splitlines():
            program, *words = shlex.split(line)
            assert program == "switchbed", line
            switchbed(*words, folder=folder)
        shutil.move(folder / name, file)


def switchbed(*words: str, folder: Path) -> None:
    """Runs the command line in a folder."""
    command = [sys.executable, "-m", "switchbed", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
