"""Numbers that pages print beside a command are what the command finds."""

import re
from pathlib import Path

import pytest

import switchbed as sb

ROOT = Path(__file__).resolve().parents[3]
SCHEMES = ROOT / "docs/schemes"
FIGURE_2 = ROOT / "scenarios/cqrd-fig2.toml"
COMMAND = "`switchbed run scenarios/cqrd-fig2.toml`"


@pytest.fixture(scope="module")
def averages() -> dict[str, str]:
    """The small flows' of each scheme of the figure, as pages print them."""
    found = sb.Scenario.from_file(FIGURE_2).run_all()
    return {
        run.scenario["scheme"]["label"]: f"{run.summary()['fct']['small']['mean_us']:.1f} µs"
        for run in found
    }


def test_the_table_of_cqrd_is_what_its_command_prints(averages: dict[str, str]) -> None:
    text = (SCHEMES / "cqrd.md").read_text()
    head, here = (
        re.search(pattern, text, re.MULTILINE)
        for pattern in (r"^\| \|( `oq` .*)\|$", r"^\| here \|(.*)\|$")
    )
    assert COMMAND in text
    assert head is not None
    assert here is not None
    names = [cell.strip(" `") for cell in head[1].split("|")]
    values = [cell.strip() for cell in here[1].split("|")]
    assert dict(zip(names, values, strict=True)) == averages
