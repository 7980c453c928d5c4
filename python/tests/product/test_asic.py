"""`switchbed asic`: chips, what is known, what was seen."""

import json
from pathlib import Path

import pytest
from conftest import Program

import switchbed as sb

CHIPS = {chip["name"]: chip for chip in sb.chips()}


@pytest.mark.parametrize("name", [n for n, chip in CHIPS.items() if chip["observed"]])
def test_a_chip_holds_what_was_counted_on_a_switch(name: str) -> None:
    for seen in CHIPS[name]["observed"]:
        assert abs(seen["modelled_cells"] - seen["cells"]) <= 2


def test_show_says_what_is_not_known_and_what_was_seen(switchbed: Program, tmp_path: Path) -> None:
    listed = switchbed("asic", "list").stdout.splitlines()
    assert len(listed) == len(CHIPS) == 15
    assert sum(line.endswith("unverified") for line in listed) == 10
    shown = switchbed("asic", "show", "tomahawk").stdout
    assert "Counted on a switch: 4 lossless groups paused at 2,620; here 2,620.2" in shown
    assert "In cells, of 4 partitions each" in shown
    shown = switchbed("asic", "show", "tomahawk-4").stdout
    assert "partitions                 not known" in shown
    assert "a lossless group pauses at     not known" in shown
    assert "Unverified:" in shown
    switchbed("asic", "show", "spectrum-2", "--json", "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == CHIPS["spectrum-2"]
    assert "did you mean trident-3?" in switchbed("asic", "show", "trident3", code=2).stderr
