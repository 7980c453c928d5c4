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


def test_the_numbers_of_lossless_classes_are_what_their_commands_find() -> None:
    page = (ROOT / "docs/pfc.md").read_text().replace("\n", " ")
    assert "switchbed run @pfc-incast" in page

    def found(**sets: object) -> list[tuple[int, float]]:
        runs = sb.Scenario.from_file("@pfc-incast").with_(sets).run_all()
        told = [run.summary() for run in runs]
        return [(each["drops"], each["by_traffic"][0]["query"]["mean_us"]) for each in told]

    (lost, lossy), (none, lossless) = found()
    assert none == 0
    dctcp = f"loses {lost} packets and the latter none, and a round takes as long "
    assert f"{dctcp}({lossy:.0f} and {lossless:.0f} µs)" in page
    (_, late), (none, lossless) = found(**{"scheme.name": "none", "transport.kind": "cubic"})
    assert none == 0
    assert f"takes {late / 1000:.0f} ms in the lossy class, because of a timeout" in page
    assert f"timeout, and {lossless:.0f} µs in the lossless one" in page
