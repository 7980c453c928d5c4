"""Configurations that ship for real switches: import, check, run, export, and the same again.

Those of SONiC's device folders are beside the project (`../shared/sonic/devices`); small ones of
our own are here."""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sonic_configs import Config, configs

import switchbed as sb
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import Imported, load
from switchbed.sonic.tidy import meant, tidy

FOLDER = Path(__file__).parents[3].parent / "shared" / "sonic" / "devices"
DEVICES = sorted(FOLDER.glob("*.json.gz"))
OWN = Path(__file__).parent / "sonic"
UNSIZED = "no PORT"


def scenario(found: Imported, folder: Path) -> sb.Scenario:
    """As files on a disk."""
    for name, text in found.files.items():
        (folder / name).write_text(text)
    file = folder / "imported.toml"
    file.write_text(found.text)
    return sb.Scenario.from_file(file)


def unchanged(config: Config, made: sb.Scenario, found: Imported) -> bool:
    tables, said = export(made.resolved, Choices(), found.device)
    assert not said.refusals, said.refusals
    return meant(tables) == meant(tidy(config))


@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
def test_every_device_comes_back_as_it_was() -> None:
    assert len(DEVICES) >= 100
    wrong = []
    for device in DEVICES:
        config: Any = json.loads(gzip.decompress(device.read_bytes()))
        with tempfile.TemporaryDirectory() as folder:
            found = load(config, device.name)
            if not unchanged(config, scenario(found, Path(folder)), found):
                wrong.append(device.name)
    assert wrong == []


@pytest.mark.long
@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_device_runs_for_a_millisecond(device: Path, tmp_path: Path) -> None:
    config: Any = json.loads(gzip.decompress(device.read_bytes()))
    found = load(config, device.name)
    scenario(found, tmp_path).with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("file", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_small_configurations_run_and_come_back(file: Path, tmp_path: Path) -> None:
    config: Any = json.loads(file.read_text())
    found = load(config, file.name)
    made = scenario(found, tmp_path)
    assert unchanged(config, made, found)
    made.with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("shape", [name for name in configs() if name != UNSIZED])
def test_every_shape_runs(shape: str, tmp_path: Path) -> None:
    found = load(configs()[shape], shape)
    scenario(found, tmp_path).with_({"run.until": "200us", "run.seed": 1}).run()
