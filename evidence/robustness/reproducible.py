"""Builds the wheel twice, from nothing and each in a folder of its own, and compares the bytes.

    python -m evidence.robustness.reproducible [--dev]

`--dev` builds with the profile of `make setup`. Times in the wheel are that of the last commit
(SOURCE_DATE_EPOCH).
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Builds, compares and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true")
    profile = "dev" if parser.parse_args().dev else "release"
    with tempfile.TemporaryDirectory(prefix="switchbed-twice-") as name:
        first, second = (built(Path(name, nth), profile) for nth in ("first", "second"))
        different = differing(first, second)
        print(f"{first.name}: {hashlib.sha256(first.read_bytes()).hexdigest()}")
    sys.exit(f"two builds differ: {', '.join(different)}" if different else 0)


def built(place: Path, profile: str) -> Path:
    """Return a wheel for which nothing was compiled before."""
    maturin = Path(sys.executable).with_name("maturin")
    words = [str(maturin), "build", "--locked", "--profile", profile, "--compatibility", "linux"]
    environment = {"CARGO_TARGET_DIR": str(place / "target"), "SOURCE_DATE_EPOCH": epoch()}
    subprocess.run(
        [*words, "--out", str(place)], cwd=ROOT, env=os.environ | environment, check=True
    )
    (wheel,) = place.glob("*.whl")
    return wheel


def epoch() -> str:
    """Return when the last commit was made, in seconds since 1970."""
    words = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def differing(first: Path, second: Path) -> list[str]:
    """Names of the files that differ between two wheels; of the wheels, if only these do."""
    if first.read_bytes() == second.read_bytes():
        return []
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        files = sorted({*one.namelist(), *other.namelist()})
        both = set(one.namelist()) & set(other.namelist())
        found = [name for name in files if name not in both or one.read(name) != other.read(name)]
    return found or [first.name]


if __name__ == "__main__":
    main()
