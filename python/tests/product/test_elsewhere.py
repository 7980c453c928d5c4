"""Where there is no Linux: what Windows lacks is hidden, and the simulator works all the same."""

import subprocess
import sys
from pathlib import Path

HIDDEN = """
import multiprocessing.connection, os, signal, subprocess, sys  # as they are here
import click, polars, rich.progress, rich.table
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
del os.O_DIRECTORY, os.getuid, os.geteuid, os.sched_getaffinity, os.uname, signal.SIGHUP
sys.platform = "win32"
from switchbed.__main__ import main
main()
"""


def elsewhere(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDDEN, *words]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_a_scenario_runs_without_what_windows_lacks(single: Path, tmp_path: Path) -> None:
    short = ("run", str(single), "--set", "flows=20", "--out", "out")
    done = elsewhere(tmp_path, *short)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/flows.parquet").exists()
    live = elsewhere(tmp_path, "live", "lab", str(single))
    assert (live.returncode, live.stderr) == (2, "switchbed: the live switch needs Linux\n")
