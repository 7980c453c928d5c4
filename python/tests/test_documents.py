"""The commands that README.md and the tutorial show, run in order with few flows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAVED = re.compile(r"as `([\w-]+\.toml)`:\n\n```toml\n(.*?)```", re.S)
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.S)


def small(commands: str) -> str:
    """The same with fewer flows in sweeps and where flows are set; builds are only looked up."""
    commands = re.sub(r"\bflows=\d+", "flows=50", commands)
    commands = commands.replace("switchbed sweep ", "switchbed sweep --set flows=50 ")
    return re.sub(r"^make ([\w-]+)", rf"make -n -C '{ROOT}' \1", commands, flags=re.M)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text()
    for name, content in SAVED.findall(text):
        (tmp_path / name).write_text(content)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed, ran = "", 0
    for kind, block in BLOCK.findall(text):
        if kind == "text":
            have = [line.split() for line in printed.splitlines()]
            for line in block.splitlines():
                assert line.split() in have, f"{page} shows {line!r}; the command printed {printed}"
            continue
        done = subprocess.run(
            ["sh", "-e", "-c", small(block)],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        printed, ran = done.stdout, ran + 1
    assert ran >= 3
