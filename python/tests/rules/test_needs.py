"""Without what a machine may lack, tests are skipped by its name and none fails."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from needs import FILES, PACKAGES, PROGRAMS, WITHOUT, with_only

ROOT = Path(__file__).parents[3]
BUILDS = {"build-essential", "python3-venv"}
"""Packages that a build needs already."""


def test_a_test_sees_no_program_that_it_does_not_name() -> None:
    assert [name for name in PROGRAMS if shutil.which(name)] == []


@pytest.mark.needs("tshark")
def test_a_test_sees_what_it_names_and_nothing_more() -> None:
    assert [name for name in PROGRAMS if shutil.which(name)] == ["tshark"]


def test_every_package_of_the_system_can_be_missed() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (packages,) = re.findall(r"^SYSTEM_PACKAGES := (.*)$", makefile, re.M)
    assert {*packages.split()} == {*PROGRAMS.values(), "libbpf-dev"} | BUILDS


def test_what_is_missing_is_skipped_by_its_name() -> None:
    environment = {**os.environ, "PATH": with_only([]), WITHOUT: "1"}
    environment.pop("CI", None)
    words = [sys.executable, "-m", "pytest", "-m", "needs", "-p", "no:cacheprovider"]
    files = ROOT.glob("python/tests/*/test_*.py")
    done = subprocess.run(
        [*words, *(file for file in files if "mark.needs(" in file.read_text())],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" not in done.stdout, done.stdout
    skipped = re.findall(r"needs (.*): make setup-system", done.stdout)
    names = {name for line in skipped for name in line.split(", ")}
    assert names - {*FILES, *PACKAGES} == {*PROGRAMS} - {"bridge", "ss"}, done.stdout
