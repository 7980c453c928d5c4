"""Runs the Python tests, the live ones too, without any program that a machine may lack: some are
skipped, by the name of what is missing, and none fails. `make validate` runs it; of each test
alone, with only what it names, `make test` shows the same.

    python -m evidence.robustness.without_programs [WORDS FOR PYTEST]
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests" / "support"))


def main(words: list[str]) -> int:
    """Prints what was skipped for want of what; 1 if a test failed or nothing was missed."""
    from needs import PROGRAMS, with_only

    environment = {**os.environ, "PATH": with_only([])}
    environment.pop("CI", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--numprocesses", "auto", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout)
    missed = {
        name for line in re.findall(r"needs (.*): make", done.stdout) for name in line.split(", ")
    }
    print(f"without {', '.join(sorted(PROGRAMS))}: tests skipped for {', '.join(sorted(missed))}")
    return done.returncode or int(not missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
